//! Rooms over HTTP: which there are, joining and leaving.

mod path;
mod schema;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Endpoint, KeyRule, Parameter, Route, Shape, json as success};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::{members, prepare};
use crate::dialect::{ACTING, Answered, Call, Messaging, challenged};
use crate::identity::mailboxes;
use crate::model::{AgentNo, WorkspaceNo};
use crate::refusal::Refusal;
use crate::words::room_name::{RULE, is_room_name};
pub(crate) use path::ROOM;

/// So many rooms are read at a time.
const AT_ONCE: usize = 500;
/// About the bytes of an answer.
const LISTED_BYTES_MAX: usize = 2 << 20;
/// What a room is counted as in it, besides its name.
const RECORD_BYTES: usize = 64;
/// So many members are looked at for one answer.
const MEMBERS_MAX: usize = 1_000_000;

const CURSOR: Parameter = Parameter::new("cursor", Shape::ANY, "The next_cursor of the answer before.");

const LIST: Route = Route::get("list_rooms", "/v1/rooms")
    .permission("read")
    .summary("The rooms of the workspace, by name")
    .parameters(&[CURSOR])
    .successes(&[success(200, "Rooms")])
    .codes(&["busy"]);
const JOIN: Route = Route::post("join_room", "/v1/rooms/{room}/join")
    .permission("send")
    .marks(&[ACTING])
    .summary("Have the agent join a room, which is made if there is none")
    .segments(&[ROOM])
    .successes(&[success(200, "RoomStanding")])
    .key(KeyRule::Optional)
    .codes(&["busy", "limit_reached"]);
const LEAVE: Route = Route::post("leave_room", "/v1/rooms/{room}/leave")
    .permission("send")
    .marks(&[ACTING])
    .summary("Have the agent leave a room; one that it is not in is left already")
    .segments(&[ROOM])
    .successes(&[success(200, "RoomStanding")])
    .key(KeyRule::Optional)
    .codes(&["busy"]);

/// What is served of who is in rooms.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&LIST, |call| Box::pin(challenged(call, list))),
    Endpoint::new(&JOIN, |call| Box::pin(challenged(call, join))),
    Endpoint::new(&LEAVE, |call| Box::pin(challenged(call, leave))),
    Endpoint::new(&schema::GET, |call| Box::pin(challenged(call, schema::get))),
    Endpoint::new(&schema::SET, |call| Box::pin(challenged(call, schema::set))),
];

/// The room of a request's path, whether or not there is one.
fn room_of(call: &Call) -> Result<String, Refusal> {
    let room: Option<String> = call.segment(ROOM.name);
    room.filter(|room| is_room_name(room)).ok_or_else(|| Refusal::field(ROOM.name, RULE))
}

fn standing(room: &str, is_joined: bool) -> Answer {
    Answer::json(200, to_compact(&Json::object([("room", Json::from(room)), ("joined", Json::from(is_joined))])))
}

async fn list(mut call: Call) -> Answered {
    let after = call.text(&CURSOR)?;
    let (context, workspace) = (call.context.clone(), call.caller.workspace.no);
    let asking = call.caller.agent.as_ref().map(|acting| acting.no);
    let work = move || Ok::<_, Abort<Refusal>>(told(&context.store.read(), workspace, asking, after)?);
    let body = call.in_turn(&call.context.lookers, work).await?;
    Ok(Answer::json(200, body))
}

/// Rooms behind one, as many as one answer has, and where the next one goes on.
fn told(
    read: &impl Read,
    workspace: WorkspaceNo,
    asking: Option<AgentNo>,
    mut after: Option<String>,
) -> Result<String, Failure> {
    let (mut told, mut bytes, mut looked_at, mut retired) = (Vec::new(), 0, 0, HashMap::new());
    let next = 'reading: loop {
        let some = members::list(read, workspace, after.as_deref(), AT_ONCE)?;
        let is_last = some.len() < AT_ONCE;
        for (room, all) in some {
            if bytes >= LISTED_BYTES_MAX || looked_at >= MEMBERS_MAX {
                break 'reading after;
            }
            (bytes, looked_at) = (bytes + room.len() + RECORD_BYTES, looked_at + all.len());
            let mut active: u64 = 0;
            for no in &all {
                let is_retired = match retired.get(no) {
                    Some(known) => *known,
                    None => mailboxes::get(read, (workspace, *no))?.is_retired,
                };
                retired.insert(*no, is_retired);
                active += u64::from(!is_retired);
            }
            let is_joined = asking.is_some_and(|no| all.contains(&no));
            let name = Json::from(room.as_str());
            told.push(Json::object([("room", name), ("members", active.into()), ("joined", is_joined.into())]));
            after = Some(room);
        }
        if is_last {
            break None;
        }
    };
    Ok(to_compact(&Json::object([("rooms", Json::from(told)), ("next_cursor", next.into())])))
}

async fn join(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let room = room_of(&call)?;
    let mut change = call.change().await?;
    change.begin()?;
    prepare(&change.call.context, &change.call.caller.workspace, Some(&room)).await?;
    let verb = move |tx: &mut WriteTx<'_>, _: Timestamp| {
        members::join(tx, agent, &room)?;
        Ok(standing(&room, true))
    };
    change.write(verb).await
}

async fn leave(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let room = room_of(&call)?;
    let mut change = call.change().await?;
    change.begin()?;
    prepare(&change.call.context, &change.call.caller.workspace, None).await?;
    let verb = move |tx: &mut WriteTx<'_>, _: Timestamp| {
        members::leave(tx, agent, &room)?;
        Ok(standing(&room, false))
    };
    change.write(verb).await
}
