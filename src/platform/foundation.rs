//! What every service stands on, and how each of them lets a request in.

use std::sync::Arc;

use quintet_storage::{Abort, Failure, Store, Timestamp, Uuid};

use crate::access::{AuthFailure, AuthRefusal, Authority, Caller, KeyUses, Service, root_of_active};
use crate::clock::Clock;
use crate::idempotency::InFlight;
use crate::metering::{Meter, OverQuota};
use crate::sessions::{Door, Session, SessionUses, find_session};
use crate::stopping::Stopping;

/// What every service stands on. Clones share it.
#[derive(Clone)]
pub struct Foundation {
    /// The memory.
    pub store: Store,
    /// The one clock.
    pub clock: Clock,
    /// Learns which keys were used.
    pub uses: Arc<KeyUses>,
    /// Learns when sessions were used.
    pub session_uses: Arc<SessionUses>,
    /// Counts calls against quotas.
    pub meter: Arc<Meter>,
    /// Says what a credential is worth.
    pub authority: Arc<Authority>,
    /// The Idempotency-Keys of requests that are being served.
    pub in_flight: InFlight,
    /// Ends what would not end by itself when the appliance stops.
    pub stopping: Stopping,
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

impl From<Abort<AuthRefusal>> for NotAdmitted {
    fn from(abort: Abort<AuthRefusal>) -> NotAdmitted {
        match abort {
            Abort::Refused(refusal) => NotAdmitted::Refused(refusal),
            Abort::Failed(failure) => NotAdmitted::Store(failure),
        }
    }
}

impl Foundation {
    /// Made once, when the appliance starts.
    #[must_use]
    pub fn new(store: Store, clock: Clock, authority: Authority) -> Foundation {
        let (uses, meter) = (Arc::new(KeyUses::new(store.clone())), Arc::new(Meter::new(store.clone())));
        let session_uses = Arc::new(SessionUses::new(store.clone()));
        let authority = Arc::new(authority);
        let (in_flight, stopping) = (InFlight::default(), Stopping::default());
        Foundation { store, clock, uses, session_uses, meter, authority, in_flight, stopping }
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
        let is_first_call = self.count(service, caller.root_tenant_id, now)?;
        if self.uses.note(&caller, now) || is_first_call {
            self.clock.wake();
        }
        Ok(caller)
    }

    /// [`Foundation::admit`] for a service whose keys are its own, where it has recognized one: whether the tenant is
    /// provisioned for it and active, as its parent is, and has calls left. The call is counted. Answers with the root
    /// tenant, against which it was.
    ///
    /// # Errors
    /// See [`NotAdmitted`]: what the tenant does not allow, in the order of the sentence above, or what the store answers.
    pub fn admit_own(&self, service: Service, tenant_id: Uuid) -> Result<Uuid, NotAdmitted> {
        let root_tenant_id = root_of_active(&self.store.read(), service, tenant_id)?;
        if self.count(service, root_tenant_id, self.clock.now())? {
            self.clock.wake();
        }
        Ok(root_tenant_id)
    }

    /// [`Foundation::admit`] for a session: whether this token is one of this door that has not ended, and whether its tenant
    /// is provisioned for the service and active, as its parent is, and has calls left. The call is counted, and the
    /// session's use noted. Answers with the root tenant as well.
    ///
    /// # Errors
    /// See [`NotAdmitted`].
    pub fn admit_session(&self, service: Service, door: Door, token: &str) -> Result<(Session, Uuid), NotAdmitted> {
        let now = self.clock.now();
        let found =
            find_session(&self.store.read(), &self.session_uses, door, token, now).map_err(NotAdmitted::Store)?;
        let session = found.ok_or(NotAdmitted::Refused(AuthRefusal::Unauthenticated))?;
        let root_tenant_id = self.admit_own(service, session.tenant_id)?;
        if self.session_uses.note(session.session_id, now) {
            self.clock.wake();
        }
        Ok((session, root_tenant_id))
    }

