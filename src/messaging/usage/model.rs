//! Days, and what is counted in them.

use quintet_storage::Timestamp;

use crate::limits::{APPROVALS_PER_DAY, EXTERNAL_IN_PER_DAY, EXTERNAL_OUT_PER_DAY, Limit, MESSAGES_PER_DAY};

const DAY_MICROS: i64 = 86_400_000_000;

/// What is counted by the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Daily {
    /// Messages that agents send.
    Messages,
    /// Addresses outside that are written to.
    ExternalOut,
    /// Mail that comes from outside.
    ExternalIn,
    /// Approvals that are asked for.
    Approvals,
}

impl Daily {
    /// All of them; messages first, for clients take the first policy whose name has the word.
    pub(crate) const ALL: [Daily; 4] = [Daily::Messages, Daily::ExternalOut, Daily::ExternalIn, Daily::Approvals];

    /// What limits it.
    pub(crate) const fn limit(self) -> Limit {
        match self {
            Daily::Messages => MESSAGES_PER_DAY,
            Daily::ExternalOut => EXTERNAL_OUT_PER_DAY,
            Daily::ExternalIn => EXTERNAL_IN_PER_DAY,
            Daily::Approvals => APPROVALS_PER_DAY,
        }
    }
}

/// What was used of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Day {
    pub(super) messages: u64,
    pub(super) external_out: u64,
    pub(super) external_in: u64,
    pub(super) approvals: u64,
}

impl Day {
    /// How much of one.
    pub(crate) fn of(&self, daily: Daily) -> u64 {
        match daily {
            Daily::Messages => self.messages,
            Daily::ExternalOut => self.external_out,
            Daily::ExternalIn => self.external_in,
            Daily::Approvals => self.approvals,
        }
    }

    pub(super) fn add(&mut self, daily: Daily, number: u64) {
        let used = match daily {
            Daily::Messages => &mut self.messages,
            Daily::ExternalOut => &mut self.external_out,
            Daily::ExternalIn => &mut self.external_in,
            Daily::Approvals => &mut self.approvals,
        };
        *used = used.saturating_add(number);
    }
}

/// The day that an instant lies in, since the epoch.
pub(crate) fn day_of(at: Timestamp) -> u32 {
    u32::try_from(at.as_micros().div_euclid(DAY_MICROS).max(0)).unwrap_or(u32::MAX)
}

/// The instant at which a day ends.
pub(crate) fn end_of(day: u32) -> Timestamp {
    Timestamp::from_micros((i64::from(day) + 1).saturating_mul(DAY_MICROS))
}
