//! Values of configuration keys: reading one from TOML or from text, checking it against its kind.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use toml::de::DeValue;

use super::schema::{Default, Kind};

/// A checked value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text, a path, an address, a reference to a secret.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A truth value.
    Boolean(bool),
    /// A list of texts.
    List(Vec<String>),
}

impl Value {
    /// The default of a key, if it has one.
    #[must_use]
    pub fn from_default(default: Default) -> Option<Value> {
        match default {
            Default::Text(text) => Some(Value::Text(text.to_string())),
            Default::Integer(number) => Some(Value::Integer(number)),
            Default::Boolean(truth) => Some(Value::Boolean(truth)),
            Default::EmptyList => Some(Value::List(Vec::new())),
            Default::Unset => None,
        }
    }

    /// Reads a value as it stands in a TOML file.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence that follows the key's name.
    pub fn from_toml(kind: Kind, value: &DeValue<'_>) -> Result<Value, String> {
        let found = match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => Value::Integer(
                i64::from_str_radix(number.as_str(), number.radix())
                    .map_err(|_| format!("{number} is too large a number"))?,
            ),
            DeValue::Float(number) => {
                Value::Number(number.as_str().parse().map_err(|_| format!("{number} is not a number"))?)
            }
            DeValue::Boolean(truth) => Value::Boolean(*truth),
            DeValue::Array(items) => Value::List(
                items
                    .iter()
                    .map(|item| match item.get_ref() {
                        DeValue::String(text) => Ok(text.to_string()),
                        _ => Err("must be a list of texts".to_string()),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            DeValue::Datetime(_) | DeValue::Table(_) => return Err(format!("must be {}", expected(kind))),
        };
        check(kind, found)
    }

    /// Reads a value as it stands in an environment variable or behind a flag; lists are separated by commas.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence that follows the key's name.
    pub fn from_text(kind: Kind, text: &str) -> Result<Value, String> {
        let unfit = || format!("must be {}", expected(kind));
        let found = match kind {
            Kind::Integer(..) => Value::Integer(text.trim().parse().map_err(|_| unfit())?),
            Kind::Number(..) => Value::Number(text.trim().parse().map_err(|_| unfit())?),
            Kind::Boolean => Value::Boolean(text.trim().parse().map_err(|_| unfit())?),
            Kind::Networks => Value::List(
                text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_string).collect(),
            ),
            _ => Value::Text(text.to_string()),
        };
        check(kind, found)
    }

    /// The value as `quintet config print` may show it: secrets are redacted, references to them are not, and
    /// neither is what follows the user's name and password in an address.
    #[must_use]
    pub fn shown(&self, kind: Kind) -> Value {
        match self {
            Value::Text(text) if kind == Kind::Secret && !text.is_empty() && !is_reference(text) => {
                Value::Text(REDACTED.to_string())
            }
            Value::Text(text) if matches!(kind, Kind::Url | Kind::Endpoint) => Value::Text(without_userinfo(text)),
            other => other.clone(),
        }
    }

    /// The value as JSON.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Text(text) => text.clone().into(),
            Value::Integer(number) => (*number).into(),
            Value::Number(number) => (*number).into(),
            Value::Boolean(truth) => (*truth).into(),
            Value::List(items) => items.clone().into(),
        }
    }
}

/// The value as TOML writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // JSON's escapes are a subset of those of TOML's basic strings.
            Value::Text(text) => f.write_str(&serde_json::Value::from(text.as_str()).to_string()),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Number(number) => write!(f, "{number:?}"),
            Value::Boolean(truth) => write!(f, "{truth}"),
            Value::List(items) => f.write_str(&serde_json::Value::from(items.clone()).to_string()),
        }
    }
}

/// What stands where a secret was.
const REDACTED: &str = "[redacted]";

/// An address without the user's name and password.
fn without_userinfo(text: &str) -> String {
    let (scheme, rest) = text.find("://").and_then(|at| text.split_at_checked(at + 3)).unwrap_or(("", text));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}{REDACTED}@{host}{path}"),
        None => text.to_string(),
    }
}

/// Whether a secret's value only says where the secret lies.
fn is_reference(text: &str) -> bool {
    text.starts_with("file:") || text.starts_with("credential:")
}

