//! Registering (6-messaging.md, I2, I3, K3): the agent of that name, else that of the session in that role, else a new one.

use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::idle::look_after;
use super::model::{Registered, Registration, changed, merged};
use crate::identity::{Agent, Counts, Key, Mailbox, Workspace, agents, mailboxes, workspaces};
use crate::limits::{ACTIVE_AGENTS, AGENT_TAGS};
use crate::model::{AGENTS_EVER_MAX, AgentKey, AgentNo, WorkspaceNo};
use crate::refusal::Refusal;
use crate::rooms;
use crate::words::agent_name::AgentName;

/// Has somebody register with a key.
///
/// # Errors
/// The key is bound to others; or a limit is reached.
pub(crate) fn register(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    key: &Key,
    registration: &Registration,
) -> Result<Registered, Abort<Refusal>> {
    match known(tx, workspace.no, registration)? {
        Some((no, agent)) => {
            if key.is_bound() && !key.agents.contains(&agent.name) {
                return Err(Refusal::KeyAgentMismatch(agent.name).into());
            }
            refresh(tx, now, workspace, no, agent, registration)
        }
        None => {
            let name = new_name(tx, workspace.no, registration)?;
            if key.is_bound() && !key.agents.iter().any(|bound| bound == name.as_str()) {
                return Err(Refusal::KeyAgentMismatch(name.as_str().to_owned()).into());
            }
            make(tx, now, workspace, name, registration)
        }
    }
}

/// The agent that a registration means, retired or not.
fn known(
    read: &impl Read,
    workspace: WorkspaceNo,
    registration: &Registration,
) -> Result<Option<(AgentNo, Agent)>, Failure> {
    let named = match &registration.name {
        Some(name) => agents::by_name(read, workspace, name.as_str())?,
        None => None,
    };
    let found = match (named, &registration.session, &registration.role) {
        (None, Some(session), Some(role)) => agents::by_session(read, workspace, session.as_str(), role)?,
        (named, _, _) => named,
    };
    let Some(no) = found else { return Ok(None) };
    Ok(agents::find(read, (workspace, no))?.map(|agent| (no, agent)))
}

/// Makes a new agent, of a name that nobody has, of what a registration says.
pub(super) fn make(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    name: AgentName,
    registration: &Registration,
) -> Result<Registered, Abort<Refusal>> {
    let agent = Agent {
        id: tx.new_id(),
        name: name.as_str().to_owned(),
        role: None,
        session_key: None,
        device_hash: None,
        repo_fingerprint: None,
        capabilities: Vec::new(),
        labels: Vec::new(),
        persona: None,
        is_unlisted: false,
        is_ephemeral: false,
        created_at: now,
        retired_at: None,
        idle_look_at: None,
    };
    let mut counts = workspaces::counts(tx, workspace.no)?;
    if counts.agents_ever >= AGENTS_EVER_MAX {
        return Err(Refusal::LimitReached("agents_ever", AGENTS_EVER_MAX.into()).into());
    }
    counts.agents_ever += 1;
    let no = AgentNo(counts.agents_ever);
    activate(tx, workspace, counts)?;
    let mailbox = Mailbox::new(agent.name.clone(), false);
    let agent = keep(tx, now, workspace, no, agent, mailbox, registration)?;
    Ok(Registered { no, agent, is_new: true, changed: Vec::new() })
}

/// The name of a new agent: the one it wants, or that of its role in its checkout, or a spare one.
fn new_name(
    read: &impl Read,
    workspace: WorkspaceNo,
    registration: &Registration,
) -> Result<AgentName, Abort<Refusal>> {
    if let Some(name) = &registration.name {
        return Ok(name.clone());
    }
    let spare = registration.spare_name.clone();
    let (Some(role), Some(session)) = (&registration.role, &registration.session) else { return Ok(spare) };
    let name = AgentName::of_role(role, session).map_err(|fault| Refusal::field("role", fault.to_string()))?;
    // Somebody else has chosen this very name, or works in another checkout whose key begins alike.
    Ok(if agents::by_name(read, workspace, name.as_str())?.is_some() { spare } else { name })
}

