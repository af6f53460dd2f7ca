//! From which page a request was made (RFC 6454): browsers say it with every request that can change something.

use ::http::header::{HOST, ORIGIN};
use ::http::request::Parts;
use ::http::uri::Authority;
use ::http::{HeaderMap, HeaderName, HeaderValue, Uri};

/// How the page that a request is made for relates to where it goes, in the browser's words (Fetch Metadata). No page can
/// write it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The origin of an address, as browsers write it: scheme, host, and a port that is not the usual one.
#[must_use]
pub fn web_origin(address: &str) -> Option<String> {
    let uri: Uri = address.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let host = authority.host().to_ascii_lowercase();
    let usual = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    match authority.port_u16() {
        Some(port) if port != usual => Some(format!("{scheme}://{host}:{port}")),
        _ => Some(format!("{scheme}://{host}")),
    }
}

/// Whether a request says once, and exactly, that it is from a page of this origin. `null`, nothing and several are not.
#[must_use]
pub fn is_from(headers: &HeaderMap, origin: &str) -> bool {
    let mut fields = headers.get_all(ORIGIN).iter();
    matches!((fields.next(), fields.next()), (Some(only), None) if only.as_bytes() == origin.as_bytes())
}

/// Whether a browser sent it for a page of another site. What the browser says itself counts; where it says nothing, as on a
/// network without TLS, the page's origin must be the one that the request goes to.
#[must_use]
pub fn is_from_elsewhere(parts: &Parts) -> bool {
    if let Some(site) = parts.headers.get(SEC_FETCH_SITE) {
        return site != "same-origin" && site != "none";
    }
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| parts.uri.authority().map(Authority::as_str)).and_then(|host| host.parse().ok());
    let is_own = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
        let (Some(host), Some(origin)) = (host.as_ref(), origin) else { return false };
        let usual = if origin.scheme_str() == Some("https") { 443 } else { 80 };
        let port = |authority: &Authority| authority.port_u16().unwrap_or(usual);
        origin
            .authority()
            .is_some_and(|own| own.host().eq_ignore_ascii_case(Authority::host(host)) && port(own) == port(host))
    };
    !parts.headers.get_all(ORIGIN).iter().all(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_told_from_the_own_ones() {
        for (fields, expected) in [
            (&[][..], false),
            (&[("origin", "http://h:7450")], false),
            (&[("origin", "http://H:7450")], false),
            (&[("origin", "http://h")], true),
            (&[("origin", "http://evil.example:7450")], true),
            (&[("origin", "null")], true),
            (&[("origin", "http://h:7450"), ("origin", "http://evil.example")], true),
            (&[("sec-fetch-site", "cross-site")], true),
            (&[("sec-fetch-site", "same-site"), ("origin", "http://h:7450")], true),
            (&[("sec-fetch-site", "none")], false),
            // Behind a proxy that has another name for the service.
            (&[("sec-fetch-site", "same-origin"), ("origin", "https://diagrams.example")], false),
        ] {
            let mut request = ::http::Request::builder().uri("/").header("host", "h:7450");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(is_from_elsewhere(&parts), expected, "{fields:?}");
        }
    }

    #[test]
    fn as_browsers_write_it() {
        for (address, expected) in [
            ("https://L10n.example.com", Some("https://l10n.example.com")),
            ("https://l10n.example.com:443/x/", Some("https://l10n.example.com")),
            ("https://l10n.example.com:8443/", Some("https://l10n.example.com:8443")),
            ("http://127.0.0.1:80", Some("http://127.0.0.1")),
            ("http://[::1]:7410/", Some("http://[::1]:7410")),
            ("ftp://h", None),
            ("h", None),
            ("", None),
        ] {
            assert_eq!(web_origin(address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn once_and_exactly() {
        let is_own = |fields: &[&str]| {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(ORIGIN, field.parse().unwrap());
            }
            is_from(&headers, "https://h")
        };
        assert!(is_own(&["https://h"]));
        for foreign in [
            &[][..],
            &[""],
            &["null"],
            &["http://h"],
            &["https://h:444"],
            &["https://h/"],
            &["https://H"],
            &["https://h.evil"],
            &["https://h", "https://h"],
            &["https://h, https://h"],
        ] {
            assert!(!is_own(foreign), "{foreign:?}");
        }
    }
}
