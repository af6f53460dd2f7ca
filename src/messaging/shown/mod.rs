//! How messages are shown: as rows of lists, as deliveries, in threads and rooms, with what is known of who wrote them.
//!
//! Reading order: `provenance` (what is known of a sender, and what that does not say) · `signature` (what a signature is
//! worth now) · `message` (the records themselves).

mod message;
mod provenance;
mod signature;
#[cfg(test)]
mod tests;

pub(crate) use message::{Placed, delivery, in_thread, opened, row, signed_recipients};
pub(crate) use signature::{State, state};
