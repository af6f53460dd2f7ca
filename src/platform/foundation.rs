//! What every service stands on, and how each of them lets a request in.

use std::sync::Arc;

use quintet_storage::{Failure, Store};

use crate::access::{AuthFailure, AuthRefusal, Authority, Caller, KeyUses, Service};
use crate::clock::Clock;
use crate::idempotency::InFlight;
use crate::metering::{Meter, OverQuota};

/// What every service stands on. Clones share it.
#[derive(Clone)]
pub struct Foundation {
    /// The memory.
    pub store: Store,
    /// The one clock.
    pub clock: Clock,
    /// Learns which keys were used.
    pub uses: Arc<KeyUses>,
    /// Counts calls against quotas.
    pub meter: Arc<Meter>,
    /// Says what a credential is worth.
    pub authority: Arc<Authority>,
    /// The Idempotency-Keys of requests that are being served.
    pub in_flight: InFlight,
}

/// Why a request was not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdmitted {
    /// The credential, its permissions or its tenant.
    Refused(AuthRefusal),
    /// The tenant has no calls left; how long until the next may pass, in seconds.
    OverQuota(u64),
    /// The external authorization system could not be asked, or did not answer properly.
    Unavailable,
    /// The external authorization system refuses the appliance's own credential.
    CredentialRejected,
    /// The store could not be read.
    Store(Failure),
}

impl From<AuthFailure> for NotAdmitted {
    fn from(failure: AuthFailure) -> NotAdmitted {
        match failure {
            AuthFailure::Refused(refusal) => NotAdmitted::Refused(refusal),
            AuthFailure::Store(failure) => NotAdmitted::Store(failure),
            AuthFailure::Unavailable => NotAdmitted::Unavailable,
            AuthFailure::CredentialRejected => NotAdmitted::CredentialRejected,
        }
    }
}

impl Foundation {
    /// Made once, when the appliance starts.
    #[must_use]
    pub fn new(store: Store, clock: Clock, authority: Authority) -> Foundation {
        let (uses, meter) = (Arc::new(KeyUses::new(store.clone())), Arc::new(Meter::new(store.clone())));
        Foundation { store, clock, uses, meter, authority: Arc::new(authority), in_flight: InFlight::default() }
    }

    /// Who asks, if it is a key of this service at all. Nothing is counted, nor is the key's use noted: for what stands
    /// before a call.
    ///
    /// # Errors
    /// See [`NotAdmitted`].
    pub async fn recognize(&self, service: Service, credential: Option<&str>) -> Result<Caller, NotAdmitted> {
        Ok(self.authority.authenticate(&self.store, service, credential, None, self.clock.now()).await?)
    }

    /// Lets a request in: who asks, whether the key allows it (with no `permission`: whether it is a key of this service
    /// at all), and whether the tenant has calls left. The call is counted, and the key's use noted.
    ///
    /// # Errors
    /// See [`NotAdmitted`].
    pub async fn admit(
        &self,
        service: Service,
        credential: Option<&str>,
        permission: Option<&str>,
    ) -> Result<Caller, NotAdmitted> {
        let now = self.clock.now();
        let caller = self.authority.authenticate(&self.store, service, credential, permission, now).await?;
        let pacing_now = self.clock.pacing_now();
        let counted = self.meter.count(&self.store.read(), service, caller.root_tenant_id, now, pacing_now);
        let is_first_call = counted.map_err(|OverQuota(wait)| NotAdmitted::OverQuota(wait.0))?;
        if self.uses.note(&caller, now) || is_first_call {
            self.clock.wake();
        }
        Ok(caller)
    }
}
