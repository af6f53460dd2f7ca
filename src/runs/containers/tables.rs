//! What is stored of runs. Nobody but the verbs of this folder knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0401 | runs | tenant, run | where a run stands; rewritten with every change of state |
//! | 0x0402 | run descriptions | tenant, run | what it is to run: command, webhook, and sealed environment |
//! | 0x0403 | run results | tenant, run | how it ended |
//! | 0x0404 | run archives | tenant, run | its logs and samples, sealed |
//! | 0x0405 | run events | tenant, run, number | every change of state, for webhooks and histories |
//! | 0x0406 | containers | run | the container that may exist for a run, until its logs are archived |
//! | 0x0407 | calendars changed | tenant | how far its waiting runs have been looked at anew |
//! | 0x0408 | waiting runs | tenant, class, eligible start, run | the queue of each tenant |
//! | 0x0409 | busy runs | run | runs that hold a slot, of all tenants |
//! | 0x040B | loads (hot) | tenant | how many runs wait, hold a slot, have one reserved |
//! | 0x041E | wishes | run | runs with a container that must end, for their workflow was cancelled |
//! | 0x0411 | paces | tenant | how long its runs hold a slot, for estimates |
//!
//! Everything begins with the tenant but what the engine looks through for all of them.
//!
//! A row of `waiting runs` exists exactly while the run is scheduled, one of `busy runs` exactly while it is queued,
//! pulling, running or paused; `loads` counts both, in the same transaction.

use bincode::{Decode, Encode};
use quintet_storage::large::LargeValue;
use quintet_storage::seal::Sealed;
use quintet_storage::{Failure, Row, Table, TableSpec, Timestamp, Uuid, decode_plain};

use super::model::{Class, Description, Load, Reason, Run, RunLimits, RunResult, Webhook};
use crate::events::Events;
use crate::model::{FAMILY, RunId, RunKey, TenantId};
use crate::states::RunState;

/// Runs.
pub(super) const RUNS: Table<RunKey, RunRow> = Table::new(0x0401, FAMILY, "runs");
/// What runs are to run.
pub(super) const DESCRIPTIONS: Table<RunKey, DescriptionRow> = Table::new(0x0402, FAMILY, "runs_descriptions");
/// How runs ended.
pub(super) const RESULTS: Table<RunKey, ResultRow> = Table::new(0x0403, FAMILY, "runs_results");
/// What runs wrote and used.
pub(super) const ARCHIVES: Table<RunKey, ArchiveRow> = Table::new(0x0404, FAMILY, "runs_archives");
/// What happened to runs.
pub(super) const EVENTS: Table<(TenantId, RunId, u32), EventRow> = Table::new(0x0405, FAMILY, "runs_events");
/// Containers that may exist.
pub(super) const CONTAINERS: Table<RunId, ContainerRow> = Table::new(0x0406, FAMILY, "runs_containers");
/// Calendars that have changed.
pub(super) const CHANGED_HOURS: Table<TenantId, ChangedHoursRow> = Table::new(0x0407, FAMILY, "runs_changed_hours");
/// The queues.
pub(super) const WAITING: Table<WaitingKey, WaitingRow> = Table::new(0x0408, FAMILY, "runs_waiting");
/// Who holds a slot.
pub(super) const BUSY: Table<RunId, BusyRow> = Table::new(0x0409, FAMILY, "runs_busy");
/// How much each tenant has going.
pub(super) const LOADS: Table<TenantId, LoadRow> = Table::new(0x040B, FAMILY, "runs_loads").hot();
/// How long slots are held.
pub(super) const PACES: Table<TenantId, PaceRow> = Table::new(0x0411, FAMILY, "runs_paces");

/// Who is to be killed.
pub(super) const WISHES: Table<RunId, WishRow> = Table::new(0x041E, FAMILY, "runs_wishes");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[
    RUNS.spec(),
    DESCRIPTIONS.spec(),
    RESULTS.spec(),
    ARCHIVES.spec(),
    EVENTS.spec(),
    CONTAINERS.spec(),
    CHANGED_HOURS.spec(),
    WAITING.spec(),
    BUSY.spec(),
    LOADS.spec(),
    PACES.spec(),
    WISHES.spec(),
];

