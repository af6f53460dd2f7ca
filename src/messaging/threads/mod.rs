//! Looking back: the threads that an agent takes part in, what it sent, and what was said in its rooms.
//!
//! Invariants:
//! - of a thread an agent sees the messages that it got or sent, and no others that stand in it: neither what they are about,
//!   nor who is only to get one;
//! - what is long is cut, and says where it goes on.
//!
//! Reading order: `look` (which threads, which messages) · `http`.

pub(crate) mod http;
mod look;
#[cfg(test)]
mod tests;
