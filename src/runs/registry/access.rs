//! What the operator says of registries, and how a registry is shown that somebody may ask: challenges and tokens.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue};
use quintet_platform::secrets::Secret;

use super::reference::{NotAReference, normal_host};

/// What the operator says of a registry.
#[derive(Clone, Debug)]
pub struct RegistrySettings {
    /// Its host and port.
    pub host: String,
    /// Whether it is spoken to without TLS.
    pub plain_http: bool,
    /// Who is asking; empty: nobody in particular.
    pub username: String,
    /// The password.
    pub password: Secret,
}

/// What is known of registries, by host and port.
#[derive(Clone, Debug, Default)]
pub struct Registries(BTreeMap<String, RegistrySettings>);

impl Registries {
    /// Takes what is known.
    ///
    /// # Errors
    /// A name is not that of a registry.
    pub fn new(known: &[RegistrySettings]) -> Result<Registries, NotAReference> {
        let named = known.iter().map(|settings| Ok((normal_host(&settings.host)?, settings.clone())));
        named.collect::<Result<_, _>>().map(Registries)
    }

    /// Plain HTTP is spoken with this host and port.
    pub(super) fn is_plain(&self, host: &str) -> bool {
        normal_host(host).is_ok_and(|host| self.0.get(&host).is_some_and(|known| known.plain_http))
    }

    /// Name and password for a registry, in the form of basic authentication.
    pub(super) fn basic(&self, host: &str) -> Option<HeaderValue> {
        let known = self.0.get(host).filter(|known| !known.username.is_empty())?;
        let pair = Secret::new(format!("{}:{}", known.username, known.password.expose()));
        let encoded = Secret::new(format!("Basic {}", BASE64.encode(pair.expose().as_bytes())));
        let mut value = HeaderValue::from_str(encoded.expose()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// What a registry asks of whoever asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// Name and password.
    Basic,
    /// A token that is to be had at this address.
    Bearer { realm: String, service: Option<String> },
}

/// What the answer 401 asks for. Tokens are preferred: a password is better shown less often.
pub(super) fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let mut found = None;
    for value in headers.get_all(WWW_AUTHENTICATE) {
        let Ok(text) = value.to_str() else { continue };
        for (scheme, parameters) in challenges(text) {
            if scheme.eq_ignore_ascii_case("bearer") {
                let realm = parameters.get("realm").filter(|realm| !realm.is_empty());
                if let Some(realm) = realm {
                    let service = parameters.get("service").cloned();
                    return Some(Challenge::Bearer { realm: realm.clone(), service });
                }
            } else if scheme.eq_ignore_ascii_case("basic") {
                found = Some(Challenge::Basic);
            }
        }
    }
    found
}

/// `Scheme key="value", key=value, Scheme …` (RFC 9110, 11.6.1). What cannot be read ends the list.
fn challenges(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            return found;
        }
        let value = after.trim_start().strip_prefix('=');
        match (value, found.last_mut()) {
            (Some(value), Some((_, parameters))) => {
                let Some((value, after)) = parameter(value.trim_start()) else { return found };
                parameters.insert(word.to_ascii_lowercase(), value);
                rest = after;
            }
            (Some(_), None) => return found,
            (None, _) => {
                found.push((word.to_owned(), BTreeMap::new()));
                rest = after;
            }
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
    found
}

/// A value, quoted or not, and what follows it.
fn parameter(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        let (value, after) = text.split_at(end);
        return Some((value.to_owned(), after));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

/// A part of a query, with everything escaped that is not plain.
pub(super) fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let escape = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_however_they_are_written() {
        let bearer = |realm: &str, service: Option<&str>| Challenge::Bearer {
            realm: realm.into(),
            service: service.map(Into::into),
        };
        for (lines, expected) in [
            (vec!["Basic realm=\"x\""], Some(Challenge::Basic)),
            (vec!["basic"], Some(Challenge::Basic)),
            (
                vec!["Bearer realm=\"https://a/t\",service=\"s,x\",scope=\"a:b:pull,push\""],
                Some(bearer("https://a/t", Some("s,x"))),
            ),
            (vec!["BEARER service = s , Realm = https://a/t"], Some(bearer("https://a/t", Some("s")))),
            (vec!["Basic realm=x, Bearer realm=\"https://a/t\""], Some(bearer("https://a/t", None))),
            (vec!["Basic realm=x", "Bearer realm=\"q\\\"\\\\\""], Some(bearer("q\"\\", None))),
            (vec!["Digest nonce=1, Basic realm=x"], Some(Challenge::Basic)),
            (vec!["Bearer service=x"], None),
            (vec!["Bearer realm=\"unfinished"], None),
            (vec!["realm=x"], None),
            (vec!["=,=,\"\""], None),
            (vec![""], None),
            (vec![], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in &lines {
                headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(line).unwrap());
            }
            assert_eq!(challenge(&headers), expected, "{lines:?}");
        }
    }

    #[test]
    fn credentials_are_of_one_registry_and_print_nothing() {
        let of = |host: &str| RegistrySettings {
            host: host.to_owned(),
            plain_http: true,
            username: "me".into(),
            password: "s3cret".to_owned().into(),
        };
        let registries = Registries::new(&[of("Docker.io"), of("h:5000")]).unwrap();
        assert_eq!(registries.basic("docker.io").unwrap(), "Basic bWU6czNjcmV0");
        assert!(registries.basic("h").is_none() && registries.is_plain("h:5000") && !registries.is_plain("h:5001"));
        assert!(registries.is_plain("registry-1.docker.io"), "one registry by another name");
        let shown = format!("{registries:?} {:?}", registries.basic("h:5000"));
        assert!(!shown.contains("s3cret") && !shown.contains("bWU6"), "{shown}");
        assert!(Registries::new(&[of("a/b")]).is_err());
    }

    #[test]
    fn queries_hold_what_they_are_given() {
        assert_eq!(escaped("repository:a/b:pull&x=é"), "repository%3Aa%2Fb%3Apull%26x%3D%C3%A9");
    }
}
