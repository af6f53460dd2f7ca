//! Requests as the interface shows them.

use quintet_platform::service::{Id, Instant, written};
use quintet_storage::{Failure, Uuid};
use serde::Serialize;

use super::model::Item;
use super::request::ApprovalRequest;
use crate::content::http::wire::Hex;

#[derive(Serialize)]
struct RequestBody<'a> {
    id: Id,
    project_id: Id,
    file_id: Id,
    locale: &'a str,
    file_revision: u64,
    item_count: u32,
    status: &'static str,
    decision_id: Option<&'a str>,
    created_by: Id,
    created_at: Instant,
    expires_at: Instant,
}

#[derive(Serialize)]
struct ReadView<'a> {
    #[serde(flatten)]
    request: RequestBody<'a>,
    decided_by: Option<&'a str>,
    reason: Option<&'a str>,
    decided_at: Option<Instant>,
    review_url: Option<&'a str>,
    context: &'a str,
    context_hash: Option<&'a str>,
    items: Vec<ItemBody<'a>>,
}

#[derive(Serialize)]
struct ItemBody<'a> {
    key: &'a str,
    key_id: Id,
    path: &'a str,
    revision: u64,
    #[serde(rename = "targetHash")]
    target_hash: Hex,
    outcome: Option<&'static str>,
}

fn of_request(request: &ApprovalRequest) -> RequestBody<'_> {
    let row = &request.row;
    RequestBody {
        id: Id(request.subject.id),
        project_id: Id(row.project_id.0),
        file_id: Id(row.file_id.0),
        locale: &row.locale,
        file_revision: row.file_revision,
        item_count: row.item_count,
        status: row.status.name(),
        decision_id: row.decision_id.as_deref(),
        created_by: Id(Uuid::from_bytes(row.created_by)),
        created_at: Instant(row.created_at),
        expires_at: Instant(row.expires_at),
    }
}

/// ApprovalRequest.
///
/// # Errors
/// None that can happen with these types.
pub fn write_request(request: &ApprovalRequest) -> Result<Vec<u8>, Failure> {
    written(&of_request(request))
}

/// ApprovalRequestView.
///
/// # Errors
/// None that can happen with these types.
pub fn write_view(request: &ApprovalRequest, items: &[Item], context: &str) -> Result<Vec<u8>, Failure> {
    let row = &request.row;
    let items = items.iter().map(|item| ItemBody {
        key: &item.key,
        key_id: Id(Uuid::from_bytes(item.key_id)),
        path: &row.path,
        revision: item.revision,
        target_hash: Hex(item.target_sha256),
        outcome: item.outcome.map(|outcome| outcome.name()),
    });
    written(&ReadView {
        request: of_request(request),
        decided_by: row.decided_by.as_deref(),
        reason: row.reason.as_deref(),
        decided_at: row.decided_at.map(Instant),
        review_url: row.own_review_url.as_deref().or(row.service_review_url.as_deref()),
        context,
        context_hash: row.context_hash.as_deref(),
        items: items.collect(),
    })
}
