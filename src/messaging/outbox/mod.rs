//! Mail that leaves: what is to be sent, how far it came with each of its recipients, and what was given up.
//!
//! Nouns: an *outgoing* mail is a message of a workspace or a *note* of the platform, with the addresses outside that it goes
//! to. It is *due* at an instant, *held* as long as its thread is paused, or *done*. What could not be delivered, either way,
//! is *undeliverable*: a line for the operator.
//!
//! Invariants:
//! - a mail is here exactly if what it tells of happened: one transaction;
//! - one that is due has one row in the index of what is due, one that is held one by its thread, one that is done one among
//!   what is forgotten, and none has two;
//! - what a note says is sealed for the tenant, and gone when it is done.
//!
//! Reading order: `model` · `tables` · `rows` (reading and keeping) · the verbs `enqueue`, `release` · `undeliverable` ·
//! `forget` (what is old) · `verify` · `http`.

mod enqueue;
mod forget;
pub(crate) mod http;
mod model;
mod release;
mod rows;
mod tables;
#[cfg(test)]
mod tests;
mod undeliverable;
mod verify;

pub(crate) use enqueue::{Note, enqueue, enqueue_note, hold};
pub(crate) use forget::ForgottenMail;
pub(crate) use model::{Fate, Outgoing, OutgoingKey, State, Undeliverable, What};
pub(crate) use release::release;
pub(crate) use rows::{counted, due_from, find, held_by, note_text, put};
pub(crate) use tables::{DUE_TAG, TABLES};
pub(crate) use undeliverable::{list as list_undeliverable, note as note_undeliverable};
pub(crate) use verify::verify;
