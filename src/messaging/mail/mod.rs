//! Messages, their deliveries and their threads.
//!
//! Nouns: a *message* is posted into a *thread* and *delivered* to agents: each has one delivery of it, in its inbox at a
//! place that is counted without gaps. What an agent withholds is *held* for it, and what a paused thread gets is held by
//! the thread; both are delivered later, in order.
//!
//! Invariants:
//! - a message, its deliveries, what is held of it, its thread and what was used of the day are one transaction;
//! - an inbox's places are counted from 1 without gaps, and what was delivered stays where it is;
//! - each agent that a message went to has one delivery of it, or one that is held, and never both;
//! - of a participant that has got nothing of a thread, all of it being held, a row says so: it takes part in it later;
//! - as long as anything is held that may be delivered, what comes later waits behind it;
//! - contents are sealed for the tenant wherever they lie.
//!
//! Reading order: `model` (words, the guard of threads) · `tables` · `messages`, `threads` (reading) · `ingress` (who takes
//! mail from outside), `recipients` (whom a message goes to) · `unread`, `uses` · `told` (what webhooks are told) · the verb
//! `deliver` · `whereabouts` (where a message lies for an agent) · the verbs `post`, `resume` · `origins` (where mail from
//! outside came from) · `labels` · `raw` (a
//! message as mail), `compose` (of rows) · `verify`, `verify_indexes`.

pub(crate) mod compose;
pub(crate) mod deliver;
pub(crate) mod ingress;
pub(crate) mod labels;
pub(crate) mod messages;
pub(crate) mod model;
pub(crate) mod origins;
pub(crate) mod post;
pub(crate) mod raw;
pub(crate) mod recipients;
pub(crate) mod resume;
mod tables;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod threads;
mod told;
pub(crate) mod unread;
pub(crate) mod uses;
pub(crate) mod verify;
mod verify_indexes;
pub(crate) mod whereabouts;

pub(crate) use tables::TABLES;
