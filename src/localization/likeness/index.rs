//! The texts of one language pair, by their lengths, so that those that may be like a text are found without comparing it
//! with all.
//!
//! A text lies in the bucket of its length. Beside it stand its outline, which most texts are ruled out by, and what its
//! unit is known by. Long texts, and those that are not in NFC, are not kept: their units are read when they come into
//! question. So a unit takes at most some 600 bytes, and most take a hundred.

use std::collections::BTreeMap;
use std::mem::size_of;

use super::outline::Outline;
use super::pattern::Pattern;
use super::score::{composed, distance_max, is_comparable, lengths, score_of};
use super::top::Top;
use super::unit::{Entry, Unit};

/// The longest text that is kept, in bytes: with everything beside it, a hundred thousand of them take less than 64 MiB.
const KEPT_BYTES_MAX: usize = 512;
/// About how many bytes a bucket takes beside what is in it.
const BUCKET_BYTES: usize = 256;
/// About how many bytes an index takes beside its buckets.
const INDEX_BYTES: usize = 512;
/// So many outlines are compared in the time of a step.
const OUTLINES_A_STEP: usize = 2;
/// What reading a unit costs, in steps.
const STEPS_OF_READING: u64 = 4000;
/// What beginning to compare two texts costs, in steps.
const STEPS_OF_COMPARING: u64 = 16;

/// A text whose like is looked for.
pub struct Query {
    outline: Outline,
    pattern: Pattern,
}

impl Query {
    /// `None`: the text is too long to be compared.
    #[must_use]
    pub fn of(text: &str) -> Option<Query> {
        let text = Some(text).filter(|text| is_comparable(text)).map(composed)?;
        Some(Query { outline: Outline::of(&text).0, pattern: Pattern::of(&text) })
    }
}

/// What is wanted of a search.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// The least score, from 1 to 99.
    pub least: u8,
    /// How many units at most.
    pub count: usize,
    /// The unit that is left out: the one whose source is the text itself.
    pub without: Option<u128>,
    /// How many steps it may take, about.
    pub effort: u64,
}

/// Texts of one length.
#[derive(Default)]
struct Bucket {
    outlines: Vec<Outline>,
    ids: Vec<u128>,
    written: Vec<i64>,
    /// Where each text ends in `texts`. One that is empty is not kept, but for that of length 0.
    ends: Vec<u32>,
    texts: String,
}

impl Bucket {
    fn bytes(&self) -> usize {
        const ENTRY_BYTES: usize = size_of::<Outline>() + size_of::<u128>() + size_of::<i64>() + size_of::<u32>();
        BUCKET_BYTES + self.ids.capacity() * ENTRY_BYTES + self.texts.capacity()
    }

    /// The text of a place, if it is kept.
    fn text(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)? as usize;
        let begin = place.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        self.texts.get(begin..end).filter(|text| !text.is_empty())
    }

    fn push(&mut self, outline: Outline, entry: &Entry<'_>, kept: &str) {
        if self.ids.len() == self.ids.capacity() {
            // An eighth more at a time: what is reserved is counted.
            let more = (self.ids.len() / 8).max(8);
            self.outlines.reserve_exact(more);
            self.ids.reserve_exact(more);
            self.written.reserve_exact(more);
            self.ends.reserve_exact(more);
        }
        if self.texts.capacity() - self.texts.len() < kept.len() {
            self.texts.reserve_exact(kept.len().max(self.texts.len() / 8));
        }
        self.texts.push_str(kept);
        self.outlines.push(outline);
        self.ids.push(entry.id);
        self.written.push(entry.written_micros);
        self.ends.push(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
    }

    fn shrink(&mut self) {
        self.outlines.shrink_to_fit();
        self.ids.shrink_to_fit();
        self.written.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.texts.shrink_to_fit();
    }
}

/// The texts of one language pair.
#[derive(Default)]
pub struct Index {
    buckets: BTreeMap<usize, Bucket>,
    bytes: usize,
    units: usize,
    /// Up to which change of the rows it has been brought.
    pub upto: u64,
}

