//! The deliveries to an endpoint that were given up, for whoever sends them all once more: found page by page outside
//! the writer, so that the transactions that follow are short.

use quintet_storage::{Failure, Read, Scan, Timestamp};
use uuid::Uuid;

use super::list::{counters, find};
use super::model::{Delivery, End, Outbox};
use super::tables::{BY_SUBJECT, Mark, indexes_of};

/// Deliveries looked at for one page, and rows read in one step.
const LOOKED_AT_MAX: usize = 2_048;
const PAGE_ROWS: usize = 256;

/// Which deliveries are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Dead {
    /// Those to this endpoint.
    pub endpoint_id: Uuid,
    /// Given up at this instant or later.
    pub since: Timestamp,
    /// From this number on.
    pub from: u64,
    /// Up to this number.
    pub until: u64,
    /// So many at most.
    pub limit: usize,
}

/// Some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadPage {
    /// Their numbers, in order.
    pub ids: Vec<u64>,
    /// Deliveries that were looked at.
    pub looked_at: u64,
    /// Where to go on; none at the end.
    pub next: Option<u64>,
    /// The last number that had been given: what has repeated any of these since has a higher one.
    pub seen_until: u64,
}

/// The deliveries to an endpoint that were given up and that nobody has sent once more; tests are none of them.
///
/// # Errors
/// The store cannot be read.
pub fn dead(read: &impl Read, outbox: Outbox, wanted: &Dead) -> Result<DeadPage, Failure> {
    let seen_until = counters(read, outbox)?.last_id;
    let mut page = DeadPage { ids: Vec::new(), looked_at: 0, next: None, seen_until };
    let (tenant_id, service) = outbox.key();
    let place = |id: u64| (tenant_id, service, wanted.endpoint_id, id);
    let mut from = wanted.from;
    for _ in 0..LOOKED_AT_MAX / PAGE_ROWS {
        let scan = Scan::prefix(&(tenant_id, service, wanted.endpoint_id)).from(&place(from)).limit(PAGE_ROWS);
        let rows = read.scan(&BY_SUBJECT, scan)?;
        let is_last = rows.len() < PAGE_ROWS;
        for ((.., id), Mark) in rows {
            if id > wanted.until {
                return Ok(page);
            }
            if page.ids.len() == wanted.limit {
                page.next = Some(id);
                return Ok(page);
            }
            page.looked_at += 1;
            if let Some(delivery) = find(read, outbox, id)?
                && is_wanted(&delivery, wanted)
                && !is_repeated(read, outbox, &delivery, id)?
            {
                page.ids.push(id);
            }
            from = id.saturating_add(1);
        }
        if is_last {
            return Ok(page);
        }
    }
    page.next = Some(from);
    Ok(page)
}

fn is_wanted(delivery: &Delivery, wanted: &Dead) -> bool {
    delivery.end == Some(End::Dead)
        && delivery.is_counted
        && delivery.settled_at.is_some_and(|settled_at| settled_at >= wanted.since)
}

/// Whether a delivery with a number above this one repeats a delivery. What repeats it is about the same.
///
/// # Errors
/// The store cannot be read.
pub fn is_repeated(read: &impl Read, outbox: Outbox, delivery: &Delivery, above: u64) -> Result<bool, Failure> {
    let (tenant_id, service) = outbox.key();
    for (index, subject) in indexes_of(&delivery.resource) {
        let mut above = (tenant_id, service, subject, above);
        loop {
            let scan = Scan::prefix(&(tenant_id, service, subject)).after(&above).limit(PAGE_ROWS);
            let rows = read.scan(index, scan)?;
            for (place, Mark) in &rows {
                let repeats = find(read, outbox, place.3)?.and_then(|found| found.redelivery_of);
                if repeats == Some(delivery.id) {
                    return Ok(true);
                }
            }
            match rows.last() {
                Some((place, Mark)) if rows.len() == PAGE_ROWS => above = *place,
                _ => break,
            }
        }
    }
    Ok(false)
}
