//! Words: how they are compared, where they begin and end, and how many phrases are sought in a text at once.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use icu_normalizer::ComposingNormalizerBorrowed;

use super::characters::{is_letter_or_mark, is_of_word, is_unspaced};

/// The text in NFC (localization, Q8).
pub(super) fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { ComposingNormalizerBorrowed::new_nfc().normalize(text) }
}

/// The text in NFC and without differences of case: what is compared where case is ignored. `ß` is `ss`, a final sigma
/// is a sigma, and the dotted and dotless i of Turkish are an i.
#[must_use]
pub fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    let mut folded = String::with_capacity(text.len());
    for character in composed(text).chars() {
        match character {
            'İ' => folded.push('i'),
            _ if character.is_ascii() => folded.push(character.to_ascii_lowercase()),
            // What a letter is in upper case tells apart less than what it is in lower case.
            _ => folded.extend(character.to_uppercase().flat_map(char::to_lowercase)),
        }
    }
    Cow::Owned(folded)
}

/// The words of a text: letters and marks without anything between them, with the place where each begins.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let left = text.get(rest..)?;
        let start = rest + left.find(is_letter_or_mark)?;
        let word = text.get(start..)?;
        let word = word.get(..word.find(|character| !is_letter_or_mark(character)).unwrap_or(word.len()))?;
        rest = start + word.len();
        Some((start, word))
    })
}

/// Whether a phrase whose end is `inner` ends there, beside `outer`.
fn is_free(outer: Option<char>, inner: Option<char>) -> bool {
    let Some(outer) = outer else { return true };
    !is_of_word(outer) || is_unspaced(outer) || inner.is_some_and(is_unspaced)
}

/// Whether no letter, mark or digit stands on either side (localization, Q8).
pub(super) fn is_whole_word(text: &str, place: &Range<usize>) -> bool {
    let after = text.get(place.end..).and_then(|after| after.chars().next());
    let last = text.get(place.clone()).and_then(|phrase| phrase.chars().next_back());
    begins_word(text, place) && is_free(after, last)
}

/// Whether no letter, mark or digit stands before (localization, Q8).
pub(super) fn begins_word(text: &str, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).and_then(|before| before.chars().next_back());
    let first = text.get(place.clone()).and_then(|phrase| phrase.chars().next());
    is_free(before, first)
}

/// Phrases that are sought all at once: however many there are, a search takes time in the length of the text and of the
/// places found in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Phrases {
    automaton: Option<AhoCorasick>,
}

impl Phrases {
    /// Of phrases that are as the texts will be: composed or folded. They are found by their number.
    pub fn of(phrases: &[String]) -> Phrases {
        if phrases.is_empty() {
            return Phrases::default();
        }
        // It fails where phrases have more bytes than numbers of 31 bits count: more than a glossary can hold.
        Phrases { automaton: AhoCorasick::builder().build(phrases).ok() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// Every place of every phrase, overlapping ones too, with the phrase's number.
    pub fn places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (usize, Range<usize>)> + 't {
        self.automaton
            .iter()
            .flat_map(move |automaton| automaton.find_overlapping_iter(text))
            .map(|found| (found.pattern().as_usize(), found.range()))
    }
}
