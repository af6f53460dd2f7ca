//! Whom a request is for: HTTP/1.1 wants exactly one Host field that names a host (RFC 9112, 3.2). What differs about it
//! between a proxy and this appliance could lead one of them astray.

use http::header::HOST;
use http::uri::Authority;
use http::{Request, Version};

/// Whether a request lacks what it must say about its host.
pub(super) fn is_missing<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => request.version() >= Version::HTTP_11,
        (Some(only), None) => !names_a_host(only.as_bytes()),
        (Some(_), Some(_)) => true,
    }
}

fn names_a_host(value: &[u8]) -> bool {
    let authority = Authority::try_from(value).ok();
    authority.is_some_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'))
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
        ] {
            let mut request = Request::builder().version(version);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            assert_eq!(is_missing(&request.body(()).unwrap()), expected, "{version:?} {hosts:?}");
        }
    }
}
