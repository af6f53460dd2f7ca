//! How a request is let in: its key, the agent it acts as, and whether that may (6-messaging.md, C3).
//!
//! What was true then may have ended while the rest of the request arrived: a change asks for its [`Basis`] again in its
//! transaction, and a wait whenever it is woken.
//!
//! In this order: key (401), workspace (403, 410), binding (403), the agent's existence (404), its retirement (410), scope
//! (403). A key that is bound to one agent acts as that agent unless the header names another.

use quintet_platform::service::Fault;
use quintet_storage::{Abort, Read};

use super::model::{Attestation, Key, Scope, Status, Workspace};
use super::{agents, keys, mailboxes, workspaces};
use crate::model::{AgentKey, AgentNo, WorkspaceNo};
use crate::refusal::Refusal;

/// Who asks.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Where.
    pub(crate) workspace: Workspace,
    /// With which key.
    pub(crate) key: Key,
    /// As which agent, if as one.
    pub(crate) agent: Option<Acting>,
    /// The name it acts under: that agent's, or one that nobody has yet.
    pub(crate) name: Option<String>,
}

/// The agent that a request acts as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acting {
    /// Its number.
    pub(crate) no: AgentNo,
    /// Its name.
    pub(crate) name: String,
}

/// The agent that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named<'a> {
    /// None.
    Nobody,
    /// This one.
    Agent(&'a str),
    /// Several, an empty one, or what cannot be a name: whoever wrote it meant some agent, and nobody may act as another.
    Unclear,
}

/// What a request shows, and what its route wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// The key's text, of the Authorization header.
    pub(crate) key: Option<&'a str>,
    /// The agent that the header names.
    pub(crate) agent: Named<'a>,
    /// The least scope.
    pub(crate) scope: Scope,
    /// Whether an agent must act.
    pub(crate) wants_agent: bool,
    /// Whether retired agents may: it is for them that the route is.
    pub(crate) takes_retired: bool,
    /// Whether agents may that there are not yet: it is for them that the route is.
    pub(crate) takes_absent: bool,
}

impl Caller {
    /// The agent that acts, by its place in the tables.
    ///
    /// # Errors
    /// None does.
    pub(crate) fn acting(&self) -> Result<(AgentKey, &Acting), Refusal> {
        let acting = self.agent.as_ref().ok_or(NO_AGENT)?;
        Ok(((self.workspace.no, acting.no), acting))
    }

    /// What a request stands on, to be asked again later.
    pub(crate) fn basis(&self, takes_retired: bool) -> Basis {
        Basis {
            workspace: self.workspace.no,
            key_id: self.key.id.clone(),
            agent: self.agent.clone().filter(|_| !takes_retired),
        }
    }

    /// Whether the key acts as the operator: unbound, admin, and for no agent.
    pub(crate) fn is_operator(&self) -> bool {
        self.key.scope == Scope::Admin && !self.key.is_bound() && self.agent.is_none()
    }

    /// What the key proves of the agent that acts.
    pub(crate) fn attestation(&self) -> Attestation {
        self.key.attestation()
    }

    /// Whether an agent may be changed: it is the one that acts, or an operator asks (6-messaging.md, C4).
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn may_change(&self, agent: AgentNo) -> Result<(), Refusal> {
        let is_own = self.agent.as_ref().is_some_and(|acting| acting.no == agent);
        if is_own || self.is_operator() {
            return Ok(());
        }
        Err(Refusal::Denied("a request changes the agent that it acts as, and no other"))
    }
}

/// What a request stands on: few small rows, which the writer has at hand.
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    workspace: WorkspaceNo,
    key_id: String,
    /// The agent that acts, if it must not be retired.
    agent: Option<Acting>,
}

