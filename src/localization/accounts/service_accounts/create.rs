//! Making a service account.

use quintet_storage::{Abort, Failure, Read as _, Timestamp, Uuid, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::model::TenantId;
use crate::principals::{ACCOUNTS, ACCOUNTS_MAX, AccountId, AccountRow, AccountStatus, COUNTS, ServiceAccount};
use crate::refusal::Refusal;
use crate::spaces::{ShortIdRow, take_short_id};

/// For what a service account is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// For its own sake, over HTTP.
    Here,
    /// Because a key from the command line acts as this principal (localization, S1).
    OfKey(Uuid),
}

/// Makes a service account.
///
/// # Errors
/// [`Refusal::Conflict`] for one too many; those of keys from the command line are not counted.
pub fn add_account(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    label: String,
    made: Made,
) -> Result<ServiceAccount, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let account_id = match made {
        Made::Here => {
            let mut counts = tx.get(&COUNTS, &tenant_id)?.unwrap_or_default();
            if counts.active_accounts >= ACCOUNTS_MAX {
                return Err(Refusal::Conflict("the tenant has 10,000 service accounts, which is the most").into());
            }
            counts.active_accounts += 1;
            tx.put(&COUNTS, &tenant_id, &counts)?;
            AccountId(tx.new_id())
        }
        Made::OfKey(principal_id) => AccountId(principal_id),
    };
    let account = put_account(tx, tenant_id, account_id, (label, now), made != Made::Here)?;
    audit::record(tx, now, actor, Event::about("service_account.create", "service_account", account_id.0))?;
    Ok(account)
}

/// Stores an active service account that there was not, under a short id of its own: what it is called, and when it was made.
///
/// # Errors
/// Only the store's.
pub fn put_account(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    account_id: AccountId,
    (label, created_at): (String, Timestamp),
    is_operators: bool,
) -> Result<ServiceAccount, Failure> {
    let short_id = take_short_id(tx, tenant_id, account_id.0, &ShortIdRow::Account(account_id))?;
    let row = AccountRow { short_id, label, status: AccountStatus::Active, is_operators, created_at };
    tx.put(&ACCOUNTS, &(tenant_id, account_id), &row)?;
    Ok(row.into_account(account_id))
}