impl Index {
    /// How many bytes it takes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        INDEX_BYTES + self.bytes
    }

    /// How many units it holds.
    #[must_use]
    pub const fn units(&self) -> usize {
        self.units
    }

    /// Takes in a unit that it does not hold. One whose text is too long to be compared is passed over.
    pub fn add(&mut self, entry: &Entry<'_>) {
        self.take_in(entry, false);
    }

    /// Takes in a unit, or what has become of it: its source is what it was.
    pub fn put(&mut self, entry: &Entry<'_>) {
        self.take_in(entry, true);
    }

    fn take_in(&mut self, entry: &Entry<'_>, may_be_known: bool) {
        if !is_comparable(entry.source) {
            return;
        }
        let text = composed(entry.source);
        let (outline, length) = Outline::of(&text);
        let before = self.buckets.get(&length).map_or(0, Bucket::bytes);
        let bucket = self.buckets.entry(length).or_default();
        let known = if may_be_known { bucket.ids.iter().position(|id| *id == entry.id) } else { None };
        match known.and_then(|place| bucket.written.get_mut(place)) {
            Some(written) => *written = entry.written_micros,
            None => {
                let is_kept = *text == *entry.source && text.len() <= KEPT_BYTES_MAX;
                bucket.push(outline, entry, if is_kept { &text } else { "" });
                self.units += 1;
            }
        }
        self.bytes = self.bytes + bucket.bytes() - before;
    }

    /// Gives back what was reserved for more.
    pub fn shrink(&mut self) {
        self.buckets.values_mut().for_each(Bucket::shrink);
        self.bytes = self.buckets.values().map(Bucket::bytes).sum();
    }

    /// The units that are most like a text, with their scores, the best first. `read` reads a unit; one that is not there
    /// (any more, or yet) is passed over. Lengths are looked at from the text's own outwards, and of each the unit that
    /// was taken in last first: should the effort be used up, the others are not looked at.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn search<U: Unit, E>(
        &self,
        query: &Query,
        wish: Wish,
        read: impl FnMut(u128) -> Result<Option<U>, E>,
    ) -> Result<Vec<(u8, U)>, E> {
        let (shortest, longest) = lengths(wish.least, query.pattern.length());
        let mut search = Search { query, wish, top: Top::new(wish.count), steps: 0, read };
        let mut shorter = self.buckets.range(shortest..query.pattern.length()).rev().peekable();
        let mut others = self.buckets.range(query.pattern.length()..=longest).peekable();
        loop {
            let next = match (shorter.peek(), others.peek()) {
                (None, None) => break,
                (Some(one), Some(other)) if query.pattern.length() - *one.0 < *other.0 - query.pattern.length() => {
                    shorter.next()
                }
                (_, Some(_)) => others.next(),
                (Some(_), None) => shorter.next(),
            };
            let Some((length, bucket)) = next else { break };
            if !search.look_through(*length, bucket)? {
                break;
            }
        }
        Ok(search.top.into_best())
    }
}

/// A search that goes on.
struct Search<'q, U, R> {
    query: &'q Query,
    wish: Wish,
    top: Top<U>,
    steps: u64,
    read: R,
}

impl<U: Unit, E, R: FnMut(u128) -> Result<Option<U>, E>> Search<'_, U, R> {
    /// Looks at the texts of a length; whether there is effort left.
    fn look_through(&mut self, length: usize, bucket: &Bucket) -> Result<bool, E> {
        let longer = length.max(self.query.pattern.length());
        let mut most = distance_max(self.top.least(self.wish.least), longer);
        if longer - length.min(self.query.pattern.length()) > most {
            return Ok(true);
        }
        self.steps += (bucket.ids.len() / OUTLINES_A_STEP) as u64;
        for (place, outline) in bucket.outlines.iter().enumerate().rev() {
            let excess = if length == longer {
                outline.excess_over(&self.query.outline)
            } else {
                self.query.outline.excess_over(outline)
            };
            if excess > most {
                continue;
            }
            if self.steps > self.wish.effort {
                return Ok(false);
            }
            self.compare(length, bucket, place, score_of(excess, longer))?;
            most = distance_max(self.top.least(self.wish.least), longer);
        }
        Ok(self.steps <= self.wish.effort)
    }

    /// Compares with one text, whose score is no better than `hoped`.
    fn compare(&mut self, length: usize, bucket: &Bucket, place: usize, hoped: u8) -> Result<(), E> {
        let (Some(&id), Some(&written)) = (bucket.ids.get(place), bucket.written.get(place)) else { return Ok(()) };
        let kept = bucket.text(place);
        if self.wish.without == Some(id) || !self.top.takes(hoped, written, kept) {
            return Ok(());
        }
        let (distance_of, longer) = (&self.query.pattern, length.max(self.query.pattern.length()));
        let most = distance_max(self.top.least(self.wish.least), longer);
        self.steps += STEPS_OF_COMPARING;
        let mut unit = None;
        let distance = match kept {
            Some(text) => distance_of.distance_within(text, length, most, &mut self.steps),
            None => {
                self.steps += STEPS_OF_READING;
                let Some(read) = (self.read)(id)? else { return Ok(()) };
                let text = composed(unit.insert(read).source());
                distance_of.distance_within(&text, length, most, &mut self.steps)
            }
        };
        let Some(score) = distance.map(|distance| score_of(distance, longer)) else { return Ok(()) };
        if !self.top.takes(score, written, kept) {
            return Ok(());
        }
        if unit.is_none() {
            self.steps += STEPS_OF_READING;
            unit = (self.read)(id)?;
        }
        if let Some(unit) = unit {
            self.top.offer(score, unit);
        }
        Ok(())
    }
}
