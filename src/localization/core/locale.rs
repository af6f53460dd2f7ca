//! A locale: a language tag that text can be translated into, with its three forms.

use super::category::Categories;
use super::profiles::LocaleProfile;
use super::refusal::LocaleRefusal;

/// The greatest length of a canonical tag on routes that read or write translations, in characters.
pub const TRANSLATION_ROUTE_LENGTH_MAX: usize = 40;

/// The greatest length of a content form where one is stored, in characters.
pub const STORED_LENGTH_MAX: usize = 64;

/// The direction in which a script is written along the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Left to right, and everything that is not right to left.
    LeftToRight,
    /// Right to left.
    RightToLeft,
}

impl Direction {
    /// `ltr` or `rtl`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeftToRight => "ltr",
            Self::RightToLeft => "rtl",
        }
    }
}

/// A tag that text can be translated into. Two locales are equal when their canonical tags are; whether they mean
/// the same is a question of their identity keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Locale {
    canonical: String,
    content_form: String,
    identity_key: String,
    direction: Direction,
    cardinal: Categories,
    ordinal: Categories,
    reviewed: bool,
}

impl Locale {
    /// Reads a language tag in any case, with hyphens.
    ///
    /// # Errors
    ///
    /// The first refusal that holds, in the order of [`LocaleRefusal`]. Never `TooLong`: length is judged by the
    /// place, with [`check_translation_route_length`] or [`check_stored_length`].
    pub fn parse(_tag: &str) -> Result<Self, LocaleRefusal> {
        Err(LocaleRefusal::IllFormed)
    }

    /// The canonical tag: `zh-TW` for `ZH-cmn-tw`.
    #[must_use]
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The form that text is stored under: the canonical tag without extensions and private use, with the script
    /// where CLDR splits the language by script: `zh-Hant-TW` for `zh-TW-u-nu-hant`. It is itself canonical but for
    /// that script, and its own content form.
    #[must_use]
    pub fn content_form(&self) -> &str {
        &self.content_form
    }

    /// The lower-case content form with its likely subtags: `zh-hant-tw` for `zh-TW`, `zh-Hant` and `zh-Hant-TW`.
    #[must_use]
    pub fn identity_key(&self) -> &str {
        &self.identity_key
    }

    /// The direction in which the locale's script is written.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// The categories of cardinal numbers (`1 file`, `2 files`): exactly the forms that a plural has in this locale.
    #[must_use]
    pub const fn cardinal(&self) -> Categories {
        self.cardinal
    }

    /// The categories of ordinal numbers (`1st`, `2nd`).
    #[must_use]
    pub const fn ordinal(&self) -> Categories {
        self.ordinal
    }

    /// Whether CLDR covers the locale at its level "modern".
    #[must_use]
    pub const fn reviewed(&self) -> bool {
        self.reviewed
    }

    /// What is known about the locale's content form.
    #[must_use]
    pub fn profile(&self) -> LocaleProfile {
        LocaleProfile {
            tag: self.content_form.clone(),
            identity_key: self.identity_key.clone(),
            reviewed: self.reviewed,
            direction: self.direction,
            cardinal: self.cardinal,
            ordinal: self.ordinal,
        }
    }
}

/// The rule of length for routes that read or write translations, judged after everything else about the tag.
///
/// # Errors
///
/// `TooLong` when the canonical tag has more than [`TRANSLATION_ROUTE_LENGTH_MAX`] characters.
pub fn check_translation_route_length(locale: &Locale) -> Result<(), LocaleRefusal> {
    if locale.canonical().len() > TRANSLATION_ROUTE_LENGTH_MAX { Err(LocaleRefusal::TooLong) } else { Ok(()) }
}

/// The rule of length where a content form is stored, judged after everything else about the tag.
///
/// # Errors
///
/// `TooLong` when the content form has more than [`STORED_LENGTH_MAX`] characters.
pub fn check_stored_length(locale: &Locale) -> Result<(), LocaleRefusal> {
    if locale.content_form().len() > STORED_LENGTH_MAX { Err(LocaleRefusal::TooLong) } else { Ok(()) }
}
