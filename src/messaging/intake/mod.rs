//! Mail from outside, from its envelope to the inboxes (6-messaging.md, M2, M3).
//!
//! Nouns: a mail *arrived* with its *envelope* for *recipients* of one or several workspaces; it is *read*, held against name
//! servers (*verdicts*), *kept* in one transaction for all of them, and has an *origin* there.
//!
//! Invariants:
//! - it is on the disk for each of its recipients before whoever handed it in is told so, or for none;
//! - whatever is in it costs no more memory and work than its size has: what goes beyond is kept as it came;
//! - what is found out of where it comes from decides nothing, and nobody waits for long on a name server;
//! - what is said of mail is never an answer by mail.
//!
//! Reading order: `model` · `bounds` (what can be taken apart), `report`, `content` (taking apart) · `verdicts` · `trace` · `find` (whom
//! an address stands for) · `thread` · `keep` (the verb) · `take` (what is done before it).

mod bounds;
mod content;
mod find;
mod keep;
mod model;
mod report;
mod take;
#[cfg(test)]
mod tests;
mod thread;
mod trace;
mod verdicts;

pub(crate) use find::find;
pub(crate) use model::{Arrived, Envelope, Found, NotTaken, Recipient, SIZE_MAX};
pub(crate) use take::{refused, take};
