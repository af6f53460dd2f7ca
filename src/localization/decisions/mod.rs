//! Decisions: what this room asks others for, the service that takes them, and what it is told when one is taken.
//!
//! Nouns: a *decision* is raised about a *subject* (an approval request, a licence); the *decision service* takes it: an
//! [external](external::External) one, or the embedded [desk](crate::desk), behind one trait. Its *webhook* tells that a
//! decision was taken, and settles nothing: the decision is read.
//!
//! Invariants:
//! - a decision is raised under its subject's id, so that raising it again makes no second one;
//! - a subject that is open is *watched*: it has one row among those that are read again, and none once it is settled;
//! - the webhook's event is recorded in the transaction that settles, or not at all.
//!
//! Below all that raises decisions. Reading order: `model` · `tables` · `service` (the trait) · `answers`, `external` ·
//! `signature` (who sent a webhook) · `watches`, `events`, `asked` (verbs) · `tied` (what ties the room to the service) ·
//! `verify`.

mod answers;
mod asked;
mod events;
mod external;
mod model;
mod service;
mod signature;
mod tables;
mod tied;
mod verify;
mod watches;

#[cfg(test)]
mod tests;

pub use answers::is_decision_id;
pub use asked::{Asked, remember_made};
pub use events::{ExpiredEvents, is_known_event, record_event};
pub use external::External;
pub use model::{
    DECISION_SECONDS, Raise, Raised, Reading, Settled, Status, Subject, SubjectKind, Unavailable, WORDS_CHARS_MAX,
};
pub use service::DecisionService;
pub use signature::{EVENT_ID, SIGNATURE, TIMESTAMP, check_signature, sign};
pub use tables::TABLES;
pub use tied::Decisions;
pub use verify::verify;
pub use watches::{
    Next, WATCH_AGENDA, Watch, assign, due_watches, every_watch, is_assigned, postpone, subject_of, unwatch, watch,
    watch_of,
};
