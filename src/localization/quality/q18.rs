//! Q18, characters that nobody sees: those that hide text, turn it around or make two texts look the same.

use super::characters::{code_point, is_invisible};
use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};

/// Those that the source has are fine, however often (QA results).
pub fn judge(_subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    if !pair.target.text.bytes().any(may_be_invisible) {
        return Outcome::Pass;
    }
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

/// Whether one of them may have the byte, the second one if it has several: what is looked at before characters are.
const fn may_be_invisible(byte: u8) -> bool {
    // U+0080 to U+009F, U+061C, U+200B to U+206F, U+FEFF and U+E0000 to U+E007F, by the byte that tells most.
    matches!(byte, 0..=0x8 | 0xb | 0xc | 0xe..=0x1f | 0x7f | 0xc2 | 0xd8 | 0xe2 | 0xef | 0xf3)
}
