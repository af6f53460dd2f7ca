//! The rows of the audit chain.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0310 | audit events | tenant, number | the chain |
//! | 0x0311 | audit heads (hot) | tenant | number and hash of the last event |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::ActorKind;
use crate::model::{FAMILY, TenantId};

/// The audit chain of each tenant.
pub const AUDIT_EVENTS: Table<(TenantId, u64), AuditEventRow> = Table::new(0x0310, FAMILY, "localization_audit_events");
/// Where each tenant's chain ends.
pub const AUDIT_HEADS: Table<TenantId, AuditHeadRow> = Table::new(0x0311, FAMILY, "localization_audit_heads").hot();

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[AUDIT_EVENTS.spec(), AUDIT_HEADS.spec()];

/// An event of the audit chain.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditEventRow {
    /// Its id.
    pub event_id: [u8; 16],
    /// When it happened.
    pub occurred_at: Timestamp,
    /// What kind of actor it was.
    pub actor_kind: ActorKind,
    /// Who it was.
    pub actor_id: [u8; 16],
    /// What was done.
    pub action: String,
    /// To what kind of thing.
    pub target_type: String,
    /// To which.
    pub target_id: String,
    /// What belongs to the action: canonical JSON of an object; empty: nothing.
    pub payload: String,
    /// The request it came with; empty: none.
    pub request_id: String,
    /// The hash of the event before it; zeros for the first.
    pub prev_hash: [u8; 32],
    /// Its own.
    pub hash: [u8; 32],
}
impl Row for AuditEventRow {}

/// The end of a tenant's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditHeadRow {
    /// The number of the last event; the first is 1.
    pub seq: u64,
    /// Its hash.
    pub hash: [u8; 32],
}
impl Row for AuditHeadRow {}