/// See [`Run`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct RunRow {
    state: RunState,
    reason: Option<Reason>,
    message: Option<String>,
    name: Option<String>,
    tags: Vec<String>,
    image: String,
    image_digest: Option<String>,
    limits: RunLimits,
    clamped: bool,
    scheduled_start: Option<Timestamp>,
    eligible_start: Timestamp,
    working_hours_applied: bool,
    class: u8,
    expires_at: Option<Timestamp>,
    queue_deadline: Timestamp,
    retention_days: u64,
    submitted_at: Timestamp,
    queued_at: Option<Timestamp>,
    pulling_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    paused_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    paused_micros: u64,
    exit_code: Option<i32>,
    starts: u32,
    is_stopping: bool,
    workflow_id: Option<[u8; 16]>,
    node_ref: Option<String>,
    attempt: u32,
    events: u32,
    asked_events: Option<u32>,
}

impl Row for RunRow {
    const VERSION: u8 = 2;

    /// Version 1 ended before the last member: a byte more says that there is none.
    fn migrate(version: u8, bytes: &[u8]) -> Result<RunRow, Failure> {
        match version {
            1 => decode_plain(&[bytes, &[0]].concat()),
            _ => Err(Failure::Damaged(format!("a run has unknown version {version}"))),
        }
    }
}

impl From<RunRow> for Run {
    fn from(row: RunRow) -> Run {
        Run {
            state: row.state,
            reason: row.reason,
            message: row.message,
            name: row.name,
            tags: row.tags,
            image: row.image,
            image_digest: row.image_digest,
            limits: row.limits,
            clamped: row.clamped,
            scheduled_start: row.scheduled_start,
            eligible_start: row.eligible_start,
            working_hours_applied: row.working_hours_applied,
            class: class_of(row.class),
            expires_at: row.expires_at,
            queue_deadline: row.queue_deadline,
            retention_days: row.retention_days,
            submitted_at: row.submitted_at,
            queued_at: row.queued_at,
            pulling_at: row.pulling_at,
            started_at: row.started_at,
            paused_at: row.paused_at,
            finished_at: row.finished_at,
            paused_micros: row.paused_micros,
            exit_code: row.exit_code,
            starts: row.starts,
            is_stopping: row.is_stopping,
            workflow_id: row.workflow_id.map(Uuid::from_bytes),
            node_ref: row.node_ref,
            attempt: row.attempt,
            events: row.events,
            asked_events: row.asked_events.map(Events),
        }
    }
}

impl From<&Run> for RunRow {
    fn from(run: &Run) -> RunRow {
        RunRow {
            state: run.state,
            reason: run.reason,
            message: run.message.clone(),
            name: run.name.clone(),
            tags: run.tags.clone(),
            image: run.image.clone(),
            image_digest: run.image_digest.clone(),
            limits: run.limits,
            clamped: run.clamped,
            scheduled_start: run.scheduled_start,
            eligible_start: run.eligible_start,
            working_hours_applied: run.working_hours_applied,
            class: tag_of(run.class),
            expires_at: run.expires_at,
            queue_deadline: run.queue_deadline,
            retention_days: run.retention_days,
            submitted_at: run.submitted_at,
            queued_at: run.queued_at,
            pulling_at: run.pulling_at,
            started_at: run.started_at,
            paused_at: run.paused_at,
            finished_at: run.finished_at,
            paused_micros: run.paused_micros,
            exit_code: run.exit_code,
            starts: run.starts,
            is_stopping: run.is_stopping,
            workflow_id: run.workflow_id.map(Uuid::into_bytes),
            node_ref: run.node_ref.clone(),
            attempt: run.attempt,
            events: run.events,
            asked_events: run.asked_events.map(|events| events.0),
        }
    }
}

/// Tenant, class, eligible start, run.
pub(super) type WaitingKey = (TenantId, u8, Timestamp, RunId);

/// A class as it stands in rows and keys.
pub(super) const fn tag_of(class: Class) -> u8 {
    match class {
        Class::Ordinary => 0,
        Class::Deferred => 1,
    }
}

const fn class_of(tag: u8) -> Class {
    match tag {
        0 => Class::Ordinary,
        _ => Class::Deferred,
    }
}

/// Its key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct WaitingRow;
impl Row for WaitingRow {}

/// What a run is to run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct DescriptionRow {
    command: Vec<String>,
    webhook: Option<WebhookRow>,
    /// [`Secrets`](super::model::Secrets), for the tenant; none if there is nothing in it.
    pub(super) secrets: Option<Sealed>,
    env_names: Vec<String>,
}
impl Row for DescriptionRow {}

/// See [`Webhook`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct WebhookRow {
    url: String,
    events: Vec<String>,
    has_secret: bool,
}

impl DescriptionRow {
    pub(super) fn new(description: Description, secrets: Option<Sealed>) -> DescriptionRow {
        let Description { command, webhook, env_names } = description;
        let webhook = webhook.map(|Webhook { url, events, has_secret }| WebhookRow { url, events, has_secret });
        DescriptionRow { command, webhook, secrets, env_names }
    }
}

