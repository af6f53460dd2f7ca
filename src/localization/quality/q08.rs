//! Q08, numbers: the translation has the numbers of the source, however its language writes them.

use crate::language::Category;

use super::detail::told;
use super::model::{Outcome, Pair, Subject};
use super::numbers::numbers;

/// Each number as often as in the source, in any order. A form for one number may have it in words, as a placeholder or
/// not at all.
pub fn judge(_subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let (source, target) = (numbers(&pair.source), numbers(&pair.target));
    if source.is_empty() && target.is_empty() {
        return Outcome::Skipped("number");
    }
    if source == target {
        return Outcome::Pass;
    }
    let (mut missing, mut extra) = (without(&source, &target), without(&target, &source));
    if let Some(counted) = pair.category.and_then(counted) {
        missing.retain(|number| *number != counted);
        extra.retain(|number| *number != counted);
    }
    if missing.is_empty() && extra.is_empty() {
        return Outcome::Pass;
    }
    Outcome::Fail(told(&[("missing", &missing), ("extra", &extra)]))
}

/// The number that a form's name says.
const fn counted(category: Category) -> Option<&'static str> {
    match category {
        Category::Zero => Some("0"),
        Category::One => Some("1"),
        Category::Two => Some("2"),
        Category::Few | Category::Many | Category::Other => None,
    }
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
