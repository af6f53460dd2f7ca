//! Making, listing and cancelling reminders.

use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, Content, Fault, KeyRule, Parameter, Route, Segment, Shape, failed, json as success,
};
use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use super::super::model::{KEPT_MAX, Reminder, ReminderKey, State, number_of};
use super::super::rows::{counts, find, of_agent, oldest_ended};
use super::super::{cancel as cancelling, create as making};
use super::form::read_new;
use crate::dialect::{ACTING, Answered, Call};
use crate::form::members;
use crate::identity::mailboxes;
use crate::model::AgentKey;
use crate::refusal::Refusal;
use crate::wire::instant_or_null;

/// So many that have ended are looked for, one of which goes.
const ENDED_MAX: usize = 16;
/// How often it is tried to make one while others are made.
const TRIES: usize = 4;

/// The reminder that a path names.
const REMINDER: Segment = Segment::new("reminder_id", Shape::ANY);
const STATE: Parameter =
    Parameter::new("state", Shape::Word(&["scheduled", "all"], "scheduled"), "Those that will fire, or all.");
const LIMIT: Parameter =
    Parameter::new("limit", Shape::Integer { min: 1, max: 200, default: Some(50) }, "The most that are listed.");

pub(super) const CREATE: Route = Route::post("create_reminder", "/v1/reminders")
    .permission("send")
    .summary("Have a message posted later to oneself or another agent: after delay_seconds, at due_at, or by repeat")
    .body(Content::Json("ReminderCreate"))
    .successes(&[success(201, "Reminder")])
    .makes("reminder_id", "id")
    .key(KeyRule::Optional)
    .marks(&[ACTING])
    .codes(&[
        "blocked_by_recipient",
        "busy",
        "limit_reached",
        "payload_too_large",
        "permission_denied",
        "sealing_required",
        "unknown_recipient",
    ]);
pub(super) const LIST: Route = Route::get("list_reminders", "/v1/reminders")
    .permission("read")
    .summary("The agent's reminders, newest first")
    .parameters(&[STATE, LIMIT])
    .successes(&[success(200, "Reminders")])
    .marks(&[ACTING])
    .codes(&["permission_denied"]);
pub(super) const CANCEL: Route = Route::delete("cancel_reminder", "/v1/reminders/{reminder_id}")
    .permission("send")
    .summary("Cancel a reminder; one that has ended stays what it is")
    .segments(&[REMINDER])
    .successes(&[success(200, "Reminder")])
    .marks(&[ACTING])
    .codes(&["permission_denied"]);

pub(super) async fn create(call: Call) -> Answered {
    let (author, _) = call.caller.acting()?;
    let mut change = call.change().await?;
    change.begin()?;
    let caller = &change.call.caller;
    let (workspace, known) = (caller.workspace.clone(), (caller.attestation(), caller.key.id.clone()));
    let new = read_new(members(&mut change)?, &workspace, known)?;
    for _ in 0..TRIES {
        let ended = ended_before(&change.call, author).await?;
        let (workspace, new) = (workspace.clone(), new.clone());
        let verb = move |tx: &mut WriteTx<'_>, now| {
            let made = making::create(tx, now, &workspace, author, new, &ended)?;
            let record = made.map(|(key, reminder)| written(tx, now, key, &reminder)).transpose()?;
            Ok(record.map(|record| Answer::json(201, to_compact(&record))))
        };
        if let Some(answer) = change.try_write(verb).await? {
            return Ok(answer);
        }
    }
    Err(Refusal::from(Fault::Busy).into())
}

/// Reminders that have ended, the oldest first, where one of them must go for another: looked for outside the transaction.
/// More than one, for others may make reminders beside this one.
async fn ended_before(call: &Call, author: AgentKey) -> Result<Vec<ReminderKey>, Refusal> {
    let kept = counts(&call.snapshot(), author).map_err(|failure| failed::<Refusal>(&failure))?.kept;
    if kept < KEPT_MAX {
        return Ok(Vec::new());
    }
    let context = call.context.clone();
    let look = move || Ok(oldest_ended(&context.store.read(), author, ENDED_MAX)?);
    call.in_turn(&call.context.lookers, look).await
}

pub(super) async fn list(mut call: Call) -> Answered {
    let (author, _) = call.caller.acting()?;
    let is_all = call.word(&STATE)? == Some("all");
    let limit = call.integer(&LIMIT)?.unwrap_or(50);
    let (read, now) = (call.snapshot(), call.now());
    let listed = move || -> Result<Json, Failure> {
        let mut found = of_agent(&read, author)?;
        found.retain(|(_, reminder)| is_all || reminder.state_at(now) == State::Scheduled);
        let (total, most) = (found.len(), usize::try_from(limit).unwrap_or(1));
        found.truncate(most);
        let rows: Vec<Json> =
            found.iter().map(|(key, reminder)| written(&read, now, *key, reminder)).collect::<Result<_, _>>()?;
        let count = |number: usize| Json::from(u64::try_from(number).unwrap_or(u64::MAX));
        Ok(Json::object([
            ("reminders", Json::Array(rows)),
            ("count", count(found.len())),
            ("total", count(total)),
            ("has_more", Json::from(total > found.len())),
            ("limit", Json::from(limit)),
        ]))
    };
    let record = call.in_turn(&call.context.lookers, move || Ok(listed()?)).await?;
    Ok(Answer::json(200, to_compact(&record)))
}

pub(super) async fn cancel(call: Call) -> Answered {
    let (author, _) = call.caller.acting()?;
    let unknown = || Refusal::NotFound("reminder of this agent with this id".to_owned());
    let id: Option<String> = call.segment(REMINDER.name);
    let named = id.as_deref().and_then(parse_ulid).and_then(|id| number_of(id, author.1));
    let (number, millis) = named.ok_or_else(unknown)?;
    let key = (author.0, author.1, number);
    let found = find(&call.snapshot(), key).map_err(|failure| failed::<Refusal>(&failure))?;
    found.filter(|reminder| reminder.is_from(millis)).ok_or_else(unknown)?;
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let reminder = cancelling::cancel(tx, now, key)?.ok_or_else(unknown)?;
        Ok(Answer::json(200, to_compact(&written(tx, now, key, &reminder)?)))
    };
    change.write(verb).await
}

fn written(read: &impl Read, now: Timestamp, key: ReminderKey, reminder: &Reminder) -> Result<Json, Failure> {
    let target = mailboxes::find(read, (key.0, reminder.target))?.filter(|mailbox| !mailbox.is_retired);
    let state = reminder.state_at(now);
    Ok(Json::object([
        ("id", Json::from(ulid(reminder.id(key)))),
        ("subject", reminder.subject.as_str().into()),
        ("state", state.name().into()),
        ("target", target.map(|mailbox| mailbox.name).into()),
        ("self_addressed", (reminder.target == key.1).into()),
        ("due_at", instant_or_null(reminder.due_at.filter(|_| state == State::Scheduled))),
        ("expires_at", instant_or_null(reminder.expires_at)),
        ("repeat", reminder.rule.as_ref().map(|rule| rule.repeat.as_str()).into()),
        ("timezone", reminder.timezone.as_str().into()),
        ("created_at", instant_or_null(Some(reminder.created_at))),
    ]))
}
