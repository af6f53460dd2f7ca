//! The listeners: ports, certificate, what goes over the network unencrypted, and who may speak for others.

use std::io;
use std::net::{SocketAddr, TcpListener};

use quintet_platform::Timestamp;
use quintet_platform::clock::{Clock, rfc3339};
use rustls::crypto::ring;

use super::subject::{Finding, Life, Subject};
use crate::admin::status::TlsView;
use crate::config::Config;
use crate::config::value::Network;
use crate::shell::quoted;
use crate::sites::{SERVICES, is_encrypted};
use crate::tls;
use crate::tls::pair::{Facts, Pair, instant};

/// The listeners that are on, by name.
fn listeners(config: &Config) -> Vec<(&'static str, SocketAddr)> {
    SERVICES.iter().filter_map(|name| Some((*name, config.listen.of(name)?))).collect()
}

/// Whether the ports are free for a start, or the appliance's own.
pub fn check_ports(subject: &Subject) -> Vec<Finding> {
    if let Some(status) = subject.status() {
        let at: Vec<String> = status.services.iter().map(|one| format!("{} at {}", one.name, one.address)).collect();
        return vec![Finding::ok("ports", format!("The appliance has them: {}.", at.join(", ")))];
    }
    let (Life::Stopped, Ok(config)) = (&subject.life, &subject.config) else { return Vec::new() };
    let fixed = listeners(config).into_iter().filter(|(_, address)| address.port() != 0);
    let taken = fixed.filter_map(|(name, address)| Some((name, address, TcpListener::bind(address).err()?)));
    let mut findings: Vec<Finding> =
        taken.map(|(name, address, error)| port(name, address, error.kind(), &error.to_string())).collect();
    if findings.is_empty() {
        findings.push(Finding::ok("ports", "All of them are free."));
    }
    findings
}

fn port(name: &str, address: SocketAddr, kind: io::ErrorKind, error: &str) -> Finding {
    let cure = match kind {
        io::ErrorKind::AddrInUse => {
            format!("`ss -ltnp` names the program that has it: stop that, or set another address in listen.{name}.")
        }
        io::ErrorKind::PermissionDenied => format!(
            "Ports below 1024 are root's: set another in listen.{name}, or AmbientCapabilities=CAP_NET_BIND_SERVICE in \
             the systemd unit."
        ),
        _ => format!("`ip address` lists this machine's: set one of them in listen.{name}."),
    };
    Finding::problem("ports", format!("{address} for {name} cannot be had: {error}."), cure)
}

/// The certificate: whether it can be used, until when, and whether the one in use is that of the files.
pub fn check_certificate(subject: &Subject) -> Vec<Finding> {
    let Ok(config) = &subject.config else { return Vec::new() };
    let Some(files) = tls::files(config) else { return Vec::new() };
    // What cannot be used is told with the configuration.
    let Ok(Pair { facts, .. }) = Pair::read(&files, &ring::default_provider()) else { return Vec::new() };
    let in_use = subject.status().map(|status| status.tls.as_ref());
    vec![certificate(&facts, in_use, Clock::system().now(), &quoted(&files.cert))]
}

fn certificate(facts: &Facts, in_use: Option<Option<&TlsView>>, now: Timestamp, path: &str) -> Finding {
    let name = "certificate";
    let cure = format!(
        "Put a new one into {path}, and its key beside it: the appliance takes them within seconds. `openssl x509 -in \
         {path} -noout -dates -subject` shows what is there."
    );
    match (facts.complaint(now), in_use) {
        (Some(complaint), _) if facts.not_after <= now || now < facts.not_before => {
            Finding::problem(name, complaint, cure)
        }
        (Some(complaint), _) => Finding::warning(name, complaint, cure),
        (None, Some(None)) => Finding::warning(
            name,
            "The appliance that runs was started without it: it speaks plain HTTP.",
            "Restart it: `systemctl restart quintet`.",
        ),
        (None, Some(Some(view))) if view.not_after != rfc3339(facts.not_after) || view.refused.is_some() => {
            Finding::warning(
                name,
                "The one in use is not that of the files.",
                format!("`touch {path}` has the appliance look again; its log and `quintet status` say why not."),
            )
        }
        (None, _) => {
            let names = if facts.names.is_empty() { "nobody by name".to_string() } else { facts.names.join(", ") };
            Finding::ok(name, format!("It is for {names}, until {}, and its key fits.", instant(facts.not_after)))
        }
    }
}

