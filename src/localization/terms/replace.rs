//! Replaces what an entry says.

use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use super::changed::note_words;
use super::create::{check_room, event};
use super::generation::{project_terms, put_project_terms};
use super::model::{Entry, EntryKind, TermId, Wording};
use super::tables::{ENTRIES, EntryRow, WORDINGS, WordingRow, place_of};
use crate::audit::{self, Actor};
use crate::refusal::Refusal;
use crate::spaces::ProjectId;

/// What an entry is stays for good.
///
/// # Errors
/// [`Refusal::InvalidField`]
pub fn check_kind(before: EntryKind, wished: EntryKind) -> Result<(), Refusal> {
    if before == wished { Ok(()) } else { Err(Refusal::field("kind", "cannot change")) }
}

/// Replaces what an entry says by a [checked](Wording::checked) wording: what that leaves out is gone.
///
/// # Errors
/// In this order: [`Refusal::NotFound`], [`Refusal::InvalidField`] for another kind, [`Refusal::TermExists`] if another
/// entry says the same, [`Refusal::Conflict`] for more than a glossary may have.
pub fn replace_entry(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    term_id: TermId,
    wording: Wording,
) -> Result<Entry, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let place = (tenant_id, project_id, term_id);
    let before = tx.get(&ENTRIES, &place)?.ok_or(Refusal::NotFound)?;
    check_kind(before.wording.kind, wording.kind)?;
    if !before.wording.means_the_same(&wording) {
        let said = (tenant_id, project_id, place_of(&wording));
        if tx.contains(&WORDINGS, &said)? {
            return Err(Refusal::TermExists.into());
        }
        tx.delete(&WORDINGS, &(tenant_id, project_id, place_of(&before.wording)));
        tx.put(&WORDINGS, &said, &WordingRow { term_id })?;
        let mut terms = project_terms(tx, tenant_id, project_id)?;
        terms.entry_bytes = terms.entry_bytes.saturating_sub(before.wording.bytes()) + wording.bytes();
        check_room(&terms)?;
        put_project_terms(tx, tenant_id, project_id, terms, true)?;
        note_words(tx, now, tenant_id, project_id, [&before.wording, &wording])?;
    }
    let row = EntryRow { wording, updated_at: now, ..before };
    tx.put(&ENTRIES, &place, &row)?;
    audit::record(tx, now, actor, event("glossary_term.update", project_id, term_id, &row.wording))?;
    Ok(row.into_entry(project_id, term_id))
}
