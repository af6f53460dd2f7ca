//! Which plural category a number has in a locale.

use super::category::Category;
use super::locale::Locale;

/// A number as it is written, since trailing zeros matter: `1` and `1.0` differ in English.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    digits: String,
}

/// The text is no decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal number")]
pub struct NumberIllFormed;

impl Number {
    /// Reads a decimal number such as `5`, `1.50`, `-3` or, with a compact exponent, `1.2c6`. The sign has no bearing.
    ///
    /// # Errors
    ///
    /// The text is no such number, or has more digits than can be reckoned with.
    pub fn parse(text: &str) -> Result<Self, NumberIllFormed> {
        Ok(Self { digits: text.to_owned() })
    }

    /// A whole number.
    #[must_use]
    pub fn whole(value: u64) -> Self {
        Self { digits: value.to_string() }
    }
}

/// The category of a number that counts something.
#[must_use]
pub fn select_cardinal(_locale: &Locale, _number: &Number) -> Category {
    Category::Other
}

/// The category of a number that says a place in an order.
#[must_use]
pub fn select_ordinal(_locale: &Locale, _number: &Number) -> Category {
    Category::Other
}