/// One more agent is active.
fn activate(tx: &mut WriteTx<'_>, workspace: &Workspace, mut counts: Counts) -> Result<(), Abort<Refusal>> {
    let max = workspaces::limit(tx, workspace.no, ACTIVE_AGENTS)?;
    if u64::from(counts.active_agents) >= max {
        return Err(Refusal::LimitReached(ACTIVE_AGENTS.name, max).into());
    }
    counts.active_agents += 1;
    Ok(workspaces::put_counts(tx, workspace.no, counts)?)
}

/// Has a known agent be what a registration says; a retired one is revived.
fn refresh(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    no: AgentNo,
    mut agent: Agent,
    registration: &Registration,
) -> Result<Registered, Abort<Refusal>> {
    let changed = changed(&agent, registration);
    let mut mailbox = mailboxes::get(tx, (workspace.no, no))?;
    if agent.retired_at.take().is_some() {
        let counts = workspaces::counts(tx, workspace.no)?;
        activate(tx, workspace, counts)?;
        mailbox.is_retired = false;
        rooms::revive(tx, now, (workspace.no, no))?;
    }
    let agent = keep(tx, now, workspace, no, agent, mailbox, registration)?;
    Ok(Registered { no, agent, is_new: false, changed })
}

/// Keeps an agent with what a registration says of it, has it join its repository's room if it may, and looks after it from now on.
fn keep(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    no: AgentNo,
    mut agent: Agent,
    mut mailbox: Mailbox,
    registration: &Registration,
) -> Result<Agent, Abort<Refusal>> {
    let (key, worn) = ((workspace.no, no), agent.labels.len());
    describe(tx, key, &mut agent, registration)?;
    let max = workspaces::limit(tx, workspace.no, AGENT_TAGS)?;
    // One that wears more than it may, since the limit was lowered, keeps it, and must be able to come back.
    if agent.labels.len() as u64 > max && agent.labels.len() > worn {
        return Err(Refusal::LimitReached(AGENT_TAGS.name, max).into());
    }
    if let Some(room) = registration.room() {
        // One that is in as many rooms as it may be stays out of this one, and must be able to come back.
        match rooms::join(tx, key, &room) {
            Ok(()) | Err(Abort::Refused(Refusal::LimitReached(..))) => {}
            Err(abort) => return Err(abort),
        }
    }
    look_after(tx, now, key, &mut agent)?;
    mailbox.is_unlisted = agent.is_unlisted;
    mailboxes::put(tx, key, &mailbox)?;
    agents::put(tx, key, &agent)?;
    Ok(agent)
}

/// What a registration says of an agent. Its role stays once it has one: clients that are told none say the name instead.
fn describe(read: &impl Read, key: AgentKey, agent: &mut Agent, registration: &Registration) -> Result<(), Failure> {
    let given = registration.clone();
    (agent.session_key, agent.role) = place(read, key, agent, registration)?;
    agent.device_hash = given.device_hash.or(agent.device_hash.take());
    agent.repo_fingerprint = given.repo_fingerprint.or(agent.repo_fingerprint.take());
    agent.capabilities = given.capabilities.unwrap_or(std::mem::take(&mut agent.capabilities));
    agent.labels = merged(&agent.labels, &given.labels);
    agent.is_unlisted = given.is_unlisted.unwrap_or(agent.is_unlisted);
    agent.is_ephemeral = given.is_ephemeral.unwrap_or(agent.is_ephemeral);
    agent.persona = given.persona.or(agent.persona.take());
    Ok(())
}

/// Where an agent works and in which role: as the registration says, unless that is another agent's, who keeps it.
fn place(
    read: &impl Read,
    key: AgentKey,
    agent: &Agent,
    registration: &Registration,
) -> Result<(Option<String>, Option<String>), Failure> {
    let role = agent.role.clone().or_else(|| registration.role.clone());
    // Without a device it is no place: all checkouts of the repository would be one.
    let told =
        registration.session.as_ref().filter(|_| registration.device_hash.is_some() || agent.session_key.is_none());
    let told = told.map(|session| session.as_str().to_owned());
    let session = told.or_else(|| agent.session_key.clone());
    for (session, role) in [(session, role.clone()), (agent.session_key.clone(), role)] {
        let other = match (&session, &role) {
            (Some(session), Some(role)) => agents::by_session(read, key.0, session, role)?,
            _ => None,
        };
        if other.is_none_or(|no| no == key.1) {
            return Ok((session, role));
        }
    }
    Ok((agent.session_key.clone(), agent.role.clone()))
}
