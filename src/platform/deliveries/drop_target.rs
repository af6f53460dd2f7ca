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
    if remove_some(tx, outbox, endpoint_id)? == SLICE_ROWS {
        tx.falls_due(DROPPED.spec().tag, now);
        tx.put(&DROPPED, &(now, tenant_id, service, endpoint_id), &Mark)?;
    }
    Ok(())
}

fn remove_some(tx: &mut WriteTx<'_>, outbox: Outbox, endpoint_id: Uuid) -> Result<usize, Failure> {
    let (tenant_id, service) = outbox.key();
    let rows = tx.scan(&BY_SUBJECT, Scan::prefix(&(tenant_id, service, endpoint_id)).limit(SLICE_ROWS))?;
    for ((.., id), Mark) in &rows {
        remove(tx, outbox, *id)?;
    }
    Ok(rows.len())
}

/// The endpoints whose deliveries were too many for one transaction.
pub struct DroppedTargets;

impl Agenda for DroppedTargets {
    /// They are few.
    type Place = ();

    const NAME: &'static str = "platform.dropped_targets";
    const TAG: u16 = DROPPED.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: () = ();

    fn next(&self, read: &Snapshot, (): ()) -> Result<Option<Timestamp>, Failure> {
        let first = read.scan(&DROPPED, Scan::all().limit(1))?;
        Ok(first.first().map(|((at, ..), Mark)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, _now: Timestamp, (): ()) -> Result<Swept<()>, Failure> {
        let first = tx.scan(&DROPPED, Scan::all().limit(1))?;
        let Some((key, Mark)) = first.into_iter().next() else {
            return Ok(Swept { to: None, progress: Progress::Rest });
        };
        let (_, tenant_id, service, endpoint_id) = key;
        if remove_some(tx, Outbox::of((tenant_id, service))?, endpoint_id)? < SLICE_ROWS {
            tx.delete(&DROPPED, &key);
        }
        Ok(Swept { to: None, progress: Progress::More })
    }
}
