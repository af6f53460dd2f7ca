//! What is stored of endpoints. The tables are each service's own; nobody but `endpoints` knows the shape of a row.

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Timestamp, key_newtype};
use uuid::Uuid;

use super::model::{DisabledReason, Endpoint, SecretOrigin, Subscription};

key_newtype!(
    /// Whose an endpoint is.
    pub TenantId(Uuid)
);
key_newtype!(
    /// An endpoint; callers know it as `endpoint_id`.
    pub EndpointId(Uuid)
);

/// See [`Endpoint`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EndpointRow {
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
pub struct SubscriptionsRow {
    /// Endpoint, events, and what is written empty: an address once stood there in those of runs.
    all: Vec<([u8; 16], u32, String)>,
}
impl Row for SubscriptionsRow {}

impl From<SubscriptionsRow> for Vec<Subscription> {
    fn from(row: SubscriptionsRow) -> Vec<Subscription> {
        let subscription = |(id, events, _)| Subscription { endpoint_id: Uuid::from_bytes(id), events };
        row.all.into_iter().map(subscription).collect()
    }
}

impl From<Vec<Subscription>> for SubscriptionsRow {
    fn from(all: Vec<Subscription>) -> SubscriptionsRow {
        let row = |one: Subscription| (one.endpoint_id.into_bytes(), one.events, String::new());
        SubscriptionsRow { all: all.into_iter().map(row).collect() }
    }
}
