//! Figures: how translations are counted, and lists and sums of them.
//!
//! Nouns: a *verdict* says how a stored translation is counted: its state, the checks it fails, the words of its source.
//! *Figures* are the sums over the verdicts of a file in a locale. A *cause* is what makes verdicts be found anew
//! ([`rejudge`](crate::content::rejudge)); a *pass* does that.
//!
//! Invariants:
//! - the figures are the sums over the verdicts, always;
//! - a verdict is what the checks say now, of every translation of an active key, whenever no cause is open;
//! - lists and figures are told of a state in which no cause of their project is open, or not at all.
//!
//! Reading order: `tables` · `verdict` (written here alone) · `touch`, `sought`, `judging`, `pass`, `sweep` (judging anew) ·
//! `list`, `stats`, `approved` · `http` · `verify` · `migration`.

mod approved;
pub mod http;
mod judging;
mod list;
mod migration;
mod pass;
mod sought;
mod stats;
mod sweep;
mod tables;
mod touch;
mod verdict;
mod verify;

#[cfg(test)]
pub mod tests;

pub use approved::approved_locales;
pub use migration::MIGRATIONS;
pub use sweep::Rejudging;
pub use tables::TABLES;
pub use verdict::{Verdict, move_verdict, put_verdict};
pub use verify::verify;
