//! Whoever asked for it is told that a request is settled.

use quintet_platform::json::Json;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{Item, Outcome};
use super::request::ApprovalRequest;
use crate::audit::Actor;
use crate::webhooks::{Told, tell};

/// Tells of a request that was settled, or whose decision could not be raised. Who decided and why are for those to read who
/// may read the request.
///
/// # Errors
/// The store's.
pub fn tell_settled(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    request: &ApprovalRequest,
    items: &[Item],
) -> Result<(), Failure> {
    let count = |outcome: Outcome| Json::from(items.iter().filter(|item| item.outcome == Some(outcome)).count());
    let row = &request.row;
    let data = [
        ("approval_request_id", Json::from(request.subject.id.to_string())),
        ("project_id", row.project_id.0.to_string().into()),
        ("file_id", row.file_id.0.to_string().into()),
        ("locale", row.locale.as_str().into()),
        ("status", row.status.name().into()),
        ("decision_id", Json::from(row.decision_id.as_deref())),
        ("item_count", Json::from(row.item_count)),
        ("approved", count(Outcome::Approved)),
        ("returned", count(Outcome::Returned)),
        ("skipped_changed", count(Outcome::SkippedChanged)),
        ("unchanged", count(Outcome::Unchanged)),
    ];
    let event = "approval_request.settled";
    let told = Told { event, resource_type: "approval_request", resource_id: request.subject.id, data };
    tell(tx, now, actor, told)
}
