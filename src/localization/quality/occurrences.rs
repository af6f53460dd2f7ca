//! How often things are in a text, whatever a message of it chooses; and what a target lacks or has too much of.
//!
//! A text that chooses nothing has each thing just as often as it is written. A message shows one branch of each argument
//! alone: a thing is in it at least as often as in the poorest choice of branches, and at most as often as in the richest.
//! A branch for exactly one number need not say that number, since its words may.

use std::collections::HashMap;
use std::hash::Hash;

use crate::language::{Categories, Category, Locale, single_cardinals, single_ordinals};

use super::readers::{Complex, Message, Part};

/// How often a thing is in what a text can become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bounds {
    least: u32,
    most: u32,
    /// Whether it is where every language has a branch; only some have `one` or `few`.
    is_firm: bool,
}

impl Bounds {
    /// Both one behind the other.
    fn and(self, other: Bounds) -> Bounds {
        let least = self.least.saturating_add(other.least);
        let most = self.most.saturating_add(other.most);
        Bounds { least, most, is_firm: self.is_firm || other.is_firm }
    }
}

/// A thing that can be told from others, and whether it shows the number of a plural.
pub trait Thing: Copy + Eq + Hash {
    /// Whether it shows the argument of the name.
    fn shows(&self, _argument: &str) -> bool {
        false
    }
}

impl Thing for &str {}

/// A thing and where it begins, in bytes.
pub type At<K> = (usize, K);

/// How often each thing is in a text, in order of first occurrence.
#[derive(Debug)]
pub struct Occurrences<K> {
    things: Vec<(K, Bounds)>,
    places: HashMap<K, usize>,
}

/// What a target lacks of its source, and what it has beyond it.
#[derive(Debug)]
pub struct Difference<K> {
    /// Things of the source.
    pub missing: Vec<K>,
    /// Things of the target.
    pub extra: Vec<K>,
}

impl<K: Thing> Occurrences<K> {
    /// Counts the things of a text, which come in order. `locale` is the language of the text.
    pub fn of(things: impl Iterator<Item = At<K>>, message: Option<&Message<'_>>, locale: &Locale) -> Occurrences<K> {
        let mut counted = Occurrences { things: Vec::new(), places: HashMap::new() };
        let numbered: Vec<(usize, usize)> = things.map(|(at, thing)| (at, counted.place(thing))).collect();
        let bounds = match message {
            None => {
                let mut text = Text::default();
                numbered.iter().for_each(|(_, thing)| text.add(*thing));
                text
            }
            Some(message) => Walk::new(&counted.things, locale).go(message, &numbered),
        };
        for (thing, bounds) in bounds.0 {
            if let Some(entry) = counted.things.get_mut(thing) {
                entry.1 = bounds;
            }
        }
        counted
    }

    /// Which thing it is, counted by first occurrence.
    fn place(&mut self, thing: K) -> usize {
        let next = self.things.len();
        let place = *self.places.entry(thing).or_insert(next);
        if place == next {
            self.things.push((thing, Bounds::default()));
        }
        place
    }

    fn bounds(&self, thing: &K) -> Bounds {
        let entry = self.places.get(thing).and_then(|place| self.things.get(*place));
        entry.map_or_else(Bounds::default, |(_, bounds)| *bounds)
    }

    /// Lets the target have what another form of the source has.
    pub fn allow(&mut self, other: &Occurrences<K>) {
        for (thing, bounds) in &other.things {
            let place = self.place(*thing);
            if let Some((_, own)) = self.things.get_mut(place) {
                own.most = own.most.max(bounds.most);
            }
        }
    }

    /// Whether it is there at all.
    pub fn has(&self, thing: &K) -> bool {
        self.places.contains_key(thing)
    }

    /// How a target differs from this source.
    pub fn difference(&self, target: &Occurrences<K>) -> Difference<K> {
        let is_missing = |(thing, source): &&(K, Bounds)| {
            let found = target.bounds(thing);
            found.least < source.least || found.most == 0 && source.is_firm
        };
        let is_extra = |(thing, found): &&(K, Bounds)| found.most > self.bounds(thing).most;
        Difference {
            missing: self.things.iter().filter(is_missing).map(|(thing, _)| *thing).collect(),
            extra: target.things.iter().filter(is_extra).map(|(thing, _)| *thing).collect(),
        }
    }
}

