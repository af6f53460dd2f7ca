//! Whether a payload fits what the rooms want that it goes to (6-messaging.md, D5).
//!
//! A schema may take its time within its bounds: it is asked before the transaction. There only what was set meanwhile is
//! asked anew.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read};

use crate::model::WorkspaceNo;
use crate::refusal::{Bad, Refusal};
use crate::rooms::schema::Schema;
use crate::rooms::schema_of;

/// A payload, with what rooms said of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    payload: Json,
    /// Rooms that have a schema, each with its version and what of the payload does not fit.
    rooms: Vec<(String, u64, Vec<Bad>)>,
}

impl Judged {
    /// Asks these rooms.
    pub(super) fn of(
        read: &impl Read,
        workspace: WorkspaceNo,
        payload: Json,
        rooms: &[String],
    ) -> Result<Judged, Failure> {
        let mut judged = Vec::new();
        for room in rooms {
            let schema = schema_of(read, workspace, room)?;
            if let Some(text) = schema.text {
                judged.push((room.clone(), schema.version, misfits(&text, &payload)));
            }
        }
        Ok(Judged { payload, rooms: judged })
    }

    /// The first schema that it fits: of which room, and which version.
    pub(super) fn schema_ref(&self) -> Option<String> {
        self.rooms.first().map(|(room, version, _)| format!("room:{room}@{version}"))
    }

    /// Whether it fits what these rooms want now.
    ///
    /// # Errors
    /// What of it does not.
    pub(super) fn check(
        &self,
        read: &impl Read,
        workspace: WorkspaceNo,
        rooms: &[String],
    ) -> Result<(), Abort<Refusal>> {
        let mut all = Vec::new();
        for room in rooms {
            let schema = schema_of(read, workspace, room)?;
            let Some(text) = schema.text else { continue };
            let known = self.rooms.iter().find(|(known, version, _)| (known, *version) == (room, schema.version));
            all.extend(known.map_or_else(|| misfits(&text, &self.payload), |(_, _, misfits)| misfits.clone()));
        }
        if all.is_empty() { Ok(()) } else { Err(Refusal::PayloadInvalid(all).into()) }
    }
}

/// What of a payload does not fit. A schema that can be read no more wants nothing.
fn misfits(schema: &str, payload: &Json) -> Vec<Bad> {
    let Ok(schema) = Schema::compile(schema) else { return Vec::new() };
    let misfits = schema.check(payload).err().unwrap_or_default();
    misfits.into_iter().map(|misfit| Bad { at: misfit.path, message: misfit.message }).collect()
}
