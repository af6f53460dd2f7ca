//! What the deliveries to an endpoint have come to.

use quintet_storage::Timestamp;

/// The window that deaths are counted in.
const DAY_MICROS: i64 = 86_400_000_000;
/// The most deaths that are remembered of the last day: more of them are told as so many.
pub(super) const DEADS_MAX: usize = 100;

/// The health of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Attempts that failed since the last success.
    pub consecutive_failures: u64,
    /// Deliveries that were given up, ever.
    pub dead_total: u64,
    /// When the last ones were, oldest first.
    pub(super) deads: Vec<Timestamp>,
    /// When the last one was.
    pub last_dead_at: Option<Timestamp>,
    /// When the last delivery was taken.
    pub last_delivered_at: Option<Timestamp>,
    /// From when on deaths and successes count: when the endpoint was made, or enabled again.
    pub(super) window_from: Option<Timestamp>,
    /// When others were told last that it is in a bad way, in this window; none: nobody was, or there was no room to.
    pub(super) noticed_at: Option<Timestamp>,
}

impl Health {
    /// Deliveries that were given up in the day before `now`; 100 stands for more.
    #[must_use]
    pub fn dead_of_a_day(&self, now: Timestamp) -> usize {
        self.deads.iter().filter(|at| self.is_in_window(**at, now)).count()
    }

    /// Whether any delivery was taken in the day before `now`.
    #[must_use]
    pub fn has_delivered_within_a_day(&self, now: Timestamp) -> bool {
        self.last_delivered_at.is_some_and(|at| self.is_in_window(at, now))
    }

    fn is_in_window(&self, at: Timestamp, now: Timestamp) -> bool {
        now.micros_since(at) < DAY_MICROS && self.window_from.is_none_or(|from| at >= from)
    }

    /// Whether others are to be told that so many deliveries were given up within a day: when there are as many for the
    /// first time, and as long as nobody could be told; once a day at most. `before` is the health before the last one was.
    #[must_use]
    pub fn is_worth_a_notice(&self, before: &Health, now: Timestamp, deads: usize) -> bool {
        let is_reached = before.dead_of_a_day(now) < deads;
        let was_told = self.noticed_at.is_some_and(|at| now.micros_since(at) < DAY_MICROS);
        self.dead_of_a_day(now) >= deads && !was_told && (is_reached || self.noticed_at.is_none())
    }

    /// An attempt was taken.
    pub(super) fn delivered(&mut self, now: Timestamp) {
        self.consecutive_failures = 0;
        self.last_delivered_at = Some(now);
    }

    /// An attempt failed.
    pub(super) fn failed(&mut self) {
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
    }

    /// A delivery was given up.
    pub fn died(&mut self, now: Timestamp) {
        self.dead_total = self.dead_total.saturating_add(1);
        self.last_dead_at = Some(now);
        self.deads.retain(|at| now.micros_since(*at) < DAY_MICROS);
        self.deads.push(now);
        let more = self.deads.len().saturating_sub(DEADS_MAX);
        self.deads.drain(..more);
    }

    /// Counting begins anew. What there was in all stays.
    pub(super) fn begin_anew(&mut self, now: Timestamp) {
        self.window_from = Some(now);
        self.consecutive_failures = 0;
        self.deads.clear();
        self.noticed_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_micros(hours * 3_600_000_000)
    }

    #[test]
    fn the_day_slides_and_begins_anew() {
        let mut health = Health::default();
        for hour in 0..30 {
            health.failed();
            health.died(at(hour));
        }
        assert_eq!((health.dead_total, health.consecutive_failures), (30, 30));
        assert_eq!((health.dead_of_a_day(at(29)), health.dead_of_a_day(at(40))), (24, 13));
        assert!(!health.has_delivered_within_a_day(at(30)));
        health.delivered(at(30));
        assert_eq!(health.consecutive_failures, 0);
        assert!(health.has_delivered_within_a_day(at(53)) && !health.has_delivered_within_a_day(at(54)));
        health.begin_anew(at(31));
        assert_eq!((health.dead_of_a_day(at(31)), health.dead_total), (0, 30));
        assert!(!health.has_delivered_within_a_day(at(31)), "what was before does not count any more");
    }

    #[test]
    fn a_notice_is_due_when_five_are_reached_once_a_day_and_until_somebody_is_told() {
        let mut health = Health::default();
        let mut dies = |hour: i64, is_told: bool| {
            let before = health.clone();
            health.died(at(hour));
            let is_due = health.is_worth_a_notice(&before, at(hour), 5);
            if is_due {
                health.noticed_at = is_told.then_some(at(hour));
            }
            is_due
        };
        let first: Vec<bool> = (0..5).map(|hour| dies(hour, false)).collect();
        assert_eq!(first, [false, false, false, false, true]);
        assert!(dies(5, true) && !dies(6, true), "until somebody is told, and then no more");
        // Each of these is the fifth within a day once more.
        assert!(![26, 27, 28].map(|hour| dies(hour, true)).contains(&true), "not twice within a day");
        assert!(![52, 53, 54, 55].map(|hour| dies(hour, true)).contains(&true) && dies(56, true));
        health.begin_anew(at(56));
        assert_eq!(health.noticed_at, None);
    }

    #[test]
    fn no_more_is_remembered_than_is_needed() {
        let mut health = Health::default();
        for _ in 0..1000 {
            health.died(at(1));
        }
        assert_eq!((health.deads.len(), health.dead_of_a_day(at(1)), health.dead_total), (DEADS_MAX, DEADS_MAX, 1000));
    }
}
