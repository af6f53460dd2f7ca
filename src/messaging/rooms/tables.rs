//! What is stored of rooms.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0530 | rooms | workspace, name | the agents that are in a room, by their numbers |
//! | 0x0531 | rooms of agents | workspace, agent, name | |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec};

use crate::model::{AgentNo, FAMILY, Mark, WorkspaceNo};

pub(super) const ROOMS: Table<(WorkspaceNo, String), MembersRow> = Table::new(0x0530, FAMILY, "messaging_rooms").hot();
pub(super) const ROOMS_OF_AGENTS: Table<(WorkspaceNo, AgentNo, String), Mark> =
    Table::new(0x0531, FAMILY, "messaging_rooms_of_agents");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[ROOMS.spec(), ROOMS_OF_AGENTS.spec()];

/// Agents, by their numbers, in order.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct MembersRow(pub(super) Vec<AgentNo>);
impl Row for MembersRow {}
