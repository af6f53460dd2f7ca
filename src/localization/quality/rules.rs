//! What a project says of its words: terms, what stays as it is, what is never said, and the register. Compiled once for
//! a project and a locale, and looked at by every check of its translations.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::language::Locale;

use super::reading::Reading;
use super::registers::{Register, register_of};
use super::words::{Phrases, begins_word, composed, folded, is_whole_word, words};

/// What the glossary says of a word (Glossary entry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'e> {
    /// `term`: what a term of the source becomes.
    Term {
        /// In the source.
        source: &'e str,
        /// In the target.
        target: &'e str,
    },
    /// `dnt`: what stays as it is.
    DoNotTranslate(&'e str),
    /// `forbidden`: what no translation says.
    Forbidden(&'e str),
}

/// A term of the source and what it may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// In the source, as its first entry writes it.
    pub source: String,
    /// In the target, in the order of the entries: one of them is enough.
    pub targets: Vec<String>,
    /// The numbers of the targets among all that are sought.
    sought: Vec<usize>,
}

/// What the glossary and the style of a project say for one target locale.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    terms: Vec<Term>,
    sources: Phrases,
    targets: Phrases,
    kept: Vec<String>,
    kept_places: Phrases,
    kept_words: HashSet<String>,
    forbidden: Vec<String>,
    forbidden_places: Phrases,
    is_formal: bool,
    register: Option<&'static Register>,
}

