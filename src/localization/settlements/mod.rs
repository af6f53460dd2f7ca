//! Settlements: decisions that were taken are read, and what they were about is settled.
//!
//! There are three ways here, and all do the same (`settle`): the webhook of the decision service, the look at
//! open decisions every ten minutes and at their expiry, and a start after a crash. None believes anything but what the
//! service says when it is asked.
//!
//! Reading order: `settle` · `rereads` · `http` (the webhook) · `operator` (the desk, for the command line),
//! `member` (the same, for members at the console).

pub mod http;
pub mod member;
pub mod operator;
mod rereads;
mod settle;

#[cfg(test)]
mod tests;

pub use rereads::Rereads;
