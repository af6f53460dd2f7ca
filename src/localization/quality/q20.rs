//! Q20, words of several scripts: letters that look alike where one of them does not belong.

use std::collections::HashSet;

use super::characters::is_letter;
use super::detail::told;
use super::model::{Outcome, Pair, Subject};
use super::scripts::{is_mixed, words_by_script};

/// Words of the source, and of what is not translated, are as they should be (localization, Q6).
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    if !pair.target.prose().chain(pair.source.prose()).any(|piece| piece.contains(is_letter)) {
        return Outcome::Skipped("letters");
    }
    if pair.target.text.is_ascii() {
        return Outcome::Pass;
    }
    let mut mixed: Vec<&str> = pair.target.prose().flat_map(words_by_script).filter(|word| is_mixed(word)).collect();
    if mixed.is_empty() {
        return Outcome::Pass;
    }
    let known: HashSet<&str> = pair.source.prose().flat_map(words_by_script).collect();
    mixed.retain(|word| !known.contains(word) && !subject.rules.is_kept_word(word));
    if mixed.is_empty() { Outcome::Pass } else { Outcome::Fail(told(&[("mixed", &mixed)])) }
}
