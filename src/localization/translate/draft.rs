//! Judging what was proposed, and writing what passes: all of a call in one transaction.

use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::model::{Candidate, Proposal, Wish};
use super::tables::FAILED_DRAFTS;
use crate::audit::Actor;
use crate::content::{FileId, Key, KeyId, Source, Wording, get_key, get_row, shaped};
use crate::model::TenantId;
use crate::quality::{CheckSet, QaCheck, Status};
use crate::refusal::Refusal;
use crate::review::{Standards, WriteTranslation, write_among};
use crate::shelf::Shelf;
use crate::spaces::Project;
use crate::webhooks::{Changes, Occasion};

/// How many bytes the drafts of a call have together at most, and what its failures say in detail: a transaction takes
/// 4 MiB.
const DRAFTS_BYTES_MAX: usize = 2 << 20;
/// See [`DRAFTS_BYTES_MAX`].
const DETAILS_BYTES_MAX: usize = 512 << 10;

/// A key that was tried and not drafted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Which.
    pub key_id: KeyId,
    /// The checks that block and that the proposal fails; none if there was no proposal of use.
    pub checks: Vec<QaCheck>,
}

/// What a call writes.
#[derive(Clone, Debug)]
pub struct DraftAll {
    wish: Wish,
    drafts: Vec<Draft>,
    failed: Vec<(u64, Failed)>,
}

/// A draft that passes.
#[derive(Clone, Debug)]
struct Draft {
    /// The key, without its source.
    key: Key,
    /// The revision of the translation that it follows; 0: there was none.
    revision: u64,
    write: WriteTranslation,
}

/// What a call has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drafted {
    /// So many keys were drafted.
    pub drafted: usize,
    /// Those that were tried in vain.
    pub failed: Vec<Failed>,
}

/// A proposal as it can be written, or why it cannot.
///
/// # Errors
/// Only the store's.
pub fn judge(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    project: &Project,
    key: &Key,
    wish: &Wish,
    proposal: Proposal,
) -> Result<Result<WriteTranslation, Failed>, Abort<Refusal>> {
    let failed = |checks| Ok(Err(Failed { key_id: key.key_id, checks }));
    let Some(wished) = proposal.wished else { return failed(Vec::new()) };
    let standards = Standards::of(read, shelf, tenant_id, project, key, &wish.locale)?;
    let origin = if proposal.is_from_memory { Wording::Memory } else { Wording::Ai };
    let write = WriteTranslation::new(key.clone(), wish.locale.clone(), wished.clone(), origin, standards.clone());
    let Ok(write) = write else { return failed(Vec::new()) };
    if write.failing().and(CheckSet::blocking()).is_empty() {
        return Ok(Ok(write));
    }
    let Ok(content) = shaped(wished, &key.entry.source, &wish.locale) else { return failed(Vec::new()) };
    let mut checks = standards.judge(&key.entry, &wish.locale, &content);
    checks.retain(|told| told.status == Status::Fail && told.check.is_blocking());
    failed(checks)
}

/// The key of a candidate as it is now; `None`: it, or its translation, has changed since it was chosen.
///
/// # Errors
/// Only the store's.
fn unchanged(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    wish: &Wish,
    candidate: &Candidate,
) -> Result<Option<Key>, Abort<Refusal>> {
    let key = match get_key(read, shelf, tenant_id, candidate.key.key_id) {
        Ok(key) => key,
        Err(Abort::Refused(_)) => return Ok(None),
        Err(failed) => return Err(failed),
    };
    let is_same = !key.entry.is_obsolete
        && key.entry.source_version == candidate.key.entry.source_version
        && key.entry.source == candidate.key.entry.source;
    let revision = get_row(read, tenant_id, &key, &wish.locale)?.map_or(0, |row| row.revision);
    Ok(Some(key).filter(|_| is_same && revision == candidate.revision))
}

impl DraftAll {
    /// Of which file.
    #[must_use]
    pub const fn file_id(&self) -> FileId {
        self.wish.file_id
    }