/// Whether keys go over the network for everybody to read.
pub fn check_encryption(subject: &Subject) -> Vec<Finding> {
    let Ok(config) = &subject.config else { return Vec::new() };
    vec![encryption(&listeners(config), config.tls_pair.is_some(), !config.trusted_proxies.is_empty())]
}

fn encryption(listeners: &[(&str, SocketAddr)], has_certificate: bool, has_proxies: bool) -> Finding {
    let name = "encryption";
    let is_open = |(_, address): &&(&str, SocketAddr)| !address.ip().to_canonical().is_loopback();
    let open: Vec<String> =
        listeners.iter().filter(is_open).map(|(name, address)| format!("{name} ({address})")).collect();
    let encrypted = listeners.iter().filter(|(name, address)| is_encrypted(name, *address)).count();
    match (has_certificate, open.is_empty(), has_proxies) {
        (true, ..) => Finding::ok(name, format!("{encrypted} of {} listeners speak TLS.", listeners.len())),
        (false, true, _) => Finding::ok(name, "All listen to this machine alone, unencrypted."),
        (false, false, true) => Finding::ok(
            name,
            format!("Unencrypted to the trusted proxies, which are to speak TLS: {}.", open.join(", ")),
        ),
        (false, false, false) => Finding::warning(
            name,
            format!("These speak plain HTTP to the network, keys included: {}.", open.join(", ")),
            "`[tls] cert = \"/etc/quintet/cert.pem\", key = \"/etc/quintet/key.pem\"`; or listen on 127.0.0.1, behind a \
             proxy that speaks TLS.",
        ),
    }
}

/// Who may say where requests come from.
pub fn check_proxies(subject: &Subject) -> Vec<Finding> {
    let Ok(config) = &subject.config else { return Vec::new() };
    vec![proxies(&config.trusted_proxies)]
}

fn proxies(trusted: &[Network]) -> Finding {
    let name = "proxies";
    if trusted.iter().any(Network::is_everybody) {
        return Finding::warning(
            name,
            "http.trusted_proxies is everybody: whoever calls may say that it is somebody else.",
            "`[http] trusted_proxies = [\"192.0.2.1\"]` with the addresses of the proxies alone.",
        );
    }
    match trusted.len() {
        0 => Finding::ok(name, "None is trusted: the address of a connection is that of its caller."),
        count => Finding::ok(name, format!("X-Forwarded-For of {count} networks is believed.")),
    }
}

#[cfg(test)]
mod tests {
    use quintet_platform::clock::parse_rfc3339;

    use super::super::subject::{State, told};
    use super::*;

    #[test]
    fn ports_that_cannot_be_had_are_told() {
        let address = "192.0.2.1:80".parse().unwrap();
        let says = "problem: 192.0.2.1:80 for ledger cannot be had: why.";
        let cases = [
            (
                io::ErrorKind::AddrInUse,
                "`ss -ltnp` names the program that has it: stop that, or set another address in listen.ledger.",
            ),
            (
                io::ErrorKind::PermissionDenied,
                "Ports below 1024 are root's: set another in listen.ledger, or AmbientCapabilities=CAP_NET_BIND_SERVICE \
                 in the systemd unit.",
            ),
            (io::ErrorKind::AddrNotAvailable, "`ip address` lists this machine's: set one of them in listen.ledger."),
        ];
        for (kind, cure) in cases {
            assert_eq!(told(&port("ledger", address, kind, "why")), format!("{says} => {cure}"));
        }
    }

