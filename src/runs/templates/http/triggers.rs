//! Making, reading, changing and running triggers.

use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, CURSOR, Content, FromSegment, KeyRule, Page, Parameter, Route, Segment, Shape, failed, json as success,
    limit,
};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};
use serde_json::json;

use super::super::launch::prepare;
use super::super::model::NO_TEMPLATE;
use super::super::rows::{find as find_template, params};
use super::super::triggers::model::{Held, NO_TRIGGER, Trigger, TriggerChange};
use super::super::triggers::rows::{find, held};
use super::super::triggers::{change as changing, create as making, fire, list as listing};
use super::form::in_definition;
use super::path::{TEMPLATE, template_of};
use super::runs::submitted;
use super::trigger_form::{read_change, read_new};
use super::wire::write_trigger;
use crate::allowances::quotas;
use crate::context::Context;
use crate::dialect::{Answered, Call, tenant_of};
use crate::lists::write_page;
use crate::model::{TemplateKey, TriggerId, TriggerKey};
use crate::refusal::Refusal;
use crate::webhooks::address;

/// The trigger that a path names.
const TRIGGER: Segment = Segment::new("trigger_id", Shape::Ulid);
const LIMIT: Parameter = limit(50, 200);

/// What a trigger may be refused for besides.
const CODES: &[&str] =
    &["busy", "invalid_cron", "invalid_params", "never_fires", "unknown_webhook_key", "url_not_allowed"];

pub(super) const CREATE: Route = Route::post("create_trigger", "/api/v1/templates/{ref}/triggers")
    .permission("svc_run_submit")
    .summary("Have a template run by a cron pattern in a time zone")
    .segments(&[TEMPLATE])
    .body(Content::Json("TriggerCreate"))
    .successes(&[success(201, "Trigger")])
    .makes("trigger_id", "trigger_id")
    .key(KeyRule::Optional)
    .codes(&[
        "busy",
        "invalid_cron",
        "invalid_params",
        "limit_reached",
        "never_fires",
        "unknown_webhook_key",
        "url_not_allowed",
    ]);
