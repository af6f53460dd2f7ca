//! What is stored of acknowledgements.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0538 | acknowledgements owed | workspace, who owes it, message | to whom, until when, how often he was reminded |
//! | 0x0539 | acknowledgements awaited | workspace, whose message it is, message, who owes it | |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::Owed;
use crate::model::{AgentNo, FAMILY, Mark, MessageId, WorkspaceNo};

pub(super) const OWED: Table<(WorkspaceNo, AgentNo, MessageId), OwedRow> =
    Table::new(0x0538, FAMILY, "messaging_acks_owed");
pub(super) const AWAITED: Table<(WorkspaceNo, AgentNo, MessageId, AgentNo), Mark> =
    Table::new(0x0539, FAMILY, "messaging_acks_awaited");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[OWED.spec(), AWAITED.spec()];

/// See [`Owed`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct OwedRow {
    sender: AgentNo,
    since: Timestamp,
    required_by: Timestamp,
    attempts: u32,
    last_attempt_at: Option<Timestamp>,
    looked_at: Timestamp,
}
impl Row for OwedRow {}

impl OwedRow {
    pub(super) fn of(owed: Owed) -> OwedRow {
        let Owed { sender, since, required_by, attempts, last_attempt_at, looked_at } = owed;
        OwedRow { sender, since, required_by, attempts, last_attempt_at, looked_at }
    }

    pub(super) fn into_owed(self) -> Owed {
        let OwedRow { sender, since, required_by, attempts, last_attempt_at, looked_at } = self;
        Owed { sender, since, required_by, attempts, last_attempt_at, looked_at }
    }
}
