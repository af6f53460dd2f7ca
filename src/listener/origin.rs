//! Where a request came from, and by which scheme: what the connection says, or what trusted proxies say of it.
//!
//! `X-Forwarded-For` and `X-Forwarded-Proto` are written by whoever sends a request. They count only when the other end
//! of the connection is a proxy that the operator trusts (`http.trusted_proxies`), and of what they list only what such
//! a proxy has added. `Forwarded` (RFC 7239) is not read: two fields that may contradict each other are one too many.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName};
use quintet_platform::http::Outgoing;

use crate::config::value::Network;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Proxies that are followed from one to the next; no sound chain is longer.
const HOPS_MAX: usize = 32;

/// The longest address, with brackets, port and zone.
const ADDRESS_BYTES_MAX: usize = 80;

/// Who is at the other end of a connection over the network.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Whether the connection is encrypted.
    pub is_encrypted: bool,
    /// How far it has taken what was written, where the site asks for that.
    pub outgoing: Option<Outgoing>,
}

/// Where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The address that counts as its source.
    pub(super) source: IpAddr,
    /// Whether the caller used `https`.
    pub(super) is_https: bool,
}

/// What is known of a request's origin.
pub(super) fn origin_of(peer: &Peer, headers: &HeaderMap, trusted: &[Network]) -> Origin {
    let address = peer.address.ip();
    if !is_trusted(trusted, address) {
        return Origin { source: address, is_https: peer.is_encrypted };
    }
    let is_https = forwarded_https(headers).unwrap_or(peer.is_encrypted);
    Origin { source: source_behind(address, headers, trusted), is_https }
}

/// Whether an address is that of a trusted proxy.
pub(super) fn is_trusted(proxies: &[Network], address: IpAddr) -> bool {
    proxies.iter().any(|network| network.contains(address))
}

/// Behind trusted proxies: the last address in `X-Forwarded-For` that is not one of theirs. Whatever stands further
/// left was written by strangers, and so was whatever stands left of something that is no address: then the proxy that
/// passed that on is the source.
fn source_behind(proxy: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let mut source = proxy;
    let fields: Vec<&[u8]> = headers.get_all(X_FORWARDED_FOR).iter().map(|value| value.as_bytes()).collect();
    let hops = fields.iter().rev().flat_map(|field| field.rsplit(|byte| *byte == b','));
    for hop in hops.take(HOPS_MAX) {
        let Some(address) = address(hop) else { return source };
        source = address;
        if !is_trusted(trusted, source) {
            return source;
        }
    }
    source
}

/// An address as proxies write them: bare, or with a port, IPv6 then in brackets.
fn address(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop.trim_ascii()).ok().filter(|text| text.len() <= ADDRESS_BYTES_MAX)?;
    let bare = || text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    bare().or_else(with_port).or_else(bracketed).map(|address| address.to_canonical())
}

