//! Time zones by name, from the database that is compiled in: the host's may be old, or not there.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A time zone. Instants are seconds since 1970-01-01T00:00:00Z; outside the years -9999 to 9999 its clocks are as at
/// the ends of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// The zone that everything is in for which none is named.
    pub const UTC: Zone = Zone(TimeZone::UTC);

    /// The zone of that name in the IANA database, written as it is there. Only `UTC` goes without a slash: `CET` and
    /// `EST` are no places, and their rules have changed under them.
    #[must_use]
    pub fn named(name: &str) -> Option<Zone> {
        if name == "UTC" {
            return Some(Zone::UTC);
        }
        let zone = DATABASE.get(name).ok().filter(|_| name.contains('/'))?;
        (zone.iana_name() == Some(name) && !zone.is_unknown()).then_some(Zone(zone))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// How far its clocks are ahead of UTC.
    #[must_use]
    pub fn offset_seconds(&self, instant: i64) -> i64 {
        self.0.to_offset(nearest(instant)).seconds().into()
    }

    /// When its clocks change next, after `instant`.
    #[must_use]
    pub fn next_change(&self, instant: i64) -> Option<i64> {
        let change = self.0.following(nearest(instant)).next()?.timestamp().as_second();
        (change > instant).then_some(change)
    }

    /// When its clocks changed last, at `instant` or before it.
    #[must_use]
    pub fn latest_change(&self, instant: i64) -> Option<i64> {
        let after = nearest(instant.saturating_add(1));
        let mut change = self.0.preceding(after).next()?.timestamp().as_second();
        // After the last change that the database has one by one, jiff looks back by the yearly rule alone, to before that
        // change: of Ciudad Juárez it tells a change of 2022-11-06, and not the one of 2022-11-30.
        while let Some(later) = self.next_change(change).filter(|later| *later <= instant) {
            change = later;
        }
        (change <= instant).then_some(change)
    }

    /// What its clocks show.
    #[must_use]
    pub fn local(&self, instant: i64) -> DateTime {
        self.0.to_datetime(nearest(instant))
    }

    /// The instant at which its clocks show `local`: the second one where they are set back over it, and where they are
    /// set forward over it as long after the change as it lies after the beginning of what is left out. `None` at the
    /// ends of the years -9999 to 9999.
    #[must_use]
    pub fn later_instant(&self, local: DateTime) -> Option<i64> {
        Some(self.0.to_ambiguous_timestamp(local).later().ok()?.as_second())
    }
}

fn nearest(instant: i64) -> jiff::Timestamp {
    let limits = jiff::Timestamp::MIN.as_second()..=jiff::Timestamp::MAX.as_second();
    jiff::Timestamp::from_second(instant.clamp(*limits.start(), *limits.end())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{DATABASE, Zone};

    #[test]
    fn zones_have_their_names() {
        for name in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+3", "US/Eastern", "Etc/UTC"] {
            assert_eq!(Zone::named(name).map(|zone| zone.name().to_owned()), Some(name.to_owned()));
        }
        for name in [
            "",
            "utc",
            "Z",
            "CET",
            "EST5EDT",
            "GMT",
            "europe/berlin",
            "Europe/Berlin ",
            "Europe/Nowhere",
            "Etc/Unknown",
        ] {
            assert_eq!(Zone::named(name), None, "{name}");
        }
        for name in ["/", "../etc/passwd", "/etc/localtime", "posix/Europe/Berlin", "+01:00", "Europe/Berlin\0"] {
            assert_eq!(Zone::named(name), None, "{name}");
        }
    }

    /// From 1900 to 2100, backwards as forwards.
    #[test]
    fn changes_are_the_same_from_both_sides() {
        for name in DATABASE.available().map(|name| name.to_string()).filter(|name| name.contains('/')) {
            let Some(zone) = Zone::named(&name) else { continue };
            let mut before = zone.latest_change(-2_208_988_800);
            let mut instant = -2_208_988_800;
            while let Some(change) = zone.next_change(instant).filter(|change| *change < 4_102_444_800) {
                assert_eq!(zone.latest_change(change - 1), before, "{name} before {change}");
                assert_eq!(zone.latest_change(change), Some(change), "{name}");
                assert_eq!(zone.offset_seconds(change - 1), zone.offset_seconds(instant), "{name} before {change}");
                let turned = zone.offset_seconds(change) - zone.offset_seconds(change - 1);
                assert!(turned.abs() <= 24 * 3600, "{name}: by more than a day at {change}");
                assert!(
                    before.is_none_or(|before| change - before >= 48 * 3600),
                    "{name}: two within two days at {change}"
                );
                (before, instant) = (Some(change), change);
            }
        }
    }
}
