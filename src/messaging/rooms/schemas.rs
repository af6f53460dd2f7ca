//! The schemas of rooms: finding and setting them.

use quintet_storage::{Failure, Read, WriteTx};

use super::tables::{SCHEMAS, SchemaRow};
use crate::model::WorkspaceNo;

/// What a room wants of payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoomSchema {
    /// The schema, as JSON; `None`: there is none.
    pub(crate) text: Option<String>,
    /// How often one was set or taken away.
    pub(crate) version: u64,
}

/// What a room wants of payloads.
pub(crate) fn schema_of(read: &impl Read, workspace: WorkspaceNo, room: &str) -> Result<RoomSchema, Failure> {
    let row = read.get(&SCHEMAS, &(workspace, room.to_owned()))?;
    Ok(row.map_or_else(RoomSchema::default, |SchemaRow { text, version }| RoomSchema { text, version }))
}

/// Sets a room's schema, or takes it away; its version then.
pub(crate) fn set_schema(
    tx: &mut WriteTx<'_>,
    workspace: WorkspaceNo,
    room: &str,
    text: Option<String>,
) -> Result<u64, Failure> {
    let version = schema_of(tx, workspace, room)?.version + 1;
    tx.put(&SCHEMAS, &(workspace, room.to_owned()), &SchemaRow { text, version })?;
    Ok(version)
}

/// Forgets what a room wanted, which goes.
pub(super) fn forget_schema(tx: &mut WriteTx<'_>, workspace: WorkspaceNo, room: &str) {
    tx.delete(&SCHEMAS, &(workspace, room.to_owned()));
}
