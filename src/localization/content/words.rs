//! How many words a source has.

use super::model::{KeyEntry, Source};
use crate::language::Category;

/// The words of a source: runs of letters and digits; a plural counts its `other` (localization, L2).
#[must_use]
pub fn words_of(source: &Source) -> u32 {
    let text = source.form(Category::Other);
    let mut is_in_word = false;
    let begins = text.chars().filter(|character| {
        let was_in_word = std::mem::replace(&mut is_in_word, character.is_alphanumeric());
        is_in_word && !was_in_word
    });
    u32::try_from(begins.count()).unwrap_or(u32::MAX)
}

/// The words of all active keys.
#[must_use]
pub fn active_words(entries: &[KeyEntry]) -> u64 {
    entries.iter().filter(|entry| !entry.is_obsolete).map(|entry| u64::from(words_of(&entry.source))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_run_of_letters_and_digits() {
        let words = |text: &str| words_of(&Source::Text(text.to_owned()));
        for (text, expected) in [
            ("", 0),
            ("  … !", 0),
            ("Save", 1),
            ("Save 3 files.", 3),
            ("don't", 2),
            ("Größe\u{a0}ändern", 2),
            ("ключ {name}", 2),
            ("設定を保存", 1),
            ("x1,y2", 2),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
        let plural = Source::Forms(vec![(1, "one".into()), (5, "two words".into())]);
        assert_eq!(words_of(&plural), 2);
    }

    #[test]
    fn obsolete_keys_have_no_words() {
        let entry = |is_obsolete| KeyEntry {
            number: 1,
            path: "a".into(),
            source: Source::Text("two words".into()),
            source_version: 1,
            is_obsolete,
        };
        assert_eq!(active_words(&[entry(false), entry(true)]), 2);
    }
}
