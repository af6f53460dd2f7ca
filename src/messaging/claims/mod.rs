//! Claims that messages make, and what their recipients found when they tried them.
//!
//! Nouns: a *claim* says something that can be tried: a command, and what it must end with. A *verdict* is what a recipient
//! found; each may give several, and none is ever changed, but of each recipient's the newest few are kept. What a sender finds
//! of its own claim is told like all others, and verifies nothing.
//!
//! Invariants: which verdicts a message has stands in one row, so that whoever gives another reads none of them.
//!
//! Reading order: `tables` · `verdicts` (giving and listing) · `verify` · `http`.

pub(crate) mod http;
mod tables;
#[cfg(test)]
mod tests;
mod verdicts;
mod verify;

pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
