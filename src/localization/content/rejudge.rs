//! What is to be judged anew. Every stored translation has a verdict: how it is counted, and which checks it fails. Those
//! hang on more than the translation: on its source, on the limits of its key, on the words and the register of the
//! project. Whoever changes one of these notes in the same transaction what it may touch; a pass works that off at once,
//! outside of it, in small transactions. Until then lists and figures of the project wait.
//!
//! A translation that is written is judged before its transaction, by what is known then. The [`Stamp`] of a project
//! tells whether that is still so: it changes with every cause.

use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Read, Row, Scan, Snapshot, Store, Table, TableSpec, Timestamp, WriteTx, decode_plain};

use super::model::FileId;
use super::tables::FILE_LOCALES;
use crate::model::{FAMILY, ProjectId, TenantId};

/// What is to be judged anew, the oldest cause first.
pub const REJUDGES: Table<(TenantId, ProjectId, u64), RejudgeRow> = Table::new(0x0328, FAMILY, "localization_rejudges");
/// How often what verdicts hang on was changed.
pub const STAMPS: Table<(TenantId, ProjectId), StampRow> = Table::new(0x0329, FAMILY, "localization_stamps").hot();

/// The tables of this file.
pub const TABLES: &[TableSpec] = &[REJUDGES.spec(), STAMPS.spec()];

/// Why translations are to be judged anew, and which.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Cause {
    /// Nothing is known of the translations of a file.
    File(FileId),
    /// An upload: the keys whose source it replaced, and those that it took or brought back.
    Import {
        /// Of which file.
        file_id: FileId,
        /// The number of its audit event.
        audit_seq: u64,
    },
    /// Keys whose limits changed, or that were written by what was no longer so.
    Keys {
        /// Of which file.
        file_id: FileId,
        /// Their numbers, in ascending order.
        numbers: Vec<u64>,
    },
    /// Terms that came, went or changed: as they were and as they are.
    Terms(Vec<ChangedTerm>),
    /// The register of a locale (`None`: of all) and of those that its style covers; or more of its words than one looks for.
    Register(Option<String>),
}

/// A term that came, went or changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ChangedTerm {
    /// For which locale, and those that an entry for it covers; `None`: for all.
    pub locale: Option<String>,
    /// Where it makes a difference.
    pub place: TermPlace,
    /// What it says.
    pub text: String,
}

/// In which texts a term makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TermPlace {
    /// In sources: a term that has a target.
    Source,
    /// In translations: a forbidden term.
    Target,
    /// In both: a term that stays as it is.
    Both,
}

/// A cause that is being worked off.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RejudgeRow {
    /// Why.
    pub cause: Cause,
    /// When it was noted.
    pub noted_at: Timestamp,
    /// How far the pass is.
    pub done: Option<Progress>,
}
impl Row for RejudgeRow {
    const VERSION: u8 = 2;

    /// In version 1 a pass did not go locale by locale: it begins anew.
    fn migrate(version: u8, bytes: &[u8]) -> Result<Self, Failure> {
        match version {
            1 => {
                let (cause, noted_at, _): (Cause, Timestamp, Option<(FileId, u64)>) = decode_plain(bytes)?;
                Ok(RejudgeRow { cause, noted_at, done: None })
            }
            _ => Err(Failure::Damaged(format!("what is to be judged anew has unknown version {version}"))),
        }
    }
}

/// How far a pass is: everything before the file, in it every locale before the locale, and in that every key up to the
/// number.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Progress {
    /// In which file.
    pub file_id: FileId,
    /// In which locale.
    pub locale: String,
    /// Up to which key.
    pub number: u64,
}

/// How often what the verdicts of a project hang on was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct StampRow {
    /// Causes noted, from 1.
    pub changes: u64,
}
impl Row for StampRow {}

/// What the verdicts of a project hang on, at one moment. Two that are equal: nothing of it was changed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u64);

