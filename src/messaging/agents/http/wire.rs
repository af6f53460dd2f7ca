//! Writing agents.

use quintet_platform::ids::ulid;
use quintet_platform::json::Json;
use quintet_storage::{Failure, Read, Timestamp};

use super::super::model::Registered;
use crate::context::Context;
use crate::identity::{Agent, Standing, Workspace, mailboxes};
use crate::model::AgentNo;
use crate::rooms;
use crate::wire::{instant_or_null, texts};

/// An agent's record (6-messaging.md, R): name, presence and address are never null.
pub(super) fn written(
    context: &Context,
    read: &impl Read,
    workspace: &Workspace,
    no: AgentNo,
    agent: &Agent,
    now: Timestamp,
) -> Result<Json, Failure> {
    let key = (workspace.no, no);
    let attended = context.attendance.attended(read, key)?;
    let standing = mailboxes::get(read, key)?.standing;
    let standing = if standing.is_over(now) { Standing::ONLINE } else { standing };
    let since = |at: Option<Timestamp>| at.map(|at| (now.as_micros() - at.as_micros()).max(0) / 1_000_000);
    let seen = attended.sighting;
    Ok(Json::object([
        ("id", Json::from(ulid(agent.id))),
        ("name", agent.name.as_str().into()),
        ("role", agent.role.as_deref().into()),
        ("address", context.address(workspace, &agent.name).into()),
        ("presence", attended.presence(agent.retired_at.is_some(), now).name().into()),
        ("availability", standing.availability.name().into()),
        ("until", instant_or_null(standing.until)),
        ("capabilities", texts(&agent.capabilities)),
        ("labels", labels(agent)),
        ("wake_channel", attended.wake_channel().name().into()),
        ("last_seen_seconds", since(seen.last_seen_at).into()),
        ("last_pong_seconds", since(seen.last_pong_at).into()),
        ("echo_delay_ms", seen.echo_delay_ms.into()),
        ("device_hash", agent.device_hash.as_deref().into()),
        ("repo_fingerprint", agent.repo_fingerprint.as_deref().into()),
        ("persona", agent.persona.as_deref().into()),
        ("ephemeral", agent.is_ephemeral.into()),
        ("unlisted", agent.is_unlisted.into()),
        ("retired_at", instant_or_null(agent.retired_at)),
    ]))
}

/// What an agent wears: each key once, in the order of the keys.
pub(super) fn labels(agent: &Agent) -> Json {
    let members = agent.labels.iter().map(|(key, value)| (key.clone(), Json::from(value.as_str())));
    Json::Object(members.collect())
}

/// What is told of one that has registered. Its rooms are so many at the most that reading them keeps nobody waiting.
pub(super) fn written_registered(
    context: &Context,
    read: &impl Read,
    workspace: &Workspace,
    registered: &Registered,
    now: Timestamp,
) -> Result<Vec<(&'static str, Json)>, Failure> {
    let Registered { no, agent, is_new, changed } = registered;
    let mut told = vec![
        ("agent", written(context, read, workspace, *no, agent, now)?),
        ("address", Json::from(context.address(workspace, &agent.name))),
        ("rooms", texts(rooms::of_agent(read, (workspace.no, *no))?)),
        ("created", Json::from(*is_new)),
    ];
    if !changed.is_empty() {
        told.push(("identity_changed", texts(changed)));
    }
    Ok(told)
}
