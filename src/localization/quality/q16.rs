//! Q16, lengths: a translation keeps within the limits of its key's context.

use super::model::{Outcome, Pair, Subject};

/// In Unicode scalar values of the text as it is stored, each form for itself (localization, Q4).
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let (min, max) = (subject.limits.min, subject.limits.max);
    if min.is_none() && max.is_none() {
        return Outcome::Skipped("limit");
    }
    let length = pair.target.text.chars().count();
    let is_over = |limit: &u32| length > *limit as usize;
    let is_under = |limit: &u32| length < *limit as usize;
    match (max.filter(is_over), min.filter(is_under)) {
        (Some(max), _) => Outcome::Fail(format!("length {length}, max_length {max}")),
        (None, Some(min)) => Outcome::Fail(format!("length {length}, min_length {min}")),
        (None, None) => Outcome::Pass,
    }
}
