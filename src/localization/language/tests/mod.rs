//! Tests of the language core.

mod against_icu4x;
mod forms;
mod health;
mod plurals;
mod properties;
mod registry;

use super::canonical::canonicalize;
use super::refusal::LocaleRefusal;

/// The canonical form of a tag, also of one that is not translatable.
fn canonical(tag: &str) -> Result<String, LocaleRefusal> {
    canonicalize(tag).map(|canonical| canonical.id.customary() + &canonical.rest)
}
