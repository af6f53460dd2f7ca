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
//! Reading order: `category` · `refusal` · `locale` (a tag and its forms) · `plural` (a number's category) ·
//! `profiles` (every locale of CLDR) · `health` (the ten checks). Below these: `tables` (what the assets say) · `tag`
//! (the grammar) · `alias`, `canonical`, `likely` (from a tag to its forms) · `plural_rule`, `plural_samples` (CLDR's
//! rules and numbers) · `checks` (what each process check looks at).

mod alias;
mod canonical;
mod category;
mod checks;
mod health;
mod likely;
mod locale;
mod plural;
mod plural_rule;
mod plural_samples;
mod profiles;
mod refusal;
mod tables;
mod tag;

pub use category::{Categories, Category};
pub use health::{CheckName, CheckOutcome, Health, UnknownCheck};
pub use locale::{
    Direction, Locale, STORED_LENGTH_MAX, TRANSLATION_ROUTE_LENGTH_MAX, check_stored_length,
    check_translation_route_length,
};
pub use plural::{Number, NumberIllFormed, select_cardinal, select_ordinal};
pub use profiles::{LocaleProfile, profiles};
pub use refusal::LocaleRefusal;

/// The release of CLDR that every table but the registry's was made from.
pub const CLDR_VERSION: &str = "48.2";

/// The `File-Date` of the IANA language subtag registry that the tables were made from.
pub const REGISTRY_DATE: &str = "2025-08-25";

#[cfg(test)]
mod tests;
