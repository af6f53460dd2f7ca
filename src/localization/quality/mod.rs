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
//! Reading order: `model` · `readers`, `reading` (what is no prose) · `characters`, `words` · `registers`, `rules`, `compiled` ·
//! `subject` · `detail` (how findings are told) · `occurrences`, `compared` (what a target lacks) · `addresses`, `numbers`,
//! `punctuation`, `scripts` · `q01` … `q20` · `judge`.

mod addresses;
mod characters;
mod compared;
mod compiled;
mod detail;
mod judge;
mod model;
mod numbers;
mod occurrences;
mod punctuation;
mod q01;
mod q02;
mod q03;
mod q04;
mod q05;
mod q06;
mod q07;
mod q08;
mod q09;
mod q10;
mod q11;
mod q12;
mod q14;
mod q16;
mod q17;
mod q18;
mod q19;
mod q20;
mod readers;
mod reading;
mod registers;
mod rules;
mod scripts;
mod subject;
mod words;

#[cfg(test)]
mod tests;

pub use crate::content::Format;
pub use characters::is_unprintable;
pub use compiled::rules;
pub use judge::{failing, judge};
pub use model::{CheckId, CheckSet, Limits, Outcome, Pair, QaCheck, Status, Subject};
pub use reading::Reading;
pub use rules::{Entry, Rules};
pub use subject::Grounds;
pub use words::folded;
