//! Q19, the formal register: no word addresses somebody informally where the project wants it formal.

use std::collections::HashSet;

use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};
use super::registers::{Register, WORD_BYTES_MAX};
use super::words::{composed, is_whole_word, words};

/// A word that the source has in the same case is a name. One in capitals alone is an abbreviation, unless all is.
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let Some(register) = subject.rules.register() else { return Outcome::Skipped("rule") };
    let mut names: Option<HashSet<&str>> = None;
    let mut is_shouted: Option<bool> = None;
    let mut found: Vec<String> = Vec::new();
    for piece in pair.target.prose() {
        let piece = composed(piece);
        let mut last = "";
        for (start, word) in words(&piece) {
            let before = std::mem::replace(&mut last, word);
            if !register.is_informal(before, word, piece.get(start + word.len()..).unwrap_or_default())
                || !is_whole_word(&piece, &(start..start + word.len()))
            {
                continue;
            }
            let is_abbreviation = word.chars().nth(1).is_some()
                && word.chars().all(char::is_uppercase)
                && !*is_shouted
                    .get_or_insert_with(|| !pair.target.prose().any(|piece| piece.contains(char::is_lowercase)));
            let names =
                names.get_or_insert_with(|| pair.source.prose().flat_map(words).map(|(_, word)| word).collect());
            if !is_abbreviation && !names.contains(word) {
                found.push(word.to_owned());
            }
        }
    }
    if found.is_empty() {
        return Outcome::Pass;
    }
    Outcome::Fail(told(&[("informal", &borrowed(&found))]))
}

impl Register {
    /// Whether a word with another before it and a text behind it addresses somebody informally.
    fn is_informal(&self, before: &str, word: &str, behind: &str) -> bool {
        if word.len() > WORD_BYTES_MAX {
            return false;
        }
        let lower = word.to_lowercase();
        if behind.starts_with(['\'', '’']) && self.elided.contains(&lower.as_str()) {
            return true;
        }
        if self.words.binary_search(&lower.as_str()).is_err() {
            return false;
        }
        let others = self.other_after.iter().find(|(word, _)| *word == lower).map_or(&[][..], |(_, others)| others);
        !others.contains(&before.to_lowercase().as_str())
    }
}
