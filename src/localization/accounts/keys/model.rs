//! API keys.

use quintet_storage::{Abort, Read, Uuid};

use crate::model::TenantId;
use crate::principals::{AccountId, AccountStatus, MemberId, get_account, get_member};
use crate::refusal::Refusal;

/// The most keys of a principal that are listed: of more, the oldest revoked one goes from the list; if none is revoked,
/// there can be no more. The contract knows no such limit.
pub const KEYS_MAX: usize = 100;

/// Whose keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A member's.
    Member(MemberId),
    /// A service account's.
    Account(AccountId),
}

impl Holder {
    /// The principal.
    #[must_use]
    pub fn principal_id(self) -> Uuid {
        match self {
            Holder::Member(id) => id.0,
            Holder::Account(id) => id.0,
        }
    }

    /// Whether it may act.
    ///
    /// # Errors
    /// [`Refusal::NotFound`]
    pub fn is_live(self, read: &impl Read, tenant_id: TenantId) -> Result<bool, Abort<Refusal>> {
        Ok(match self {
            Holder::Member(id) => get_member(read, tenant_id, id)?.status.is_live(),
            Holder::Account(id) => get_account(read, tenant_id, id)?.status == AccountStatus::Active,
        })
    }
}
