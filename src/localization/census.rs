//! What counts of prose keys hang on: their sources, their classes, the legal prefixes of their project. Whoever changes one
//! of these notes it in the same transaction; where a licence is active, it is counted anew at once, outside of it. So it is
//! when a licence becomes active.

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Read, Row, Scan, Table, TableSpec, Timestamp, WriteTx};

use crate::model::{FAMILY, ProjectId, TenantId};

/// The numbers of notes.
pub const PROSE_MARKS: Table<(TenantId, ProjectId), ProseMarkRow> =
    Table::new(0x0368, FAMILY, "localization_prose_marks").hot();
/// What is to be counted anew, the oldest change first.
pub const RECOUNTS: Table<(TenantId, ProjectId, u64), RecountRow> = Table::new(0x0369, FAMILY, "localization_recounts");
/// Projects that have active licences.
pub const LICENSED: Table<(TenantId, ProjectId), LicensedRow> =
    Table::new(0x036A, FAMILY, "localization_licensed_projects").hot();

/// The tables of this file.
pub const TABLES: &[TableSpec] = &[PROSE_MARKS.spec(), RECOUNTS.spec(), LICENSED.spec()];

/// Why prose keys are to be counted anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Change {
    /// An upload.
    Import {
        /// Of which file.
        file_id: [u8; 16],
        /// The number of its audit event.
        audit_seq: u64,
    },
    /// Legal prefixes; or classes of keys, where it is not told of which file.
    Classes,
    /// Classes of keys of a file.
    ClassesOf {
        /// Which.
        file_id: [u8; 16],
    },
    /// A licence became active, by a decision that was taken a while ago.
    Activated {
        /// Which.
        licence_id: [u8; 16],
    },
    /// One did between whose decision and its reading something has happened in the tenant.
    ActivatedLate {
        /// Which.
        licence_id: [u8; 16],
    },
}

/// How many notes were made in a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProseMarkRow {
    /// Notes, from 1.
    pub changes: u64,
}
impl Row for ProseMarkRow {}

/// A change whose project is to be counted anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RecountRow {
    /// What was changed.
    pub change: Change,
    /// When it was noted.
    pub noted_at: Timestamp,
}
impl Row for RecountRow {}

/// A project with active licences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LicensedRow {
    /// How many.
    pub active: u32,
}
impl Row for LicensedRow {}

/// Notes a change, in the transaction that makes it.
///
/// # Errors
/// Only the store's.
pub fn note(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    project_id: ProjectId,
    change: Change,
) -> Result<(), Failure> {
    let changes = tx.get(&PROSE_MARKS, &(tenant_id, project_id))?.unwrap_or_default().changes + 1;
    tx.put(&PROSE_MARKS, &(tenant_id, project_id), &ProseMarkRow { changes })?;
    if tx.contains(&LICENSED, &(tenant_id, project_id))? {
        tx.put(&RECOUNTS, &(tenant_id, project_id, changes), &RecountRow { change, noted_at: now })?;
        tx.falls_due(RECOUNTS.spec().tag, now);
    }
    Ok(())
}

/// The last change of a project that is still to be counted; none: all are.
///
/// # Errors
/// Only the store's.
pub fn last_open(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Option<u64>, Failure> {
    let scan = Scan::prefix(&(tenant_id, project_id)).newest_first().limit(1);
    Ok(read.scan(&RECOUNTS, scan)?.first().map(|((.., number), _)| *number))
}

/// Whether something of a project is still to be counted anew.
///
/// # Errors
/// Only the store's.
pub fn is_open(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<bool, Failure> {
    Ok(last_open(read, tenant_id, project_id)?.is_some())
}

/// Counts a licence that becomes active (`by` is 1), or is so no more (`by` is -1).
///
/// # Errors
/// Only the store's.
pub fn count_active(tx: &mut WriteTx<'_>, tenant_id: TenantId, project_id: ProjectId, by: i32) -> Result<(), Failure> {
    let place = (tenant_id, project_id);
    let row = tx.get(&LICENSED, &place)?.unwrap_or_default();
    match row.active.saturating_add_signed(by) {
        0 => tx.delete(&LICENSED, &place),
        active => tx.put(&LICENSED, &place, &LicensedRow { active })?,
    }
    Ok(())
}
