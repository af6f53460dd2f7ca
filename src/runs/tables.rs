//! Everything runs store.
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
//! | 0x040A | due runs | instant, kind, run | what falls due by the clock: eligible, too late, old; a calendar changed |
//! | 0x040B | loads (hot) | tenant | how many runs wait, hold a slot, have one reserved |
//! | 0x040C | days | tenant, UTC day | how many runs were submitted |
//! | 0x040D | quotas | tenant | what an operator or tenant has set |
//! | 0x040E | key terms | key | what a key allows besides its permissions |
//! | 0x040F | meters | key | seconds that runs of a metered key were charged and have used |
//! | 0x0410 | charges | tenant, run | what a run that has not ended was charged |
//! | 0x0411 | paces | tenant | how long its runs hold a slot, for estimates |
//!
//! Everything begins with the tenant but what the engine and the clock look through for all of them, and what is known
//! by a key.
//!
//! A run waits in one of two classes: *ordinary*, or *deferred*, if its explicit start lay in the future when it was
//! submitted: then a slot is reserved for it. A row of `waiting runs` exists exactly while the run is scheduled, one of
//! `busy runs` exactly while it is queued, pulling, running or paused; `loads` counts both, in the same transaction.

use bincode::{Decode, Encode};
use quintet_storage::large::LargeValue;
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use crate::FAMILY;
use crate::model::{Reason, RunId, RunLimits, RunState, TenantId};

/// Runs.
pub const RUNS: Table<(TenantId, RunId), RunRow> = Table::new(0x0401, FAMILY, "runs");
/// What runs are to run.
pub const DESCRIPTIONS: Table<(TenantId, RunId), DescriptionRow> = Table::new(0x0402, FAMILY, "runs_descriptions");
/// How runs ended.
pub const RESULTS: Table<(TenantId, RunId), ResultRow> = Table::new(0x0403, FAMILY, "runs_results");
/// What runs wrote and used.
pub const ARCHIVES: Table<(TenantId, RunId), ArchiveRow> = Table::new(0x0404, FAMILY, "runs_archives");
/// What happened to runs.
pub const EVENTS: Table<(TenantId, RunId, u32), EventRow> = Table::new(0x0405, FAMILY, "runs_events");
/// Containers that may exist.
pub const CONTAINERS: Table<RunId, ContainerRow> = Table::new(0x0406, FAMILY, "runs_containers");
/// Calendars that have changed.
pub const CHANGED_HOURS: Table<TenantId, ChangedHoursRow> = Table::new(0x0407, FAMILY, "runs_changed_hours");
/// The queues.
pub const WAITING: Table<(TenantId, u8, Timestamp, RunId), Mark> = Table::new(0x0408, FAMILY, "runs_waiting");
/// Who holds a slot.
pub const BUSY: Table<RunId, BusyRow> = Table::new(0x0409, FAMILY, "runs_busy");
/// What falls due.
pub const DUE: Table<(Timestamp, u8, RunId), DueRow> = Table::new(0x040A, FAMILY, "runs_due");
/// How much each tenant has going.
pub const LOADS: Table<TenantId, LoadRow> = Table::new(0x040B, FAMILY, "runs_loads").hot();
/// Submissions of a day.
pub const DAYS: Table<(TenantId, i64), DayRow> = Table::new(0x040C, FAMILY, "runs_days");
/// Quotas that were set.
pub const QUOTAS: Table<TenantId, QuotasRow> = Table::new(0x040D, FAMILY, "runs_quotas");
/// What keys allow besides their permissions, by the id that callers see.
pub const KEY_TERMS: Table<String, KeyTermsRow> = Table::new(0x040E, FAMILY, "runs_key_terms");
/// What metered keys have used.
pub const METERS: Table<String, MeterRow> = Table::new(0x040F, FAMILY, "runs_meters");
/// Charges of runs that have not ended.
pub const CHARGES: Table<(TenantId, RunId), ChargeRow> = Table::new(0x0410, FAMILY, "runs_charges");
/// How long slots are held.
pub const PACES: Table<TenantId, PaceRow> = Table::new(0x0411, FAMILY, "runs_paces");

