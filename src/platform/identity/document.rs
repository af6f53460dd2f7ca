//! What a provider says of itself (OpenID Connect Discovery 1.0, 3).

use http::Uri;

use crate::http::query::encode_segment;
use crate::json::{Json, Limits, parse};

/// What a provider says of itself, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Where people sign in.
    pub(super) authorization: String,
    /// Where a code becomes tokens.
    pub(super) token: Uri,
    /// Where its keys are.
    pub(super) keys: Uri,
    /// Where it tells more of somebody, if anywhere.
    pub(super) userinfo: Option<Uri>,
    /// Where people sign out, if anywhere.
    pub(super) end_session: Option<String>,
    /// Whether every callback says `iss` (RFC 9207).
    pub(super) promises_issuer: bool,
    /// How the client proves itself where codes become tokens.
    pub(super) takes: ClientProof,
}

/// How the client proves itself (OpenID Connect Core 1.0, 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientProof {
    /// By a header field, as every provider takes it that says nothing else.
    Basic,
    /// In the form.
    Post,
}

impl Document {
    /// Reads a document of the provider with this issuer. `None`: it is none, another's, or names addresses that nobody can
    /// be sent to. Whoever is called by `https` names nobody by `http`.
    pub(super) fn read(body: &[u8], issuer: &str) -> Option<Document> {
        let json = parse(body, Limits { max_depth: 16 }).ok()?;
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        if text("issuer") != Some(issuer) {
            return None;
        }
        let is_plain_allowed = issuer.starts_with("http://");
        let address = |name: &str| -> Option<Uri> {
            let text = text(name)?;
            let uri: Uri = text.parse().ok()?;
            let is_usable = match uri.scheme_str() {
                Some("https") => true,
                Some("http") => is_plain_allowed,
                _ => false,
            };
            let names_host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
            (is_usable && names_host && !text.contains('#')).then_some(uri)
        };
        let methods = match json.get("token_endpoint_auth_methods_supported") {
            Some(Json::Array(methods)) => methods.iter().filter_map(Json::as_str).collect(),
            _ => vec!["client_secret_basic"],
        };
        let is_posted = !methods.contains(&"client_secret_basic") && methods.contains(&"client_secret_post");
        Some(Document {
            authorization: address("authorization_endpoint")?.to_string(),
            token: address("token_endpoint")?,
            keys: address("jwks_uri")?,
            userinfo: address("userinfo_endpoint"),
            end_session: address("end_session_endpoint").map(|address| address.to_string()),
            promises_issuer: json.get("authorization_response_iss_parameter_supported") == Some(&Json::Bool(true)),
            takes: if is_posted { ClientProof::Post } else { ClientProof::Basic },
        })
    }
}

/// Pairs as `application/x-www-form-urlencoded`.
pub(super) fn form(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", encode_segment(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// An address with these parameters besides those that it has.
pub(super) fn with_parameters(address: &str, pairs: &[(&str, &str)]) -> String {
    let joint = if address.contains('?') { '&' } else { '?' };
    format!("{address}{joint}{}", form(pairs))
}