    #[test]
    fn certificates_are_told_of() {
        let at = |text: &str| parse_rfc3339(text).unwrap();
        let facts = |until: &str| Facts {
            names: vec!["a.example".into()],
            not_before: at("2020-01-01T00:00:00Z"),
            not_after: at(until),
            broken_link: None,
        };
        let now = at("2026-11-21T00:00:00Z");
        let cure = "Put a new one into /c.pem, and its key beside it: the appliance takes them within seconds. `openssl \
                    x509 -in /c.pem -noout -dates -subject` shows what is there.";
        let far = "2030-01-01T00:00:00Z";
        let view = |until: &str, refused: Option<&str>| TlsView {
            cert: "/c.pem".into(),
            names: Vec::new(),
            not_before: String::new(),
            not_after: rfc3339(at(until)),
            loaded_at: String::new(),
            complaint: None,
            refused: refused.map(str::to_string),
            refused_at: None,
        };
        let not_that = "warning: The one in use is not that of the files. => `touch /c.pem` has the appliance look again; \
                        its log and `quintet status` say why not.";
        let fine = "ok: It is for a.example, until 2030-01-01T00:00:00Z, and its key fits.";
        let (same, older, refused) = (view(far, None), view("2027-01-01T00:00:00Z", None), view(far, Some("why")));
        let expired = "2026-11-20T00:00:00Z";
        let soon = "2026-11-30T00:00:00Z";
        let cases = [
            (far, None, fine.to_string()),
            (far, Some(Some(&same)), fine.to_string()),
            (far, Some(Some(&older)), not_that.to_string()),
            (far, Some(Some(&refused)), not_that.to_string()),
            (
                far,
                Some(None),
                "warning: The appliance that runs was started without it: it speaks plain HTTP. => Restart it: \
                 `systemctl restart quintet`."
                    .to_string(),
            ),
            (
                expired,
                None,
                format!("problem: The certificate expired on 2026-11-20T00:00:00Z: callers refuse it. => {cure}"),
            ),
            (soon, None, format!("warning: The certificate expires on 2026-11-30T00:00:00Z. => {cure}")),
        ];
        for (until, in_use, expected) in cases {
            assert_eq!(told(&certificate(&facts(until), in_use, now, "/c.pem")), expected);
        }
    }

    #[test]
    fn plain_listeners_on_the_network_are_told() {
        let here = ("ledger", "127.0.0.1:1".parse().unwrap());
        let there = ("runs", "0.0.0.0:2".parse().unwrap());
        let operations = ("operations", "127.0.0.1:3".parse().unwrap());
        let cases = [
            (vec![here], false, false, "ok: All listen to this machine alone, unencrypted."),
            (vec![here, there, operations], true, false, "ok: 2 of 3 listeners speak TLS."),
            (
                vec![here, there],
                false,
                true,
                "ok: Unencrypted to the trusted proxies, which are to speak TLS: runs (0.0.0.0:2).",
            ),
            (
                vec![here, there],
                false,
                false,
                "warning: These speak plain HTTP to the network, keys included: runs (0.0.0.0:2). => `[tls] cert = \
                 \"/etc/quintet/cert.pem\", key = \"/etc/quintet/key.pem\"`; or listen on 127.0.0.1, behind a proxy that \
                 speaks TLS.",
            ),
        ];
        for (listeners, has_certificate, has_proxies, expected) in cases {
            assert_eq!(told(&encryption(&listeners, has_certificate, has_proxies)), expected);
        }
    }

    #[test]
    fn trusting_everybody_is_told() {
        let trusted =
            |texts: &[&str]| proxies(&texts.iter().map(|text| Network::parse(text).unwrap()).collect::<Vec<_>>());
        assert_eq!(told(&trusted(&[])), "ok: None is trusted: the address of a connection is that of its caller.");
        assert_eq!(told(&trusted(&["10.0.0.0/8"])), "ok: X-Forwarded-For of 1 networks is believed.");
        assert_eq!(
            told(&trusted(&["10.0.0.0/8", "::/0"])),
            "warning: http.trusted_proxies is everybody: whoever calls may say that it is somebody else. => `[http] \
             trusted_proxies = [\"192.0.2.1\"]` with the addresses of the proxies alone."
        );
        assert_eq!(trusted(&["0.0.0.0/0"]).state, State::Warning);
    }
}
