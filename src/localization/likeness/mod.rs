//! Texts that are like a text: how alike two are, and which of a hundred thousand are like one.
//!
//! Nouns: the *distance* of two texts is Levenshtein's, over the Unicode scalar values of their NFC forms; a *score* is
//! what of the longer text is left of it, from 0 to 100 (localization, M1). An *index* holds the texts of one language
//! pair, by their lengths, each with the *outline* from which most are seen to be too far away. The *indexes* of all
//! pairs share a bound of bytes.
//!
//! Invariants:
//! - what is found is what comparing with every text would find, unless the *effort* of a search was used up;
//! - an index is made of rows that somebody else keeps: it may be thrown away at any time;
//! - a search takes no longer than its effort, whatever the texts say.
//!
//! Reading order: `score` · `pattern` (the distance) · `outline` · `unit` · `top` (the best so far) · `index` · `indexes`.

mod index;
mod indexes;
mod outline;
mod pattern;
mod score;
mod top;
mod unit;

#[cfg(test)]
mod tests;

pub use index::{Index, Query, Wish};
pub use indexes::{Indexes, LanguagePair};
pub use score::{CHARS_MAX, EFFORT, SCORE_EXACT, SCORE_LEAST, is_comparable};
pub use unit::{Entry, Unit};
