//! The plural rules of a locale: of the nearest one that CLDR has some for.

use super::alias::LanguageId;
use super::category::{Categories, Category};
use super::plural_rule::PluralRules;
use super::tables::{PluralKind, tables};

/// The categories of a locale, from its content form with all likely subtags. Where CLDR has no rules for a
/// language, its numbers have one form.
pub(super) fn categories(kind: PluralKind, full: &LanguageId) -> Categories {
    rules(kind, full).map_or_else(|| Categories::default().with(Category::Other), PluralRules::categories)
}

/// The rules that come nearest. For plurals CLDR knows no parents but those one gets by cutting off subtags, so that
/// `pt-AO` has the rules of `pt`, whereas its other content is that of `pt-PT`.
pub(super) fn rules(kind: PluralKind, full: &LanguageId) -> Option<&'static PluralRules> {
    let tables = tables();
    let map = match kind {
        PluralKind::Cardinal => &tables.cardinals,
        PluralKind::Ordinal => &tables.ordinals,
    };
    let language = full.language.as_str();
    let further = |subtag: &Option<String>| map.get(format!("{language}-{}", subtag.as_ref()?).as_str());
    // No rule is named after language, script and region at once; a test sees to it.
    further(&full.script).or_else(|| further(&full.region)).or_else(|| map.get(language))
}
