//! What CLDR covers: which locales at its level "modern", which languages in several scripts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use super::alias::LanguageId;
use super::canonical::canonicalize;
use super::likely::maximize;
use super::tables::tables;

/// The languages that are refused alone, because each of their scripts has its readers.
pub(super) const SCRIPT_REQUIRED: [&str; 8] = ["az", "ha", "ks", "sd", "sr", "uz", "yue", "zh"];

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
