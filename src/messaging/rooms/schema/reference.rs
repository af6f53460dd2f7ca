//! References between schemas: resolved against a base (RFC 3986, 5.2), and the pointers in their fragments.

use std::borrow::Cow;

use quintet_platform::json::Json;

/// The base of a schema that does not name its own.
pub(super) const NO_BASE: &str = "schema:///";

/// What a reference means: a document, and a place in it.
pub(super) struct Target<'r> {
    /// The document's URI, without a fragment.
    pub(super) document: String,
    /// The fragment, with its percent signs.
    pub(super) fragment: Option<&'r str>,
}

/// The parts of a reference, as RFC 3986 (appendix B) tells them apart.
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

/// What a reference means where this is the base.
pub(super) fn resolve<'r>(base: &str, reference: &'r str) -> Target<'r> {
    let base = split(base);
    let own = split(reference);
    let fragment = own.fragment;
    let (scheme, authority, path, query);
    if own.scheme.is_some() {
        (scheme, authority, path, query) = (own.scheme, own.authority, without_dots(own.path), own.query);
    } else if own.authority.is_some() {
        (scheme, authority, path, query) = (base.scheme, own.authority, without_dots(own.path), own.query);
    } else if own.path.is_empty() {
        let inherited = own.query.or(base.query);
        (scheme, authority, path, query) = (base.scheme, base.authority, base.path.to_owned(), inherited);
    } else if own.path.starts_with('/') {
        (scheme, authority, path, query) = (base.scheme, base.authority, without_dots(own.path), own.query);
    } else {
        let folder = base.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let merged = without_dots(&format!("{folder}/{}", own.path));
        (scheme, authority, path, query) = (base.scheme, base.authority, merged, own.query);
    }
    let mut document = String::new();
    if let Some(scheme) = scheme {
        document.extend([&scheme.to_ascii_lowercase(), ":"]);
    }
    if let Some(authority) = authority {
        document.extend(["//", &authority.to_ascii_lowercase()]);
    }
    document.push_str(&path);
    if let Some(query) = query {
        document.extend(["?", query]);
    }
    Target { document, fragment }
}

fn split(text: &str) -> Parts<'_> {
    let (text, fragment) = text.split_once('#').map_or((text, None), |(rest, fragment)| (rest, Some(fragment)));
    let (text, query) = text.split_once('?').map_or((text, None), |(rest, query)| (rest, Some(query)));
    let is_scheme = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let (scheme, text) = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, text),
    };
    let (authority, path) = match text.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            (Some(authority), path)
        }
        None => (None, text),
    };
    Parts { scheme, authority, path, query, fragment }
}

/// A path without `.` and `..` (RFC 3986, 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            "." if is_last => kept.push(""),
            "." => {}
            ".." => {
                // The empty part before the first slash stays.
                if kept.len() > 1 {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            part => kept.push(part),
        }
    }
    kept.join("/")
}

/// A fragment with its percent signs resolved. `None` if they are no bytes, or no text.
pub(super) fn decoded(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
            bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The value that a pointer (RFC 6901) leads to, from this one.
pub(super) fn follow<'j>(value: &'j Json, pointer: &str) -> Option<&'j Json> {
    let steps = pointer.strip_prefix('/').map(|steps| steps.split('/'));
    steps.into_iter().flatten().try_fold(value, |value, step| match value {
        Json::Object(_) => value.get(&step.replace("~1", "/").replace("~0", "~")),
        Json::Array(items) => {
            let is_index = step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
            items.get(step.parse::<usize>().ok().filter(|_| is_index)?)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use quintet_platform::json::{Json, Limits, parse};

    use super::{decoded, follow, resolve};

    /// The examples of RFC 3986, 5.4, as far as no query decides.
    #[test]
    fn references_are_resolved() {
        let cases = [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"),
            ("g#s", "http://a/b/c/g"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"),
            ("HTTP://A/x", "http://a/x"),
        ];
        for (reference, expected) in cases {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference).document, expected, "{reference:?}");
        }
        assert_eq!(resolve("urn:uuid:1", "#/a").document, "urn:uuid:1");
        assert_eq!(resolve(super::NO_BASE, "item.json").document, "schema:///item.json");
        assert_eq!(resolve("http://a/b", "#s").fragment, Some("s"));
        assert_eq!(resolve("http://a/b", "c").fragment, None);
    }

    #[test]
    fn percent_signs() {
        for (text, expected) in [
            ("", Some("")),
            ("a", Some("a")),
            ("%25", Some("%")),
            ("/a%20b", Some("/a b")),
            ("%C3%A9", Some("é")),
            ("%", None),
            ("%2", None),
            ("%zz", None),
            ("%ff", None),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn pointers_are_followed() {
        let text = r#"{"a": [1, {"b/c~d": 2}], "": 3, "01": 4}"#;
        let value = parse(text.as_bytes(), Limits::default()).unwrap();
        for (pointer, expected) in [
            ("/a/0", Some(Json::from(1_u8))),
            ("/a/1/b~1c~0d", Some(Json::from(2_u8))),
            ("/", Some(Json::from(3_u8))),
            ("/01", Some(Json::from(4_u8))),
            ("/a/00", None),
            ("/a/+1", None),
            ("/a/2", None),
            ("/a/-", None),
            ("/b", None),
            ("/a/0/x", None),
        ] {
            assert_eq!(follow(&value, pointer), expected.as_ref(), "{pointer}");
        }
        assert_eq!(follow(&value, ""), Some(&value));
    }
}
