//! The ten process checks, by which the language core finds out whether it can be relied on.
//!
//! They run at the start and every 60 seconds (the caller has the timer). While one of them is not ok, operations
//! marked core answer 503 `language_core_unavailable` and change nothing.

use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use super::check_name::CheckName;
use super::checks;

/// How a check went when it last ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOutcome {
    /// Which check.
    pub name: CheckName,
    /// Whether everything was as it should be, and the check is not forced to fail.
    pub ok: bool,
    /// How long it took, in whole milliseconds.
    pub milliseconds: u64,
}

/// The state of the ten checks; one for the process.
#[derive(Debug)]
pub struct Health {
    checks: RwLock<[State; 10]>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    name: CheckName,
    passed: bool,
    forced_to_fail: bool,
    milliseconds: u64,
}

impl Health {
    /// Runs all checks for the first time.
    #[must_use]
    pub fn start() -> Self {
        let unknown = |name| State { name, passed: false, forced_to_fail: false, milliseconds: 0 };
        let health = Self { checks: RwLock::new(CheckName::ALL.map(unknown)) };
        health.run();
        health
    }

    /// Runs all checks again; to be called every 60 seconds, outside of async code, since it computes for a while.
    pub fn run(&self) {
        for name in CheckName::ALL {
            let started = Instant::now();
            // A check that panics has found more than it looked for.
            let passed = std::panic::catch_unwind(|| checks::run(name)).is_ok_and(|outcome| outcome.is_ok());
            let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.change(name, |state| *state = State { passed, milliseconds, ..*state });
        }
    }

    /// Whether operations marked core may go on: every check was ok when it last ran, and none is forced to fail.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.outcomes().iter().all(|outcome| outcome.ok)
    }

    /// How the checks went, in the order of [`CheckName::ALL`].
    #[must_use]
    pub fn outcomes(&self) -> [CheckOutcome; 10] {
        let states = *self.checks.read().unwrap_or_else(PoisonError::into_inner);
        states.map(|state| CheckOutcome {
            name: state.name,
            ok: state.passed && !state.forced_to_fail,
            milliseconds: state.milliseconds,
        })
    }

    /// Makes a check fail from now on, for rehearsals, until it is restored or the process ends.
    pub fn fail(&self, check: CheckName) {
        self.change(check, |state| state.forced_to_fail = true);
    }

    /// Takes back [`Health::fail`]; what the check found when it last ran counts again.
    pub fn restore(&self, check: CheckName) {
        self.change(check, |state| state.forced_to_fail = false);
    }

    fn change(&self, check: CheckName, change: impl FnOnce(&mut State)) {
        let mut states = self.checks.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = states.iter_mut().find(|state| state.name == check) {
            change(state);
        }
    }
}
