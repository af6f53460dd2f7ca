//! Searching an index against comparing with every text.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Instant;

use super::{LETTERS, changed, random_text};
use crate::likeness::{CHARS_MAX, EFFORT, Entry, Index, Indexes, LanguagePair, Query, SCORE_LEAST, Unit, Wish};
use crate::testing::{TENANT, expected_score};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    source: String,
    written: i64,
}

impl Unit for Known {
    fn source(&self) -> &str {
        &self.source
    }
    fn written_micros(&self) -> i64 {
        self.written
    }
}

/// An index, and what it was made of by its ids.
#[derive(Default)]
struct Memory {
    index: Index,
    units: BTreeMap<u128, Known>,
}

impl Memory {
    fn put(&mut self, id: u128, source: &str, written: i64) {
        self.index.put(&Entry { id, written_micros: written, source });
        self.units.insert(id, Known { source: source.to_owned(), written });
    }

    fn search(&self, text: &str, wish: Wish) -> Vec<(u8, Known)> {
        let Some(query) = Query::of(text) else { return Vec::new() };
        let read = |id: u128| Ok::<_, Infallible>(self.units.get(&id).cloned());
        self.index.search(&query, wish, read).unwrap()
    }

    /// Every unit with its score, without an index.
    fn compare_all(&self, text: &str) -> Vec<(u8, u128, Known)> {
        let short = self.units.iter().filter(|(_, unit)| unit.source.chars().count() <= CHARS_MAX);
        short.map(|(id, unit)| (expected_score(text, &unit.source), *id, unit.clone())).collect()
    }
}

/// What is wanted of all that there is.
fn chosen(all: &[(u8, u128, Known)], wish: Wish) -> Vec<(u8, Known)> {
    let wanted = all.iter().filter(|(score, id, _)| *score >= wish.least && wish.without != Some(*id));
    let mut found: Vec<(u8, Known)> = wanted.map(|(score, _, unit)| (*score, unit.clone())).collect();
    found.sort_by(|(score, unit), (other_score, other)| {
        let by_score = other_score.cmp(score).then(other.written.cmp(&unit.written));
        by_score.then(unit.source.chars().cmp(other.source.chars()))
    });
    found.truncate(wish.count);
    found
}

const ALL: Wish = Wish { least: SCORE_LEAST, count: usize::MAX, without: None, effort: u64::MAX };

#[test]
fn what_is_found_is_what_comparing_with_everything_finds() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let letters = &LETTERS[..[3, LETTERS.len()][seed as usize % 2]];
        let longest = [12, 90, 300][seed as usize % 3];
        let mut memory = Memory::default();
        let mut families = Vec::new();
        for id in 0..150 {
            if id % 12 == 0 {
                let length = random.usize(..longest);
                families.push(random_text(&mut random, letters, length));
            }
            let text = families[random.usize(..families.len())].clone();
            let changes = random.usize(..4 + text.len() / 12);
            memory.put(id, &changed(&mut random, letters, &text, changes), random.i64(..6));
        }
        for _ in 0..20 {
            let id = u128::from(random.u8(..150));
            let source = memory.units[&id].source.clone();
            memory.put(id, &source, random.i64(..6));
        }
        if seed % 4 == 0 {
            memory.index.shrink();
        }
        assert_eq!(memory.index.units(), memory.units.len());
        for text in families {
            let changes = random.usize(..3);
            let text = changed(&mut random, letters, &text, changes);
            let all = memory.compare_all(&text);
            for wish in [
                ALL,
                Wish { count: 5, ..ALL },
                Wish { count: 1, least: 90, ..ALL },
                Wish { count: 5, without: Some(random.u128(..150)), effort: EFFORT, ..ALL },
                Wish { count: 0, ..ALL },
            ] {
                assert_eq!(memory.search(&text, wish), chosen(&all, wish), "seed {seed}, {wish:?}");
            }
        }
    }
}

