//! What an entry may say (contract, Glossary entry; localization, G1).

use super::model::{EVERY_LOCALE, EntryKind, Wording};
use crate::language::{Locale, LocaleRefusal, check_translation_route_length};
use crate::quality::is_unprintable;
use crate::refusal::Refusal;

/// What a locale is in an error.
const LOCALE: &str = "locale";

impl Wording {
    /// The same, judged, its locale written as it is stored.
    ///
    /// # Errors
    /// In this order: [`Refusal::TermShape`], [`Refusal::TermInvalid`], [`Refusal::Tag`].
    pub fn checked(mut self) -> Result<Wording, Refusal> {
        self.check_shape()?;
        for (name, text) in [("source", &self.source), ("target", &self.target)] {
            if text.as_deref().is_some_and(is_invalid) {
                return Err(Refusal::TermInvalid(name));
            }
        }
        self.locale = self.locale.as_deref().map(stored_tag).transpose()?;
        Ok(self)
    }

    /// Which members go with the kind: a term has a source, a target and a locale; what is not translated has no target;
    /// what is forbidden has no source.
    fn check_shape(&self) -> Result<(), Refusal> {
        let (needs, takes_none): (&[&str], &[&str]) = match self.kind {
            EntryKind::Term => (&["source", "target", LOCALE], &[]),
            EntryKind::DoNotTranslate => (&["source"], &["target"]),
            EntryKind::Forbidden => (&["target"], &["source"]),
        };
        let members = [("source", &self.source), ("target", &self.target), (LOCALE, &self.locale)];
        for (name, value) in members {
            if value.is_none() && needs.contains(&name) {
                return Err(Refusal::TermShape(name, "is required by this kind"));
            }
            if value.is_some() && takes_none.contains(&name) {
                return Err(Refusal::TermShape(name, "does not go with this kind"));
            }
        }
        Ok(())
    }
}

fn is_invalid(text: &str) -> bool {
    let is_at_an_end = |one: Option<char>| one.is_some_and(char::is_whitespace);
    is_at_an_end(text.chars().next()) || is_at_an_end(text.chars().next_back()) || text.chars().any(is_unprintable)
}

/// A tag as it is stored: canonical, and no longer than the tags of translations, which it is held against.
///
/// # Errors
/// [`Refusal::Tag`]
pub fn stored_tag(tag: &str) -> Result<String, Refusal> {
    let refused = |refusal: LocaleRefusal| Refusal::Tag(refusal.code());
    let locale = Locale::parse(tag).map_err(refused)?;
    check_translation_route_length(&locale).map_err(refused)?;
    Ok(locale.canonical().to_owned())
}

/// The locale of a style as it is stored.
///
/// # Errors
/// [`Refusal::Tag`]
pub fn stored_style_locale(tag: &str) -> Result<String, Refusal> {
    if tag == EVERY_LOCALE { Ok(tag.to_owned()) } else { stored_tag(tag) }
}
