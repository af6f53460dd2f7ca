//! The rows of the audit chain.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0310 | audit events | tenant, number | the chain |
//! | 0x0311 | audit heads (hot) | tenant | number and hash of the last event, and what has no checkpoint yet |
//! | 0x0312 | audit key | | the one key that checkpoints are signed with, sealed |
//! | 0x0313 | audit checkpoints | tenant, number of the event | what was signed, and which file is to have its anchor |
//! | 0x0314 | audit checkpoints due | instant, tenant | the agenda |
//! | 0x0315 | audit anchors to write | tenant, number of the event | checkpoints whose anchor may not be in its file yet |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Failure, Row, Table, TableSpec, Timestamp, decode_plain};

use super::model::ActorKind;
use crate::model::{FAMILY, TenantId};

/// The audit chain of each tenant.
pub const AUDIT_EVENTS: Table<(TenantId, u64), AuditEventRow> = Table::new(0x0310, FAMILY, "localization_audit_events");
/// Where each tenant's chain ends.
pub const AUDIT_HEADS: Table<TenantId, AuditHeadRow> = Table::new(0x0311, FAMILY, "localization_audit_heads").hot();
/// The key that checkpoints are signed with; one row.
pub const AUDIT_KEY: Table<(), AuditKeyRow> = Table::new(0x0312, FAMILY, "localization_audit_key");
/// Checkpoints.
pub const AUDIT_CHECKPOINTS: Table<(TenantId, u64), AuditCheckpointRow> =
    Table::new(0x0313, FAMILY, "localization_audit_checkpoints");
/// Tenants whose chain is to have a checkpoint, by when.
pub const AUDIT_DUE: Table<(Timestamp, TenantId), AuditDueRow> = Table::new(0x0314, FAMILY, "localization_audit_due");
/// Checkpoints whose anchor is to be written.
pub const AUDIT_UNANCHORED: Table<(TenantId, u64), AuditUnanchoredRow> =
    Table::new(0x0315, FAMILY, "localization_audit_unanchored");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[
    AUDIT_EVENTS.spec(),
    AUDIT_HEADS.spec(),
    AUDIT_KEY.spec(),
    AUDIT_CHECKPOINTS.spec(),
    AUDIT_DUE.spec(),
    AUDIT_UNANCHORED.spec(),
];

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
    /// The event that the last checkpoint is of; 0: there is none.
    pub checkpoint_seq: u64,
    /// When that was made; before the first one, when the first event was written.
    pub since: Timestamp,
    /// When the next one is due: its place in the agenda. `None`: no event is without one.
    pub due_at: Option<Timestamp>,
}
impl Row for AuditHeadRow {
    const VERSION: u8 = 2;

    /// In version 1 there were no checkpoints: one is due as soon as anybody looks.
    fn migrate(version: u8, body: &[u8]) -> Result<Self, Failure> {
        if version != 1 {
            return Err(Failure::Damaged(format!("the head of an audit chain has unknown version {version}")));
        }
        let AuditHeadRowBefore2 { seq, hash } = decode_plain(body)?;
        Ok(AuditHeadRow { seq, hash, checkpoint_seq: 0, since: Timestamp::EPOCH, due_at: None })
    }
}

/// A head as it was stored before version 2 of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditHeadRowBefore2 {
    /// As in [`AuditHeadRow`].
    pub seq: u64,
    /// As in [`AuditHeadRow`].
    pub hash: [u8; 32],
}

/// The key that checkpoints are signed with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditKeyRow {
    /// The public half (Ed25519).
    pub public: [u8; 32],
    /// The private half, sealed for the appliance.
    pub private: Sealed,
    /// When it was made.
    pub made_at: Timestamp,
}
impl Row for AuditKeyRow {}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditCheckpointRow {
    /// The hash of its event.
    pub hash: [u8; 32],
    /// When it was made.
    pub at: Timestamp,
    /// Which key signed it.
    pub key_id: [u8; 8],
    /// The signature.
    pub signature: [u8; 64],
    /// The file that must have its anchor, as the configuration named it; empty: none was configured.
    pub anchor_file: String,
}
impl Row for AuditCheckpointRow {}

/// A place in the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditDueRow;
impl Row for AuditDueRow {}

/// An anchor that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditUnanchoredRow;
impl Row for AuditUnanchoredRow {}
