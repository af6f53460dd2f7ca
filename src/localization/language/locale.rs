//! A locale: a language tag that text can be translated into, with its three forms.

use std::hash::{Hash, Hasher};

use super::alias::LanguageId;
use super::canonical::{Canonical, canonicalize, check_translatable};
use super::category::Categories;
use super::coverage::{SCRIPT_REQUIRED, is_modern, is_split_by_script};
use super::likely::maximize;
use super::plural::categories;
use super::refusal::LocaleRefusal;
use super::tables::{PluralKind, tables};

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
#[derive(Clone, Debug)]
pub struct Locale {
    canonical: String,
    content_form: String,
    identity_key: String,
    /// The content form with its likely subtags.
    full: LanguageId,
}

impl Locale {
    /// Reads a language tag in any case, with hyphens.
    ///
    /// # Errors
    ///
    /// The first refusal that holds, in the order of [`LocaleRefusal`]. Never `TooLong`: length is judged by the
    /// place, with [`check_translation_route_length`] or [`check_stored_length`].
    pub fn parse(tag: &str) -> Result<Self, LocaleRefusal> {
        let Canonical { id, rest } = canonicalize(tag)?;
        check_translatable(&id)?;
        let full = maximize(tables(), &id);
        if id.script.is_none() && id.region.is_none() && SCRIPT_REQUIRED.contains(&id.language.as_str()) {
            return Err(LocaleRefusal::ScriptRequired);
        }
        let canonical = id.customary() + &rest;
        let mut content = id;
        if content.script.is_none() && is_split_by_script(&content.language) {
            content.script.clone_from(&full.script);
        }
        Ok(Self { canonical, content_form: content.customary(), identity_key: full.lower_case(), full })
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
    pub fn direction(&self) -> Direction {
        let script = self.full.script.as_deref();
        let right_to_left = script.is_some_and(|script| tables().right_to_left_scripts.contains(script));
        if right_to_left { Direction::RightToLeft } else { Direction::LeftToRight }
    }

    /// The categories of cardinal numbers (`1 file`, `2 files`): exactly the forms that a plural has in this locale.
    #[must_use]
    pub fn cardinal(&self) -> Categories {
        categories(PluralKind::Cardinal, &self.full)
    }

    /// The categories of ordinal numbers (`1st`, `2nd`).
    #[must_use]
    pub fn ordinal(&self) -> Categories {
        categories(PluralKind::Ordinal, &self.full)
    }

    /// Whether CLDR covers the locale, or the one it takes its content from, at its level "modern".
    #[must_use]
    pub fn reviewed(&self) -> bool {
        is_modern(&self.full)
    }

    /// The language alone, in lower case: `zh` for `zh-Hant-TW`.
    #[must_use]
    pub fn language(&self) -> &str {
        &self.full.language
    }

    /// The content form with its likely subtags.
    pub(super) const fn full(&self) -> &LanguageId {
        &self.full
    }
}

impl PartialEq for Locale {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}

impl Eq for Locale {}

impl Hash for Locale {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical.hash(state);
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
