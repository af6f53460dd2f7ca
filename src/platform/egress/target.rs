//! Who is called: what an address may look like, which addresses it stands for, and whether they may be connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;

use super::error::EgressError;

/// Who is called, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) is_tls: bool,
}

/// The host of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Host {
    /// An address itself.
    Address(IpAddr),
    /// This machine, by its name: `localhost` and what lies below it is asked nobody for (RFC 6761, 6.3).
    Localhost,
    /// A name, in lower case and without a dot at its end.
    Name(String),
}

impl Target {
    /// Reads `http://host:port/…` and `https://host:port/…`.
    ///
    /// # Errors
    /// [`EgressError::Unusable`] for other schemes and hosts, and for a user's name or password.
    pub(super) fn of(uri: &Uri) -> Result<Target, EgressError> {
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(EgressError::Unusable),
        };
        let authority = uri.authority().ok_or(EgressError::Unusable)?;
        if authority.as_str().contains('@') {
            return Err(EgressError::Unusable);
        }
        // The parser of addresses passes over a port that is none.
        let port = match authority.as_str().strip_prefix(authority.host()).unwrap_or_default() {
            "" if is_tls => 443,
            "" => 80,
            text => text.strip_prefix(':').and_then(port).unwrap_or(0),
        };
        if port == 0 {
            return Err(EgressError::Unusable);
        }
        Ok(Target { host: Host::parse(authority.host()).ok_or(EgressError::Unusable)?, port, is_tls })
    }

    /// The Host field: what was called, as it is read.
    pub(super) fn host_field(&self) -> String {
        let host = self.host.to_string();
        let usual = if self.is_tls { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }

    /// The addresses that it stands for, without asking anybody; `None`: its name is to be resolved.
    pub(super) fn known(&self) -> Option<Vec<SocketAddr>> {
        let at = |address: IpAddr| SocketAddr::new(address, self.port);
        match &self.host {
            Host::Address(address) => Some(vec![at(*address)]),
            Host::Localhost => Some(vec![at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into())]),
            Host::Name(_) => None,
        }
    }

    /// The addresses, if all of them may be connected to: one that may not spoils the others, for whoever owns the name
    /// chooses among them.
    ///
    /// # Errors
    /// [`EgressError::Unresolved`], [`EgressError::Forbidden`], [`EgressError::Plain`].
    pub(super) fn vet(
        &self,
        resolved: Vec<SocketAddr>,
        allows: impl Fn(IpAddr) -> bool,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        if resolved.is_empty() {
            return Err(EgressError::Unresolved);
        }
        let refused =
            |address: &&SocketAddr| !(allows(address.ip().to_canonical()) || self.is_tls && is_public(address.ip()));
        let mut refused = resolved.iter().filter(refused).peekable();
        match (refused.peek().is_some(), refused.all(|address| is_public(address.ip()))) {
            (false, _) => Ok(resolved),
            (true, true) => Err(EgressError::Plain),
            (true, false) => Err(EgressError::Forbidden),
        }
    }
}

