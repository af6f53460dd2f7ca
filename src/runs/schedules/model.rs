//! The words of schedules.

use bincode::{Decode, Encode};
use quintet_platform::json::Json;
use quintet_storage::Timestamp;

use crate::alarms::model::{Address, NewWebhook};
use crate::refusal::Refusal;

/// Schedules of a tenant, at most.
pub(super) const SCHEDULES_MAX: u64 = 1_000;

/// What there is none of.
pub(super) const NO_SCHEDULE: Refusal = Refusal::NoSuch("no such schedule in this tenant");

/// What is made of instants that were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Misfire {
    /// The latest is fired for, and says how many they were.
    FireOnce,
    /// They are counted.
    Skip,
}

/// The names of both.
pub(crate) const MISFIRE_NAMES: [&str; 2] = ["fire_once", "skip"];

impl Misfire {
    /// Its name in bodies.
    pub(crate) const fn name(self) -> &'static str {
        let [fire_once, skip] = MISFIRE_NAMES;
        match self {
            Misfire::FireOnce => fire_once,
            Misfire::Skip => skip,
        }
    }

    /// The one of that name.
    pub(crate) fn named(name: &str) -> Option<Misfire> {
        [Misfire::FireOnce, Misfire::Skip].into_iter().find(|misfire| misfire.name() == name)
    }
}

/// When a schedule fires.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Timing {
    /// The pattern as it was given, with single blanks.
    pub(crate) cron: String,
    /// The name of a time zone.
    pub(crate) timezone: String,
    /// It fires at this instant or later.
    pub(crate) start_at: Option<Timestamp>,
    /// It fires before this instant.
    pub(crate) end_at: Option<Timestamp>,
}

impl Timing {
    /// Its end lies behind its start.
    pub(crate) fn check_bounds(&self) -> Result<(), Refusal> {
        match self.start_at.zip(self.end_at) {
            Some((start, end)) if end <= start => Err(Refusal::field("end_at", "must lie behind start_at")),
            _ => Ok(()),
        }
    }
}

/// A schedule, but for what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) name: Option<String>,
    pub(super) timing: Timing,
    pub(super) address: Address,
    pub(super) misfire: Misfire,
    pub(super) is_enabled: bool,
    /// The first instant that it has not been seen to; none: it is paused, or there is none.
    pub(super) next_fire_at: Option<Timestamp>,
    /// The last instant that it was seen to, fired for or not. It never fires for this one or an earlier one.
    pub(super) seen_to: Option<Timestamp>,
    /// When it last fired.
    pub(super) last_fire_at: Option<Timestamp>,
    pub(super) fire_count: u64,
    pub(super) missed_count: u64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    /// The key that made it; its deliveries are kept as long as that allows.
    pub(super) key_id: String,
}

/// A schedule as it is asked for.
#[derive(Clone)]
pub(super) struct NewSchedule {
    pub(super) name: Option<String>,
    pub(super) timing: Timing,
    pub(super) webhook: NewWebhook,
    pub(super) payload: Json,
    pub(super) misfire: Misfire,
    pub(super) is_enabled: bool,
    /// The key that asks.
    pub(super) key_id: String,
}

/// What is changed of a schedule.
#[derive(Clone, Default)]
pub(super) struct ScheduleChange {
    pub(super) name: Option<Option<String>>,
    pub(super) cron: Option<String>,
    pub(super) timezone: Option<String>,
    pub(super) webhook: Option<NewWebhook>,
    pub(super) payload: Option<Json>,
    pub(super) start_at: Option<Option<Timestamp>>,
    pub(super) end_at: Option<Option<Timestamp>>,
    pub(super) misfire: Option<Misfire>,
    pub(super) is_enabled: Option<bool>,
}

impl ScheduleChange {
    /// When it fires once this has changed.
    pub(super) fn timing(&self, before: &Timing) -> Timing {
        Timing {
            cron: self.cron.clone().unwrap_or_else(|| before.cron.clone()),
            timezone: self.timezone.clone().unwrap_or_else(|| before.timezone.clone()),
            start_at: self.start_at.unwrap_or(before.start_at),
            end_at: self.end_at.unwrap_or(before.end_at),
        }
    }
}