pub(super) const LIST: Route = Route::get("list_triggers", "/api/v1/templates/{ref}/triggers")
    .permission("svc_run_read")
    .summary("List the triggers of a template, newest first")
    .segments(&[TEMPLATE])
    .parameters(&[LIMIT, CURSOR])
    .successes(&[success(200, "TriggerPage")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_trigger", "/api/v1/templates/{ref}/triggers/{trigger_id}")
    .permission("svc_run_read")
    .summary("One trigger, with the next five instants at which it fires")
    .segments(&[TEMPLATE, TRIGGER])
    .successes(&[success(200, "Trigger")])
    .codes(&["busy"]);
pub(super) const CHANGE: Route = Route::patch("change_trigger", "/api/v1/templates/{ref}/triggers/{trigger_id}")
    .permission("svc_run_submit")
    .summary("Change a trigger; what has come by then is fired for first, as it was")
    .segments(&[TEMPLATE, TRIGGER])
    .body(Content::Json("TriggerChange"))
    .successes(&[success(200, "Trigger")])
    .codes(CODES);
pub(super) const DELETE: Route = Route::delete("delete_trigger", "/api/v1/templates/{ref}/triggers/{trigger_id}")
    .permission("svc_run_submit")
    .summary("Delete a trigger; what it has launched goes on")
    .segments(&[TEMPLATE, TRIGGER])
    .successes(&[success(200, "TriggerDeleted")]);
pub(super) const PAUSE: Route = Route::post("pause_trigger", "/api/v1/templates/{ref}/triggers/{trigger_id}/pause")
    .permission("svc_run_submit")
    .summary("Pause a trigger: what passes meanwhile is not missed")
    .segments(&[TEMPLATE, TRIGGER])
    .successes(&[success(200, "Trigger")])
    .key(KeyRule::Optional);
pub(super) const RESUME: Route = Route::post("resume_trigger", "/api/v1/templates/{ref}/triggers/{trigger_id}/resume")
    .permission("svc_run_submit")
    .summary("Have a paused trigger go on with its next instant")
    .segments(&[TEMPLATE, TRIGGER])
    .successes(&[success(200, "Trigger")])
    .key(KeyRule::Optional);
pub(super) const RUN: Route = Route::post("run_trigger", "/api/v1/templates/{ref}/triggers/{trigger_id}/run")
    .permission("svc_run_submit")
    .summary("Run a trigger's template now, as the trigger would, whatever its overlap and whether it is paused")
    .segments(&[TEMPLATE, TRIGGER])
    .successes(&[success(202, "TemplateRunSubmitted")])
    .key(KeyRule::Optional)
    .codes(&[
        "busy",
        "daily_quota_exceeded",
        "image_not_allowed",
        "invalid_graph",
        "invalid_params",
        "limit_reached",
        "too_many_nodes",
        "url_not_allowed",
        "workflow_quota_exceeded",
    ]);

impl FromSegment for TriggerId {
    fn from_segment(text: &str) -> Option<TriggerId> {
        parse_ulid(text).map(TriggerId)
    }
}

/// The trigger of a request's path, as it stands. A malformed id names nothing.
fn trigger_of(call: &Call, read: &impl Read) -> Result<(TriggerKey, Trigger), Refusal> {
    let (template, _) = template_of(call, read)?;
    let id = call.segment(TRIGGER.name).ok_or(NO_TRIGGER)?;
    let key = (template.0, template.1, id);
    let trigger = find(read, key).map_err(|failure| failed::<Refusal>(&failure))?.ok_or(NO_TRIGGER)?;
    Ok((key, trigger))
}

pub(super) async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    let (key, _) = template_of(&change.call, &change.call.snapshot())?;
    let new = read_new(change.json()?, change.call.caller.key_id.clone())?;
    let (context, asked) = (change.call.context.clone(), new.clone());
    let check = move || {
        let read = context.store.read();
        let (trigger, held) = asked.into_parts(Timestamp::EPOCH);
        making::check_run(&read, key, &trigger, &held)
    };
    let told = change.call.in_turn(&change.call.context.lookers, check).await?;
    vet(&change.call, told.as_deref(), new.webhook.is_some()).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let (id, trigger) = making::create(tx, now, key, new)?;
        Ok(Answer::json(201, to_compact(&view(tx, (key.0, key.1, id), &trigger)?)))
    };
    change.write(verb).await
}

/// Whether what a trigger launches may tell this address: its own, or one that its template's definition has with these
/// values in it.
async fn vet(call: &Call, url: Option<&str>, is_own: bool) -> Result<(), Refusal> {
    let Some(url) = url else { return Ok(()) };
    let vetted = address::check("webhook.url", url, call).await;
    vetted.map_err(|refusal| if is_own { refusal } else { in_definition(refusal) })
}

/// A trigger as it stands; what is secret of the values that its template is run with is not told.
fn view(read: &impl Read, key: TriggerKey, trigger: &Trigger) -> Result<Json, Failure> {
    let latest = find_template(read, (key.0, key.1))?.map_or(0, |template| template.latest_version);
    let declared = params(read, (key.0, key.1, trigger.version.unwrap_or(latest)))?;
    let held = held(read, key)?.unwrap_or_default();
    Ok(write_trigger(key, trigger, &held, &declared))
}

pub(super) async fn list(mut call: Call) -> Answered {
    let (key, _) = template_of(&call, &call.snapshot())?;
    let kind = format!("triggers of template {}", key.1);
    let page = call.page(&kind, &LIMIT)?;
    let context = call.context.clone();
    let read = move || Ok(list_page(&context, key, &page, &kind)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

fn list_page(context: &Context, key: TemplateKey, asked: &Page<TriggerId>, kind: &str) -> Result<String, Failure> {
    let read = context.store.read();
    let page = listing::list(&read, key, asked.after, asked.limit)?;
    write_page(kind, page.items, page.next, |id, trigger| view(&read, (key.0, key.1, id), &trigger))
}

pub(super) async fn get(call: Call) -> Answered {
    let read = call.snapshot();
    let (key, trigger) = trigger_of(&call, &read)?;
    // Its values and what its template declares can be megabytes.
    let write = move || Ok(to_compact(&view(&read, key, &trigger)?));
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, write).await?))
}