    /// Counts a call of a root tenant; `true` if it is the first that is not stored.
    fn count(&self, service: Service, root_tenant_id: Uuid, now: Timestamp) -> Result<bool, NotAdmitted> {
        let counted = self.meter.count(&self.store.read(), service, root_tenant_id, now, self.clock.pacing_now());
        counted.map_err(|OverQuota(wait)| NotAdmitted::OverQuota(wait.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use quintet_storage::WriteTx;

    use super::*;
    use crate::access::{CreateTenant, Services, activate_tenant, create_tenant, suspend_tenant};
    use crate::metering::{Quota, set_quota};
    use crate::testing::TestStore;

    const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000);

    fn write<T: Send + 'static, R: Send + std::fmt::Debug + 'static>(
        test: &TestStore,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    ) -> T {
        test.store.write_blocking(Instant::now() + Duration::from_secs(20), verb).unwrap()
    }

    fn tenant(test: &TestStore, services: Services, parent: Option<Uuid>) -> Uuid {
        let command = CreateTenant { id: None, name: "t".to_owned(), services, parent };
        write(test, move |tx, now| create_tenant(tx, now, command)).tenant_id
    }

    #[test]
    fn keys_of_a_services_own_are_let_in_as_far_as_their_tenants_are() {
        let test = TestStore::open(START);
        let foundation = Foundation::new(test.store.clone(), test.clock.clone(), Authority::Embedded);
        let admit = |tenant_id| foundation.admit_own(Service::Messaging, tenant_id);
        let root = tenant(&test, Services::ALL, None);
        let client = tenant(&test, Service::Messaging.into(), Some(root));
        let other = tenant(&test, Service::Ledger.into(), None);
        assert_eq!((admit(root), admit(client)), (Ok(root), Ok(root)));
        for stranger in [other, Uuid::nil()] {
            assert_eq!(admit(stranger), Err(NotAdmitted::Refused(AuthRefusal::TenantNotProvisioned)));
        }
        let suspended = Err(NotAdmitted::Refused(AuthRefusal::TenantSuspended));
        write(&test, move |tx, now| suspend_tenant(tx, now, client));
        assert_eq!((admit(root), admit(client)), (Ok(root), suspended.clone()));
        write(&test, move |tx, now| activate_tenant(tx, now, client));
        write(&test, move |tx, now| suspend_tenant(tx, now, root));
        assert_eq!((admit(root), admit(client)), (suspended.clone(), suspended));
        write(&test, move |tx, now| activate_tenant(tx, now, root));
        assert_eq!((admit(root), admit(client)), (Ok(root), Ok(root)));
    }

    #[test]
    fn their_calls_count_against_the_root_tenants_quota() {
        let test = TestStore::open(START);
        let foundation = Foundation::new(test.store.clone(), test.clock.clone(), Authority::Embedded);
        let root = tenant(&test, Services::ALL, None);
        let client = tenant(&test, Services::ALL, Some(root));
        let quota = Quota { monthly_calls: Some(3), burst_per_second: None };
        write(&test, move |tx, now| set_quota(tx, now, root, Service::Messaging, quota));
        let admit = |tenant_id| foundation.admit_own(Service::Messaging, tenant_id);
        assert_eq!([admit(root), admit(client), admit(root)], [Ok(root), Ok(root), Ok(root)]);
        assert!(matches!(admit(client), Err(NotAdmitted::OverQuota(seconds)) if seconds > 0));
        assert_eq!(foundation.admit_own(Service::Ledger, client), Ok(root), "another service has its own");
        let used = foundation.meter.usage(&test.store.read(), Service::Messaging, root, START);
        assert_eq!(used.calls, 3, "what is not let in is not counted");
        // What is refused for another reason is not counted either.
        write(&test, move |tx, now| suspend_tenant(tx, now, root));
        assert!(foundation.admit_own(Service::Ledger, root).is_err());
        assert_eq!(foundation.meter.usage(&test.store.read(), Service::Ledger, root, START).calls, 1);
    }
}
