//! Which addresses of a target are those of its source (localization, Q5): scheme and host ignoring case; the rest exactly,
//! but that a path segment or a query value which is the tag of the source's locale may be that of the target's.

use std::collections::{HashMap, HashSet};

use crate::language::Locale;

use super::model::{Pair, Subject};
use super::reading::Reading;

/// The addresses of a source, by what makes them the same.
pub struct Addresses {
    known: HashSet<String>,
    /// By what is left without the source's tag.
    neutral: HashMap<String, String>,
    source_tags: Vec<String>,
    target_tags: Vec<String>,
}

impl Addresses {
    /// Takes note of the addresses of a source, and of those that its `other` has.
    pub fn of<'r>(
        subject: &'r Subject<'_>,
        pair: &'r Pair<'_>,
        listed: impl Fn(&'r Reading<'_>) -> Vec<&'r str>,
    ) -> Addresses {
        let mut addresses = Addresses {
            known: HashSet::new(),
            neutral: HashMap::new(),
            source_tags: tags(subject.source_locale),
            target_tags: tags(subject.target_locale),
        };
        let sources = [Some(&pair.source), subject.source_of_other(pair)].into_iter().flatten();
        for address in sources.flat_map(listed) {
            let key = key(address);
            let neutral = neutral(&key, |part| addresses.source_tags.iter().any(|tag| tag == part));
            addresses.neutral.extend(neutral.map(|neutral| (neutral, key.clone())));
            addresses.known.insert(key);
        }
        addresses
    }

    /// What is equal for a target's address and the source's that it stands for.
    pub fn key_of(&self, address: &str) -> String {
        let key = key(address);
        if self.known.contains(&key) {
            return key;
        }
        let is_tag = |part: &str| self.source_tags.iter().chain(&self.target_tags).any(|tag| tag == part);
        let meant = neutral(&key, is_tag).and_then(|neutral| self.neutral.get(&neutral));
        meant.cloned().unwrap_or(key)
    }
}

/// A locale's tags, as they may stand in an address: whole, the language alone, and with its script or its region.
fn tags(locale: &Locale) -> Vec<String> {
    let canonical = locale.canonical().to_ascii_lowercase();
    let content_form = locale.content_form().to_ascii_lowercase();
    let language = content_form.split('-').next().unwrap_or_default().to_owned();
    let further = |subtag: &&str| matches!(subtag.len(), 2..=4);
    let mut tags: Vec<String> =
        content_form.split('-').skip(1).filter(further).map(|subtag| format!("{language}-{subtag}")).collect();
    tags.extend([canonical, content_form, language]);
    tags
}

/// The address with what is equal in any case in lower case. What a mail is about is prose.
fn key(address: &str) -> String {
    if let Some(authority) = address.find("://").map(|colon| colon + 3) {
        let rest = address.get(authority..).unwrap_or_default();
        let host = authority + rest.find(['/', '?', '#']).unwrap_or(rest.len());
        return address.get(..host).unwrap_or_default().to_lowercase() + address.get(host..).unwrap_or_default();
    }
    if address.contains('@') {
        return address.split('?').next().unwrap_or_default().to_lowercase();
    }
    address.to_owned()
}

/// The address with nothing in the place of tags; `None` if there is none.
fn neutral(key: &str, is_tag: impl Fn(&str) -> bool) -> Option<String> {
    let authority = key.find("://").map_or(0, |colon| colon + 3);
    let mut neutral = key.get(..authority)?.to_owned();
    let mut found = false;
    // A host is no tag, nor is the name of a query's value.
    let mut may_be = authority == 0;
    for part in key.get(authority..)?.split_inclusive(['/', '?', '&', '=', '#']) {
        let (word, mark) = match part.char_indices().last() {
            Some((end, mark @ ('/' | '?' | '&' | '=' | '#'))) => (part.get(..end)?, Some(mark)),
            _ => (part, None),
        };
        if may_be && is_tag(&word.to_ascii_lowercase().replace('_', "-")) {
            found = true;
        } else {
            neutral.push_str(word);
        }
        neutral.extend(mark);
        may_be = matches!(mark, Some('/' | '='));
    }
    found.then_some(neutral)
}
