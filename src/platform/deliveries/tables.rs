//! What is stored of deliveries. Nobody but the verbs of this folder knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0140 | deliveries | tenant, service, number | how a delivery stands; what is sent, if it is small |
//! | 0x0141 | bodies | tenant, service, number | what is sent, and the key of an inline target: sealed |
//! | 0x0142 | due deliveries | instant, tenant, service, number | the next attempt of each that has not ended, with its lane |
//! | 0x0143 | deliveries by subject | tenant, service, endpoint, number | those of an endpoint; those about something that were enqueued before `DeliveryRow`'s version 3, by a digest |
//! | 0x0144 | counters (hot) | tenant, service | see `Counters` |
//! | 0x0145 | health (hot) | tenant, service, endpoint | see `Health` |
//! | 0x0146 | old deliveries | hour, tenant, service, number | when what has ended may go |
//! | 0x0147 | dropped targets | instant, tenant, service, endpoint | whose deliveries go, though there were too many for one transaction |
//! | 0x0148 | deliveries by resource | tenant, service, subject, number | those about something |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Failure, Family, Row, Table, TableSpec, Timestamp, decode_plain};
use uuid::Uuid;

use super::health::Health;
use super::model::{Counters, Delivery, End, LastError, Outbox, Repeat, Target};
use crate::access::Service;
use crate::ids::parse_ulid;
use crate::secrets::digest_parts;

/// Tenant and service.
pub(super) type OutboxKey = (Uuid, u8);
/// Tenant, service, number.
pub(super) type Place = (Uuid, u8, u64);
/// Instant, tenant, service, number.
pub(super) type DuePlace = (Timestamp, Uuid, u8, u64);

/// How deliveries stand.
pub(crate) const DELIVERIES: Table<Place, DeliveryRow> = Table::new(0x0140, Family::APPLIANCE, "platform.deliveries");
/// What is sent.
pub(crate) const BODIES: Table<Place, BodyRow> = Table::new(0x0141, Family::APPLIANCE, "platform.delivery_bodies");
/// What waits for an attempt.
pub(crate) const DUE: Table<DuePlace, DueRow> = Table::new(0x0142, Family::APPLIANCE, "platform.deliveries_due");
/// What finds deliveries: tenant, service, what they have in common, number.
pub(super) type Index = &'static Table<(Uuid, u8, Uuid, u64), Mark>;
/// Those of an endpoint.
pub(crate) const BY_SUBJECT: Table<(Uuid, u8, Uuid, u64), Mark> =
    Table::new(0x0143, Family::APPLIANCE, "platform.deliveries_by_subject");
/// Those about something. Not in one table with those of an endpoint: what is new stands last in each of them, and a
/// memtable finds a row's place from where the last one of its table went.
pub(crate) const BY_RESOURCE: Table<(Uuid, u8, Uuid, u64), Mark> =
    Table::new(0x0148, Family::APPLIANCE, "platform.deliveries_by_resource");
/// See [`Counters`].
pub(crate) const COUNTERS: Table<OutboxKey, CountersRow> =
    Table::new(0x0144, Family::APPLIANCE, "platform.delivery_counters").hot();
/// See [`Health`].
pub(crate) const HEALTH: Table<HealthPlace, HealthRow> =
    Table::new(0x0145, Family::APPLIANCE, "platform.delivery_health").hot();
/// What may go, by the hour.
pub(crate) const OLD: Table<(u32, Uuid, u8, u64), Mark> =
    Table::new(0x0146, Family::APPLIANCE, "platform.deliveries_old");
/// Endpoints whose deliveries go.
pub(crate) const DROPPED: Table<(Timestamp, Uuid, u8, Uuid), Mark> =
    Table::new(0x0147, Family::APPLIANCE, "platform.deliveries_dropped");

/// Tenant, service, endpoint.
pub(super) type HealthPlace = (Uuid, u8, Uuid);

