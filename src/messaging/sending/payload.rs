//! Whether a payload fits what the rooms want that it goes to (6-messaging.md, D5).
//!
//! A schema may take its time within its bounds, and two dozen rooms theirs: nothing is judged in the transaction, where
//! everybody waits. It takes what was judged before it; of a room that was not, or of a schema that was set meanwhile, it
//! knows nothing, and says so.

use std::sync::Arc;

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read};

use crate::model::WorkspaceNo;
use crate::refusal::{Bad, Refusal};
use crate::rooms::schema::Schema;
use crate::rooms::schema_of;

/// A payload, with what rooms said of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    payload: Arc<Json>,
    /// Rooms that have a schema, each with its version and what of the payload does not fit.
    rooms: Vec<(String, u64, Vec<Bad>)>,
}

impl Judged {
    /// A payload that nobody was asked about.
    pub(super) fn new(payload: Json) -> Judged {
        Judged { payload: Arc::new(payload), rooms: Vec::new() }
    }

    /// Asks these rooms, except those that were asked and want the same still.
    pub(super) fn ask(&mut self, read: &impl Read, workspace: WorkspaceNo, rooms: &[String]) -> Result<(), Failure> {
        let mut judged = Vec::with_capacity(rooms.len());
        for room in rooms {
            let schema = schema_of(read, workspace, room)?;
            let Some(text) = schema.text else { continue };
            let misfits = match self.known(room, schema.version) {
                Some(known) => known.to_vec(),
                None => misfits(&text, &self.payload),
            };
            judged.push((room.clone(), schema.version, misfits));
        }
        self.rooms = judged;
        Ok(())
    }

    /// The first schema that it fits: of which room, and which version.
    pub(super) fn schema_ref(&self) -> Option<String> {
        self.rooms.first().map(|(room, version, _)| format!("room:{room}@{version}"))
    }

    /// Whether it fits what these rooms want now.
    ///
    /// # Errors
    /// What of it does not; or [`Refusal::PayloadUnjudged`], for one of them was not asked about what it wants now.
    pub(super) fn check(
        &self,
        read: &impl Read,
        workspace: WorkspaceNo,
        rooms: &[String],
    ) -> Result<(), Abort<Refusal>> {
        let mut all = Vec::new();
        for room in rooms {
            let schema = schema_of(read, workspace, room)?;
            if schema.text.is_none() {
                continue;
            }
            let known = self.known(room, schema.version).ok_or(Refusal::PayloadUnjudged)?;
            all.extend_from_slice(known);
        }
        if all.is_empty() { Ok(()) } else { Err(Refusal::PayloadInvalid(all).into()) }
    }

    /// What of it does not fit a version of a room's schema; `None`: it was not asked.
    fn known(&self, room: &str, version: u64) -> Option<&[Bad]> {
        let known = self.rooms.iter().find(|(known, of, _)| known == room && *of == version);
        known.map(|(_, _, misfits)| misfits.as_slice())
    }
}

/// What of a payload does not fit. A schema that can be read no more wants nothing.
fn misfits(schema: &str, payload: &Json) -> Vec<Bad> {
    let Ok(schema) = Schema::compile(schema) else { return Vec::new() };
    let misfits = schema.check(payload).err().unwrap_or_default();
    misfits.into_iter().map(|misfit| Bad { at: misfit.path, message: misfit.message }).collect()
}
