//! What was said in a room: for its members, who see what was said before they joined, too.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Parameter, Route, Shape, failed, json as success};
use quintet_storage::{Failure, Snapshot, Timestamp, Uuid};

use super::super::look::Budget;
use super::page::{LIMIT, count};
use crate::dialect::{ACTING, Answered, Call};
use crate::identity::Workspace;
use crate::mail::messages;
use crate::model::MessageId;
use crate::refusal::Refusal;
use crate::rooms::http::ROOM;
use crate::rooms::is_member;
use crate::shown::{in_thread, opened};

const SINCE: Parameter = Parameter::new(
    "since",
    Shape::Instant,
    "The first messages from this instant on; left out: the newest ones. Either way the oldest stands first.",
);

pub(super) const LIST: Route = Route::get("room_history", "/v1/rooms/{room}/history")
    .permission("read")
    .marks(&[ACTING])
    .summary("What was sent to a room that the agent is in, the oldest first")
    .segments(&[ROOM])
    .parameters(&[LIMIT, SINCE])
    .successes(&[success(200, "RoomHistory")])
    .codes(&["busy"]);

/// A room that the agent is not in, and none, are the same here.
fn no_room() -> Refusal {
    Refusal::NotFound("room of this name that this agent is in".to_owned())
}

pub(super) async fn list(mut call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let limit = count(call.integer(&LIMIT)?);
    let since = call.instant(&SINCE)?;
    let room: String = call.segment(ROOM.name).ok_or_else(no_room)?;
    let is_in = is_member(&call.snapshot(), agent, &room).map_err(|failure| failed::<Refusal>(&failure))?;
    if !is_in {
        return Err(no_room().into());
    }
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    let look = move || Ok(written(&context.store.read(), &workspace, &room, since, limit)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

fn written(
    read: &Snapshot,
    workspace: &Workspace,
    room: &str,
    since: Option<Timestamp>,
    limit: usize,
) -> Result<String, Failure> {
    let ids = match since {
        Some(since) => messages::of_room_from(read, workspace.no, room, first_at(since), limit)?,
        None => messages::of_room(read, workspace.no, room, limit)?,
    };
    let (mut budget, mut rows) = (Budget::default(), Vec::new());
    for id in ids {
        let message = messages::get(read, (workspace.no, id))?;
        // An id stands at its millisecond, which may be the one before the instant.
        if since.is_some_and(|since| message.created_at < since) {
            continue;
        }
        if !budget.has_room() {
            break;
        }
        let (contents, signature) = opened(read, workspace, (id, &message))?;
        budget.take(&message, &contents);
        let mut members = in_thread(id, &message, (&contents, signature));
        members.push(("sender", message.sender_name.as_str().into()));
        rows.push(Json::object(members));
    }
    if since.is_none() {
        rows.reverse();
    }
    let told = [("room", Json::from(room)), ("count", rows.len().into()), ("messages", rows.into())];
    Ok(to_compact(&Json::object(told)))
}

/// No message of this millisecond, or a later one, has a lower id.
fn first_at(at: Timestamp) -> MessageId {
    let millis = u128::from(at.as_micros().div_euclid(1_000).max(0).unsigned_abs());
    MessageId(Uuid::from_u128(millis << 80))
}
