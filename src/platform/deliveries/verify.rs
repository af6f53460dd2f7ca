//! What must be true of the rows of deliveries.

use std::collections::{BTreeMap, HashSet};

use quintet_storage::{Failure, Read, Scan, Timestamp};
use uuid::Uuid;

use super::due::lane_of;
use super::model::{Counters, Delivery, End, LastError, Outbox, Repeat, Target};
use super::old::old_hour;
use super::tables::{BODIES, BY_RESOURCE, BY_SUBJECT, COUNTERS, DELIVERIES, DUE, Index, Mark, OLD, OutboxKey, indexes};
use crate::verify::each;

/// Deliveries, their bodies, their indexes and their counters agree; no event goes to one place twice.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    check_deliveries(read, findings)?;
    each(read, &BODIES, findings, |(tenant_id, service, id), _, findings| {
        if !read.contains(&DELIVERIES, &(tenant_id, service, id))? {
            findings.push(format!("there is a body of delivery {id} of tenant {tenant_id}, and no such delivery"));
        }
        Ok(())
    })?;
    each(read, &COUNTERS, findings, |(tenant_id, service), row, findings| {
        let has_some =
            || read.scan(&DELIVERIES, Scan::prefix(&(tenant_id, service)).limit(1)).map(|all| !all.is_empty());
        if Counters::from(row).pending > 0 && !has_some()? {
            findings.push(format!("tenant {tenant_id} counts deliveries that wait, and has none"));
        }
        Ok(())
    })?;
    each(read, &DUE, findings, |(at, tenant_id, service, id), row, findings| {
        let delivery = read.get(&DELIVERIES, &(tenant_id, service, id))?.map(|row| row.into_delivery(id));
        let is_right = delivery.is_some_and(|delivery| {
            // What an address's authority is was seen another way when some of them were enqueued.
            let is_lane_right = delivery.target == Target::Inline || lane_of(&delivery).into_bytes() == row.lane;
            delivery.next_attempt_at == Some(at) && is_lane_right
        });
        if !is_right {
            findings.push(format!("delivery {id} of tenant {tenant_id} is due at {at:?}, and does not say so itself"));
        }
        Ok(())
    })?;
    each(read, &OLD, findings, |(hour, tenant_id, service, id), Mark, findings| {
        let delivery = read.get(&DELIVERIES, &(tenant_id, service, id))?.map(|row| row.into_delivery(id));
        if delivery.is_none_or(|delivery| delivery.end.is_none() || old_hour(&delivery) != hour) {
            findings.push(format!("delivery {id} of tenant {tenant_id} is to go in hour {hour}, and should not"));
        }
        Ok(())
    })?;
    for index in [&BY_SUBJECT as Index, &BY_RESOURCE] {
        each(read, index, findings, |(tenant_id, service, subject, id), Mark, findings| {
            let delivery = read.get(&DELIVERIES, &(tenant_id, service, id))?.map(|row| row.into_delivery(id));
            let is_own = |(one, its): (Index, Uuid)| one.spec().tag == index.spec().tag && its == subject;
            if delivery.is_none_or(|delivery| !indexes(&delivery).any(is_own)) {
                findings
                    .push(format!("delivery {id} of tenant {tenant_id} is found under {subject}, and should not be"));
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// What was counted of the outbox that is being looked at, and of the event.
#[derive(Default)]
struct Seen {
    outbox: Option<OutboxKey>,
    last_id: u64,
    pending: u64,
    /// By endpoint, as far as it is counted.
    waiting: BTreeMap<Uuid, u64>,
    dead: u64,
    event_id: Option<Uuid>,
    lanes: HashSet<Uuid>,
}

fn check_deliveries(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut seen = Seen::default();
    each(read, &DELIVERIES, findings, |place, row, findings| {
        let (tenant_id, service, id) = place;
        if seen.outbox != Some((tenant_id, service)) {
            seen.check(read, findings)?;
            seen = Seen { outbox: Some((tenant_id, service)), ..Seen::default() };
        }
        let has_body = row.sealed.is_some();
        let delivery = row.into_delivery(id);
        if has_body == read.contains(&BODIES, &place)? {
            findings.push(format!("delivery {id} of tenant {tenant_id} has no body, or two"));
        }
        if seen.has_twice(&delivery) {
            findings.push(format!("delivery {id} of tenant {tenant_id} tells somebody of an event once more"));
        }
        check_rows(read, &delivery, place, findings)
    })?;
    seen.check(read, findings)
}

/// The rows that belong to a delivery.
fn check_rows(
    read: &impl Read,
    delivery: &Delivery,
    (tenant_id, service, id): (Uuid, u8, u64),
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut missing = |what: &str| findings.push(format!("delivery {id} of tenant {tenant_id} has no {what}"));
    if Outbox::of((tenant_id, service)).is_err() {
        missing("service");
    }
    for (index, subject) in indexes(delivery) {
        if !read.contains(index, &(tenant_id, service, subject, id))? {
            missing("place in its index");
        }
    }
    let due_at = |at: Timestamp| read.contains(&DUE, &(at, tenant_id, service, id));
    match (delivery.end, delivery.next_attempt_at) {
        (None, Some(at)) if due_at(at)? => {}
        (None, _) => missing("next attempt"),
        (Some(_), Some(_)) => missing("reason to be tried again"),
        (Some(_), None) if read.contains(&OLD, &(old_hour(delivery), tenant_id, service, id))? => {}
        (Some(_), None) => missing("time to go"),
    }
    let repeated = delivery.redelivery_of.map(|id| read.get(&DELIVERIES, &(tenant_id, service, id))).transpose()?;
    let repeated = repeated.flatten().map(|row| row.into_delivery(delivery.redelivery_of.unwrap_or_default()));
    if repeated.is_some_and(|one| one.repeat == Repeat::No || one.repeated_by().is_some_and(|by| by < id)) {
        missing("word in what it repeats");
    }
    if delivery.end == Some(End::Delivered) && delivery.attempts == 0 {
        missing("attempt that was taken");
    }
    Ok(())
}

/// Whether it was given up, and that counts: an attempt was made at it or would have been, and it was no test.
fn has_counted(delivery: &Delivery) -> bool {
    let is_undeliverable =
        matches!(delivery.last_error, Some(LastError::EndpointDisabled | LastError::EndpointDeleted));
    delivery.end == Some(End::Dead) && delivery.is_counted && !is_undeliverable
}

impl Seen {
    /// Deliveries of one event are numbered one after the other.
    fn has_twice(&mut self, delivery: &Delivery) -> bool {
        self.last_id = delivery.id;
        self.pending += u64::from(delivery.end.is_none());
        if let (None, Target::Endpoint(id), true) = (delivery.end, delivery.target, delivery.repeat != Repeat::Unsaid) {
            *self.waiting.entry(id).or_default() += 1;
        }
        self.dead += u64::from(has_counted(delivery));
        if delivery.redelivery_of.is_some() {
            return false;
        }
        if self.event_id != Some(delivery.event_id) {
            self.event_id = Some(delivery.event_id);
            self.lanes.clear();
        }
        !self.lanes.insert(lane_of(delivery))
    }

    fn check(&self, read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
        let Some(outbox) = self.outbox else { return Ok(()) };
        let row = read.get(&COUNTERS, &outbox)?.unwrap_or_default();
        let counts = Outbox::of(outbox)?.counts_by_endpoint();
        if counts && !row.waiting().eq(self.waiting.iter().map(|(id, count)| (*id, *count))) {
            let tenant_id = outbox.0;
            findings
                .push(format!("tenant {tenant_id} counts what waits for its endpoints, and that is not what waits"));
        }
        let counted = Counters::from(row);
        // What was given up and is gone counts on.
        if counted.pending != self.pending || counted.last_id < self.last_id || counted.dead_total < self.dead {
            let (tenant_id, pending, dead) = (outbox.0, self.pending, self.dead);
            let found = format!("has {pending} deliveries waiting and {dead} that were given up");
            findings.push(format!("tenant {tenant_id} {found}, and counts {counted:?}"));
        }
        Ok(())
    }
}
