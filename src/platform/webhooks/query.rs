//! Lists: which deliveries a query asks for, and pages of deliveries and endpoints.

use quintet_storage::{Failure, Read, Snapshot, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use super::model::{Endpoint, EndpointKey};
use super::room::Webhooks;
use crate::deliveries::{Delivery, DeliveryState, Filter, Pump, list};
use crate::service::{Call, Dialect, Page, Parameter, Shape, next_cursor};

const STATES: [&str; 4] = [
    DeliveryState::Pending.name(),
    DeliveryState::Delivering.name(),
    DeliveryState::Delivered.name(),
    DeliveryState::Dead.name(),
];
/// Behind which delivery.
pub const SINCE: Parameter =
    Parameter::new("since", Shape::integer(0, i64::MAX), "Only deliveries with a higher number.");
/// Before which delivery.
pub const BEFORE: Parameter = Parameter::new(
    "before",
    Shape::integer(1, i64::MAX),
    "Only deliveries with a lower number: `next_before` of the answer before.",
);
/// In which state.
pub const STATE: Parameter = Parameter::new("state_filter", Shape::Word(&STATES, ""), "Deliveries in this state.");

/// How many deliveries, unless somebody says.
const USUAL: i64 = 50;

/// How many deliveries, at most so many.
#[must_use]
pub const fn newest(most: i64) -> Parameter {
    let shape = Shape::Integer { min: 1, max: most, default: Some(USUAL) };
    Parameter::new("limit", shape, "The newest so many; what is older is cut off.")
}

/// Which deliveries are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// With higher numbers.
    pub since: u64,
    /// With lower numbers; none: with any.
    pub before: Option<u64>,
    /// The newest so many.
    pub limit: usize,
    /// In which state; none: in any.
    pub state: Option<DeliveryState>,
    /// To which endpoint; none: to any.
    pub endpoint_id: Option<Uuid>,
    /// About what; none: about anything.
    pub resource: Option<String>,
}

impl Asked {
    /// What a query says with [`SINCE`], [`BEFORE`], [`STATE`] and `limit` ([`newest`]).
    ///
    /// # Errors
    /// A parameter is not what it may be.
    pub fn read<D: Dialect>(call: &mut Call<D>, limit: &Parameter) -> Result<Asked, D::Refusal> {
        let since = call.integer(&SINCE)?.and_then(|since| u64::try_from(since).ok()).unwrap_or(0);
        let before = call.integer(&BEFORE)?.and_then(|before| u64::try_from(before).ok());
        let limit = call.integer(limit)?.unwrap_or(USUAL);
        let word = call.word(&STATE)?;
        let state = DeliveryState::ALL.into_iter().find(|state| Some(state.name()) == word);
        let limit = usize::try_from(limit).unwrap_or(1);
        Ok(Asked { since, before, limit, state, endpoint_id: None, resource: None })
    }
}

/// Deliveries of a tenant that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Oldest first.
    pub items: Vec<Value>,
    /// Whether there may be older ones.
    pub is_truncated: bool,
    /// [`BEFORE`] of whoever wants those.
    pub next_before: Option<u64>,
}

impl Webhooks {
    /// The deliveries of a tenant that are asked for.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn deliveries(&self, read: &Snapshot, pump: &Pump, tenant_id: Uuid, asked: &Asked) -> Result<Listed, Failure> {
        let Asked { since, before, limit, state, endpoint_id, resource } = asked;
        let (of, resource) = (self.outbox(tenant_id), resource.as_deref());
        let (endpoint_id, state, since, before, limit) = (*endpoint_id, *state, *since, *before, *limit);
        let filter = Filter { endpoint_id, resource, state, since, before, limit };
        let state = |delivery: &Delivery| pump.state(of, delivery);
        let page = list(read, of, filter, state)?;
        let items = page.items.iter().map(|one| self.write_delivery(read, tenant_id, one, state(one)));
        let items = items.collect::<Result<_, Failure>>()?;
        Ok(Listed { items, is_truncated: page.is_truncated, next_before: page.next_before })
    }

    /// A page of a tenant's endpoints, newest first, and where the next one begins. `noun` is what they are called in cursors.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn page(
        &self,
        read: &impl Read,
        now: Timestamp,
        tenant_id: Uuid,
        noun: &str,
        page: &Page<[u8; 16]>,
    ) -> Result<(Vec<Value>, Option<String>), Failure> {
        let mut endpoints = self.all(read, tenant_id)?;
        endpoints.reverse();
        endpoints.retain(|(id, _)| page.after.is_none_or(|after| id.into_bytes() < after));
        let has_more = endpoints.len() > page.limit;
        endpoints.truncate(page.limit);
        let last = endpoints.last().filter(|_| has_more).map(|(id, _)| id.into_bytes());
        let record = |(id, endpoint): &(Uuid, Endpoint)| {
            self.record(read, now, EndpointKey { tenant_id, endpoint_id: *id }, endpoint)
        };
        let records = endpoints.iter().map(record).collect::<Result<_, Failure>>()?;
        Ok((records, next_cursor(noun, last.as_ref())?))
    }
}