/// What the nearest proxy says of the scheme: the last value, if several were put together.
fn forwarded_https(headers: &HeaderMap) -> Option<bool> {
    let field = headers.get_all(X_FORWARDED_PROTO).iter().next_back()?;
    match field.as_bytes().rsplit(|byte| *byte == b',').next()?.trim_ascii() {
        proto if proto.eq_ignore_ascii_case(b"https") => Some(true),
        proto if proto.eq_ignore_ascii_case(b"http") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn origin(peer: &str, is_encrypted: bool, fields: &[(&'static str, &[u8])]) -> Origin {
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|network| Network::parse(network).unwrap());
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        let peer = Peer { address: SocketAddr::new(peer.parse().unwrap(), 1), is_encrypted, outgoing: None };
        origin_of(&peer, &headers, &trusted)
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let cases: &[(&str, &[&[u8]], &str)] = &[
            // A stranger says what it likes.
            ("192.0.2.1", &[b"198.51.100.7"], "192.0.2.1"),
            ("192.0.2.1", &[b"10.1.1.1"], "192.0.2.1"),
            // One proxy, several, on one line or on more.
            ("10.1.1.1", &[b"198.51.100.7"], "198.51.100.7"),
            ("10.1.1.1", &[b"203.0.113.9, 198.51.100.7, 10.2.2.2"], "198.51.100.7"),
            ("10.1.1.1", &[b"203.0.113.9", b"198.51.100.7"], "198.51.100.7"),
            ("10.1.1.1", &[b"198.51.100.7", b"10.2.2.2, 10.3.3.3"], "198.51.100.7"),
            ("10.1.1.1", &[b"10.3.3.3, 10.2.2.2"], "10.3.3.3"),
            // What somebody wrote before a proxy added what it saw.
            ("10.1.1.1", &[b"10.9.9.9, 198.51.100.7"], "198.51.100.7"),
            ("10.1.1.1", &[b"nonsense, 198.51.100.7"], "198.51.100.7"),
            // What is no address ends it.
            ("10.1.1.1", &[b"203.0.113.9, nonsense"], "10.1.1.1"),
            ("10.1.1.1", &[b"203.0.113.9, unknown, 10.2.2.2"], "10.2.2.2"),
            ("10.1.1.1", &[b"203.0.113.9,"], "10.1.1.1"),
            ("10.1.1.1", &[b"203.0.113.9", b"\xff\xfe"], "10.1.1.1"),
            ("10.1.1.1", &[b"203.0.113.9", b""], "10.1.1.1"),
            ("10.1.1.1", &[b"198.51.100.7:99999"], "10.1.1.1"),
            ("10.1.1.1", &[b"999.1.1.1"], "10.1.1.1"),
            ("10.1.1.1", &[b"198.51.100.7 198.51.100.8"], "10.1.1.1"),
            ("10.1.1.1", &[], "10.1.1.1"),
            // Ways of writing an address.
            ("10.1.1.1", &[b"  198.51.100.7\t"], "198.51.100.7"),
            ("10.1.1.1", &[b"198.51.100.7:4711"], "198.51.100.7"),
            ("fd00::1", &[b"2001:db8::1"], "2001:db8::1"),
            ("fd00::1", &[b"[2001:db8::1]:4711"], "2001:db8::1"),
            ("fd00::1", &[b"[2001:db8::1]"], "2001:db8::1"),
            ("10.1.1.1", &[b"198.51.100.7, ::ffff:10.2.2.2"], "198.51.100.7"),
            ("::ffff:10.1.1.1", &[b"::ffff:198.51.100.7"], "198.51.100.7"),
        ];
        for (peer, fields, expected) in cases {
            let fields: Vec<_> = fields.iter().map(|field| ("x-forwarded-for", *field)).collect();
            assert_eq!(origin(peer, false, &fields).source.to_string(), *expected, "{peer} {fields:?}");
        }
    }

    #[test]
    fn other_fields_count_for_nothing() {
        let fields: [(&'static str, &[u8]); 3] =
            [("forwarded", b"for=198.51.100.7;proto=https"), ("x-real-ip", b"198.51.100.7"), ("via", b"1.1 x")];
        let expected = Origin { source: "10.1.1.1".parse().unwrap(), is_https: false };
        assert_eq!(origin("10.1.1.1", false, &fields), expected);
    }

    #[test]
    fn chains_have_an_end() {
        let long = vec!["10.2.2.2"; 1_000].join(",");
        let behind = format!("198.51.100.7,{long}");
        let found = origin("10.1.1.1", false, &[("x-forwarded-for", behind.as_bytes())]);
        assert_eq!(found.source.to_string(), "10.2.2.2");
        let long = "1".repeat(ADDRESS_BYTES_MAX + 1);
        let found = origin("10.1.1.1", false, &[("x-forwarded-for", long.as_bytes())]);
        assert_eq!(found.source.to_string(), "10.1.1.1");
    }

    #[test]
    fn the_scheme_is_the_connections_or_what_a_trusted_proxy_says() {
        let proto = |peer: &str, is_encrypted: bool, values: &[&[u8]]| {
            let fields: Vec<_> = values.iter().map(|value| ("x-forwarded-proto", *value)).collect();
            origin(peer, is_encrypted, &fields).is_https
        };
        assert!(!proto("192.0.2.1", false, &[b"https"]), "a stranger");
        assert!(proto("192.0.2.1", true, &[b"http"]), "a stranger");
        assert!(proto("10.1.1.1", false, &[b"https"]));
        assert!(proto("10.1.1.1", false, &[b"HTTPS"]));
        assert!(!proto("10.1.1.1", true, &[b"http"]), "TLS from the proxy on");
        assert!(proto("10.1.1.1", false, &[b"http, https"]));
        assert!(!proto("10.1.1.1", false, &[b"https", b"http"]));
        assert!(!proto("10.1.1.1", false, &[b"javascript"]));
        assert!(proto("10.1.1.1", true, &[b"\xff"]));
        assert!(proto("10.1.1.1", true, &[]));
    }
}
