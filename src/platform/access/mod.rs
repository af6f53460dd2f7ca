//! Who may do what: tenants, their sub-tenants, principals, API keys and the permissions keys carry.
//!
//! Nouns: a *tenant* is a customer, provisioned for some of the services; a *sub-tenant* is a tenant with a
//! parent (one level, never more). A *principal* acts within a tenant; a *key* is a principal's credential and
//! carries permissions. A *caller* is what a request's key was found to be.
//!
//! Invariants:
//! - of a key's secret only the SHA-256 digest is stored; the secret is given out once, when it is issued;
//! - an unknown key and a wrong secret cannot be told apart by the answer, and nearly not by its time;
//! - every check reads the newest snapshot, and what a change stands on is asked again in its transaction: revoking and
//!   suspending hold from the next transaction on, whenever its request began;
//! - a sub-tenant acts only while it and its parent are active; its services are among its parent's.
//!
//! Reading order: `model`, `tables`, `key_text` · `tenants`, `keys` (verbs) · `authenticate`, `basis`,
//! `authority`, `uses`.

mod authenticate;
mod authority;
mod basis;
mod key_text;
mod keys;
mod model;
pub(crate) mod tables;
mod tenants;
mod uses;

#[cfg(test)]
mod tests;

pub(crate) use authenticate::root_of_active;
pub use authenticate::{AuthRefusal, Caller, authenticate, authorization};
pub use authority::{AnnouncedKey, AuthFailure, Authority, CredentialState, ExternalAuthority, KeyChangeFailure};
pub use basis::Basis;
pub use keys::{
    IssueKey, IssuedKey, KeyRecord, PreparedSecret, find_key, forget_label, issue_key, issue_key_as, list_keys,
    revoke_key,
};
pub use model::{AccessRefusal, Service, Services, Tenant, TenantStatus};
pub use tenants::{
    CreateTenant, activate_tenant, activated_at, create_tenant, find_tenant, is_suspended, list_sub_tenants,
    list_tenants, rename_tenant, suspend_tenant,
};
pub use uses::KeyUses;
