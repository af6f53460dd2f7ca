//! The run that a path names.

use quintet_platform::ids::parse_ulid;
use quintet_platform::service::{FromSegment, Segment, Shape, failed};

use crate::containers::find;
use crate::containers::model::Run;
use crate::dialect::{Call, tenant_of};
use crate::model::{RunId, RunKey};
use crate::refusal::Refusal;

/// The run that a path names.
pub(super) const RUN: Segment = Segment::new("track_id", Shape::Ulid);

impl FromSegment for RunId {
    fn from_segment(text: &str) -> Option<RunId> {
        parse_ulid(text).map(RunId)
    }
}

/// The run of a request's path. A malformed id names nothing.
pub(super) fn run_key(call: &Call) -> Result<RunKey, Refusal> {
    let run_id = call.segment(RUN.name).ok_or(Refusal::NotFound)?;
    Ok((tenant_of(call), run_id))
}

/// How a run of the tenant stands.
pub(super) fn run_of(call: &Call, run_key: RunKey) -> Result<Run, Refusal> {
    let found = find(&call.snapshot(), run_key).map_err(|failure| failed::<Refusal>(&failure))?;
    found.ok_or(Refusal::NotFound)
}