/// The tables of this folder.
pub(crate) const TABLES: [TableSpec; 9] = [
    DELIVERIES.spec(),
    BODIES.spec(),
    DUE.spec(),
    BY_SUBJECT.spec(),
    COUNTERS.spec(),
    HEALTH.spec(),
    OLD.spec(),
    DROPPED.spec(),
    BY_RESOURCE.spec(),
];

impl Outbox {
    pub(super) fn key(self) -> OutboxKey {
        (self.tenant_id, self.service.code())
    }

    pub(super) fn place(self, id: u64) -> Place {
        (self.tenant_id, self.service.code(), id)
    }

    pub(super) fn of((tenant_id, code): OutboxKey) -> Result<Outbox, Failure> {
        let service = Service::of_code(code);
        let service = service.ok_or_else(|| Failure::Damaged(format!("there is no service with code {code}")))?;
        Ok(Outbox { tenant_id, service })
    }
}

/// Where deliveries about something are found: those of now, and behind them those from before version 3 of their row.
pub(super) fn indexes_of(resource: &str) -> [(Index, Uuid); 2] {
    [by_resource(resource), (&BY_SUBJECT, digest_of(resource))]
}

/// By its own id, if it has one: what is made later is told of later, and its rows stand behind those of others.
fn by_resource(resource: &str) -> (Index, Uuid) {
    (&BY_RESOURCE, parse_ulid(resource).unwrap_or_else(|| digest_of(resource)))
}

fn digest_of(resource: &str) -> Uuid {
    half(&[b"resource", resource.as_bytes()])
}

/// What a delivery is found by.
pub(super) fn indexes(delivery: &Delivery) -> impl Iterator<Item = (Index, Uuid)> {
    let endpoint = match delivery.target {
        Target::Endpoint(id) => Some((&BY_SUBJECT as Index, id)),
        Target::Inline => None,
    };
    let resource = if delivery.is_by_resource {
        by_resource(&delivery.resource)
    } else {
        (&BY_SUBJECT as Index, digest_of(&delivery.resource))
    };
    endpoint.into_iter().chain([resource])
}

/// The lane of deliveries to an authority.
pub(super) fn lane_of_authority(authority: &str) -> Uuid {
    half(&[b"authority", authority.as_bytes()])
}

fn half(parts: &[&[u8]]) -> Uuid {
    let digest = digest_parts(parts);
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(digest) {
        *to = from;
    }
    Uuid::from_bytes(half)
}

/// How a delivery stands.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct DeliveryRow {
    endpoint_id: Option<[u8; 16]>,
    event_id: [u8; 16],
    event: String,
    resource: String,
    /// Empty for none.
    url: String,
    attempts: u32,
    attempts_max: u32,
    next_attempt_at: Option<Timestamp>,
    last_status: Option<u16>,
    last_error: Option<LastError>,
    created_at: Timestamp,
    settled_at: Option<Timestamp>,
    end: Option<End>,
    redelivery_of: Option<u64>,
    is_counted: bool,
    kept_days: u32,
    /// [`Contents`], for the tenant, sealed as the row of [`BODIES`] that stands in where they are too long for this one.
    pub(super) sealed: Option<Sealed>,
    /// Whether it stands in [`BY_RESOURCE`].
    is_by_resource: bool,
    repeat: Repeat,
}

impl Row for DeliveryRow {
    const VERSION: u8 = 4;

    /// Version 1 ended before the last three members, 2 before the last two, 3 before the last: a byte each says none, no, and
    /// that nobody has said.
    fn migrate(version: u8, bytes: &[u8]) -> Result<DeliveryRow, Failure> {
        match version {
            1 => decode_plain(&[bytes, &[0, 0, 0]].concat()),
            2 => decode_plain(&[bytes, &[0, 0]].concat()),
            3 => decode_plain(&[bytes, &[0]].concat()),
            _ => Err(Failure::Damaged(format!("a delivery has unknown version {version}"))),
        }
    }
}