/// Every table of this package. Their tags lie in 0x0400 to 0x04FF.
pub const TABLES: &[TableSpec] = &[
    RUNS.spec(),
    DESCRIPTIONS.spec(),
    RESULTS.spec(),
    ARCHIVES.spec(),
    EVENTS.spec(),
    CONTAINERS.spec(),
    CHANGED_HOURS.spec(),
    WAITING.spec(),
    BUSY.spec(),
    DUE.spec(),
    LOADS.spec(),
    DAYS.spec(),
    QUOTAS.spec(),
    KEY_TERMS.spec(),
    METERS.spec(),
    CHARGES.spec(),
    PACES.spec(),
];

/// The class of runs that start as soon as they can.
pub const ORDINARY: u8 = 0;
/// The class of runs a slot is reserved for.
pub const DEFERRED: u8 = 1;

/// A run becomes eligible: the dispatcher looks again.
pub const DUE_ELIGIBLE: u8 = 0;
/// A run has waited too long, or must not start any more.
pub const DUE_TOO_LATE: u8 = 1;
/// An ended run has been kept long enough.
pub const DUE_OLD: u8 = 2;
/// A tenant's calendar has changed: the starts of what waits are decided anew. The id is the tenant's.
pub const DUE_HOURS: u8 = 3;

/// Events of a removed run are left over. The run itself is gone.
pub const DUE_EVENTS: u8 = 4;

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Mark;
impl Row for Mark {}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RunRow {
    /// Its state.
    pub state: RunState,
    /// Why, where there is something to say.
    pub reason: Option<Reason>,
    /// The same for people.
    pub message: Option<String>,
    /// What its caller calls it.
    pub name: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// The image as it was asked for.
    pub image: String,
    /// The image that was found under that name.
    pub image_digest: Option<String>,
    /// What it may take.
    pub limits: RunLimits,
    /// Whether it asked for more.
    pub clamped: bool,
    /// When it was asked to start.
    pub scheduled_start: Option<Timestamp>,
    /// When it may start.
    pub eligible_start: Timestamp,
    /// Whether a calendar moved that.
    pub working_hours_applied: bool,
    /// [`ORDINARY`] or [`DEFERRED`].
    pub class: u8,
    /// After that it must not start any more.
    pub expires_at: Option<Timestamp>,
    /// Until then it waits for a slot.
    pub queue_deadline: Timestamp,
    /// How long it is kept once it has ended, in days.
    pub retention_days: u64,
    /// When it was submitted.
    pub submitted_at: Timestamp,
    /// When it got a slot.
    pub queued_at: Option<Timestamp>,
    /// When its image was looked for.
    pub pulling_at: Option<Timestamp>,
    /// When its command ran.
    pub started_at: Option<Timestamp>,
    /// Since when it is paused.
    pub paused_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// How long its finished pauses took, in microseconds.
    pub paused_micros: u64,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// How often a container was named for it; 0: never. The last name is the only one that may run.
    pub starts: u32,
    /// It was told to stop.
    pub is_stopping: bool,
    /// The workflow it is a node of.
    pub workflow_id: Option<[u8; 16]>,
    /// Which node.
    pub node_ref: Option<String>,
    /// Which attempt of the node; 1 for a run of its own.
    pub attempt: u32,
    /// How many events it has had.
    pub events: u32,
}
impl Row for RunRow {}

/// What a run is to run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DescriptionRow {
    /// The command.
    pub command: Vec<String>,
    /// Where its events go.
    pub webhook: Option<WebhookRow>,
    /// [`Secrets`], for the tenant; none if there is nothing in it.
    pub secrets: Option<Sealed>,
    /// The names of its variables.
    pub env_names: Vec<String>,
}
impl Row for DescriptionRow {}

/// What of a run's description must not lie about in the clear.
#[derive(Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Secrets {
    /// The environment.
    pub env: Vec<(String, String)>,
    /// The secret of its webhook.
    pub webhook_secret: Option<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({} variables)", self.env.len())
    }
}

