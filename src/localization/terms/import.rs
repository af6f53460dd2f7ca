//! Adds many entries at once, as a document of terms has them.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::changed::note_words;
use super::create::add_entry;
use super::generation::{project_terms, put_project_terms};
use super::model::Wording;
use crate::audit::{self, Actor, Event};
use crate::refusal::Refusal;
use crate::spaces::ProjectId;

/// The most entries of one transaction.
pub const IMPORT_ENTRIES_MAX: usize = 500;

/// What came of some entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// How many were added.
    pub written: usize,
    /// How many were there.
    pub unchanged: usize,
}

/// Adds those of at most [`IMPORT_ENTRIES_MAX`] [checked](Wording::checked) wordings that no entry says yet; those that
/// are there stay as they are, with their notes (localization, X7). One event tells of all that were added.
///
/// # Errors
/// [`Refusal::Conflict`] for more entries than a glossary may have, or more at once than go into a transaction; then
/// nothing is added.
pub fn import_entries(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    wordings: Vec<Wording>,
) -> Result<Imported, Abort<Refusal>> {
    if wordings.len() > IMPORT_ENTRIES_MAX {
        return Err(Refusal::Conflict("more entries at once than go into a transaction").into());
    }
    let mut terms = project_terms(tx, actor.tenant_id, project_id)?;
    let mut imported = Imported::default();
    let mut added = Vec::new();
    for wording in wordings {
        match add_entry(tx, now, actor, project_id, wording, &mut terms)? {
            Some(entry) => {
                imported.written += 1;
                added.push(entry.wording);
            }
            None => imported.unchanged += 1,
        }
    }
    if imported.written > 0 {
        put_project_terms(tx, actor.tenant_id, project_id, terms, true)?;
        note_words(tx, now, actor.tenant_id, project_id, &added)?;
        let event = Event::about("glossary.import", "project", project_id.0)
            .with([("written", Json::from(imported.written)), ("unchanged", Json::from(imported.unchanged))]);
        audit::record(tx, now, actor, event)?;
    }
    Ok(imported)
}
