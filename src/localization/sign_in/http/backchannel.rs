//! The identity provider says that somebody has signed out there (OpenID Connect Back-Channel Logout 1.0).

use std::time::{Duration, Instant};

use quintet_platform::http::body;
use quintet_platform::http::query::Query;
use quintet_platform::identity::{ExchangeFailure, logout_name};
use quintet_platform::service::{Answer, Content, Fault, Route, Visit, failed, json as success, refusal_of};
use quintet_platform::sessions::AtProvider;
use serde_json::json;

use super::answers::{private, request_id};
use crate::context::WRITER_TIME;
use crate::http::{Answered, Localization};
use crate::refusal::Refusal;
use crate::sign_in::log_out::log_out;

const FORM: &str = "application/x-www-form-urlencoded";
/// The largest form, in bytes, and how long it may take to arrive.
const FORM_BYTES_MAX: usize = 64 * 1024;
const FORM_TIME: Duration = Duration::from_secs(30);

pub const BACKCHANNEL_LOGOUT: Route = Route::post("backchannel_logout", "/auth/backchannel-logout")
    .summary("For the identity provider: ends the sessions that its logout token names, in all tenants")
    .body(Content::Media(&[(
        FORM,
        r#"{"type":"object","required":["logout_token"],"properties":{"logout_token":{"type":"string"}}}"#,
    )]))
    .successes(&[success(200, "LoggedOut")])
    .codes(&[
        "invalid_body",
        "invalid_field",
        "request_timeout",
        "payload_too_large",
        "unsupported_media_type",
        "identity_unavailable",
        "busy",
        "storage_full",
        "writing_stopped",
        "outcome_unknown",
    ]);

/// Verifies the token, then ends what it names; one that was taken before ends nothing (localization, N6).
pub async fn backchannel_logout(mut visit: Visit<Localization>) -> Answered {
    let body = visit.take_body();
    let form = body::read(visit.headers(), body, FORM_BYTES_MAX, FORM_TIME).await;
    let form = form.map_err(|error| Refusal::Fault(Fault::of_body(error)))?;
    if body::media_type(visit.headers()).as_deref() != Some(FORM) {
        return Err(Refusal::Fault(Fault::MediaTypeUnsupported).into());
    }
    let text = logout_token(&form)?;
    let context = visit.context.clone();
    let identity = context.demand_identity()?;
    let token = identity.provider.logout_token(&text).await.map_err(|failure| match failure {
        ExchangeFailure::Unavailable(unavailable) => {
            tracing::warn!(%unavailable, "a logout token cannot be checked: the identity provider does not answer");
            Refusal::IdentityUnavailable
        }
        failure => {
            tracing::info!(reason = %failure, "a logout token was refused");
            Refusal::LogoutToken("cannot be verified")
        }
    })?;
    let issuer = identity.provider.issuer();
    let key = identity.keys.get().await.map_err(|failure| failed::<Refusal>(&failure))?;
    let named = AtProvider::of(key, issuer, &token).ok_or(Refusal::LogoutToken("cannot be verified"))?;
    let (name, ends_at, request_id) = (logout_name(issuer, &token.token_name), token.ends_at, request_id(&visit));
    let mut revoked = 0;
    loop {
        let id = request_id.clone();
        let slice = context
            .store
            .write_freeing(Instant::now() + WRITER_TIME, move |tx, now| log_out(tx, now, named, name, ends_at, &id));
        let done = slice.await.map_err(refusal_of)?;
        revoked += done.revoked;
        if done.is_done {
            break;
        }
    }
    Ok(private(Answer::value(200, &json!({"acted": revoked > 0, "revoked": revoked}))))
}

/// The one `logout_token` of a form; what else is in it is passed over (Back-Channel Logout 1.0, 2.5).
fn logout_token(form: &[u8]) -> Result<String, Refusal> {
    let malformed = Refusal::InvalidBody("the body is no form");
    let text = std::str::from_utf8(form).map_err(|_| malformed.clone())?;
    let mut fields = Query::parse_with(Some(text), |_| true).map_err(|_| malformed)?;
    let tokens = fields.take_all("logout_token");
    match <[String; 1]>::try_from(tokens) {
        Ok([token]) => Ok(token),
        Err(tokens) if tokens.is_empty() => Err(Refusal::LogoutToken("is required")),
        Err(_) => Err(Refusal::LogoutToken("occurs more than once")),
    }
}
