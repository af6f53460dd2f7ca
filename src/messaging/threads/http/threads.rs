//! Threads: listing, reading, having one go on.

use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, FromSegment, KeyRule, Parameter, Route, Segment, Shape, failed, json as success,
};
use quintet_storage::{Failure, Read, Snapshot, Timestamp, WriteTx};

use super::super::look::{Onlooker, Part, latest, of_thread};
use super::page::{LIMIT, count};
use crate::dialect::{ACTING, Answered, Call};
use crate::identity::{Caller, Workspace};
use crate::mail::model::{GUARD_SECONDS, Thread};
use crate::mail::resume::{self as resuming, Resumer};
use crate::mail::threads as rows;
use crate::model::{MessageId, ThreadId, ThreadKey};
use crate::refusal::Refusal;
use crate::shown::{in_thread, state};
use crate::wire::{instant, instant_or_null, texts};

const THREAD: Segment = Segment::new("thread_id", Shape::Ulid);
const THREAD_LIMIT: Parameter = Parameter::new(
    "limit",
    Shape::Integer { min: 1, max: 500, default: Some(200) },
    "The most messages, the newest ones. There can be fewer and still be more.",
);
const BEFORE: Parameter =
    Parameter::new("before", Shape::Ulid, "Messages before this one: the next_before of an answer.");
/// Participants that are named.
const NAMED_MAX: usize = 100;

