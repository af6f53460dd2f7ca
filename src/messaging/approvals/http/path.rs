//! Which approval a path names.

use quintet_platform::ids::parse_ulid;
use quintet_platform::service::{FromSegment, Segment, Shape};

use super::super::rows::absent;
use crate::dialect::Call;
use crate::model::{ApprovalId, ApprovalKey};
use crate::refusal::Refusal;

/// The approval that a path names.
pub(super) const APPROVAL: Segment = Segment::new("approval_id", Shape::Ulid);

impl FromSegment for ApprovalId {
    fn from_segment(text: &str) -> Option<ApprovalId> {
        parse_ulid(text).map(ApprovalId)
    }
}

/// The approval of a request's path. A malformed id names nothing.
pub(super) fn approval_key(call: &Call) -> Result<ApprovalKey, Refusal> {
    let id = call.segment(APPROVAL.name).ok_or_else(absent)?;
    Ok((call.caller.workspace.no, id))
}
