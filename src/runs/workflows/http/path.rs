//! The workflow and the node that a path names.

use quintet_platform::ids::parse_ulid;
use quintet_platform::service::{FromSegment, Segment, Shape};

use super::super::model::{NO_NODE, NO_WORKFLOW};
use crate::dialect::{Call, tenant_of};
use crate::form::NAME_CHARS_MAX;
use crate::model::{WorkflowId, WorkflowKey};
use crate::refusal::Refusal;

/// The workflow that a path names.
pub(super) const WORKFLOW: Segment = Segment::new("workflow_id", Shape::Ulid);
/// The node of it.
pub(super) const NODE: Segment = Segment::new("ref", Shape::Text { min: 1, max: NAME_CHARS_MAX });

impl FromSegment for WorkflowId {
    fn from_segment(text: &str) -> Option<WorkflowId> {
        parse_ulid(text).map(WorkflowId)
    }
}

/// The workflow of a request's path. A malformed id names nothing.
pub(super) fn workflow_key(call: &Call) -> Result<WorkflowKey, Refusal> {
    let workflow_id = call.segment(WORKFLOW.name).ok_or(NO_WORKFLOW)?;
    Ok((tenant_of(call), workflow_id))
}

/// What the node of a request's path is called.
pub(super) fn node_ref(call: &Call) -> Result<String, Refusal> {
    call.segment::<String>(NODE.name).ok_or(NO_NODE)
}
