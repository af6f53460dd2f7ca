//! Patterns as they are read, the instants they name by hand-made cases, and both against a model that goes by minutes.

mod fires;
mod model;
mod read;

use jiff::Timestamp as Instant;
use quintet_storage::Timestamp;

use super::{Cron, Recurrence};
use crate::zones::Zone;

fn recurrence(pattern: &str, zone: &str) -> Recurrence {
    let cron = Cron::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    Recurrence::new(cron, Zone::named(zone).unwrap_or_else(|| panic!("{zone}")))
}

fn at(instant: &str) -> Timestamp {
    Timestamp::from_micros(
        instant.parse::<Instant>().unwrap_or_else(|error| panic!("{instant}: {error}")).as_microsecond(),
    )
}

fn text(instant: Timestamp) -> String {
    Instant::from_microsecond(instant.as_micros()).unwrap().to_string()
}

/// The fires after one instant and up to another.
fn fires(recurrence: &Recurrence, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let next = |fire: &Timestamp| recurrence.next_after(*fire);
    std::iter::successors(recurrence.next_after(after), next).take_while(|fire| *fire <= until).collect()
}
