//! What is stored of memories.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0548 | memory | workspace, agent, number | an entry; its text is sealed |
//! | 0x0549 | memory counts | workspace, agent | how much there is, and the last number |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use crate::model::{AgentKey, AgentNo, FAMILY, WorkspaceNo};

pub(super) const MEMORY: Table<(WorkspaceNo, AgentNo, u64), EntryRow> = Table::new(0x0548, FAMILY, "messaging_memory");
pub(super) const MEMORY_COUNTS: Table<AgentKey, CountsRow> = Table::new(0x0549, FAMILY, "messaging_memory_counts");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[MEMORY.spec(), MEMORY_COUNTS.spec()];

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct EntryRow {
    /// Its text.
    pub(super) text: Sealed,
    /// The text's bytes.
    pub(super) bytes: u64,
    /// Whether it came sealed.
    pub(super) is_sealed: bool,
    /// When it was added.
    pub(super) created_at: Timestamp,
}
impl Row for EntryRow {}

/// How much an agent remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct CountsRow {
    pub(super) last_seq: u64,
    pub(super) entries: u64,
    pub(super) bytes: u64,
}
impl Row for CountsRow {}