/// What a project's verdicts hang on now.
///
/// # Errors
/// Only the store's.
pub fn stamp(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Stamp, Failure> {
    Ok(Stamp(read.get(&STAMPS, &(tenant_id, project_id))?.unwrap_or_default().changes))
}

/// Notes what is to be judged anew, in the transaction that causes it. From its end on, verdicts that were found before
/// do not stand ([`stamp`]), and lists and figures of the project wait for the pass ([`is_open`]).
///
/// # Errors
/// Only the store's.
pub fn note(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    project_id: ProjectId,
    cause: Cause,
) -> Result<(), Failure> {
    let changes = stamp(tx, tenant_id, project_id)?.0 + 1;
    tx.put(&STAMPS, &(tenant_id, project_id), &StampRow { changes })?;
    if touches_any(tx, tenant_id, &cause)? {
        tx.put(&REJUDGES, &(tenant_id, project_id, changes), &RejudgeRow { cause, noted_at: now, done: None })?;
        tx.falls_due(REJUDGES.spec().tag, now);
    }
    Ok(())
}

/// Whether there can be a translation that the cause touches.
fn touches_any(read: &impl Read, tenant_id: TenantId, cause: &Cause) -> Result<bool, Failure> {
    match cause {
        Cause::Import { file_id, .. } | Cause::Keys { file_id, .. } => {
            Ok(!read.scan(&FILE_LOCALES, Scan::prefix(&(tenant_id, *file_id)).limit(1))?.is_empty())
        }
        Cause::Terms(terms) => Ok(!terms.is_empty()),
        // Of a file it is the words, too.
        Cause::File(_) | Cause::Register(_) => Ok(true),
    }
}

/// Whether something of a project is still to be judged anew.
///
/// # Errors
/// Only the store's.
pub fn is_open(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<bool, Failure> {
    Ok(!read.scan(&REJUDGES, Scan::prefix(&(tenant_id, project_id)).limit(1))?.is_empty())
}

/// How many causes become one at a time.
const GATHERED_MAX: usize = 64;
/// Of more terms than these it is not asked any more which translations have them.
const TERMS_MAX: usize = 1_000;

/// Makes one cause of those of a project that are the oldest, are about terms, and are not being worked off yet: an import
/// of terms notes one for each of its transactions. Whether there were several.
///
/// # Errors
/// Only the store's.
pub fn gather_terms(tx: &mut WriteTx<'_>, tenant_id: TenantId, project_id: ProjectId) -> Result<bool, Failure> {
    let rows = tx.scan(&REJUDGES, Scan::prefix(&(tenant_id, project_id)).limit(GATHERED_MAX))?;
    let mut all: Vec<ChangedTerm> = Vec::new();
    let mut keys = Vec::new();
    let mut noted_at = None;
    for (key, row) in rows {
        let RejudgeRow { cause: Cause::Terms(terms), noted_at: at, done: None } = row else { break };
        all.extend(terms);
        keys.push(key);
        noted_at.get_or_insert(at);
    }
    // The last of them, so that what was written before any of them is judged by all.
    let (Some(last), Some(noted_at), false) = (keys.pop(), noted_at, keys.is_empty()) else { return Ok(false) };
    keys.iter().for_each(|key| tx.delete(&REJUDGES, key));
    let cause = if all.len() > TERMS_MAX { everything_of(&all) } else { Cause::Terms(all) };
    tx.put(&REJUDGES, &last, &RejudgeRow { cause, noted_at, done: None })?;
    Ok(true)
}

/// All translations that these terms hold for.
fn everything_of(terms: &[ChangedTerm]) -> Cause {
    let first = terms.first().and_then(|term| term.locale.clone());
    let is_one = terms.iter().all(|term| term.locale == first);
    Cause::Register(first.filter(|_| is_one))
}

/// How long whoever noted a cause waits for its pass, before the answer is sent all the same.
pub const CAUSE_PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at whether a pass has ended: first so long, and twice as long each time, up to the other.
const LOOK_PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// Waits until nothing of a project is left to be judged anew: a state in which that is so. `None`: it took too long.
///
/// # Errors
/// Only the store's.
pub async fn settled(
    store: &Store,
    tenant_id: TenantId,
    project_id: ProjectId,
    patience: Duration,
) -> Result<Option<Snapshot>, Failure> {
    let until = Instant::now() + patience;
    let (mut pause, longest) = LOOK_PAUSES;
    loop {
        let read = store.read();
        if !is_open(&read, tenant_id, project_id)? {
            return Ok(Some(read));
        }
        drop(read);
        if Instant::now() >= until {
            return Ok(None);
        }
        tokio::time::sleep(pause).await;
        pause = longest.min(pause * 2);
    }
}

/// Waits for the pass of what a request has caused, so that who asks next need not. Whether it ended in time is nothing to
/// the request: what it changed is changed.
pub async fn wait_for_pass(store: &Store, tenant_id: TenantId, project_id: ProjectId) {
    if let Err(failure) = settled(store, tenant_id, project_id, CAUSE_PATIENCE).await {
        tracing::warn!(%failure, "it cannot be found out whether translations are judged anew");
    }
}
