//! What CLDR knows about a locale, and the list of all that it has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use super::alias::LanguageId;
use super::canonical::canonicalize;
use super::category::Categories;
use super::likely::maximize;
use super::locale::{Direction, Locale, SCRIPT_REQUIRED};
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

/// Whether CLDR covers a locale at its level "modern", from its content form with all likely subtags: the locale
/// itself, or the nearest that one gets by cutting off variants and region.
pub(super) fn is_modern(full: &LanguageId) -> bool {
    let without_variants = LanguageId { variants: Vec::new(), ..full.clone() };
    let without_region = LanguageId { region: None, ..without_variants.clone() };
    let nearest = [full.clone(), without_variants, maximize(tables(), &without_region)];
    nearest.iter().find_map(|id| MODERN.get(&id.lower_case())).copied().unwrap_or(false)
}

/// CLDR's locales with all likely subtags, and whether they are covered at the level "modern".
static MODERN: LazyLock<HashMap<String, bool>> = LazyLock::new(|| {
    let mut modern = HashMap::new();
    for locale in &tables().locales {
        if let Ok(canonical) = canonicalize(locale.tag) {
            *modern.entry(maximize(tables(), &canonical.id).lower_case()).or_default() |= locale.modern;
        }
    }
    modern
});

/// Whether CLDR has a language in several scripts, and says the script even where it goes without saying: `zh-Hans`
/// beside `zh-Hant`, whereas it has `en-Shaw`, but `en` alone. Besides these the languages that are refused without
/// a script.
pub(super) fn is_split_by_script(language: &str) -> bool {
    SPLIT.contains(language)
}

static SPLIT: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut scripts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for id in tables().locales.iter().filter_map(|locale| super::alias::read(locale.tag)) {
        scripts.entry(id.language).or_default().extend(id.script);
    }
    scripts.retain(|language, scripts| {
        let alone = LanguageId { language: language.clone(), ..LanguageId::default() };
        scripts.len() > 1 && maximize(tables(), &alone).script.is_some_and(|script| scripts.contains(&script))
    });
    scripts.into_keys().chain(SCRIPT_REQUIRED.map(str::to_owned)).collect()
});