    /// The canonical tag of the locale.
    #[must_use]
    pub fn locale(&self) -> &str {
        self.wish.locale.canonical()
    }

    /// What was proposed, judged by what holds now. Keys that have changed since they were chosen are left out; nobody was
    /// asked for those of `too_long`.
    ///
    /// # Errors
    /// Only the store's.
    pub fn new(
        read: &impl Read,
        shelf: &Shelf,
        tenant_id: TenantId,
        project: &Project,
        wish: Wish,
        proposals: Vec<Proposal>,
        too_long: &[Key],
    ) -> Result<DraftAll, Abort<Refusal>> {
        let mut current = Vec::with_capacity(proposals.len());
        for proposal in proposals {
            if let Some(key) = unchanged(read, shelf, tenant_id, &wish, &proposal.candidate)? {
                current.push((key, proposal));
            }
        }
        let nothing = |key: &Key| (key.entry.number, Failed { key_id: key.key_id, checks: Vec::new() });
        let mut all = DraftAll { wish, drafts: Vec::new(), failed: too_long.iter().map(nothing).collect() };
        let (mut bytes, mut details) = (0, 0);
        for (mut key, proposal) in current {
            let revision = proposal.candidate.revision;
            match judge(read, shelf, tenant_id, project, &key, &all.wish, proposal)? {
                Ok(write) if bytes + write.bytes() <= DRAFTS_BYTES_MAX => {
                    bytes += write.bytes();
                    key.entry.source = Source::Text(String::new());
                    all.drafts.push(Draft { key, revision, write });
                }
                Ok(_) => all.failed.push(nothing(&key)),
                Err(mut failed) => {
                    shorten(&mut failed.checks, &mut details);
                    all.failed.push((key.entry.number, failed));
                }
            }
        }
        all.failed.sort_by_key(|(number, _)| *number);
        Ok(all)
    }
}

/// Leaves the details out once there are too many of them for one answer.
fn shorten(checks: &mut [QaCheck], bytes: &mut usize) {
    for told in checks {
        *bytes += told.detail.as_deref().map_or(0, str::len);
        if *bytes > DETAILS_BYTES_MAX {
            told.detail = None;
        }
    }
}

/// Writes what a call has come to: every draft with its event, and which keys failed. `None`: something that was judged
/// has changed since; nothing was written.
///
/// # Errors
/// [`Refusal::Conflict`] for one locale too many.
pub fn draft_all(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: DraftAll,
) -> Result<Option<Drafted>, Abort<Refusal>> {
    let DraftAll { wish, drafts, failed } = command;
    for draft in &drafts {
        let stored = get_row(tx, actor.tenant_id, &draft.key, &wish.locale)?.map_or(0, |row| row.revision);
        if stored != draft.revision || !draft.write.is_current(tx, actor.tenant_id)? {
            return Ok(None);
        }
    }
    let done: Vec<u64> = drafts.iter().map(|draft| draft.key.entry.number).collect();
    let mut changes = Changes::begin(tx, actor.tenant_id, Occasion::Drafted)?;
    for draft in drafts {
        write_among(tx, now, actor, draft.write, &mut changes)?;
    }
    changes.tell(tx, now, actor)?;
    let (numbers, failed): (Vec<u64>, Vec<Failed>) = failed.into_iter().unzip();
    note(tx, now, actor.tenant_id, &wish, &done, &numbers)?;
    Ok(Some(Drafted { drafted: done.len(), failed }))
}

/// Notes which keys the engine failed at.
fn note(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    wish: &Wish,
    drafted: &[u64],
    failed: &[u64],
) -> Result<(), Failure> {
    let place = (tenant_id, wish.file_id, wish.locale.canonical().to_owned());
    let before = tx.get(&FAILED_DRAFTS, &place)?;
    let mut row = before.clone().unwrap_or_default();
    row.note(now, drafted, failed);
    match before {
        Some(_) if row.failed.is_empty() => tx.delete(&FAILED_DRAFTS, &place),
        None if row.failed.is_empty() => {}
        _ => tx.put(&FAILED_DRAFTS, &place, &row)?,
    }
    Ok(())
}
