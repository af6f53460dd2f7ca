//! What an address stands for.

use quintet_platform::ids::parse_ulid;
use quintet_storage::{Failure, Read, Timestamp};

use super::model::{Found, Recipient};
use crate::context::Context;
use crate::identity::{Status, Workspace, agents, mailboxes, workspaces};
use crate::limits::EXTERNAL_IN_PER_DAY;
use crate::mail::ingress;
use crate::mail::messages;
use crate::mail::recipients::agent_named;
use crate::model::{AgentNo, MessageId};
use crate::outbox;
use crate::usage::{self, Daily};
use crate::words::address::Mailbox;

/// What an address stands for, by what is stored now.
pub(crate) fn find(context: &Context, address: &str) -> Found {
    let found = looked_up(&context.store.read(), context.now(), context.domain(), address);
    found.unwrap_or_else(|failure| {
        tracing::warn!(%failure, "it cannot be found out whom mail is for");
        Found::Unknown
    })
}

fn looked_up(read: &impl Read, now: Timestamp, domain: &str, address: &str) -> Result<Found, Failure> {
    let Some(own) = Mailbox::read(address, domain) else { return Ok(Found::Nobody) };
    let Some(workspace) = workspaces::by_slug(read, &own.workspace)? else { return Ok(Found::Nobody) };
    if workspaces::status(read, &workspace)? != Status::Active {
        return Ok(Found::Nobody);
    }
    let name = own.agent.as_str();
    let (agent, bounce_of) = match &own.bounce_of {
        None => (agent_named(read, workspace.no, name)?.map(|(no, _)| no), None),
        Some(id) => match reported(read, &workspace, name, id)? {
            Some((no, message)) => (Some(no), Some(message)),
            None => (None, None),
        },
    };
    let Some(agent) = agent else { return Ok(Found::Nobody) };
    // Whoever writes hears of what he wrote, wherever mail from others is taken or not.
    if bounce_of.is_none() && ingress::refusal(&workspace, true).is_some() {
        return Ok(Found::Closed);
    }
    let today = usage::used(read, workspace.no, usage::day_of(now))?.of(Daily::ExternalIn);
    if today >= workspace.limit(EXTERNAL_IN_PER_DAY) {
        return Ok(Found::DayIsFull);
    }
    Ok(Found::Here(Recipient {
        workspace: workspace.no,
        tenant_id: workspace.tenant_id,
        agent,
        name: mailboxes::get(read, (workspace.no, agent))?.name,
        address: address.to_owned(),
        bounce_of,
    }))
}

/// The agent that sent a message outside, retired or not, and the message; `None`: there is none that a report could be
/// about, or no more.
fn reported(
    read: &impl Read,
    workspace: &Workspace,
    name: &str,
    id: &str,
) -> Result<Option<(AgentNo, MessageId)>, Failure> {
    let Some(id) = parse_ulid(&id.to_ascii_uppercase()).map(MessageId) else { return Ok(None) };
    let Some(agent) = agents::by_name(read, workspace.no, name)? else { return Ok(None) };
    let is_sent = outbox::find(read, (workspace.no, id.0))?.is_some();
    let message = if is_sent { messages::find(read, (workspace.no, id))? } else { None };
    let is_its = message.is_some_and(|message| message.sender == crate::mail::model::Sender::Agent(agent));
    Ok(if is_its { Some((agent, id)) } else { None })
}
