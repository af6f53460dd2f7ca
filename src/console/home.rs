//! A member's first page: who he is here, and what he may do.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use quintet_platform::people::permits_of;

use super::door::Console;
use super::notice::Notice;
use super::pages::{HomePage, answer};
use super::visitor::Member;

/// The page.
pub async fn show(State(console): State<Console>, member: Member) -> Result<Response, Notice> {
    let Member { session, known, tenant, frame, .. } = member;
    let services: Vec<&str> = tenant.services.iter().map(|service| service.name()).collect();
    let page = HomePage {
        frame,
        email: known.email,
        tenant: tenant.name,
        services: services.join(", "),
        templates: known.templates,
        permissions: permits_of(&console.app.store.read(), session.tenant_id, session.principal_id)?,
    };
    Ok(answer(StatusCode::OK, &page))
}
