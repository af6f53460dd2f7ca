//! What the endpoints of sign-in share.

use http::header::{CACHE_CONTROL, REFERRER_POLICY};
use http::{HeaderMap, HeaderValue};
use quintet_platform::http::request_id::RequestId;
use quintet_platform::service::{Answer, Id, Instant, Visit, written};
use quintet_platform::sessions::Session;
use quintet_storage::Failure;

use crate::http::Localization;

/// An answer that nobody keeps, and whose address nobody is told.
pub fn private(answer: Answer) -> Answer {
    answer
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .header(REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
}

/// A session as it is answered (4-localization.md, N4).
///
/// # Errors
/// Only the store's.
pub fn told(session: &Session) -> Result<Answer, Failure> {
    #[derive(serde::Serialize)]
    struct Told {
        tenant_id: Id,
        principal_id: Id,
        expires_at: Instant,
    }
    let Session { tenant_id, principal_id, ends_at, .. } = session;
    let body = Told { tenant_id: Id(*tenant_id), principal_id: Id(*principal_id), expires_at: Instant(*ends_at) };
    Ok(private(Answer::json(200, written(&body)?)))
}

/// The request's identifier, for the audit chain.
pub fn request_id(visit: &Visit<Localization>) -> String {
    visit.parts.extensions.get::<RequestId>().map(|id| id.as_str().to_owned()).unwrap_or_default()
}

/// Whether whoever asks would rather have a page.
pub fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(http::header::ACCEPT).iter().filter_map(|field| field.to_str().ok());
    accepted
        .flat_map(|field| field.split(','))
        .any(|range| range.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/html"))
}
