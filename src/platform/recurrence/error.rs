//! What is wrong with a pattern: in which field, what stands there, and what would be right.

use std::fmt;

/// The most characters of a pattern that an error shows.
const FOUND_CHARACTERS_MAX: usize = 40;

/// A text that is no cron pattern, or one that never fires. As text it is a sentence for whoever wrote the pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It is no pattern (code `invalid_cron`).
    #[error("{}found {found}, expected {expected}", Place(*.field))]
    Invalid {
        /// The field that is wrong, if the text has five.
        field: Option<Field>,
        /// What stands there: at most some 40 characters of the text, in printable ASCII.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// It is a pattern, of days that do not exist (code `never_fires`).
    #[error("no month of {months} has a day of {days}: the pattern would never fire")]
    NeverFires {
        /// The field of the days of the month, as [`found`](CronError::Invalid::found) is shown.
        days: String,
        /// The field of the months, shown alike.
        months: String,
    },
}

/// A field of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The first one.
    Minute,
    /// The second one.
    Hour,
    /// The third one.
    DayOfMonth,
    /// The fourth one.
    Month,
    /// The fifth one.
    DayOfWeek,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day of month",
            Field::Month => "month",
            Field::DayOfWeek => "day of week",
        })
    }
}

/// The beginning of a sentence about a field, or about the whole.
struct Place(Option<Field>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |field| write!(f, "{field}: "))
    }
}

/// A piece of somebody's text that may be put into a message: short, and in printable ASCII. Whatever else there is can
/// look like a blank or like a digit, so it is written as its number.
pub(super) fn shown(found: &str) -> String {
    let mut shown = String::from("`");
    for character in found.chars().take(FOUND_CHARACTERS_MAX) {
        match character {
            ' '..='~' => shown.push(character),
            _ => shown.extend(character.escape_unicode()),
        }
    }
    shown.push_str(if found.chars().nth(FOUND_CHARACTERS_MAX).is_some() { "...`" } else { "`" });
    shown
}
