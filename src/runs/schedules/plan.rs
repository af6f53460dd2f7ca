//! Which instants a schedule fires for, and which it has missed: pure rules.

use quintet_platform::recurrence::{Cron, Recurrence};
use quintet_platform::zones::Zone;
use quintet_storage::Timestamp;

use super::model::{Misfire, Timing};

/// An instant that nobody fired for within this time is missed.
const PATIENCE_MICROS: i64 = 60_000_000;
/// How many of the next instants are shown.
const NEXT_FIRES: usize = 5;

/// The instants of a schedule.
pub(crate) struct Plan {
    recurrence: Recurrence,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
}

/// What is to be made of the instants that have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What is fired for, in order: the instant, and how many it stands for that were missed; 0: it is on time.
    pub(crate) fires: Vec<(Timestamp, u64)>,
    /// How many were missed.
    pub(crate) missed: u64,
    /// The last that was seen to.
    pub(crate) last: Timestamp,
}

impl Seen {
    /// Nothing is fired for: all of it was missed.
    pub(crate) fn pass_over(&mut self) {
        let on_time = self.fires.drain(..).filter(|(_, missed)| *missed == 0).count();
        self.missed += u64::try_from(on_time).unwrap_or(u64::MAX);
    }
}

impl Plan {
    /// The plan of a timing; none if its time zone is one no more, for zones come and go with releases of their database.
    pub(crate) fn of(timing: &Timing) -> Option<Plan> {
        let cron = Cron::parse(&timing.cron).ok()?;
        let zone = Zone::named(&timing.timezone)?;
        Some(Plan { recurrence: Recurrence::new(cron, zone), start_at: timing.start_at, end_at: timing.end_at })
    }

    /// The first instant after the present one, or at it if the schedule starts right then. None before what was seen to.
    pub(crate) fn next(&self, now: Timestamp, seen_to: Option<Timestamp>) -> Option<Timestamp> {
        let start = self.start_at.filter(|start| *start >= now).map(|start| start.plus_micros(-1));
        let after = start.unwrap_or(now);
        self.following(seen_to.map_or(after, |seen_to| seen_to.max(after)))
    }

    /// The first instant after another.
    fn following(&self, after: Timestamp) -> Option<Timestamp> {
        self.recurrence.next_after(after).filter(|at| self.end_at.is_none_or(|end| *at < end))
    }

    /// The next few instants, of which the first is known.
    pub(crate) fn next_fires(&self, first: Option<Timestamp>) -> Vec<Timestamp> {
        std::iter::successors(first, |at| self.following(*at)).take(NEXT_FIRES).collect()
    }

