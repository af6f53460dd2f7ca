//! What a tenant and a key may, in words: quotas, the operator's ceilings, terms of keys.

use std::sync::Arc;

use quintet_storage::Timestamp;

use super::calendar::Calendar;

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
    /// What the images that its runs were pulled take unpacked, in MiB.
    pub max_image_mb: u64,
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
            max_image_mb: 8192,
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
    whole("max_image_mb", 0),
];

/// What no tenant may exceed; the names are those of the quotas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ceilings(pub Vec<(String, u64)>);

impl Ceilings {
    /// What the operator has said, and the usual ones of what nothing was said of: those of a run's size are what the
    /// machine has, so many cores and so many MiB, but no less than the quotas that tenants begin with.
    #[must_use]
    pub fn on_machine(said: Vec<(String, u64)>, cores: u64, memory_mb: u64) -> Ceilings {
        let least = Quotas::default();
        let usual = [
            ("max_concurrent_runs", 1000),
            ("max_daily_runs", 1_000_000),
            ("max_timeout_seconds", 604_800),
            ("max_queue_seconds", 604_800),
            ("max_nodes_per_workflow", 1000),
            ("max_concurrent_workflows", 1000),
            ("max_webhook_payload_bytes", 262_144),
            ("max_cpu", cores.saturating_mul(1000).max(least.max_cpu_millicores)),
            ("max_memory_mb", memory_mb.max(least.max_memory_mb)),
            ("max_image_mb", 1 << 20),
            ("retention_days", 3650),
            ("stop_grace_seconds", 300),
            // Each that asks for an event adds a row or six to the transaction of what happens, which others wait for.
            ("max_webhook_endpoints", 100),
        ];
        let is_said = |name: &str| said.iter().any(|(known, _)| known == name);
        let usual = usual.into_iter().filter(|(name, _)| !is_said(name)).map(|(name, most)| (name.to_owned(), most));
        let usual: Vec<_> = usual.collect();
        Ceilings([said, usual].concat())
    }

    /// The ceiling that holds for a quota. A default has that of its maximum.
    #[must_use]
    pub fn name_for(quota: &str) -> String {
        quota.strip_prefix("default_").map_or_else(|| quota.to_owned(), |rest| format!("max_{rest}"))
    }

    /// The most that a quota may be, if that is bounded. A default has the ceiling of its maximum.
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
            "max_image_mb" => &mut self.max_image_mb,
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

/// What holds for a tenant.
#[derive(Clone, Debug)]
pub(crate) struct InForce {
    pub(crate) quotas: Quotas,
    /// The working hours as they were written.
    pub(crate) working_hours_tjp: Option<String>,
    /// The same, read.
    pub(crate) hours: Hours,
}

/// The working hours of a tenant: a calendar, or always.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hours(pub(crate) Option<Arc<Calendar>>);

impl Hours {
    /// Whether runs may start at this instant.
    pub(crate) fn is_open(&self, at: Timestamp) -> bool {
        self.0.as_ref().is_none_or(|calendar| calendar.is_open(at))
    }

    /// When a run that would start at `at` may, and whether the calendar has moved that.
    pub(crate) fn start(&self, at: Timestamp) -> (Timestamp, bool) {
        let open = self.0.as_ref().map_or(at, |calendar| calendar.next_open(at));
        (open, open != at)
    }
}

/// A change of quotas: checked, but not against each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetQuotas {
    /// By name, processor time in thousandths of a core.
    pub(crate) numbers: Vec<(&'static str, u64)>,
    /// A calendar that can be read, or none; nothing if it stays as it is.
    pub(crate) working_hours_tjp: Option<Option<String>>,
}

/// What a key allows besides its permissions. Said when it is issued, never changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyTerms {
    /// What the operator calls its terms.
    pub tier: Option<String>,
    /// How many seconds its runs may run in all; none: not metered.
    pub metered_seconds: Option<u64>,
    /// The images its runs may have, as the operator wrote them; none: any.
    pub allowed_images: Option<Vec<String>>,
    /// How long its ended runs are kept at most, in days.
    pub retention_days: Option<u64>,
}

impl KeyTerms {
    /// How long an ended run is kept where the tenant's quota is this: the shorter counts.
    pub(crate) fn retention_days(&self, quota: u64) -> u64 {
        self.retention_days.map_or(quota, |days| days.min(quota))
    }
}

/// What runs of a metered key were charged and have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meter {
    /// What runs that have not ended were charged: the sum of their charges.
    pub(crate) open_seconds: u64,
    /// What runs that have ended have used.
    pub(crate) used_seconds: u64,
}

impl Meter {
    /// What is not there any more: used, or charged and perhaps given back in part.
    pub(crate) fn spent_seconds(self) -> u64 {
        self.open_seconds.saturating_add(self.used_seconds)
    }
}

/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

/// The number of the UTC day of an instant.
pub(crate) fn utc_day(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(DAY_MICROS)
}

/// Seconds until the next UTC midnight, at least 1.
pub(crate) fn seconds_to_midnight(at: Timestamp) -> u64 {
    let left = DAY_MICROS - at.as_micros().rem_euclid(DAY_MICROS);
    u64::try_from(left).unwrap_or(0).div_ceil(1_000_000).max(1)
}

/// The next UTC midnight.
pub(crate) fn next_midnight(at: Timestamp) -> Timestamp {
    Timestamp::from_micros((utc_day(at) + 1) * DAY_MICROS)
}
