//! From a request's `Authorization` header to a caller, in three reads of the newest snapshot.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use quintet_storage::{Abort, Failure, Read, Refusal, Timestamp};
use uuid::Uuid;

use super::key_text::{key_id_text, secret_digest, split};
use super::model::Service;
use super::tables::{KEYS, KeyRow, TENANTS, TenantRow};
use super::tenants::is_suspended_row;
use crate::secrets::{Digest, constant_time_eq};

/// Why a request is not served, in the order the checks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthRefusal {
    /// 401: no credential, a malformed, an unknown or a revoked one.
    #[error("a valid API key is required")]
    Unauthenticated,
    /// 401: the key's life is over.
    #[error("the API key has expired")]
    CredentialExpired,
    /// 403: the key's tenant is not provisioned for this service.
    #[error("the tenant is not provisioned for this service")]
    TenantNotProvisioned,
    /// 403: the key does not carry the permission.
    #[error("the API key does not carry the required permission")]
    Forbidden,
    /// 403: the tenant, or its parent, is suspended.
    #[error("the tenant is suspended")]
    TenantSuspended,
}

impl Refusal for AuthRefusal {}

/// Who is calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tenant that is acted for.
    pub tenant_id: Uuid,
    /// Its parent, or itself: what usage is metered against.
    pub root_tenant_id: Uuid,
    /// Who acts.
    pub principal_id: Uuid,
    /// The key that was used.
    pub key_id: String,
    /// What the key may do; sorted.
    pub permissions: Vec<String>,
    /// From when on the key is refused; `None`: until it is revoked.
    pub expires_at: Option<Timestamp>,
}

impl Caller {
    /// Whether the key carries a permission.
    #[must_use]
    pub fn has(&self, permission: &str) -> bool {
        self.permissions.binary_search_by(|known| known.as_str().cmp(permission)).is_ok()
    }

    /// Demands a permission.
    ///
    /// # Errors
    /// [`AuthRefusal::Forbidden`]
    pub fn require(&self, permission: &str) -> Result<(), AuthRefusal> {
        if self.has(permission) { Ok(()) } else { Err(AuthRefusal::Forbidden) }
    }
}

/// The request's `Authorization` header: `None` if it is absent, there are several, or it is not visible ASCII,
/// none of which can be a key.
#[must_use]
pub fn authorization(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (Some(only), None) => only.to_str().ok(),
        _ => None,
    }
}

/// Finds out who is calling a service and whether they may: credential, expiry, provisioning, permission, tenant and
/// parent active, in this order. A route that any key of the tenant may call asks for no permission.
///
/// # Errors
/// See [`AuthRefusal`], or what the store answers.
pub fn authenticate(
    read: &impl Read,
    service: Service,
    authorization_header: Option<&str>,
    permission: Option<&str>,
    now: Timestamp,
) -> Result<Caller, Abort<AuthRefusal>> {
    let (id, secret) = authorization_header.and_then(bearer).and_then(split).ok_or(AuthRefusal::Unauthenticated)?;
    let key = verified_key(read, id, secret)?.ok_or(AuthRefusal::Unauthenticated)?;
    let known = KnownKey {
        key_id: key_id_text(id),
        tenant_id: Uuid::from_bytes(key.tenant),
        principal_id: Uuid::from_bytes(key.principal),
        permissions: key.permissions,
        expires_at: key.expires_at,
    };
    admit(read, service, known, permission, now)
}

/// A credential that was found to be genuine, whoever found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownKey {
    pub(crate) key_id: String,
    pub(crate) tenant_id: Uuid,
    pub(crate) principal_id: Uuid,
    /// Sorted.
    pub(crate) permissions: Vec<String>,
    pub(crate) expires_at: Option<Timestamp>,
}

/// Whether a genuine credential is let in: expiry, provisioning, permission, tenant and parent active.
pub(crate) fn admit(
    read: &impl Read,
    service: Service,
    key: KnownKey,
    permission: Option<&str>,
    now: Timestamp,
) -> Result<Caller, Abort<AuthRefusal>> {
    if key.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(AuthRefusal::CredentialExpired.into());
    }
    let tenant = provisioned(read, service, key.tenant_id)?;
    let caller = Caller {
        tenant_id: key.tenant_id,
        root_tenant_id: tenant.parent().unwrap_or(key.tenant_id),
        principal_id: key.principal_id,
        key_id: key.key_id,
        permissions: key.permissions,
        expires_at: key.expires_at,
    };
    if let Some(permission) = permission {
        caller.require(permission)?;
    }
    check_active(read, &tenant)?;
    Ok(caller)
}

/// The root tenant of one that is provisioned for a service and active, as its parent is: for credentials that carry no
/// permissions.
pub(crate) fn root_of_active(read: &impl Read, service: Service, tenant_id: Uuid) -> Result<Uuid, Abort<AuthRefusal>> {
    let tenant = provisioned(read, service, tenant_id)?;
    check_active(read, &tenant)?;
    Ok(tenant.parent().unwrap_or(tenant_id))
}

fn provisioned(read: &impl Read, service: Service, tenant_id: Uuid) -> Result<TenantRow, Abort<AuthRefusal>> {
    let tenant = read.get(&TENANTS, &tenant_id)?.filter(|tenant| tenant.services().contains(service));
    Ok(tenant.ok_or(AuthRefusal::TenantNotProvisioned)?)
}

/// RFC 6750, 2.1: the scheme in either case, one blank, the token.
pub(crate) fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") { Some(token.trim_start_matches(' ')) } else { None }
}

/// The key, if the secret is its own and it is not revoked. An unknown key costs the same digest and comparison
/// as a known one.
fn verified_key(read: &impl Read, id: Uuid, secret: &str) -> Result<Option<KeyRow>, Failure> {
    const NOBODYS: Digest = [0; 32];
    let key = read.get(&KEYS, &id)?;
    let stored = key.as_ref().map_or(&NOBODYS, |key| &key.digest);
    let is_own = constant_time_eq(&secret_digest(secret), stored);
    Ok(key.filter(|key| is_own && key.revoked_at.is_none()))
}

fn check_active(read: &impl Read, tenant: &TenantRow) -> Result<(), Abort<AuthRefusal>> {
    if is_suspended_row(read, tenant)? { Err(AuthRefusal::TenantSuspended.into()) } else { Ok(()) }
}
