//! Instants as text: RFC 3339, written in one form, read with an explicit offset only.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use quintet_storage::Timestamp;

const SECOND_MICROS: i64 = 1_000_000;
const DAY_MICROS: i64 = 86_400 * SECOND_MICROS;

/// The last instant that RFC 3339 can write: the end of the year 9999, in microseconds.
const LAST_MICROS: i64 = 253_402_300_799_999_999;
/// The first one: the start of the year 0000.
const FIRST_MICROS: i64 = -62_167_219_200_000_000;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Why a text is no instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeParseError {
    /// It is not the RFC 3339 form, or names a day or time of day that does not exist.
    #[error("not an RFC 3339 date and time")]
    Malformed,
    /// It is a date and time without an offset: which instant that is depends on the reader.
    #[error("a date and time without an explicit UTC offset")]
    NoOffset,
    /// With its offset applied it leaves the years 0000 to 9999.
    #[error("outside the years 0000 to 9999")]
    OutOfRange,
}

/// The instant in UTC with six digits of fraction: `2026-02-03T04:05:06.000007Z`. All texts have one length and
/// sort like the instants. Instants outside the years 0000 to 9999 are written as the nearest one inside.
#[must_use]
pub fn rfc3339(instant: Timestamp) -> String {
    let mut text = String::with_capacity(27);
    write_rfc3339(instant, &mut text);
    text
}

/// [`rfc3339`] behind a text: digit by digit, for a million of them.
pub fn write_rfc3339(instant: Timestamp, out: &mut String) {
    let utc = utc(instant);
    let micros = utc.subsec_nanosecond() / 1_000;
    let mut number = |mut number: i32, digits: u32, behind: char| {
        for place in (0..digits).rev() {
            let unit = 10_i32.pow(place);
            out.push(char::from(b'0' + u8::try_from(number / unit).unwrap_or(0)));
            number %= unit;
        }
        out.push(behind);
    };
    number(utc.year().into(), 4, '-');
    number(utc.month().into(), 2, '-');
    number(utc.day().into(), 2, 'T');
    number(utc.hour().into(), 2, ':');
    number(utc.minute().into(), 2, ':');
    number(utc.second().into(), 2, '.');
    number(micros, 6, 'Z');
}

/// The year and the month (from 1) of an instant in UTC.
pub(crate) fn year_and_month(instant: Timestamp) -> (u32, u32) {
    let utc = utc(instant);
    (u32::try_from(utc.year()).unwrap_or(0), u32::try_from(utc.month()).unwrap_or(1))
}

/// The instant at which the next month begins in UTC.
pub(crate) fn first_of_next_month(instant: Timestamp) -> Timestamp {
    let last_day = utc(instant).date().last_of_month();
    Timestamp::from_micros(micros_of(last_day.at(0, 0, 0, 0)) + DAY_MICROS)
}

/// Date and time of day in UTC.
fn utc(instant: Timestamp) -> DateTime {
    let since_epoch = SignedDuration::from_micros(instant.as_micros().clamp(FIRST_MICROS, LAST_MICROS));
    // The calendar has years on both sides of these.
    EPOCH.checked_add(since_epoch).unwrap_or(EPOCH)
}

/// The inverse, in microseconds.
fn micros_of(utc: DateTime) -> i64 {
    i64::try_from(utc.duration_since(EPOCH).as_micros()).unwrap_or(0)
}

/// Reads an RFC 3339 instant. By hand: what jiff reads is more (a space for the `T`, a comma in fractions, names of zones,
/// offsets with seconds), and ends a day before the year 9999 does. `T` and `Z` in either case, an offset `Z` or `±HH:MM` (ISO 8601's `±HHMM` and `±HH`
/// as well), any number of fraction digits up to 18, of which six count and the rest is cut off. A leap second
/// (`:60`) is the last microsecond before the next minute.
///
/// # Errors
/// See [`TimeParseError`].
pub fn parse_rfc3339(text: &str) -> Result<Timestamp, TimeParseError> {
    let mut rest = Digits(text.as_bytes());
    let year = rest.number(4)?;
    rest.one_of(b"-")?;
    let month = rest.number(2)?;
    rest.one_of(b"-")?;
    let day = rest.number(2)?;
    rest.one_of(b"Tt")?;
    let hour = rest.number(2)?;
    rest.one_of(b":")?;
    let minute = rest.number(2)?;
    rest.one_of(b":")?;
    let second = rest.number(2)?;
    let fraction_micros = rest.fraction()?;
    let offset_seconds = rest.offset()?;
    let (second, fraction_micros) = if second == 60 { (59, SECOND_MICROS - 1) } else { (second, fraction_micros) };
    let local = DateTime::new(year, month, day, hour, minute, second, 0);
    let micros =
        micros_of(local.map_err(|_| TimeParseError::Malformed)?) + fraction_micros - offset_seconds * SECOND_MICROS;
    let is_inside = (FIRST_MICROS..=LAST_MICROS).contains(&micros);
    is_inside.then_some(Timestamp::from_micros(micros)).ok_or(TimeParseError::OutOfRange)
}

