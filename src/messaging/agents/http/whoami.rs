//! Who asks, and where.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Route, json as success};
use quintet_storage::{Failure, Read, Timestamp};

use super::wire::written;
use crate::context::Context;
use crate::dialect::{Answered, Call};
use crate::identity::{Caller, Workspace, agents, mailboxes};
use crate::mail::unread::first_unread;
use crate::mail::{deliver, ingress};
use crate::model::AgentKey;
use crate::wire::{instant_or_null, texts};
use crate::{blocks, rooms};

pub(super) const WHOAMI: Route = Route::get("whoami", "/v1/whoami")
    .permission("read")
    .summary("The workspace, the key, and the agent that it acts as with how much it has not read")
    .successes(&[success(200, "Whoami")])
    .codes(&["busy"]);

pub(super) async fn whoami(call: Call) -> Answered {
    let (context, caller, now) = (call.context.clone(), call.caller.clone(), call.now());
    let look = move || Ok(to_compact(&told(&context, &context.store.read(), &caller, now)?));
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

fn told(context: &Context, read: &impl Read, caller: &Caller, now: Timestamp) -> Result<Json, Failure> {
    let (workspace, key) = (&caller.workspace, &caller.key);
    let acting = caller.agent.as_ref().map(|acting| (workspace.no, acting.no));
    let agent = match acting {
        Some(acting) => agents::find(read, acting)?.map(|agent| (acting, agent)),
        None => None,
    };
    let (record, address, in_rooms) = match &agent {
        Some((acting, agent)) => (
            written(context, read, workspace, acting.1, agent, now)?,
            Json::from(context.address(workspace, &agent.name)),
            rooms::of_agent(read, *acting)?,
        ),
        None => (Json::Null, Json::Null, Vec::new()),
    };
    let key = Json::object([
        ("id", Json::from(key.id.as_str())),
        ("scope", key.scope.name().into()),
        ("bound_agents", texts(&key.agents)),
        ("attestation", caller.attestation().name().into()),
    ]);
    Ok(Json::object([
        ("workspace", written_workspace(workspace, context.listens_for_mail())),
        ("agent", record),
        ("address", address),
        ("rooms", texts(in_rooms)),
        ("key", key),
        ("unread", unread(read, acting)?),
        ("blocks", blocked(read, acting, now)?),
    ]))
}

/// A workspace, the same for every key and every agent of it: clients compare it whole.
fn written_workspace(workspace: &Workspace, listens: bool) -> Json {
    let refusal = ingress::refusal(workspace, listens);
    let external_mail = Json::object([
        ("accepts", Json::from(if refusal.is_none() { "anyone" } else { "nobody" })),
        ("refusal_reason", refusal.into()),
        ("refused_mail", refusal.map(|_| "rejected").into()),
    ]);
    Json::object([
        ("id", Json::from(ulid(workspace.id))),
        ("slug", workspace.slug.as_str().into()),
        ("encrypted", workspace.is_encrypted.into()),
        // Clients invite people to write wherever this says that it is open.
        ("ingress_policy", if refusal.is_none() { "open" } else { "closed" }.into()),
        ("external_mail", external_mail),
    ])
}

/// How much an agent has not read, and since when the first of it is there.
fn unread(read: &impl Read, agent: Option<AgentKey>) -> Result<Json, Failure> {
    let mut told = (0, None);
    if let Some(agent) = agent {
        let mailbox = mailboxes::get(read, agent)?;
        told.0 = mailbox.unread_count;
        if let Some(seq) = first_unread(read, agent, &mailbox)? {
            told.1 = deliver::find(read, agent, seq)?.map(|delivery| delivery.arrived_at);
        }
    }
    Ok(Json::object([("count", Json::from(told.0)), ("oldest_at", instant_or_null(told.1))]))
}

/// How many an agent blocks now, and how much was ever refused for its blocks.
fn blocked(read: &impl Read, agent: Option<AgentKey>, now: Timestamp) -> Result<Json, Failure> {
    let all = agent.map_or(Ok(Vec::new()), |agent| blocks::of_agent(read, agent))?;
    let count = all.iter().filter(|(_, block)| block.is_active(now)).count();
    let suppressed: u64 = all.iter().map(|(_, block)| block.suppressed_count).sum();
    Ok(Json::object([("count", Json::from(count)), ("suppressed_total", suppressed.into())]))
}
