//! A member's first page: what waits for him, who he is here, and what he may do.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use quintet_localization::decision_member::{self, DECIDE};
use quintet_platform::access::Service;
use quintet_platform::people::permits_of;
use quintet_storage::Uuid;
use serde::Deserialize;

use super::door::Console;
use super::notice::Notice;
use super::pages::{HomePage, answer};
use super::rooms::Room;
use super::visitor::Member;

/// Decisions that are counted; beyond it there are as many.
const WAITING_MAX: usize = 100;

/// What localization says of him.
#[derive(Default, Deserialize)]
struct Me {
    permissions: Vec<String>,
}

/// The page.
pub async fn show(State(console): State<Console>, member: Member) -> Result<Response, Notice> {
    let has_localization = member.tenant.services.contains(Service::Localization);
    let me: Me = if has_localization { member.asking.get(Room::Localization, "/v1/me").await? } else { Me::default() };
    let may = |name: &str| me.permissions.iter().any(|permission| permission == name);
    let permissions = permits_of(&console.app.store.read(), member.session.tenant_id, member.session.principal_id)?;
    let waiting = match permissions.iter().any(|permission| permission == DECIDE) {
        true => waiting(&console, member.session.tenant_id).await?,
        false => 0,
    };
    let (manages_people, reads_audit) = (may("org_members-manage"), may("org_audit-read"));
    let Member { known, tenant, frame, .. } = member;
    let services: Vec<&str> = tenant.services.iter().map(|service| service.name()).collect();
    let page = HomePage {
        frame,
        email: known.email,
        tenant: tenant.name,
        services: services.join(", "),
        templates: known.templates,
        permissions,
        waiting: Some(waiting).filter(|count| *count > 0),
        manages_people,
        reads_audit,
    };
    Ok(answer(StatusCode::OK, &page))
}

/// How many decisions of a tenant wait.
async fn waiting(console: &Console, tenant_id: Uuid) -> Result<usize, Notice> {
    let context = console.app.localization.clone();
    let look = move || decision_member::list(&context, tenant_id, false, WAITING_MAX);
    Ok(tokio::task::spawn_blocking(look).await.map_err(|_| Notice::Unavailable)??.len())
}
