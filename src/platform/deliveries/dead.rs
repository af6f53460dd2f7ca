//! The deliveries to an endpoint that were given up, for whoever sends them all once more: found page by page outside
//! the writer, so that the transactions that follow are short.

use quintet_storage::{Failure, Read, Scan, Timestamp};
use uuid::Uuid;

use super::list::find;
use super::model::{Delivery, End, Outbox, Repeat};
use super::tables::{BY_SUBJECT, Mark, indexes_of};

/// Rows looked at for one page, rows read in one step, and rows looked at for what repeats one delivery.
const LOOKED_AT_MAX: usize = 2_048;
const PAGE_ROWS: usize = 256;
const REPEATS_MAX: usize = 256;

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
}

/// The deliveries to an endpoint that were given up and that nobody has sent once more; tests are none of them.
///
/// # Errors
/// The store cannot be read.
pub fn dead(read: &impl Read, outbox: Outbox, wanted: &Dead) -> Result<DeadPage, Failure> {
    let mut page = DeadPage { ids: Vec::new(), looked_at: 0, next: None };
    let (tenant_id, service) = outbox.key();
    let place = |id: u64| (tenant_id, service, wanted.endpoint_id, id);
    let (mut from, mut rows_looked_at) = (wanted.from, 0);
    loop {
        let scan = Scan::prefix(&(tenant_id, service, wanted.endpoint_id)).from(&place(from)).limit(PAGE_ROWS);
        let rows = read.scan(&BY_SUBJECT, scan)?;
        let is_last = rows.len() < PAGE_ROWS;
        for ((.., id), Mark) in rows {
            if id > wanted.until {
                return Ok(page);
            }
            if page.ids.len() == wanted.limit || rows_looked_at >= LOOKED_AT_MAX {
                page.next = Some(id);
                return Ok(page);
            }
            page.looked_at += 1;
            rows_looked_at += 1;
            if let Some(delivery) = find(read, outbox, id)?.filter(|delivery| is_wanted(delivery, wanted)) {
                let (seen, is_repeated) = repeats(read, outbox, &delivery)?;
                rows_looked_at += seen;
                if !is_repeated {
                    page.ids.push(id);
                }
            }
            from = id.saturating_add(1);
        }
        if is_last {
            return Ok(page);
        }
    }
}

fn is_wanted(delivery: &Delivery, wanted: &Dead) -> bool {
    delivery.end == Some(End::Dead)
        && delivery.is_counted
        && delivery.settled_at.is_some_and(|settled_at| settled_at >= wanted.since)
}

/// Rows that were looked at for whether something has been sent once more, and whether it has.
///
/// Who sends something once more writes so down in what was sent. Before version 4 of its row nobody did: what was enqueued
/// then is looked for among what is about the same, in [`REPEATS_MAX`] rows. Behind those it counts as sent once more, for
/// nothing may go out twice: it is sent by its number alone.
fn repeats(read: &impl Read, outbox: Outbox, delivery: &Delivery) -> Result<(usize, bool), Failure> {
    match delivery.repeat {
        Repeat::No => return Ok((0, false)),
        Repeat::By(_) => return Ok((0, true)),
        Repeat::Unsaid => {}
    }
    let (tenant_id, service) = outbox.key();
    let mut seen = 0;
    for (index, subject) in indexes_of(&delivery.resource) {
        let above = (tenant_id, service, subject, delivery.id);
        let scan = Scan::prefix(&(tenant_id, service, subject)).after(&above).limit(REPEATS_MAX - seen);
        for ((.., id), Mark) in read.scan(index, scan)? {
            seen += 1;
            if find(read, outbox, id)?.is_some_and(|found| found.redelivery_of == Some(delivery.id)) {
                return Ok((seen, true));
            }
        }
        if seen == REPEATS_MAX {
            return Ok((seen, true));
        }
    }
    Ok((seen, false))
}
