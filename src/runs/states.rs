//! The states of a run, and the one table of the ways between them: who may take which, and the event that tells of it.
//!
//! The table is the contract's, and what follows from other rules beside it: a run whose container was never started waits
//! again after a restart, and one may end while it is pulled or paused. `containers::changes` looks every change up
//! here before it writes it, and the manual's drawing (`assets/manual/run-states.dot`) is made of it.

#[cfg(test)]
mod tests;

use bincode::{Decode, Encode};

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

use RunState::{Exited, Failed, Killed, Paused, Pulling, Queued, Running, Scheduled, Timeout};

impl RunState {
    /// Every state.
    pub const ALL: [RunState; 9] = [Scheduled, Queued, Pulling, Running, Paused, Exited, Failed, Timeout, Killed];

    /// The names of all, in the same order.
    pub const NAMES: [&'static str; 9] = [
        Scheduled.name(),
        Queued.name(),
        Pulling.name(),
        Running.name(),
        Paused.name(),
        Exited.name(),
        Failed.name(),
        Timeout.name(),
        Killed.name(),
    ];

    /// The contract's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Scheduled => "scheduled",
            Queued => "queued",
            Pulling => "pulling",
            Running => "running",
            Paused => "paused",
            Exited => "exited",
            Failed => "failed",
            Timeout => "timeout",
            Killed => "killed",
        }
    }

    /// Whether nothing more can happen to it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Exited | Failed | Timeout | Killed)
    }

    /// Whether it has a slot.
    #[must_use]
    pub const fn holds_slot(self) -> bool {
        matches!(self, Queued | Pulling | Running | Paused)
    }
}

/// Who has a run change its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Actor {
    /// A request of somebody who may.
    Api,
    /// The dispatcher, which gives slots.
    Dispatcher,
    /// The engine, by what the runner tells it of containers: the contract's worker.
    Engine,
    /// The clock: an instant has come.
    Clock,
    /// The workflow that the run is an attempt of.
    Workflow,
}

use Actor::{Api, Clock, Dispatcher, Engine, Workflow};

impl Actor {
    /// Its name in messages and in the manual.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Api => "API",
            Dispatcher => "dispatcher",
            Engine => "engine",
            Clock => "clock",
            Workflow => "workflow",
        }
    }
}

/// A way from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    /// From where; none: there was no run.
    pub(crate) from: Option<RunState>,
    pub(crate) to: RunState,
    /// Who may take it.
    pub(crate) by: &'static [Actor],
    /// The event that tells of it.
    pub(crate) event: &'static str,
    /// What has it taken, for the manual.
    pub(crate) trigger: &'static str,
}

const fn way(
    from: RunState,
    to: RunState,
    by: &'static [Actor],
    event: &'static str,
    trigger: &'static str,
) -> Transition {
    Transition { from: Some(from), to, by, event, trigger }
}

/// Every way there is, in the order of the contract's table. No two have the same ends.
#[rustfmt::skip]
pub(crate) const TRANSITIONS: &[Transition] = &[
    Transition { from: None, to: Scheduled, by: &[Api, Workflow], event: "run.scheduled", trigger: "POST /api/v1/runs, or a node of a workflow" },
    way(Scheduled, Queued, &[Dispatcher], "run.queued", "its time has come and a slot is free"),
    way(Queued, Pulling, &[Engine], "run.pulling", "it is its turn"),
    way(Pulling, Running, &[Engine], "run.running", "its container runs"),
    way(Running, Paused, &[Api, Engine], "run.paused", "POST pause"),
    way(Paused, Running, &[Api, Engine], "run.resumed", "POST resume"),
    way(Running, Running, &[Api], "run.stopping", "POST stop"),
    way(Running, Exited, &[Engine], "run.exited", "exit code 0, or a stop in time"),
    way(Running, Failed, &[Engine], "run.failed", "another exit code, or lost"),
    way(Running, Timeout, &[Engine], "run.timeout", "longer than timeout_seconds"),
    way(Running, Killed, &[Engine], "run.killed", "POST kill, or a stop too late"),
    way(Paused, Killed, &[Engine], "run.killed", "POST kill"),
    way(Scheduled, Failed, &[Clock, Dispatcher], "run.failed", "queue_timeout or expired"),
    // After a restart, what had a slot and no container waits again; what was paused and is gone is lost.
    way(Queued, Scheduled, &[Engine], "run.scheduled", "restart"),
    way(Pulling, Scheduled, &[Engine], "run.scheduled", "restart, or no room on the disk"),
    way(Paused, Failed, &[Engine], "run.failed", "lost"),
    // The contract's "worker failed to start it", and an image that is not to be had.
    way(Pulling, Failed, &[Engine], "run.failed", "no image, or no start"),
    // A workflow that is cancelled takes with it what has no container yet.
    way(Scheduled, Killed, &[Workflow], "run.killed", "its workflow was cancelled"),
    way(Queued, Killed, &[Workflow], "run.killed", "its workflow was cancelled"),
    // A container that was told to end before its command ran.
    way(Pulling, Killed, &[Engine], "run.killed", "killed before it ran"),
];

/// The way between two states, if there is one.
pub(crate) fn transition(from: Option<RunState>, to: RunState) -> Option<&'static Transition> {
    TRANSITIONS.iter().find(|way| way.from == from && way.to == to)
}
