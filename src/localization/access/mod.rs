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
//! Below workspaces and projects, which it knows by their short ids; granting, which looks them up, is
//! [`grants`](crate::grants). Reading order: `permissions` (texts, and what covers what) · `templates` · `states` (how far a grant has come) · `model` · `tables` ·
//! `authorization` (what a caller may) · `permits` (what a request was permitted) · `verify`.

mod authorization;
mod model;
mod permissions;
mod permits;
mod states;
mod tables;
mod templates;
mod verify;

#[cfg(test)]
pub use authorization::intents_of;
pub use authorization::{granted, prospects_of};
pub use model::{GRANTS_MAX, Grant, GrantId, GrantIntent, REVOKED_GRANTS_MAX, Scope, TENANT_GRANTS_MAX};
pub use permissions::{Action, Granted, Intent, KEY_PERMISSIONS, Parsed, ProjectPlace, Target, Wanted, is_ours, parse};
pub use permits::Permits;
pub use states::{GrantState, IntentState, IntentStep, grant_state};
#[cfg(test)]
pub use tables::{FirstGrantRow, FirstIntentRow};
pub use tables::{
    GRANT_COUNTS, GRANT_VERSIONS, GRANTS, GRANTS_BY_PRINCIPAL, GrantCountsRow, GrantRow, GrantVersionRow, IntentRow,
    MarkRow, OPEN_GRANTS, REVOKED_GRANTS, TABLES,
};
pub use templates::{Place, TEMPLATES, Template, template};
pub use verify::verify;
