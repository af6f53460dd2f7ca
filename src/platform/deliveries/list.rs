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
    /// Only those with a lower number.
    pub before: Option<u64>,
    /// The newest so many.
    pub limit: usize,
}

/// Deliveries that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// In the order of their numbers.
    pub items: Vec<Delivery>,
    /// Whether there may be older ones behind `since`.
    pub is_truncated: bool,
    /// Where to go on if so: those that were not looked at have lower numbers.
    pub next_before: Option<u64>,
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

/// Rows that are looked at for a list: one that asks for what is rare must not hold up others for long.
const LOOKED_AT_MAX: usize = 5_000;

/// Where deliveries are looked for.
enum Source {
    /// Among all of an outbox.
    All,
    /// In indexes, each of which has what is older than what the one before it has.
    Found(Vec<(Index, Uuid)>),
    /// Among those of an endpoint that indexes find as well.
    Both(Uuid, Vec<(Index, Uuid)>),
}

impl Source {
    fn of(filter: &Filter<'_>) -> Source {
        match (filter.resource, filter.endpoint_id) {
            (None, None) => Source::All,
            (None, Some(endpoint_id)) => Source::Found(vec![(&BY_SUBJECT, endpoint_id)]),
            (Some(resource), None) => Source::Found(indexes_of(resource).to_vec()),
            (Some(resource), Some(endpoint_id)) => Source::Both(endpoint_id, indexes_of(resource).to_vec()),
        }
    }
}

/// The newest deliveries of an outbox that a filter lets through, among as many as [`LOOKED_AT_MAX`] rows find. `state` says how
/// each stands.
///
/// # Errors
/// The store cannot be read.
pub fn list(
    read: &impl Read,
    outbox: Outbox,
    filter: Filter<'_>,
    state: impl Fn(&Delivery) -> DeliveryState,
) -> Result<Page, Failure> {
    let source = Source::of(&filter);
    let mut items: Vec<Delivery> = Vec::new();
    let mut before = filter.before;
    // Behind the last one that waits there is none.
    let mut waiting = match filter.state {
        Some(DeliveryState::Pending | DeliveryState::Delivering) => counters(read, outbox)?.pending,
        _ => u64::MAX,
    };
    let (mut looked_at, mut next_before) = (0, None);
    'looking: while waiting > 0 {
        let part = part(read, outbox, &source, filter.since, before)?;
        looked_at += part.looked_at;
        let of_part = part.found.iter().filter(|delivery| delivery.end.is_none()).count();
        waiting = waiting.saturating_sub(u64::try_from(of_part).unwrap_or(u64::MAX));
        for delivery in part.found {
            let is_of_resource = filter.resource.is_none_or(|resource| delivery.resource == resource);
            let is_of_endpoint = filter.endpoint_id.is_none_or(|id| delivery.target == Target::Endpoint(id));
            let is_in_state = filter.state.is_none_or(|wanted| state(&delivery) == wanted);
            if !is_of_resource || !is_of_endpoint || !is_in_state {
                continue;
            }
            if items.len() == filter.limit {
                next_before = items.last().map(|last| last.id);
                break 'looking;
            }
            items.push(delivery);
        }
        before = part.below;
        if before.is_none() {
            break;
        }
        if looked_at >= LOOKED_AT_MAX {
            next_before = before.filter(|_| waiting > 0);
            break;
        }
    }
    items.reverse();
    Ok(Page { items, is_truncated: next_before.is_some(), next_before })
}

/// The next deliveries, newest first.
struct Part {
    found: Vec<Delivery>,
    /// Rows that were looked at for that.
    looked_at: usize,
    /// Those that were not looked at have lower numbers; none: that was all.
    below: Option<u64>,
}

fn part(read: &impl Read, outbox: Outbox, source: &Source, since: u64, before: Option<u64>) -> Result<Part, Failure> {
    let (tenant_id, service) = outbox.key();
    let none = Part { found: Vec::new(), looked_at: 0, below: None };
    let Some(from) = since.checked_add(1) else { return Ok(none) };
    let (found, looked_at, below) = match source {
        Source::All => {
            let scan = Scan::prefix(&(tenant_id, service)).from(&(tenant_id, service, from)).newest_first();
            let scan = before.iter().fold(scan, |scan, id| scan.after(&(tenant_id, service, *id)));
            let rows = read.scan(&DELIVERIES, scan.limit(PAGE_ROWS))?;
            let (count, last) = (rows.len(), rows.last().map(|((.., id), _)| *id));
            (rows.into_iter().map(|((.., id), row)| row.into_delivery(id)).collect(), count, last)
        }
        Source::Found(indexes) => {
            let ids = ids(read, outbox, indexes, from, before, PAGE_ROWS)?;
            let mut found = Vec::new();
            for id in &ids {
                found.extend(find(read, outbox, *id)?);
            }
            (found, ids.len(), ids.last().copied())
        }
        Source::Both(endpoint_id, indexes) => return both(read, outbox, (*endpoint_id, indexes), from, before),
    };
    Ok(Part { found, looked_at, below: below.filter(|_| looked_at >= PAGE_ROWS) })
}

/// What an endpoint and other indexes have both: from one to the next that either has, so that neither is gone through where the
/// other has little.
fn both(
    read: &impl Read,
    outbox: Outbox,
    (endpoint_id, indexes): (Uuid, &[(Index, Uuid)]),
    from: u64,
    mut before: Option<u64>,
) -> Result<Part, Failure> {
    let mut found = Vec::new();
    for looked_at in 1..=PAGE_ROWS {
        let newest = |indexes: &[(Index, Uuid)], before| ids(read, outbox, indexes, from, before, 1);
        let of_endpoint = newest(&[(&BY_SUBJECT, endpoint_id)], before)?.first().copied();
        let other = match of_endpoint {
            Some(id) => newest(indexes, id.checked_add(1))?.first().copied(),
            None => None,
        };
        let (Some(id), Some(other)) = (of_endpoint, other) else { return Ok(Part { found, looked_at, below: None }) };
        if other == id {
            found.extend(find(read, outbox, id)?);
            before = Some(id);
        } else {
            before = other.checked_add(1);
        }
    }
    Ok(Part { found, looked_at: PAGE_ROWS, below: before })
}

/// The newest numbers that indexes have, so many at most.
fn ids(
    read: &impl Read,
    outbox: Outbox,
    indexes: &[(Index, Uuid)],
    from: u64,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<u64>, Failure> {
    let (tenant_id, service) = outbox.key();
    let mut found = Vec::new();
    for &(index, subject) in indexes {
        if found.len() == limit {
            break;
        }
        let scan =
            Scan::prefix(&(tenant_id, service, subject)).from(&(tenant_id, service, subject, from)).newest_first();
        let scan = before.iter().fold(scan, |scan, id| scan.after(&(tenant_id, service, subject, *id)));
        let rows = read.scan(index, scan.limit(limit - found.len()))?;
        found.extend(rows.into_iter().map(|((.., id), Mark)| id));
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
