//! Writing the memory: what was approved, and what comes from other memories.

use quintet_storage::{Failure, Read as _, Timestamp, WriteTx};

use super::model::{Outcome, Outcomes, Remembered, source_id};
use super::tables::{
    MEMORY_BY_PROJECT, MEMORY_PAIRS, MEMORY_SOURCES, MEMORY_UNITS, MemoryMarkRow, MemorySourceRow, MemoryUnitRow,
};
use crate::content::{Source, Translated, Wording, category_at};
use crate::language::Category;
use crate::likeness::LanguagePair;
use crate::spaces::ProjectId;

/// How many units an import writes in a transaction (localization, X5).
pub const BATCH_UNITS_MAX: usize = 500;
/// About how many bytes of texts an import writes in a transaction.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// What the memory takes of a translation that is approved: its text, or the form `other` of a plural, beside the source
/// it was made from (localization, M2). `None`: a plural without that form.
#[must_use]
pub fn of_translation<'a>(
    source: &'a Source,
    content: &'a Translated,
    origin: Option<Wording>,
) -> Option<Remembered<'a>> {
    let target = match content {
        Translated::Text { text, .. } => text,
        Translated::Forms(forms) => &forms.iter().find(|form| category_at(form.category) == Category::Other)?.text,
    };
    Some(Remembered { source: source.form(Category::Other), target, origin })
}

/// Remembers what was approved, in the transaction that approves it: it is written last, whatever the unit said before.
///
/// # Errors
/// Only the store's.
pub fn remember(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    pair: &LanguagePair,
    project_id: ProjectId,
    approved: Remembered<'_>,
) -> Result<Outcome, Failure> {
    write(tx, now, pair, project_id, approved, true)
}

/// Remembers what another memory says: a unit that says the same is left as it is, and whose it is (localization, X6). At
/// most what [`batch`] says at a time.
///
/// # Errors
/// Only the store's.
pub fn remember_all<'a>(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    project_id: ProjectId,
    units: impl IntoIterator<Item = (&'a LanguagePair, Remembered<'a>)>,
) -> Result<Outcomes, Failure> {
    let mut outcomes = Outcomes::default();
    for (pair, unit) in units {
        outcomes.count(write(tx, now, pair, project_id, unit, false)?);
    }
    Ok(outcomes)
}

/// How many of these an import writes in one transaction, the first ones: one at least, if there is any.
pub fn batch<'a>(units: impl IntoIterator<Item = Remembered<'a>>) -> usize {
    let mut bytes = 0;
    let fits = |unit: &Remembered<'_>| {
        let fits = bytes < BATCH_BYTES_MAX;
        bytes += unit.source.len() + unit.target.len();
        fits
    };
    units.into_iter().take(BATCH_UNITS_MAX).take_while(fits).count()
}

fn write(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    pair: &LanguagePair,
    project_id: ProjectId,
    unit: Remembered<'_>,
    is_always_written: bool,
) -> Result<Outcome, Failure> {
    if !unit.fits() {
        return Ok(Outcome::Skipped);
    }
    let (tenant_id, source_locale, target_locale) = pair.key();
    let place = |number: u64| (tenant_id, source_locale.clone(), target_locale.clone(), number);
    let of_project =
        |project_id: ProjectId, number| (tenant_id, project_id, target_locale.clone(), source_locale.clone(), number);
    let source_key = (tenant_id, source_locale.clone(), target_locale.clone(), source_id(unit.source));
    let known = tx.get(&MEMORY_SOURCES, &source_key)?;
    let before = match known {
        Some(MemorySourceRow { number }) => tx.get(&MEMORY_UNITS, &place(number))?.map(|row| (number, row)),
        None => None,
    };
    if !is_always_written && before.as_ref().is_some_and(|(_, row)| row.target == unit.target) {
        return Ok(Outcome::Unchanged);
    }
    let mut counts = tx.get(&MEMORY_PAIRS, &pair.key())?.unwrap_or_default();
    counts.latest += 1;
    counts.units += u64::from(before.is_none());
    if let Some((number, row)) = before {
        tx.delete(&MEMORY_UNITS, &place(number));
        tx.delete(&MEMORY_BY_PROJECT, &of_project(row.project_id, number));
    }
    let row = MemoryUnitRow {
        source: unit.source.to_owned(),
        target: unit.target.to_owned(),
        origin: unit.origin,
        project_id,
        written_at: now,
    };
    tx.put(&MEMORY_UNITS, &place(counts.latest), &row)?;
    tx.put(&MEMORY_SOURCES, &source_key, &MemorySourceRow { number: counts.latest })?;
    tx.put(&MEMORY_BY_PROJECT, &of_project(project_id, counts.latest), &MemoryMarkRow)?;
    tx.put(&MEMORY_PAIRS, &pair.key(), &counts)?;
    Ok(Outcome::Written)
}
