//! What is stored of rooms.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0530 | rooms | workspace, name | the agents that are in a room, by their numbers |
//! | 0x0531 | rooms of agents | workspace, agent, name | |
//! | 0x0532 | room schemas | workspace, name | what a room wants of payloads |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec};

use crate::model::{AgentNo, FAMILY, Mark, WorkspaceNo};

pub(super) const ROOMS: Table<(WorkspaceNo, String), MembersRow> = Table::new(0x0530, FAMILY, "messaging_rooms").hot();
pub(super) const ROOMS_OF_AGENTS: Table<(WorkspaceNo, AgentNo, String), Mark> =
    Table::new(0x0531, FAMILY, "messaging_rooms_of_agents");
pub(super) const SCHEMAS: Table<(WorkspaceNo, String), SchemaRow> =
    Table::new(0x0532, FAMILY, "messaging_room_schemas");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[ROOMS.spec(), ROOMS_OF_AGENTS.spec(), SCHEMAS.spec()];

/// Agents, by their numbers, in order.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct MembersRow(pub(super) Vec<AgentNo>);
impl Row for MembersRow {}

/// A room's schema, as JSON, and how often it was set or taken away.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct SchemaRow {
    pub(super) text: Option<String>,
    pub(super) version: u64,
}
impl Row for SchemaRow {}
