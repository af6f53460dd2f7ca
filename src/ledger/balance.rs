//! The present balance of an account.

use quintet_storage::{Abort, Read};

use crate::model::{AccountId, TenantId};
use crate::refusal::Refusal;
use crate::tables::{BOOKS, BookRow};

/// An account's counters as they stand; posted, pending and available amounts derive from them.
///
/// # Errors
/// [`Refusal::AccountNotFound`].
pub fn get_balance(read: &impl Read, tenant_id: TenantId, account_id: AccountId) -> Result<BookRow, Abort<Refusal>> {
    Ok(read.get(&BOOKS, &(tenant_id, account_id))?.ok_or(Refusal::AccountNotFound)?)
}
