//! The words of runs and their pure rules.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, key_newtype};

key_newtype!(
    /// A tenant.
    pub TenantId(Uuid)
);
key_newtype!(
    /// A run; callers know it as `track_id`, in the form of a ULID.
    pub RunId(Uuid)
);

/// The states of a run, in the contract's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub enum RunState {
    /// It waits for its time or for a slot.
    Scheduled,
    /// It has a slot.
    Queued,
    /// Its image is being seen to.
    Pulling,
    /// Its container runs.
    Running,
    /// Its container is frozen.
    Paused,
    /// Ended by exit code 0, or by a stop within the grace period.
    Exited,
    /// Ended in any other way that is nobody's wish.
    Failed,
    /// Ended for running longer than it may.
    Timeout,
    /// Ended by SIGKILL on somebody's wish.
    Killed,
}

impl RunState {
    /// Every state.
    pub const ALL: [RunState; 9] = [
        RunState::Scheduled,
        RunState::Queued,
        RunState::Pulling,
        RunState::Running,
        RunState::Paused,
        RunState::Exited,
        RunState::Failed,
        RunState::Timeout,
        RunState::Killed,
    ];

    /// The contract's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RunState::Scheduled => "scheduled",
            RunState::Queued => "queued",
            RunState::Pulling => "pulling",
            RunState::Running => "running",
            RunState::Paused => "paused",
            RunState::Exited => "exited",
            RunState::Failed => "failed",
            RunState::Timeout => "timeout",
            RunState::Killed => "killed",
        }
    }

    /// Whether nothing more can happen to it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, RunState::Exited | RunState::Failed | RunState::Timeout | RunState::Killed)
    }

    /// Whether it has a slot.
    #[must_use]
    pub const fn holds_slot(self) -> bool {
        matches!(self, RunState::Queued | RunState::Pulling | RunState::Running | RunState::Paused)
    }
}

/// Why a run is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Reason {
    /// It had not started when its `expires_at` came.
    Expired,
    /// It had waited longer than `max_queue_seconds` for a slot.
    QueueTimeout,
    /// Its image could not be had.
    ImagePullFailed,
    /// There is no such image.
    ImageNotFound,
    /// Its command never ran.
    StartFailed,
    /// The kernel ended it for the memory it wanted.
    OomKilled,
    /// Its command returned another code than 0.
    NonzeroExit,
    /// It ran longer than `timeout_seconds`.
    Timeout,
    /// It was told to be killed.
    Killed,
    /// It did not end within the grace period of a stop.
    StopGraceExpired,
    /// What supervised it is gone, and how it would have ended nobody knows.
    WorkerLost,
}

impl Reason {
    /// Its name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Expired => "expired",
            Reason::QueueTimeout => "queue_timeout",
            Reason::ImagePullFailed => "image_pull_failed",
            Reason::ImageNotFound => "image_not_found",
            Reason::StartFailed => "start_failed",
            Reason::OomKilled => "oom_killed",
            Reason::NonzeroExit => "nonzero_exit",
            Reason::Timeout => "timeout",
            Reason::Killed => "killed",
            Reason::StopGraceExpired => "stop_grace_expired",
            Reason::WorkerLost => "worker_lost",
        }
    }
}

/// What a run may take. Whole numbers, so that rows compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RunLimits {
    /// Processor time in thousandths of a core.
    pub cpu_millicores: u32,
    /// Memory in MiB.
    pub memory_mb: u64,
    /// Time to run, pauses not counted.
    pub timeout_seconds: u64,
    /// What a stop waits between SIGTERM and SIGKILL.
    pub grace_seconds: u64,
}

/// The quotas of a tenant: the defaults of the contract, what an operator has set, within the ceilings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Runs at once.
    pub max_concurrent_runs: u64,
    /// Runs submitted a day, UTC.
    pub max_daily_runs: u64,
    /// The longest time to run.
    pub max_timeout_seconds: u64,
    /// The longest wait for a slot.
    pub max_queue_seconds: u64,
    /// Nodes of a workflow.
    pub max_nodes_per_workflow: u64,
    /// Workflows at once.
    pub max_concurrent_workflows: u64,
    /// The longest body of a delivery.
    pub max_webhook_payload_bytes: u64,
    /// Processor time of a run, in thousandths of a core.
    pub max_cpu_millicores: u64,
    /// Memory of a run in MiB.
    pub max_memory_mb: u64,
    /// Time to run where none is asked for.
    pub default_timeout_seconds: u64,
    /// Processor time where none is asked for, in thousandths of a core.
    pub default_cpu_millicores: u64,
    /// Memory where none is asked for, in MiB.
    pub default_memory_mb: u64,
    /// How long an ended run is kept.
    pub retention_days: u64,
    /// What a stop waits.
    pub stop_grace_seconds: u64,
    /// Endpoints of webhooks.
    pub max_webhook_endpoints: u64,
}

impl Default for Quotas {
    fn default() -> Quotas {
        Quotas {
            max_concurrent_runs: 10,
            max_daily_runs: 1000,
            max_timeout_seconds: 3600,
            max_queue_seconds: 3600,
            max_nodes_per_workflow: 50,
            max_concurrent_workflows: 10,
            max_webhook_payload_bytes: 65_536,
            max_cpu_millicores: 2000,
            max_memory_mb: 2048,
            default_timeout_seconds: 600,
            default_cpu_millicores: 1000,
            default_memory_mb: 512,
            retention_days: 30,
            stop_grace_seconds: 10,
            max_webhook_endpoints: 20,
        }
    }
}

