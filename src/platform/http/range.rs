//! Parts of what is sent (RFC 9110, section 14): one range of bytes, under a strong entity tag.

use std::ops::Range;

use ::http::HeaderMap;
use ::http::header::{HeaderName, IF_RANGE, RANGE};

use super::etag::{ETag, TagList};

/// What a GET wants of something that has a length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of it: no range is named, or none that is served.
    All,
    /// These bytes.
    Part(Range<u64>),
    /// 416: bytes that are not there.
    Nothing,
}

/// What `Range` and `If-Range` want of `length` bytes under the strong tag `current`. Several ranges, other units and what
/// is malformed are not served, which is all of it: a server may ignore any range (14.2).
#[must_use]
pub fn wanted(headers: &HeaderMap, current: &ETag, length: u64) -> Wanted {
    let Some(range) = only(headers, &RANGE) else { return Wanted::All };
    if headers.contains_key(IF_RANGE) && !is_same(headers, current) {
        return Wanted::All;
    }
    let Some((unit, set)) = range.split_once('=') else { return Wanted::All };
    let Some((first, last)) = set.split_once('-').filter(|_| unit.eq_ignore_ascii_case("bytes")) else {
        return Wanted::All;
    };
    match (number(first), number(last)) {
        // The last bytes; all of them, if there are not so many.
        (Number::None, Number::Of(0)) => Wanted::Nothing,
        (Number::None, Number::Of(_)) if length == 0 => Wanted::Nothing,
        (Number::None, Number::Of(count)) => Wanted::Part(length.saturating_sub(count)..length),
        (Number::Of(first), Number::Of(last)) if first > last => Wanted::All,
        (Number::Of(first), Number::None | Number::Of(_)) if first >= length => Wanted::Nothing,
        (Number::Of(first), Number::None) => Wanted::Part(first..length),
        (Number::Of(first), Number::Of(last)) => Wanted::Part(first..last.saturating_add(1).min(length)),
        _ => Wanted::All,
    }
}

/// A number of a range.
enum Number {
    None,
    Of(u64),
    Malformed,
}

fn number(text: &str) -> Number {
    let text = text.trim_matches([' ', '\t']);
    if text.is_empty() {
        return Number::None;
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Number::Malformed;
    }
    // More than anything has is more than anything has.
    Number::Of(text.parse().unwrap_or(u64::MAX))
}

fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Whether `If-Range` is the current tag, strongly compared. A date is none: nothing here is dated.
fn is_same(headers: &HeaderMap, current: &ETag) -> bool {
    match TagList::of(headers, &IF_RANGE) {
        TagList::Tags(tags) => matches!(tags.as_slice(), [only] if only.matches_strongly(current)),
        TagList::Absent | TagList::Any | TagList::Malformed => false,
    }
}

#[cfg(test)]
mod tests {
    use ::http::HeaderValue;

    use super::*;

    fn of(range: &str, if_range: Option<&str>) -> Wanted {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_str(range).unwrap());
        if let Some(value) = if_range {
            headers.insert(IF_RANGE, HeaderValue::from_str(value).unwrap());
        }
        wanted(&headers, &ETag::strong("x"), 100)
    }

    #[test]
    fn ranges() {
        for (range, expected) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=10-19", Wanted::Part(10..20)),
            ("Bytes=10-19", Wanted::Part(10..20)),
            ("bytes= 10 - 19", Wanted::Part(10..20)),
            ("bytes=90-", Wanted::Part(90..100)),
            ("bytes=99-1000", Wanted::Part(99..100)),
            ("bytes=0-99999999999999999999999", Wanted::Part(0..100)),
            ("bytes=-1", Wanted::Part(99..100)),
            ("bytes=-1000", Wanted::Part(0..100)),
            ("bytes=100-", Wanted::Nothing),
            ("bytes=100-200", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=20-10", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=", Wanted::All),
            ("bytes=-", Wanted::All),
            ("bytes=a-b", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("bytes", Wanted::All),
            ("lines=1-2", Wanted::All),
            ("", Wanted::All),
        ] {
            assert_eq!(of(range, None), expected, "{range}");
        }
        assert_eq!(wanted(&HeaderMap::new(), &ETag::strong("x"), 100), Wanted::All);
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_static("bytes=-5"));
        assert_eq!(wanted(&headers, &ETag::strong("x"), 0), Wanted::Nothing);
        headers.append(RANGE, HeaderValue::from_static("bytes=0-1"));
        assert_eq!(wanted(&headers, &ETag::strong("x"), 100), Wanted::All, "two are as good as none");
    }

    #[test]
    fn a_part_of_something_else_is_not_wanted() {
        for (value, expected) in [
            ("\"x\"", Wanted::Part(0..1)),
            ("\"y\"", Wanted::All),
            ("W/\"x\"", Wanted::All),
            ("*", Wanted::All),
            ("\"x\", \"y\"", Wanted::All),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Wanted::All),
        ] {
            assert_eq!(of("bytes=0-0", Some(value)), expected, "{value}");
        }
    }
}
