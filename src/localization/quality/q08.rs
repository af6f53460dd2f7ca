//! Q08, numbers: the translation has the numbers of the source, however its language writes them.

use super::detail::told;
use super::model::{Outcome, Pair, Subject};
use super::numbers::numbers;

/// Each number as often as in the source, in any order.
pub fn judge(_subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let (source, target) = (numbers(&pair.source), numbers(&pair.target));
    if source.is_empty() && target.is_empty() {
        return Outcome::Skipped("number");
    }
    if source == target {
        return Outcome::Pass;
    }
    let (missing, extra) = (without(&source, &target), without(&target, &source));
    if missing.is_empty() && extra.is_empty() {
        return Outcome::Pass;
    }
    Outcome::Fail(told(&[("missing", &missing), ("extra", &extra)]))
}

/// Those of the numbers that are not among the others as often.
fn without<'n>(numbers: &'n [String], others: &[String]) -> Vec<&'n str> {
    let mut left = std::collections::HashMap::new();
    for number in others {
        *left.entry(number.as_str()).or_insert(0_usize) += 1;
    }
    let mut missing = Vec::new();
    for number in numbers.iter().map(String::as_str) {
        match left.get_mut(number) {
            Some(count) if *count > 0 => *count -= 1,
            _ => missing.push(number),
        }
    }
    missing
}
