//! Making, reading, changing and deleting webhooks.

use quintet_platform::egress::PublicPort;
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, Content, FromSegment, KeyRule, Route, Segment, Shape, json as success, nothing, refusal_of,
};
use quintet_platform::webhooks::form::check_address_at;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::super::manage::{NewWebhook, create as make, remove, set_enabled};
use super::form::{read_change, read_new};
use crate::dialect::{Answered, Call, SECRET};
use crate::form::members;
use crate::identity::{Caller, Scope, agents, mailboxes};
use crate::model::{AgentNo, WorkspaceNo};
use crate::refusal::Refusal;
use crate::telling::{Event, Standing, Webhook, WebhookId, rows};
use crate::wire::{instant, instant_or_null};
use crate::words::secret;

/// The one port of the public internet (6-messaging.md, O2).
const PORT: PublicPort = PublicPort(443);

const WEBHOOK: Segment = Segment::new("webhook_id", Shape::Ulid);

pub(super) const CREATE: Route = Route::post("create_webhook", "/v1/webhooks")
    .permission("send")
    .marks(&[SECRET])
    .summary("Have events told to an address; its secret is shown this once")
    .body(Content::Json("WebhookNew"))
    .successes(&[success(201, "Webhook")])
    .makes("webhook_id", "id")
    .key(KeyRule::Optional)
    .codes(&["limit_reached", "permission_denied"]);
pub(super) const LIST: Route = Route::get("list_webhooks", "/v1/webhooks")
    .permission("send")
    .summary("The agent's webhooks; with a key of scope full all of the workspace")
    .successes(&[success(200, "Webhooks")]);
pub(super) const GET: Route = Route::get("get_webhook", "/v1/webhooks/{webhook_id}")
    .permission("send")
    .summary("One webhook")
    .segments(&[WEBHOOK])
    .successes(&[success(200, "Webhook")]);
pub(super) const CHANGE: Route = Route::patch("change_webhook", "/v1/webhooks/{webhook_id}")
    .permission("send")
    .summary("Enable a webhook, whose failures are then counted anew, or disable it")
    .segments(&[WEBHOOK])
    .body(Content::Json("WebhookChange"))
    .successes(&[success(200, "Webhook")])
    .codes(&["permission_denied"]);
pub(super) const DELETE: Route = Route::delete("delete_webhook", "/v1/webhooks/{webhook_id}")
    .permission("send")
    .summary("Delete a webhook, and what waits for it")
    .segments(&[WEBHOOK])
    .successes(&[nothing(204)])
    .codes(&["permission_denied"]);

/// A webhook's id in a path.
struct Named(WebhookId);

impl FromSegment for Named {
    fn from_segment(text: &str) -> Option<Named> {
        parse_ulid(text).map(|id| Named(WebhookId(id)))
    }
}

/// Whether a caller sees the webhook of an agent, or of a whole workspace.
fn sees(caller: &Caller, agent: Option<AgentNo>) -> bool {
    let own = caller.agent.as_ref().map(|acting| acting.no);
    caller.key.scope >= Scope::Full || agent.is_some() && agent == own
}

/// Whether he may make or change it: whoever acts as an agent does so for that one, and with scope `full` for all of them
/// together; whoever acts as none, for any (6-messaging.md, C4, O1).
fn check_may(caller: &Caller, agent: Option<AgentNo>) -> Result<(), Refusal> {
    let own = caller.agent.as_ref().map(|acting| acting.no);
    if agent.is_some() && agent == own {
        return Ok(());
    }
    if caller.key.scope < Scope::Full {
        return Err(Refusal::Denied("a webhook for others than the agent that acts needs a key of scope full"));
    }
    if agent.is_some() && own.is_some() {
        return Err(Refusal::Denied(
            "a request makes and changes webhooks of the agent that it acts as, and of no other",
        ));
    }
    Ok(())
}

/// The webhook of a request's path, if the caller sees it.
fn found(read: &impl Read, caller: &Caller, id: Option<WebhookId>) -> Result<(WebhookId, Webhook), Abort<Refusal>> {
    let absent = || Refusal::NotFound("webhook with this id".to_owned());
    let id = id.ok_or_else(absent)?;
    let webhook = rows::find(read, (caller.workspace.no, id))?.filter(|webhook| sees(caller, webhook.agent));
    Ok((id, webhook.ok_or_else(absent)?))
}

fn id_of(call: &Call) -> Option<WebhookId> {
    call.segment::<Named>(WEBHOOK.name).map(|Named(id)| id)
}

