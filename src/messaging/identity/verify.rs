//! What contradicts itself in the rows of workspaces, keys, agents and mailboxes.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::{Agent, Availability, Counts};
use super::tables::{
    ACTIVATIONS, AGENTS, AGENTS_BY_LABEL, AGENTS_BY_NAME, AGENTS_BY_SESSION, AgentNoRow, COUNTS, KEYS,
    KEYS_BY_WORKSPACE, MAILBOXES, WORKSPACES, WORKSPACES_BY_SLUG, WORKSPACES_BY_TENANT, WorkspaceNoRow,
};
use super::{agents, keys, mailboxes, workspaces};
use crate::due::{self, Due};
use crate::model::{AgentKey, WorkspaceNo};

/// Everything that does.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut counted = BTreeMap::new();
    check_workspaces(read, findings)?;
    check_keys(read, &mut counted, findings)?;
    check_agents(read, &mut counted, findings)?;
    check_indexes(read, findings)?;
    check_mailboxes(read, findings)?;
    check_counts(read, counted, findings)
}

fn check_workspaces(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &WORKSPACES, findings, |no, row, findings| {
        let workspace = row.into_workspace(no);
        let of_slug = read.get(&WORKSPACES_BY_SLUG, &workspace.slug)?;
        if of_slug != Some(WorkspaceNoRow(no)) {
            findings.push(format!("the workspace {no:?} is not found by its slug {}", workspace.slug));
        }
        if !read.contains(&WORKSPACES_BY_TENANT, &(workspace.tenant_id, no))? {
            findings.push(format!("the workspace {no:?} is missing from the list of its tenant"));
        }
        Ok(())
    })?;
    each(read, &WORKSPACES_BY_SLUG, findings, |slug, WorkspaceNoRow(no), findings| {
        if workspaces::find(read, no)?.is_none_or(|workspace| workspace.slug != slug) {
            findings.push(format!("the slug {slug} names a workspace that has another"));
        }
        Ok(())
    })?;
    each(read, &WORKSPACES_BY_TENANT, findings, |(tenant_id, no), _, findings| {
        if workspaces::find(read, no)?.is_none_or(|workspace| workspace.tenant_id != tenant_id) {
            findings.push(format!("the list of tenant {tenant_id} names the workspace {no:?}, which is not its own"));
        }
        Ok(())
    })?;
    each(read, &ACTIVATIONS, findings, |no, _, findings| {
        if workspaces::find(read, no)?.is_none() {
            findings.push(format!("the workspace {no:?} was put back into service, which is not there"));
        }
        Ok(())
    })
}

fn check_keys(
    read: &impl Read,
    counted: &mut BTreeMap<WorkspaceNo, Counts>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &KEYS, findings, |id, row, findings| {
        let key = row.into_key(id.clone());
        let counts = counted.entry(key.workspace).or_default();
        if key.revoked_at.is_none() {
            *(if key.is_bound() { &mut counts.bound_keys } else { &mut counts.operator_keys }) += 1;
        }
        if !read.contains(&KEYS_BY_WORKSPACE, &(key.workspace, id.clone()))? {
            findings.push(format!("the key {id} is missing from the list of its workspace"));
        }
        Ok(())
    })?;
    each(read, &KEYS_BY_WORKSPACE, findings, |(workspace, id), _, findings| {
        if keys::find(read, &id)?.is_none_or(|key| key.workspace != workspace) {
            findings.push(format!("the keys of workspace {workspace:?} name {id}, which is none of them"));
        }
        Ok(())
    })
}

fn check_agents(
    read: &impl Read,
    counted: &mut BTreeMap<WorkspaceNo, Counts>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &AGENTS, findings, |key, row, findings| {
        let agent = row.into_agent();
        let counts = counted.entry(key.0).or_default();
        counts.agents_ever = counts.agents_ever.max(key.1.0);
        counts.active_agents += u32::from(agent.retired_at.is_none());
        if agents::by_name(read, key.0, &agent.name)? != Some(key.1) {
            findings.push(format!("the agent {key:?} is not found by its name {}", agent.name));
        }
        if let (Some(session), Some(role)) = (&agent.session_key, &agent.role)
            && agents::by_session(read, key.0, session, role)?.is_none()
        {
            findings.push(format!("the agent {key:?} is not found by its session"));
        }
        // Retired ones are found by no label; stores of earlier versions have rows of theirs.
        for (label, value) in agent.labels.iter().filter(|_| agent.retired_at.is_none()) {
            if !read.contains(&AGENTS_BY_LABEL, &(key.0, label.clone(), value.clone(), key.1))? {
                findings.push(format!("the agent {key:?} is not found by its label {label}"));
            }
        }
        check_its_mailbox(read, key, &agent, findings)
    })
}

fn check_its_mailbox(
    read: &impl Read,
    key: AgentKey,
    agent: &Agent,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let Some(mailbox) = mailboxes::find(read, key)? else {
        findings.push(format!("the agent {key:?} has no mailbox"));
        return Ok(());
    };
    let says = (mailbox.name.as_str(), mailbox.is_retired, mailbox.is_unlisted);
    if says != (agent.name.as_str(), agent.retired_at.is_some(), agent.is_unlisted) {
        findings.push(format!("the agent {key:?} is another in its mailbox: {says:?}"));
    }
    Ok(())
}

fn check_indexes(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &AGENTS_BY_NAME, findings, |(workspace, name), AgentNoRow(no), findings| {
        if agents::find(read, (workspace, no))?.is_none_or(|agent| agent.name != name) {
            findings.push(format!("the name {name} is of an agent {no:?} that has another"));
        }
        Ok(())
    })?;
    each(read, &AGENTS_BY_SESSION, findings, |(workspace, session, role), AgentNoRow(no), findings| {
        let agent = agents::find(read, (workspace, no))?;
        let is_its = |agent: &Agent| (agent.session_key.as_ref(), agent.role.as_ref()) == (Some(&session), Some(&role));
        if !agent.as_ref().is_some_and(is_its) {
            findings.push(format!("the session {session} in role {role} is of an agent {no:?} that has another"));
        }
        Ok(())
    })?;
    each(read, &AGENTS_BY_LABEL, findings, |(workspace, label, value, no), _, findings| {
        let agent = agents::find(read, (workspace, no))?;
        if !agent.is_some_and(|agent| agent.labels.contains(&(label.clone(), value.clone()))) {
            findings.push(format!("the agent {no:?} is found by the label {label}, which it does not wear"));
        }
        Ok(())
    })
}

fn check_mailboxes(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &MAILBOXES, findings, |key, row, findings| {
        let standing = row.into_mailbox().standing;
        if agents::find(read, key)?.is_none() {
            findings.push(format!("there is a mailbox of an agent {key:?} that is not there"));
        }
        let is_ended = match standing.until {
            Some(until) => due::is_put(read, until, Due::Release(key))?,
            None => standing.availability == Availability::Online,
        };
        if !is_ended {
            findings.push(format!("nothing ends what the agent {key:?} withholds"));
        }
        Ok(())
    })
}

fn check_counts(
    read: &impl Read,
    mut counted: BTreeMap<WorkspaceNo, Counts>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &COUNTS, findings, |no, row, findings| {
        let (said, real) = (row.into_counts(), counted.remove(&no).unwrap_or_default());
        if said != real {
            findings.push(format!("the workspace {no:?} counts {said:?}, and has {real:?}"));
        }
        Ok(())
    })?;
    let rest = counted.iter().filter(|(_, real)| **real != Counts::default());
    findings.extend(rest.map(|(no, real)| format!("the workspace {no:?} counts nothing, and has {real:?}")));
    Ok(())
}
