//! The ten process checks, by which the language core finds out whether it can be relied on.
//!
//! They run at the start and every 60 seconds (the caller has the timer). While one of them is not ok, operations
//! marked core answer 503 `language_core_unavailable` and change nothing.

use std::fmt;
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use super::checks;

/// One of the ten checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckName {
    /// The tables have the digests they were made with.
    TableDigests,
    /// All tables are of the pinned releases.
    VersionAgreement,
    /// Well-formed tags are told from others.
    Grammar,
    /// Registered subtags are told from others.
    Registry,
    /// Tags known beforehand get their canonical form.
    Canonicalization,
    /// Tags known beforehand get their likely subtags.
    LikelySubtags,
    /// Cardinal numbers known beforehand get their category.
    Cardinals,
    /// Ordinal numbers known beforehand get their category.
    Ordinals,
    /// Locales known beforehand get their direction.
    Direction,
    /// Forms are their own forms, and equal forms have equal identity keys.
    IdempotenceAndIdentity,
}

impl CheckName {
    /// Every check, in the order in which they run and are shown.
    pub const ALL: [Self; 10] = [
        Self::TableDigests,
        Self::VersionAgreement,
        Self::Grammar,
        Self::Registry,
        Self::Canonicalization,
        Self::LikelySubtags,
        Self::Cardinals,
        Self::Ordinals,
        Self::Direction,
        Self::IdempotenceAndIdentity,
    ];

    /// The name in `/readyz` and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TableDigests => "table_digests",
            Self::VersionAgreement => "version_agreement",
            Self::Grammar => "grammar",
            Self::Registry => "registry",
            Self::Canonicalization => "canonicalization",
            Self::LikelySubtags => "likely_subtags",
            Self::Cardinals => "cardinals",
            Self::Ordinals => "ordinals",
            Self::Direction => "direction",
            Self::IdempotenceAndIdentity => "idempotence_and_identity",
        }
    }

    /// The check of that name.
    ///
    /// # Errors
    ///
    /// There is none of that name.
    pub fn from_name(name: &str) -> Result<Self, UnknownCheck> {
        Self::ALL.into_iter().find(|check| check.name() == name).ok_or(UnknownCheck)
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// There is no check of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no process check of that name")]
pub struct UnknownCheck;

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
