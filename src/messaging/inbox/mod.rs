//! An agent's inbox as it reads it: pages of deliveries, one delivery with all that it says, its attachments, and what the
//! agent notes of it: read, acknowledged, labels.
//!
//! Invariants:
//! - what is read is marked so, unless by a key that may only read;
//! - a page never passes over anything that it does not say to have passed over: the next one begins where it ended;
//! - nobody sees a delivery, or a message, that he has no part in.
//!
//! Reading order: `page` (which deliveries a page has) · `find` (what an id names) · `http`.

pub(crate) mod find;
pub(crate) mod http;
mod page;
#[cfg(test)]
mod tests;
