//! What is stored of approvals.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0550 | approvals | workspace, approval | an approval, all but what it is about |
//! | 0x0551 | approval matters | workspace, approval | what it is about, sealed |
//! | 0x0552 | approvals by status | workspace, status, approval | |
//! | 0x0553 | approval verdicts | workspace, approval | how it ended: who, how, when, from where; the reason is sealed |
//! | 0x0554 | approval kinds | workspace, kind | who approves, and how long is waited |
//! | 0x0555 | approval links | half of the token's digest | for which approval and person a link is |
//! | 0x0556 | links of approvals | workspace, approval, half of the token's digest | |

use std::fmt;

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::{Approval, How, Person, Status};
use crate::identity::Attestation;
use crate::model::{AgentNo, ApprovalId, ApprovalKey, FAMILY, Mark, ThreadId, WorkspaceNo};

pub(super) const APPROVALS: Table<ApprovalKey, ApprovalRow> = Table::new(0x0550, FAMILY, "messaging_approvals");
pub(super) const MATTERS: Table<ApprovalKey, MatterRow> = Table::new(0x0551, FAMILY, "messaging_approval_matters");
pub(super) const BY_STATUS: Table<(WorkspaceNo, u8, ApprovalId), Mark> =
    Table::new(0x0552, FAMILY, "messaging_approvals_by_status");
pub(super) const VERDICTS: Table<ApprovalKey, VerdictRow> = Table::new(0x0553, FAMILY, "messaging_approval_verdicts");
pub(super) const KINDS: Table<(WorkspaceNo, String), KindRow> = Table::new(0x0554, FAMILY, "messaging_approval_kinds");
pub(super) const LINKS: Table<u128, LinkRow> = Table::new(0x0555, FAMILY, "messaging_approval_links");
pub(super) const LINKS_OF: Table<(WorkspaceNo, ApprovalId, u128), Mark> =
    Table::new(0x0556, FAMILY, "messaging_links_of_approvals");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] =
    &[APPROVALS.spec(), MATTERS.spec(), BY_STATUS.spec(), VERDICTS.spec(), KINDS.spec(), LINKS.spec(), LINKS_OF.spec()];

/// See [`Approval`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ApprovalRow {
    title: String,
    kind: String,
    thread: Option<ThreadId>,
    requester: AgentNo,
    requested_by: String,
    attestation: Attestation,
    action_sha256: Digest,
    created_at: Timestamp,
    expires_at: Timestamp,
    /// As `expires_at`; kept, so that rows of before are read.
    looked_at: Timestamp,
    status: Status,
    decided_at: Option<Timestamp>,
}
impl Row for ApprovalRow {}

impl ApprovalRow {
    pub(super) fn of(approval: Approval) -> ApprovalRow {
        ApprovalRow {
            title: approval.title,
            kind: approval.kind,
            thread: approval.thread,
            requester: approval.requester,
            requested_by: approval.requested_by,
            attestation: approval.attestation,
            action_sha256: approval.action_sha256,
            created_at: approval.created_at,
            expires_at: approval.expires_at,
            looked_at: approval.expires_at,
            status: approval.status,
            decided_at: approval.decided_at,
        }
    }

    pub(super) fn into_approval(self) -> Approval {
        Approval {
            title: self.title,
            kind: self.kind,
            thread: self.thread,
            requester: self.requester,
            requested_by: self.requested_by,
            attestation: self.attestation,
            action_sha256: self.action_sha256,
            created_at: self.created_at,
            expires_at: self.expires_at,
            status: self.status,
            decided_at: self.decided_at,
        }
    }
}

/// What an approval is about.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct MatterRow(pub(super) Sealed);
impl Row for MatterRow {}

/// See [`Verdict`](super::model::Verdict).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct VerdictRow {
    pub(super) status: Status,
    pub(super) at: Timestamp,
    pub(super) by: String,
    pub(super) how: Option<How>,
    pub(super) source: String,
    /// Where there is one.
    pub(super) reason: Option<Sealed>,
}
impl Row for VerdictRow {}

/// See [`Kind`](super::kinds::Kind).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct KindRow {
    pub(super) approvers: Vec<String>,
    pub(super) expires_minutes: Option<i64>,
    pub(super) changed_at: Timestamp,
}
impl Row for KindRow {}

/// A link. Its `Debug` leaves out the digest: that of a secret does not belong in a log.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct LinkRow {
    pub(super) digest: Digest,
    pub(super) workspace: WorkspaceNo,
    pub(super) approval: ApprovalId,
    pub(super) person: Person,
    pub(super) made_at: Timestamp,
}
impl Row for LinkRow {}

impl fmt::Debug for LinkRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkRow { digest: _, workspace, approval, person, made_at } = self;
        f.debug_struct("LinkRow")
            .field("workspace", workspace)
            .field("approval", approval)
            .field("person", person)
            .field("made_at", made_at)
            .finish_non_exhaustive()
    }
}
