//! What nobody sees, scripts, and single characters.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::script::ScriptWithExtensions;

use super::assert_cases;
use crate::language::Locale;
use crate::quality::characters::{
    digit_value, is_invisible, is_letter_or_mark, is_of_word, is_unprintable, is_unspaced,
};
use crate::quality::scripts::plain;
use crate::quality::{CheckId, Entry, Limits, Rules};

#[test]
fn q18_what_nobody_sees_is_told_unless_the_source_has_it() {
    assert_cases(
        CheckId::Q18,
        &Rules::default(),
        Limits::default(),
        &[
            ("en", "de", "Save", "Speichern\t\r\n", "pass"),
            ("en", "de", "Save", "Spei\u{ad}chern", "pass"),
            ("en", "fa", "I want", "می\u{200c}خواهم", "pass"),
            ("en", "hi", "x", "क्\u{200d}ष", "pass"),
            ("en", "de", "Save", "Spei\u{200b}chern\u{feff}", "fail: extra U+200B, U+FEFF"),
            ("en", "he", "Save", "שמור\u{200f}", "fail: extra U+200F"),
            ("en", "ar", "Save\u{200f}", "حفظ\u{200f}\u{200f}", "pass"),
            (
                "en",
                "ar",
                "Save",
                "\u{61c}حفظ\u{202b}x\u{202c}\u{2067}\u{2069}",
                "fail: extra U+061C, U+202B, U+202C, U+2067, U+2069",
            ),
            ("en", "ja", "Save", "保存\u{e0041}\u{e0001}\u{e007f}", "fail: extra U+E0041, U+E0001, U+E007F"),
            ("en", "ko", "Save", "저장\0\u{1b}\u{7f}\u{85}", "fail: extra U+0000, U+001B, U+007F, U+0085"),
            ("en", "th", "Save", "บันทึก\u{2060}\u{200e}\u{2060}", "fail: extra U+2060, U+200E"),
            ("en", "de", "\u{200b}Save", "Speichern\u{200b}\u{200b}", "pass"),
        ],
    );
}

/// The ranges of the contract, by number.
#[test]
fn q18_looks_for_exactly_those_of_the_contract() {
    for number in 0..=0x10_ffff_u32 {
        let Some(character) = char::from_u32(number) else { continue };
        let is_listed = (0xe0000..=0xe007f).contains(&number)
            || (0x202a..=0x202e).contains(&number)
            || (0x2066..=0x2069).contains(&number)
            || [0x200e, 0x200f, 0x61c, 0x200b, 0x2060, 0xfeff].contains(&number)
            || (character.is_control() && !['\t', '\n', '\r'].contains(&character));
        assert_eq!(is_invisible(character), is_listed, "{number:x}");
    }
}

#[test]
fn q20_words_of_several_scripts_are_told() {
    let rules = Rules::compile([Entry::DoNotTranslate("Яndex Cloud")], false, &Locale::parse("ru").unwrap());
    assert_cases(
        CheckId::Q20,
        &rules,
        Limits::default(),
        &[
            ("en", "de", "Save", "Speichern", "pass"),
            ("en", "de", "12", "–", "skipped: letters"),
            ("en", "ru", "Account", "Aккаунт", "fail: mixed Aккаунт"),
            ("en", "ru", "Account", "Аккаунт", "pass"),
            ("en", "uk", "A and B", "Тeкст і пpоба", "fail: mixed Тeкст, пpоба"),
            ("en", "ru", "URL address", "URL-адрес, 2й", "pass"),
            ("en", "ru", "Open Яndex", "Откройте Яndex", "pass"),
            ("en", "ru", "Open", "Откройте Яndex и Yaндекс", "fail: mixed Yaндекс"),
            ("en", "ru", "Call pаypal", "Вызвать pаypal", "pass"),
            ("en", "el", "Alpha", "Αlpha", "fail: mixed Αlpha"),
            ("en", "ja", "PDF file", "PDFファイルを開く", "pass"),
            ("en", "ja", "Name", "名前を入力してください", "pass"),
            ("en", "ja", "Name", "コーヒー々ー", "pass"),
            ("en", "ko", "PDF file", "PDF를 漢字한글", "pass"),
            ("en", "ko", "Name", "한ひ", "fail: mixed 한ひ"),
            ("en", "zh-Hant", "Name", "注ㄓㄨˋ音", "pass"),
            ("en", "th", "PDF file", "ไฟล์PDF", "pass"),
            ("en", "ar", "Name", "اسمname", "fail: mixed اسمname"),
            ("en", "he", "One\\nTwo", "אחת\\nשתיים", "pass"),
            ("en", "he", "One", "אחת nשתיים", "fail: mixed nשתיים"),
            ("en", "hi", "Name", "नाम\u{951}", "pass"),
            ("en", "sr-Cyrl", "Name", "Имe", "fail: mixed Имe"),
            ("en", "tr", "Name", "Аd", "fail: mixed Аd"),
            ("en", "vi", "Name", "Te\u{302}n µm", "pass"),
        ],
    );
}

