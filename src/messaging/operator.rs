//! The operator's side of messaging: workspaces of all tenants, their keys and agents, and threads that are paused.
//!
//! What is shown is what the command line prints: types of the administration socket, and nothing that is stored.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};
use serde::{Deserialize, Serialize};

use crate::agents::retire;
use crate::context::Context;
use crate::identity::keys::{PreparedKey, list as list_keys};
use crate::identity::{Agent, Key, Status, Workspace, agents, mailboxes, workspaces};
use crate::keys::{self, NewKey, agents_of, scope_of};
use crate::limits::{self, LIMITS};
use crate::mail::resume::{Resumer, resume};
use crate::mail::threads;
use crate::model::{AgentKey, ThreadId, WorkspaceNo};
use crate::refusal::Refusal;
use crate::workspaces::{NewWorkspace, SetLimit, create, set_ingress, set_limits, set_status};
use crate::{approvals, form, usage};

/// Rows that are read at a time.
const PAGE_ROWS: usize = 500;

/// What can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A workspace.
    Workspace,
    /// A key.
    Key,
    /// An agent.
    Agent,
    /// A thread.
    Thread,
    /// An approval.
    Approval,
    /// A kind of approvals.
    Kind,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// There is no such thing; says which.
    #[error("there is no {1}")]
    NoSuch(Missing, String),
    /// It is not in a state for it; says why.
    #[error("{0}")]
    NotNow(String),
    /// What was asked for makes no sense; says why.
    #[error("{0}")]
    Unusable(String),
}

impl quintet_storage::Refusal for NotDone {}

/// What a refusal of a verb on workspaces means on the command line.
fn not_done(abort: Abort<Refusal>) -> Abort<NotDone> {
    not_done_for(Missing::Workspace, abort)
}

/// The same, where something else may be missing.
pub(crate) fn not_done_for(missing: Missing, abort: Abort<Refusal>) -> Abort<NotDone> {
    let refusal = match abort {
        Abort::Failed(failure) => return Abort::Failed(failure),
        Abort::Refused(refusal) => refusal,
    };
    Abort::Refused(match refusal {
        Refusal::NotFound(what) => NotDone::NoSuch(missing, what),
        Refusal::NameTaken(name) => NotDone::NotNow(format!("there is a workspace {name:?} already")),
        Refusal::WorkspaceDeleted => NotDone::NotNow("the workspace is deleted, for good".to_owned()),
        Refusal::LimitReached(limit, max) => {
            NotDone::NotNow(format!("there are {max} already, as many as {limit} may be"))
        }
        Refusal::ExternalMailRefused(why) => NotDone::NotNow(why.to_owned()),
        Refusal::Invalid(problems) => {
            let told = problems.iter().map(|problem| format!("{} {}", problem.field, problem.problem));
            NotDone::Unusable(told.collect::<Vec<_>>().join("; "))
        }
        other => NotDone::NotNow(format!("{other:?}")),
    })
}

/// A workspace, as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceView {
    /// Its id, a ULID.
    pub workspace_id: String,
    /// Its name in addresses and commands.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// Whose it is.
    pub tenant_id: String,
    /// Whether bodies must arrive sealed.
    pub encrypted: bool,
    /// `open` or `closed`: whether mail from outside is taken.
    pub ingress_policy: String,
    /// `active`, `suspended` or `deleted`.
    pub status: String,
    /// When it was made; RFC 3339.
    pub created_at: String,
    /// Agents that are not retired.
    pub active_agents: u32,
    /// Keys that are not revoked.
    pub keys: u32,
}

/// Asks for a workspace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkspaceWish {
    /// Its name in addresses and commands.
    pub slug: String,
    /// Its name for people; none: the slug.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether bodies must arrive sealed.
    #[serde(default)]
    pub encrypted: bool,
}

/// A limit of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitView {
    /// Its name.
    pub name: String,
    /// How much it is; none: unlimited.
    pub limit: Option<u64>,
    /// What it is where nobody says anything.
    pub usual: u64,
    /// How much of it is used, where that is counted in one place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
}

