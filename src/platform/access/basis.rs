//! What a request stands on: it is asked again when the body has arrived, for that may take minutes, and what was true at the
//! head may have ended by then.

use quintet_storage::{Abort, Read, Timestamp};
use uuid::Uuid;

use super::authenticate::{AuthRefusal, Caller, root_of_active};
use super::key_text::parse_key_id;
use super::model::Service;
use super::tables::KEYS;

/// What a request stands on: few small rows, which the writer has at hand.
#[derive(Clone, Copy, Debug)]
pub struct Basis {
    service: Service,
    tenant_id: Uuid,
    /// The key; `None`: it is no key of the appliance's own.
    key: Option<Uuid>,
    expires_at: Option<Timestamp>,
}

impl Basis {
    /// That of a caller which a service has let in.
    #[must_use]
    pub fn of(service: Service, caller: &Caller) -> Basis {
        let key = parse_key_id(&caller.key_id);
        Basis { service, tenant_id: caller.tenant_id, key, expires_at: caller.expires_at }
    }

    /// Whether the caller would be let in once more: its key is not revoked and has not expired, and its tenant is
    /// provisioned and active, as its parent is. What the key carries never changes. A key that an external authorization
    /// system vouches for is that system's to revoke: it was asked when the caller was let in.
    ///
    /// # Errors
    /// Why not, as the caller would be told it; or what the store answers.
    pub fn check(&self, read: &impl Read, now: Timestamp) -> Result<(), Abort<AuthRefusal>> {
        if let Some(id) = self.key {
            let key = read.get(&KEYS, &id)?.filter(|key| key.tenant == self.tenant_id.into_bytes());
            if key.is_some_and(|key| key.revoked_at.is_some()) {
                return Err(AuthRefusal::Unauthenticated.into());
            }
        }
        if self.expires_at.is_some_and(|expires_at| expires_at <= now) {
            return Err(AuthRefusal::CredentialExpired.into());
        }
        root_of_active(read, self.service, self.tenant_id).map(drop)
    }
}
