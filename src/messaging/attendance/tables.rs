//! What is kept of who was seen when.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0519 | seen | workspace, agent | when the agent was last heard of |

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Read, Row, Table, TableSpec, Timestamp, WriteTx};

use super::model::Sighting;
use crate::model::{AgentKey, FAMILY};

const SEEN: Table<AgentKey, SeenRow> = Table::new(0x0519, FAMILY, "messaging_seen").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[SEEN.spec()];

/// See [`Sighting`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct SeenRow {
    last_seen_at: Option<Timestamp>,
    last_pong_at: Option<Timestamp>,
    echo_delay_ms: Option<i64>,
    attached_at: Option<Timestamp>,
    detached_at: Option<Timestamp>,
}
impl Row for SeenRow {}

/// What is stored of when an agent was seen.
pub(super) fn find(read: &impl Read, agent: AgentKey) -> Result<Option<Sighting>, Failure> {
    let row = read.get(&SEEN, &agent)?;
    Ok(row.map(|row| {
        let SeenRow { last_seen_at, last_pong_at, echo_delay_ms, attached_at, detached_at } = row;
        Sighting { last_seen_at, last_pong_at, echo_delay_ms, attached_at, detached_at }
    }))
}

/// Keeps when an agent was seen; nothing newer that is stored is lost.
pub(super) fn put(tx: &mut WriteTx<'_>, agent: AgentKey, sighting: Sighting) -> Result<(), Failure> {
    let Sighting { last_seen_at, last_pong_at, echo_delay_ms, attached_at, detached_at } =
        find(tx, agent)?.unwrap_or_default().merged(sighting);
    tx.put(&SEEN, &agent, &SeenRow { last_seen_at, last_pong_at, echo_delay_ms, attached_at, detached_at })
}
