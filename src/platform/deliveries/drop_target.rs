//! An endpoint goes, and its deliveries with it.

use quintet_storage::{Failure, Read as _, Scan, Snapshot, Timestamp, WriteTx};
use uuid::Uuid;

use super::model::Outbox;
use super::old::remove;
use super::tables::{BY_SUBJECT, DROPPED, HEALTH, Mark};
use crate::jobs::{Agenda, Progress, Swept};

/// Deliveries removed in one transaction.
const SLICE_ROWS: usize = 200;

/// Takes away what was enqueued for an endpoint, and its health. What is too much for one transaction goes in those that
/// follow; until then it is listed, and whatever comes due ends as `endpoint_deleted`.
///
/// # Errors
/// The store's failures.
pub fn drop_target(tx: &mut WriteTx<'_>, now: Timestamp, outbox: Outbox, endpoint_id: Uuid) -> Result<(), Failure> {
    let (tenant_id, service) = outbox.key();
    tx.delete(&HEALTH, &(tenant_id, service, endpoint_id));
    if remove_some(tx, outbox, endpoint_id, 0)?.is_some() {
        tx.falls_due(DROPPED.spec().tag, now);
        tx.put(&DROPPED, &(now, tenant_id, service, endpoint_id), &Mark)?;
    }
    Ok(())
}

/// Removes some from a number on; the last one's number, if there may be more.
fn remove_some(tx: &mut WriteTx<'_>, outbox: Outbox, endpoint_id: Uuid, from: u64) -> Result<Option<u64>, Failure> {
    let (tenant_id, service) = outbox.key();
    let all = Scan::prefix(&(tenant_id, service, endpoint_id)).from(&(tenant_id, service, endpoint_id, from));
    let rows = tx.scan(&BY_SUBJECT, all.limit(SLICE_ROWS))?;
    for ((.., id), Mark) in &rows {
        remove(tx, outbox, *id)?;
    }
    Ok(rows.last().filter(|_| rows.len() == SLICE_ROWS).map(|((.., id), Mark)| *id))
}

/// The endpoints whose deliveries were too many for one transaction.
pub struct DroppedTargets;

impl Agenda for DroppedTargets {
    /// The endpoint in hand, and up to which number its deliveries have gone: nothing is enqueued for it any more. Which one is
    /// next is not told by it: one may be dropped later and stand before it, at the same instant.
    type Place = (Timestamp, Uuid, u8, Uuid, u64);

    const NAME: &'static str = "platform.dropped_targets";
    const TAG: u16 = DROPPED.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Self::Place = (Timestamp::from_micros(0), Uuid::nil(), 0, Uuid::nil(), 0);

    fn next(&self, read: &Snapshot, _from: Self::Place) -> Result<Option<Timestamp>, Failure> {
        let first = read.scan(&DROPPED, Scan::all().limit(1))?;
        Ok(first.first().map(|((at, ..), Mark)| *at))
    }

    fn slice(
        &self,
        tx: &mut WriteTx<'_>,
        _now: Timestamp,
        (at, tenant_id, service, endpoint_id, gone): Self::Place,
    ) -> Result<Swept<Self::Place>, Failure> {
        let first = tx.scan(&DROPPED, Scan::all().limit(1))?;
        let Some((key, Mark)) = first.into_iter().next() else {
            return Ok(Swept { to: None, progress: Progress::Rest });
        };
        let gone = if key == (at, tenant_id, service, endpoint_id) { gone } else { 0 };
        let (at, tenant_id, service, endpoint_id) = key;
        let last = remove_some(tx, Outbox::of((tenant_id, service))?, endpoint_id, gone)?;
        if last.is_none() {
            tx.delete(&DROPPED, &key);
            // What was under way when it went may have been counted since.
            tx.delete(&HEALTH, &(tenant_id, service, endpoint_id));
        }
        let to = last.map(|id| (at, tenant_id, service, endpoint_id, id));
        Ok(Swept { to, progress: Progress::More })
    }
}