/// A port in its one spelling: neither a sign nor zeros before it.
fn port(digits: &str) -> Option<u16> {
    digits.parse().ok().filter(|port: &u16| port.to_string() == digits)
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Host {
    /// An IPv4 address of four decimal parts, an IPv6 address in brackets, or a name of letters, digits, `-` and `_` whose
    /// last label is no number. Every other spelling (of addresses, too) is refused: what reads them differently elsewhere
    /// would be called instead.
    fn parse(text: &str) -> Option<Host> {
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return inner.parse::<Ipv6Addr>().ok().map(|address| Host::Address(address.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Host::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        let last = name.rsplit('.').next().unwrap_or_default();
        if name.len() > 253 || !name.split('.').all(is_label) || is_number(last) {
            return None;
        }
        Some(if last == "localhost" { Host::Localhost } else { Host::Name(name) })
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Host::Localhost => f.write_str("localhost"),
            Host::Name(name) => f.write_str(name),
        }
    }
}

/// What some read as a part of an address: decimal digits, or hexadecimal ones behind 0x.
fn is_number(label: &str) -> bool {
    let is_hexadecimal = label.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_hexadecimal || label.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether an address belongs to the public internet (the special-purpose registries of RFC 6890 and its
/// successors say which do not). Addresses that stand for an IPv4 address count as that one.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || a == 10
        || a == 127
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 169 && b == 254)
        || (a == 172 && (16..32).contains(&b))
        || (a == 192 && b == 168)
        || (a == 192 && b == 0 && (c == 0 || c == 2))
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        // NAT64 (RFC 6052) and 6to4 (RFC 3056) carry an IPv4 address.
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => embedded(g, h),
        (0x2002, _) => embedded(b, c),
        // Teredo, benchmarking, ORCHID and the rest of 2001::/23; documentation.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        // Of the rest, global unicast is 2000::/3.
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Option<Target> {
        Target::of(&text.parse::<Uri>().ok()?).ok()
    }

    #[test]
    fn one_spelling_of_each_host() {
        for (text, field, port, is_tls) in [
            ("http://a.example/x", "a.example", 80, false),
            ("https://A.Example.", "a.example", 443, true),
            ("https://a.example:444/", "a.example:444", 444, true),
            ("https://_dmarc.a-b.example", "_dmarc.a-b.example", 443, true),
            ("http://127.0.0.1:8080", "127.0.0.1:8080", 8080, false),
            ("http://[::1]:81", "[::1]:81", 81, false),
            ("http://localhost", "localhost", 80, false),
            ("https://app.LOCALHOST.", "localhost", 443, true),
            ("http://a.0xg/", "a.0xg", 80, false),
        ] {
            let found = target(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.host_field().as_str(), found.port, found.is_tls), (field, port, is_tls), "{text}");
        }
        for text in [
            "ftp://a.example",
            "/relative",
            "http://user@a.example",
            "http://user:password@a.example",
            "http://a.example:0",
            "http://a.example:65536",
            "http://a.example:",
            "http://127.1",
            "http://0x7f.0.0.1",
            "http://0177.0.0.1",
            "http://2130706433",
            "http://127.0.0.0x1",
            "http://127.0.0.01",
            "http://a.0x7f",
            "http://a.1",
            "http://[::1%25lo]",
            "http://[127.0.0.1]",
            "http://a..b",
            "http://.",
            "http://a%2eb",
            "http://a!b",
            "http://a\\b",
        ] {
            assert_eq!(target(text), None, "{text}");
        }
    }

    #[test]
    fn one_forbidden_address_spoils_all() {
        let at = |text: &str| SocketAddr::new(text.parse().unwrap(), 443);
        let allows = |address: IpAddr| address == IpAddr::from([10, 0, 0, 1]);
        let secure = target("https://a.example").unwrap();
        let plain = target("http://a.example").unwrap();
        let both = |addresses: &[&str]| {
            let resolved: Vec<SocketAddr> = addresses.iter().copied().map(at).collect();
            let judge = |target: &Target| target.vet(resolved.clone(), allows).map(|all| all.len());
            (judge(&secure), judge(&plain))
        };
        use EgressError::{Forbidden, Plain, Unresolved};
        assert_eq!(both(&["1.1.1.1"]), (Ok(1), Err(Plain)));
        assert_eq!(both(&["1.1.1.1", "2606:4700::1111"]), (Ok(2), Err(Plain)));
        assert_eq!(both(&["10.0.0.1"]), (Ok(1), Ok(1)));
        assert_eq!(both(&["10.0.0.1", "1.1.1.1"]), (Ok(2), Err(Plain)));
        assert_eq!(both(&["1.1.1.1", "127.0.0.1"]), (Err(Forbidden), Err(Forbidden)));
        assert_eq!(both(&["10.0.0.1", "10.0.0.2"]), (Err(Forbidden), Err(Forbidden)));
        assert_eq!(both(&["::ffff:127.0.0.1"]), (Err(Forbidden), Err(Forbidden)));
        assert_eq!(both(&[]), (Err(Unresolved), Err(Unresolved)));
    }

    #[test]
    fn addresses_outside_the_public_internet() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "100::1",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
