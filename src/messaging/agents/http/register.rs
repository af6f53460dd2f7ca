//! Registering.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, failed, json as success};
use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use super::super::model::Registered;
use super::super::register as registering;
use super::form::{name_of, read_registration};
use super::wire::written_registered;
use crate::context::Context;
use crate::dialect::{Answered, Call, MAKING, REVIVING};
use crate::form::members;
use crate::identity::{Scope, Workspace};
use crate::refusal::Refusal;
use crate::rooms;

pub(super) const REGISTER: Route = Route::post("register_agent", "/v1/agents/register")
    .permission("send")
    .marks(&[REVIVING, MAKING])
    .summary("Register an agent by name, or by role and checkout: the same one again, revived if it is retired, or a new one")
    .body(Content::OptionalJson("Registration"))
    .successes(&[
        success(201, "Registered").about("A new agent"),
        success(200, "Registered").about("One that there was, retired or not"),
    ])
    .makes("name", "agent/name")
    .key(KeyRule::Optional)
    .codes(&["busy", "limit_reached"]);

pub(super) async fn register(call: Call) -> Answered {
    let (context, key) = (call.context.clone(), call.caller.key.clone());
    let (workspace, acting) = (call.caller.workspace.clone(), call.caller.agent.clone());
    let mut change = call.change().await?;
    change.begin()?;
    let (mut registration, ignored) = read_registration(&mut members(&mut change)?, key.scope == Scope::Admin)?;
    rooms::prepare(&context, &workspace, registration.room().as_deref()).await?;
    // Who says nothing of itself is the agent that it acts as.
    if let (None, None, Some(acting)) = (&registration.name, &registration.role, acting) {
        registration.name = Some(name_of(&acting.name)?);
    }
    if change.entered().is_none() {
        // Its rooms may be many: where nothing is remembered they are read when the writer does something else already.
        let of = workspace.clone();
        let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| registering(tx, now, &of, &key, &registration);
        let registered = change.write_first(verb).await?;
        let told = told(&context, &change.call.snapshot(), &workspace, &registered, (ignored, change.call.now()));
        return Ok(told.map_err(|failure| failed::<Refusal>(&failure))?);
    }
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let registered = registering(tx, now, &workspace, &key, &registration)?;
        Ok(told(&context, tx, &workspace, &registered, (ignored, now))?)
    };
    change.write(verb).await
}

fn told(
    context: &Context,
    read: &impl Read,
    workspace: &Workspace,
    registered: &Registered,
    (ignored, now): (Option<&'static str>, Timestamp),
) -> Result<Answer, Failure> {
    let mut told = written_registered(context, read, workspace, registered, now)?;
    told.extend(ignored.map(|text| ("persona_ignored", Json::from(text))));
    let status = if registered.is_new { 201 } else { 200 };
    Ok(Answer::json(status, to_compact(&Json::object(told))))
}
