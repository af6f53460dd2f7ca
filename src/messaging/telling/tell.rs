//! What happens is told to whoever asked for it: one delivery for each, in the transaction of what happened
//! (6-messaging.md, O3).

use quintet_platform::clock::rfc3339;
use quintet_platform::deliveries::{NewDelivery, NewTarget, enqueue};
use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_storage::{Failure, Read, Timestamp, Uuid, WriteTx};

use super::model::{Event, WebhookId, WebhookKey};
use super::rows::{outbox, put_standing, standing};
use super::tables::{LISTENERS, ListenerRow};
use crate::model::{AgentNo, ThreadId, WorkspaceNo};

/// Attempts at a delivery: at once, and after each delay (6-messaging.md, O2).
pub(super) const ATTEMPTS_MAX: u32 = 6;
/// Deliveries of one webhook that may wait: as many as there are usually messages in a day.
pub(super) const WAITING_MAX: u32 = 1_000;
/// For how long a delivery is kept once it has ended, in days.
const KEPT_DAYS: u32 = 7;

/// Those who are to be told of an event, with what they are told of the workspace.
pub(crate) struct Listeners {
    workspace: WorkspaceNo,
    tenant_id: Uuid,
    slug: String,
    event: Event,
    all: Vec<ListenerRow>,
}

impl Listeners {
    /// The same without those who would be told for good what they cause themselves: those within this appliance are not told
    /// of calls.
    pub(crate) fn outside(mut self) -> Listeners {
        self.all.retain(|one| !one.is_inside);
        self
    }
}

/// What they are told.
pub(crate) struct Happened {
    /// The agent that it happened to, by its name, if to one.
    pub(crate) agent: Option<String>,
    /// The id of what it is about.
    pub(crate) resource: String,
    /// Members of `data`.
    pub(crate) data: Vec<(&'static str, Json)>,
}

/// Who is to be told of an event that happened to one of these agents; `None`: nobody, which mostly is so. That costs one look.
pub(crate) fn who(
    read: &impl Read,
    workspace: WorkspaceNo,
    event: Event,
    agents: &[AgentNo],
) -> Result<Option<Listeners>, Failure> {
    let Some(mut row) = read.get(&LISTENERS, &workspace)? else { return Ok(None) };
    let asks = |one: &ListenerRow| one.events.is_none_or(|events| events & event.bit() != 0);
    row.all.retain(|one| asks(one) && one.agent.is_none_or(|agent| agents.contains(&agent)));
    let tenant_id = Uuid::from_bytes(row.tenant_id);
    let listeners = Listeners { workspace, tenant_id, slug: row.slug, event, all: row.all };
    Ok(Some(listeners).filter(|listeners| !listeners.all.is_empty()))
}

/// Tells them, each by a delivery of its own. One of which too much waits is not told.
pub(crate) fn tell(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    listeners: Listeners,
    happened: Happened,
) -> Result<(), Failure> {
    if listeners.all.is_empty() {
        return Ok(());
    }
    let Listeners { workspace, tenant_id, slug, event, all } = listeners;
    let Happened { agent, resource, data } = happened;
    let event_id = tx.new_id();
    let body = to_compact(&Json::object([
        ("event_id", Json::from(ulid(event_id))),
        ("type", event.name().into()),
        ("occurred_at", rfc3339(now).into()),
        ("workspace", slug.into()),
        ("agent", agent.into()),
        ("data", Json::object(data)),
    ]));
    for one in all {
        let key: WebhookKey = (workspace, WebhookId(Uuid::from_bytes(one.id)));
        let mut standing = standing(tx, key)?;
        if standing.waiting >= WAITING_MAX {
            standing.missed_total = standing.missed_total.saturating_add(1);
            put_standing(tx, key, standing)?;
            continue;
        }
        let new = NewDelivery {
            outbox: outbox(tenant_id),
            target: NewTarget::Endpoint(Uuid::from_bytes(one.target)),
            event_id,
            event: event.name(),
            resource: &resource,
            attempts_max: ATTEMPTS_MAX,
            is_counted: true,
            redelivery_of: None,
            kept_days: KEPT_DAYS,
        };
        if enqueue(tx, now, new, |_| body.clone().into_bytes())?.is_some() {
            standing.waiting += 1;
            put_standing(tx, key, standing)?;
        }
    }
    Ok(())
}

/// What is told of an approval that has its verdict.
pub(crate) struct Decided<'a> {
    /// Which.
    pub(crate) approval_id: Uuid,
    /// Where the verdict arrives.
    pub(crate) thread: Option<ThreadId>,
    /// Its kind.
    pub(crate) kind: &'a str,
    /// `approved`, `rejected`, `timed_out` or `cancelled`.
    pub(crate) status: &'a str,
    /// The agent that asked, with its name.
    pub(crate) requested_by: (AgentNo, &'a str),
}

/// Tells of an approval that has its verdict.
pub(crate) fn decided(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: WorkspaceNo,
    decided: &Decided<'_>,
) -> Result<(), Failure> {
    let (agent, name) = decided.requested_by;
    let Some(listeners) = who(tx, workspace, Event::Decided, &[agent])? else { return Ok(()) };
    let id = ulid(decided.approval_id);
    let data = vec![
        ("approval_id", Json::from(id.as_str())),
        ("kind", decided.kind.into()),
        ("status", decided.status.into()),
        ("thread_id", decided.thread.map(|thread| ulid(thread.0)).into()),
    ];
    tell(tx, now, listeners, Happened { agent: Some(name.to_owned()), resource: id, data })
}