impl Rules {
    /// Compiles the entries that hold for a target locale, in the order in which findings and prompts name them. What the
    /// register is good for depends on the locale: without a table of informal words nothing is said of it.
    #[must_use]
    pub fn compile<'e>(entries: impl IntoIterator<Item = Entry<'e>>, is_formal: bool, target: &Locale) -> Rules {
        let register = if is_formal { register_of(target) } else { None };
        let mut rules = Rules { is_formal, register, ..Rules::default() };
        let (mut sources, mut targets) = (Numbered::default(), Numbered::default());
        let (mut kept, mut forbidden) = (Numbered::default(), Numbered::default());
        for entry in entries {
            match entry {
                Entry::Term { source, target } => {
                    let (number, is_new) = sources.number_of(folded(source).into_owned());
                    if is_new {
                        rules.terms.push(Term { source: source.to_owned(), targets: Vec::new(), sought: Vec::new() });
                    }
                    let (sought, _) = targets.number_of(folded(target).into_owned());
                    if let Some(term) = rules.terms.get_mut(number).filter(|term| !term.sought.contains(&sought)) {
                        term.targets.push(target.to_owned());
                        term.sought.push(sought);
                    }
                }
                Entry::DoNotTranslate(source) => {
                    if kept.number_of(composed(source).into_owned()).1 {
                        rules.kept.push(source.to_owned());
                    }
                }
                Entry::Forbidden(target) => {
                    if forbidden.number_of(folded(target).into_owned()).1 {
                        rules.forbidden.push(target.to_owned());
                    }
                }
            }
        }
        rules.sources = Phrases::of(&sources.phrases);
        rules.targets = Phrases::of(&targets.phrases);
        rules.kept_words = kept.phrases.iter().flat_map(|term| words(term)).map(|(_, word)| word.to_owned()).collect();
        rules.kept_places = Phrases::of(&kept.phrases);
        rules.forbidden_places = Phrases::of(&forbidden.phrases);
        rules
    }

    /// The terms that a text of the source has as whole words in its prose, ignoring case, in the order of their entries
    /// (localization, Q8).
    #[must_use]
    pub fn terms_in(&self, source: &Reading<'_>) -> Vec<&Term> {
        if self.sources.is_empty() {
            return Vec::new();
        }
        let found: BTreeSet<usize> =
            source.prose().flat_map(|piece| found_in(&self.sources, &folded(piece), is_whole_word)).collect();
        found.into_iter().filter_map(|number| self.terms.get(number)).collect()
    }

    /// Those of the terms none of whose targets begins a word of the text, ignoring case (localization, Q8).
    #[must_use]
    pub fn without_target<'r>(&'r self, terms: Vec<&'r Term>, target: &str) -> Vec<&'r Term> {
        if terms.is_empty() {
            return terms;
        }
        let there = found_in(&self.targets, &folded(target), begins_word);
        terms.into_iter().filter(|term| !term.sought.iter().any(|sought| there.contains(sought))).collect()
    }

    /// What a text of the source has as a whole word, in its own case, and a translation keeps, in the order of the
    /// entries (localization, Q8).
    #[must_use]
    pub fn kept_in(&self, source: &str) -> Vec<&str> {
        self.kept_terms(found_in(&self.kept_places, &composed(source), is_whole_word))
    }

    /// What of that the target does not have verbatim (QA results). `None`: the source has nothing of the kind.
    #[must_use]
    pub fn not_kept(&self, source: &str, target: &str) -> Option<Vec<&str>> {
        if self.kept_places.is_empty() {
            return None;
        }
        let mut wanted = found_in(&self.kept_places, &composed(source), is_whole_word);
        if wanted.is_empty() {
            return None;
        }
        let there = found_in(&self.kept_places, &composed(target), |_, _| true);
        wanted.retain(|number| !there.contains(number));
        Some(self.kept_terms(wanted))
    }

    /// Whether there is nothing that is not translated.
    pub(super) fn keeps_nothing(&self) -> bool {
        self.kept_places.is_empty()
    }

    /// Where a text has, as whole words, what is not translated. The text must be composed.
    pub(super) fn kept_places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.kept_places.places(text).map(|(_, place)| place).filter(|place| is_whole_word(text, place))
    }

    /// Whether it is a word of what is not translated.
    pub(super) fn is_kept_word(&self, word: &str) -> bool {
        self.kept_words.contains(word)
    }

    /// What no translation says, in the order of the entries.
    #[must_use]
    pub fn forbidden(&self) -> &[String] {
        &self.forbidden
    }

    /// What the pieces of a target say as whole words, ignoring case, although it is forbidden, in the order of the
    /// entries (localization, Q8).
    pub(super) fn forbidden_in<'t>(&self, pieces: impl Iterator<Item = &'t str>) -> Vec<&str> {
        let found: BTreeSet<usize> =
            pieces.flat_map(|piece| found_in(&self.forbidden_places, &folded(piece), is_whole_word)).collect();
        found.into_iter().filter_map(|number| self.forbidden.get(number)).map(String::as_str).collect()
    }

    /// Whether a style asked for the formal register; there need be no table for the locale.
    #[must_use]
    pub const fn is_formal(&self) -> bool {
        self.is_formal
    }

    /// The informal words that are looked for.
    pub(super) const fn register(&self) -> Option<&'static Register> {
        self.register
    }

    fn kept_terms(&self, numbers: BTreeSet<usize>) -> Vec<&str> {
        numbers.into_iter().filter_map(|number| self.kept.get(number)).map(String::as_str).collect()
    }
}

/// The numbers of the phrases that are somewhere in the text where the test holds.
fn found_in(phrases: &Phrases, text: &str, holds: fn(&str, &Range<usize>) -> bool) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for (number, place) in phrases.places(text) {
        if !found.contains(&number) && holds(text, &place) {
            found.insert(number);
        }
    }
    found
}

/// Phrases that differ, numbered as they come.
#[derive(Default)]
struct Numbered {
    phrases: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Numbered {
    /// The phrase's number, and whether it is new.
    fn number_of(&mut self, phrase: String) -> (usize, bool) {
        if let Some(number) = self.numbers.get(&phrase) {
            return (*number, false);
        }
        let number = self.phrases.len();
        self.numbers.insert(phrase.clone(), number);
        self.phrases.push(phrase);
        (number, true)
    }
}
