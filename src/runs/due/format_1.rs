//! From format 1 of the directory to format 2: what falls due, by kind.
//!
//! The key named a run and the row its tenant, whatever the kind: that of a changed calendar had the tenant's id where
//! that of a run was expected.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x040A | due runs | instant, kind, run | what fell due in format 1; empty since |

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Migrating, Migration, Row, Table, Timestamp};

use super::model::{Due, ELIGIBLE, EVENTS, HOURS, OLD, TOO_LATE};
use super::tables::{self, DueRow};
use crate::model::{FAMILY, RunId, TenantId};

/// What fell due.
pub(super) const DUE: Table<(Timestamp, u8, RunId), OldDueRow> = Table::new(0x040A, FAMILY, "runs_due");

/// Whose run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct OldDueRow {
    tenant_id: TenantId,
}
impl Row for OldDueRow {}

/// The step.
pub(crate) const MIGRATION: Migration = Migration { from: 1, name: "runs: what falls due, by kind", run };

fn run(migrating: &mut Migrating<'_>) -> Result<(), Failure> {
    migrating.move_rows(&DUE, |tx, (at, kind, run_id), OldDueRow { tenant_id }| {
        let run_key = (tenant_id, run_id);
        let due = match kind {
            ELIGIBLE => Due::Eligible(run_key),
            TOO_LATE => Due::TooLate(run_key),
            OLD => Due::Old(run_key),
            HOURS => Due::Hours(tenant_id),
            EVENTS => Due::Events(run_key),
            _ => return Err(Failure::Damaged(format!("nothing fell due that had kind {kind}"))),
        };
        tx.put(&tables::DUE, &(at, due), &DueRow)
    })
}
