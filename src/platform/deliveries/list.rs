//! What is asked of deliveries.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};
use uuid::Uuid;

use super::health::Health;
use super::model::{Counters, Delivery, DeliveryState, End, Outbox, Target};
use super::tables::{BY_SUBJECT, COUNTERS, DELIVERIES, HEALTH, Index, Mark, indexes_of};
use crate::access::Service;

/// Rows looked at in one step.
const PAGE_ROWS: usize = 256;

/// Which deliveries are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Filter<'a> {
    /// Only those to this endpoint.
    pub endpoint_id: Option<Uuid>,
    /// Only those about this.
    pub resource: Option<&'a str>,
    /// Only those in this state.
    pub state: Option<DeliveryState>,
    /// Only those with a higher number.
    pub since: u64,
    /// The newest so many.
    pub limit: usize,
}

/// Deliveries that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// In the order of their numbers.
    pub items: Vec<Delivery>,
    /// Whether there are older ones behind `since`.
    pub is_truncated: bool,
}

/// How a delivery stands; `is_in_flight` says whether an attempt is under way.
pub(super) fn state_of(delivery: &Delivery, is_in_flight: bool) -> DeliveryState {
    match delivery.end {
        Some(End::Delivered) => DeliveryState::Delivered,
        Some(End::Dead) => DeliveryState::Dead,
        None if is_in_flight => DeliveryState::Delivering,
        None => DeliveryState::Pending,
    }
}

/// Deliveries that are looked at for a list: one that asks for what is rare must not hold up others for long.
const LOOKED_AT_MAX: usize = 50_000;

/// The newest deliveries of an outbox that a filter lets through, among the newest [`LOOKED_AT_MAX`] that are in question. `state` says how each stands.
///
/// # Errors
/// The store cannot be read.
pub fn list(
    read: &impl Read,
    outbox: Outbox,
    filter: Filter<'_>,
    state: impl Fn(&Delivery) -> DeliveryState,
) -> Result<Page, Failure> {
    let resource = filter.resource;
    // What happened to one thing is less than what one endpoint was told.
    let indexes = match (resource, filter.endpoint_id) {
        (Some(resource), _) => indexes_of(resource).to_vec(),
        (None, Some(endpoint_id)) => vec![(&BY_SUBJECT as Index, endpoint_id)],
        (None, None) => Vec::new(),
    };
    let mut items: Vec<Delivery> = Vec::new();
    let mut before = None;
    // Behind the last one that waits there is none.
    let mut waiting = match filter.state {
        Some(DeliveryState::Pending | DeliveryState::Delivering) => counters(read, outbox)?.pending,
        _ => u64::MAX,
    };
    let mut looked_at = 0;
    loop {
        let page = page(read, outbox, &indexes, filter.since, before)?;
        looked_at += page.len();
        let of_page = page.iter().filter(|delivery| delivery.end.is_none()).count();
        waiting = waiting.saturating_sub(u64::try_from(of_page).unwrap_or(u64::MAX));
        let is_last = page.len() < PAGE_ROWS || waiting == 0;
        before = page.last().map(|delivery| delivery.id);
        for delivery in page {
            let is_of_resource = resource.is_none_or(|resource| delivery.resource == resource);
            let is_of_endpoint = filter.endpoint_id.is_none_or(|id| delivery.target == Target::Endpoint(id));
            let is_in_state = filter.state.is_none_or(|wanted| state(&delivery) == wanted);
            if !is_of_resource || !is_of_endpoint || !is_in_state {
                continue;
            }
            if items.len() == filter.limit {
                items.reverse();
                return Ok(Page { items, is_truncated: true });
            }
            items.push(delivery);
        }
        if is_last || looked_at >= LOOKED_AT_MAX {
            items.reverse();
            return Ok(Page { items, is_truncated: !is_last });
        }
    }
}

