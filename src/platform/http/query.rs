//! Query strings, strictly: each parameter once unless it may be repeated, none unknown, percent-encoding and UTF-8 intact.
//!
//! The form is `application/x-www-form-urlencoded`: `+` is a space, so a plus sign is written `%2B`.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::shown::shown_name;

/// More parameters than any route takes.
const PARAMETERS_MAX: usize = 100;

/// What is wrong with a query string or one of its parameters. Names are shortened and printable, values are not
/// repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A percent sign without two hexadecimal digits, or bytes that are not UTF-8.
    #[error("the query string is malformed")]
    Malformed,
    /// More than a hundred parameters.
    #[error("the query string has too many parameters")]
    TooMany,
    /// A parameter occurs more than once.
    #[error("parameter {0} occurs more than once")]
    Duplicate(String),
    /// A required parameter is absent.
    #[error("parameter {0} is required")]
    Missing(String),
    /// A parameter's value is not what it must be; says what that is.
    #[error("parameter {name} must be {expected}")]
    Invalid {
        /// The parameter.
        name: String,
        /// What it must be, such as `an integer from 1 to 500`.
        expected: String,
    },
    /// Parameters the route does not know, in order.
    #[error("unknown parameters: {}", .0.join(", "))]
    Unknown(Vec<String>),
}

/// A query string's parameters, taken out one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    parameters: Vec<(String, String)>,
}

impl Query {
    /// Reads the part of the target behind `?`. Empty pairs (`a=1&&b=2`) are skipped; a name without `=` has the
    /// empty value.
    ///
    /// # Errors
    /// [`QueryError::Malformed`], [`QueryError::TooMany`], [`QueryError::Duplicate`].
    pub fn parse(raw: Option<&str>) -> Result<Query, QueryError> {
        Query::parse_with(raw, |_| false)
    }

    /// [`Query::parse`] where some parameters may occur more than once.
    ///
    /// # Errors
    /// As [`Query::parse`].
    pub fn parse_with(raw: Option<&str>, is_repeatable: impl Fn(&str) -> bool) -> Result<Query, QueryError> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for pair in raw.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            if parameters.len() >= PARAMETERS_MAX {
                return Err(QueryError::TooMany);
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            if !is_repeatable(&name) && parameters.iter().any(|(known, _)| *known == name) {
                return Err(QueryError::Duplicate(shown_name(&name)));
            }
            parameters.push((name, decode(value)?));
        }
        Ok(Query { parameters })
    }

    /// Takes a parameter out.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let place = self.parameters.iter().position(|(known, _)| known == name)?;
        Some(self.parameters.remove(place).1)
    }

    /// Takes a parameter out wherever it occurs, in that order.
    pub fn take_all(&mut self, name: &str) -> Vec<String> {
        self.parameters.extract_if(.., |(known, _)| known == name).map(|(_, text)| text).collect()
    }

    /// Takes a parameter that must be there.
    ///
    /// # Errors
    /// [`QueryError::Missing`].
    pub fn required(&mut self, name: &str) -> Result<String, QueryError> {
        self.take(name).ok_or_else(|| QueryError::Missing(name.to_owned()))
    }

    /// Takes an integer: decimal digits, with a minus sign if negative numbers are allowed, no plus sign and no
    /// blanks.
    ///
    /// # Errors
    /// [`QueryError::Invalid`] if it is no integer or outside `range`.
    pub fn integer(&mut self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, QueryError> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let value = if text.starts_with('+') { None } else { text.parse().ok() };
        value.filter(|value| range.contains(value)).map(Some).ok_or_else(|| QueryError::Invalid {
            name: name.to_owned(),
            expected: format!("an integer from {} to {}", range.start(), range.end()),
        })
    }

    /// Takes a parameter that is one of a few words; gives back the word.
    ///
    /// # Errors
    /// [`QueryError::Invalid`] if it is another one.
    pub fn one_of(&mut self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, QueryError> {
        let Some(text) = self.take(name) else { return Ok(None) };
        words.iter().copied().find(|word| *word == text).map(Some).ok_or_else(|| QueryError::Invalid {
            name: name.to_owned(),
            expected: format!("one of {}", words.join(", ")),
        })
    }

    /// Every unknown parameter at once, before anything is made of a value.
    ///
    /// # Errors
    /// [`QueryError::Unknown`] with the names that are not among the known ones, in order, at most 20.
    pub fn only(&self, known: impl IntoIterator<Item = &'static str>) -> Result<(), QueryError> {
        if self.parameters.is_empty() {
            return Ok(());
        }
        let known: Vec<&str> = known.into_iter().collect();
        let unknown = self.parameters.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        Query { parameters: unknown.cloned().collect() }.finish()
    }

    /// Ends the reading: nothing may be left.
    ///
    /// # Errors
    /// [`QueryError::Unknown`] with the names of what nobody took, in order, at most 20.
    pub fn finish(self) -> Result<(), QueryError> {
        if self.parameters.is_empty() {
            return Ok(());
        }
        let mut names: Vec<String> = self.parameters.iter().map(|(name, _)| shown_name(name)).collect();
        names.sort();
        names.truncate(20);
        Err(QueryError::Unknown(names))
    }

    /// One text for all spellings of the same parameters: sorted by name, with one way of escaping.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut pairs: Vec<&(String, String)> = self.parameters.iter().collect();
        pairs.sort();
        let mut text = String::new();
        for (name, value) in pairs {
            if !text.is_empty() {
                text.push('&');
            }
            encode(name, &mut text);
            text.push('=');
            encode(value, &mut text);
        }
        text
    }
}

