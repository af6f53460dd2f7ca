//! Open subjects: each is read again every ten minutes and at its expiry (localization, W4), so that neither a webhook that
//! is lost nor a crash leaves anything open.

use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::model::{Subject, SubjectKind};
use super::tables::{
    DECISION_REREADS, DECISION_SUBJECTS, DECISION_WATCHES, DecisionMarkRow, DecisionSubjectRow, DecisionWatchRow,
};
use crate::model::{ProjectId, TenantId};
use crate::rows;

/// How long until an open subject is read again, in seconds.
pub const REREAD_SECONDS: i64 = 600;
/// The agenda of those that are read again.
pub const WATCH_AGENDA: u16 = DECISION_REREADS.spec().tag;

/// An open subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// What it is.
    pub subject: Subject,
    /// In which project.
    pub project_id: ProjectId,
    /// When it is read again.
    pub due_at: Timestamp,
    /// Until when the decision may be taken.
    pub expires_at: Timestamp,
    /// The decision; none: it is yet to be raised.
    pub decision_id: Option<String>,
}

fn place(subject: &Subject) -> (TenantId, u8, Uuid) {
    (subject.tenant_id, subject.kind.code(), subject.id)
}

fn of_row((tenant_id, kind, id): (TenantId, u8, Uuid), row: DecisionWatchRow) -> Result<Watch, Failure> {
    let kind = SubjectKind::from_code(kind);
    let kind = kind.ok_or_else(|| Failure::Damaged("an open subject is of no known kind".to_owned()))?;
    let DecisionWatchRow { project_id, due_at, expires_at, decision_id } = row;
    Ok(Watch { subject: Subject { tenant_id, kind, id }, project_id, due_at, expires_at, decision_id })
}

/// When an open subject is read again that was looked at now: ten minutes later, or at its expiry if that comes before.
fn next_look(now: Timestamp, expires_at: Timestamp) -> Timestamp {
    let later = now.plus_seconds(REREAD_SECONDS);
    if expires_at > now { later.min(expires_at) } else { later }
}

fn put(tx: &mut WriteTx<'_>, subject: &Subject, row: &DecisionWatchRow) -> Result<(), Failure> {
    let (tenant_id, kind, id) = place(subject);
    tx.put(&DECISION_WATCHES, &(tenant_id, kind, id), row)?;
    tx.put(&DECISION_REREADS, &(row.due_at, tenant_id, kind, id), &DecisionMarkRow)?;
    tx.falls_due(WATCH_AGENDA, row.due_at);
    Ok(())
}

/// Watches a subject whose decision is yet to be raised.
///
/// # Errors
/// Only the store's.
pub fn watch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    subject: &Subject,
    project_id: ProjectId,
    expires_at: Timestamp,
) -> Result<(), Failure> {
    let due_at = next_look(now, expires_at);
    put(tx, subject, &DecisionWatchRow { project_id, due_at, expires_at, decision_id: None })
}

/// Whether a decision is about something already.
///
/// # Errors
/// Only the store's.
pub fn is_assigned(read: &impl Read, decision_id: &str) -> Result<bool, Failure> {
    read.contains(&DECISION_SUBJECTS, &decision_id.to_owned())
}

/// Notes which decision is taken about a subject.
///
/// # Errors
/// Only the store's.
pub fn assign(tx: &mut WriteTx<'_>, now: Timestamp, subject: &Subject, decision_id: &str) -> Result<(), Failure> {
    let (tenant_id, kind, id) = place(subject);
    let row = DecisionSubjectRow { tenant_id, kind, id: id.into_bytes() };
    tx.put(&DECISION_SUBJECTS, &decision_id.to_owned(), &row)?;
    if let Some(watch) = tx.get(&DECISION_WATCHES, &place(subject))? {
        tx.delete(&DECISION_REREADS, &(watch.due_at, tenant_id, kind, id));
        let due_at = next_look(now, watch.expires_at);
        let decision_id = Some(decision_id.to_owned());
        put(tx, subject, &DecisionWatchRow { due_at, decision_id, ..watch })?;
    }
    Ok(())
}

/// What a decision is about; none: it is not ours.
///
/// # Errors
/// Only the store's.
pub fn subject_of(read: &impl Read, decision_id: &str) -> Result<Option<Subject>, Failure> {
    let Some(row) = read.get(&DECISION_SUBJECTS, &decision_id.to_owned())? else { return Ok(None) };
    let kind = SubjectKind::from_code(row.kind);
    let kind = kind.ok_or_else(|| Failure::Damaged("a decision is about nothing that is known".to_owned()))?;
    Ok(Some(Subject { tenant_id: row.tenant_id, kind, id: Uuid::from_bytes(row.id) }))
}

/// A subject, as long as it is open.
///
/// # Errors
/// Only the store's.
pub fn watch_of(read: &impl Read, subject: &Subject) -> Result<Option<Watch>, Failure> {
    let key = place(subject);
    read.get(&DECISION_WATCHES, &key)?.map(|row| of_row(key, row)).transpose()
}

/// What is read again next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next(pub Option<Timestamp>);

/// Those that are to be read again at `now`, at most so many; and when the first is.
///
/// # Errors
/// Only the store's.
pub fn due_watches(read: &impl Read, now: Timestamp, limit: usize) -> Result<(Vec<Watch>, Next), Failure> {
    let rows = read.scan(&DECISION_REREADS, Scan::all().limit(limit))?;
    let first = rows.first().map(|((at, ..), _)| *at);
    let due = rows.into_iter().filter(|((at, ..), _)| *at <= now);
    let watches = due.filter_map(|((_, tenant_id, kind, id), _)| {
        let key = (tenant_id, kind, id);
        match read.get(&DECISION_WATCHES, &key) {
            Ok(Some(row)) => Some(of_row(key, row)),
            Ok(None) => None,
            Err(failure) => Some(Err(failure)),
        }
    });
    Ok((watches.collect::<Result<_, _>>()?, Next(first)))
}

/// Every open subject.
///
/// # Errors
/// Only the store's.
pub fn every_watch(read: &impl Read) -> Result<Vec<Watch>, Failure> {
    let mut all = Vec::new();
    rows::each(read, &DECISION_WATCHES, |key, row| {
        all.push(of_row(key, row)?);
        Ok(())
    })?;
    Ok(all)
}

/// Has a subject read again later, if it is still open.
///
/// # Errors
/// Only the store's.
pub fn postpone(tx: &mut WriteTx<'_>, now: Timestamp, subject: &Subject) -> Result<(), Failure> {
    let (tenant_id, kind, id) = place(subject);
    if let Some(watch) = tx.get(&DECISION_WATCHES, &place(subject))? {
        tx.delete(&DECISION_REREADS, &(watch.due_at, tenant_id, kind, id));
        let due_at = next_look(now, watch.expires_at);
        put(tx, subject, &DecisionWatchRow { due_at, ..watch })?;
    }
    Ok(())
}

/// Watches a subject no more.
///
/// # Errors
/// Only the store's.
pub fn unwatch(tx: &mut WriteTx<'_>, subject: &Subject) -> Result<(), Failure> {
    let (tenant_id, kind, id) = place(subject);
    if let Some(watch) = tx.get(&DECISION_WATCHES, &place(subject))? {
        tx.delete(&DECISION_REREADS, &(watch.due_at, tenant_id, kind, id));
        tx.delete(&DECISION_WATCHES, &place(subject));
    }
    Ok(())
}
