//! Access: who may what.
//!
//! Nouns: a *permission* is a text that a route asks for, such as `p_<p>_read`. An *intent* is permissions at a *target*
//! (the tenant, a workspace, a project). A *grant* gives a principal the intents that a *template* expands to within a
//! *scope*.
//!
//! Invariants:
//! - what a principal may is decided by the intents in state granted here, in the state the request is served from;
//! - a principal has a bounded number of grants, and what is looked up for a request is bounded by that alone, however
//!   many workspaces and projects there are.
//!
//! Reading order: `permissions` (texts, and what covers what) · `templates` · `model` · `tables` · `grants` ·
//! `authorization` (what a caller may) · `operator` · `verify`.

mod authorization;
mod grants;
mod model;
pub mod operator;
mod permissions;
mod tables;
mod templates;
mod verify;

#[cfg(test)]
mod tests;

pub use authorization::{demand, effective_permissions, granted};
pub use permissions::{Action, KEY_PERMISSIONS, ProjectPlace, Wanted};
pub use tables::TABLES;
pub use templates::TEMPLATES;
pub use verify::verify;
