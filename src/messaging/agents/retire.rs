//! Retiring (6-messaging.md, I4): an agent leaves the phonebook and gets no mail, and keeps what it has.

use quintet_storage::{Failure, Timestamp, WriteTx};

use crate::due::{self, Due};
use crate::identity::{agents, mailboxes, workspaces};
use crate::model::{AgentKey, packed};
use crate::rooms;

/// Retires an agent, and says when that was. What is held open for it ends. Again: nothing changes. `None`: there is no such agent.
pub(crate) fn retire(tx: &mut WriteTx<'_>, now: Timestamp, key: AgentKey) -> Result<Option<Timestamp>, Failure> {
    let Some(mut agent) = agents::find(tx, key)? else { return Ok(None) };
    if let Some(retired_at) = agent.retired_at {
        return Ok(Some(retired_at));
    }
    if let Some(at) = agent.idle_look_at.take() {
        due::clear(tx, at, Due::Idle(key));
    }
    agent.retired_at = Some(now);
    agents::put(tx, key, &agent)?;
    let mut mailbox = mailboxes::get(tx, key)?;
    mailbox.is_retired = true;
    mailboxes::put(tx, key, &mailbox)?;
    tx.tells(agents::RETIRED, packed(key), 0);
    rooms::retire(tx, now, key)?;
    let mut counts = workspaces::counts(tx, key.0)?;
    counts.active_agents = counts.active_agents.saturating_sub(1);
    workspaces::put_counts(tx, key.0, counts)?;
    Ok(Some(now))
}