impl Basis {
    /// Whether a request that was let in would be once more.
    ///
    /// # Errors
    /// Why not, as [`admitted`] says it.
    pub(crate) fn check(&self, read: &impl Read) -> Result<(), Abort<Refusal>> {
        keys::find(read, &self.key_id)?.filter(|key| key.revoked_at.is_none()).ok_or(Refusal::InvalidApiKey)?;
        let workspace = workspaces::find(read, self.workspace)?.ok_or(Refusal::InvalidApiKey)?;
        serving(read, &workspace)?;
        let Some(Acting { no, name }) = &self.agent else { return Ok(()) };
        match mailboxes::get(read, (self.workspace, *no))?.is_retired {
            true => Err(Refusal::AgentRetired(name.clone()).into()),
            false => Ok(()),
        }
    }
}

/// Whether a workspace serves, which none does whose tenant is suspended.
///
/// # Errors
/// It does not.
pub(crate) fn serving(read: &impl Read, workspace: &Workspace) -> Result<(), Abort<Refusal>> {
    match workspaces::status(read, workspace)? {
        Status::Active => Ok(()),
        Status::Suspended => Err(Refusal::Suspended.into()),
        Status::Deleted => Err(Refusal::WorkspaceDeleted.into()),
    }
}

const NO_AGENT: Refusal = Refusal::Denied(
    "this needs an agent to act as: name it in the header X-AgentBus-Agent, or use a key that is bound to one",
);

/// The key that a request shows, and its workspace, which serves: what comes before all else.
///
/// # Errors
/// There is none, or it does not serve.
pub(crate) fn recognized(read: &impl Read, text: Option<&str>) -> Result<(Key, Workspace), Abort<Refusal>> {
    let text = text.ok_or(Fault::Unauthenticated).map_err(Refusal::from)?;
    let key = keys::of_text(read, text)?.ok_or(Refusal::InvalidApiKey)?;
    let workspace = workspaces::find(read, key.workspace)?.ok_or(Refusal::InvalidApiKey)?;
    serving(read, &workspace)?;
    Ok((key, workspace))
}

/// Lets a request in.
///
/// # Errors
/// Why not, in the order that the module says.
pub(crate) fn admitted(read: &impl Read, asked: Asked<'_>) -> Result<Caller, Abort<Refusal>> {
    let (key, workspace) = recognized(read, asked.key)?;
    let named = match asked.agent {
        Named::Nobody => key.only_agent(),
        Named::Agent(name) => Some(name),
        Named::Unclear => return Err(Refusal::AgentUnclear.into()),
    };
    let agent = match named {
        Some(name) => acting(read, &key, name, asked)?,
        None => None,
    };
    if key.scope < asked.scope {
        return Err(Refusal::Denied("the key's scope does not allow this").into());
    }
    // What an agent does for itself is done with a key of its own, unless the key may act as any (K1).
    if asked.scope >= Scope::Send && key.scope == Scope::Send && !key.is_bound() {
        return Err(Refusal::Denied("a key of scope send must be bound to an agent").into());
    }
    if asked.wants_agent && agent.is_none() {
        return Err(NO_AGENT.into());
    }
    let name = named.map(str::to_owned);
    Ok(Caller { workspace, key, agent, name })
}

/// The agent of this name, if the key may act as it.
fn acting(read: &impl Read, key: &Key, name: &str, asked: Asked<'_>) -> Result<Option<Acting>, Abort<Refusal>> {
    if key.is_bound() && !key.agents.iter().any(|bound| bound == name) {
        return Err(Refusal::KeyAgentMismatch(name.to_owned()).into());
    }
    let Some(no) = agents::by_name(read, key.workspace, name)? else {
        return if asked.takes_absent { Ok(None) } else { Err(Refusal::NotFound(format!("agent {name}")).into()) };
    };
    let mailbox = mailboxes::get(read, (key.workspace, no))?;
    if mailbox.is_retired && !asked.takes_retired {
        return Err(Refusal::AgentRetired(name.to_owned()).into());
    }
    Ok(Some(Acting { no, name: mailbox.name }))
}