/// A quota that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaKind {
    /// Its name.
    pub name: &'static str,
    /// The least it can be set to; processor time in thousandths of a core.
    pub least: u64,
    /// The most.
    pub most: u64,
    /// Whether callers give it in cores.
    pub is_cores: bool,
}

/// More than any quota of whole numbers needs to be.
const QUOTA_MOST: u64 = 1_000_000_000;
/// The least memory that a container runs in, in MiB.
pub const MEMORY_MB_LEAST: u64 = 6;

const fn whole(name: &'static str, least: u64) -> QuotaKind {
    QuotaKind { name, least, most: QUOTA_MOST, is_cores: false }
}

const fn cores(name: &'static str) -> QuotaKind {
    QuotaKind { name, least: 10, most: 4_096_000, is_cores: true }
}

/// Every quota that is a number, in the order of the documentation.
pub const QUOTA_KINDS: &[QuotaKind] = &[
    whole("max_concurrent_runs", 0),
    whole("max_daily_runs", 0),
    whole("max_timeout_seconds", 1),
    whole("max_queue_seconds", 1),
    whole("max_nodes_per_workflow", 1),
    whole("max_concurrent_workflows", 0),
    whole("max_webhook_payload_bytes", 1024),
    cores("max_cpu"),
    whole("max_memory_mb", MEMORY_MB_LEAST),
    whole("default_timeout_seconds", 1),
    cores("default_cpu"),
    whole("default_memory_mb", MEMORY_MB_LEAST),
    whole("retention_days", 1),
    whole("stop_grace_seconds", 0),
    whole("max_webhook_endpoints", 0),
];

/// What no tenant may exceed; the names are those of the quotas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ceilings(pub Vec<(String, u64)>);

impl Ceilings {
    /// The ceiling that holds for a quota. A default has that of its maximum.
    #[must_use]
    pub fn name_for(quota: &str) -> String {
        quota.strip_prefix("default_").map_or_else(|| quota.to_owned(), |rest| format!("max_{rest}"))
    }

    /// The most that a quota may be, if the operator has said so. A default has the ceiling of its maximum.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<u64> {
        let most = |name: &str| self.0.iter().find(|(known, _)| known == name).map(|(_, most)| *most);
        most(name).into_iter().chain(most(&Ceilings::name_for(name))).min()
    }
}

impl Quotas {
    /// Every quota by name, for setting and for ceilings. Processor time counts in thousandths of a core.
    pub fn by_name(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "max_concurrent_runs" => &mut self.max_concurrent_runs,
            "max_daily_runs" => &mut self.max_daily_runs,
            "max_timeout_seconds" => &mut self.max_timeout_seconds,
            "max_queue_seconds" => &mut self.max_queue_seconds,
            "max_nodes_per_workflow" => &mut self.max_nodes_per_workflow,
            "max_concurrent_workflows" => &mut self.max_concurrent_workflows,
            "max_webhook_payload_bytes" => &mut self.max_webhook_payload_bytes,
            "max_cpu" => &mut self.max_cpu_millicores,
            "max_memory_mb" => &mut self.max_memory_mb,
            "default_timeout_seconds" => &mut self.default_timeout_seconds,
            "default_cpu" => &mut self.default_cpu_millicores,
            "default_memory_mb" => &mut self.default_memory_mb,
            "retention_days" => &mut self.retention_days,
            "stop_grace_seconds" => &mut self.stop_grace_seconds,
            "max_webhook_endpoints" => &mut self.max_webhook_endpoints,
            _ => return None,
        })
    }

    /// The same, nothing above the operator's ceilings; what a run is given by default not above what it may have.
    #[must_use]
    pub fn within(mut self, ceilings: &Ceilings) -> Quotas {
        for (name, most) in &ceilings.0 {
            if let Some(value) = self.by_name(name) {
                *value = (*value).min(*most);
            }
        }
        self.default_timeout_seconds = self.default_timeout_seconds.min(self.max_timeout_seconds);
        self.default_cpu_millicores = self.default_cpu_millicores.min(self.max_cpu_millicores);
        self.default_memory_mb = self.default_memory_mb.min(self.max_memory_mb);
        self
    }
}

/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

/// The number of the UTC day of an instant.
#[must_use]
pub fn utc_day(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(DAY_MICROS)
}

/// Seconds until the next UTC midnight, at least 1.
#[must_use]
pub fn seconds_to_midnight(at: Timestamp) -> u64 {
    let left = DAY_MICROS - at.as_micros().rem_euclid(DAY_MICROS);
    u64::try_from(left).unwrap_or(0).div_ceil(1_000_000).max(1)
}

/// What events a webhook may ask for: concrete ones, aliases, wildcards.
#[must_use]
pub fn is_event_pattern(pattern: &str) -> bool {
    const RUN: &[&str] = &[
        "scheduled",
        "queued",
        "pulling",
        "running",
        "paused",
        "resumed",
        "stopping",
        "exited",
        "failed",
        "timeout",
        "killed",
        "terminal",
        "*",
    ];
    const WORKFLOW: &[&str] = &["running", "paused", "resumed", "succeeded", "failed", "cancelled", "terminal", "*"];
    const NODE: &[&str] =
        &["running", "retrying", "waiting_approval", "succeeded", "failed", "skipped", "cancelled", "*"];
    match pattern.split_once('.') {
        Some(("run", event)) => RUN.contains(&event),
        Some(("workflow", event)) => WORKFLOW.contains(&event),
        Some(("node", event)) => NODE.contains(&event),
        _ => pattern == "*",
    }
}
