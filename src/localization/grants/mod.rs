//! Grants: given to principals, and what each may by them.
//!
//! What a grant is, how it is stored and what it covers lies in [`access`](crate::access), below workspaces and projects;
//! here is what needs both.
//!
//! Invariants:
//! - a grant names a workspace or project of its tenant, or the tenant itself;
//! - what a caller is told of its permissions is bounded, however many workspaces and projects there are.
//!
//! Reading order: `create` · `effective` (what a caller may, told one by one) · `operator` · `http`.

mod create;
mod effective;
pub mod http;
pub mod operator;

#[cfg(test)]
mod tests;
