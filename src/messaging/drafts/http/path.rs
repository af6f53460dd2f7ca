//! Which draft a path names, and how many there are.

use quintet_platform::service::{FromSegment, Segment, Shape, failed};
use quintet_storage::{Abort, WriteTx};

use super::super::model::{DraftId, DraftKey};
use super::super::rows;
use crate::dialect::{Call, WRITER_TIME};
use crate::model::AgentKey;
use crate::refusal::Refusal;

/// The largest body of a draft: a text of 1 MiB, escaped as JSON.
pub(super) const DRAFT_BODY_BYTES_MAX: usize = 8 << 20;
/// The draft that a path names.
pub(super) const DRAFT: Segment = Segment::new("draft_id", Shape::Ulid);

impl FromSegment for DraftId {
    fn from_segment(text: &str) -> Option<DraftId> {
        quintet_platform::ids::parse_ulid(text).map(DraftId)
    }
}

/// The draft of a request's path. A malformed id names nothing.
pub(super) fn draft_key(call: &Call) -> Result<DraftKey, Refusal> {
    let ((workspace, agent), _) = call.caller.acting()?;
    let id = call.segment(DRAFT.name).ok_or_else(|| Refusal::NotFound("draft with this id".to_owned()))?;
    Ok((workspace, agent, id))
}

/// How many drafts an agent has, before a transaction. Those of an earlier version are counted in their turn, once.
pub(super) async fn held_by(call: &Call, agent: AgentKey) -> Result<u32, Refusal> {
    match rows::counted(&call.snapshot(), agent).map_err(|failure| failed::<Refusal>(&failure))? {
        Some(held) => Ok(held),
        None => {
            let context = call.context.clone();
            let count = move || Ok(rows::count(&context.store.read(), agent)?);
            let held = call.in_turn(&call.context.lookers, count).await?;
            let adopt =
                move |tx: &mut WriteTx<'_>, _| -> Result<(), Abort<Refusal>> { Ok(rows::adopt(tx, agent, held)?) };
            // Where it cannot be written now they are counted again.
            let _ = call.context.write(WRITER_TIME, adopt).await;
            Ok(held)
        }
    }
}
