//! Joining with a token. Nobody is let in before: the token says where one joins, and is a secret of its own. It is what an
//! Idempotency-Key is unique within: whoever lost the answer asks again with both, and gets the same key.

use quintet_platform::access::Service;
use quintet_platform::http::body;
use quintet_platform::idempotency::{self, Entered, MalformedKey, RequestDigest};
use quintet_platform::json::{Fields, Json, parse, to_compact};
use quintet_platform::secrets::digest;
use quintet_platform::service::{
    Answer, Content, Dialect as _, Fault, KeyRule, Route, Visit, json as success, once, refusal_of,
};
use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use super::super::join as joining;
use super::form::read_join;
use super::wire::written_registered;
use crate::dialect::{Answered, Messaging, WRITER_TIME};
use crate::form::field;
use crate::identity::Workspace;
use crate::identity::keys::{PreparedKey, token_place};
use crate::refusal::Refusal;
use crate::{invites, rooms};

/// Nobody who joins has more to say.
const BODY_BYTES_MAX: usize = 64 << 10;

pub(super) const JOIN: Route = Route::post("join", "/v1/agents/join")
    .summary("Join a workspace as a new agent with a token of an invite; the key is shown this once")
    .body(Content::Json("Join"))
    .successes(&[success(201, "Joined")])
    .key(KeyRule::Optional)
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
    let most = Messaging::DEMANDS.key_chars_max;
    let key = idempotency::request_key(visit.headers(), most);
    let key = key.map_err(|MalformedKey| Refusal::from(Fault::KeyMalformed(most)))?;
    let body = visit.take_body();
    let body = body::read(visit.headers(), body, BODY_BYTES_MAX, Messaging::DEMANDS.body_time).await;
    let body = body.map_err(|error| Refusal::from(Fault::of_body(error)))?;
    let json = parse(&body, Messaging::DEMANDS.json).map_err(|error| Refusal::from(Fault::Json(error)))?;
    let (token, name, registration) = read_join(&mut Fields::new(json).map_err(field)?)?;
    let workspace = workspace_of(&visit.snapshot(), visit.now(), &token, key.is_some()).map_err(refusal_of)?;
    let admitted = visit.context.admit_own(Service::Messaging, workspace.tenant_id);
    admitted.map_err(|not| Refusal::from(Fault::of_admission(not)))?;
    rooms::prepare(&visit.context, &workspace, registration.room().as_deref()).await?;
    let entered = key.map(|key| entered(&workspace, &token, key, &body));
    let (context, prepared) = (visit.context.clone(), PreparedKey::draw());
    let text = prepared.text();
    let joined = move |tx: &mut WriteTx<'_>, now: Timestamp| -> Result<Option<Answer>, Abort<Refusal>> {
        let (workspace, registered, key) = joining(tx, now, &token, name, registration, prepared)?;
        let told = written_registered(&context, tx, &workspace, &registered, now)?;
        let own = [("api_key", Json::from(text.expose().as_str())), ("key_id", key.id.into())];
        Ok(Some(Answer::json(201, to_compact(&Json::object(told.into_iter().chain(own)))).secret()))
    };
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| match entered {
        Some(entered) => once::<Messaging>(tx, now, &entered, &JOIN, joined),
        None => joined(tx, now),
    };
    let answer = visit.context.write(WRITER_TIME, verb).await.map_err(refusal_of)?;
    answer.ok_or_else(|| Refusal::from(Fault::Internal).into())
}

/// Where one joins with a token; or where somebody has, if it may be a repeat.
fn workspace_of(
    read: &impl Read,
    now: Timestamp,
    token: &str,
    may_be_repeat: bool,
) -> Result<Workspace, Abort<Refusal>> {
    match invites::find(read, now, token) {
        Err(Abort::Refused(Refusal::InvalidInvite)) if may_be_repeat => invites::used(read, now, token),
        found => found.map(|invite| invite.workspace),
    }
}

/// What the answer is remembered under.
fn entered(workspace: &Workspace, token: &str, key: String, body: &[u8]) -> Entered {
    let (method, path) = (JOIN.method.as_str(), JOIN.path);
    let within = format!("{method} {path} {:032x}", token_place(&digest(token.as_bytes())));
    let scope = idempotency::Scope { service: Service::Messaging, tenant_id: workspace.tenant_id, within, key };
    Entered { scope, digest: RequestDigest::of(method, path, "", body) }
}
