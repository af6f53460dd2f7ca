//! An agent's own inbound endpoint.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, json as success, nothing};
use quintet_storage::{Timestamp, WriteTx};

use super::super::manage::{self, absent, draw};
use super::super::model::{Endpoint, LABEL, LABEL_CHARS_MAX};
use super::super::rows;
use crate::context::Context;
use crate::dialect::{Answered, Call, SECRET};
use crate::form::{AGENT, agent_of, members, optional, required};
use crate::refusal::Refusal;
use crate::wire::instant_or_null;
use crate::words::secret;

/// For how long the secret before may stay good, in seconds.
const GRACE_SECONDS: std::ops::RangeInclusive<i64> = 0..=604_800;

pub(super) const CREATE: Route = Route::post("create_inbound_endpoint", "/v1/agents/{name}/inbound")
    .permission("send")
    .marks(&[SECRET])
    .summary("Give the agent an address that can be called; its secret is shown this once")
    .segments(&[AGENT])
    .body(Content::OptionalJson("InboundNew"))
    .successes(&[success(201, "InboundMade")])
    .makes_at("endpoint_id", "url")
    .key(KeyRule::Optional)
    .codes(&["inbound_exists", "permission_denied"]);
pub(super) const GET: Route = Route::get("get_inbound_endpoint", "/v1/agents/{name}/inbound")
    .permission("send")
    .summary("What has come of the calls of the agent's address; never its secret")
    .segments(&[AGENT])
    .successes(&[success(200, "Inbound")])
    .codes(&["permission_denied"]);
pub(super) const DELETE: Route = Route::delete("delete_inbound_endpoint", "/v1/agents/{name}/inbound")
    .permission("send")
    .summary("End the agent's address; it is never given out again")
    .segments(&[AGENT])
    .successes(&[nothing(204)])
    .codes(&["permission_denied"]);
pub(super) const ROTATE: Route = Route::post("rotate_inbound_secret", "/v1/agents/{name}/inbound/rotate-secret")
    .permission("send")
    .marks(&[SECRET])
    .summary("Give the agent's address a new secret; the one before stays good for grace_seconds")
    .segments(&[AGENT])
    .body(Content::Json("InboundRotation"))
    .successes(&[success(200, "InboundRotated")])
    .key(KeyRule::Optional)
    .codes(&["permission_denied"]);

pub(super) async fn create(call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    let mut change = call.change().await?;
    change.begin()?;
    let label = label(optional(&mut members(&mut change)?, "label")?)?;
    let secret = draw();
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let text = secret::text(secret.expose());
        let endpoint = manage::create(tx, now, &workspace, (workspace.no, no), (label, secret))?;
        let told = [("url", Json::from(url(&context, &endpoint))), ("secret", Json::from(text.expose().as_str()))];
        Ok(Answer::json(201, to_compact(&Json::object(told))).secret())
    };
    change.write(verb).await
}

/// What its messages say of where they come from: a word of small letters, digits and `-` (6-messaging.md, H1).
fn label(given: Option<String>) -> Result<String, Refusal> {
    let Some(label) = given else { return Ok(LABEL.to_owned()) };
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match (1..=LABEL_CHARS_MAX).contains(&label.len()) && label.bytes().all(is_known) {
        true => Ok(label),
        false => Err(Refusal::field("label", "must have 1 to 32 characters of a-z, 0-9 and -")),
    }
}

fn url(context: &Context, endpoint: &Endpoint) -> String {
    format!("{}/in/{}", context.base_url(), ulid(endpoint.id.0))
}

/// Exactly these seven members.
pub(super) async fn get(call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let agent = (call.caller.workspace.no, no);
    let context = call.context.clone();
    let now = call.now();
    call.answer(200, |read| {
        let endpoint = rows::find(read, agent)?.ok_or_else(absent)?;
        let (counts, waiting) = (rows::counts(read, agent)?, context.rejections.of(endpoint.id.number()));
        let previous_until = endpoint.previous_until.filter(|until| now < *until);
        let told = [
            ("url", Json::from(url(&context, &endpoint))),
            ("accepted", counts.accepted.into()),
            ("rejected_signature", counts.rejected_signature.saturating_add(waiting.signature).into()),
            ("rejected_replay", counts.rejected_replay.saturating_add(waiting.replay).into()),
            ("rejected_stale", counts.rejected_stale.saturating_add(waiting.stale).into()),
            ("last_accepted_at", instant_or_null(counts.last_accepted_at)),
            ("previous_secret_valid_until", instant_or_null(previous_until)),
        ];
        Ok(to_compact(&Json::object(told)).into())
    })
}

pub(super) async fn delete(call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let agent = (call.caller.workspace.no, no);
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        manage::remove(tx, agent)?;
        Ok(Answer::nothing(204))
    };
    change.freeing(true).write(verb).await
}

pub(super) async fn rotate(call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let workspace = call.caller.workspace.clone();
    let mut change = call.change().await?;
    change.begin()?;
    let grace_seconds: i64 = required(&mut members(&mut change)?, "grace_seconds")?;
    if !GRACE_SECONDS.contains(&grace_seconds) {
        return Err(Refusal::field("grace_seconds", "must be from 0 to 604800").into());
    }
    let secret = draw();
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let text = secret::text(secret.expose());
        let endpoint = manage::rotate(tx, now, &workspace, (workspace.no, no), (secret, grace_seconds))?;
        let told = [
            ("secret", Json::from(text.expose().as_str())),
            ("previous_valid_until", instant_or_null(endpoint.previous_until)),
        ];
        Ok(Answer::json(200, to_compact(&Json::object(told))).secret())
    };
    change.write(verb).await
}