/// A key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyView {
    /// Its id.
    pub key_id: String,
    /// The slug of its workspace.
    pub workspace: String,
    /// What it allows.
    pub scope: String,
    /// The agents it is bound to.
    pub agents: Vec<String>,
    /// What people call it.
    pub label: String,
    /// When it was issued; RFC 3339.
    pub created_at: String,
    /// When it was revoked; RFC 3339.
    pub revoked_at: Option<String>,
}

/// Asks for a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyWish {
    /// The slug of its workspace.
    pub workspace: String,
    /// What it is to allow.
    pub scope: String,
    /// The agents it is to be bound to.
    #[serde(default)]
    pub agents: Vec<String>,
    /// What people are to call it.
    #[serde(default)]
    pub label: Option<String>,
}

/// A key that was just issued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedKeyView {
    /// The key; shown this once.
    pub api_key: String,
    /// What is known of it later, too.
    #[serde(flatten)]
    pub key: KeyView,
}

/// An agent, as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// Its name.
    pub name: String,
    /// Its id, a ULID.
    pub agent_id: String,
    /// What it does.
    pub role: Option<String>,
    /// Whether it retires after hours instead of weeks.
    pub ephemeral: bool,
    /// Messages that it has not read.
    pub unread: u64,
    /// Messages that are held for it.
    pub held: u32,
    /// When it was made; RFC 3339.
    pub created_at: String,
    /// When it was retired; RFC 3339.
    pub retired_at: Option<String>,
}

/// A thread that was told to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadView {
    /// Its id.
    pub thread_id: String,
    /// The slug of its workspace.
    pub workspace: String,
    /// Whether it was paused, and goes on.
    pub resumed: bool,
}

/// How messaging stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingView {
    /// Workspaces that are not deleted.
    pub workspaces: u64,
    /// Agents that are not retired.
    pub active_agents: u64,
    /// Streams that are open.
    pub open_streams: u64,
    /// Messages that agents have sent today, in UTC.
    pub messages_today: u64,
    /// Approvals that wait for a person.
    #[serde(default)]
    pub pending_approvals: u64,
}

fn shown(read: &impl Read, workspace: &Workspace) -> Result<WorkspaceView, Failure> {
    let counts = workspaces::counts(read, workspace.no)?;
    Ok(WorkspaceView {
        workspace_id: ulid(workspace.id),
        slug: workspace.slug.clone(),
        name: workspace.name.clone(),
        tenant_id: workspace.tenant_id.to_string(),
        encrypted: workspace.is_encrypted,
        ingress_policy: if workspace.is_ingress_open { "open" } else { "closed" }.to_owned(),
        status: workspace.status.name().to_owned(),
        created_at: rfc3339(workspace.created_at),
        active_agents: counts.active_agents,
        keys: counts.operator_keys.saturating_add(counts.bound_keys),
    })
}

fn shown_key(slug: &str, key: &Key) -> KeyView {
    KeyView {
        key_id: key.id.clone(),
        workspace: slug.to_owned(),
        scope: key.scope.name().to_owned(),
        agents: key.agents.clone(),
        label: key.label.clone(),
        created_at: rfc3339(key.created_at),
        revoked_at: key.revoked_at.map(rfc3339),
    }
}

fn shown_agent(read: &impl Read, key: AgentKey, agent: Agent) -> Result<AgentView, Failure> {
    let mailbox = mailboxes::get(read, key)?;
    Ok(AgentView {
        name: agent.name,
        agent_id: ulid(agent.id),
        role: agent.role,
        ephemeral: agent.is_ephemeral,
        unread: mailbox.unread_count,
        held: mailbox.held_count,
        created_at: rfc3339(agent.created_at),
        retired_at: agent.retired_at.map(rfc3339),
    })
}

