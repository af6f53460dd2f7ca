//! Reminders: messages that their author has posted later, once or again and again (6-messaging.md, D1).
//!
//! Nouns: a reminder is *due* at an instant, and *fires* then: it is a message of its author to himself or to another agent,
//! in a thread of its own. One that *repeats* has a *rule*, by which it is due again. It ends by firing for the last time, by
//! being cancelled, or by expiring, and is remembered for a while.
//!
//! Invariants:
//! - a reminder that is scheduled has one row among what falls due, and one that has ended has one, too, by which it goes;
//! - of instants that passed unseen, only one is fired for;
//! - what it says is sealed for the tenant, and opened when it fires.
//!
//! Reading order: `model` · `rule` (when one is due again) · `tables` · `rows` (finding and keeping) · the verbs `create`,
//! `cancel`, `fire` · `verify` · `http`.

mod cancel;
mod create;
mod fire;
mod http;
mod model;
mod rows;
mod rule;
mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use fire::fall_due;
pub(crate) use http::ENDPOINTS;
pub(crate) use rows::falls_due_at;
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