impl DeliveryRow {
    pub(super) fn into_delivery(self, id: u64) -> Delivery {
        let row = self;
        Delivery {
            id,
            target: row.endpoint_id.map_or(Target::Inline, |id| Target::Endpoint(Uuid::from_bytes(id))),
            event_id: Uuid::from_bytes(row.event_id),
            event: row.event,
            resource: row.resource,
            url: Some(row.url).filter(|url| !url.is_empty()),
            attempts: row.attempts,
            attempts_max: row.attempts_max,
            next_attempt_at: row.next_attempt_at,
            last_status: row.last_status,
            last_error: row.last_error,
            created_at: row.created_at,
            settled_at: row.settled_at,
            end: row.end,
            redelivery_of: row.redelivery_of,
            is_counted: row.is_counted,
            kept_days: row.kept_days,
            is_by_resource: row.is_by_resource,
            repeat: row.repeat,
        }
    }
}

impl DeliveryRow {
    pub(super) fn new(delivery: &Delivery, sealed: Option<Sealed>) -> DeliveryRow {
        DeliveryRow {
            endpoint_id: match delivery.target {
                Target::Endpoint(id) => Some(id.into_bytes()),
                Target::Inline => None,
            },
            event_id: delivery.event_id.into_bytes(),
            event: delivery.event.clone(),
            resource: delivery.resource.clone(),
            url: delivery.url.clone().unwrap_or_default(),
            attempts: delivery.attempts,
            attempts_max: delivery.attempts_max,
            next_attempt_at: delivery.next_attempt_at,
            last_status: delivery.last_status,
            last_error: delivery.last_error,
            created_at: delivery.created_at,
            settled_at: delivery.settled_at,
            end: delivery.end,
            redelivery_of: delivery.redelivery_of,
            is_counted: delivery.is_counted,
            kept_days: delivery.kept_days,
            sealed,
            is_by_resource: delivery.is_by_resource,
            repeat: delivery.repeat,
        }
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct BodyRow {
    /// [`Contents`], for the tenant.
    pub(super) sealed: Sealed,
}
impl Row for BodyRow {}

/// What is sealed of a delivery, in this shape.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct Contents {
    /// The key that signs it, where its target is inline and has one.
    pub(super) key: Option<Vec<u8>>,
    /// What is sent.
    pub(super) body: Vec<u8>,
}

/// A delivery that waits.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct DueRow {
    /// Its lane: the endpoint, or what stands for the authority.
    pub(super) lane: [u8; 16],
    /// Whether an attempt has been made already.
    pub(super) is_retry: bool,
}

impl Row for DueRow {
    const VERSION: u8 = 2;

    /// Version 1 had no word of earlier attempts.
    fn migrate(version: u8, bytes: &[u8]) -> Result<DueRow, Failure> {
        match version {
            1 => decode_plain(&[bytes, &[0]].concat()),
            _ => Err(Failure::Damaged(format!("a delivery that waits has unknown version {version}"))),
        }
    }
}

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Mark;
impl Row for Mark {}

/// See [`Counters`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct CountersRow {
    pub(super) last_id: u64,
    pending: u64,
    pub(super) dead_total: u64,
    /// What of `pending` waits for which endpoint, in the order of their ids; where nothing waits there is none. What was
    /// enqueued before version 4 of a delivery's row is not counted here.
    waiting: Vec<([u8; 16], u64)>,
}

impl Row for CountersRow {
    const VERSION: u8 = 2;

    /// Version 1 had no count by endpoint.
    fn migrate(version: u8, bytes: &[u8]) -> Result<CountersRow, Failure> {
        match version {
            1 => decode_plain(&[bytes, &[0]].concat()),
            _ => Err(Failure::Damaged(format!("counters of deliveries have unknown version {version}"))),
        }
    }
}

