//! What CLDR knows about a locale, and the list of all that it has.

use super::category::Categories;
use super::locale::Direction;

/// What CLDR knows about a locale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocaleProfile {
    /// The content form.
    pub tag: String,
    /// The content form's identity key.
    pub identity_key: String,
    /// Whether CLDR covers the locale at its level "modern".
    pub reviewed: bool,
    /// The direction in which its script is written.
    pub direction: Direction,
    /// The categories of cardinal numbers.
    pub cardinal: Categories,
    /// The categories of ordinal numbers.
    pub ordinal: Categories,
}

/// The profile of every locale of CLDR that text can be translated into, ordered by tag, each tag once.
#[must_use]
pub fn profiles() -> &'static [LocaleProfile] {
    &[]
}
