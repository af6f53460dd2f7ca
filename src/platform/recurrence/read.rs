//! The text of a pattern. Stricter than crons are: whoever wrote something else meant something else.

use super::cron::{Cron, bits};
use super::error::{CronError, Field, shown};

/// The most characters of a pattern.
pub const TEXT_CHARACTERS_MAX: usize = 256;

const FIELDS: &str = "five fields: minute, hour, day of month, month, day of week; there are none for seconds or years";
const SHORT_FORMS: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];
const SHORT_FORMS_EXPECTED: &str =
    "`@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` or `@annually`, alone";
const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Cron {
    /// Reads a pattern, in time linear in the text.
    ///
    /// # Errors
    /// The first thing that is wrong in the text, or that it would never fire.
    pub fn parse(text: &str) -> Result<Cron, CronError> {
        if text.chars().nth(TEXT_CHARACTERS_MAX).is_some() {
            let found = format!("{} characters", text.chars().count());
            return Err(wrong(None, found, format!("at most {TEXT_CHARACTERS_MAX}")));
        }
        let words: Vec<&str> = words(text).collect();
        match *words.as_slice() {
            [word] if word.starts_with('@') => {
                let form = SHORT_FORMS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
                let (_, pattern) = form.ok_or_else(|| wrong(None, shown(word), SHORT_FORMS_EXPECTED))?;
                Cron::parse(pattern)
            }
            [word, ..] if word.starts_with('@') => Err(wrong(None, shown(text), SHORT_FORMS_EXPECTED)),
            [minute, hour, day, month, weekday] => five(minute, hour, day, month, weekday),
            [] => Err(wrong(None, "nothing", FIELDS)),
            [only] => Err(wrong(None, format!("one field, {}", shown(only)), FIELDS)),
            _ => Err(wrong(None, format!("{} fields", words.len()), FIELDS)),
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t']).filter(|word| !word.is_empty())
}

fn wrong(field: Option<Field>, found: impl Into<String>, expected: impl Into<String>) -> CronError {
    CronError::Invalid { field, found: found.into(), expected: expected.into() }
}

fn five(minute: &str, hour: &str, day: &str, month: &str, weekday: &str) -> Result<Cron, CronError> {
    let begins_with_star = |word: &str| word.starts_with('*');
    let cron = Cron {
        minutes: Field::Minute.read(minute)?,
        hours: Field::Hour.read(hour)?,
        days: Field::DayOfMonth.read(day)?,
        months: Field::Month.read(month)?,
        // 7 is Sunday as well, which is 0.
        weekdays: Field::DayOfWeek.read(weekday).map(|days| (days | days >> 7) & bits(0, 6))?,
        either_day: !begins_with_star(day) && !begins_with_star(weekday),
        fixed: !begins_with_star(minute) && !begins_with_star(hour),
    };
    if cron.has_a_day() { Ok(cron) } else { Err(CronError::NeverFires { days: shown(day), months: shown(month) }) }
}

impl Field {
    /// Its first value, its last one, and the names of its values from the first on.
    fn values(self) -> (u32, u32, &'static [&'static str]) {
        match self {
            Field::Minute => (0, 59, &[]),
            Field::Hour => (0, 23, &[]),
            Field::DayOfMonth => (1, 31, &[]),
            Field::Month => (1, 12, MONTHS),
            Field::DayOfWeek => (0, 7, WEEKDAYS),
        }
    }

    /// The values that a field names, as bits.
    fn read(self, field: &str) -> Result<u64, CronError> {
        field.split(',').try_fold(0, |named, item| Ok(named | self.item(item, field)?))
    }

    fn item(self, item: &str, field: &str) -> Result<u64, CronError> {
        let (first, last, _) = self.values();
        if item.is_empty() {
            return Err(wrong(Some(self), shown(field), "something before and after each comma"));
        }
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step)?)),
            None => (item, None),
        };
        let (low, high) = match range.split_once('-') {
            _ if range == "*" => (first, last),
            Some((low, high)) => self.range(low, high, range)?,
            None => {
                let value = self.value(range, range)?;
                if step.is_some() {
                    let expected = format!("a step after `*` or a range, as in `{value}-{last}/2`");
                    return Err(wrong(Some(self), shown(item), expected));
                }
                (value, value)
            }
        };
        let step = step.unwrap_or(1);
        Ok((low..=high).step_by(step).fold(0, |named, value| named | 1 << value))
    }

    fn range(self, low: &str, high: &str, range: &str) -> Result<(u32, u32), CronError> {
        let (from, to) = (self.value(low, range)?, self.value(high, range)?);
        // The week may end with Sunday as well.
        let to = if self == Field::DayOfWeek && high.eq_ignore_ascii_case("sun") && from > to { 7 } else { to };
        if to < from {
            return Err(wrong(Some(self), shown(range), "a range that ends after its beginning, or two of them"));
        }
        Ok((from, to))
    }

    fn step(self, step: &str) -> Result<usize, CronError> {
        let number = number(step).and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0);
        number.ok_or_else(|| wrong(Some(self), shown(&format!("/{step}")), "a step from 1 on, as in `*/2`"))
    }

    fn value(self, word: &str, found: &str) -> Result<u32, CronError> {
        let (first, last, names) = self.values();
        let named = names.iter().zip(first..).find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let value = named.or_else(|| number(word)).filter(|value| (first..=last).contains(value));
        value.ok_or_else(|| {
            let names = match self {
                Field::Month => ", a name from `jan` to `dec`",
                Field::DayOfWeek => ", a name from `sun` to `sat`",
                _ => "",
            };
            let expected =
                format!("a number from {first} to {last}{names}, a range of them, or `*`, with or without a step");
            wrong(Some(self), shown(found), expected)
        })
    }
}

/// A number without a sign. What is too large for any use is the largest one.
fn number(digits: &str) -> Option<u32> {
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().unwrap_or(u32::MAX))
}