/// An inline webhook.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct WebhookRow {
    /// Where to.
    pub url: String,
    /// Which events.
    pub events: Vec<String>,
    /// Whether deliveries are signed.
    pub has_secret: bool,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ResultRow {
    /// The signal its command ended by.
    pub signal: Option<i32>,
    /// The kernel killed a process of it for memory.
    pub oom_killed: bool,
    /// How long it ran, pauses included, in microseconds.
    pub duration_micros: u64,
    /// How long it was paused, in microseconds.
    pub paused_micros: u64,
    /// Written to standard output.
    pub stdout_bytes: u64,
    /// Written to standard error.
    pub stderr_bytes: u64,
    /// Lines of standard output are missing.
    pub stdout_truncated: bool,
    /// Lines of standard error are missing.
    pub stderr_truncated: bool,
    /// [`LastWords`], sealed for the tenant; none if it wrote nothing.
    pub last_words: Option<Sealed>,
    /// The most memory it had, in bytes.
    pub peak_memory_bytes: u64,
    /// Processor time, in microseconds.
    pub cpu_micros: u64,
}
impl Row for ResultRow {}

/// The end of a run's standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LastWords {
    /// The last KiB.
    pub summary: String,
    /// The last line that is not empty, if it is JSON of at most 64 KiB.
    pub output: Option<String>,
}

/// What a run wrote and used, compressed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ArchiveRow {
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
pub struct EventRow {
    /// Its id.
    pub event_id: [u8; 16],
    /// The concrete event: `run.queued` for instance.
    pub event: String,
    /// When.
    pub occurred_at: Timestamp,
    /// The state that it led to.
    pub state: RunState,
    /// Why.
    pub reason: Option<Reason>,
}
impl Row for EventRow {}

/// A run that holds a slot.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BusyRow {
    /// Whose it is.
    pub tenant_id: TenantId,
}
impl Row for BusyRow {}

/// A container that may exist: written before it is started, gone once it was removed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ContainerRow {
    /// Whose it is.
    pub tenant_id: TenantId,
    /// Its number: how many were named for the run before it, and 1.
    pub number: u32,
}
impl Row for ContainerRow {}

/// Whose run falls due.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DueRow {
    /// The tenant.
    pub tenant_id: TenantId,
}
impl Row for DueRow {}

/// A calendar that has changed, until all that waits has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ChangedHoursRow {
    /// The instant of its row among what is due.
    pub due_at: Timestamp,
    /// The last waiting run that was looked at: class, eligible start, id.
    pub after: Option<(u8, Timestamp, RunId)>,
}
impl Row for ChangedHoursRow {}

/// What a tenant has going.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LoadRow {
    /// Scheduled runs of the class [`ORDINARY`].
    pub waiting: u64,
    /// Scheduled runs of the class [`DEFERRED`].
    pub deferred: u64,
    /// Runs that hold a slot.
    pub busy: u64,
}
impl Row for LoadRow {}

/// A day of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct DayRow {
    /// Runs submitted.
    pub submitted: u64,
}
impl Row for DayRow {}

/// Quotas that differ from the defaults, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct QuotasRow {
    /// Numbers, by name.
    pub numbers: Vec<(String, u64)>,
    /// The working hours, as a TaskJuggler shift.
    pub working_hours_tjp: Option<String>,
}
impl Row for QuotasRow {}

/// What a key allows besides its permissions. Written when it is issued, never changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct KeyTermsRow {
    /// What the operator calls its terms.
    pub tier: Option<String>,
    /// How many seconds its runs may run in all; none: not metered.
    pub metered_seconds: Option<u64>,
    /// The images its runs may have, as the operator wrote them; none: any.
    pub allowed_images: Option<Vec<String>>,
    /// How long its ended runs are kept at most, in days.
    pub retention_days: Option<u64>,
}
impl Row for KeyTermsRow {}

/// What runs of a metered key were charged and have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct MeterRow {
    /// What runs that have not ended were charged: the sum of their charges.
    pub open_seconds: u64,
    /// What runs that have ended have used.
    pub used_seconds: u64,
}
impl Row for MeterRow {}

/// What a run that has not ended was charged.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ChargeRow {
    /// The key.
    pub key_id: String,
    /// How much: its `timeout_seconds`.
    pub seconds: u64,
}
impl Row for ChargeRow {}

/// How long a tenant's runs hold a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PaceRow {
    /// The mean of those that have ended, the latest with the weight of an eighth, in microseconds.
    pub slot_micros: u64,
}
impl Row for PaceRow {}
