//! Which plural category a number has in a locale.

use super::category::Category;
use super::locale::Locale;
use super::number::Number;
use super::plural::rules;
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
