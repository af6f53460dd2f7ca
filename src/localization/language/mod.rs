//! The language core: which locales there are, how their tags are written, and which plural forms they have.
//!
//! Nouns: a *canonical tag* is a language tag in the one spelling that RFC 5646 and UTS 35 give it; a *content form*
//! is what text is stored under: no extensions, no private use, the script said where CLDR splits the language by
//! script; an *identity key* is equal for two content forms that mean the same (`zh-TW` and `zh-Hant`); a *profile*
//! is what CLDR knows about a locale.
//!
//! Everything here is pure: no storage, no clock, no settings. The knowledge lies in the tables of `assets/locales/`,
//! made from one pinned release of CLDR and one of the IANA registry ([`CLDR_VERSION`], [`REGISTRY_DATE`]). Stored
//! identity keys depend on them, so that another pin is a migration.
//!
//! Whether the core can be relied on is asked of [`Health`], which runs the ten process checks.
//!
//! Reading order: `category` · `refusal` · `locale` (a tag and its forms) · `number`, `select` (a number's category) ·
//! `profiles` (every locale of CLDR) · `health` (the ten checks). Below these: `pins`, `tables` (what the assets say) ·
//! `tag` (the grammar) · `alias`, `canonical`, `likely`, `coverage` (from a tag to its forms) · `plural`, `plural_rule`,
//! `plural_samples` (CLDR's rules and numbers) · `check_name`, `checks` (what each process check looks at).

mod alias;
mod canonical;
mod category;
mod check_name;
mod checks;
mod coverage;
mod health;
mod likely;
mod locale;
mod number;
mod pins;
mod plural;
mod plural_rule;
mod plural_samples;
mod profiles;
mod refusal;
mod select;
mod tables;
mod tag;

pub use category::{Categories, Category};
pub use check_name::{CheckName, UnknownCheck};
pub use health::{CheckOutcome, Health};
pub use locale::{
    Direction, Locale, STORED_LENGTH_MAX, TRANSLATION_ROUTE_LENGTH_MAX, check_stored_length,
    check_translation_route_length,
};
pub use number::{Number, NumberIllFormed};
pub use pins::{CLDR_VERSION, REGISTRY_DATE};
pub use profiles::{LocaleProfile, profiles};
pub use refusal::LocaleRefusal;
pub use select::{select_cardinal, select_ordinal, single_cardinals, single_ordinals};

#[cfg(test)]
mod tests;
