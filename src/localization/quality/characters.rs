//! What the checks know of single characters: letters, digits, scripts without spaces, and what nobody sees.

use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::<GeneralCategory>::new();

const WORD: GeneralCategoryGroup =
    GeneralCategoryGroup::Letter.union(GeneralCategoryGroup::Mark).union(GeneralCategoryGroup::DecimalNumber);

const LETTER_OR_MARK: GeneralCategoryGroup = GeneralCategoryGroup::Letter.union(GeneralCategoryGroup::Mark);

/// Whether it belongs to a word: a letter, a mark or a digit (localization, Q8).
pub(super) fn is_of_word(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_alphanumeric() } else { WORD.contains(CATEGORIES.get(character)) }
}

/// Whether it is a letter.
pub(super) fn is_letter(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphabetic()
    } else {
        GeneralCategoryGroup::Letter.contains(CATEGORIES.get(character))
    }
}

/// Whether it is a letter or stands on one.
pub(super) fn is_letter_or_mark(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphabetic()
    } else {
        LETTER_OR_MARK.contains(CATEGORIES.get(character))
    }
}

/// Whether it belongs to a script that is written without spaces between words: Han, Kana, Thai, Lao, Khmer or Myanmar.
/// There any place may be the edge of a word (localization, Q8).
pub(super) const fn is_unspaced(character: char) -> bool {
    matches!(
        character,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{19e0}'..='\u{19ff}'
            | '\u{2e80}'..='\u{2fdf}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3021}'..='\u{3029}'
            | '\u{3031}'..='\u{303c}'
            | '\u{3041}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{a9e0}'..='\u{a9ff}'
            | '\u{aa60}'..='\u{aa7f}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'
            | '\u{116d0}'..='\u{116ff}'
            | '\u{16fe2}'..='\u{16fe3}'
            | '\u{16ff0}'..='\u{16fff}'
            | '\u{1aff0}'..='\u{1b16f}'
            | '\u{1f200}'
            | '\u{20000}'..='\u{3fffd}'
    )
}

/// The value of a decimal digit of any script.
pub(super) fn digit_value(character: char) -> Option<u8> {
    if character.is_ascii() {
        return if character.is_ascii_digit() { Some(character as u8 - b'0') } else { None };
    }
    // Where most letters are that texts are written in, no digits are.
    if matches!(character, '\u{80}'..='\u{65f}' | '\u{1c5a}'..='\u{a61f}' | '\u{ac00}'..='\u{ff0f}')
        || !is_decimal(u32::from(character))
    {
        return None;
    }
    // The digits of a script are ten in a row, from zero on; where sets of digits touch, all begin with their zero.
    let mut before: u8 = 0;
    while is_decimal(u32::from(character) - u32::from(before) - 1) {
        before += 1;
    }
    Some(before % 10)
}

fn is_decimal(code_point: u32) -> bool {
    CATEGORIES.get32(code_point) == GeneralCategory::DecimalNumber
}

/// Whether it is one of those that Q18 looks for: TAG characters; bidirectional embeddings, overrides, isolates and marks;
/// U+200B, U+2060 and U+FEFF; every control but tab, line feed and carriage return (QA results).
pub(super) const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{8}'
            | '\u{b}'
            | '\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Whether a term of a glossary may not have it: controls, what is not assigned, for private use or half a surrogate pair,
/// line and paragraph separators, and what Q18 looks for; the joiners and the soft hyphen are fine (localization, G1).
#[must_use]
pub fn is_unprintable(character: char) -> bool {
    use GeneralCategory::{Control, LineSeparator, ParagraphSeparator, PrivateUse, Surrogate, Unassigned};
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    is_invisible(character)
        || matches!(
            CATEGORIES.get(character),
            Control | Unassigned | PrivateUse | Surrogate | LineSeparator | ParagraphSeparator
        )
}

/// Whether it leaves no mark on a page: white space, controls and what formats.
pub(super) fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || is_invisible(character)
        || (!character.is_ascii() && CATEGORIES.get(character) == GeneralCategory::Format)
}

/// How details name a character that cannot be shown: `U+200B`.
pub(super) fn code_point(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}
