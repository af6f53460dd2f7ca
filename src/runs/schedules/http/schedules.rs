//! Making, reading, changing and deleting schedules.

use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, CURSOR, Content, FromSegment, KeyRule, Page, Parameter, Route, Segment, Shape, failed, json as success,
    limit,
};
use quintet_storage::{Failure, Read, WriteTx};
use serde_json::json;

use super::super::list::{self, Filter};
use super::super::model::{NO_SCHEDULE, Schedule};
use super::super::rows::find;
use super::super::tables::CONTENTS;
use super::super::{change as changing, create as making, remove};
use super::form::{read_change, read_new};
use super::wire::write_schedule;
use crate::alarms::contents;
use crate::alarms::wire::with_secret;
use crate::context::Context;
use crate::dialect::{Answered, Call, tenant_of};
use crate::form::NAME_CHARS_MAX;
use crate::lists::write_page;
use crate::model::{ScheduleId, ScheduleKey, TenantId};
use crate::refusal::Refusal;
use crate::webhooks::model::SigningSecret;

/// The schedule that a path names.
const SCHEDULE: Segment = Segment::new("schedule_id", Shape::Ulid);
const ENABLED: Parameter =
    Parameter::new("enabled", Shape::Word(&["true", "false"], ""), "Schedules that are not paused, or those that are.");
const NAME: Parameter = Parameter::new("name", Shape::Text { min: 1, max: NAME_CHARS_MAX }, "Schedules of this name.");
const LIMIT: Parameter = limit(50, 200);

pub(super) const CREATE: Route = Route::post("create_schedule", "/api/v1/schedules")
    .permission("svc_run_submit")
    .summary("Have a webhook told by a cron pattern in a time zone; a generated secret is shown this once")
    .body(Content::Json("ScheduleCreate"))
    .successes(&[success(201, "ScheduleCreated")])
    .makes("schedule_id", "schedule_id")
    .key(KeyRule::Optional)
    .codes(&["invalid_cron", "limit_reached", "never_fires", "unknown_webhook_key", "url_not_allowed"]);
