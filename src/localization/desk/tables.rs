//! The rows of the desk.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x036b | desk decisions | decision | a decision, but for its context |
//! | 0x036c | desk contexts | decision | what is to be looked at |
//! | 0x036d | desk subjects | subject | the decision about it |
//! | 0x036e | desk pending | decision | those that wait, oldest first |
//! | 0x036f | desk expiries | instant, decision | those that wait, in the order in which their time is over |
//! | 0x0370 | desk calls | instant, decision | webhooks that are to be sent |
//! | 0x0371 | desk secret | one | what webhooks are signed with (sealed) |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{DeskApproval, DeskDecision};
use crate::decisions::{Status, Subject, SubjectKind};
use crate::model::{FAMILY, TenantId};

/// Decisions.
pub const DESK_DECISIONS: Table<Uuid, DeskDecisionRow> = Table::new(0x036B, FAMILY, "localization_desk_decisions");
/// Their contexts.
pub const DESK_CONTEXTS: Table<Uuid, DeskContextRow> = Table::new(0x036C, FAMILY, "localization_desk_contexts");
/// Decisions by their subjects' ids.
pub const DESK_SUBJECTS: Table<Uuid, DeskSubjectRow> = Table::new(0x036D, FAMILY, "localization_desk_subjects");
/// Those that wait.
pub const DESK_PENDING: Table<Uuid, DeskMarkRow> = Table::new(0x036E, FAMILY, "localization_desk_pending");
/// Those that wait, by when their time is over.
pub const DESK_EXPIRIES: Table<(Timestamp, Uuid), DeskMarkRow> =
    Table::new(0x036F, FAMILY, "localization_desk_expiries");
/// Webhooks that are to be sent.
pub const DESK_CALLS: Table<(Timestamp, Uuid), DeskCallRow> = Table::new(0x0370, FAMILY, "localization_desk_calls");
/// What they are signed with.
pub const DESK_SECRET: Table<u8, DeskSecretRow> = Table::new(0x0371, FAMILY, "localization_desk_secret");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[
    DESK_DECISIONS.spec(),
    DESK_CONTEXTS.spec(),
    DESK_SUBJECTS.spec(),
    DESK_PENDING.spec(),
    DESK_EXPIRIES.spec(),
    DESK_CALLS.spec(),
    DESK_SECRET.spec(),
];

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DeskDecisionRow {
    /// Whose.
    pub tenant_id: TenantId,
    /// About what kind of thing.
    pub kind: SubjectKind,
    /// About which.
    pub subject_id: [u8; 16],
    /// By which policy.
    pub policy: String,
    /// What would be done: canonical JSON.
    pub action: String,
    /// SHA-256 of the context.
    pub context_sha256: [u8; 32],
    /// How it stands.
    pub status: Status,
    /// When it was raised.
    pub created_at: Timestamp,
    /// Until when it can be taken.
    pub expires_at: Timestamp,
    /// Who has said yes.
    pub approvals: Vec<DeskApproval>,
    /// Who took it.
    pub decided_by: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
    /// The event that tells of it, once it is taken.
    pub event_id: Option<[u8; 16]>,
}
impl Row for DeskDecisionRow {}

impl DeskDecisionRow {
    /// The decision of the id.
    pub fn into_decision(self, decision_id: Uuid) -> DeskDecision {
        let subject = Subject { tenant_id: self.tenant_id, kind: self.kind, id: Uuid::from_bytes(self.subject_id) };
        DeskDecision {
            decision_id,
            subject,
            policy: self.policy,
            action: self.action,
            context_hash: data_encoding::HEXLOWER.encode(&self.context_sha256),
            status: self.status,
            created_at: self.created_at,
            expires_at: self.expires_at,
            approvals: self.approvals,
            decided_by: self.decided_by,
            reason: self.reason,
            decided_at: self.decided_at,
        }
    }
}

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DeskContextRow {
    /// The canonical text of an object.
    pub text: String,
}
impl Row for DeskContextRow {}

/// The decision about a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DeskSubjectRow {
    /// Which.
    pub decision_id: [u8; 16],
}
impl Row for DeskSubjectRow {}

/// The row of an index whose key says everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DeskMarkRow;
impl Row for DeskMarkRow {}

/// A webhook that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DeskCallRow {
    /// How often it was sent in vain.
    pub attempts: u32,
}
impl Row for DeskCallRow {}

/// What webhooks are signed with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DeskSecretRow {
    /// A text, sealed for the appliance.
    pub sealed: Sealed,
}
impl Row for DeskSecretRow {}
