//! Makes an entry.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use super::changed::note_words;
use super::generation::{project_terms, put_project_terms};
use super::model::{ENTRIES_MAX, ENTRY_BYTES_MAX, Entry, TermId, Wording};
use super::tables::{ENTRIES, EntryRow, ProjectTermsRow, WORDINGS, WordingRow, place_of};
use crate::audit::{self, Actor, Event};
use crate::refusal::Refusal;
use crate::spaces::ProjectId;

/// An event about an entry: what kind, for which locale, never what it says.
pub fn event(action: &'static str, project_id: ProjectId, term_id: TermId, wording: &Wording) -> Event {
    Event::about(action, "glossary_term", term_id.0).with([
        ("project_id", Json::from(project_id.0.to_string())),
        ("kind", Json::from(wording.kind.name())),
        ("locale", Json::from(wording.locale.as_deref())),
    ])
}

/// Whether a glossary may have so much.
///
/// # Errors
/// [`Refusal::Conflict`]
pub fn check_room(terms: &ProjectTermsRow) -> Result<(), Refusal> {
    let fits = terms.entries <= ENTRIES_MAX && terms.entry_bytes <= ENTRY_BYTES_MAX;
    let most = "a glossary has at most 10,000 entries, and 1 MiB of sources and targets";
    if fits { Ok(()) } else { Err(Refusal::Conflict(most)) }
}

/// Makes an entry; its wording is a [checked](Wording::checked) one.
///
/// # Errors
/// In this order: [`Refusal::TermExists`], [`Refusal::Conflict`] for more than a glossary may have.
pub fn create_entry(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    wording: Wording,
) -> Result<Entry, Abort<Refusal>> {
    let mut terms = project_terms(tx, actor.tenant_id, project_id)?;
    let Some(entry) = add_entry(tx, now, actor, project_id, wording, &mut terms)? else {
        return Err(Refusal::TermExists.into());
    };
    put_project_terms(tx, actor.tenant_id, project_id, terms, true)?;
    note_words(tx, now, actor.tenant_id, project_id, [&entry.wording])?;
    audit::record(tx, now, actor, event("glossary_term.create", project_id, entry.term_id, &entry.wording))?;
    Ok(entry)
}

/// Adds an entry and counts it in `terms`, which the caller stores. `None`: there is one that says the same.
///
/// # Errors
/// [`Refusal::Conflict`] for more than a glossary may have.
pub fn add_entry(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    wording: Wording,
    terms: &mut ProjectTermsRow,
) -> Result<Option<Entry>, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let place = (tenant_id, project_id, place_of(&wording));
    if tx.contains(&WORDINGS, &place)? {
        return Ok(None);
    }
    terms.entries += 1;
    terms.entry_bytes += wording.bytes();
    check_room(terms)?;
    let term_id = TermId(tx.new_id());
    let created_by = actor.principal_id.into_bytes();
    let row = EntryRow { wording, created_by, created_at: now, updated_at: now };
    tx.put(&WORDINGS, &place, &WordingRow { term_id })?;
    tx.put(&ENTRIES, &(tenant_id, project_id, term_id), &row)?;
    Ok(Some(row.into_entry(project_id, term_id)))
}
