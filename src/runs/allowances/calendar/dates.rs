//! Dates, durations and the stretches between them, as TaskJuggler reads them (`TjTime.rb`, and the rules `date`,
//! `intervalDuration` and `intervalOrDate` of `TjpSyntaxRules.rb`).

use jiff::civil;
use quintet_platform::zones::Zone;

use super::error::ShiftError;
use super::scan::Token;
use super::week::DAY_SECONDS;

/// The finest grid that TaskJuggler offers for dates (`timingresolution 5 min`).
const GRID_SECONDS: i64 = 5 * 60;

/// The longest duration: what is longer ends after everything that is planned.
const DURATION_SECONDS_MAX: f64 = 100.0 * 365.0 * 86_400.0;

/// A date as it was written; which instant it is, its shift's time zone says.
#[derive(Clone, Debug)]
pub(super) struct Moment<'t> {
    token: Token<'t>,
    local: civil::DateTime,
    offset_seconds: Option<i64>,
    /// What `%{date + duration}` adds.
    added_seconds: i64,
}

/// Where a stretch ends.
#[derive(Clone, Debug)]
pub(super) enum End<'t> {
    /// At the same time of the next day.
    NextDay,
    /// At a date, which it does not include.
    At(Moment<'t>),
    /// So many seconds after its start.
    After(i64),
}

/// A stretch of time off.
#[derive(Clone, Debug)]
pub(super) struct Stretch<'t> {
    /// Where it begins.
    pub start: Moment<'t>,
    /// Where it ends.
    pub end: End<'t>,
}

impl Stretch<'_> {
    /// From which instant to which, in seconds.
    ///
    /// # Errors
    /// A date off the grid, or an end that does not lie after the start.
    pub fn resolve(&self, text: &str, zone: &Zone) -> Result<(i64, i64), ShiftError> {
        let start = self.start.resolve(text, zone)?;
        let end = match &self.end {
            End::NextDay => next_day(start, zone),
            End::After(seconds) => start.saturating_add(*seconds),
            End::At(moment) => {
                let end = moment.resolve(text, zone)?;
                if end <= start {
                    let expected = format!("a date later than {}", self.start.token.text);
                    return Err(ShiftError::new(text, moment.token.at, moment.token.text, expected));
                }
                end
            }
        };
        Ok((start, end))
    }
}

impl<'t> Moment<'t> {
    /// Reads a date.
    ///
    /// # Errors
    /// A part out of its range, which [`ShiftError::expected`] names.
    pub fn read(text: &str, token: Token<'t>) -> Result<Moment<'t>, ShiftError> {
        let wrong = |expected: &str| ShiftError::new(text, token.at, token.text, expected);
        let mut parts = token.text.splitn(5, '-');
        let mut number = || parts.next().and_then(|part| part.parse::<i16>().ok());
        let year = number().filter(|year| (1970..=2035).contains(year));
        let year = year.ok_or_else(|| wrong("a year from 1970 to 2035"))?;
        let month = number().and_then(|month| i8::try_from(month).ok()).filter(|month| (1..=12).contains(month));
        let month = month.ok_or_else(|| wrong("a month from 1 to 12"))?;
        let day = number().and_then(|day| i8::try_from(day).ok()).unwrap_or_default();
        let date = civil::Date::new(year, month, day).map_err(|_| wrong("a day that its month has"))?;
        let time = clock(parts.next().unwrap_or("0:00"))
            .ok_or_else(|| wrong("a time from 0:00 to 23:59, with seconds from 00 to 59 if any"))?;
        let offset_seconds = match parts.next() {
            None => None,
            Some(offset) => {
                let expected = "an offset from UTC as `+0100` or `-0930`, of at most 12 hours";
                Some(offset_seconds(offset).ok_or_else(|| wrong(expected))?)
            }
        };
        Ok(Moment { token, local: date.to_datetime(time), offset_seconds, added_seconds: 0 })
    }

    /// Where it stands.
    pub fn token(&self) -> Token<'t> {
        self.token
    }

    /// The date so many seconds later.
    pub fn plus(mut self, seconds: i64) -> Moment<'t> {
        self.added_seconds = seconds;
        self
    }

    fn resolve(&self, text: &str, zone: &Zone) -> Result<i64, ShiftError> {
        let instant = match self.offset_seconds {
            Some(offset) => Zone::UTC.later_instant(self.local).map(|instant| instant.saturating_sub(offset)),
            None => zone.later_instant(self.local),
        };
        instant
            .map(|instant| instant.saturating_add(self.added_seconds))
            .filter(|instant| instant.rem_euclid(GRID_SECONDS) == 0)
            .ok_or_else(|| {
                ShiftError::new(text, self.token.at, self.token.text, "a date on a multiple of five minutes")
            })
    }
}

/// The same local time a day later.
fn next_day(instant: i64, zone: &Zone) -> i64 {
    let next = zone.local(instant).tomorrow().ok().and_then(|local| zone.later_instant(local));
    next.unwrap_or_else(|| instant.saturating_add(DAY_SECONDS))
}

/// `h:mm` or `h:mm:ss`.
fn clock(text: &str) -> Option<civil::Time> {
    let mut parts = text.splitn(3, ':').map(|part| part.parse::<i8>().ok());
    civil::Time::new(parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?, 0).ok()
}

/// `+hhmm` or `-hhmm`.
fn offset_seconds(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = text.get(1..3)?.parse::<i64>().ok().filter(|hours| *hours <= 12)?;
    let minutes = text.get(3..5)?.parse::<i64>().ok().filter(|minutes| *minutes <= 59)?;
    Some(sign * (hours * 3600 + minutes * 60))
}

/// The seconds of a duration as `3 d` or `1.5h`; a day is 24 hours, a year 365 days.
///
/// # Errors
/// A unit that is none; a duration that is nothing, off the grid, or absurdly long.
pub(super) fn duration_seconds(text: &str, number: Token<'_>, unit: Token<'_>) -> Result<i64, ShiftError> {
    let seconds: f64 = match unit.text {
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 7.0 * 86_400.0,
        "m" => 30.4167 * 86_400.0,
        "y" => 365.0 * 86_400.0,
        _ => return Err(ShiftError::new(text, unit.at, unit.text, "a unit: `min`, `h`, `d`, `w`, `m` or `y`")),
    };
    let wrong = |expected: &str| ShiftError::new(text, number.at, number.text, expected);
    let count: f64 = number.text.parse().map_err(|_| wrong("a number"))?;
    if count == 0.0 {
        return Err(wrong("a duration that is not 0"));
    }
    if !(0.0..=DURATION_SECONDS_MAX).contains(&(count * seconds)) {
        return Err(wrong("a duration of at most 100 years"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "within 100 years; what lies below a second is cut off")]
    let duration = (count * seconds) as i64;
    if unit.text == "m" {
        return Ok(duration - duration % GRID_SECONDS);
    }
    if duration % GRID_SECONDS != 0 {
        return Err(wrong("a duration of a multiple of five minutes"));
    }
    Ok(duration)
}
