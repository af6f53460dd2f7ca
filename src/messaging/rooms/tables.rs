//! What is stored of rooms.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0530 | rooms | workspace, name | the agents that are in a room, by their numbers |
//! | 0x0531 | rooms of agents | workspace, agent, name | |
//! | 0x0529 | room history | workspace, name, message | what was sent to a room |
//! | 0x0532 | room schemas | workspace, name | what a room wants of payloads |
//! | 0x0588 | room counts | workspace | how many rooms there are |
//! | 0x0587 | room moves | workspace | agents that are being put into the lists of their rooms, or taken out, and how far |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec};

use crate::model::{AgentNo, FAMILY, Mark, MessageId, WorkspaceNo};

pub(super) const ROOMS: Table<(WorkspaceNo, String), MembersRow> = Table::new(0x0530, FAMILY, "messaging_rooms").hot();
pub(super) const ROOMS_OF_AGENTS: Table<(WorkspaceNo, AgentNo, String), Mark> =
    Table::new(0x0531, FAMILY, "messaging_rooms_of_agents");
pub(super) const SCHEMAS: Table<(WorkspaceNo, String), SchemaRow> =
    Table::new(0x0532, FAMILY, "messaging_room_schemas");

/// Written with each message to a room. A room that has any stays.
pub(crate) const ROOM_HISTORY: Table<(WorkspaceNo, String, MessageId), Mark> =
    Table::new(0x0529, FAMILY, "messaging_room_history");
/// A workspace whose rooms are all of an earlier version has none: see [`counted`](super::counts::counted).
pub(super) const COUNTS: Table<WorkspaceNo, CountRow> = Table::new(0x0588, FAMILY, "messaging_room_counts");
/// Asked with each message to a room: that there are none is worth knowing.
pub(super) const MOVES: Table<WorkspaceNo, MovesRow> = Table::new(0x0587, FAMILY, "messaging_room_moves").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] =
    &[ROOMS.spec(), ROOMS_OF_AGENTS.spec(), SCHEMAS.spec(), ROOM_HISTORY.spec(), COUNTS.spec(), MOVES.spec()];

/// Agents, by their numbers, in order.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct MembersRow(pub(super) Vec<AgentNo>);
impl Row for MembersRow {}

/// How many rooms a workspace has.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct CountRow(pub(super) u32);
impl Row for CountRow {}

/// Agents that have retired or come back, and are not in the lists of all of their rooms as they should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct MovesRow(pub(super) Vec<Move>);
impl Row for MovesRow {}

/// How far an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct Move {
    /// Which.
    pub(super) agent: AgentNo,
    /// Up to this room, this one included, by name.
    pub(super) to: String,
}

/// A room's schema, as JSON, and how often it was set or taken away.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct SchemaRow {
    pub(super) text: Option<String>,
    pub(super) version: u64,
}
impl Row for SchemaRow {}