pub(super) async fn change(call: Call) -> Answered {
    let mut change = call.change().await?;
    let (key, _) = trigger_of(&change.call, &change.call.snapshot())?;
    let asked = read_change(change.json()?)?;
    let (context, wanted) = (change.call.context.clone(), asked.clone());
    let check = move || {
        let read = context.store.read();
        check_change(&read, key, wanted)
    };
    let (told, is_own) = change.call.in_turn(&change.call.context.lookers, check).await?;
    vet(&change.call, told.as_deref(), is_own).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let trigger = changing::change(tx, now, key, asked)?;
        Ok(Answer::json(200, to_compact(&view(tx, key, &trigger)?)))
    };
    change.write(verb).await
}

/// Whether a trigger could run its template once it has changed, where that has a say in it: the address that is told then,
/// and whether it is the trigger's own.
fn check_change(
    read: &impl Read,
    key: TriggerKey,
    change: TriggerChange,
) -> Result<(Option<String>, bool), Abort<Refusal>> {
    let mut trigger = find(read, key)?.ok_or(NO_TRIGGER)?;
    let mut held: Held = held(read, key)?.ok_or(NO_TRIGGER)?;
    let (before, had) = (trigger.clone(), held.clone());
    change.put_into(&mut trigger, &mut held);
    let is_same = (trigger.version, &trigger.tags, &trigger.webhook, &held.params)
        == (before.version, &before.tags, &before.webhook, &had.params);
    let told = if is_same { None } else { making::check_run(read, (key.0, key.1), &trigger, &held)? };
    Ok((told, trigger.webhook.is_some()))
}

pub(super) async fn delete(call: Call) -> Answered {
    let change = call.change().await?;
    let (key, _) = trigger_of(&change.call, &change.call.snapshot())?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        changing::remove(tx, key)?;
        Ok(Answer::value(200, &json!({"trigger_id": ulid(key.2.0), "deleted": true})))
    };
    change.freeing(true).write(verb).await
}

pub(super) async fn pause(call: Call) -> Answered {
    set_enabled(call, false).await
}

pub(super) async fn resume(call: Call) -> Answered {
    set_enabled(call, true).await
}

async fn set_enabled(call: Call, is_enabled: bool) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    let (key, _) = trigger_of(&change.call, &change.call.snapshot())?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let trigger = changing::set_enabled(tx, now, key, is_enabled)?;
        Ok(Answer::json(200, to_compact(&view(tx, key, &trigger)?)))
    };
    change.write(verb).await
}

pub(super) async fn run(call: Call) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    let (key, trigger) = trigger_of(&change.call, &change.call.snapshot())?;
    let (is_own_webhook, context) = (trigger.webhook.is_some(), change.call.context.clone());
    let work = move || {
        let read = context.store.read();
        let held = held(&read, key)?.ok_or(NO_TEMPLATE)?;
        prepare(&read, (key.0, key.1), trigger.wanted(held))
    };
    let (new, version) = change.call.in_turn(&change.call.context.lookers, work).await?;
    vet(&change.call, new.webhook.as_ref().map(|(webhook, _)| webhook.url.as_str()), is_own_webhook).await?;
    // The calendar is read now, and only looked up within the transaction.
    quotas::hours(&change.call.snapshot(), tenant_of(&change.call)).map_err(|failure| failed::<Refusal>(&failure))?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let workflow_id = fire::run(tx, now, key, new)?;
        Ok::<_, Abort<Refusal>>(submitted(workflow_id, key.1, version))
    };
    change.write(verb).await
}
