//! When a chain is to have its next checkpoint: once a thousand events or an hour have passed since the last one, and
//! there are new events (localization, U4). Before the first one the hour counts from the first event.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::tables::{AUDIT_DUE, AUDIT_HEADS, AuditDueRow, AuditHeadRow};
use crate::model::TenantId;

/// How many events are without a checkpoint at most, but for those that come while it is made.
pub const EVENTS_MAX: u64 = 1_000;
/// For how long they are at most.
pub const SECONDS_MAX: i64 = 3_600;

/// When a checkpoint is due once the event of this number is there.
pub(super) fn due_after(head: &AuditHeadRow, seq: u64, now: Timestamp) -> Option<Timestamp> {
    let by_time = head.due_at.unwrap_or_else(|| head.since.plus_seconds(SECONDS_MAX).max(now));
    let is_full = seq - head.checkpoint_seq >= EVENTS_MAX;
    Some(if is_full { by_time.min(now) } else { by_time })
}

/// Moves a tenant in the agenda.
pub(super) fn move_due(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<(), Failure> {
    if from == to {
        return Ok(());
    }
    if let Some(from) = from {
        tx.delete(&AUDIT_DUE, &(from, tenant_id));
    }
    if let Some(to) = to {
        tx.put(&AUDIT_DUE, &(to, tenant_id), &AuditDueRow)?;
        tx.falls_due(AUDIT_DUE.spec().tag, to);
    }
    Ok(())
}

/// When the next checkpoint of all is due.
///
/// # Errors
/// Only the store's.
pub fn next_due(read: &impl Read) -> Result<Option<Timestamp>, Failure> {
    let first = read.scan(&AUDIT_DUE, Scan::all().limit(1))?;
    Ok(first.first().map(|((at, _), _)| *at))
}

/// Puts the chains of an older directory, which has no checkpoints, into the agenda: some, from one tenant on; the next to
/// look behind, if there may be more.
///
/// # Errors
/// Only the store's.
pub fn take_up(tx: &mut WriteTx<'_>, behind: Option<TenantId>, most: usize) -> Result<Option<TenantId>, Failure> {
    let scan = behind.iter().fold(Scan::all(), Scan::after).limit(most);
    let heads = tx.scan(&AUDIT_HEADS, scan)?;
    let last = heads.last().map(|(tenant_id, _)| *tenant_id).filter(|_| heads.len() == most);
    for (tenant_id, head) in heads {
        if head.due_at.is_none() && head.seq > head.checkpoint_seq {
            let due_at = Some(head.since);
            move_due(tx, tenant_id, None, due_at)?;
            tx.put(&AUDIT_HEADS, &tenant_id, &AuditHeadRow { due_at, ..head })?;
        }
    }
    Ok(last)
}
