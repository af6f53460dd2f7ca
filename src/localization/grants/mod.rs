//! Grants: given to principals, taken back, and what each may by them.
//!
//! What a grant is, how it is stored and what it covers lies in [`access`](crate::access), below workspaces and projects;
//! here is what needs both.
//!
//! Invariants:
//! - a grant names a workspace or project of its tenant, or the tenant itself;
//! - nobody grants or takes back what he does not hold himself, at its target or above it;
//! - what is revoked confers nothing from the transaction on, whatever the authorization system knows of it;
//! - what a caller is told of its permissions is bounded, however many workspaces and projects there are.
//!
//! Reading order: `bounds` (what a grantor may) · `counts` · `create` · `settle` (what the authorization system has made
//! possible) · `revoke` · `tell`, `reconcile` (what it is told, and when) · `effective` (what a caller may, told one by one) ·
//! `operator` · `http`.

mod bounds;
mod counts;
mod create;
mod effective;
pub mod http;
pub mod operator;
mod put;
mod reconcile;
mod revoke;
mod settle;
mod tell;

#[cfg(test)]
mod tests;

pub use bounds::holds_all;
pub use reconcile::reconcile;
pub use revoke::revoke_all_of;
