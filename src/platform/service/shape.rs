//! What a value of a path or a query may look like: how it is described and how it is judged come from one place.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::cursor;
use crate::ids::{ULID_LEN, parse_ulid, parse_uuid};
use crate::time_text::parse_rfc3339;

/// What a value may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Any text of so many characters.
    Text {
        /// The fewest.
        min: usize,
        /// The most.
        max: usize,
    },
    /// A UUID in its hyphenated form.
    Uuid,
    /// A ULID.
    Ulid,
    /// An instant in RFC 3339, with its offset.
    Instant,
    /// A whole number.
    Integer {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
        /// What it is when nobody says; `None`: nothing.
        default: Option<i64>,
    },
    /// One of a few words; what it is when nobody says, or empty.
    Word(&'static [&'static str], &'static str),
    /// What an earlier page of the same list gave as the place of the next.
    Cursor,
    /// A text of the caller's own kind, as a regular expression that describes it.
    Pattern(&'static str),
}

impl Shape {
    /// Any text.
    pub const ANY: Shape = Shape::Text { min: 0, max: usize::MAX };

    /// A whole number in a range.
    #[must_use]
    pub const fn integer(min: i64, max: i64) -> Shape {
        Shape::Integer { min, max, default: None }
    }

    /// The range of a whole number; everything, of what is none.
    #[must_use]
    pub fn range(self) -> RangeInclusive<i64> {
        match self {
            Shape::Integer { min, max, .. } => min..=max,
            _ => i64::MIN..=i64::MAX,
        }
    }

    /// Its JSON schema.
    #[must_use]
    pub fn schema(self) -> Value {
        let schema = match self {
            Shape::Text { min: 0, max: usize::MAX } => json!({"type": "string"}),
            Shape::Text { min, max: usize::MAX } => json!({"type": "string", "minLength": min}),
            Shape::Text { min: 0, max } => json!({"type": "string", "maxLength": max}),
            Shape::Text { min, max } => json!({"type": "string", "minLength": min, "maxLength": max}),
            Shape::Uuid => json!({"type": "string", "format": "uuid", "minLength": 36, "maxLength": 36}),
            Shape::Ulid => json!({
                "type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$", "minLength": ULID_LEN,
                "maxLength": ULID_LEN,
            }),
            Shape::Instant => json!({"type": "string", "format": "date-time"}),
            Shape::Integer { min, max, .. } => json!({"type": "integer", "minimum": min, "maximum": max}),
            Shape::Word(words, _) => json!({"type": "string", "enum": words}),
            // What no earlier page has given is refused, so nothing more can be said of it than its alphabet.
            Shape::Cursor => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": cursor::MAX_LEN}),
            Shape::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
        };
        let default = match self {
            Shape::Integer { default: Some(default), .. } => json!(default),
            Shape::Word(_, default) if !default.is_empty() => json!(default),
            _ => return schema,
        };
        let Value::Object(mut members) = schema else { return schema };
        members.insert("default".to_owned(), default);
        Value::Object(members)
    }

    /// What a value must be, in words that follow "must be".
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Shape::Text { min, max } if max == usize::MAX => format!("a text of at least {min} characters"),
            Shape::Text { min, max } => format!("a text of {min} to {max} characters"),
            Shape::Uuid => "a UUID".to_owned(),
            Shape::Ulid => "a ULID".to_owned(),
            Shape::Instant => "an RFC 3339 instant such as 2026-01-31T09:00:00Z".to_owned(),
            Shape::Integer { min, max, .. } => format!("an integer from {min} to {max}"),
            Shape::Word(words, _) => format!("one of {}", words.join(", ")),
            Shape::Cursor => "a cursor of this list".to_owned(),
            Shape::Pattern(_) => "of the form that is described".to_owned(),
        }
    }

    /// The one spelling of a value: two requests that name the same thing are the same request.
    #[must_use]
    pub fn canonical(self, text: String) -> String {
        match self {
            Shape::Uuid => parse_uuid(&text).map_or(text, |id| id.hyphenated().to_string()),
            Shape::Ulid => parse_ulid(&text).map_or(text, crate::ids::ulid),
            _ => text,
        }
    }

    /// Whether a text can be a value. A cursor is looked at by whoever has the list, and so is a pattern.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        match self {
            Shape::Text { min, max } => (min..=max).contains(&text.chars().count()),
            Shape::Uuid => parse_uuid(text).is_some(),
            Shape::Ulid => parse_ulid(text).is_some(),
            Shape::Instant => parse_rfc3339(text).is_ok(),
            Shape::Integer { min, max, .. } => {
                let value = if text.starts_with('+') { None } else { text.parse::<i64>().ok() };
                value.is_some_and(|value| (min..=max).contains(&value))
            }
            Shape::Word(words, _) => words.contains(&text),
            Shape::Cursor | Shape::Pattern(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_described_is_what_is_judged() {
        let ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        for (shape, good, bad) in [
            (Shape::Text { min: 1, max: 3 }, &["a", "\u{e9}\u{e9}\u{e9}"][..], &["", "abcd"][..]),
            (Shape::ANY, &["", "x"], &[]),
            (Shape::Uuid, &["01234567-89AB-cdef-0123-456789abcdef"], &["", "0123456789abcdef0123456789abcdef"]),
            (Shape::Ulid, &[ulid], &["", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAU"]),
            (Shape::Instant, &["2026-01-31T09:00:00Z"], &["2026-01-31", ""]),
            (Shape::integer(1, 5), &["1", "5", "05"], &["0", "6", "+1", "", "1.0", "x"]),
            (Shape::Word(&["a", "b"], "a"), &["a", "b"], &["A", ""]),
        ] {
            assert!(good.iter().all(|text| shape.fits(text)), "{shape:?}");
            assert!(!bad.iter().any(|text| shape.fits(text)), "{shape:?}");
        }
        let pattern = Shape::Ulid.schema()["pattern"].as_str().unwrap().to_owned();
        assert!(pattern.contains("[0-7]"), "the first of 26 characters has three bits: {pattern}");
    }

    #[test]
    fn schemas_have_bounds_and_defaults() {
        assert_eq!(Shape::ANY.schema(), json!({"type": "string"}));
        let limit = Shape::Integer { min: 1, max: 500, default: Some(50) };
        assert_eq!(limit.schema(), json!({"type": "integer", "minimum": 1, "maximum": 500, "default": 50}));
        assert_eq!(Shape::Word(&["a"], "a").schema(), json!({"type": "string", "enum": ["a"], "default": "a"}));
    }

    #[test]
    fn one_thing_has_one_spelling() {
        let upper = "01234567-89AB-CDEF-0123-456789ABCDEF";
        assert_eq!(Shape::Uuid.canonical(upper.to_owned()), upper.to_lowercase());
        assert_eq!(Shape::Uuid.canonical("x".to_owned()), "x");
        assert_eq!(Shape::Ulid.canonical("01arz3ndektsv4rrffq69g5fav".to_owned()), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
    }
}