/// What a value of this kind looks like, for messages.
fn expected(kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::Path | Kind::Secret => "a text".to_string(),
        Kind::Listen => "an address such as \"127.0.0.1:7430\" (port 0: a free one), or \"off\"".to_string(),
        Kind::Endpoint => "a text of the form \"HOST:PORT\", or empty".to_string(),
        Kind::Integer(from, i64::MAX) => format!("a whole number, at least {from}"),
        Kind::Integer(from, to) => format!("a whole number from {from} to {to}"),
        Kind::Number(from, to) => format!("a number from {from} to {to}"),
        Kind::Boolean => "true or false".to_string(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Url => "an address that starts with http:// or https://, or empty".to_string(),
        Kind::RootKey => "\"file:PATH\", \"credential:NAME\" or \"passphrase:VARIABLE\"".to_string(),
        Kind::Networks => "a list of networks such as [\"10.0.0.0/8\"]".to_string(),
    }
}

/// Checks type and range. Secrets are never repeated in a message.
fn check(kind: Kind, value: Value) -> Result<Value, String> {
    let unfit = || Err(format!("must be {}", expected(kind)));
    match (kind, &value) {
        (Kind::Text | Kind::Path | Kind::Secret, Value::Text(text)) if !text.contains('\0') => Ok(value),
        (Kind::Listen, Value::Text(text)) if text == "off" || text.parse::<SocketAddr>().is_ok() => Ok(value),
        (Kind::Endpoint, Value::Text(text)) if text.is_empty() || is_endpoint(text) => Ok(value),
        (Kind::Integer(from, to), Value::Integer(number)) if (from..=to).contains(number) => Ok(value),
        (Kind::Number(from, to), Value::Number(number)) if (from..=to).contains(number) => Ok(value),
        (Kind::Number(from, to), Value::Integer(number)) => {
            // Quotas are small; a number beyond 2^31 is out of every range there is.
            let number = i32::try_from(*number).map(f64::from).unwrap_or(f64::INFINITY);
            if (from..=to).contains(&number) { Ok(Value::Number(number)) } else { unfit() }
        }
        (Kind::Boolean, Value::Boolean(_)) => Ok(value),
        (Kind::Choice(words), Value::Text(text)) if words.contains(&text.as_str()) => Ok(value),
        (Kind::Url, Value::Text(text)) if text.is_empty() || is_http_url(text) => Ok(value),
        (Kind::RootKey, Value::Text(text)) if is_root_key(text) => Ok(value),
        (Kind::Networks, Value::List(items)) => match items.iter().find_map(|item| not_a_network(item)) {
            Some(wrong) => Err(wrong),
            None => Ok(value),
        },
        _ => unfit(),
    }
}

/// What is wrong with a network: a slip in it must neither open nor close more than was meant.
fn not_a_network(text: &str) -> Option<String> {
    let Some(network) = Network::parse(text) else {
        return Some(format!("holds {text:?}, which is not a network such as \"10.0.0.0/8\""));
    };
    let first = network.first();
    (first != network.address).then(|| {
        let (address, bits) = (network.address, network.prefix_bits);
        format!("holds {text:?}, an address within a network; did you mean \"{first}/{bits}\", or \"{address}\"?")
    })
}

fn is_endpoint(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|p| p > 0))
}

fn is_http_url(text: &str) -> bool {
    text.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some_and(|a| !a.host().is_empty())
    })
}

fn is_root_key(text: &str) -> bool {
    text.split_once(':').is_some_and(|(how, what)| {
        matches!(how, "file" | "credential" | "passphrase") && !what.is_empty() && !what.contains('\0')
    })
}

/// A network in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

impl Network {
    /// Reads `ADDRESS/BITS`; a bare address is a network of one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Network> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = bits.unwrap_or(width);
        (prefix_bits <= width).then_some(Network { address, prefix_bits })
    }

    /// The network of one address.
    #[must_use]
    pub fn of(address: IpAddr) -> Network {
        Network { address, prefix_bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// The network's first address.
    fn first(&self) -> IpAddr {
        let cleared = |width: u32| width.saturating_sub(u32::from(self.prefix_bits));
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(cleared(32)).unwrap_or(0);
                IpAddr::V4((address.to_bits() & mask).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(cleared(128)).unwrap_or(0);
                IpAddr::V6((address.to_bits() & mask).into())
            }
        }
    }

    /// Whether it is everybody: all of IPv4, or all of IPv6.
    #[must_use]
    pub fn is_everybody(&self) -> bool {
        self.prefix_bits == 0
    }

    /// Whether `address` lies in the network. An IPv4 address mapped into IPv6 counts as what it stands for.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32u32.saturating_sub(u32::from(self.prefix_bits));
                network.to_bits().checked_shr(shift).unwrap_or(0) == address.to_bits().checked_shr(shift).unwrap_or(0)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128u32.saturating_sub(u32::from(self.prefix_bits));
                network.to_bits().checked_shr(shift).unwrap_or(0) == address.to_bits().checked_shr(shift).unwrap_or(0)
            }
            _ => false,
        }
    }
}