pub(super) const LIST: Route = Route::get("list_schedules", "/api/v1/schedules")
    .permission("svc_run_read")
    .summary("List schedules, newest first")
    .parameters(&[ENABLED, NAME, LIMIT, CURSOR])
    .successes(&[success(200, "SchedulePage")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_schedule", "/api/v1/schedules/{schedule_id}")
    .permission("svc_run_read")
    .summary("One schedule, with the next five instants at which it fires")
    .segments(&[SCHEDULE])
    .successes(&[success(200, "Schedule")]);
pub(super) const CHANGE: Route = Route::patch("change_schedule", "/api/v1/schedules/{schedule_id}")
    .permission("svc_run_submit")
    .summary("Change a schedule; what has come by then is fired for first, as it was")
    .segments(&[SCHEDULE])
    .body(Content::Json("ScheduleChange"))
    .successes(&[success(200, "Schedule")])
    .codes(&["invalid_cron", "never_fires", "unknown_webhook_key", "url_not_allowed"]);
pub(super) const DELETE: Route = Route::delete("delete_schedule", "/api/v1/schedules/{schedule_id}")
    .permission("svc_run_submit")
    .summary("Delete a schedule; what it has told of is delivered all the same")
    .segments(&[SCHEDULE])
    .successes(&[success(200, "ScheduleDeleted")]);
pub(super) const PAUSE: Route = Route::post("pause_schedule", "/api/v1/schedules/{schedule_id}/pause")
    .permission("svc_run_submit")
    .summary("Pause a schedule: what passes meanwhile is not missed")
    .segments(&[SCHEDULE])
    .successes(&[success(200, "Schedule")])
    .key(KeyRule::Optional);
pub(super) const RESUME: Route = Route::post("resume_schedule", "/api/v1/schedules/{schedule_id}/resume")
    .permission("svc_run_submit")
    .summary("Have a paused schedule go on with its next instant")
    .segments(&[SCHEDULE])
    .successes(&[success(200, "Schedule")])
    .key(KeyRule::Optional);

impl FromSegment for ScheduleId {
    fn from_segment(text: &str) -> Option<ScheduleId> {
        parse_ulid(text).map(ScheduleId)
    }
}

/// The schedule of a request's path. A malformed id names nothing.
fn schedule_key(call: &Call) -> Result<ScheduleKey, Refusal> {
    let schedule_id = call.segment(SCHEDULE.name).ok_or(NO_SCHEDULE)?;
    Ok((tenant_of(call), schedule_id))
}

pub(super) async fn create(call: Call) -> Answered {
    let tenant_id = tenant_of(&call);
    let mut change = call.change().await?;
    change.begin()?;
    let new = read_new(change.json()?, &change.call).await?;
    let secret = new.webhook.secret.clone().unwrap_or_else(SigningSecret::generated);
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let payload = new.payload.clone();
        let (id, schedule) = making::create(tx, now, tenant_id, new, &secret)?;
        let record = write_schedule(id, &schedule, payload);
        Ok(Answer::json(201, to_compact(&with_secret(record, &secret))).secret())
    };
    change.write(verb).await
}

pub(super) async fn list(mut call: Call) -> Answered {
    let filter = Filter { is_enabled: call.word(&ENABLED)?.map(|word| word == "true"), name: call.text(&NAME)? };
    let kind = format!("schedules {filter:?}");
    let page = call.page(&kind, &LIMIT)?;
    let (context, tenant_id) = (call.context.clone(), tenant_of(&call));
    let read = move || Ok(list_page(&context, tenant_id, &filter, &page, &kind)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

fn list_page(
    context: &Context,
    tenant_id: TenantId,
    filter: &Filter,
    asked: &Page<ScheduleId>,
    kind: &str,
) -> Result<String, Failure> {
    let read = context.store.read();
    let (found, has_more) = list::list(&read, tenant_id, filter, asked.after, asked.limit)?;
    let next = found.last().filter(|_| has_more).map(|(id, _)| *id);
    write_page(kind, found, next, |id, schedule| view(&read, (tenant_id, id), &schedule))
}

/// A schedule as it stands, with its payload.
fn view(read: &impl Read, key: ScheduleKey, schedule: &Schedule) -> Result<Json, Failure> {
    let payload = contents::open(read, &CONTENTS, &key)?.map_or(Ok(Json::Null), |contents| contents.payload())?;
    Ok(write_schedule(key.1, schedule, payload))
}

pub(super) async fn get(call: Call) -> Answered {
    let (key, read) = (schedule_key(&call)?, call.snapshot());
    let schedule = find(&read, key).map_err(|failure| failed::<Refusal>(&failure))?.ok_or(NO_SCHEDULE)?;
    let record = view(&read, key, &schedule).map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(Answer::json(200, to_compact(&record)))
}

pub(super) async fn change(call: Call) -> Answered {
    let key = schedule_key(&call)?;
    let mut change = call.change().await?;
    // Nobody is asked for a name on behalf of a schedule that is not there.
    find(&change.call.snapshot(), key).map_err(|failure| failed::<Refusal>(&failure))?.ok_or(NO_SCHEDULE)?;
    let asked = read_change(change.json()?, &change.call).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let schedule = changing::change(tx, now, key, asked)?;
        Ok(Answer::json(200, to_compact(&view(tx, key, &schedule)?)))
    };
    change.write(verb).await
}

pub(super) async fn delete(call: Call) -> Answered {
    let key = schedule_key(&call)?;
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        remove::remove(tx, key)?;
        Ok(Answer::value(200, &json!({"schedule_id": ulid(key.1.0), "deleted": true})))
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
    let key = schedule_key(&call)?;
    let mut change = call.change().await?;
    change.begin()?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let schedule = changing::set_enabled(tx, now, key, is_enabled)?;
        Ok(Answer::json(200, to_compact(&view(tx, key, &schedule)?)))
    };
    change.write(verb).await
}
