//! From which page a request was made (RFC 6454): browsers say it with every request that can change something.

use ::http::header::ORIGIN;
use ::http::{HeaderMap, Uri};

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

#[cfg(test)]
mod tests {
    use super::*;

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
