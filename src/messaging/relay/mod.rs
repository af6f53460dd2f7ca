//! Mail leaves: it is handed to the operator's relay, again and again for a day if need be (6-messaging.md, M4).
//!
//! Nouns: the *pump* makes *attempts* at what is due; each hands one mail to the *relay* and is *settled* durably. Whoever
//! wrote what is given up is told in its thread, and the operator in a line.
//!
//! Invariants:
//! - that an attempt is under way is known in memory alone: after a crash it is made again, with the same message id;
//! - a mail that the relay has taken for somebody is not sent to him again;
//! - verbs open no connection; what the relay says is a text of somebody else's, and is cut.
//!
//! Reading order: `written` (what is sent) · `client` (speaking to the relay) · `settle` (the verb) · `turns`, `ahead`, `pump` ·
//! `at_once` (mail that somebody waits for).

mod ahead;
mod at_once;
mod client;
mod pump;
mod settle;
#[cfg(test)]
mod tests;
mod turns;
mod written;

pub(crate) use at_once::send_at_once;
pub(crate) use client::try_it;
pub(crate) use pump::Pump;
