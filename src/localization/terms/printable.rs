//! Which characters a term may have: those that people can see, and tell from others that look alike.

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// Whether a character cannot be printed (localization, G1): controls, what is not assigned, private use, separators of
/// lines and paragraphs, and the invisible characters of the contract (QA results, Q18). ZWJ, ZWNJ and the soft hyphen,
/// which words are written with, can be.
#[must_use]
pub fn is_unprintable(character: char) -> bool {
    use GeneralCategory::{Control, LineSeparator, ParagraphSeparator, PrivateUse, Surrogate, Unassigned};
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let is_no_text =
        matches!(category, Control | LineSeparator | ParagraphSeparator | PrivateUse | Surrogate | Unassigned);
    is_no_text || is_invisible(character)
}

/// What nobody sees and text is not written with, controls apart: tags, marks of direction, spaces without width.
const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{61C}'
            | '\u{200B}'
            | '\u{200E}'
            | '\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'
            | '\u{2066}'..='\u{2069}'
            | '\u{FEFF}'
            | '\u{E0000}'..='\u{E007F}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_cannot_see_is_unprintable() {
        let unprintable = [
            '\0',
            '\t',
            '\n',
            '\r',
            '\u{1F}',
            '\u{7F}',
            '\u{85}',
            '\u{9F}', // Cc
            '\u{378}',
            '\u{FFFE}',
            '\u{10FFFF}',
            '\u{FDD0}',
            '\u{2FE0}', // Cn
            '\u{E000}',
            '\u{F8FF}',
            '\u{F0000}',
            '\u{10FFFD}', // Co
            '\u{2028}',
            '\u{2029}', // Zl, Zp
            '\u{61C}',
            '\u{200B}',
            '\u{200E}',
            '\u{200F}',
            '\u{202A}',
            '\u{202E}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{FEFF}',
            '\u{E0000}',
            '\u{E0001}',
            '\u{E0041}',
            '\u{E007F}',
        ];
        assert_eq!(unprintable.into_iter().filter(|one| !is_unprintable(*one)).collect::<Vec<_>>(), Vec::<char>::new());
    }

    #[test]
    fn what_words_are_written_with_is_printable() {
        let printable = [
            'a', 'ß', 'Ж', 'ش', 'क', '\u{94D}', '漢', 'か', '한', '\u{301}', '1', '-', ' ', '\u{A0}', '\u{3000}',
            '\u{2011}', '\u{200C}', '\u{200D}', '\u{AD}', '€', '😀', '\u{FE0F}', '𠀀', '\u{FFFD}',
        ];
        assert_eq!(printable.into_iter().filter(|one| is_unprintable(*one)).collect::<Vec<_>>(), Vec::<char>::new());
    }
}
