//! What is wrong with a translation, judged by rule: the checks Q01 to Q20 of the contract (QA results).
//!
//! Nouns: a *subject* is a translation and all that a check may look at; a *pair* is a text of it and the source it was
//! made from; a *reading* is a text with what in it is no prose; *rules* are what the project says of its words.
//!
//! Invariants:
//! - a check changes nothing, asks nobody and gives the same answer for the same subject;
//! - it takes time linear in the texts and in the terms that are in them, whatever those say;
//! - a failed check that blocks refuses review and approval on every way in.
//!
//! Reading order: `model` · `readers`, `reading` (what is no prose) · `rules` · `detail` (how findings are told) ·
//! `occurrences`, `compared` (what a target lacks) · `addresses` · `q01` … `q20` · `judge`.

mod addresses;
mod compared;
mod detail;
mod judge;
mod model;
mod occurrences;
mod q01;
mod q02;
mod q03;
mod q17;
mod readers;
mod reading;
mod rules;

pub use judge::{failing, judge};
pub use model::{CheckId, CheckSet, Limits, Outcome, Pair, QaCheck, Status, Subject};
pub use reading::Reading;
pub use rules::{Rules, Term};

#[cfg(test)]
mod tests;
