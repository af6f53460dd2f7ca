//! Agents that nobody has heard of for long retire by themselves, unless mail waits for them (6-messaging.md, I4).
//!
//! The time in which a workspace is suspended says nothing of its agents: they may have much to say and cannot.

use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::idle_seconds;
use super::retire::retire;
use crate::due::{self, Due};
use crate::identity::{Agent, Status, agents, mailboxes, workspaces};
use crate::model::AgentKey;

/// One that has been idle for long enough while mail waits for it is looked at again after this part of that time.
const PARTS: i64 = 12;

/// Has it be looked at an agent after the time that it may be idle from now on. The caller keeps the agent.
pub(super) fn look_after(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: AgentKey,
    agent: &mut Agent,
) -> Result<(), Failure> {
    let at = now.plus_seconds(idle_seconds(agent));
    look_at(tx, at, key, agent)
}

fn look_at(tx: &mut WriteTx<'_>, at: Timestamp, key: AgentKey, agent: &mut Agent) -> Result<(), Failure> {
    if let Some(before) = agent.idle_look_at.replace(at) {
        due::clear(tx, before, Due::Idle(key));
    }
    due::put(tx, at, Due::Idle(key))
}

/// Looks at an agent that may have been idle for too long: it retires, or is looked at later. `seen_at`: when it was last
/// heard of, if ever.
pub(crate) fn look(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: AgentKey,
    seen_at: Option<Timestamp>,
) -> Result<(), Failure> {
    let Some(mut agent) = agents::find(tx, key)?.filter(|agent| agent.retired_at.is_none()) else { return Ok(()) };
    let seconds = idle_seconds(&agent);
    let mailbox = mailboxes::get(tx, key)?;
    let Some(workspace) = workspaces::find(tx, key.0)? else { return Ok(()) };
    // Since when it could have been heard of, and was not.
    let since = seen_at.unwrap_or(agent.created_at);
    let since = workspaces::activated_at(tx, &workspace)?.map_or(since, |at| at.max(since));
    let idle_at = since.plus_seconds(seconds);
    let at = if workspaces::status(tx, &workspace)? == Status::Suspended {
        // It is activated later than now, and all of that time begins then.
        now.plus_seconds(seconds)
    } else if idle_at > now {
        idle_at
    } else if mailbox.unread_count > 0 || mailbox.held_count > 0 {
        now.plus_seconds(seconds / PARTS)
    } else {
        return retire(tx, now, key).map(drop);
    };
    look_at(tx, at, key, &mut agent)?;
    agents::put(tx, key, &agent)
}
