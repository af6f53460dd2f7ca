//! Suggestions: what the memory says of a text (localization, M1).
//!
//! The index of a language pair lies in memory. It is brought up to what the reader's rows say before it is searched, so
//! that what was just approved is found; and what it finds is read from the reader's rows, so that it tells nothing that
//! they do not.

use std::sync::PoisonError;

use quintet_storage::{Failure, Read, Scan};

use super::model::{MemoryUnit, source_id};
use super::tables::{MEMORY_PAIRS, MEMORY_UNITS};
use super::units::{get_unit, unit_of};
use crate::likeness::{EFFORT, Entry, Index, Indexes, LanguagePair, Query, SCORE_EXACT, SCORE_LEAST, Wish};
use crate::rows;

/// How many suggestions there are at most (contract, Limits).
pub const SUGGESTIONS_MAX: usize = 5;
/// So many units an index may be behind, and still be brought up in passing.
const BEHIND_MAX: u64 = 2000;

/// A suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// How much of it is the same, from 75 to 100; 100: its source is the text, byte by byte.
    pub score: u8,
    /// What the memory says.
    pub unit: MemoryUnit,
}

impl Suggestion {
    /// The word of the interface for how it was found.
    #[must_use]
    pub const fn found_as(&self) -> &'static str {
        if self.score == SCORE_EXACT { "exact" } else { "fuzzy" }
    }
}

/// What the memory suggests for a text: at most five units, the best score first, then the latest written, then by source
/// text. It has read all units of the language pair once if they are not [at hand](is_at_hand).
///
/// # Errors
/// Only the store's.
pub fn suggest(
    indexes: &Indexes,
    read: &impl Read,
    pair: &LanguagePair,
    text: &str,
) -> Result<Vec<Suggestion>, Failure> {
    let same = get_unit(read, pair, text)?.map(|unit| Suggestion { score: SCORE_EXACT, unit });
    let mut found: Vec<Suggestion> = same.into_iter().collect();
    let without = Some(source_id(text)).filter(|_| !found.is_empty());
    let wish = Wish { least: SCORE_LEAST, count: SUGGESTIONS_MAX - found.len(), without, effort: EFFORT };
    if let Some(query) = Query::of(text) {
        let alike = with_index(indexes, read, pair, |index| index.search(&query, wish, |id| unit_of(read, pair, id)))?;
        found.extend(alike.into_iter().map(|(score, unit)| Suggestion { score, unit }));
    }
    Ok(found)
}

/// Whether a language pair can be searched without reading all its units: its index is held, and little has been written
/// since.
///
/// # Errors
/// Only the store's.
pub fn is_at_hand(indexes: &Indexes, read: &impl Read, pair: &LanguagePair) -> Result<bool, Failure> {
    let latest = read.get(&MEMORY_PAIRS, &pair.key())?.map_or(0, |row| row.latest);
    Ok(latest <= indexes.upto(pair).unwrap_or(0).saturating_add(BEHIND_MAX))
}

/// Works with the index of a language pair, which knows at least what the reader sees.
fn with_index<T>(
    indexes: &Indexes,
    read: &impl Read,
    pair: &LanguagePair,
    work: impl FnOnce(&Index) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(counts) = read.get(&MEMORY_PAIRS, &pair.key())? else { return work(&Index::default()) };
    let shared = indexes.take(pair);
    {
        let index = shared.read().unwrap_or_else(PoisonError::into_inner);
        if index.upto >= counts.latest {
            return work(&index);
        }
    }
    {
        let mut index = shared.write().unwrap_or_else(PoisonError::into_inner);
        let brought = bring_up(&mut index, read, pair, counts.latest, indexes.bytes_max());
        if brought.is_err() {
            // What was read of it is not all.
            *index = Index::default();
        }
        indexes.note(pair, index.bytes());
        brought?;
    }
    let index = shared.read().unwrap_or_else(PoisonError::into_inner);
    work(&index)
}

/// Brings an index up to the latest unit that the reader sees. One that is far behind is made anew; and so is one that takes
/// more than `bytes_max`: of the units written last, with an eighth left for those to come.
fn bring_up(
    index: &mut Index,
    read: &impl Read,
    pair: &LanguagePair,
    latest: u64,
    bytes_max: usize,
) -> Result<(), Failure> {
    let (tenant_id, source, target) = pair.key();
    if index.upto > 0 && latest <= index.upto + BEHIND_MAX {
        let behind = (tenant_id, source.clone(), target.clone(), index.upto.saturating_add(1));
        let scan = || Scan::prefix(&(tenant_id, source.clone(), target.clone())).from(&behind);
        let is_all = rows::each_while(read, &MEMORY_UNITS, scan, |_, row| {
            index.put(&entry_of(&row.source, row.written_at.as_micros()));
            Ok::<_, Failure>(index.bytes() <= bytes_max)
        })?;
        if is_all {
            index.upto = index.upto.max(latest);
            return Ok(());
        }
    }
    *index = Index::default();
    let scan = || Scan::prefix(&(tenant_id, source.clone(), target.clone())).newest_first();
    rows::each_while(read, &MEMORY_UNITS, scan, |_, row| {
        index.add(&entry_of(&row.source, row.written_at.as_micros()));
        Ok::<_, Failure>(index.bytes() <= bytes_max - bytes_max / 8)
    })?;
    index.shrink();
    index.upto = latest;
    Ok(())
}

fn entry_of(source: &str, written_micros: i64) -> Entry<'_> {
    Entry { id: source_id(source), written_micros, source }
}
