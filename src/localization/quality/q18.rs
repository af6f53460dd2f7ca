//! Q18, characters that nobody sees: those that hide text, turn it around or make two texts look the same.

use super::characters::{code_point, is_invisible};
use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};

/// Those that the source has are fine, however often (QA results).
pub fn judge(_subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let mut offending = Vec::new();
    for character in pair.target.text.chars().filter(|character| is_invisible(*character)) {
        // There are two hundred of them at most.
        if !offending.contains(&character) && !pair.source.text.contains(character) {
            offending.push(character);
        }
    }
    if offending.is_empty() {
        return Outcome::Pass;
    }
    let named: Vec<String> = offending.into_iter().map(code_point).collect();
    Outcome::Fail(told(&[("extra", &borrowed(&named))]))
}
