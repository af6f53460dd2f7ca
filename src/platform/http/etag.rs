//! Entity tags (RFC 9110, 8.8.3) and lists of them as `If-Match` and `If-None-Match` carry them.

use std::fmt::{self, Write as _};

use ::http::{HeaderMap, HeaderName, HeaderValue};

/// An entity tag. Its opaque part is bytes: RFC 9110 allows any from 0x80 up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag {
    weak: bool,
    opaque: Vec<u8>,
}

/// What a conditional header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagList {
    /// The header is not there.
    Absent,
    /// `*`: whatever there is now.
    Any,
    /// One tag or more.
    Tags(Vec<ETag>),
    /// It follows no rule of RFC 9110.
    Malformed,
}

impl ETag {
    /// A strong tag. What RFC 9110 allows in no tag (controls, blanks, quotes) is left out of `opaque`.
    #[must_use]
    pub fn strong(opaque: &str) -> ETag {
        ETag { weak: false, opaque: opaque.bytes().filter(|&byte| is_etag_byte(byte)).collect() }
    }

    /// A weak tag; otherwise as [`ETag::strong`].
    #[must_use]
    pub fn weak(opaque: &str) -> ETag {
        ETag { weak: true, ..ETag::strong(opaque) }
    }

    /// Reads one tag: `"opaque"` or `W/"opaque"` and nothing else.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<ETag> {
        let (tag, rest) = ETag::parse_front(bytes)?;
        if rest.is_empty() { Some(tag) } else { None }
    }

    fn parse_front(bytes: &[u8]) -> Option<(ETag, &[u8])> {
        let (weak, quoted) = match bytes.strip_prefix(b"W/") {
            Some(quoted) => (true, quoted),
            None => (false, bytes),
        };
        let inner = quoted.strip_prefix(b"\"")?;
        let end = inner.iter().position(|&byte| !is_etag_byte(byte))?;
        let (opaque, rest) = inner.split_at_checked(end)?;
        Some((ETag { weak, opaque: opaque.to_vec() }, rest.strip_prefix(b"\"")?))
    }

    /// Whether it is weak.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.weak
    }

    /// RFC 9110, 8.8.3.2: both strong and equal.
    #[must_use]
    pub fn matches_strongly(&self, other: &ETag) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// RFC 9110, 8.8.3.2: equal, weak or not.
    #[must_use]
    pub fn matches_weakly(&self, other: &ETag) -> bool {
        self.opaque == other.opaque
    }

    /// The value of an `ETag` header.
    #[must_use]
    pub fn header_value(&self) -> HeaderValue {
        let mut bytes = Vec::with_capacity(self.opaque.len() + 4);
        bytes.extend_from_slice(if self.weak { b"W/\"" } else { b"\"" });
        bytes.extend_from_slice(&self.opaque);
        bytes.push(b'"');
        // No byte of a tag is outside what a header may hold.
        HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static("\"\""))
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.weak { "W/\"" } else { "\"" })?;
        for &byte in &self.opaque {
            f.write_char(char::from(byte))?;
        }
        f.write_char('"')
    }
}

impl TagList {
    /// Reads a header that may occur on several lines, which count as one list (RFC 9110, 5.3).
    #[must_use]
    pub fn of(headers: &HeaderMap, name: &HeaderName) -> TagList {
        let mut tags = Vec::new();
        let mut lines = 0;
        for value in headers.get_all(name) {
            lines += 1;
            if trim(value.as_bytes()) == b"*" {
                // A star stands alone or means nothing.
                return if headers.get_all(name).iter().count() == 1 { TagList::Any } else { TagList::Malformed };
            }
            if push_tags(value.as_bytes(), &mut tags).is_none() {
                return TagList::Malformed;
            }
        }
        match (lines, tags.is_empty()) {
            (0, _) => TagList::Absent,
            (_, true) => TagList::Malformed,
            (_, false) => TagList::Tags(tags),
        }
    }
}

/// `[ tag ] *( OWS "," OWS [ tag ] )`: empty elements are allowed (RFC 9110, 5.6.1.2).
fn push_tags(line: &[u8], tags: &mut Vec<ETag>) -> Option<()> {
    let mut rest = trim(line);
    while !rest.is_empty() {
        if !rest.starts_with(b",") {
            let (tag, after) = ETag::parse_front(rest)?;
            tags.push(tag);
            rest = trim(after);
        }
        if rest.is_empty() {
            break;
        }
        rest = trim(rest.strip_prefix(b",")?);
    }
    Some(())
}

