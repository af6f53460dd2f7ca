//! What CLDR knows about a locale, and the list of all that it has.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::alias::LanguageId;
use super::canonical::canonicalize;
use super::category::Categories;
use super::likely::maximize;
use super::locale::{Direction, Locale};
use super::tables::tables;

/// What CLDR knows about a locale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocaleProfile {
    /// The content form.
    pub tag: String,
    /// The content form's identity key.
    pub identity_key: String,
    /// Whether CLDR covers the locale, or the one it takes its content from, at its level "modern".
    pub reviewed: bool,
    /// The direction in which its script is written.
    pub direction: Direction,
    /// The categories of cardinal numbers.
    pub cardinal: Categories,
    /// The categories of ordinal numbers.
    pub ordinal: Categories,
}

impl Locale {
    /// What is known about the locale's content form.
    #[must_use]
    pub fn profile(&self) -> LocaleProfile {
        LocaleProfile {
            tag: self.content_form().to_owned(),
            identity_key: self.identity_key().to_owned(),
            reviewed: self.reviewed(),
            direction: self.direction(),
            cardinal: self.cardinal(),
            ordinal: self.ordinal(),
        }
    }
}

/// The profile of every locale of CLDR that text can be translated into, ordered by tag, each tag once. A language
/// that is refused without a script (`zh`) is listed with the script that CLDR's locale of that name is written in.
#[must_use]
pub fn profiles() -> &'static [LocaleProfile] {
    &PROFILES
}

static PROFILES: LazyLock<Vec<LocaleProfile>> = LazyLock::new(|| {
    let listed = tables().locales.iter().filter_map(|locale| listed(locale.tag));
    let by_tag: BTreeMap<String, LocaleProfile> =
        listed.map(|locale| (locale.content_form().to_owned(), locale.profile())).collect();
    by_tag.into_values().collect()
});

/// The locale of a tag of CLDR's, with its likely script where it would be refused for the want of one.
pub(super) fn listed(tag: &str) -> Option<Locale> {
    Locale::parse(tag).ok().or_else(|| {
        let id = canonicalize(tag).ok()?.id;
        let script = maximize(tables(), &id).script;
        Locale::parse(&LanguageId { script, ..id }.customary()).ok()
    })
}
