//! The desk: the decision service that is built in. Operators take its decisions from the command line.
//!
//! Nouns: a *decision* waits until somebody takes it, or until its time is over. What is taken is told by a *call*: the same
//! signed webhook that another service would send, over HTTP to this service's own listener.
//!
//! Invariants:
//! - a subject has one decision here, however often it is raised;
//! - a decision that waits has one row among the pending ones and one among those that expire, any other has none;
//! - a decision is taken once, and with it its call falls due; the call is made until it is answered with 200.
//!
//! Calls are no deliveries of [`platform`](quintet_platform::deliveries): those go where tenants say, so that the way out
//! refuses them this machine; they are given up at some point; and all of a service's follow one set of rules, which
//! will be those of webhooks that tenants ask for.
//!
//! Reading order: `model` · `tables` · `names` · `raise`, `decide`, `list` (verbs) · `secret` (what calls are signed with) · `service` (the
//! trait) · `calls` · `verify`.

mod calls;
mod decide;
mod list;
mod model;
mod names;
mod raise;
mod secret;
mod service;
mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub use calls::{Calls, OwnListener};
pub use decide::{Decide, DeskRefusal, ExpiredDecisions, Verdict, decide};
pub use list::{decisions_of, get_context, get_decision, list_decisions};
pub use model::DeskDecision;
pub use secret::webhook_secret;
pub use service::Desk;
pub use tables::TABLES;
pub use verify::verify;
