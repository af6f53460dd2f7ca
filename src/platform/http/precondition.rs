//! Conditional requests: whether a request still fits what is there (RFC 9110, section 13).

use ::http::HeaderMap;
use ::http::header::{IF_MATCH, IF_NONE_MATCH};

use super::etag::{ETag, TagList};

/// Why a conditional request goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreconditionRefusal {
    /// 428: the route demands `If-Match` with a tag, and it is absent or `*`.
    #[error("this operation needs If-Match with the entity tag last read")]
    Required,
    /// 412: nothing was changed; the answer carries the current tag.
    #[error("the entity tag is not the current one")]
    Failed,
}

/// For routes that may only replace what the caller has read: `If-Match` must name the current strong tag.
/// Absent or `*` is [`PreconditionRefusal::Required`]; a stale, weak, foreign or malformed one is
/// [`PreconditionRefusal::Failed`] (the localization contract's If-Match rules).
///
/// # Errors
/// See [`PreconditionRefusal`].
pub fn require_if_match(headers: &HeaderMap, current: &ETag) -> Result<(), PreconditionRefusal> {
    match TagList::of(headers, &IF_MATCH) {
        TagList::Absent | TagList::Any => Err(PreconditionRefusal::Required),
        TagList::Malformed => Err(PreconditionRefusal::Failed),
        TagList::Tags(tags) if tags.iter().any(|tag| tag.matches_strongly(current)) => Ok(()),
        TagList::Tags(_) => Err(PreconditionRefusal::Failed),
    }
}

/// For routes where `If-Match` is optional (RFC 9110, 13.1.1). `current` is `None` if there is nothing yet.
///
/// # Errors
/// [`PreconditionRefusal::Failed`] if it is there and does not hold.
pub fn check_if_match(headers: &HeaderMap, current: Option<&ETag>) -> Result<(), PreconditionRefusal> {
    let holds = match TagList::of(headers, &IF_MATCH) {
        TagList::Absent => true,
        TagList::Any => current.is_some(),
        TagList::Malformed => false,
        TagList::Tags(tags) => current.is_some_and(|current| tags.iter().any(|tag| tag.matches_strongly(current))),
    };
    if holds { Ok(()) } else { Err(PreconditionRefusal::Failed) }
}

/// Whether a GET or HEAD may be answered 304: `If-None-Match` names the current tag, weakly compared, or is `*`
/// (RFC 9110, 13.1.2). A malformed header is ignored: the full answer is always right.
#[must_use]
pub fn is_not_modified(headers: &HeaderMap, current: &ETag) -> bool {
    match TagList::of(headers, &IF_NONE_MATCH) {
        TagList::Absent | TagList::Malformed => false,
        TagList::Any => true,
        TagList::Tags(tags) => tags.iter().any(|tag| tag.matches_weakly(current)),
    }
}

#[cfg(test)]
mod tests {
    use ::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(name: HeaderName, value: Option<&[u8]>) -> HeaderMap {
        let value = value.map(|value| (name, HeaderValue::from_bytes(value).unwrap()));
        value.into_iter().collect()
    }

    #[test]
    fn required_if_match() {
        use PreconditionRefusal::{Failed, Required};
        let current = ETag::strong("v3");
        for (value, expected) in [
            (None, Err(Required)),
            (Some(&b"*"[..]), Err(Required)),
            (Some(b"\"v3\""), Ok(())),
            (Some(b"\"v2\", \"v3\""), Ok(())),
            (Some(b"\"v2\""), Err(Failed)),
            (Some(b"W/\"v3\""), Err(Failed)),
            (Some(b"\"s3\""), Err(Failed)),
            (Some(b"v3"), Err(Failed)),
            (Some(b"\xff"), Err(Failed)),
            (Some(b""), Err(Failed)),
        ] {
            assert_eq!(require_if_match(&headers(IF_MATCH, value), &current), expected, "{value:?}");
        }
    }

    #[test]
    fn optional_if_match() {
        let current = ETag::strong("v3");
        for (value, of_something, of_nothing) in [
            (None, true, true),
            (Some(&b"*"[..]), true, false),
            (Some(b"\"v3\""), true, false),
            (Some(b"W/\"v3\""), false, false),
            (Some(b"x"), false, false),
        ] {
            let headers = headers(IF_MATCH, value);
            assert_eq!(check_if_match(&headers, Some(&current)).is_ok(), of_something, "{value:?}");
            assert_eq!(check_if_match(&headers, None).is_ok(), of_nothing, "{value:?}");
        }
    }

    #[test]
    fn not_modified() {
        let current = ETag::strong("v3");
        for (value, expected) in [
            (None, false),
            (Some(&b"*"[..]), true),
            (Some(b"\"v3\""), true),
            (Some(b"W/\"v3\""), true),
            (Some(b"\"v2\", \"v3\""), true),
            (Some(b"\"v2\""), false),
            (Some(b"v3"), false),
        ] {
            assert_eq!(is_not_modified(&headers(IF_NONE_MATCH, value), &current), expected, "{value:?}");
        }
    }
}
