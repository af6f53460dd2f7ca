//! The words of runs and their pure rules.

use std::time::Duration;

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Timestamp, Uuid, decode_plain};

use crate::events::Events;
use crate::states::RunState;

const SECONDS_OF_A_DAY: i64 = 86_400;

/// Why a run is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Reason {
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
    /// Its workflow was cancelled before it had a container.
    WorkflowCancelled,
}

impl Reason {
    /// Its name in answers.
    pub(crate) const fn name(self) -> &'static str {
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
            Reason::WorkflowCancelled => "workflow_cancelled",
        }
    }
}

/// What a run may take. Whole numbers, so that rows compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RunLimits {
    /// Processor time in thousandths of a core.
    pub(crate) cpu_millicores: u32,
    /// Memory in MiB.
    pub(crate) memory_mb: u64,
    /// Time to run, pauses not counted.
    pub(crate) timeout_seconds: u64,
    /// What a stop waits between SIGTERM and SIGKILL.
    pub(crate) grace_seconds: u64,
}

/// How a run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// It starts as soon as it can.
    Ordinary,
    /// A slot is reserved for it: its explicit start lay in the future when it was submitted.
    Deferred,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Its state.
    pub(crate) state: RunState,
    /// Why, where there is something to say.
    pub(crate) reason: Option<Reason>,
    /// The same for people.
    pub(crate) message: Option<String>,
    /// What its caller calls it.
    pub(crate) name: Option<String>,
    /// Labels.
    pub(crate) tags: Vec<String>,
    /// The image as it was asked for.
    pub(crate) image: String,
    /// The image that was found under that name.
    pub(crate) image_digest: Option<String>,
    /// What it may take.
    pub(crate) limits: RunLimits,
    /// Whether it asked for more.
    pub(crate) clamped: bool,
    /// When it was asked to start.
    pub(crate) scheduled_start: Option<Timestamp>,
    /// When it may start.
    pub(crate) eligible_start: Timestamp,
    /// Whether a calendar moved that.
    pub(crate) working_hours_applied: bool,
    /// How it waits.
    pub(crate) class: Class,
    /// After that it must not start any more.
    pub(crate) expires_at: Option<Timestamp>,
    /// Until then it waits for a slot.
    pub(crate) queue_deadline: Timestamp,
    /// How long it is kept once it has ended, in days.
    pub(crate) retention_days: u64,
    /// When it was submitted.
    pub(crate) submitted_at: Timestamp,
    /// When it got a slot.
    pub(crate) queued_at: Option<Timestamp>,
    /// When its image was looked for.
    pub(crate) pulling_at: Option<Timestamp>,
    /// When its command ran.
    pub(crate) started_at: Option<Timestamp>,
    /// Since when it is paused.
    pub(crate) paused_at: Option<Timestamp>,
    /// When it ended.
    pub(crate) finished_at: Option<Timestamp>,
    /// How long its finished pauses took, in microseconds.
    pub(crate) paused_micros: u64,
    /// Its exit code.
    pub(crate) exit_code: Option<i32>,
    /// How often a container was named for it; 0: never. The last name is the only one that may run.
    pub(crate) starts: u32,
    /// It was told to stop.
    pub(crate) is_stopping: bool,
    /// The workflow it is a node of.
    pub(crate) workflow_id: Option<Uuid>,
    /// Which node.
    pub(crate) node_ref: Option<String>,
    /// Which attempt of the node; 1 for a run of its own.
    pub(crate) attempt: u32,
    /// How many events it has had.
    pub(crate) events: u32,
    /// What its inline webhook asks for, nothing if it has none; none if only its description knows, for it is older than
    /// this member.
    pub(crate) asked_events: Option<Events>,
}

impl Run {
    /// When a waiting run has waited too long, or must not start any more.
    pub(crate) fn too_late_at(&self) -> Timestamp {
        self.expires_at.map_or(self.queue_deadline, |expiry| expiry.min(self.queue_deadline))
    }

    /// How long it waits for a slot, or, with one, for a worker once its image is here: the tenant's
    /// `max_queue_seconds` when it was submitted.
    pub(crate) fn queue_patience(&self) -> Duration {
        let micros = self.queue_deadline.as_micros().saturating_sub(self.eligible_start.as_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// When an ended run has been kept long enough.
    pub(crate) fn old_at(&self) -> Timestamp {
        let days = i64::try_from(self.retention_days).unwrap_or(i64::MAX);
        self.finished_at.unwrap_or(self.submitted_at).plus_seconds(days.saturating_mul(SECONDS_OF_A_DAY))
    }

    /// How long it has been paused by now, in microseconds.
    pub(crate) fn paused_micros_at(&self, now: Timestamp) -> u64 {
        let pause = self.paused_at.map_or(0, |since| now.as_micros().saturating_sub(since.as_micros()));
        self.paused_micros.saturating_add(u64::try_from(pause).unwrap_or(0))
    }
}

/// What a run is to run, but for its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    /// The command.
    pub(crate) command: Vec<String>,
    /// Where its events go.
    pub(crate) webhook: Option<Webhook>,
    /// The names of its variables.
    pub(crate) env_names: Vec<String>,
}

/// An inline webhook, but for its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Webhook {
    /// Where to.
    pub(crate) url: String,
    /// Which events.
    pub(crate) events: Vec<String>,
    /// Whether deliveries are signed.
    pub(crate) has_secret: bool,
}