/// Undoes percent-encoding; with `+` as a space.
fn decode(text: &str) -> Result<String, QueryError> {
    decode_bytes(text.as_bytes(), true).ok_or(QueryError::Malformed)
}

/// Undoes percent-encoding in a segment of a path, where `+` is itself. `None` if it is malformed or not UTF-8.
#[must_use]
pub fn decode_segment(segment: &str) -> Option<String> {
    decode_bytes(segment.as_bytes(), false)
}

/// A text as a segment of a path: everything but RFC 3986's unreserved characters as `%XX`.
#[must_use]
pub fn encode_segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    encode(text, &mut out);
    out
}

fn decode_bytes(mut rest: &[u8], plus_is_space: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'+' if plus_is_space => bytes.push(b' '),
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|nibble| u8::try_from(nibble).ok());
                let &[high, low] = digits else { return None };
                bytes.push(nibble(high)? << 4 | nibble(low)?);
                rest = after;
            }
            plain => bytes.push(plain),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Everything but RFC 3986's unreserved characters as `%XX`.
fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(raw: &str) -> Result<Vec<(String, String)>, QueryError> {
        Query::parse(Some(raw)).map(|query| query.parameters)
    }

    #[test]
    fn reading() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        for (raw, expected) in [
            ("", vec![]),
            ("&&", vec![]),
            ("a=1", vec![pair("a", "1")]),
            ("a=1&b=2", vec![pair("a", "1"), pair("b", "2")]),
            ("a", vec![pair("a", "")]),
            ("a=", vec![pair("a", "")]),
            ("=", vec![pair("", "")]),
            ("a=b=c", vec![pair("a", "b=c")]),
            ("at=2026-01-01T00%3A00:00%2B01:00", vec![pair("at", "2026-01-01T00:00:00+01:00")]),
            ("at=x+y", vec![pair("at", "x y")]),
            ("%6C%69mit=%c3%a9", vec![pair("limit", "\u{e9}")]),
        ] {
            assert_eq!(parsed(raw), Ok(expected), "{raw}");
        }
        assert_eq!(Query::parse(None), Ok(Query::default()));
    }

    #[test]
    fn refusals() {
        for raw in ["a=%", "a=%4", "a=%4g", "a=%zz", "%", "a=%ff", "a=%c3", "a=%+1", "a=%\u{e9}1", "a=%2\u{e9}"] {
            assert_eq!(parsed(raw), Err(QueryError::Malformed), "{raw}");
        }
        assert_eq!(parsed("a=1&b=2&%61=3"), Err(QueryError::Duplicate("a".to_owned())));
        let many: Vec<String> = (0..101).map(|n| format!("p{n}=1")).collect();
        assert_eq!(parsed(&many.join("&")), Err(QueryError::TooMany));
    }

    #[test]
    fn what_may_be_repeated() {
        let mut query = Query::parse_with(Some("label=b&q=1&label=a%3D1&label="), |name| name == "label").unwrap();
        assert_eq!(query.canonical(), "label=&label=a%3D1&label=b&q=1");
        assert_eq!(query.take_all("label"), ["b", "a=1", ""]);
        assert_eq!((query.take_all("label"), query.take("q")), (vec![], Some("1".to_owned())));
        let twice = Query::parse_with(Some("label=b&q=1&q=2"), |name| name == "label");
        assert_eq!(twice, Err(QueryError::Duplicate("q".to_owned())));
    }

    #[test]
    fn taking() {
        let mut query = Query::parse(Some("limit=50&state=open&cursor=x&bad%0Aname=1&zz=2")).unwrap();
        assert_eq!(query.integer("limit", 1..=500), Ok(Some(50)));
        assert_eq!(query.integer("limit", 1..=500), Ok(None));
        assert_eq!(query.one_of("state", &["open", "closed"]), Ok(Some("open")));
        assert_eq!(query.one_of("state", &["open", "closed"]), Ok(None));
        assert_eq!(query.required("cursor"), Ok("x".to_owned()));
        assert_eq!(query.required("cursor"), Err(QueryError::Missing("cursor".to_owned())));
        let unknown = QueryError::Unknown(vec!["bad?name".to_owned(), "zz".to_owned()]);
        assert_eq!(unknown.to_string(), "unknown parameters: bad?name, zz");
        assert_eq!(query.finish(), Err(unknown));
        assert_eq!(Query::default().finish(), Ok(()));
    }

    #[test]
    fn integers() {
        for text in ["", "x", "1.0", "0x1", "%2B5", " 5", "5 ", "5_0", "501", "0", "-1", "99999999999999999999"] {
            let mut query = Query::parse(Some(&format!("limit={text}"))).unwrap();
            let error = query.integer("limit", 1..=500).unwrap_err();
            assert_eq!(error.to_string(), "parameter limit must be an integer from 1 to 500", "{text}");
        }
        let mut query = Query::parse(Some("from=-3&to=007")).unwrap();
        assert_eq!(query.integer("from", -5..=5), Ok(Some(-3)));
        assert_eq!(query.integer("to", 0..=9), Ok(Some(7)));
    }

    #[test]
    fn words() {
        let mut query = Query::parse(Some("state=Open")).unwrap();
        let error = query.one_of("state", &["open", "closed"]).unwrap_err();
        assert_eq!(error.to_string(), "parameter state must be one of open, closed");
    }

    #[test]
    fn segments_keep_the_plus() {
        assert_eq!(decode_segment("a+b%20c").as_deref(), Some("a+b c"));
        assert_eq!(decode_segment("%2"), None);
        assert_eq!(decode_segment("%ff"), None);
    }

    #[test]
    fn one_canonical_text() {
        let canonical = |raw: &str| Query::parse(Some(raw)).unwrap().canonical();
        assert_eq!(canonical("b=2&a=x+y"), "a=x%20y&b=2");
        assert_eq!(canonical("%61=x%20y&b=%32"), "a=x%20y&b=2");
        assert_eq!(canonical(""), "");
    }

    proptest! {
        #[test]
        fn any_text_is_safe(raw in ".*") {
            let _ = Query::parse(Some(&raw));
        }

        #[test]
        fn canonical_text_reads_back(pairs in proptest::collection::btree_map(".{0,8}", ".{0,8}", 0..8)) {
            let query = Query { parameters: pairs.into_iter().collect() };
            prop_assert_eq!(Query::parse(Some(&query.canonical())), Ok(query));
        }
    }
}
