//! Full hours, by which rows fall due that need not go to the second: many go at a time, and an index has few places.

use quintet_storage::Timestamp;

/// An hour, in microseconds.
pub(crate) const HOUR_MICROS: i64 = 3_600_000_000;

/// The first full hour at an instant or behind it, in hours since 1970.
#[must_use]
pub(crate) fn hour_at_or_after(at: Timestamp) -> u32 {
    let micros = at.as_micros();
    let hour = micros.div_euclid(HOUR_MICROS) + i64::from(micros.rem_euclid(HOUR_MICROS) != 0);
    u32::try_from(hour.max(0)).unwrap_or(u32::MAX)
}

/// When an hour begins.
#[must_use]
pub(crate) fn start_of_hour(hour: u32) -> Timestamp {
    Timestamp::from_micros(i64::from(hour) * HOUR_MICROS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_within_an_hour_counts_to_its_end() {
        for (micros, hour) in
            [(-1, 0), (0, 0), (1, 1), (HOUR_MICROS, 1), (HOUR_MICROS + 1, 2), (i64::MAX, 2_562_047_789)]
        {
            assert_eq!(hour_at_or_after(Timestamp::from_micros(micros)), hour, "{micros}");
        }
        assert_eq!(start_of_hour(2), Timestamp::from_micros(2 * HOUR_MICROS));
    }
}