/// Without blanks and tabs at both ends.
fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// RFC 9110, 8.8.3: `%x21 / %x23-7E / obs-text`.
fn is_etag_byte(byte: u8) -> bool {
    byte == 0x21 || (0x23..=0x7E).contains(&byte) || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use ::http::header::IF_MATCH;
    use proptest::prelude::*;

    use super::*;

    fn list(lines: &[&[u8]]) -> TagList {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(IF_MATCH, HeaderValue::from_bytes(line).unwrap());
        }
        TagList::of(&headers, &IF_MATCH)
    }

    #[test]
    fn single_tags() {
        assert_eq!(ETag::parse(b"\"v3\""), Some(ETag::strong("v3")));
        assert_eq!(ETag::parse(b"W/\"v3\""), Some(ETag::weak("v3")));
        assert_eq!(ETag::parse(b"\"\""), Some(ETag::strong("")));
        assert!(ETag::parse(b"\"\xff\x80\"").is_some());
        for bad in [
            &b""[..],
            b"v3",
            b"\"v3",
            b"v3\"",
            b"w/\"v3\"",
            b"W/v3",
            b"\"a b\"",
            b"\"a\"b\"",
            b" \"a\"",
            b"\"a\"x",
            b"\"\x7f\"",
        ] {
            assert_eq!(ETag::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn lists() {
        let (a, b) = (ETag::strong("a"), ETag::weak("b"));
        assert_eq!(list(&[]), TagList::Absent);
        assert_eq!(list(&[b"*"]), TagList::Any);
        assert_eq!(list(&[b" * "]), TagList::Any);
        assert_eq!(list(&[b"\"a\""]), TagList::Tags(vec![a.clone()]));
        assert_eq!(list(&[b"\"a\",W/\"b\""]), TagList::Tags(vec![a.clone(), b.clone()]));
        assert_eq!(list(&[b" , \"a\" ,, W/\"b\" ,"]), TagList::Tags(vec![a.clone(), b.clone()]));
        assert_eq!(list(&[b"\"a\"", b"W/\"b\""]), TagList::Tags(vec![a.clone(), b]));
        assert_eq!(list(&[b"\"a,b\""]), TagList::Tags(vec![ETag::strong("a,b")]));
        for bad in [&b""[..], b",", b"a", b"*,\"a\"", b"\"a\" \"b\"", b"\"a\", b", b"\xff", b"\"a\"\"b\"", b"**"] {
            assert_eq!(list(&[bad]), TagList::Malformed, "{bad:?}");
        }
        assert_eq!(list(&[b"*", b"\"a\""]), TagList::Malformed);
        assert_eq!(list(&[b"\"a\"", b"*"]), TagList::Malformed);
    }

    #[test]
    fn comparison() {
        // The table of RFC 9110, 8.8.3.2.
        let (w1, w2, s1, s2) = (ETag::weak("1"), ETag::weak("2"), ETag::strong("1"), ETag::strong("2"));
        for (one, other, strongly, weakly) in [
            (&w1, &w1, false, true),
            (&w1, &w2, false, false),
            (&w1, &s1, false, true),
            (&s1, &s1, true, true),
            (&s1, &s2, false, false),
        ] {
            assert_eq!(one.matches_strongly(other), strongly, "{one} {other}");
            assert_eq!(one.matches_weakly(other), weakly, "{one} {other}");
        }
    }

    #[test]
    fn writing() {
        assert_eq!(ETag::strong("v3").header_value(), "\"v3\"");
        assert_eq!(ETag::weak("r7").header_value(), "W/\"r7\"");
        assert_eq!(ETag::strong("a\" b\r\n").header_value(), "\"ab\"");
        assert_eq!(ETag::weak("r7").to_string(), "W/\"r7\"");
    }

    proptest! {
        #[test]
        fn round_trip(weak: bool, opaque in "[!#-~\u{80}-\u{ff}]{0,40}") {
            let tag = if weak { ETag::weak(&opaque) } else { ETag::strong(&opaque) };
            prop_assert_eq!(ETag::parse(tag.header_value().as_bytes()), Some(tag));
        }

        #[test]
        fn any_bytes_are_safe(line in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(value) = HeaderValue::from_bytes(&line) {
                let mut headers = HeaderMap::new();
                headers.insert(IF_MATCH, value);
                prop_assert!(TagList::of(&headers, &IF_MATCH) != TagList::Absent);
            }
            let _ = ETag::parse(&line);
        }

        #[test]
        fn lists_round_trip(tags in proptest::collection::vec((any::<bool>(), "[!#-~]{0,6}"), 1..8), glue in "[ \t]{0,2},[ ,\t]{0,2}") {
            let tags: Vec<ETag> = tags.iter().map(|(weak, text)| if *weak { ETag::weak(text) } else { ETag::strong(text) }).collect();
            let texts: Vec<String> = tags.iter().map(ETag::to_string).collect();
            prop_assert_eq!(list(&[texts.join(&glue).as_bytes()]), TagList::Tags(tags));
        }
    }
}
