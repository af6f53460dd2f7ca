//! What is stored of webhooks. Nobody but `endpoints` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0414 | endpoints | tenant, endpoint | who is to be told; the secret sealed |
//! | 0x0415 | subscriptions (hot) | tenant | what its active endpoints ask for: most changes of state end here |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{DisabledReason, Endpoint, EndpointId, SecretOrigin, Subscription};
use crate::events::Events;
use crate::model::{FAMILY, TenantId};

/// Endpoints.
pub(super) const ENDPOINTS: Table<(TenantId, EndpointId), EndpointRow> = Table::new(0x0414, FAMILY, "runs_endpoints");
/// What active endpoints ask for.
pub(super) const SUBSCRIPTIONS: Table<TenantId, SubscriptionsRow> =
    Table::new(0x0415, FAMILY, "runs_subscriptions").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[ENDPOINTS.spec(), SUBSCRIPTIONS.spec()];

/// See [`Endpoint`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct EndpointRow {
    url: String,
    patterns: Vec<String>,
    description: Option<String>,
    /// The bytes that sign, for the tenant.
    pub(super) secret: Sealed,
    secret_origin: SecretOrigin,
    disabled: Option<DisabledReason>,
    created_at: Timestamp,
    updated_at: Timestamp,
}
impl Row for EndpointRow {}

impl EndpointRow {
    pub(super) fn new(endpoint: &Endpoint, secret: Sealed) -> EndpointRow {
        EndpointRow {
            url: endpoint.url.clone(),
            patterns: endpoint.patterns.clone(),
            description: endpoint.description.clone(),
            secret,
            secret_origin: endpoint.secret_origin,
            disabled: endpoint.disabled,
            created_at: endpoint.created_at,
            updated_at: endpoint.updated_at,
        }
    }
}

impl From<EndpointRow> for Endpoint {
    fn from(row: EndpointRow) -> Endpoint {
        Endpoint {
            url: row.url,
            patterns: row.patterns,
            description: row.description,
            secret_origin: row.secret_origin,
            disabled: row.disabled,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// What a tenant's active endpoints ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct SubscriptionsRow {
    /// Endpoint, events, and what is written empty: its address once stood there.
    all: Vec<([u8; 16], u32, String)>,
}
impl Row for SubscriptionsRow {}

impl From<SubscriptionsRow> for Vec<Subscription> {
    fn from(row: SubscriptionsRow) -> Vec<Subscription> {
        let subscription =
            |(id, events, _)| Subscription { endpoint_id: EndpointId(Uuid::from_bytes(id)), events: Events(events) };
        row.all.into_iter().map(subscription).collect()
    }
}

impl From<Vec<Subscription>> for SubscriptionsRow {
    fn from(all: Vec<Subscription>) -> SubscriptionsRow {
        let row = |one: Subscription| (one.endpoint_id.0.into_bytes(), one.events.0, String::new());
        SubscriptionsRow { all: all.into_iter().map(row).collect() }
    }
}
