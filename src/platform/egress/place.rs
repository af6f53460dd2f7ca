//! What the operator names himself, and which speaks no HTTP: his mail relay. He answers for where it is, so it may lie in any
//! network.

/// Whose certificate is taken where a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// That of whoever was called, signed by an authority that is trusted.
    Proven,
    /// Anybody's: it keeps those out who only listen.
    Anybody,
}

/// A place that the operator names: `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// A name or an address; one of IPv6 without its brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Place {
    /// Reads `HOST:PORT`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Place> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let port = port.parse().ok().filter(|port| *port != 0)?;
        if host.is_empty() { None } else { Some(Place { host: host.to_owned(), port }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let place = |host: &str, port| Some(Place { host: host.to_owned(), port });
        assert_eq!(Place::parse("mail.example:25"), place("mail.example", 25));
        assert_eq!(Place::parse("[::1]:2525"), place("::1", 2525));
        for none in ["", "mail.example", ":25", "mail.example:0", "mail.example:x", "mail.example:70000"] {
            assert_eq!(Place::parse(none), None, "{none}");
        }
    }
}
