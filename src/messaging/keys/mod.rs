//! Keys of a workspace: issuing, listing and revoking them, and addresses at which one can be fetched once.
//!
//! Nouns: a key is *bound* to agents, or it is the *operator's*, who is whoever runs the workspace. A key that is handed
//! over by a *one-time address* has no secret until somebody fetches it.
//!
//! Invariants:
//! - a workspace's counts are those of its keys that are not revoked;
//! - a key of scope `send` is bound: what an agent does for itself is done by a key of its own (6-messaging.md, K1);
//! - a secret is told once, and nowhere kept: what waits at a one-time address is drawn when it is fetched.
//!
//! Reading order: `model` (what a key is to be) · `tables` · the verbs `issue`, `revoke`, `hand_over` · `http`.

mod hand_over;
pub(crate) mod http;
mod issue;
mod model;
mod revoke;
mod tables;

#[cfg(test)]
mod tests;

pub(crate) use hand_over::expire_address;
pub(crate) use issue::{NewKey, issue};
pub(crate) use model::{LABEL_CHARS_MAX, agents_of, scope_of};
pub(crate) use revoke::revoke;
pub(crate) use tables::{TABLES, verify};
