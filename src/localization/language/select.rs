//! Which plural category a number has in a locale.

use super::category::{Categories, Category};
use super::locale::Locale;
use super::number::Number;
use super::plural::rules;
use super::plural_rule::PluralRules;
use super::tables::PluralKind;

/// The category of a number that counts something.
#[must_use]
pub fn select_cardinal(locale: &Locale, number: &Number) -> Category {
    select(PluralKind::Cardinal, locale, number)
}

/// The category of a number that says a place in an order.
#[must_use]
pub fn select_ordinal(locale: &Locale, number: &Number) -> Category {
    select(PluralKind::Ordinal, locale, number)
}

fn select(kind: PluralKind, locale: &Locale, number: &Number) -> Category {
    rules(kind, locale.full()).map_or(Category::Other, |rules| rules.select(number))
}

/// The categories that exactly one whole number has when something is counted: `one` of German, but not of Russian, where
/// 21 has it, nor of French, where 0 does. A text of such a form need not say the number.
#[must_use]
pub fn single_cardinals(locale: &Locale) -> Categories {
    rules(PluralKind::Cardinal, locale.full()).map(PluralRules::of_one_number).unwrap_or_default()
}

/// The categories that exactly one whole number has when it says a place in an order: `many` of Italian has several, `one`
/// of French is 1 alone.
#[must_use]
pub fn single_ordinals(locale: &Locale) -> Categories {
    rules(PluralKind::Ordinal, locale.full()).map(PluralRules::of_one_number).unwrap_or_default()
}
