//! What is stored of the tool guard.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0560 | guard rules | workspace | the rules, in their order |
//! | 0x0561 | guarded uses | workspace, approval | for whose use of a tool an approval was raised, and when it was used up |
//! | 0x0562 | guarded uses by digest | workspace, agent, digest | the last approval that was raised for a use |

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::Rule;
use crate::model::{AgentNo, ApprovalId, ApprovalKey, FAMILY, WorkspaceNo};

pub(super) const RULES: Table<WorkspaceNo, RulesRow> = Table::new(0x0560, FAMILY, "messaging_guard_rules");
pub(super) const USES: Table<ApprovalKey, UseRow> = Table::new(0x0561, FAMILY, "messaging_guarded_uses");
pub(super) const USES_BY_DIGEST: Table<(WorkspaceNo, AgentNo, Vec<u8>), ApprovalRow> =
    Table::new(0x0562, FAMILY, "messaging_guarded_uses_by_digest");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[RULES.spec(), USES.spec(), USES_BY_DIGEST.spec()];

/// The rules of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct RulesRow {
    pub(super) rules: Vec<Rule>,
    pub(super) changed_at: Timestamp,
}
impl Row for RulesRow {}

/// A use of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct UseRow {
    pub(super) agent: AgentNo,
    pub(super) digest: Digest,
    pub(super) used_at: Option<Timestamp>,
}
impl Row for UseRow {}

/// An approval.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ApprovalRow(pub(super) ApprovalId);
impl Row for ApprovalRow {}