/// What is in a text: bounds by the number of the thing.
#[derive(Default)]
struct Text(HashMap<usize, Bounds>);

impl Text {
    fn add(&mut self, thing: usize) {
        self.join(thing, Bounds { least: 1, most: 1, is_firm: true });
    }

    fn join(&mut self, thing: usize, more: Bounds) {
        let bounds = self.0.entry(thing).or_default();
        *bounds = bounds.and(more);
    }
}

/// An argument that chooses, and what was found in its branches so far.
struct Choice<'a> {
    name: &'a str,
    complex: Complex,
    selector: &'a str,
    branches: u32,
    /// Branches that are not for exactly one number.
    open_branches: u32,
    found: HashMap<usize, Found>,
}

/// A thing in the branches of an argument.
#[derive(Default)]
struct Found {
    branches: u32,
    bounds: Bounds,
}

/// A way through a message.
struct Walk<'t, K> {
    things: &'t [(K, Bounds)],
    cardinals: Categories,
    ordinals: Categories,
}

impl<'t, K: Thing> Walk<'t, K> {
    fn new(things: &'t [(K, Bounds)], locale: &Locale) -> Walk<'t, K> {
        Walk { things, cardinals: single_cardinals(locale), ordinals: single_ordinals(locale) }
    }

    fn go(&self, message: &Message<'_>, things: &[(usize, usize)]) -> Text {
        let mut things = things.iter().peekable();
        let mut texts = vec![Text::default()];
        let mut choices: Vec<Choice<'_>> = Vec::new();
        for piece in &message.pieces {
            if matches!(piece.part, Part::Argument { .. } | Part::Number { .. }) {
                continue;
            }
            while let Some((_, thing)) = things.next_if(|(at, _)| *at < piece.range.start) {
                texts.last_mut().into_iter().for_each(|text| text.add(*thing));
            }
            match piece.part {
                Part::Open { name, complex, .. } => choices.push(Choice::of(name, complex)),
                Part::Branch { selector } => {
                    choices.last_mut().into_iter().for_each(|choice| choice.selector = selector);
                    texts.push(Text::default());
                }
                Part::EndBranch => {
                    if let (Some(text), Some(choice)) = (texts.pop(), choices.last_mut()) {
                        self.end_branch(&text, choice);
                    }
                }
                _ => {
                    if let (Some(choice), Some(text)) = (choices.pop(), texts.last_mut()) {
                        self.close(choice, text);
                    }
                }
            }
        }
        let mut whole = texts.pop().unwrap_or_default();
        things.for_each(|(_, thing)| whole.add(*thing));
        whole
    }

    fn shows(&self, thing: usize, choice: &Choice<'_>) -> bool {
        self.things.get(thing).is_some_and(|(thing, _)| thing.shows(choice.name))
    }

    fn end_branch(&self, text: &Text, choice: &mut Choice<'_>) {
        let category = Category::from_name(choice.selector).filter(|_| choice.complex != Complex::Select);
        let single = if choice.complex == Complex::Plural { self.cardinals } else { self.ordinals };
        let is_of_one = choice.selector.starts_with('=') || category.is_some_and(|category| single.contains(category));
        let is_firm = category.is_none_or(|category| category == Category::Other);
        choice.branches += 1;
        choice.open_branches += u32::from(!is_of_one);
        for (thing, bounds) in &text.0 {
            let counts = !(is_of_one && self.shows(*thing, choice));
            let found = choice.found.entry(*thing).or_default();
            let least = if found.branches == 0 { bounds.least } else { found.bounds.least.min(bounds.least) };
            found.bounds.most = found.bounds.most.max(bounds.most);
            found.bounds.is_firm |= is_firm && bounds.is_firm;
            if counts {
                found.branches += 1;
                found.bounds.least = least;
            }
        }
    }

    fn close(&self, choice: Choice<'_>, text: &mut Text) {
        for (thing, found) in &choice.found {
            let branches = if self.shows(*thing, &choice) { choice.open_branches } else { choice.branches };
            let least = if found.branches == branches { found.bounds.least } else { 0 };
            text.join(*thing, Bounds { least, ..found.bounds });
        }
    }
}

impl<'a> Choice<'a> {
    fn of(name: &'a str, complex: Complex) -> Choice<'a> {
        Choice { name, complex, selector: "", branches: 0, open_branches: 0, found: HashMap::new() }
    }
}