/// Every workspace, in the order in which they were made.
pub(crate) fn all(read: &impl Read) -> Result<Vec<Workspace>, Failure> {
    let (mut all, mut after) = (Vec::new(), WorkspaceNo(0));
    loop {
        let page = workspaces::list(read, after, PAGE_ROWS)?;
        let Some(last) = page.last() else { return Ok(all) };
        after = last.no;
        all.extend(page);
    }
}

/// The workspace with a slug, deleted or not.
pub(crate) fn named(read: &impl Read, slug: &str) -> Result<Workspace, Abort<NotDone>> {
    let found = workspaces::by_slug(read, slug)?;
    Ok(found.ok_or_else(|| NotDone::NoSuch(Missing::Workspace, format!("workspace {slug:?}")))?)
}

/// Makes a workspace of a tenant, which the caller has looked at.
///
/// # Errors
/// The wish makes no sense, or the slug is taken.
pub fn create_workspace(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    wish: WorkspaceWish,
) -> Result<WorkspaceView, Abort<NotDone>> {
    let WorkspaceWish { slug, name, encrypted: is_encrypted } = wish;
    let made = create(tx, now, NewWorkspace { slug, name, tenant_id, is_encrypted }).map_err(not_done)?;
    Ok(shown(tx, &made)?)
}

/// Every workspace that is not deleted; of one tenant, if one is named.
///
/// # Errors
/// The store's failures.
pub fn workspaces(context: &Context, tenant_id: Option<Uuid>) -> Result<Vec<WorkspaceView>, Failure> {
    let read = context.store.read();
    let is_asked_for = |workspace: &&Workspace| {
        workspace.status != Status::Deleted && tenant_id.is_none_or(|tenant_id| tenant_id == workspace.tenant_id)
    };
    all(&read)?.iter().filter(is_asked_for).map(|workspace| shown(&read, workspace)).collect()
}

/// One workspace, deleted or not.
///
/// # Errors
/// There is none, or the store's failures.
pub fn workspace(context: &Context, slug: &str) -> Result<WorkspaceView, Abort<NotDone>> {
    let read = context.store.read();
    Ok(shown(&read, &named(&read, slug)?)?)
}

/// The limits of a workspace.
///
/// # Errors
/// There is no such workspace, or the store's failures.
pub fn limits(context: &Context, slug: &str) -> Result<Vec<LimitView>, Abort<NotDone>> {
    let read = context.store.read();
    Ok(limits_of(&read, &named(&read, slug)?, context.now())?)
}

fn limits_of(read: &impl Read, workspace: &Workspace, now: Timestamp) -> Result<Vec<LimitView>, Failure> {
    let today = usage::used(read, workspace.no, usage::day_of(now))?;
    let counts = workspaces::counts(read, workspace.no)?;
    let used = |name: &str| {
        let daily = usage::Daily::ALL.into_iter().find(|daily| daily.limit().name == name);
        daily.map(|daily| today.of(daily)).or(match name {
            "active_agents" => Some(counts.active_agents.into()),
            "operator_keys" => Some(counts.operator_keys.into()),
            "bound_keys" => Some(counts.bound_keys.into()),
            _ => None,
        })
    };
    let view = |limit: &limits::Limit| LimitView {
        name: limit.name.to_owned(),
        limit: Some(workspace.limit(*limit)).filter(|max| *max != u64::MAX),
        usual: limit.usual,
        used: used(limit.name),
    };
    Ok(LIMITS.iter().map(view).collect())
}

/// Sets limits, each written `NAME=VALUE`, `NAME=unlimited` or `NAME=default`.
///
/// # Errors
/// There is no such workspace or limit, or a value makes no sense.
pub fn change_limits(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    slug: &str,
    wishes: &[String],
) -> Result<Vec<LimitView>, Abort<NotDone>> {
    let wishes = wishes.iter().map(|wish| limit_wish(wish)).collect::<Result<Vec<_>, _>>()?;
    let workspace = set_limits(tx, slug, &wishes).map_err(not_done)?;
    Ok(limits_of(tx, &workspace, now)?)
}

