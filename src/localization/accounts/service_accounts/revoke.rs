//! Revoking a service account.

use quintet_storage::{Abort, Read as _, Timestamp, WriteTx};

use crate::accounts::leaving::shut_out;
use crate::audit::{self, Actor, Event};
use crate::principals::{ACCOUNTS, AccountId, AccountStatus, COUNTS, ServiceAccount};
use crate::refusal::Refusal;

/// Revokes a service account: its keys and grants end with it, that of the command line as well. Again: the same answer.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn revoke_account(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    account_id: AccountId,
) -> Result<ServiceAccount, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let mut row = tx.get(&ACCOUNTS, &(tenant_id, account_id))?.ok_or(Refusal::NotFound)?;
    if row.status == AccountStatus::Active {
        row.status = AccountStatus::Revoked;
        tx.put(&ACCOUNTS, &(tenant_id, account_id), &row)?;
        if !row.is_operators {
            let mut counts = tx.get(&COUNTS, &tenant_id)?.unwrap_or_default();
            counts.active_accounts = counts.active_accounts.saturating_sub(1);
            tx.put(&COUNTS, &tenant_id, &counts)?;
        }
        audit::record(tx, now, actor, Event::about("service_account.revoke", "service_account", account_id.0))?;
        shut_out(tx, now, actor, account_id.0)?;
    }
    Ok(row.into_account(account_id))
}
