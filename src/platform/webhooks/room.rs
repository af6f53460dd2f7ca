//! What a service says of its webhooks.

use quintet_storage::{Failure, Table, Timestamp, WriteTx};
use uuid::Uuid;

use super::model::Deed;
use super::tables::{EndpointId, EndpointRow, SubscriptionsRow, TenantId};
use crate::access::Service;
use crate::deliveries::Outbox;
use crate::json::Json;

/// The webhooks of a service.
#[derive(Clone, Copy)]
pub struct Webhooks {
    /// Which.
    pub service: Service,
    /// Where its endpoints lie.
    pub endpoints: &'static Table<(TenantId, EndpointId), EndpointRow>,
    /// Where that lies which active endpoints ask for, a row for each tenant.
    pub subscriptions: &'static Table<TenantId, SubscriptionsRow>,
    /// What a pattern asks for, a bit for each event; none if nobody emits such a thing.
    pub asked_by: fn(&str) -> Option<u32>,
    /// The bit of `webhook.endpoint_degraded`.
    pub degraded: u32,
    /// What holds for a tenant.
    pub terms: fn(&WriteTx<'_>, Uuid) -> Result<Terms, Failure>,
    /// Takes about so many bytes off what is told of an event, as far as there is something to take off; whether there was.
    pub shorten: fn(&mut Json, usize) -> bool,
    /// Writes down for a tenant what nobody of it has done, in the transaction that does it.
    pub record: fn(&mut WriteTx<'_>, Timestamp, Uuid, Deed<'_>) -> Result<(), Failure>,
    /// How ids are written.
    pub write_id: fn(Uuid) -> String,
    /// How they are read.
    pub read_id: fn(&str) -> Option<Uuid>,
}

/// What holds for a tenant's webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The most that is sent of one event, in bytes.
    pub body_bytes_max: u64,
    /// For how many days a delivery is kept once it has ended.
    pub kept_days: u64,
}

impl Webhooks {
    /// The deliveries of a tenant.
    #[must_use]
    pub const fn outbox(&self, tenant_id: Uuid) -> Outbox {
        Outbox { tenant_id, service: self.service }
    }

    /// What patterns ask for, all of them together.
    #[must_use]
    pub fn events_of(&self, patterns: &[String]) -> u32 {
        patterns.iter().filter_map(|pattern| (self.asked_by)(pattern)).fold(0, |all, events| all | events)
    }
}
