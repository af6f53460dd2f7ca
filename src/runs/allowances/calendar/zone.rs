//! Time zones, from the database that is compiled in: the host's may be old, or not there.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::week::DAY_SECONDS;

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A time zone. Instants are seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Debug)]
pub(super) struct Zone(TimeZone);

impl Zone {
    /// The zone of a shift that names none.
    pub const UTC: Zone = Zone(TimeZone::UTC);

    /// The zone of that name in the IANA database, written as it is there. As in TaskJuggler only `UTC` goes without a
    /// slash: `CET` and `EST` are no places, and their rules have changed under them.
    pub fn named(name: &str) -> Option<Zone> {
        if name == "UTC" {
            return Some(Zone::UTC);
        }
        let zone = DATABASE.get(name).ok().filter(|_| name.contains('/'))?;
        (zone.iana_name() == Some(name) && !zone.is_unknown()).then_some(Zone(zone))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// How far its clocks are ahead of UTC. Outside the years -9999 to 9999 it is as at their ends.
    pub fn offset_seconds(&self, instant: i64) -> i64 {
        self.0.to_offset(nearest(instant)).seconds().into()
    }

    /// When its clocks change next, after `instant`.
    pub fn next_change(&self, instant: i64) -> Option<i64> {
        let change = self.0.following(nearest(instant)).next()?.timestamp().as_second();
        (change > instant).then_some(change)
    }

    /// The instant of a local time, as TaskJuggler finds it: the second one where clocks are set back over it, and where
    /// they are set forward over it as long after the change as it lies after the beginning of what is left out.
    pub fn instant(&self, local: DateTime) -> Option<i64> {
        Some(self.0.to_ambiguous_timestamp(local).later().ok()?.as_second())
    }

    /// The same local time a day later.
    pub fn next_day(&self, instant: i64) -> i64 {
        let next = self.0.to_datetime(nearest(instant)).tomorrow().ok().and_then(|local| self.instant(local));
        next.unwrap_or_else(|| instant.saturating_add(DAY_SECONDS))
    }
}

fn nearest(instant: i64) -> jiff::Timestamp {
    let limits = jiff::Timestamp::MIN.as_second()..=jiff::Timestamp::MAX.as_second();
    jiff::Timestamp::from_second(instant.clamp(*limits.start(), *limits.end())).unwrap_or_default()
}