/// What is left of a text.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn digit(&mut self) -> Option<i64> {
        let digit = self.0.first().copied().filter(u8::is_ascii_digit)?;
        self.next();
        Some(i64::from(digit - b'0'))
    }

    /// As many digits, and no fewer.
    fn number<T: TryFrom<i64>>(&mut self, digits: usize) -> Result<T, TimeParseError> {
        let mut number = 0;
        for _ in 0..digits {
            number = number * 10 + self.digit().ok_or(TimeParseError::Malformed)?;
        }
        T::try_from(number).map_err(|_| TimeParseError::Malformed)
    }

    fn one_of(&mut self, known: &[u8]) -> Result<(), TimeParseError> {
        self.next().filter(|byte| known.contains(byte)).map(|_| ()).ok_or(TimeParseError::Malformed)
    }

    /// `.` and digits, or nothing; in microseconds.
    fn fraction(&mut self) -> Result<i64, TimeParseError> {
        if self.0.first() != Some(&b'.') {
            return Ok(0);
        }
        self.next();
        let mut micros = self.digit().ok_or(TimeParseError::Malformed)? * 100_000;
        let mut unit = 10_000;
        for _ in 1..18 {
            let Some(digit) = self.digit() else { break };
            micros += digit * unit;
            unit /= 10;
        }
        Ok(micros)
    }

    /// The offset at the end of the text, in seconds east of UTC.
    fn offset(&mut self) -> Result<i64, TimeParseError> {
        let sign = match self.next() {
            None => return Err(TimeParseError::NoOffset),
            Some(b'Z' | b'z') => return if self.0.is_empty() { Ok(0) } else { Err(TimeParseError::Malformed) },
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return Err(TimeParseError::Malformed),
        };
        let hours: i64 = self.number(2)?;
        let minutes: i64 = match self.0 {
            [] => 0,
            [b':', ..] => {
                self.next();
                self.number(2)?
            }
            _ => self.number(2)?,
        };
        if hours > 23 || minutes > 59 || !self.0.is_empty() {
            return Err(TimeParseError::Malformed);
        }
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn micros(text: &str) -> Result<i64, TimeParseError> {
        parse_rfc3339(text).map(Timestamp::as_micros)
    }

    proptest! {
        #[test]
        fn instants_are_written_as_the_calendar_has_them(micros in FIRST_MICROS..=LAST_MICROS) {
            let instant = Timestamp::from_micros(micros);
            prop_assert_eq!(rfc3339(instant), format!("{:.6}Z", utc(instant)));
        }
    }

    #[test]
    fn months_of_the_calendar() {
        for (text, month, next) in [
            ("2026-01-31T23:59:59.999999Z", (2026, 1), "2026-02-01T00:00:00.000000Z"),
            ("2026-12-01T00:00:00Z", (2026, 12), "2027-01-01T00:00:00.000000Z"),
            ("2024-02-29T12:00:00Z", (2024, 2), "2024-03-01T00:00:00.000000Z"),
            ("1969-12-31T23:59:59Z", (1969, 12), "1970-01-01T00:00:00.000000Z"),
        ] {
            let instant = parse_rfc3339(text).unwrap();
            assert_eq!((year_and_month(instant), rfc3339(first_of_next_month(instant))), (month, next.to_owned()));
        }
    }

    #[test]
    fn good_texts() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.000001Z", 1),
            ("1970-01-01t00:00:01z", 1_000_000),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-01T01:00:00+0100", 0),
            ("1970-01-01T01:00:00+01", 0),
            ("1969-12-31T23:30:00-00:30", 0),
            ("1970-01-01T00:00:00-00:00", 0),
            ("1969-12-31T23:59:59.5Z", -500_000),
            ("2026-02-03T04:05:06.1234567890Z", 1_770_091_506_123_456),
            ("2000-02-29T00:00:00Z", 951_782_400_000_000),
            ("2016-12-31T23:59:60Z", 1_483_228_799_999_999),
            ("2016-12-31T23:59:60.5Z", 1_483_228_799_999_999),
            ("0000-01-01T00:00:00Z", FIRST_MICROS),
            ("9999-12-31T23:59:59.999999Z", LAST_MICROS),
        ] {
            assert_eq!(micros(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bad_texts() {
        use TimeParseError::{Malformed, NoOffset, OutOfRange};
        for (text, expected) in [
            ("", Malformed),
            ("2026-02-03", Malformed),
            ("2026-02-03T04:05", Malformed),
            ("2026-02-03T04:05Z", Malformed),
            ("2026-02-03T04:05:06", NoOffset),
            ("2026-02-03T04:05:06.123", NoOffset),
            ("2026-02-03 04:05:06Z", Malformed),
            ("2026-02-03T04:05:06 00:00", Malformed),
            ("2026-02-03T04:05:06.Z", Malformed),
            ("2026-02-03T04:05:06,5Z", Malformed),
            ("2026-02-03T04:05:06Zx", Malformed),
            ("2026-02-03T04:05:06+1:00", Malformed),
            ("2026-02-03T04:05:06+24:00", Malformed),
            ("2026-02-03T04:05:06+01:60", Malformed),
            ("2026-02-03T04:05:06+01:00:00", Malformed),
            ("2026-02-03T04:05:06+01:0", Malformed),
            ("2026-02-30T04:05:06Z", Malformed),
            ("2025-02-29T04:05:06Z", Malformed),
            ("2026-13-01T04:05:06Z", Malformed),
            ("2026-00-01T04:05:06Z", Malformed),
            ("2026-02-00T04:05:06Z", Malformed),
            ("2026-02-03T24:00:00Z", Malformed),
            ("2026-02-03T04:60:00Z", Malformed),
            ("2026-02-03T04:05:61Z", Malformed),
            ("+2026-02-03T04:05:06Z", Malformed),
            ("12026-02-03T04:05:06Z", Malformed),
            ("2026-02-03T04:05:06\u{221a}", Malformed),
            ("2026-02-03T04:05:06.1234567890123456789Z", Malformed),
            ("0000-01-01T00:00:00+00:01", OutOfRange),
            ("9999-12-31T23:59:59-00:01", OutOfRange),
        ] {
            assert_eq!(micros(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        assert_eq!(rfc3339(Timestamp::MAX), "9999-12-31T23:59:59.999999Z");
        assert_eq!(rfc3339(Timestamp::from_micros(i64::MIN)), "0000-01-01T00:00:00.000000Z");
        assert_eq!(rfc3339(Timestamp::EPOCH), "1970-01-01T00:00:00.000000Z");
    }

    proptest! {
        #[test]
        fn round_trip(value in FIRST_MICROS..=LAST_MICROS) {
            let text = rfc3339(Timestamp::from_micros(value));
            prop_assert_eq!(text.len(), 27);
            prop_assert_eq!(micros(&text), Ok(value));
        }

        #[test]
        fn agrees_with_another_reader(value in FIRST_MICROS..=LAST_MICROS, minutes in -1439_i64..=1439) {
            let shifted = value + minutes * 60_000_000;
            prop_assume!((FIRST_MICROS..=LAST_MICROS).contains(&shifted));
            let local = rfc3339(Timestamp::from_micros(shifted)).replace('Z', "");
            let sign = if minutes < 0 { '-' } else { '+' };
            let text = format!("{local}{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
            prop_assert_eq!(micros(&text), Ok(value));
            // It ends a day before the year 9999 does.
            if let Ok(other) = text.parse::<jiff::Timestamp>() {
                prop_assert_eq!(other.as_microsecond(), value);
            } else {
                prop_assert!(!(FIRST_MICROS + DAY_MICROS..=LAST_MICROS - 2 * DAY_MICROS).contains(&value));
            }
        }

        #[test]
        fn any_text_is_safe(text in "[0-9TZtz:+. -]{0,40}") {
            let _ = parse_rfc3339(&text);
        }
    }
}
