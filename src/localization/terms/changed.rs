//! Which translations are to be judged anew because words came, went or changed.

use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{EntryKind, Wording};
use crate::content::rejudge::{self, Cause, ChangedTerm, TermPlace};
use crate::model::TenantId;
use crate::spaces::ProjectId;

/// Notes, in the transaction that changes them, that these wordings came, went or changed.
///
/// # Errors
/// Only the store's.
pub fn note_words<'w>(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    project_id: ProjectId,
    wordings: impl IntoIterator<Item = &'w Wording>,
) -> Result<(), Failure> {
    let changed = wordings.into_iter().filter_map(changed_term).collect();
    rejudge::note(tx, now, tenant_id, project_id, Cause::Terms(changed))
}

/// Where a wording makes a difference; `None`: it says nothing, which no stored one does.
fn changed_term(wording: &Wording) -> Option<ChangedTerm> {
    let (place, text) = match wording.kind {
        EntryKind::Term => (TermPlace::Source, wording.source.as_ref()),
        EntryKind::DoNotTranslate => (TermPlace::Both, wording.source.as_ref()),
        EntryKind::Forbidden => (TermPlace::Target, wording.target.as_ref()),
    };
    Some(ChangedTerm { locale: wording.locale.clone(), place, text: text?.clone() })
}

/// Notes that the register of a locale (`*`: of all) may be another.
///
/// # Errors
/// Only the store's.
pub fn note_register(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    project_id: ProjectId,
    locale: &str,
) -> Result<(), Failure> {
    let locale = (locale != "*").then(|| locale.to_owned());
    rejudge::note(tx, now, tenant_id, project_id, Cause::Register(locale))
}
