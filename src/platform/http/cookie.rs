//! Cookies (RFC 6265), as far as sign-in needs them: one value of a name, and attributes that let nobody else have it.

use ::http::header::COOKIE;
use ::http::{HeaderMap, HeaderValue};

/// What a request has under the name of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie<'a> {
    /// None.
    Absent,
    /// One.
    One(&'a str),
    /// Several, of which nobody can say which is meant; or one that no service of ours has set: it is not ASCII.
    Unclear,
}

/// The cookie of a name. A name that begins with `__Host-` is one that the browser takes from this host alone, over an
/// encrypted connection. What other cookies have is nothing to us: others set them, in whatever letters.
#[must_use]
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Cookie<'a> {
    let mut found = Cookie::Absent;
    for field in headers.get_all(COOKIE) {
        for pair in field.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii) {
            let Some(value) = pair.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")) else {
                continue;
            };
            let text = std::str::from_utf8(value).ok().filter(|text| text.is_ascii());
            found = match (found, text) {
                (Cookie::Absent, Some(text)) => Cookie::One(text),
                _ => return Cookie::Unclear,
            };
        }
    }
    found
}

/// A `Set-Cookie` for a value in base64url: encrypted connections alone, no script, no request from another site but a
/// link that is followed. Without an age it goes with the browser.
#[must_use]
pub fn set_cookie(name: &str, value: &str, age_seconds: Option<i64>) -> HeaderValue {
    of_host(name, value, "Lax", age_seconds)
}

/// The same, which comes with no request from another site, a link that is followed included.
#[must_use]
pub fn set_strict_cookie(name: &str, value: &str, age_seconds: Option<i64>) -> HeaderValue {
    of_host(name, value, "Strict", age_seconds)
}

fn of_host(name: &str, value: &str, same_site: &str, age_seconds: Option<i64>) -> HeaderValue {
    let age = age_seconds.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
    let text = format!("{name}={value}; Secure; HttpOnly; SameSite={same_site}; Path=/{age}");
    let mut field = HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
    field.set_sensitive(true);
    field
}

/// A `Set-Cookie` that takes it away.
#[must_use]
pub fn remove_cookie(name: &str) -> HeaderValue {
    set_cookie(name, "", Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_of_a_name() {
        let of = |fields: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(COOKIE, HeaderValue::from_bytes(field).unwrap());
            }
            match cookie(&headers, "__Host-s") {
                Cookie::One(value) => value.to_owned(),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(of(&[]), "Absent");
        assert_eq!(of(&[b"a=1; __Host-s=x"]), "x");
        assert_eq!(of(&[b"__Host-s=x=y;b=2"]), "x=y");
        assert_eq!(of(&[b"s=1; __host-s=2; x__Host-s=3"]), "Absent", "names are compared as they are");
        assert_eq!(of(&[b"__Host-s=x; __Host-s=x"]), "Unclear");
        assert_eq!(of(&[b"__Host-s=x", b"__Host-s=y"]), "Unclear");
        assert_eq!(of(&[b"a=\xff; __Host-s=x"]), "x", "whatever others set");
        assert_eq!(of(&["name=Zoë; __Host-s=x; \u{e9}t\u{e9}=1".as_bytes(), b"b=\x80"]), "x");
        assert_eq!(of(&[b"__Host-s=\xff"]), "Unclear");
        assert_eq!(of(&[b"__Host-s=x", b"__Host-s=\xff"]), "Unclear");
        assert_eq!(of(&[b"__Host-s"]), "Absent");
    }

    #[test]
    fn nobody_else_gets_it() {
        assert_eq!(set_cookie("__Host-s", "v", None), "__Host-s=v; Secure; HttpOnly; SameSite=Lax; Path=/");
        assert_eq!(remove_cookie("__Host-s"), "__Host-s=; Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
        assert!(set_cookie("__Host-s", "v", None).is_sensitive());
        let strict = set_strict_cookie("__Host-s", "v", Some(60));
        assert_eq!(strict, "__Host-s=v; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=60");
    }
}