/// The next deliveries, newest first: of all, or of those that indexes find, each of which has what is older than the one
/// before it.
fn page(
    read: &impl Read,
    outbox: Outbox,
    indexes: &[(Index, Uuid)],
    since: u64,
    before: Option<u64>,
) -> Result<Vec<Delivery>, Failure> {
    let (tenant_id, service) = outbox.key();
    let Some(from) = since.checked_add(1) else { return Ok(Vec::new()) };
    if indexes.is_empty() {
        let scan = Scan::prefix(&(tenant_id, service)).from(&(tenant_id, service, from)).newest_first();
        let scan = before.iter().fold(scan, |scan, id| scan.after(&(tenant_id, service, *id)));
        let rows = read.scan(&DELIVERIES, scan.limit(PAGE_ROWS))?;
        return Ok(rows.into_iter().map(|((.., id), row)| row.into_delivery(id)).collect());
    }
    let mut found = Vec::new();
    for &(index, subject) in indexes {
        let scan =
            Scan::prefix(&(tenant_id, service, subject)).from(&(tenant_id, service, subject, from)).newest_first();
        let scan = before.iter().fold(scan, |scan, id| scan.after(&(tenant_id, service, subject, *id)));
        for ((.., id), Mark) in read.scan(index, scan.limit(PAGE_ROWS - found.len()))? {
            found.extend(find(read, outbox, id)?);
        }
    }
    Ok(found)
}

/// A delivery.
///
/// # Errors
/// The store cannot be read.
pub fn find(read: &impl Read, outbox: Outbox, id: u64) -> Result<Option<Delivery>, Failure> {
    Ok(read.get(&DELIVERIES, &outbox.place(id))?.map(|row| row.into_delivery(id)))
}

/// What an outbox has come to.
///
/// # Errors
/// The store cannot be read.
pub fn counters(read: &impl Read, outbox: Outbox) -> Result<Counters, Failure> {
    Ok(read.get(&COUNTERS, &outbox.key())?.map_or_else(Counters::default, Counters::from))
}

/// How much waits for a target: for an endpoint, or for all addresses of their own together.
///
/// # Errors
/// The store cannot be read.
pub fn waiting_for(read: &impl Read, outbox: Outbox, target: Target) -> Result<u64, Failure> {
    let counters = read.get(&COUNTERS, &outbox.key())?.unwrap_or_default();
    Ok(match target {
        Target::Endpoint(id) => counters.waiting_for(id),
        Target::Inline => counters.waiting_inline(),
    })
}

/// What the outboxes of a service have come to, for whoever adds up or tells of each.
///
/// # Errors
/// The store cannot be read.
pub fn all_counters(read: &impl Read, service: Service) -> Result<Vec<(Uuid, Counters)>, Failure> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let scan = after.iter().fold(Scan::all(), |scan, last| scan.after(last));
        let rows = read.scan(&COUNTERS, scan.limit(PAGE_ROWS))?;
        let is_last = rows.len() < PAGE_ROWS;
        after = rows.last().map(|(place, _)| *place);
        let own = rows.into_iter().filter(|((_, code), _)| *code == service.code());
        found.extend(own.map(|((tenant_id, _), row)| (tenant_id, Counters::from(row))));
        if is_last {
            return Ok(found);
        }
    }
}

/// The health of an endpoint.
///
/// # Errors
/// The store cannot be read.
pub fn health_of(read: &impl Read, outbox: Outbox, endpoint_id: Uuid) -> Result<Health, Failure> {
    let (tenant_id, service) = outbox.key();
    Ok(read.get(&HEALTH, &(tenant_id, service, endpoint_id))?.map_or_else(Health::default, Health::from))
}

/// Writes down whether others were told that an endpoint is in a bad way.
///
/// # Errors
/// The store's failures.
pub fn note_notice(
    tx: &mut WriteTx<'_>,
    outbox: Outbox,
    endpoint_id: Uuid,
    told_at: Option<Timestamp>,
) -> Result<(), Failure> {
    let (tenant_id, service) = outbox.key();
    let health = Health { noticed_at: told_at, ..health_of(tx, outbox, endpoint_id)? };
    tx.put(&HEALTH, &(tenant_id, service, endpoint_id), &(&health).into())
}

/// Begins to count an endpoint's health anew, for it was enabled again.
///
/// # Errors
/// The store's failures.
pub fn reset_health(tx: &mut WriteTx<'_>, now: Timestamp, outbox: Outbox, endpoint_id: Uuid) -> Result<(), Failure> {
    let (tenant_id, service) = outbox.key();
    let mut health = health_of(tx, outbox, endpoint_id)?;
    health.begin_anew(now);
    tx.put(&HEALTH, &(tenant_id, service, endpoint_id), &(&health).into())
}