pub(super) const LIST: Route = Route::get("list_threads", "/v1/threads")
    .permission("read")
    .marks(&[ACTING])
    .summary("The agent's threads that were active lately, the newest activity first")
    .parameters(&[LIMIT])
    .successes(&[success(200, "Threads")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_thread", "/v1/threads/{thread_id}")
    .permission("read")
    .marks(&[ACTING])
    .summary(
        "A thread with the messages that the agent got or sent, the oldest first; a long one is cut at its beginning",
    )
    .segments(&[THREAD])
    .parameters(&[THREAD_LIMIT, BEFORE])
    .successes(&[success(200, "ThreadView")])
    .codes(&["busy"]);
pub(super) const RESUME: Route = Route::post("resume_thread", "/v1/threads/{thread_id}/resume")
    .permission("send")
    .summary("Have a paused thread go on, and deliver what it holds: for participants with a key of their own, and operators")
    .segments(&[THREAD])
    .successes(&[success(200, "Resumed")])
    .key(KeyRule::Optional);

impl FromSegment for ThreadId {
    fn from_segment(text: &str) -> Option<ThreadId> {
        parse_ulid(text).map(ThreadId)
    }
}

/// One that the agent takes no part in, and none, are the same.
fn no_thread() -> Refusal {
    Refusal::NotFound("thread with this id that this agent takes part in".to_owned())
}

pub(super) async fn list(mut call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let limit = count(call.integer(&LIMIT)?);
    let context = call.context.clone();
    let look = move || {
        let read = context.store.read();
        let records = latest(&read, agent, limit)?.into_iter().map(|(id, thread, oldest)| {
            let onlooker = Onlooker::new(&read, agent, &thread)?;
            let subject = onlooker.subject(&read, (id, &thread), Some(&oldest))?;
            record(&read, (agent.0, id), &thread, &subject)
        });
        let threads = records.collect::<Result<Vec<_>, Failure>>()?;
        Ok(to_compact(&Json::object([("count", Json::from(threads.len())), ("threads", threads.into())])))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

pub(super) async fn get(mut call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let limit = count(call.integer(&THREAD_LIMIT)?);
    let before = call.text(&BEFORE)?.and_then(|text| parse_ulid(&text)).map(MessageId);
    let id: ThreadId = call.segment(THREAD.name).ok_or_else(no_thread)?;
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    let look = move || {
        let (read, key) = (context.store.read(), (agent.0, id));
        let thread = if rows::takes_part(&read, key, agent.1)? { rows::find(&read, key)? } else { None };
        let thread = thread.ok_or_else(no_thread)?;
        let onlooker = Onlooker::new(&read, agent, &thread)?;
        let part = of_thread(&read, &workspace, key, &onlooker, (before, limit))?;
        let oldest = part.messages.first().map(|(_, message, _)| message.subject.as_str());
        let subject = onlooker.subject(&read, (id, &thread), oldest)?;
        Ok(view(&read, &workspace, key, (&thread, &subject), &part)?)
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

fn view(
    read: &Snapshot,
    workspace: &Workspace,
    key: ThreadKey,
    (thread, subject): (&Thread, &str),
    part: &Part,
) -> Result<String, Failure> {
    let shown = part.messages.iter().map(|(id, message, contents)| {
        let signature = state(read, workspace.no, message, contents)?;
        Ok(Json::object(in_thread(*id, message, (contents, signature))))
    });
    let messages = shown.collect::<Result<Vec<_>, Failure>>()?;
    let told = [
        ("thread", record(read, key, thread, subject)?),
        ("count", messages.len().into()),
        ("has_more", part.before.is_some().into()),
        ("next_before", part.before.map(|id| ulid(id.0)).into()),
        ("messages", messages.into()),
    ];
    Ok(to_compact(&Json::object(told)))
}

/// A thread as lists show it. How many messages there are counts all of them.
fn record(read: &impl Read, key: ThreadKey, thread: &Thread, subject: &str) -> Result<Json, Failure> {
    let (names, count) = rows::named(read, key, NAMED_MAX)?;
    let paused = thread.pause.is_some();
    Ok(Json::object([
        ("id", Json::from(ulid(key.1.0))),
        ("subject", subject.into()),
        ("state", if paused { "paused" } else { "active" }.into()),
        ("message_count", thread.message_count.into()),
        ("participants", texts(names)),
        ("participant_count", count.into()),
        ("last_message_at", instant(thread.last_message_at)),
        ("resumes_at", instant_or_null(thread.pause.map(|pause| pause.resumes_at))),
    ]))
}

pub(super) async fn resume(call: Call) -> Answered {
    let id: ThreadId = call.segment(THREAD.name).ok_or_else(no_thread)?;
    let key = (call.caller.workspace.no, id);
    if !call.caller.is_operator() {
        let (agent, _) = call.caller.acting()?;
        let takes_part = rows::takes_part(&call.snapshot(), key, agent.1);
        if !takes_part.map_err(|failure| failed::<Refusal>(&failure))? {
            return Err(no_thread().into());
        }
    }
    let caller = call.caller.clone();
    let mut change = call.change().await?;
    change.begin()?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let thread = rows::find(tx, key)?.ok_or_else(no_thread)?;
        let resumed = thread.pause.is_some();
        if resumed {
            let resumer = resumer(&caller, &thread)?;
            resuming::resume(tx, now, key, resumer)?;
        }
        Ok(Answer::json(200, to_compact(&resumed_as(key, resumed, &caller, &thread, now))))
    };
    change.write(verb).await
}

/// As whom somebody has a paused thread go on (6-messaging.md, G2, G3).
fn resumer(caller: &Caller, thread: &Thread) -> Result<Resumer, Refusal> {
    if caller.is_operator() {
        return Ok(Resumer::Operator);
    }
    if !caller.key.is_bound() {
        return Err(Refusal::Denied(
            "a participant resumes a thread with a key that is bound to it, not with a shared one",
        ));
    }
    match thread.pause.is_some_and(|pause| pause.is_for_operators) {
        true => Err(Refusal::Denied("the thread was paused again within an hour: an operator can resume it")),
        false => Ok(Resumer::Participant),
    }
}

/// What became of it. When what was counted until now does not count any more: a thread that goes on counts anew.
fn resumed_as(key: ThreadKey, resumed: bool, caller: &Caller, thread: &Thread, now: Timestamp) -> Json {
    let by = caller.agent.as_ref().map_or("operator", |acting| acting.name.as_str());
    let last = if resumed { Some(now) } else { thread.counted.last().copied() };
    Json::object([
        ("thread_id", Json::from(ulid(key.1.0))),
        ("thread_paused", false.into()),
        ("resumed", resumed.into()),
        ("resumed_by", resumed.then_some(by).into()),
        ("window_reset_at", instant_or_null(last.map(|last| last.plus_seconds(GUARD_SECONDS)))),
    ])
}
