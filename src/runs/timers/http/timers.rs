//! Making, reading and cancelling timers.

use quintet_platform::deliveries;
use quintet_platform::ids::parse_ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, CURSOR, Content, FromSegment, KeyRule, Page, Parameter, Route, Segment, Shape, failed, json as success,
    limit,
};
use quintet_storage::{Failure, Read, WriteTx};

use super::super::list::{self, Filter};
use super::super::model::{NO_TIMER, STATE_NAMES, Timer, TimerState};
use super::super::rows::find;
use super::super::tables::CONTENTS;
use super::super::{cancel as cancelling, create as making};
use super::form::read_new;
use super::wire::{write_timer, write_told};
use crate::alarms::contents;
use crate::alarms::wire::with_secret;
use crate::context::Context;
use crate::dialect::{Answered, Call, tenant_of};
use crate::form::NAME_CHARS_MAX;
use crate::lists::write_page;
use crate::model::{TenantId, TimerId, TimerKey};
use crate::refusal::Refusal;
use crate::webhooks::model::outbox;

/// The timer that a path names.
const TIMER: Segment = Segment::new("timer_id", Shape::Ulid);
const STATE: Parameter = Parameter::new("state", Shape::Word(&STATE_NAMES, ""), "Timers in this state.");
const NAME_SHAPE: Shape = Shape::Text { min: 1, max: NAME_CHARS_MAX };
const TAG: Parameter = Parameter::new("tag", NAME_SHAPE, "Timers with this label.");
const NAME: Parameter = Parameter::new("name", NAME_SHAPE, "Timers of this name.");
const AFTER: Parameter = Parameter::new("created_after", Shape::Instant, "Timers made at this instant or later.");
const BEFORE: Parameter = Parameter::new("created_before", Shape::Instant, "Timers made before this instant.");
const LIMIT: Parameter = limit(50, 200);

pub(super) const CREATE: Route = Route::post("create_timer", "/api/v1/timers")
    .permission("svc_run_submit")
    .summary("Have a webhook told at an instant, once; a generated secret is shown this once")
    .body(Content::Json("TimerCreate"))
    .successes(&[success(201, "TimerCreated")])
    .makes("timer_id", "timer_id")
    .key(KeyRule::Optional)
    .codes(&["limit_reached", "daily_quota_exceeded", "unknown_webhook_key", "url_not_allowed"]);
pub(super) const LIST: Route = Route::get("list_timers", "/api/v1/timers")
    .permission("svc_run_read")
    .summary("List timers, newest first")
    .parameters(&[STATE, TAG, NAME, AFTER, BEFORE, LIMIT, CURSOR])
    .successes(&[success(200, "TimerPage")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_timer", "/api/v1/timers/{timer_id}")
    .permission("svc_run_read")
    .summary("One timer, and what has become of telling its webhook")
    .segments(&[TIMER])
    .successes(&[success(200, "Timer")]);
pub(super) const CANCEL: Route = Route::delete("cancel_timer", "/api/v1/timers/{timer_id}")
    .permission("svc_run_submit")
    .summary("Cancel a timer that has not fired")
    .segments(&[TIMER])
    .successes(&[success(200, "Timer")])
    .codes(&["invalid_state"]);

impl FromSegment for TimerId {
    fn from_segment(text: &str) -> Option<TimerId> {
        parse_ulid(text).map(TimerId)
    }
}

/// The timer of a request's path. A malformed id names nothing.
fn timer_key(call: &Call) -> Result<TimerKey, Refusal> {
    let timer_id = call.segment(TIMER.name).ok_or(NO_TIMER)?;
    Ok((tenant_of(call), timer_id))
}

pub(super) async fn create(call: Call) -> Answered {
    let (tenant_id, ceilings) = (tenant_of(&call), call.context.settings.ceilings.clone());
    let mut change = call.change().await?;
    change.begin()?;
    let new = read_new(change.json()?, &change.call).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let (secret, payload) = (new.secret.clone(), new.payload.clone());
        let (id, timer) = making::create(tx, now, tenant_id, &ceilings, new)?;
        let record = write_timer(id, &timer, payload, Json::Null);
        Ok(Answer::json(201, to_compact(&with_secret(record, &secret))).secret())
    };
    change.write(verb).await
}

pub(super) async fn list(mut call: Call) -> Answered {
    let filter = Filter {
        state: call.word(&STATE)?,
        tag: call.text(&TAG)?,
        name: call.text(&NAME)?,
        created_after: call.instant(&AFTER)?,
        created_before: call.instant(&BEFORE)?,
    };
    let kind = format!("timers {filter:?}");
    let page = call.page(&kind, &LIMIT)?;
    let (context, tenant_id) = (call.context.clone(), tenant_of(&call));
    let read = move || Ok(list_page(&context, tenant_id, &filter, &page, &kind)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

fn list_page(
    context: &Context,
    tenant_id: TenantId,
    filter: &Filter,
    asked: &Page<TimerId>,
    kind: &str,
) -> Result<String, Failure> {
    let read = context.store.read();
    let page = list::list(&read, tenant_id, filter, asked.after, asked.limit)?;
    let write = |timer_id, timer| view(context, &read, (tenant_id, timer_id), &timer);
    write_page(kind, page.items, page.next, write)
}

/// A timer as it stands, with its payload and its delivery.
fn view(context: &Context, read: &impl Read, key: TimerKey, timer: &Timer) -> Result<Json, Failure> {
    let payload = contents::open(read, &CONTENTS, &key)?.map_or(Ok(Json::Null), |contents| contents.payload())?;
    let of = outbox(key.0);
    let delivery = match timer.state {
        TimerState::Fired { delivery_id: Some(id), .. } => deliveries::find(read, of, id)?,
        _ => None,
    };
    let told = delivery.map_or(Json::Null, |delivery| {
        let state = context.settings.pump.state(of, &delivery);
        write_told(&delivery, state)
    });
    Ok(write_timer(key.1, timer, payload, told))
}

pub(super) async fn get(call: Call) -> Answered {
    let (key, read) = (timer_key(&call)?, call.snapshot());
    let timer = find(&read, key).map_err(|failure| failed::<Refusal>(&failure))?.ok_or(NO_TIMER)?;
    let record = view(&call.context, &read, key, &timer).map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(Answer::json(200, to_compact(&record)))
}

pub(super) async fn cancel(call: Call) -> Answered {
    let key = timer_key(&call)?;
    let context = call.context.clone();
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let timer = cancelling::cancel(tx, now, key)?;
        Ok(Answer::json(200, to_compact(&view(&context, tx, key, &timer)?)))
    };
    change.freeing(true).write(verb).await
}
