//! Sending: what is asked, the checks in their order, and the one transaction that posts it; and answering, which is sending
//! to those whom a message came from.
//!
//! Invariants:
//! - what is refused has left nothing behind: what was stored for it before the transaction is given back;
//! - whatever is decided is decided in the transaction that posts, by what it sees;
//! - what is told before by resolving is what a send would do with the same recipients.
//!
//! Reading order: `payload` (what rooms want) · `model` (what is asked, and what is ready to be posted) · `answers` (to whom
//! a reply goes) · `check` (the checks, in their order) · `send` (the verb), `ephemeral` (what is stored nowhere) · `prepare`
//! (what is done before the transaction) · `nag` (what is owed for it) · `http`.

mod answers;
mod check;
mod ephemeral;
mod http;
mod model;
mod nag;
mod payload;
mod prepare;
mod send;
#[cfg(test)]
mod tests;

pub(crate) use http::{ENDPOINTS, Taken, author, deliver, form, take};
pub(crate) use model::{Asked, Course, Spoken, Wants};
pub(crate) use nag::nag;
pub(crate) use prepare::store;
