//! The words of timers.

use bincode::{Decode, Encode};
use quintet_storage::Timestamp;

use crate::alarms::model::Address;
use crate::refusal::Refusal;

/// Timers of a tenant that have neither fired nor been cancelled, at most.
pub(super) const PENDING_MAX: u64 = 10_000;

/// What there is none of.
pub(super) const NO_TIMER: Refusal = Refusal::NoSuch("no such timer in this tenant");

/// How a timer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) enum TimerState {
    /// Its time has not come.
    Pending,
    /// It has told of itself.
    Fired {
        at: Timestamp,
        /// The delivery that tells of it; none if its tenant had been erased.
        delivery_id: Option<u64>,
    },
    /// Somebody did not want it any more.
    Cancelled { at: Timestamp },
}

/// The names of all states.
pub(super) const STATE_NAMES: [&str; 3] = ["pending", "fired", "cancelled"];

impl TimerState {
    /// Its name in answers.
    pub(super) const fn name(self) -> &'static str {
        let [pending, fired, cancelled] = STATE_NAMES;
        match self {
            TimerState::Pending => pending,
            TimerState::Fired { .. } => fired,
            TimerState::Cancelled { .. } => cancelled,
        }
    }

    /// When it came to its end.
    pub(super) const fn ended_at(self) -> Option<Timestamp> {
        match self {
            TimerState::Pending => None,
            TimerState::Fired { at, .. } | TimerState::Cancelled { at } => Some(at),
        }
    }
}

/// A timer, but for what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    pub(super) name: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) address: Address,
    pub(super) fire_at: Timestamp,
    pub(super) state: TimerState,
    pub(super) created_at: Timestamp,
    /// How long it is kept after its end, in days; so is its delivery.
    pub(super) retention_days: u64,
}

impl Timer {
    /// When it begins to fire: at once if it was made too late.
    pub(super) fn begins_at(&self) -> Timestamp {
        self.fire_at.max(self.created_at)
    }

    /// When it may go.
    pub(super) fn old_at(&self) -> Option<Timestamp> {
        let days = i64::try_from(self.retention_days).unwrap_or(i64::MAX);
        Some(self.state.ended_at()?.plus_seconds(days.saturating_mul(86_400)))
    }
}
