//! Requests from within the appliance: the console asks the rooms as the member who looks at its pages, by the same routes as
//! everybody, so that permissions, refusals and what is recorded are the same (8-console.md, "Where it lives").
//!
//! Such a request carries who is vouched for among its extensions, which nothing that comes through a socket can set. What a
//! page asks is no call of the tenant's: nothing is counted.

use quintet_storage::{Abort, Read, Timestamp, Uuid};

use crate::access::{AuthRefusal, Caller, Service, root_of_active};
use crate::people::permits_of;
use crate::sessions::{Session, is_there};

/// A member with a session at the console, for whom it vouches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    tenant_id: Uuid,
    principal_id: Uuid,
    session_id: Uuid,
    ends_at: Timestamp,
}

impl Vouched {
    /// Whose session it is; the console has found it just now.
    #[must_use]
    pub fn for_session(session: &Session) -> Vouched {
        let Session { tenant_id, principal_id, session_id, ends_at, .. } = *session;
        Vouched { tenant_id, principal_id, session_id, ends_at }
    }

    /// In which tenant.
    #[must_use]
    pub fn tenant_id(&self) -> Uuid {
        self.tenant_id
    }

    /// The member.
    #[must_use]
    pub fn principal_id(&self) -> Uuid {
        self.principal_id
    }

    /// The session.
    #[must_use]
    pub fn session_id(&self) -> Uuid {
        self.session_id
    }

    /// Who calls a service: whether the tenant is provisioned for it and active, and whether the member is permitted what a
    /// route wants. With no `permission` the service asks for itself.
    ///
    /// # Errors
    /// What a key would be refused; the store's.
    pub fn admit(
        &self,
        read: &impl Read,
        service: Service,
        permission: Option<&str>,
    ) -> Result<Caller, Abort<AuthRefusal>> {
        let root_tenant_id = root_of_active(read, service, self.tenant_id)?;
        let caller = Caller {
            tenant_id: self.tenant_id,
            root_tenant_id,
            principal_id: self.principal_id,
            // It came with no key; what it does is told of by its name all the same.
            key_id: format!("member_{}", self.principal_id),
            permissions: permits_of(read, self.tenant_id, self.principal_id)?,
            expires_at: Some(self.ends_at),
        };
        if let Some(permission) = permission {
            caller.require(permission)?;
        }
        Ok(caller)
    }

    /// Whether it would be let in once more, in the transaction that changes something: the session is still there, and so is
    /// the permission.
    ///
    /// # Errors
    /// As [`Vouched::admit`].
    pub fn check(
        &self,
        read: &impl Read,
        service: Service,
        permission: Option<&str>,
    ) -> Result<(), Abort<AuthRefusal>> {
        if !is_there(read, self.session_id)? {
            return Err(AuthRefusal::Unauthenticated.into());
        }
        self.admit(read, service, permission).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use quintet_storage::WriteTx;

    use super::*;
    use crate::access::{CreateTenant, create_tenant, suspend_tenant};
    use crate::people::{forbid, permit};
    use crate::testing::TestStore;

    fn write<T: Send + 'static, R: Send + std::fmt::Debug + 'static>(
        test: &TestStore,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    ) -> T {
        test.store.write_blocking(Instant::now() + Duration::from_secs(20), verb).unwrap()
    }

    #[test]
    fn a_member_may_what_it_is_permitted_now() {
        let start = Timestamp::from_micros(1_750_000_000_000_000);
        let test = TestStore::open(start);
        let command = CreateTenant { id: None, name: "t".into(), services: Service::Runs.into(), parent: None };
        let tenant_id = write(&test, move |tx, now| create_tenant(tx, now, command)).tenant_id;
        let principal_id = Uuid::from_u128(7);
        let vouched = Vouched { tenant_id, principal_id, session_id: Uuid::from_u128(9), ends_at: start };
        let admit = |service, permission| vouched.admit(&test.store.read(), service, permission);
        let refused = |refusal| Err(Abort::Refused(refusal));
        assert_eq!(admit(Service::Ledger, None), refused(AuthRefusal::TenantNotProvisioned));
        assert_eq!(admit(Service::Runs, Some("svc_run_read")), refused(AuthRefusal::Forbidden));
        let names = ["svc_run_read".to_owned()];
        let given = names.clone();
        write(&test, move |tx, now| {
            permit(tx, now, (tenant_id, principal_id), &given, "op").map_err(Abort::<AuthRefusal>::Failed)
        });
        assert_eq!(admit(Service::Runs, Some("svc_run_read")).unwrap().principal_id, principal_id);
        assert_eq!(admit(Service::Runs, Some("svc_run_control")), refused(AuthRefusal::Forbidden));
        // Its session is none, so that nothing is changed in its name.
        let check = vouched.check(&test.store.read(), Service::Runs, Some("svc_run_read"));
        assert_eq!(check, Err(Abort::Refused(AuthRefusal::Unauthenticated)));
        write(&test, move |tx, now| {
            forbid(tx, now, (tenant_id, principal_id), &names, "op").map_err(Abort::<AuthRefusal>::Failed)
        });
        assert_eq!(admit(Service::Runs, Some("svc_run_read")), refused(AuthRefusal::Forbidden));
        write(&test, move |tx, now| suspend_tenant(tx, now, tenant_id));
        assert_eq!(admit(Service::Runs, None), refused(AuthRefusal::TenantSuspended));
    }
}