pub(super) async fn create(call: Call) -> Answered {
    let caller = call.caller.clone();
    let mut change = call.change().await?;
    change.begin()?;
    let asked = read_new(&mut members(&mut change)?)?;
    let read = change.call.snapshot();
    let agent = asked.agent.as_deref().map(|name| named(&read, caller.workspace.no, name));
    let agent = agent.transpose().map_err(refusal_of)?;
    check_may(&caller, agent)?;
    let egress = &change.call.context.settings.egress;
    let checked = check_address_at(egress, caller.workspace.tenant_id, &asked.url, Some(PORT)).await;
    checked.map_err(|problem| Refusal::field("url", problem))?;
    let is_inside = asked.url.parse().is_ok_and(|uri| egress.is_inside(&uri));
    let text = secret::text(asked.secret.expose());
    let new = NewWebhook {
        url: asked.url,
        events: asked.events,
        agent,
        made_by: caller.agent.as_ref().map(|acting| acting.no),
        is_inside,
        secret: asked.secret,
    };
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let (id, webhook) = make(tx, now, &caller.workspace, new)?;
        let mut told = record(tx, caller.workspace.no, id, &webhook, Standing::default())?;
        told.push(("secret", Json::from(text.expose().as_str())));
        Ok(Answer::json(201, to_compact(&Json::object(told))).secret())
    };
    change.write(verb).await
}

/// The agent of a name; a retired one hears of nothing.
fn named(read: &impl Read, workspace: WorkspaceNo, name: &str) -> Result<AgentNo, Abort<Refusal>> {
    let unknown = || Refusal::field("agent", "is the name of no active agent of this workspace");
    let no = agents::by_name(read, workspace, name)?.ok_or_else(unknown)?;
    if mailboxes::get(read, (workspace, no))?.is_retired { Err(unknown().into()) } else { Ok(no) }
}

pub(super) async fn list(call: Call) -> Answered {
    let caller = &call.caller;
    call.answer(200, |read| {
        let mut told = Vec::new();
        for (id, webhook) in rows::all(read, caller.workspace.no)? {
            if sees(caller, webhook.agent) {
                let standing = rows::standing(read, (caller.workspace.no, id))?;
                told.push(Json::object(record(read, caller.workspace.no, id, &webhook, standing)?));
            }
        }
        let count = Json::from(told.len());
        Ok(to_compact(&Json::object([("webhooks", Json::from(told)), ("count", count)])).into())
    })
}

pub(super) async fn get(call: Call) -> Answered {
    let (caller, id) = (&call.caller, id_of(&call));
    call.answer(200, |read| {
        let (id, webhook) = found(read, caller, id)?;
        let standing = rows::standing(read, (caller.workspace.no, id))?;
        Ok(to_compact(&Json::object(record(read, caller.workspace.no, id, &webhook, standing)?)).into())
    })
}

pub(super) async fn change(call: Call) -> Answered {
    let (caller, id) = (call.caller.clone(), id_of(&call));
    let mut change = call.change().await?;
    change.begin()?;
    let (_, webhook) = found(&change.call.snapshot(), &caller, id).map_err(refusal_of)?;
    check_may(&caller, webhook.agent)?;
    let is_enabled = read_change(&mut members(&mut change)?)?;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let (id, webhook) = found(tx, &caller, id)?;
        let (webhook, standing) = set_enabled(tx, now, &caller.workspace, (id, webhook), is_enabled)?;
        let told = record(tx, caller.workspace.no, id, &webhook, standing)?;
        Ok(Answer::json(200, to_compact(&Json::object(told))))
    };
    change.write(verb).await
}

pub(super) async fn delete(call: Call) -> Answered {
    let (caller, id) = (call.caller.clone(), id_of(&call));
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let (id, webhook) = found(tx, &caller, id)?;
        check_may(&caller, webhook.agent)?;
        remove(tx, now, &caller.workspace, (id, webhook))?;
        Ok(Answer::nothing(204))
    };
    change.freeing(true).write(verb).await
}

/// A webhook's record, without its secret.
fn record(
    read: &impl Read,
    workspace: WorkspaceNo,
    id: WebhookId,
    webhook: &Webhook,
    standing: Standing,
) -> Result<Vec<(&'static str, Json)>, Failure> {
    let agent = webhook.agent.map(|no| mailboxes::get(read, (workspace, no))).transpose()?;
    let events = webhook.events.map(|_| {
        let asked = Event::ALL.into_iter().filter(|event| webhook.asks_for(*event));
        Json::Array(asked.map(|event| Json::from(event.name())).collect())
    });
    Ok(vec![
        ("id", Json::from(ulid(id.0))),
        ("url", webhook.url.as_str().into()),
        ("events", events.into()),
        ("agent", agent.map(|mailbox| mailbox.name).into()),
        ("enabled", webhook.disabled_at.is_none().into()),
        ("consecutive_failures", standing.consecutive_failures.into()),
        ("failures_total", standing.failures_total.into()),
        ("created_at", instant(webhook.created_at)),
        ("disabled_at", instant_or_null(webhook.disabled_at)),
        ("waiting", standing.waiting.into()),
        ("missed_total", standing.missed_total.into()),
        ("last_delivered_at", instant_or_null(standing.last_delivered_at)),
        ("last_failed_at", instant_or_null(standing.last_failed_at)),
    ])
}