fn limit_wish(wish: &str) -> Result<(limits::Limit, SetLimit), NotDone> {
    let (name, value) = wish.split_once('=').ok_or_else(|| {
        NotDone::Unusable(format!("{wish:?} is not written NAME=VALUE, NAME=unlimited or NAME=default"))
    })?;
    let limit = limits::named(name).ok_or_else(|| {
        let names: Vec<&str> = LIMITS.iter().map(|limit| limit.name).collect();
        NotDone::Unusable(format!(
            "there is no limit {name:?}; `quintet messaging workspace limits SLUG` shows them: {}",
            names.join(", ")
        ))
    })?;
    let set = match value {
        "unlimited" => SetLimit::Unlimited,
        "default" => SetLimit::Usual,
        _ => {
            let number = value.parse().map_err(|_| {
                NotDone::Unusable(format!("{name} is to be {value:?}, which is no whole number, unlimited or default"))
            })?;
            SetLimit::To(number)
        }
    };
    Ok((limit, set))
}

/// Says whether a workspace takes mail from outside.
///
/// # Errors
/// There is no such workspace, or it is encrypted.
pub fn change_ingress(tx: &mut WriteTx<'_>, slug: &str, is_open: bool) -> Result<WorkspaceView, Abort<NotDone>> {
    let workspace = set_ingress(tx, slug, is_open).map_err(not_done)?;
    Ok(shown(tx, &workspace)?)
}

/// Turns everybody of a workspace away until it is activated.
///
/// # Errors
/// There is no such workspace.
pub fn suspend(tx: &mut WriteTx<'_>, now: Timestamp, slug: &str) -> Result<WorkspaceView, Abort<NotDone>> {
    change_status(tx, now, slug, Status::Suspended)
}

/// Has a workspace serve again.
///
/// # Errors
/// There is no such workspace.
pub fn activate(tx: &mut WriteTx<'_>, now: Timestamp, slug: &str) -> Result<WorkspaceView, Abort<NotDone>> {
    change_status(tx, now, slug, Status::Active)
}

/// Deletes a workspace, for good.
///
/// # Errors
/// There is no such workspace.
pub fn delete(tx: &mut WriteTx<'_>, now: Timestamp, slug: &str) -> Result<WorkspaceView, Abort<NotDone>> {
    change_status(tx, now, slug, Status::Deleted)
}

fn change_status(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    slug: &str,
    status: Status,
) -> Result<WorkspaceView, Abort<NotDone>> {
    let workspace = set_status(tx, now, slug, status).map_err(not_done)?;
    Ok(shown(tx, &workspace)?)
}

/// A key's id and secret, drawn before the transaction that issues it. Use each once.
#[derive(Debug)]
pub struct Prepared(PreparedKey);

impl Prepared {
    /// Draws them from the system's random source.
    #[must_use]
    pub fn draw() -> Prepared {
        Prepared(PreparedKey::draw())
    }
}

/// Issues a key.
///
/// # Errors
/// The wish makes no sense, there is no such workspace, or there are as many keys as there may be.
pub fn issue_key(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    wish: KeyWish,
    Prepared(prepared): Prepared,
) -> Result<IssuedKeyView, Abort<NotDone>> {
    let KeyWish { workspace: slug, scope, agents, label } = wish;
    let refused = |refusal: Refusal| not_done(refusal.into());
    let scope = scope_of(&scope).map_err(refused)?;
    let agents = agents_of(scope, agents).map_err(refused)?;
    let label = form::line("label", label.unwrap_or_default(), keys::LABEL_CHARS_MAX).map_err(refused)?;
    let workspace = named(tx, &slug)?;
    if workspace.status == Status::Deleted {
        return Err(not_done(Refusal::WorkspaceDeleted.into()));
    }
    let api_key = prepared.text().expose().clone();
    let key = keys::issue(tx, now, workspace.no, NewKey { prepared, scope, agents, label }).map_err(not_done)?;
    Ok(IssuedKeyView { api_key, key: shown_key(&slug, &key) })
}