/// The ranges are those of the scripts they name, as Unicode has them: every letter of them lies in one.
#[test]
fn scripts_without_spaces_are_those_of_unicode() {
    let scripts = ScriptWithExtensions::new();
    let unspaced =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];
    let mut seen = 0;
    for character in (0..=0x10_ffff).filter_map(char::from_u32).filter(|character| is_of_word(*character)) {
        let script = scripts.get_script_val(character);
        if unspaced.contains(&script) {
            assert!(is_unspaced(character), "{:x}", u32::from(character));
            seen += 1;
        } else if is_unspaced(character) {
            // Those that the ranges have beside: length marks, and what nobody has assigned a script of its own.
            assert!([Script::Common, Script::Inherited].contains(&script), "{:x} {script:?}", u32::from(character));
        }
    }
    assert!(seen > 90_000, "{seen}");
}

/// What is known of letters without Unicode's tables is what those say.
#[test]
fn letters_of_one_script_are_of_that_script() {
    let scripts = ScriptWithExtensions::new();
    let mut known = std::collections::HashMap::new();
    for character in (0..=0x10_ffff).filter_map(char::from_u32).filter(|character| is_letter_or_mark(*character)) {
        if let Some(script) = plain(character) {
            let extensions: Vec<Script> = scripts.get_script_extensions_val(character).iter().collect();
            let of_table = known.entry(script).or_insert_with(|| extensions.clone());
            assert_eq!(&extensions, of_table, "{:x}", u32::from(character));
            assert_eq!(extensions.len(), 1, "{:x}", u32::from(character));
        }
    }
    assert_eq!(known.len(), 10);
}

#[test]
fn digits_have_the_value_that_their_place_gives_them() {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let mut seen = 0;
    for character in (0..=0x10_ffff).filter_map(char::from_u32) {
        let is_decimal = categories.get(character) == GeneralCategory::DecimalNumber;
        assert_eq!(digit_value(character).is_some(), is_decimal, "{:x}", u32::from(character));
        seen += usize::from(is_decimal);
    }
    assert!(seen >= 660 && seen % 10 == 0, "{seen}");
    for (zero, nine) in
        [('0', '9'), ('٠', '٩'), ('۰', '۹'), ('०', '९'), ('๐', '๙'), ('０', '９'), ('𝟶', '𝟿'), ('𑁦', '𑁯')]
    {
        assert_eq!((digit_value(zero), digit_value(nine)), (Some(0), Some(9)));
    }
    assert_eq!(digit_value('𝟡'), Some(9));
    assert_eq!(digit_value('½'), None);
    assert_eq!(digit_value('三'), None);
}

/// Terms of a glossary may have whatever people can see, the joiners and the soft hyphen.
#[test]
fn what_cannot_be_printed_is_what_the_rule_lists() {
    let categories = CodePointMapData::<GeneralCategory>::new();
    use GeneralCategory::{LineSeparator, ParagraphSeparator};
    for character in (0..=0x10_ffff).filter_map(char::from_u32) {
        let category = categories.get(character);
        let is_listed = (GeneralCategoryGroup::Other.contains(category) && category != GeneralCategory::Format)
            || [LineSeparator, ParagraphSeparator].contains(&category)
            || is_invisible(character);
        assert_eq!(is_unprintable(character), is_listed, "{:x}", u32::from(character));
    }
    for fine in ['\u{200c}', '\u{200d}', '\u{ad}', ' ', '\u{a0}', '\u{3000}'] {
        assert!(!is_unprintable(fine));
    }
    for refused in ['\t', '\n', '\u{e000}', '\u{378}', '\u{2028}', '\u{200b}', '\u{e0041}'] {
        assert!(is_unprintable(refused));
    }
}
