//! From one tenant to another.

use http::header::SET_COOKIE;
use quintet_platform::http::cookie::set_cookie;
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::Json;
use quintet_platform::service::{Content, Route, json as success};
use quintet_platform::sessions::SessionToken;
use quintet_storage::Uuid;

use super::answers::told;
use super::login::can_be_entered;
use super::logout::own_session;
use crate::http::{Answered, Call, Form, read};
use crate::identity::SESSION_COOKIE;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::sign_in::switch::switch;

pub const SWITCH: Route = Route::post("switch_tenant", "/auth/switch-tenant")
    .permission("session")
    .summary(
        "Go on in another tenant, as the member that one is there: with a new session, which ends when this one would",
    )
    .body(Content::Json("SwitchTenant"))
    .successes(&[success(200, "SignedIn").about("The new session's cookie is set")]);

/// Puts a session of the other tenant into the place of the caller's.
pub async fn switch_tenant(call: Call) -> Answered {
    let session_id = own_session(&call)?;
    let mut change = call.change().await?;
    let tenant_id = read_body(change.json()?)?;
    let (actor, token) = (change.call.caller.actor.clone(), SessionToken::draw());
    let digest = token.digest();
    let switched = change.write(move |tx, now| {
        if !can_be_entered(tx, tenant_id)? {
            return Err(Refusal::NotMember.into());
        }
        let session = switch(tx, now, &actor, session_id, TenantId(tenant_id), digest)?;
        let text = token.text(session.session_id);
        Ok(told(&session)?.header(SET_COOKIE, set_cookie(SESSION_COOKIE, text.expose(), None)))
    });
    switched.await
}

/// SwitchTenant.
fn read_body(json: Json) -> Result<Uuid, Refusal> {
    let mut form = Form::of_body(json)?;
    let text: Option<String> = form.required("tenant_id");
    let tenant_id = text.map(|text| parse_uuid(&text));
    if tenant_id == Some(None) {
        form.wrong("tenant_id", "must be a UUID");
    }
    form.finish()?;
    read(tenant_id.flatten())
}