#[test]
fn long_texts_are_not_compared_and_forms_of_one_text_are_99() {
    let mut memory = Memory::default();
    let just = "x".repeat(CHARS_MAX);
    memory.put(1, &just, 1);
    memory.put(2, &format!("{just}x"), 1);
    memory.put(3, "caf\u{e9}", 1);
    memory.put(4, "cafe\u{301}", 2);
    assert_eq!(memory.index.units(), 3);
    let found = memory.search(&format!("{}y", &just[1..]), ALL);
    assert_eq!(found.iter().map(|(score, unit)| (*score, unit.source.len())).collect::<Vec<_>>(), [(99, CHARS_MAX)]);
    assert!(Query::of(&format!("{just}x")).is_none());
    let scores =
        |text| memory.search(text, ALL).into_iter().map(|(score, unit)| (score, unit.written)).collect::<Vec<_>>();
    assert_eq!(scores("cafe\u{301}"), [(99, 2), (99, 1)], "who asks leaves out the same text by its id");
    assert_eq!(scores("cafe"), [(75, 2), (75, 1)]);
}

#[test]
fn what_is_gone_is_passed_over() {
    let mut memory = Memory::default();
    for (id, text) in (0..).zip(["press the button", "press the buttons", "press that button"]) {
        memory.put(id, text, 1);
    }
    memory.units.remove(&1);
    let found = memory.search("press the button!", Wish { count: 2, ..ALL });
    assert_eq!(
        found.iter().map(|(_, unit)| unit.source.as_str()).collect::<Vec<_>>(),
        ["press the button", "press that button"]
    );
}

/// The longest texts, all of them alike, so that none is ruled out and all must be compared.
#[test]
fn a_search_ends_when_its_effort_is_used_up() {
    let mut random = fastrand::Rng::with_seed(7);
    let letters: Vec<&str> = LETTERS[..6].to_vec();
    let text = random_text(&mut random, &letters, CHARS_MAX - 100);
    let mut memory = Memory::default();
    for id in 0..300 {
        let other: String = text.chars().rev().collect();
        memory.put(id, &changed(&mut random, &letters, &other, 9), i64::try_from(id).unwrap());
    }
    let mut reads = 0;
    let mut search = |effort| {
        reads = 0;
        let read = |id: u128| {
            reads += 1;
            Ok::<_, Infallible>(memory.units.get(&id).cloned())
        };
        let found = memory.index.search(&Query::of(&text).unwrap(), Wish { effort, ..ALL }, read).unwrap();
        (found.len(), reads)
    };
    assert_eq!(search(u64::MAX).1, 300, "long texts are not kept, and all are read");
    let begun = Instant::now();
    let (_, reads) = search(100_000);
    assert!((3..40).contains(&reads), "{reads}");
    assert!(begun.elapsed().as_secs() < 5);
}

#[test]
fn what_takes_too_much_room_goes_the_longest_unused_first() {
    let pair = |target: &str| LanguagePair { tenant_id: TENANT, source: "en".into(), target: target.into() };
    let indexes = Indexes::new(100);
    for target in ["de", "fr", "it"] {
        indexes.take(&pair(target)).write().unwrap().upto = 7;
        indexes.note(&pair(target), 40);
        let _ = indexes.take(&pair("de"));
    }
    assert_eq!(["de", "fr", "it"].map(|target| indexes.upto(&pair(target))), [Some(7), None, Some(7)]);
    assert_eq!(indexes.held(), (2, 80));
    indexes.note(&pair("it"), 400);
    assert_eq!(indexes.held(), (1, 400), "one that is in use stays");
    assert_eq!(indexes.take(&pair("de")).read().unwrap().upto, 0);
}

#[test]
fn a_hundred_thousand_units_take_less_than_64_mib_however_long_they_are() {
    let mut index = Index::default();
    // All of one length is the least favourable: what grows by an eighth has most to spare.
    let text = "x".repeat(512);
    for id in 0..1000 {
        index.add(&Entry { id, written_micros: 0, source: &text });
    }
    assert!(index.bytes() * 100 <= 64 << 20, "{}", index.bytes());
    index.shrink();
    assert!(index.bytes() / 1000 <= 576, "{}", index.bytes());
}
