//! For which target locales something holds that is said for a tag (contract, Glossary entry; localization, Q9).

use std::collections::HashMap;

use super::model::EVERY_LOCALE;
use crate::language::Locale;

/// How closely what is said for a tag fits a target locale, the closest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is said for every locale.
    Every,
    /// It is said for the language alone.
    Language,
    /// It is said for another spelling of the locale, such as `zh-TW` for `zh-Hant-TW`.
    Spelling,
    /// It is said for the locale's own tag.
    Own,
}

/// A target locale that things are held against.
pub struct Target<'l> {
    locale: &'l Locale,
    /// What was found of each tag: there are few, and many things for each.
    known: HashMap<String, Option<Fit>>,
}

impl<'l> Target<'l> {
    /// The target locale.
    #[must_use]
    pub fn of(locale: &'l Locale) -> Target<'l> {
        Target { locale, known: HashMap::new() }
    }

    /// How closely a stored tag fits; `None`: not at all. No tag is every locale.
    pub fn fit(&mut self, tag: Option<&str>) -> Option<Fit> {
        let Some(tag) = tag.filter(|tag| *tag != EVERY_LOCALE) else { return Some(Fit::Every) };
        if let Some(known) = self.known.get(tag) {
            return *known;
        }
        let fit = fit(tag, self.locale);
        self.known.insert(tag.to_owned(), fit);
        fit
    }
}

fn fit(tag: &str, target: &Locale) -> Option<Fit> {
    let canonical = target.canonical();
    if tag == canonical {
        return Some(Fit::Own);
    }
    if tag.split('-').next() != canonical.split('-').next() {
        return None;
    }
    if !tag.contains('-') {
        return Some(Fit::Language);
    }
    let is_spelling = is_plain(tag)
        && is_plain(canonical)
        && Locale::parse(tag).is_ok_and(|said| said.content_form() == target.content_form());
    is_spelling.then_some(Fit::Spelling)
}

/// Whether a canonical tag has neither extensions nor private use, which are particular to it.
fn is_plain(tag: &str) -> bool {
    tag.split('-').all(|subtag| subtag.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_holds_for_itself_and_a_language_for_its_tags() {
        for (tag, target, expected) in [
            (None, "de", Some(Fit::Every)),
            (Some("*"), "de-AT", Some(Fit::Every)),
            (Some("de"), "de", Some(Fit::Own)),
            (Some("de"), "de-AT", Some(Fit::Language)),
            (Some("de"), "de-1996", Some(Fit::Language)),
            (Some("de"), "de-x-formal", Some(Fit::Language)),
            (Some("pt"), "pt-BR", Some(Fit::Language)),
            (Some("de-AT"), "de-AT", Some(Fit::Own)),
            (Some("de-AT"), "de", None),
            (Some("de-AT"), "de-CH", None),
            (Some("de-DE"), "de", None),
            (Some("pt-BR"), "pt", None),
            (Some("de-1996"), "de-AT", None),
            (Some("de-x-formal"), "de", None),
            (Some("de-AT"), "de-AT-x-formal", None),
            (Some("zh-TW"), "zh-Hant-TW", Some(Fit::Spelling)),
            (Some("zh-Hant-TW"), "zh-TW", Some(Fit::Spelling)),
            (Some("zh-TW"), "zh-CN", None),
            (Some("zh-Hant"), "zh-TW", None),
            (Some("da"), "de", None),
            (Some("fil"), "fi", None),
            (Some("fi"), "fil", None),
        ] {
            let locale = Locale::parse(target).unwrap();
            assert_eq!(locale.canonical(), target);
            let mut found = Target::of(&locale);
            assert_eq!(found.fit(tag), expected, "{tag:?} for {target}");
            assert_eq!(found.fit(tag), expected, "once more");
        }
    }
}
