//! Signing out.

use http::header::SET_COOKIE;
use quintet_platform::http::cookie::remove_cookie;
use quintet_platform::secrets::Secret;
use quintet_platform::service::{Answer, Fault, Route, failed, json as success};
use quintet_platform::sessions::origin_of;
use quintet_storage::Uuid;
use serde_json::json;

use super::answers::private;
use crate::http::{Answered, Call};
use crate::identity::SESSION_COOKIE;
use crate::refusal::Refusal;
use crate::sign_in::leave::leave;

pub const LOGOUT: Route = Route::post("logout", "/auth/logout")
    .permission("session")
    .summary("Sign out: the session ends, and the answer says where to sign out at the provider")
    .successes(&[success(200, "SignedOut")]);

/// The session of whoever calls: a key has none.
pub fn own_session(call: &Call) -> Result<Uuid, Refusal> {
    call.caller.session_id.ok_or(Refusal::Fault(Fault::Unauthenticated))
}

/// Ends the session here first, then says where to end the one at the provider (localization, N4).
pub async fn logout(call: Call) -> Answered {
    let session_id = own_session(&call)?;
    let context = call.context.clone();
    let origin = origin_of(&call.snapshot(), session_id).map_err(|failure| failed::<Refusal>(&failure))?;
    let actor = call.caller.actor.clone();
    let change = call.change().await?.freeing(true);
    change.write(move |tx, now| leave(tx, now, &actor, session_id).map(|()| Answer::nothing(200))).await?;
    let mut logout_url = None;
    if let (Some(identity), Some(origin)) = (&context.identity, origin) {
        let told = identity.provider.logout_url(&Secret::new(origin.id_token), &identity.logged_out_url()).await;
        logout_url = told.unwrap_or_else(|unavailable| {
            tracing::warn!(%unavailable, "somebody has signed out here alone: the identity provider does not answer");
            None
        });
    }
    let answer = private(Answer::value(200, &json!({"logout_url": logout_url})));
    Ok(answer.header(SET_COOKIE, remove_cookie(SESSION_COOKIE)))
}
