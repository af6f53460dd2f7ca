//! The listeners: what they are called, which of them speak TLS, and where those of a running appliance are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

/// The names of all of them, for those who ask before there is an appliance.
pub const SERVICES: &[&str] = &["localization", "runs", "ledger", "messaging", "diagrams", "operations", "console"];

/// Whether a listener speaks TLS, where there is a certificate: every one but that of operations while it listens to this
/// machine alone. A scraper beside the appliance calls it by an address of the loopback network, for which nobody issues
/// certificates, and what it reads does not leave the machine.
#[must_use]
pub fn is_encrypted(name: &str, address: SocketAddr) -> bool {
    name != "operations" || !address.ip().to_canonical().is_loopback()
}

/// A listener that is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Its name.
    pub name: &'static str,
    /// Where it is.
    pub address: SocketAddr,
    /// Whether it speaks TLS.
    pub is_encrypted: bool,
}

/// Where the listeners are, once all of them are bound. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Places(Arc<OnceLock<Vec<Bound>>>);

impl Places {
    /// Says where they are; what was said first holds.
    pub fn say(&self, bound: Vec<Bound>) {
        let _ = self.0.set(bound);
    }

    /// All of them; none before they are bound.
    #[must_use]
    pub fn all(&self) -> &[Bound] {
        self.0.get().map_or(&[], Vec::as_slice)
    }

    /// The one of a name, if it is on and bound.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<&Bound> {
        self.all().iter().find(|bound| bound.name == name)
    }
}

/// The address at which one that listens is reached from this machine.
#[must_use]
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback = if address.is_ipv4() { IpAddr::from(Ipv4Addr::LOCALHOST) } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_plain_on_this_machine_alone() {
        let encrypted = |name, address: &str| is_encrypted(name, address.parse().unwrap());
        assert!(!encrypted("operations", "127.0.0.1:7400"));
        assert!(!encrypted("operations", "[::1]:7400"));
        assert!(encrypted("operations", "0.0.0.0:7400"));
        assert!(encrypted("operations", "[::ffff:192.0.2.1]:7400"));
        assert!(SERVICES.iter().all(|name| encrypted(name, "192.0.2.1:1")));
        assert!(encrypted("ledger", "127.0.0.1:7430"));
    }

    #[test]
    fn one_that_listens_everywhere_is_reached_on_this_machine() {
        let reached = |text: &str| reachable(text.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:7410"), "127.0.0.1:7410");
        assert_eq!(reached("[::]:7410"), "[::1]:7410");
        assert_eq!(reached("192.0.2.1:7410"), "192.0.2.1:7410");
    }

    #[test]
    fn places_are_said_once() {
        let places = Places::default();
        assert!(places.all().is_empty() && places.of("ledger").is_none());
        let bound = |port| Bound { name: "ledger", address: ([127, 0, 0, 1], port).into(), is_encrypted: false };
        places.say(vec![bound(1)]);
        places.clone().say(vec![bound(2)]);
        assert_eq!(places.of("ledger"), Some(&bound(1)));
    }
}
