//! Q12, what is as in the source: it may have been forgotten.

use std::ops::Range;

use super::characters::is_letter;
use super::model::{Outcome, Pair, Subject};
use super::reading::Reading;
use super::rules::Rules;
use super::words::{composed, words};

/// The least letters of a word that two languages are not expected to share (localization, Q4).
const LETTERS_MIN: usize = 3;

/// Case counts. Nothing is to be translated between the tags of one language.
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    if subject.source_locale.language() == subject.target_locale.language() {
        return Outcome::Skipped("language");
    }
    let is_same = pair.source.text == pair.target.text;
    if !is_same && pair.source.spans.is_empty() && subject.rules.keeps_nothing() && begins_with_word(pair.source.text) {
        return Outcome::Pass;
    }
    if !has_word(&pair.source, subject.rules) && (is_same || !has_word(&pair.target, subject.rules)) {
        return Outcome::Skipped("letters");
    }
    if is_same { Outcome::Fail("same as the source".to_owned()) } else { Outcome::Pass }
}

/// Whether the text begins with enough ASCII letters, as most do.
fn begins_with_word(text: &str) -> bool {
    text.bytes().take_while(u8::is_ascii_alphabetic).nth(LETTERS_MIN - 1).is_some()
}

/// Whether a word of three letters is left in the prose without what is not translated.
fn has_word(reading: &Reading<'_>, rules: &Rules) -> bool {
    reading.prose().any(|piece| {
        let piece = composed(piece);
        let mut kept: Vec<Range<usize>> = rules.kept_places(&piece).collect();
        kept.sort_by_key(|place| place.start);
        let mut kept = kept.into_iter().peekable();
        let mut masked = 0;
        words(&piece).any(|(start, word)| {
            while let Some(place) = kept.next_if(|place| place.start < start + word.len()) {
                masked = masked.max(place.end);
            }
            // A term in the middle of a word ends it, in scripts without spaces.
            let rest = word.get(masked.saturating_sub(start).min(word.len())..).unwrap_or_default();
            rest.chars().filter(|letter| is_letter(*letter)).nth(LETTERS_MIN - 1).is_some()
        })
    })
}
