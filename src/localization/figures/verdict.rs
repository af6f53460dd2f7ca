//! Verdicts: how a translation is counted. Written here alone, with the sums over them.

use std::collections::BTreeMap;

use quintet_storage::{Failure, Read, WriteTx};

use super::tables::{CountedState, FIGURES, FiguresRow, PAGE_KEYS, SlotRow, VERDICTS, VerdictPageRow};
use crate::content::{FileId, Key, KeyEntry, ReviewState, State, TranslationRow, state_of, words_of};
use crate::model::{ProjectId, TenantId};
use crate::quality::{CheckId, CheckSet};

/// How a translation is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Its state.
    pub state: CountedState,
    /// The checks that it fails.
    pub failing: CheckSet,
    /// The words of its source.
    pub words: u32,
}

impl Verdict {
    /// How a translation is counted that fails these checks; not at all, if its key is obsolete.
    #[must_use]
    pub fn of(entry: &KeyEntry, row: &TranslationRow, failing: CheckSet) -> Option<Verdict> {
        if entry.is_obsolete {
            return None;
        }
        let state = match state_of(entry, Some(row)) {
            State::Untranslated => return None,
            State::Outdated => CountedState::Outdated,
            State::Stored(ReviewState::Draft) => CountedState::Draft,
            State::Stored(ReviewState::NeedsAttention) => CountedState::NeedsAttention,
            State::Stored(ReviewState::Reviewed) => CountedState::Reviewed,
            State::Stored(ReviewState::Approved) => CountedState::Approved,
        };
        Some(Verdict { state, failing, words: words_of(&entry.source) })
    }

    const fn of_slot(slot: SlotRow) -> Verdict {
        Verdict { state: slot.state, failing: CheckSet(slot.failing), words: slot.words }
    }
}

impl FiguresRow {
    /// Adds a verdict (`by` is 1) or takes it away (`by` is -1). `None`: more would be taken away than there is.
    fn changed(mut self, verdict: Option<Verdict>, by: i32) -> Option<FiguresRow> {
        let Some(verdict) = verdict else { return Some(self) };
        let of_state = self.states.get_mut(verdict.state as usize)?;
        *of_state = of_state.checked_add_signed(by)?;
        if verdict.state == CountedState::Approved {
            let words = i64::from(by) * i64::from(verdict.words);
            self.approved_words = self.approved_words.checked_add_signed(words)?;
        }
        if !verdict.failing.is_empty() {
            let blocks = !verdict.failing.and(CheckSet::blocking()).is_empty();
            let of_kind = if blocks { &mut self.blocking } else { &mut self.other };
            *of_kind = of_kind.checked_add_signed(by)?;
        }
        for (count, check) in self.checks.iter_mut().zip(CheckId::ALL) {
            if verdict.failing.contains(check) {
                *count = count.checked_add_signed(by)?;
            }
        }
        Some(self)
    }

    /// The sums of these and of others.
    #[must_use]
    pub fn plus(mut self, others: &FiguresRow) -> FiguresRow {
        let add = |to: &mut u32, by: u32| *to = to.saturating_add(by);
        self.states.iter_mut().zip(others.states).for_each(|(to, by)| add(to, by));
        self.checks.iter_mut().zip(others.checks).for_each(|(to, by)| add(to, by));
        add(&mut self.blocking, others.blocking);
        add(&mut self.other, others.other);
        self.approved_words = self.approved_words.saturating_add(others.approved_words);
        self
    }

    /// How many there are in a state.
    #[must_use]
    pub fn in_state(&self, state: CountedState) -> u32 {
        self.states.get(state as usize).copied().unwrap_or(0)
    }

