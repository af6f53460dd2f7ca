//! The words by which a text addresses people informally, by language (localization, Q7).

use crate::language::Locale;

/// The informal words of a language, in NFC and lower case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Register {
    /// As whole words, sorted.
    pub words: &'static [&'static str],
    /// What an apostrophe stands after: French `t'inscrire`.
    pub elided: &'static [&'static str],
    /// Words that mean something else after some others: French `le ton`.
    pub other_after: &'static [(&'static str, &'static [&'static str])],
}

/// The most bytes of a word of any table.
pub(super) const WORD_BYTES_MAX: usize = 24;

/// The table of a locale's language; there is none for most.
pub(super) fn register_of(locale: &Locale) -> Option<&'static Register> {
    match locale.language() {
        "de" => Some(&GERMAN),
        "es" => Some(&SPANISH),
        "fr" => Some(&FRENCH),
        "it" => Some(&ITALIAN),
        "nl" => Some(&DUTCH),
        "pl" => Some(&POLISH),
        "pt" => Some(&PORTUGUESE),
        "ru" => Some(&RUSSIAN),
        _ => None,
    }
}

/// `ihr` is left out: it is "her" and "their" more often than "you".
static GERMAN: Register = Register {
    words: &[
        "dein",
        "deine",
        "deinem",
        "deinen",
        "deiner",
        "deinerseits",
        "deines",
        "deinetwegen",
        "deins",
        "dich",
        "dir",
        "du",
        "euch",
        "euer",
        "euere",
        "euerem",
        "eueren",
        "euerer",
        "eueres",
        "eure",
        "eurem",
        "euren",
        "eurer",
        "eures",
    ],
    elided: &[],
    other_after: &[],
};

/// `os` is left out: it is read as an operating system.
static SPANISH: Register = Register {
    words: &[
        "contigo", "te", "ti", "tu", "tus", "tuya", "tuyas", "tuyo", "tuyos", "tú", "vos", "vosotras", "vosotros",
        "vuestra", "vuestras", "vuestro", "vuestros",
    ],
    elided: &[],
    other_after: &[],
};

/// `tiens` and `tienne` are left out: they are what somebody holds. A `ton` may be a tone.
static FRENCH: Register = Register {
    words: &["ta", "te", "tes", "tien", "toi", "ton", "tu"],
    elided: &["t"],
    other_after: &[("ton", &["au", "aucun", "ce", "chaque", "demi", "du", "le", "quel", "quelque", "sans", "un"])],
};

/// `vi`, `voi` and `vostro` are left out: they address several people in any register.
static ITALIAN: Register =
    Register { words: &["te", "ti", "tu", "tua", "tue", "tuo", "tuoi"], elided: &["t"], other_after: &[] };

static DUTCH: Register =
    Register { words: &["je", "jezelf", "jij", "jou", "jouw", "jouwe", "jullie"], elided: &[], other_after: &[] };

/// `ci` is left out: it is "these" as well. So is the plural, in which software speaks to several people.
static POLISH: Register = Register {
    words: &[
        "ciebie", "cię", "tobie", "tobą", "twa", "twe", "twego", "twej", "twemu", "twoi", "twoich", "twoim", "twoimi",
        "twoja", "twoje", "twojego", "twojej", "twojemu", "twoją", "twych", "twym", "twymi", "twój", "twą", "ty",
    ],
    elided: &[],
    other_after: &[],
};

static PORTUGUESE: Register =
    Register { words: &["contigo", "te", "teu", "teus", "ti", "tu", "tua", "tuas"], elided: &[], other_after: &[] };

static RUSSIAN: Register = Register {
    words: &[
        "твое",
        "твоего",
        "твоей",
        "твоем",
        "твоему",
        "твоею",
        "твои",
        "твоим",
        "твоими",
        "твоих",
        "твой",
        "твою",
        "твоя",
        "твоё",
        "твоём",
        "тебе",
        "тебя",
        "тобой",
        "тобою",
        "ты",
    ],
    elided: &[],
    other_after: &[],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::words::{composed, words};

    /// They are found by halving, as whole words, in the form that texts are brought into.
    #[test]
    fn tables_are_in_order() {
        for register in [&GERMAN, &SPANISH, &FRENCH, &ITALIAN, &DUTCH, &POLISH, &PORTUGUESE, &RUSSIAN] {
            assert!(register.words.is_sorted(), "{register:?}");
            for word in register.words.iter().chain(register.elided) {
                assert_eq!(composed(&word.to_lowercase()), *word);
                assert_eq!(words(word).collect::<Vec<_>>(), [(0, *word)]);
                assert!(word.len() <= WORD_BYTES_MAX);
            }
            for (word, others) in register.other_after {
                assert!(register.words.contains(word) && !others.is_empty());
            }
        }
    }
}
