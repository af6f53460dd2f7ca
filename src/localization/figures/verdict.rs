//! Verdicts: how a translation is counted. Written here alone, with the sums over them.

use std::collections::BTreeMap;

use quintet_storage::{Failure, Read, WriteTx};

use super::tables::{CountedState, FIGURES, FiguresRow, PAGE_KEYS, SlotRow, VERDICTS, VerdictPageRow};
use crate::content::{FileId, FileVersion, Key, ReviewState, Source, TranslationRow, words_of};
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
    /// How a draft is counted that is made from the source as it is.
    #[must_use]
    pub fn of_draft(source: &Source, failing: CheckSet) -> Verdict {
        Verdict { state: CountedState::Draft, failing, words: words_of(source) }
    }

    const fn of_slot(slot: SlotRow) -> Verdict {
        Verdict { state: slot.state, failing: CheckSet(slot.failing), words: slot.words }
    }
}

impl CountedState {
    /// The state that a stored one is counted in, as long as the source has not changed since.
    #[must_use]
    pub const fn of(state: ReviewState) -> CountedState {
        match state {
            ReviewState::Draft => CountedState::Draft,
            ReviewState::NeedsAttention => CountedState::NeedsAttention,
            ReviewState::Reviewed => CountedState::Reviewed,
            ReviewState::Approved => CountedState::Approved,
        }
    }

    /// The state of a translation whose key's source came up in a version of the file.
    #[must_use]
    pub const fn of_row(row: &TranslationRow, source_version: FileVersion) -> CountedState {
        if row.source_version < source_version { CountedState::Outdated } else { CountedState::of(row.state) }
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

/// Counts a translation in another state: its text stays, and what the checks say of it. One that has no verdict is yet to
/// be judged, in the state it then has.
///
/// # Errors
/// Only the store's.
pub fn move_verdict(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    key: &Key,
    locale: &str,
    to: ReviewState,
) -> Result<(), Failure> {
    let number = key.entry.number;
    let page = number / PAGE_KEYS;
    let row = tx.get(&VERDICTS, &(tenant_id, key.file_id, locale.to_owned(), page))?.unwrap_or_default();
    let before = row.verdicts(page).find(|(known, _)| *known == number);
    match before {
        Some((_, before)) => put_verdict(tx, tenant_id, key, locale, Verdict { state: CountedState::of(to), ..before }),
        None => Ok(()),
    }
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
            sums =
                changed.ok_or_else(|| Failure::Damaged(format!("the figures of {place:?} are not its verdicts'")))?;
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
            (Ok(at), Some(slot)) => {
                self.slots.get_mut(at).map(|before| Verdict::of_slot(std::mem::replace(before, slot)))
            }
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