    /// How many are counted.
    #[must_use]
    pub fn translations(&self) -> u32 {
        self.states.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// How many fail a check.
    #[must_use]
    pub fn failing(&self, check: CheckId) -> u32 {
        self.checks.get(check as usize).copied().unwrap_or(0)
    }

    /// The sums over some verdicts.
    #[must_use]
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> FiguresRow {
        let sums = FiguresRow::default();
        verdicts.into_iter().fold(sums, |sums, verdict| sums.changed(Some(verdict), 1).unwrap_or(sums))
    }
}

/// A file in a locale.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileLocale {
    /// In which project.
    pub project_id: ProjectId,
    /// Which file.
    pub file_id: FileId,
    /// In which locale: its canonical tag.
    pub locale: String,
}

/// Puts the verdict of the translation that this transaction writes in the place of the one before. The key is active, and
/// what it was judged by still holds ([`stamp`](crate::content::rejudge::stamp)).
///
/// # Errors
/// Only the store's.
pub fn put_verdict(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    key: &Key,
    locale: &str,
    verdict: Verdict,
) -> Result<(), Failure> {
    let place = FileLocale { project_id: key.project_id, file_id: key.file_id, locale: locale.to_owned() };
    put_verdicts(tx, tenant_id, &place, &BTreeMap::from([(key.entry.number, Some(verdict))]))
}

/// Puts verdicts in the place of those there were, by the numbers of keys; `None`: the translation is not counted. The sums
/// change by the difference.
///
/// # Errors
/// The store's; [`Failure::Damaged`] if the sums are not those of the verdicts.
pub fn put_verdicts(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    place: &FileLocale,
    verdicts: &BTreeMap<u64, Option<Verdict>>,
) -> Result<(), Failure> {
    let sums_key = (tenant_id, place.project_id, place.file_id, place.locale.clone());
    let mut sums = tx.get(&FIGURES, &sums_key)?.unwrap_or_default();
    let mut rest = verdicts.iter().peekable();
    while let Some((number, _)) = rest.peek() {
        let page = **number / PAGE_KEYS;
        let page_key = (tenant_id, place.file_id, place.locale.clone(), page);
        let mut row = tx.get(&VERDICTS, &page_key)?.unwrap_or_default();
        while let Some((number, verdict)) = rest.next_if(|(number, _)| **number / PAGE_KEYS == page) {
            let before = row.replace(*number, *verdict);
            let changed = sums.changed(before, -1).and_then(|sums| sums.changed(*verdict, 1));
            sums = changed.ok_or_else(|| Failure::Damaged(format!("the figures of {place:?} are not its verdicts'")))?;
        }
        if row.slots.is_empty() {
            tx.delete(&VERDICTS, &page_key);
        } else {
            tx.put(&VERDICTS, &page_key, &row)?;
        }
    }
    tx.put(&FIGURES, &sums_key, &sums)
}

impl VerdictPageRow {
    /// Puts a verdict in its place; the one there was.
    fn replace(&mut self, number: u64, verdict: Option<Verdict>) -> Option<Verdict> {
        // Less than 64.
        let place = u8::try_from(number % PAGE_KEYS).unwrap_or(0);
        let slot = verdict.map(|Verdict { state, failing: CheckSet(failing), words }| SlotRow {
            place,
            state,
            failing,
            words,
        });
        match (self.slots.binary_search_by_key(&place, |slot| slot.place), slot) {
            (Ok(at), Some(slot)) => self.slots.get_mut(at).map(|before| Verdict::of_slot(std::mem::replace(before, slot))),
            (Ok(at), None) => Some(Verdict::of_slot(self.slots.remove(at))),
            (Err(at), Some(slot)) => {
                self.slots.insert(at, slot);
                None
            }
            (Err(_), None) => None,
        }
    }

    /// The verdicts of a page, with the numbers of their keys.
    pub fn verdicts(&self, page: u64) -> impl Iterator<Item = (u64, Verdict)> {
        self.slots.iter().map(move |slot| (page * PAGE_KEYS + u64::from(slot.place), Verdict::of_slot(*slot)))
    }
}
