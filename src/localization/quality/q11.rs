//! Q11, what is not said: no word that the project forbids is in the translation.

use std::collections::HashSet;

use super::detail::told;
use super::model::{Outcome, Pair, Subject};

/// Whatever the source says (localization, Q8). What is no prose and stands in the source as it does in the target is not
/// said by the translation: other checks want it there.
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    if subject.rules.forbidden().is_empty() {
        return Outcome::Skipped("term");
    }
    let taken: HashSet<&str> = pair.source.others().collect();
    let own = pair.target.others().filter(|part| !taken.contains(part));
    let found = subject.rules.forbidden_in(pair.target.prose().chain(own));
    if found.is_empty() { Outcome::Pass } else { Outcome::Fail(told(&[("forbidden", &found)])) }
}
