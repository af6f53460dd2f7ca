//! What is owed, and when one is reminded of it (6-messaging.md, M').

use quintet_storage::Timestamp;

use crate::model::AgentNo;

/// How long after a message its recipients are reminded, in seconds.
const REMINDED_AFTER_SECONDS: [i64; 5] = [600, 1_800, 2_700, 7_200, 21_600];
/// From then on they are each so many seconds.
const REMINDED_EACH_SECONDS: i64 = 86_400;

/// An acknowledgement that is owed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owed {
    /// Whose message it is.
    pub(crate) sender: AgentNo,
    /// Since when it is owed.
    pub(crate) since: Timestamp,
    /// Until when.
    pub(crate) required_by: Timestamp,
    /// How often one was reminded.
    pub(crate) attempts: u32,
    /// When one last was.
    pub(crate) last_attempt_at: Option<Timestamp>,
    /// When it is looked at again.
    pub(crate) looked_at: Timestamp,
}

impl Owed {
    /// From now on, for so many seconds.
    pub(crate) fn new(sender: AgentNo, now: Timestamp, window_seconds: i64) -> Owed {
        let required_by = now.plus_seconds(window_seconds);
        let looked_at = next_after(now, now).min(required_by);
        Owed { sender, since: now, required_by, attempts: 0, last_attempt_at: None, looked_at }
    }

    /// Whether its time is over.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.required_by <= now
    }

    /// The next time at which one is reminded; `None`: its time is over before.
    pub(crate) fn next_attempt_at(&self) -> Option<Timestamp> {
        Some(self.looked_at).filter(|at| *at < self.required_by)
    }

    /// The same, looked at: `was_reminded` now, or there was nobody to remind.
    pub(crate) fn looked(self, now: Timestamp, was_reminded: bool) -> Owed {
        let looked_at = next_after(self.since, now).min(self.required_by);
        match was_reminded {
            true => Owed { attempts: self.attempts + 1, last_attempt_at: Some(now), looked_at, ..self },
            false => Owed { looked_at, ..self },
        }
    }
}

/// The next time to remind, of what is owed since then.
fn next_after(since: Timestamp, now: Timestamp) -> Timestamp {
    let first = REMINDED_AFTER_SECONDS.into_iter().map(|seconds| since.plus_seconds(seconds)).find(|at| *at > now);
    first.unwrap_or_else(|| {
        let last = REMINDED_AFTER_SECONDS.last().copied().unwrap_or_default();
        let passed = (now.as_micros() - since.plus_seconds(last).as_micros()).div_euclid(1_000_000);
        since.plus_seconds(last + (passed.div_euclid(REMINDED_EACH_SECONDS) + 1) * REMINDED_EACH_SECONDS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_reminded_less_and_less_often() {
        let start = Timestamp::from_micros(1_764_000_000_000_000);
        let mut owed = Owed::new(AgentNo(1), start, 604_800);
        let mut seconds = Vec::new();
        while let Some(at) = owed.next_attempt_at() {
            seconds.push((at.as_micros() - start.as_micros()) / 1_000_000);
            owed = owed.looked(at, true);
        }
        let day = 86_400;
        let days = (1..=6).map(|days| 21_600 + days * day);
        assert_eq!(seconds, [600, 1_800, 2_700, 7_200, 21_600].into_iter().chain(days).collect::<Vec<_>>());
        assert_eq!((owed.attempts, owed.looked_at), (11, owed.required_by));
    }

    #[test]
    fn what_was_missed_is_not_made_up_for() {
        let start = Timestamp::from_micros(1_764_000_000_000_000);
        let owed = Owed::new(AgentNo(1), start, 604_800).looked(start.plus_seconds(7_300), true);
        assert_eq!(owed.next_attempt_at(), Some(start.plus_seconds(21_600)));
        let short = Owed::new(AgentNo(1), start, 60);
        assert_eq!((short.next_attempt_at(), short.looked_at), (None, start.plus_seconds(60)));
    }
}
