//! What is stored of blocks.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0534 | blocks | workspace, who blocks, who is blocked | since when, until when, why |
//! | 0x0535 | blockers | workspace, who is blocked | who blocks him, lapsed ones too |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::Block;
use crate::model::{AgentKey, AgentNo, FAMILY, WorkspaceNo};

pub(super) const BLOCKS: Table<(WorkspaceNo, AgentNo, AgentNo), BlockRow> =
    Table::new(0x0534, FAMILY, "messaging_blocks");
/// Asked with each message: that there are none is worth knowing.
pub(super) const BLOCKERS: Table<AgentKey, BlockersRow> = Table::new(0x0535, FAMILY, "messaging_blockers").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[BLOCKS.spec(), BLOCKERS.spec()];

/// See [`Block`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct BlockRow {
    reason: Option<String>,
    expires_at: Option<Timestamp>,
    created_at: Timestamp,
    suppressed_count: u64,
}
impl Row for BlockRow {}

impl BlockRow {
    pub(super) fn of(block: Block) -> BlockRow {
        let Block { reason, expires_at, created_at, suppressed_count } = block;
        BlockRow { reason, expires_at, created_at, suppressed_count }
    }

    pub(super) fn into_block(self) -> Block {
        let BlockRow { reason, expires_at, created_at, suppressed_count } = self;
        Block { reason, expires_at, created_at, suppressed_count }
    }
}

/// Who blocks an agent, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct BlockersRow(pub(super) Vec<(AgentNo, Option<Timestamp>)>);
impl Row for BlockersRow {}
