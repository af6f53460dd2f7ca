//! Keys over HTTP.

use http::header::CACHE_CONTROL;
use http::{HeaderValue, Method};
use quintet_platform::json::{Json, to_compact};
use quintet_platform::secrets::Secret;
use quintet_platform::service::{
    Answer, Content, Endpoint, KeyRule, Route, Segment, Shape, Visit, failed, json as success, refusal_of,
};
use quintet_storage::{Timestamp, WriteTx};

use super::hand_over::{fetch, hand_over, waiting};
use super::model::{ADDRESS_SECONDS, AGENTS_MAX, LABEL_CHARS_MAX, agents_of, scope_of};
use super::{NewKey, issue, revoke};
use crate::dialect::{Answered, Call, Messaging, SECRET, WRITER_TIME, challenged};
use crate::form;
use crate::identity::keys::{self, PreparedKey, draw_secret};
use crate::identity::{Caller, Key, Scope};
use crate::refusal::Refusal;
use crate::wire;

const KEY: Segment = Segment::new("key_id", Shape::Text { min: 1, max: 64 });
const TOKEN: Segment = Segment::new("token", Shape::Text { min: 1, max: 64 });

const ISSUE: Route = Route::post("issue_key", "/v1/keys")
    .permission("full")
    .marks(&[SECRET])
    .summary("Issue a key, which is shown this once; with delivery one-time-url an address that answers with it once")
    .body(Content::Json("KeyNew"))
    .successes(&[success(201, "KeyIssued")])
    .makes("key_id", "id")
    .key(KeyRule::Optional)
    .codes(&["limit_reached"]);
const LIST: Route = Route::get("list_keys", "/v1/keys")
    .permission("admin")
    .summary("Every key of the workspace, without secrets; of revoked ones the newest 200")
    .successes(&[success(200, "KeyList")]);
const REVOKE: Route = Route::delete("revoke_key", "/v1/keys/{key_id}")
    .permission("admin")
    .summary("Revoke a key: the next request with it is refused, and its streams end")
    .segments(&[KEY])
    .successes(&[success(200, "KeyRevoked")]);
const FETCH: Route = Route::get("fetch_key", "/v1/keys/once/{token}")
    .summary("Fetch a key at its one-time address, within 15 minutes; HEAD fetches nothing")
    .segments(&[TOKEN])
    .successes(&[success(200, "KeyFetched")])
    .codes(&["not_found", "workspace_deleted", "workspace_suspended"]);

/// What is served of keys.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&ISSUE, |call| Box::pin(challenged(call, issue_key))),
    Endpoint::new(&LIST, |call| Box::pin(challenged(call, list))),
    Endpoint::new(&REVOKE, |call| Box::pin(challenged(call, revoke_key))),
    Endpoint::open(&FETCH, |visit| Box::pin(fetch_key(visit))),
];

/// Whether keys and invites may be made: by a key that stands for no agent (6-messaging.md, K2).
pub(crate) fn may_mint(caller: &Caller) -> Result<(), Refusal> {
    match caller.key.is_bound() {
        true => Err(Refusal::Denied("a key that is bound to agents makes no keys and no invites")),
        false => Ok(()),
    }
}

async fn issue_key(call: Call) -> Answered {
    may_mint(&call.caller)?;
    let (no, own, base_url) = (call.caller.workspace.no, call.caller.key.scope, call.context.base_url());
    let mut change = call.change().await?;
    change.begin()?;
    let mut fields = form::members(&mut change)?;
    let scope = form::optional::<String>(&mut fields, "scope")?.map_or(Ok(Scope::Send), |name| scope_of(&name))?;
    let agents = agents_of(scope, form::texts(&mut fields, "agents", AGENTS_MAX)?)?;
    let label = form::optional::<String>(&mut fields, "label")?.unwrap_or_default();
    let label = form::line("label", label, LABEL_CHARS_MAX)?;
    let is_handed_over = match form::optional::<String>(&mut fields, "delivery")?.as_deref() {
        None => false,
        Some("one-time-url") => true,
        Some(_) => return Err(Refusal::field("delivery", "must be one-time-url, or absent").into()),
    };
    if scope > own {
        return Err(Refusal::Denied("a key makes no key that may do more than itself").into());
    }
    let new = NewKey { prepared: PreparedKey::draw(), scope, agents, label };
    let token = if is_handed_over { Some(draw_secret()) } else { None };
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let text = new.prepared.text();
        let key = issue(tx, now, no, new)?;
        let told = match &token {
            Some(token) => {
                hand_over(tx, now, &key, token.expose())?;
                let url = format!("{base_url}/v1/keys/once/{}", token.expose());
                vec![("delivery_url", Json::from(url)), ("expires_in_seconds", Json::from(ADDRESS_SECONDS))]
            }
            None => vec![("key", Json::from(text.expose().as_str()))],
        };
        Ok(Answer::json(201, to_compact(&Json::object(told_of(&key).into_iter().chain(told)))).secret())
    };
    change.write(verb).await
}

/// What is told of every key.
fn told_of(key: &Key) -> Vec<(&'static str, Json)> {
    vec![
        ("id", Json::from(key.id.as_str())),
        ("scope", Json::from(key.scope.name())),
        ("agents", wire::texts(&key.agents)),
        ("label", Json::from(key.label.as_str())),
        ("created_at", wire::instant(key.created_at)),
    ]
}

async fn list(call: Call) -> Answered {
    let found = keys::list(&call.snapshot(), call.caller.workspace.no);
    let found = found.map_err(|failure| failed::<Refusal>(&failure))?;
    let told = found.iter().map(|key| {
        let revoked_at = ("revoked_at", wire::instant_or_null(key.revoked_at));
        Json::object(told_of(key).into_iter().chain([revoked_at]))
    });
    let told: Vec<Json> = told.collect();
    let count = Json::from(told.len());
    Ok(Answer::json(200, to_compact(&Json::object([("keys", Json::from(told)), ("count", count)]))))
}

async fn revoke_key(call: Call) -> Answered {
    let no = call.caller.workspace.no;
    let id: String = call.segment(KEY.name).ok_or_else(|| Refusal::NotFound("such key".to_owned()))?;
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let key = revoke(tx, now, Some(no), &id)?;
        let told = [
            ("id", Json::from(key.id.as_str())),
            ("revoked", Json::from(true)),
            ("revoked_at", wire::instant_or_null(key.revoked_at)),
        ];
        Ok(Answer::json(200, to_compact(&Json::object(told))))
    };
    change.freeing(true).write(verb).await
}

async fn fetch_key(visit: Visit<Messaging>) -> Answered {
    let token: Secret = visit.segment::<String>(TOKEN.name).unwrap_or_default().into();
    let waiting = waiting(&visit.snapshot(), visit.now(), token.expose()).map_err(refusal_of)?;
    // Who only asks whether something is there takes nothing: programs that look at links before people do.
    let (key, text) = if visit.parts.method == Method::HEAD {
        (waiting.1, Secret::default())
    } else {
        let prepared = PreparedKey::draw();
        let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| fetch(tx, now, token.expose(), prepared);
        let (key, prepared) = visit.context.write(WRITER_TIME, verb).await.map_err(refusal_of)?;
        (key, prepared.text())
    };
    let secret = ("key", Json::from(text.expose().as_str()));
    let answer = Answer::json(200, to_compact(&Json::object(told_of(&key).into_iter().chain([secret]))));
    Ok(answer.header(CACHE_CONTROL, HeaderValue::from_static("no-store")))
}