impl CountersRow {
    /// How many wait for an endpoint.
    pub(super) fn waiting_for(&self, endpoint_id: Uuid) -> u64 {
        match self.place_of(endpoint_id) {
            Ok(place) => self.waiting.get(place).map_or(0, |(_, count)| *count),
            Err(_) => 0,
        }
    }

    /// How many wait for addresses of their own.
    pub(super) fn waiting_inline(&self) -> u64 {
        self.pending.saturating_sub(self.waiting.iter().map(|(_, count)| count).sum())
    }

    fn place_of(&self, endpoint_id: Uuid) -> Result<usize, usize> {
        self.waiting.binary_search_by(|(id, _)| id.cmp(endpoint_id.as_bytes()))
    }

    /// A delivery waits from now on.
    pub(super) fn waits(&mut self, outbox: Outbox, target: Target) {
        self.pending += 1;
        let Target::Endpoint(endpoint_id) = target else { return };
        if !outbox.counts_by_endpoint() {
            return;
        }
        match self.place_of(endpoint_id) {
            Ok(place) => self.waiting.iter_mut().skip(place).take(1).for_each(|(_, count)| *count += 1),
            Err(place) => self.waiting.insert(place, (endpoint_id.into_bytes(), 1)),
        }
    }

    /// A delivery waits no more.
    pub(super) fn waits_no_more(&mut self, delivery: &Delivery) {
        self.pending = self.pending.saturating_sub(1);
        let Target::Endpoint(endpoint_id) = delivery.target else { return };
        if delivery.repeat == Repeat::Unsaid {
            return;
        }
        if let Ok(place) = self.place_of(endpoint_id) {
            self.waiting.iter_mut().skip(place).take(1).for_each(|(_, count)| *count = count.saturating_sub(1));
            self.waiting.retain(|(_, count)| *count > 0);
        }
    }

    /// A delivery was given up, and that counts.
    pub(super) fn died(&mut self) {
        self.dead_total = self.dead_total.saturating_add(1);
    }

    /// What waits for endpoints.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (Uuid, u64)> + '_ {
        self.waiting.iter().map(|(id, count)| (Uuid::from_bytes(*id), *count))
    }
}

impl From<CountersRow> for Counters {
    fn from(CountersRow { last_id, pending, dead_total, .. }: CountersRow) -> Counters {
        Counters { last_id, pending, dead_total }
    }
}

/// See [`Health`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct HealthRow {
    consecutive_failures: u64,
    dead_total: u64,
    deads: Vec<Timestamp>,
    last_dead_at: Option<Timestamp>,
    last_delivered_at: Option<Timestamp>,
    window_from: Option<Timestamp>,
    noticed_at: Option<Timestamp>,
}

impl Row for HealthRow {
    const VERSION: u8 = 2;

    /// Version 1 had no word of notices.
    fn migrate(version: u8, bytes: &[u8]) -> Result<HealthRow, Failure> {
        match version {
            1 => decode_plain(&[bytes, &[0]].concat()),
            _ => Err(Failure::Damaged(format!("the health of an endpoint has unknown version {version}"))),
        }
    }
}

impl From<HealthRow> for Health {
    fn from(row: HealthRow) -> Health {
        Health {
            consecutive_failures: row.consecutive_failures,
            dead_total: row.dead_total,
            deads: row.deads,
            last_dead_at: row.last_dead_at,
            last_delivered_at: row.last_delivered_at,
            window_from: row.window_from,
            noticed_at: row.noticed_at,
        }
    }
}

impl From<&Health> for HealthRow {
    fn from(health: &Health) -> HealthRow {
        HealthRow {
            consecutive_failures: health.consecutive_failures,
            dead_total: health.dead_total,
            deads: health.deads.clone(),
            last_dead_at: health.last_dead_at,
            last_delivered_at: health.last_delivered_at,
            window_from: health.window_from,
            noticed_at: health.noticed_at,
        }
    }
}