    /// What is to be made of the instants from `first` to the present one, of which `first` is one whatever the pattern says
    /// today: rules of time zones change with releases.
    pub(crate) fn see_to(&self, first: Timestamp, now: Timestamp, misfire: Misfire) -> Seen {
        let mut seen = Seen { fires: Vec::new(), missed: 0, last: first };
        let on_time = now.plus_micros(-PATIENCE_MICROS);
        let end = self.end_at.unwrap_or(Timestamp::MAX);
        let mut next = Some(first);
        if first < on_time {
            let until = on_time.min(end).plus_micros(-1);
            seen.missed = 1 + self.recurrence.count_between(first, until);
            seen.last = self.recurrence.latest_at_or_before(until).map_or(first, |latest| latest.max(first));
            if misfire == Misfire::FireOnce {
                seen.fires.push((seen.last, seen.missed));
            }
            next = self.following(seen.last);
        }
        // A minute holds two at most, and no more than sixty whatever patterns there will be.
        while let Some(at) = next.filter(|at| *at <= now) {
            seen.fires.push((at, 0));
            seen.last = at;
            next = self.following(at);
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use quintet_platform::clock::{parse_rfc3339, rfc3339};

    use super::*;

    fn at(text: &str) -> Timestamp {
        parse_rfc3339(text).unwrap()
    }

    fn plan(cron: &str, timezone: &str, start_at: Option<&str>, end_at: Option<&str>) -> Plan {
        let timing = Timing {
            cron: cron.to_owned(),
            timezone: timezone.to_owned(),
            start_at: start_at.map(at),
            end_at: end_at.map(at),
        };
        Plan::of(&timing).unwrap()
    }

    #[test]
    fn the_next_instant_lies_ahead_within_the_bounds_and_behind_what_was_seen_to() {
        let next = |start, end, now: &str, seen_to: Option<&str>| {
            let next = plan("0 * * * *", "UTC", start, end).next(at(now), seen_to.map(at));
            next.map(|at| rfc3339(at)[..16].to_owned())
        };
        let noon = "2026-05-01T12:00:00Z";
        assert_eq!(next(None, None, noon, None).unwrap(), "2026-05-01T13:00");
        assert_eq!(next(None, None, "2026-05-01T11:59:59.999999Z", None).unwrap(), "2026-05-01T12:00");
        assert_eq!(next(Some(noon), None, noon, None).unwrap(), "2026-05-01T12:00", "it starts right then");
        assert_eq!(next(Some(noon), None, noon, Some(noon)).unwrap(), "2026-05-01T13:00", "but not twice");
        assert_eq!(next(Some("2026-05-01T11:00:00Z"), None, noon, None).unwrap(), "2026-05-01T13:00");
        assert_eq!(next(Some("2026-05-03T05:00:00Z"), None, noon, None).unwrap(), "2026-05-03T05:00");
        assert_eq!(next(Some("2026-05-03T05:00:00.000001Z"), None, noon, None).unwrap(), "2026-05-03T06:00");
        assert_eq!(next(None, Some("2026-05-01T13:00:00Z"), noon, None), None, "the end is not in it");
        assert_eq!(next(None, Some("2026-05-01T13:00:00.000001Z"), noon, None).unwrap(), "2026-05-01T13:00");
        assert_eq!(next(None, None, noon, Some("2026-05-01T18:00:00Z")).unwrap(), "2026-05-01T19:00");
    }

    #[test]
    fn what_is_older_than_a_minute_is_missed_and_only_its_latest_is_made_up_for() {
        let minutes = plan("* * * * *", "UTC", None, None);
        let first = at("2026-05-01T12:00:00Z");
        let seen = |now: &str, misfire| {
            let seen = minutes.see_to(first, at(now), misfire);
            let fires: Vec<(String, u64)> =
                seen.fires.iter().map(|(at, missed)| (rfc3339(*at)[11..16].to_owned(), *missed)).collect();
            (fires, seen.missed, rfc3339(seen.last)[11..16].to_owned())
        };
        let fire = |at: &str, missed| (at.to_owned(), missed);
        use Misfire::{FireOnce, Skip};
        assert_eq!(seen("2026-05-01T12:00:00Z", FireOnce), (vec![fire("12:00", 0)], 0, "12:00".into()));
        let both = vec![fire("12:00", 0), fire("12:01", 0)];
        assert_eq!(seen("2026-05-01T12:01:00Z", FireOnce), (both, 0, "12:01".into()), "sixty seconds are within");
        let late = vec![fire("12:00", 1), fire("12:01", 0)];
        assert_eq!(seen("2026-05-01T12:01:00.000001Z", FireOnce), (late, 1, "12:01".into()));
        assert_eq!(seen("2026-05-01T12:01:00.000001Z", Skip), (vec![fire("12:01", 0)], 1, "12:01".into()));
        let long = vec![fire("12:08", 9), fire("12:09", 0)];
        assert_eq!(seen("2026-05-01T12:09:30Z", FireOnce), (long, 9, "12:09".into()));
        let year = minutes.see_to(first, at("2027-05-01T12:00:30Z"), FireOnce);
        let latest = at("2027-05-01T11:59:00Z");
        assert_eq!(year.missed, 365 * 24 * 60);
        assert_eq!(year.fires, [(latest, 365 * 24 * 60), (at("2027-05-01T12:00:00Z"), 0)]);
    }

    #[test]
    fn nothing_is_missed_behind_the_end() {
        let ended = plan("0 * * * *", "UTC", None, Some("2026-05-01T15:00:00Z"));
        let seen = ended.see_to(at("2026-05-01T12:00:00Z"), at("2026-06-01T00:00:30Z"), Misfire::FireOnce);
        assert_eq!((seen.fires, seen.missed), (vec![(at("2026-05-01T14:00:00Z"), 3)], 3));
        assert_eq!(ended.next(at("2026-06-01T00:00:30Z"), Some(seen.last)), None);
        assert_eq!(ended.next_fires(Some(at("2026-05-01T13:00:00Z"))).len(), 2);
        assert_eq!(ended.next_fires(None), []);
    }

    #[test]
    fn an_instant_that_the_rules_of_the_zone_name_no_more_is_seen_to_all_the_same() {
        let hours = plan("0 * * * *", "UTC", None, None);
        let odd = at("2026-05-01T12:07:00Z");
        let seen = hours.see_to(odd, at("2026-05-01T12:07:10Z"), Misfire::FireOnce);
        assert_eq!((seen.fires, seen.missed, seen.last), (vec![(odd, 0)], 0, odd));
        let seen = hours.see_to(odd, at("2026-05-01T12:30:00Z"), Misfire::FireOnce);
        assert_eq!((seen.fires, seen.missed, seen.last), (vec![(odd, 1)], 1, odd));
    }

    #[test]
    fn a_century_is_counted_in_no_time() {
        let minutes = plan("* * * * *", "America/New_York", None, None);
        let began = std::time::Instant::now();
        let seen = minutes.see_to(at("2026-01-01T00:00:00Z"), at("2126-01-01T00:00:30Z"), Misfire::FireOnce);
        assert_eq!(seen.fires.len(), 2);
        assert!(seen.missed > 52_000_000);
        assert!(began.elapsed() < std::time::Duration::from_secs(1), "{:?}", began.elapsed());
    }
}
