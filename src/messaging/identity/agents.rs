//! Rows of agents: finding them by number, name, session or label, and keeping what changes with every index of it.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::model::Agent;
use super::tables::{AGENTS, AGENTS_BY_LABEL, AGENTS_BY_NAME, AGENTS_BY_SESSION, AgentNoRow, AgentRow};
use crate::model::{AgentKey, AgentNo, Mark, WorkspaceNo};

/// What is told of agents, as the store names it: that one is retired.
pub(crate) const RETIRED: u16 = 0x0502;

/// An agent, retired or not.
pub(crate) fn find(read: &impl Read, key: AgentKey) -> Result<Option<Agent>, Failure> {
    Ok(read.get(&AGENTS, &key)?.map(AgentRow::into_agent))
}

/// The number of the agent with this name, retired or not.
pub(crate) fn by_name(read: &impl Read, workspace: WorkspaceNo, name: &str) -> Result<Option<AgentNo>, Failure> {
    Ok(read.get(&AGENTS_BY_NAME, &(workspace, name.to_owned()))?.map(|AgentNoRow(no)| no))
}

/// The agent that works at this place in this role.
pub(crate) fn by_session(
    read: &impl Read,
    workspace: WorkspaceNo,
    session_key: &str,
    role: &str,
) -> Result<Option<AgentNo>, Failure> {
    let key = (workspace, session_key.to_owned(), role.to_owned());
    Ok(read.get(&AGENTS_BY_SESSION, &key)?.map(|AgentNoRow(no)| no))
}

/// The agents that wear a label: with this value, or with any. Only in stores of earlier versions retired ones are among
/// them.
pub(crate) fn by_label(
    read: &impl Read,
    workspace: WorkspaceNo,
    label: &str,
    value: Option<&str>,
) -> Result<Vec<AgentNo>, Failure> {
    let scan = match value {
        Some(value) => Scan::prefix(&(workspace, label.to_owned(), value.to_owned())),
        None => Scan::prefix(&(workspace, label.to_owned())),
    };
    let rows = read.scan(&AGENTS_BY_LABEL, scan)?;
    Ok(rows.into_iter().map(|((_, _, _, agent), Mark)| agent).collect())
}

/// Agents of a workspace by name, behind a name, `most` at the most; retired ones too.
pub(crate) fn list(
    read: &impl Read,
    workspace: WorkspaceNo,
    after: Option<&str>,
    most: usize,
) -> Result<Vec<(AgentNo, Agent)>, Failure> {
    let scan = Scan::prefix(&(workspace,)).limit(most);
    let scan = after.iter().fold(scan, |scan, after| scan.after(&(workspace, (*after).to_owned())));
    let rows = read.scan(&AGENTS_BY_NAME, scan)?;
    let found = rows.into_iter().map(|(_, AgentNoRow(no))| Ok(find(read, (workspace, no))?.map(|agent| (no, agent))));
    found.filter_map(Result::transpose).collect()
}

/// Keeps an agent, a new one as well, and what finds it.
pub(crate) fn put(tx: &mut WriteTx<'_>, key: AgentKey, agent: &Agent) -> Result<(), Failure> {
    let (workspace, no) = key;
    let before = find(tx, key)?;
    if before.as_ref().is_none_or(|before| before.name != agent.name) {
        tx.put(&AGENTS_BY_NAME, &(workspace, agent.name.clone()), &AgentNoRow(no))?;
    }
    let session = |agent: &Agent| Some((workspace, agent.session_key.clone()?, agent.role.clone()?));
    let (was, is) = (before.as_ref().and_then(session), session(agent));
    if was != is {
        if let Some(was) = was {
            tx.delete(&AGENTS_BY_SESSION, &was);
        }
        if let Some(is) = is {
            tx.put(&AGENTS_BY_SESSION, &is, &AgentNoRow(no))?;
        }
    }
    let (was, is) = (before.as_ref().map_or(&[][..], found_by), found_by(agent));
    // Of one that was retired before this was so, rows of its labels are there still.
    let known = before.as_ref().map_or(&[][..], |before| &before.labels);
    for (label, value) in known.iter().filter(|pair| !is.contains(pair)) {
        tx.delete(&AGENTS_BY_LABEL, &(workspace, label.clone(), value.clone(), no));
    }
    for (label, value) in is.iter().filter(|pair| !was.contains(pair)) {
        tx.put(&AGENTS_BY_LABEL, &(workspace, label.clone(), value.clone(), no), &Mark)?;
    }
    tx.put(&AGENTS, &key, &AgentRow::of(agent))
}

/// The labels that an agent is found by: none once it is retired, for each send to a tag walks what is found.
fn found_by(agent: &Agent) -> &[(String, String)] {
    if agent.retired_at.is_none() { &agent.labels } else { &[] }
}

/// Has a label lead to an agent, whatever it wears.
#[cfg(test)]
pub(crate) fn mark(tx: &mut WriteTx<'_>, key: AgentKey, label: &str, value: &str) -> Result<(), Failure> {
    tx.put(&AGENTS_BY_LABEL, &(key.0, label.to_owned(), value.to_owned(), key.1), &Mark)
}