impl From<DescriptionRow> for Description {
    fn from(row: DescriptionRow) -> Description {
        let DescriptionRow { command, webhook, env_names, secrets: _ } = row;
        let webhook = webhook.map(|WebhookRow { url, events, has_secret }| Webhook { url, events, has_secret });
        Description { command, webhook, env_names }
    }
}

/// How a run ended. See [`RunResult`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct ResultRow {
    signal: Option<i32>,
    oom_killed: bool,
    duration_micros: u64,
    paused_micros: u64,
    stdout_bytes: u64,
    stderr_bytes: u64,
    stdout_truncated: bool,
    stderr_truncated: bool,
    /// [`LastWords`](super::model::LastWords), sealed for the tenant; none if it wrote nothing.
    pub(super) last_words: Option<Sealed>,
    peak_memory_bytes: u64,
    cpu_micros: u64,
}
impl Row for ResultRow {}

impl ResultRow {
    pub(super) fn new(result: &RunResult, last_words: Option<Sealed>) -> ResultRow {
        ResultRow {
            signal: result.signal,
            oom_killed: result.oom_killed,
            duration_micros: result.duration_micros,
            paused_micros: result.paused_micros,
            stdout_bytes: result.stdout_bytes,
            stderr_bytes: result.stderr_bytes,
            stdout_truncated: result.stdout_truncated,
            stderr_truncated: result.stderr_truncated,
            last_words,
            peak_memory_bytes: result.peak_memory_bytes,
            cpu_micros: result.cpu_micros,
        }
    }
}

impl From<ResultRow> for RunResult {
    fn from(row: ResultRow) -> RunResult {
        RunResult {
            signal: row.signal,
            oom_killed: row.oom_killed,
            duration_micros: row.duration_micros,
            paused_micros: row.paused_micros,
            stdout_bytes: row.stdout_bytes,
            stderr_bytes: row.stderr_bytes,
            stdout_truncated: row.stdout_truncated,
            stderr_truncated: row.stderr_truncated,
            peak_memory_bytes: row.peak_memory_bytes,
            cpu_micros: row.cpu_micros,
        }
    }
}

/// What a run wrote and used, compressed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) enum ArchiveRow {
    /// A small one.
    Here(Sealed),
    /// A large one.
    Large(LargeValue),
    /// The runner has lost it.
    Lost,
}
impl Row for ArchiveRow {}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct EventRow {
    /// Its id.
    pub(super) event_id: [u8; 16],
    /// The concrete event: `run.queued` for instance.
    pub(super) event: String,
    /// When.
    pub(super) occurred_at: Timestamp,
    /// The state that it led to.
    pub(super) state: RunState,
    /// Why.
    pub(super) reason: Option<Reason>,
}
impl Row for EventRow {}

/// A run that holds a slot.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct BusyRow {
    /// Whose it is.
    pub(super) tenant_id: TenantId,
}
impl Row for BusyRow {}

/// A run that must end: gone once it has.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct WishRow {
    /// Whose it is.
    pub(super) tenant_id: TenantId,
}
impl Row for WishRow {}

/// A container that may exist: written before it is started, gone once it was removed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ContainerRow {
    /// Whose it is.
    pub(super) tenant_id: TenantId,
    /// Its number: how many were named for the run before it, and 1.
    pub(super) number: u32,
}
impl Row for ContainerRow {}

/// A calendar that has changed, until all that waits has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ChangedHoursRow {
    /// The instant at which it falls due that they are.
    pub(super) due_at: Timestamp,
    /// The last waiting run that was looked at: class, eligible start, id.
    pub(super) after: Option<(u8, Timestamp, RunId)>,
}
impl Row for ChangedHoursRow {}

/// See [`Load`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct LoadRow {
    waiting: u64,
    deferred: u64,
    busy: u64,
}
impl Row for LoadRow {}

impl From<Load> for LoadRow {
    fn from(Load { waiting, deferred, busy }: Load) -> LoadRow {
        LoadRow { waiting, deferred, busy }
    }
}

impl From<LoadRow> for Load {
    fn from(LoadRow { waiting, deferred, busy }: LoadRow) -> Load {
        Load { waiting, deferred, busy }
    }
}

/// How long a tenant's runs hold a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct PaceRow {
    /// The mean of those that have ended, the latest with the weight of an eighth, in microseconds.
    pub(super) slot_micros: u64,
}
impl Row for PaceRow {}
