//! Scores, and which texts are compared at all.

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;

/// The score of a text that is the same, byte by byte.
pub const SCORE_EXACT: u8 = 100;
/// The best score of any other text.
const SCORE_ALIKE_MAX: u8 = 99;
/// The least score of a suggestion (contract, Limits).
pub const SCORE_LEAST: u8 = 75;
/// The longest text that is compared with others, in Unicode scalar values as it is stored; longer ones match exactly or
/// not at all (localization, M1).
pub const CHARS_MAX: usize = 2000;
/// What a search may cost, in steps of about four nanoseconds: each is a word of 64 characters against one character. It is
/// enough for comparing 80,000 texts of 80 characters, or 10,000 of 260, that are so much alike that none is ruled out by
/// its outline; of other texts most are.
pub const EFFORT: u64 = 1 << 24;

/// Whether a text is compared with others.
#[must_use]
pub fn is_comparable(text: &str) -> bool {
    text.chars().take(CHARS_MAX + 1).count() <= CHARS_MAX
}

/// A text's NFC form; borrowed, if that is the text itself.
pub fn composed(text: &str) -> Cow<'_, str> {
    const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();
    NFC.normalize(text)
}

/// The score of two texts that differ, from their distance: floor(100 × (1 − distance ÷ longer length)), at most 99.
pub fn score_of(distance: usize, longer: usize) -> u8 {
    let left = (longer - distance.min(longer)) * 100;
    let score = left.checked_div(longer).unwrap_or(usize::from(SCORE_EXACT));
    u8::try_from(score).unwrap_or(SCORE_EXACT).min(SCORE_ALIKE_MAX)
}

/// The greatest distance that gives such a score, of at most 99.
pub fn distance_max(score: u8, longer: usize) -> usize {
    longer * usize::from(SCORE_EXACT.saturating_sub(score)) / usize::from(SCORE_EXACT)
}

/// The lengths that texts of such a score, from 1 to 99, may have beside one of this length: the shortest and the longest.
pub fn lengths(score: u8, length: usize) -> (usize, usize) {
    let longest = (length * usize::from(SCORE_EXACT)).checked_div(usize::from(score)).unwrap_or(usize::MAX);
    (length - distance_max(score, length), longest)
}
