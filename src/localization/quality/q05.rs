//! Q05, empty translations: what says something is not translated by nothing.

use super::characters::is_blank;
use super::model::{Outcome, Subject};

/// A plural is empty when all its forms are; Q04 tells of a single one (localization, Q1).
pub fn judge(subject: &Subject<'_>) -> Outcome {
    let is_empty = subject.pairs.iter().all(|pair| pair.target.text.chars().all(is_blank));
    let says_something = subject.pairs.iter().any(|pair| !pair.source.text.chars().all(is_blank));
    if is_empty && says_something { Outcome::Fail("empty".to_owned()) } else { Outcome::Pass }
}
