//! Rooms over HTTP: which there are, joining and leaving.

mod path;
mod schema;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Endpoint, KeyRule, Route, json as success};
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::members;
use crate::dialect::{ACTING, Answered, Call, Messaging, challenged};
use crate::identity::mailboxes;
use crate::refusal::Refusal;
use crate::words::room_name::{RULE, is_room_name};
pub(crate) use path::ROOM;

/// Rooms that an agent can be in.
const ROOMS_MAX: usize = 1_000;
/// So many rooms are read at a time.
const AT_ONCE: usize = 500;

const LIST: Route = Route::get("list_rooms", "/v1/rooms")
    .permission("read")
    .summary("All rooms of the workspace, by name")
    .successes(&[success(200, "Rooms")])
    .codes(&["busy"]);
const JOIN: Route = Route::post("join_room", "/v1/rooms/{room}/join")
    .permission("send")
    .marks(&[ACTING])
    .summary("Have the agent join a room, which is made if there is none")
    .segments(&[ROOM])
    .successes(&[success(200, "RoomStanding")])
    .key(KeyRule::Optional)
    .codes(&["limit_reached"]);
const LEAVE: Route = Route::post("leave_room", "/v1/rooms/{room}/leave")
    .permission("send")
    .marks(&[ACTING])
    .summary("Have the agent leave a room; one that it is not in is left already")
    .segments(&[ROOM])
    .successes(&[success(200, "RoomStanding")])
    .key(KeyRule::Optional);

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

async fn list(call: Call) -> Answered {
    let (read, workspace) = (call.snapshot(), call.caller.workspace.no);
    let asking = call.caller.agent.as_ref().map(|acting| acting.no);
    let work = move || -> Result<Vec<u8>, Abort<Refusal>> {
        let (mut told, mut after) = (Vec::new(), None::<String>);
        loop {
            let some = members::list(&read, workspace, after.as_deref(), AT_ONCE)?;
            let is_last = some.len() < AT_ONCE;
            after = some.last().map(|(room, _)| room.clone());
            for (room, all) in some {
                let mut active: u64 = 0;
                for no in &all {
                    active += u64::from(!mailboxes::get(&read, (workspace, *no))?.is_retired);
                }
                let is_joined = asking.is_some_and(|no| all.contains(&no));
                let record = [("room", Json::from(room)), ("members", active.into()), ("joined", is_joined.into())];
                told.push(Json::object(record));
            }
            if is_last {
                return Ok(to_compact(&Json::object([("rooms", Json::from(told))])).into());
            }
        }
    };
    let body = call.in_turn(&call.context.lookers, work).await?;
    Ok(Answer::json(200, body))
}

async fn join(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let room = room_of(&call)?;
    let mut change = call.change().await?;
    change.begin()?;
    let verb = move |tx: &mut WriteTx<'_>, _: Timestamp| {
        let is_new = !members::is_member(tx, agent, &room)?;
        if is_new && members::of_agent(tx, agent)?.len() >= ROOMS_MAX {
            return Err(Refusal::LimitReached("rooms", ROOMS_MAX as u64).into());
        }
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
    let verb = move |tx: &mut WriteTx<'_>, _: Timestamp| {
        members::leave(tx, agent, &room)?;
        Ok(standing(&room, false))
    };
    change.write(verb).await
}
