//! Every way a locale tag is refused, in the order in which the reasons are judged.

use std::fmt;

/// Why a tag is no locale that text can be translated into. When several reasons hold, the first of this order is
/// the one that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LocaleRefusal {
    /// Not a language tag by the grammar of RFC 5646, section 2.1.
    IllFormed,
    /// Well formed, but a subtag is registered neither with IANA nor with CLDR, stands twice, or does not belong
    /// where it stands.
    InvalidSubtag,
    /// A subtag is deprecated by IANA, which names no replacement, and CLDR names none or several (`de-CS`).
    DeprecatedNoReplacement,
    /// Valid, but nothing one translates into: undetermined, multiple or no language, private use, a collection of
    /// languages, a script that is none.
    NotTranslatable,
    /// The language alone, where it is written in several scripts and either would be a guess (`zh`).
    ScriptRequired,
    /// Longer than the place allows. Judged last and by the place: see `check_translation_route_length` and
    /// `check_stored_length`; `Locale::parse` never gives it.
    TooLong,
}

impl LocaleRefusal {
    /// Every refusal, in the order in which they are judged.
    pub const ALL: [Self; 6] = [
        Self::IllFormed,
        Self::InvalidSubtag,
        Self::DeprecatedNoReplacement,
        Self::NotTranslatable,
        Self::ScriptRequired,
        Self::TooLong,
    ];

    /// The stable code of the contract.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::IllFormed => "locale_ill_formed",
            Self::InvalidSubtag => "locale_invalid_subtag",
            Self::DeprecatedNoReplacement => "locale_deprecated_no_replacement",
            Self::NotTranslatable => "locale_not_translatable",
            Self::ScriptRequired => "locale_script_required",
            Self::TooLong => "locale_too_long",
        }
    }

    /// What is wrong, in one sentence without the tag itself.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::IllFormed => "The tag does not follow the grammar of RFC 5646.",
            Self::InvalidSubtag => "A subtag is not registered, stands twice or does not belong where it stands.",
            Self::DeprecatedNoReplacement => "A subtag is deprecated and has no single replacement.",
            Self::NotTranslatable => "The tag names no language and script that one translates into.",
            Self::ScriptRequired => "The language is written in several scripts; name one, or a region.",
            Self::TooLong => "The tag is too long.",
        }
    }
}

impl fmt::Display for LocaleRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

impl std::error::Error for LocaleRefusal {}