impl Webhook {
    /// What it asks for.
    pub(crate) fn asked(&self) -> Events {
        let asked = self.events.iter().filter_map(|pattern| Events::asked_by(pattern));
        asked.fold(Events::default(), Events::with)
    }
}

/// What of a run's description must not lie about in the clear. It is sealed in this shape.
#[derive(Clone, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Secrets {
    /// The environment.
    pub(crate) env: Vec<(String, String)>,
    /// The secret of its webhook.
    pub(crate) webhook_secret: Option<String>,
    /// The command, where what is shown of it is not what is run.
    pub(crate) command: Option<Vec<String>>,
}

impl Secrets {
    /// What was sealed. What was sealed before there were hidden commands ends before the last member: a byte more says
    /// that there is none.
    pub(crate) fn decode(plain: &[u8]) -> Result<Secrets, Failure> {
        decode_plain(plain).or_else(|_| decode_plain(&[plain, &[0]].concat()))
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({} variables)", self.env.len())
    }
}

/// The most arguments, and the most variables.
pub(crate) const WORDS_MAX: usize = 4096;
/// Arguments and variables together, in bytes: what the runner takes.
pub(crate) const WORDS_BYTES_MAX: usize = 512 << 10;

/// What a variable takes where a program is begun: name, value, a sign between, an end, and where it stands.
pub(crate) fn variable_bytes(name: &str, value: &str) -> usize {
    name.len() + value.len() + 10
}

/// What a command takes with its environment.
pub(crate) fn words_bytes(command: &[String], env: &[(String, String)]) -> usize {
    let words = command.iter().map(|word| word.len() + 9);
    words.chain(env.iter().map(|(name, value)| variable_bytes(name, value))).sum()
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunResult {
    /// The signal its command ended by.
    pub(crate) signal: Option<i32>,
    /// The kernel killed a process of it for memory.
    pub(crate) oom_killed: bool,
    /// How long it ran, pauses included, in microseconds.
    pub(crate) duration_micros: u64,
    /// How long it was paused, in microseconds.
    pub(crate) paused_micros: u64,
    /// Written to standard output.
    pub(crate) stdout_bytes: u64,
    /// Written to standard error.
    pub(crate) stderr_bytes: u64,
    /// Lines of standard output are missing.
    pub(crate) stdout_truncated: bool,
    /// Lines of standard error are missing.
    pub(crate) stderr_truncated: bool,
    /// The most memory it had, in bytes.
    pub(crate) peak_memory_bytes: u64,
    /// Processor time, in microseconds.
    pub(crate) cpu_micros: u64,
}

impl RunResult {
    /// What a metered key pays: the time for which its container ran, pauses not counted, in whole seconds, a part of
    /// one as a whole one. A run whose end nobody knows has used nothing.
    pub(crate) fn used_seconds(&self) -> u64 {
        self.duration_micros.saturating_sub(self.paused_micros).div_ceil(1_000_000)
    }
}

/// The end of a run's standard output. It is sealed in this shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct LastWords {
    /// The last KiB.
    pub(crate) summary: String,
    /// The last line that is not empty, if it is JSON of at most 64 KiB.
    pub(crate) output: Option<String>,
}

/// How much a tenant has going.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Scheduled runs of the class [`Class::Ordinary`].
    pub(crate) waiting: u64,
    /// Scheduled runs of the class [`Class::Deferred`].
    pub(crate) deferred: u64,
    /// Runs that hold a slot.
    pub(crate) busy: u64,
}

/// How many more slots a tenant can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// `max_concurrent_runs`.
    pub(crate) most: u64,
    /// What it has going.
    pub(crate) load: Load,
}

impl Share {
    /// Whether a run of this class can have a slot.
    pub(crate) fn takes(&self, class: Class) -> bool {
        let reserved = match class {
            Class::Deferred => 0,
            Class::Ordinary => self.load.deferred.min(self.most),
        };
        self.load.busy + reserved < self.most
    }

    /// A run of this class has one.
    pub(crate) fn take(&mut self, class: Class) {
        self.load.busy += 1;
        if class == Class::Deferred {
            self.load.deferred = self.load.deferred.saturating_sub(1);
        }
    }
}
