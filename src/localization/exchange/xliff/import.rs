//! The way in: every unit is judged, then they are written, part by part.

use std::ops::Range;

use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use super::document::Document;
use super::verdict::{Verdict, judge_key};
use crate::audit::Actor;
use crate::content::{File, FileId, Key, Walk, Walked, Wording, key_id};
use crate::language::Locale;
use crate::model::TenantId;
use crate::refusal::{Refusal, RefusedUnit};
use crate::review::{Standards, WriteTranslation, write_among};
use crate::shelf::Shelf;
use crate::spaces::Project;
use crate::webhooks::{Changes, Occasion};

/// How many of the units that a document is refused for are told.
const REFUSED_MAX: usize = 1_000;

/// Goes through the keys that units name, some units of a document's [`Document::by_key`], in the order of numbers: for
/// each the key with its translation, if there is one, and the places of its units.
fn each_key(
    read: &impl Read,
    walk: &Walk,
    document: &Document,
    units: &[u32],
    mut look: impl FnMut(Option<Walked>, &[u32]) -> Result<(), Abort<Refusal>>,
) -> Result<(), Abort<Refusal>> {
    let mut keys = units.chunk_by(|one, other| document.number(*one) == document.number(*other)).peekable();
    let number_of = |places: &[u32]| places.first().map_or(0, |place| document.number(*place));
    let last = units.last().map_or(0, |place| document.number(*place));
    let mut behind = Some(0);
    while let (Some(wanted), Some(after)) = (keys.peek(), behind) {
        let (walked, next) = walk.next(read, after.max(number_of(wanted).saturating_sub(1)), last)?;
        behind = next;
        for found in walked {
            let number = found.entry.number;
            while let Some(places) = keys.next_if(|places| number_of(places) < number) {
                look(None, places)?;
            }
            if let Some(places) = keys.next_if(|places| number_of(places) == number) {
                look(Some(found), places)?;
            }
        }
    }
    keys.try_for_each(|places| look(None, places))
}

/// Judges every unit of a document.
///
/// # Errors
/// [`Refusal::UnitsRefused`]
pub fn check_document(
    read: &impl Read,
    tenant_id: TenantId,
    file: &File,
    document: &Document,
    locale: &Locale,
) -> Result<(), Abort<Refusal>> {
    let walk = Walk::of(read, tenant_id, file.file_id, Some(locale))?;
    let mut refused: Vec<(u32, Verdict)> = Vec::new();
    each_key(read, &walk, document, document.by_key(), |found, places| {
        let (verdicts, _) = judge_key(document, places, found.as_ref(), locale);
        let faults = places.iter().copied().zip(verdicts).filter(|(_, verdict)| verdict.refuses());
        refused.extend(faults);
        Ok(())
    })?;
    if refused.is_empty() {
        return Ok(());
    }
    refused.sort_unstable_by_key(|(place, _)| *place);
    refused.truncate(REFUSED_MAX);
    let told = refused.into_iter().filter_map(|(place, verdict)| {
        let named = document.named(document.unit(place)?);
        let (_, code) = verdict.told();
        Some(RefusedUnit {
            unit: named.id(file.key_prefix),
            key_id: key_id(file.key_prefix, document.number(place)).0,
            code: code.unwrap_or_default(),
        })
    });
    Err(Refusal::UnitsRefused(told.collect()).into())
}

/// A part of a document, ready to be written.
pub struct Prepared {
    /// What becomes of its units, in the order of [`Document::by_key`], as it is remembered.
    pub letters: Vec<u8>,
    commands: Vec<WriteTranslation>,
}

/// Judges a part of a document again, by what there is now, and all that it would write by the checks.
///
/// # Errors
/// Only the store's.
pub fn prepare_part(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    place: (&Project, FileId, u64),
    document: &Document,
    part: Range<usize>,
    locale: &Locale,
) -> Result<Prepared, Abort<Refusal>> {
    let (project, file_id, key_prefix) = place;
    let walk = Walk::of(read, tenant_id, file_id, Some(locale))?;
    let mut prepared = Prepared { letters: Vec::new(), commands: Vec::new() };
    let mut standards: Option<Standards> = None;
    let units = document.by_key().get(part).unwrap_or_default();
    each_key(read, &walk, document, units, |found, places| {
        let (verdicts, wished) = judge_key(document, places, found.as_ref(), locale);
        prepared.letters.extend(verdicts.iter().map(|verdict| verdict.letter()));
        let (Some(Walked { entry, .. }), Some(wished)) = (found, wished) else { return Ok(()) };
        let key = Key {
            project_id: project.project_id,
            file_id,
            file_version: walk.version(),
            key_id: key_id(key_prefix, entry.number),
            entry,
        };
        let of_key = match &standards {
            Some(known) => known.of_other(read, shelf, tenant_id, &key)?,
            None => standards.insert(Standards::of(read, shelf, tenant_id, project, &key, locale)?).clone(),
        };
        let command = WriteTranslation::new(key, locale.clone(), wished, Wording::Import, of_key)?;
        prepared.commands.push(command);
        Ok(())
    })?;
    Ok(prepared)
}

/// Writes a part, with an event for each translation. `None`: something has changed since it was judged.
///
/// # Errors
/// [`Refusal::Conflict`] for one locale too many.
pub fn write_part(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    part: Prepared,
) -> Result<Option<Vec<u8>>, Abort<Refusal>> {
    // All of them were judged by one state.
    if let Some(first) = part.commands.first()
        && !first.is_current(tx, actor.tenant_id)?
    {
        return Ok(None);
    }
    let mut changes = Changes::begin(tx, actor.tenant_id, Occasion::Imported)?;
    for command in part.commands {
        write_among(tx, now, actor, command, &mut changes)?;
    }
    changes.tell(tx, now, actor)?;
    Ok(Some(part.letters))
}
