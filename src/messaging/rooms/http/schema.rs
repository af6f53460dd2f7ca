//! What a room wants of payloads: anybody of the workspace may read it, members set it.

use quintet_platform::json::{self, Json, Limits, to_compact};
use quintet_platform::service::{Answer, Content, Route, failed, json as success};
use quintet_storage::{Failure, WriteTx};

use super::super::members::{find, is_member};
use super::super::schema::Schema;
use super::super::schemas::{RoomSchema, schema_of, set_schema};
use super::path::ROOM;
use crate::dialect::{ACTING, Answered, Call};
use crate::form;
use crate::refusal::Refusal;

pub(super) const GET: Route = Route::get("get_room_schema", "/v1/rooms/{room}/schema")
    .permission("read")
    .summary("What a room wants of payloads; null: anything")
    .segments(&[ROOM])
    .successes(&[success(200, "RoomSchema")]);
pub(super) const SET: Route = Route::put("set_room_schema", "/v1/rooms/{room}/schema")
    .permission("send")
    .marks(&[ACTING])
    .summary("Set the JSON Schema that payloads to a room must fit, or take it away: for members")
    .segments(&[ROOM])
    .body(Content::Json("RoomSchemaSet"))
    .successes(&[success(200, "RoomSchema")])
    .codes(&["busy", "sealing_required"]);

fn room_of(call: &Call) -> Result<String, Refusal> {
    let none = |room: &str| Refusal::NotFound(format!("room {room}"));
    let room: String = call.segment(ROOM.name).ok_or_else(|| none("of this name"))?;
    let found = find(&call.snapshot(), call.caller.workspace.no, &room);
    match found.map_err(|failure| failed::<Refusal>(&failure))? {
        Some(_) => Ok(room),
        None => Err(none(&room)),
    }
}

pub(super) async fn get(call: Call) -> Answered {
    let room = room_of(&call)?;
    let schema = schema_of(&call.snapshot(), call.caller.workspace.no, &room);
    let RoomSchema { text, version } = schema.map_err(|failure| failed::<Refusal>(&failure))?;
    let schema = text.map(|text| parsed(&text)).transpose().map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(answer(&room, schema.into(), version))
}

fn parsed(text: &str) -> Result<Json, Failure> {
    let limits = Limits { max_depth: Limits::DEPTH_MAX };
    json::parse(text.as_bytes(), limits).map_err(|_| Failure::Damaged("the schema of a room is no JSON".to_owned()))
}

fn no_member() -> Refusal {
    Refusal::Denied("members set the schema of a room: join it first")
}

pub(super) async fn set(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let room = room_of(&call)?;
    if !is_member(&call.snapshot(), agent, &room).map_err(|failure| failed::<Refusal>(&failure))? {
        return Err(no_member().into());
    }
    let is_encrypted = call.caller.workspace.is_encrypted;
    let mut change = call.change().await?;
    let mut fields = form::members(&mut change)?;
    let given = fields.take("schema").ok_or_else(|| Refusal::field("schema", "is required"))?;
    let schema = if given == Json::Null { None } else { Some(given) };
    if schema.is_some() && is_encrypted {
        return Err(Refusal::SealingRequired("schema").into());
    }
    let text = schema.as_ref().map(to_compact);
    if let Some(text) = text.clone() {
        // Somebody may try how long a schema can take to be read.
        let compile = move || match Schema::compile(&text) {
            Ok(_) => Ok(()),
            Err(fault) => Err(Refusal::field("schema", format!("cannot be used: {fault}")).into()),
        };
        change.call.in_turn(&change.call.context.lookers, compile).await?;
    }
    let verb = move |tx: &mut WriteTx<'_>, _| {
        // Who left meanwhile was perhaps the last one there.
        if !is_member(tx, agent, &room)? {
            return Err(no_member().into());
        }
        let version = set_schema(tx, agent.0, &room, text)?;
        Ok(answer(&room, schema.into(), version))
    };
    change.write(verb).await
}

fn answer(room: &str, schema: Json, version: u64) -> Answer {
    let told = [("room", Json::from(room)), ("schema", schema), ("version", version.into())];
    Answer::json(200, to_compact(&Json::object(told)))
}