/// The keys of a workspace, revoked ones too.
///
/// # Errors
/// There is no such workspace, or the store's failures.
pub fn keys(context: &Context, slug: &str) -> Result<Vec<KeyView>, Abort<NotDone>> {
    let read = context.store.read();
    let workspace = named(&read, slug)?;
    Ok(list_keys(&read, workspace.no)?.iter().map(|key| shown_key(slug, key)).collect())
}

/// Revokes a key of any workspace.
///
/// # Errors
/// There is no such key.
pub fn revoke_key(tx: &mut WriteTx<'_>, now: Timestamp, key_id: &str) -> Result<KeyView, Abort<NotDone>> {
    let key = keys::revoke(tx, now, None, key_id).map_err(|abort| not_done_for(Missing::Key, abort))?;
    let slug = workspaces::find(tx, key.workspace)?.map_or_else(String::new, |workspace| workspace.slug);
    Ok(shown_key(&slug, &key))
}

/// The agents of a workspace by name, retired ones too.
///
/// # Errors
/// There is no such workspace, or the store's failures.
pub fn agents(context: &Context, slug: &str) -> Result<Vec<AgentView>, Abort<NotDone>> {
    let read = context.store.read();
    let workspace = named(&read, slug)?;
    let (mut all, mut after): (Vec<AgentView>, Option<String>) = (Vec::new(), None);
    loop {
        let page = agents::list(&read, workspace.no, after.as_deref(), PAGE_ROWS)?;
        let Some((_, last)) = page.last() else { return Ok(all) };
        after = Some(last.name.clone());
        for (no, agent) in page {
            all.push(shown_agent(&read, (workspace.no, no), agent)?);
        }
    }
}

/// Retires an agent, with whatever it has not read. Again: nothing changes.
///
/// # Errors
/// There is no such workspace or agent.
pub fn retire_agent(tx: &mut WriteTx<'_>, now: Timestamp, slug: &str, name: &str) -> Result<AgentView, Abort<NotDone>> {
    let none = || NotDone::NoSuch(Missing::Agent, format!("agent {name:?} in workspace {slug:?}"));
    let workspace = named(tx, slug)?;
    let key = (workspace.no, agents::by_name(tx, workspace.no, name)?.ok_or_else(none)?);
    retire(tx, now, key)?;
    let agent = agents::find(tx, key)?.ok_or_else(none)?;
    Ok(shown_agent(tx, key, agent)?)
}

/// Has a paused thread go on, of whichever workspace it is.
///
/// # Errors
/// There is no such thread.
pub fn resume_thread(tx: &mut WriteTx<'_>, now: Timestamp, id: &str) -> Result<ThreadView, Abort<NotDone>> {
    let none = || NotDone::NoSuch(Missing::Thread, format!("thread {id:?}"));
    let thread_id = ThreadId(parse_ulid(id).ok_or_else(none)?);
    for workspace in all(tx)? {
        let key = (workspace.no, thread_id);
        if threads::find(tx, key)?.is_some() {
            let resumed = resume(tx, now, key, Resumer::Operator)?;
            return Ok(ThreadView { thread_id: ulid(thread_id.0), workspace: workspace.slug, resumed });
        }
    }
    Err(none().into())
}

/// How messaging stands.
///
/// # Errors
/// The store's failures.
pub fn standing(context: &Context) -> Result<StandingView, Failure> {
    let (read, day) = (context.store.read(), usage::day_of(context.now()));
    let open_streams = u64::try_from(context.attendance.streams().count_all()).unwrap_or(u64::MAX);
    let mut standing = StandingView { open_streams, ..StandingView::default() };
    for workspace in all(&read)?.into_iter().filter(|workspace| workspace.status != Status::Deleted) {
        standing.workspaces += 1;
        standing.active_agents += u64::from(workspaces::counts(&read, workspace.no)?.active_agents);
        standing.pending_approvals += approvals::rows::pending(&read, workspace.no)?;
        standing.messages_today += usage::used(&read, workspace.no, day)?.of(usage::Daily::Messages);
    }
    Ok(standing)
}
