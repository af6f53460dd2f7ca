//! Drafts over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `drafts` (keeping) · `send`.

mod drafts;
mod send;

use quintet_platform::service::{Endpoint, FromSegment, Segment, Shape};

use super::model::{DraftId, DraftKey};
use crate::dialect::{Call, Messaging, challenged, challenged_or_null};
use crate::refusal::Refusal;

/// What is served of drafts.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&drafts::CREATE, |call| Box::pin(challenged(call, drafts::create))),
    Endpoint::new(&drafts::LIST, |call| Box::pin(challenged(call, drafts::list))),
    Endpoint::new(&drafts::GET, |call| Box::pin(challenged(call, drafts::get))),
    Endpoint::new(&drafts::CHANGE, |call| Box::pin(challenged(call, drafts::change))),
    Endpoint::new(&drafts::DELETE, |call| Box::pin(challenged(call, drafts::delete))),
    Endpoint::new(&send::SEND, |call| Box::pin(challenged_or_null(call, send::send))),
];

/// The draft that a path names.
const DRAFT: Segment = Segment::new("draft_id", Shape::Ulid);

impl FromSegment for DraftId {
    fn from_segment(text: &str) -> Option<DraftId> {
        quintet_platform::ids::parse_ulid(text).map(DraftId)
    }
}

/// The draft of a request's path. A malformed id names nothing.
fn draft_key(call: &Call) -> Result<DraftKey, Refusal> {
    let ((workspace, agent), _) = call.caller.acting()?;
    let id = call.segment(DRAFT.name).ok_or_else(|| Refusal::NotFound("draft with this id".to_owned()))?;
    Ok((workspace, agent, id))
}
