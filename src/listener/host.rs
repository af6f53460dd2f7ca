//! Whom a request is for: HTTP/1.1 wants exactly one Host field that names a host (RFC 9112, 3.2), and a target that names
//! one, too, names it in the same way. What differs about it between a proxy and this appliance could lead one of them
//! astray.

use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{Request, Uri, Version};

/// Whether a request lacks what it must say about its host.
pub(super) fn is_missing<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let is_missing = match (hosts.next(), hosts.next()) {
        (None, _) => request.version() >= Version::HTTP_11,
        (Some(only), None) => !Authority::try_from(only.as_bytes()).is_ok_and(|host| names_a_host(&host)),
        (Some(_), Some(_)) => true,
    };
    is_missing || is_target_strange(request.uri())
}

/// Whether a target in the absolute form is of another scheme, or names no host.
fn is_target_strange(target: &Uri) -> bool {
    let is_http = target.scheme().is_none_or(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
    !is_http || target.authority().is_some_and(|host| !names_a_host(host))
}

fn names_a_host(authority: &Authority) -> bool {
    let host = authority.host();
    let port = authority.as_str().strip_prefix(host);
    let is_port =
        |port: &str| port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%[:]".contains(&byte);
    // Behind a user the host is no prefix.
    !host.is_empty() && host.bytes().all(is_host) && port.is_some_and(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_and_no_more() {
        for (version, hosts, expected) in [
            (Version::HTTP_11, &[][..], true),
            (Version::HTTP_10, &[], false),
            (Version::HTTP_11, &["a.example"], false),
            (Version::HTTP_11, &["a.example:7430"], false),
            (Version::HTTP_11, &["[::1]:7430"], false),
            (Version::HTTP_11, &["127.0.0.1"], false),
            (Version::HTTP_10, &["a.example", "a.example"], true),
            (Version::HTTP_11, &["a.example", "b.example"], true),
            (Version::HTTP_11, &[""], true),
            (Version::HTTP_11, &["u@a.example"], true),
            (Version::HTTP_11, &["a b"], true),
            (Version::HTTP_11, &["a/b"], true),
            (Version::HTTP_11, &[":80"], true),
            (Version::HTTP_11, &["a:b"], true),
            (Version::HTTP_11, &["a:99999"], true),
            (Version::HTTP_11, &["a,b"], true),
            (Version::HTTP_11, &["*"], true),
        ] {
            let mut request = Request::builder().version(version);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            assert_eq!(is_missing(&request.body(()).unwrap()), expected, "{version:?} {hosts:?}");
        }
    }

    #[test]
    fn targets_name_a_host_as_well() {
        for (target, expected) in [
            ("/v1/me", false),
            ("http://a.example:80/v1/me", false),
            ("https://[::1]/v1/me", false),
            ("http://u:p@a.example/v1/me", true),
            ("http://a.example:b/v1/me", true),
            ("ftp://a.example/v1/me", true),
        ] {
            let request = Request::get(target).header(HOST, "a.example").body(()).unwrap();
            assert_eq!(is_missing(&request), expected, "{target}");
        }
    }
}
