//! Joining with a token. Nobody is let in before: the token says where one joins, and is a secret of its own.

use quintet_platform::access::Service;
use quintet_platform::http::body;
use quintet_platform::json::{Fields, Json, parse, to_compact};
use quintet_platform::service::{Answer, Content, Dialect as _, Fault, Route, Visit, json as success, refusal_of};
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::super::join as joining;
use super::form::read_join;
use super::wire::written_registered;
use crate::dialect::{Answered, Messaging, WRITER_TIME};
use crate::form::field;
use crate::identity::keys::PreparedKey;
use crate::invites;
use crate::refusal::Refusal;

/// Nobody who joins has more to say.
const BODY_BYTES_MAX: usize = 64 << 10;

pub(super) const JOIN: Route = Route::post("join", "/v1/agents/join")
    .summary("Join a workspace as a new agent with a token of an invite; the key is shown this once")
    .body(Content::Json("Join"))
    .successes(&[success(201, "Joined")])
    .codes(&[
        "busy",
        "invalid_invite",
        "limit_reached",
        "malformed_json",
        "name_taken",
        "payload_too_large",
        "permission_denied",
        "quota_exceeded",
        "request_timeout",
        "validation_error",
        "workspace_deleted",
        "workspace_suspended",
    ]);

pub(super) async fn join(mut visit: Visit<Messaging>) -> Answered {
    let body = visit.take_body();
    let body = body::read(visit.headers(), body, BODY_BYTES_MAX, Messaging::DEMANDS.body_time).await;
    let body = body.map_err(|error| Refusal::from(Fault::of_body(error)))?;
    let json = parse(&body, Messaging::DEMANDS.json).map_err(|error| Refusal::from(Fault::Json(error)))?;
    let (token, name, registration) = read_join(&mut Fields::new(json).map_err(field)?)?;
    let invite = invites::find(&visit.snapshot(), visit.now(), &token).map_err(refusal_of)?;
    let admitted = visit.context.admit_own(Service::Messaging, invite.workspace.tenant_id);
    admitted.map_err(|not| Refusal::from(Fault::of_admission(not)))?;
    let (context, prepared) = (visit.context.clone(), PreparedKey::draw());
    let text = prepared.text();
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| -> Result<Json, Abort<Refusal>> {
        let (workspace, registered, key) = joining(tx, now, &token, name, registration, prepared)?;
        let told = written_registered(&context, tx, &workspace, &registered, None, now)?;
        let own = [("api_key", Json::from(text.expose().as_str())), ("key_id", key.id.into())];
        Ok(Json::object(told.into_iter().chain(own)))
    };
    let told = visit.context.write(WRITER_TIME, verb).await.map_err(refusal_of)?;
    Ok(Answer::json(201, to_compact(&told)))
}
