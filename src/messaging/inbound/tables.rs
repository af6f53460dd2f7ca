//! What is stored of inbound endpoints.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0570 | endpoints | workspace, agent | an agent's endpoint; its secrets are sealed |
//! | 0x0571 | endpoint ids | endpoint | whose it is |
//! | 0x0572 | counts | workspace, agent | what has come of its calls |
//! | 0x0573 | replays | ten minutes, workspace, agent, digest | a call that was accepted, by what it calls itself or by its signature |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{Counts, Endpoint, EndpointId};
use crate::model::{AgentKey, AgentNo, FAMILY, WorkspaceNo};

pub(super) const ENDPOINTS: Table<AgentKey, EndpointRow> =
    Table::new(0x0570, FAMILY, "messaging_inbound_endpoints").hot();
pub(super) const BY_ID: Table<EndpointId, OwnerRow> = Table::new(0x0571, FAMILY, "messaging_inbound_ids").hot();
pub(super) const COUNTS: Table<AgentKey, CountsRow> = Table::new(0x0572, FAMILY, "messaging_inbound_counts").hot();
/// Since 1970 counted by ten minutes; whose; of what.
pub(super) type ReplayPlace = (u32, WorkspaceNo, AgentNo, u128);
/// Time stands first, so that what is old lies together.
pub(super) const REPLAYS: Table<ReplayPlace, ReplayRow> = Table::new(0x0573, FAMILY, "messaging_inbound_replays");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[ENDPOINTS.spec(), BY_ID.spec(), COUNTS.spec(), REPLAYS.spec()];

/// See [`Endpoint`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct EndpointRow {
    id: [u8; 16],
    label: String,
    /// Both secrets, for the tenant: as one, or they could be exchanged.
    pub(super) secrets: Sealed,
    generation: u32,
    previous_until: Option<Timestamp>,
    created_at: Timestamp,
}
impl Row for EndpointRow {}

impl EndpointRow {
    pub(super) fn of(endpoint: &Endpoint, secrets: Sealed) -> EndpointRow {
        let Endpoint { id, label, generation, previous_until, created_at } = endpoint.clone();
        EndpointRow { id: id.0.into_bytes(), label, secrets, generation, previous_until, created_at }
    }

    pub(super) fn into_endpoint(self) -> Endpoint {
        let EndpointRow { id, label, secrets: _, generation, previous_until, created_at } = self;
        let id = EndpointId(Uuid::from_bytes(id));
        Endpoint { id, label, generation, previous_until, created_at }
    }
}

/// What is sealed of an endpoint, in this shape.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct SecretsSealed {
    pub(super) current: Vec<u8>,
    pub(super) previous: Option<Vec<u8>>,
}

/// Whose an endpoint is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct OwnerRow {
    pub(super) workspace: WorkspaceNo,
    pub(super) agent: AgentNo,
}
impl Row for OwnerRow {}

/// See [`Counts`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct CountsRow(pub(super) Counts);
impl Row for CountsRow {}

/// A call that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ReplayRow {
    /// Its timestamp; the newest, where it came again.
    pub(super) timestamp: i64,
    /// When it came.
    pub(super) seen_at: Timestamp,
    /// What was answered.
    pub(super) delivery_id: [u8; 16],
}
impl Row for ReplayRow {}
