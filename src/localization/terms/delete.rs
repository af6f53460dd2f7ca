//! Deletes an entry.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::changed::note_words;
use super::create::event;
use super::generation::{project_terms, put_project_terms};
use super::get::get_entry;
use super::model::{Entry, TermId};
use super::tables::{ENTRIES, WORDINGS, place_of};
use crate::audit::{self, Actor};
use crate::refusal::Refusal;
use crate::spaces::ProjectId;

/// Deletes an entry; what it was.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn delete_entry(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    term_id: TermId,
) -> Result<Entry, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let entry = get_entry(tx, tenant_id, project_id, term_id)?;
    tx.delete(&ENTRIES, &(tenant_id, project_id, term_id));
    tx.delete(&WORDINGS, &(tenant_id, project_id, place_of(&entry.wording)));
    let mut terms = project_terms(tx, tenant_id, project_id)?;
    terms.entries = terms.entries.saturating_sub(1);
    terms.entry_bytes = terms.entry_bytes.saturating_sub(entry.wording.bytes());
    put_project_terms(tx, tenant_id, project_id, terms, true)?;
    note_words(tx, now, tenant_id, project_id, [&entry.wording])?;
    audit::record(tx, now, actor, event("glossary_term.delete", project_id, term_id, &entry.wording))?;
    Ok(entry)
}
