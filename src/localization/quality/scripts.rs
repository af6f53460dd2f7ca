//! Which scripts the letters of a word are of.

use icu_properties::props::Script;
use icu_properties::script::ScriptWithExtensions;

use super::characters::is_unspaced;
use super::words::words;

/// The words of a text. Where a script without spaces, or Hangul, meets one with spaces, a word ends: a Latin name and a
/// Korean particle are two words that nobody takes for one.
pub(super) fn words_by_script(text: &str) -> impl Iterator<Item = &str> {
    words(text).flat_map(|(start, word)| {
        // Of an escape sequence that stands in the text as it is, the letter is no part of the word behind it.
        let is_escaped = text.get(..start).is_some_and(|before| before.ends_with('\\'));
        let mut rest = if is_escaped { word.strip_prefix(['n', 'r', 't']).unwrap_or(word) } else { word };
        std::iter::from_fn(move || {
            let is_apart = is_apart(rest.chars().next()?);
            let end = rest.find(|letter| is_apart != self::is_apart(letter)).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            rest = behind;
            Some(part)
        })
    })
}

const fn is_apart(letter: char) -> bool {
    is_unspaced(letter)
        || matches!(letter, '\u{1100}'..='\u{11ff}' | '\u{3105}'..='\u{312f}' | '\u{3131}'..='\u{318e}' | '\u{31a0}'..='\u{31bf}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7ff}')
}

/// A script, or scripts that one language writes together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    Of(Script),
    /// Han with Hiragana and Katakana.
    Japanese,
    /// Han with Hangul.
    Korean,
    /// Han with Bopomofo.
    HanWithBopomofo,
}

/// The script of a letter that belongs to one alone, as a bit; `None` of others.
pub(super) const fn plain(letter: char) -> Option<u16> {
    Some(match letter {
        'A'..='Z' | 'a'..='z' | 'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ɏ' | 'Ḁ'..='ỿ' => LATIN,
        'Α'..='Ρ' | 'Σ'..='ώ' => GREEK,
        'Ѐ'..='ҁ' | 'Ҋ'..='ԯ' => CYRILLIC,
        'א'..='ת' => HEBREW,
        'آ'..='غ' | 'ف'..='ي' | 'ٱ'..='ۓ' => ARABIC,
        'ก'..='ฺ' | 'เ'..='๎' => THAI,
        '一'..='鿿' => HAN,
        'ぁ'..='ゖ' => HIRAGANA,
        'ァ'..='ヺ' => KATAKANA,
        '가'..='힣' => HANGUL,
        _ => return None,
    })
}

const LATIN: u16 = 1;
const GREEK: u16 = 2;
const CYRILLIC: u16 = 4;
const HEBREW: u16 = 8;
const ARABIC: u16 = 16;
const THAI: u16 = 32;
const HAN: u16 = 64;
const HIRAGANA: u16 = 128;
const KATAKANA: u16 = 256;
const HANGUL: u16 = 512;

/// Whether the scripts are one, or written together.
const fn is_together(scripts: u16) -> bool {
    scripts.count_ones() < 2 || scripts & !(HAN | HIRAGANA | KATAKANA) == 0 || scripts == HAN | HANGUL
}

/// Whether no script has all letters and marks of the word (localization, Q6).
pub(super) fn is_mixed(word: &str) -> bool {
    // Of the letters that most texts consist of the script is known without a table.
    if word.chars().try_fold(0, |seen, letter| Some(seen | plain(letter)?)).is_some_and(is_together) {
        return false;
    }
    let scripts = ScriptWithExtensions::new();
    let mut shared: Option<Vec<Writing>> = None;
    for character in word.chars() {
        let of_character = scripts.get_script_extensions_val(character);
        if of_character.contains(&Script::Common) || of_character.contains(&Script::Inherited) {
            continue;
        }
        let is_written = |writing: &Writing| match writing {
            Writing::Of(script) => of_character.contains(script),
            Writing::Japanese => {
                [Script::Han, Script::Hiragana, Script::Katakana].iter().any(|script| of_character.contains(script))
            }
            Writing::Korean => [Script::Han, Script::Hangul].iter().any(|script| of_character.contains(script)),
            Writing::HanWithBopomofo => {
                [Script::Han, Script::Bopomofo].iter().any(|script| of_character.contains(script))
            }
        };
        match &mut shared {
            Some(shared) => {
                shared.retain(is_written);
                if shared.is_empty() {
                    return true;
                }
            }
            None => {
                let together = [Writing::Japanese, Writing::Korean, Writing::HanWithBopomofo];
                let writings = of_character.iter().map(Writing::Of).chain(together.into_iter().filter(is_written));
                shared = Some(writings.collect());
            }
        }
    }
    false
}
