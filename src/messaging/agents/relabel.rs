//! Changing what an agent wears.

use quintet_storage::{Abort, WriteTx};

use super::model::merged;
use crate::identity::{Agent, Workspace, agents, workspaces};
use crate::limits::AGENT_TAGS;
use crate::model::{AgentKey, AgentNo};
use crate::refusal::Refusal;

/// Sets some labels of an agent and takes others off; a label in both lists stays off.
///
/// # Errors
/// The agent would wear more than it may, and more than it did.
pub(crate) fn relabel(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    no: AgentNo,
    set: &[(String, String)],
    remove: &[String],
) -> Result<Agent, Abort<Refusal>> {
    let key: AgentKey = (workspace.no, no);
    let mut agent = agents::find(tx, key)?.ok_or_else(|| Refusal::NotFound("such agent".to_owned()))?;
    let mut labels = merged(&agent.labels, set);
    labels.retain(|(label, _)| !remove.contains(label));
    let max = workspaces::limit(tx, workspace.no, AGENT_TAGS)?;
    if labels.len() as u64 > max && labels.len() > agent.labels.len() {
        return Err(Refusal::LimitReached(AGENT_TAGS.name, max).into());
    }
    agent.labels = labels;
    agents::put(tx, key, &agent)?;
    Ok(agent)
}
