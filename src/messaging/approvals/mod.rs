//! Approvals: what an agent wants to do, put before a person, who says yes or no (6-messaging.md, P).
//!
//! Nouns: an agent *raises* an approval of a *kind*, with the *action* that it proposes. A person *decides* it by an *act*:
//! at the command line of the appliance, or on the page of a *link* that was made for that approval and that person. A kind
//! may name *approvers* by their addresses of mail. What nobody decides in time has *timed out*; who raised it may *cancel*
//! it. How it ended is its *verdict*.
//!
//! Invariants:
//! - an approval is approved or rejected exactly if a row says who did so, how, when and from where; there is one verdict,
//!   the first that was durable;
//! - a verdict, the message that tells of it and the row it is found by are one transaction;
//! - one that is pending has one row among what falls due, and one that has a verdict has none;
//! - no key decides, and what goes wrong never does: it leaves an approval pending, until it has timed out;
//! - a link's text is known to whoever it was made for. Only its digest is kept, and it is in no answer of the service.
//!
//! Reading order: `model` (words and pure rules) · `action` (what is proposed, and its digest) · `tables` · `rows` (finding
//! and keeping) · `kinds` · `links` · `settle` (what every end has in common) · the verbs `raise`, `decide`, `cancel`,
//! `expire` · `mails` (what approvers are written) · `record` (how one is told) · `verify` · `http`.

pub(crate) mod action;
mod cancel;
pub(crate) mod decide;
mod expire;
mod http;
pub(crate) mod kinds;
pub(crate) mod links;
#[cfg_attr(not(test), expect(dead_code, reason = "nothing takes mail to the outside yet: see the module"))]
pub(crate) mod mails;
pub(crate) mod model;
mod raise;
pub(crate) mod record;
pub(crate) mod rows;
mod settle;
mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use expire::fall_due;
pub(crate) use http::ENDPOINTS;
pub(crate) use raise::{NewApproval, raise};
pub(crate) use rows::falls_due_at;
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
