//! What every request is asked first: who sends it, and whether it says exactly what its route wants to know.

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::request::Parts;
use http::uri::Authority as UriAuthority;
use http::{HeaderMap, Uri};
use quintet_platform::NotAdmitted;
use quintet_platform::access::{self, Service};
use quintet_platform::http::body::{self, BodyError};
use quintet_platform::http::origin::scheme;
use quintet_platform::http::query::{Query, QueryError};
use quintet_platform::json::{self, Fields, JsonError, Limits};
use tokio::sync::SemaphorePermit;

use super::routes::PERMISSION;
use crate::context::Context;
use crate::refusal::Refusal;

/// A body up to this size is read without further ado; of larger ones, only so many are held at once.
pub(super) const SMALL_BODY_BYTES: u64 = 64 << 10;
/// How much larger than a text its JSON or its form may be, where each character is escaped.
const ESCAPED_FACTOR: usize = 3;
/// What stands around a text in a body.
const AROUND_BYTES: usize = 4 << 10;
/// The deepest JSON; the root is level 1. No request needs more than one.
const JSON_DEPTH: Limits = Limits { max_depth: 16 };

/// Lets a request in, if keys are required at all.
pub(super) async fn authorize(context: &Context, headers: &HeaderMap) -> Result<(), Refusal> {
    match context.requires_key {
        true => authorize_credential(context, access::authorization(headers)).await,
        false => Ok(()),
    }
}

/// Lets a credential in: that of a header field, or one that was typed into the form.
pub(super) async fn authorize_credential(context: &Context, credential: Option<&str>) -> Result<(), Refusal> {
    let caller = context.admit(Service::Diagrams, credential, Some(PERMISSION)).await;
    caller.map(drop).map_err(|reason| match reason {
        NotAdmitted::Refused(refusal) => Refusal::from(refusal),
        NotAdmitted::OverQuota(seconds) => Refusal::QuotaExceeded(u32::try_from(seconds).unwrap_or(u32::MAX)),
        NotAdmitted::Store(failure) => Refusal::from(failure),
        NotAdmitted::Unavailable | NotAdmitted::CredentialRejected => Refusal::AuthorizationUnavailable,
    })
}

/// The parameters of a query.
pub(super) fn query(uri: &Uri) -> Result<Query, Refusal> {
    Query::parse(uri.query()).map_err(parameter)
}

/// What is wrong with a parameter.
pub(super) fn parameter(error: QueryError) -> Refusal {
    Refusal::Invalid(error.to_string())
}

/// The one text field of a JSON body.
pub(super) async fn one_field(
    context: &Context,
    headers: &HeaderMap,
    body: Body,
    name: &str,
    bytes_max: usize,
) -> Result<String, Refusal> {
    let (bytes, _place) = read_body(context, headers, body, bytes_max).await?;
    let document = json::parse(&bytes, JSON_DEPTH).map_err(|error| match error {
        JsonError::Empty => Refusal::Invalid(format!("a JSON object with the field {name} is required")),
        other => Refusal::Invalid(other.to_string()),
    })?;
    let mut fields = Fields::new(document).map_err(|error| Refusal::Invalid(error.to_string()))?;
    let text: String = fields.required(name).map_err(|error| Refusal::Invalid(error.to_string()))?;
    fields.finish().map_err(|unknown| {
        let texts: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        Refusal::Invalid(texts.join("; "))
    })?;
    check_size(name, &text, bytes_max)?;
    Ok(text)
}

/// Refuses a text that is too long.
pub(super) fn check_size(name: &str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    match text.len() > bytes_max {
        true => Err(too_large(name, bytes_max)),
        false => Ok(()),
    }
}

fn too_large(name: &str, bytes_max: usize) -> Refusal {
    Refusal::TooLarge(format!("{name} is larger than {bytes_max} bytes"))
}

/// A body that holds a text of `bytes_max` at most, and the place it takes among the large ones.
pub(super) async fn read_body<'a>(
    context: &'a Context,
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<(Bytes, Option<SemaphorePermit<'a>>), Refusal> {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
    let place = match length {
        Some(length) if length <= SMALL_BODY_BYTES => None,
        _ => Some(context.large_bodies.try_acquire().map_err(|_| Refusal::Busy)?),
    };
    let most = bytes_max.saturating_mul(ESCAPED_FACTOR).saturating_add(AROUND_BYTES);
    let bytes = body::read(headers, body, most, context.body_time).await.map_err(|error| match error {
        BodyError::TooLarge => Refusal::TooLarge(format!("the body is larger than {most} bytes")),
        BodyError::TimedOut => Refusal::BodyTimedOut,
        BodyError::Broken => Refusal::Invalid(error.to_string()),
    })?;
    Ok((bytes, place))
}

/// Scheme and authority by which the caller reaches this service, for absolute addresses: what the listener knows, and
/// what the Host field says. The latter comes from the caller and goes back to nobody else.
pub(super) fn origin(parts: &Parts) -> Result<String, Refusal> {
    let named = match parts.uri.authority() {
        Some(authority) => Some(authority.clone()),
        None => {
            let mut values = parts.headers.get_all(HOST).iter();
            let only = values.next().filter(|_| values.next().is_none());
            only.and_then(|value| UriAuthority::try_from(value.as_bytes()).ok())
        }
    };
    let named = named.filter(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
    let authority = named.ok_or_else(|| Refusal::Invalid("the Host field must name this service".to_owned()))?;
    Ok(format!("{}://{authority}", scheme(&parts.extensions)))
}

/// The path of a request, decoded, behind a prefix.
pub(super) fn behind(request: &Request, prefix: &str) -> Option<String> {
    let segment = request.uri().path().strip_prefix(prefix)?;
    quintet_platform::http::query::decode_segment(segment)
}

#[cfg(test)]
mod tests {
    use quintet_platform::http::origin::ReachedByHttps;

    use super::*;

    #[test]
    fn what_the_listener_knows_is_the_scheme() {
        let request = Request::builder().uri("/graphs").header("host", "a.example").extension(ReachedByHttps);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(origin(&parts).unwrap(), "https://a.example");
    }

    fn origin_of(uri: &str, fields: &[(&str, &str)]) -> Option<String> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        origin(&parts).ok()
    }

    #[test]
    fn addresses_are_those_the_caller_used() {
        for (uri, fields, expected) in [
            ("/graphs", &[("host", "a.example:7450")][..], Some("http://a.example:7450")),
            ("/graphs", &[("host", "[::1]:7450")], Some("http://[::1]:7450")),
            ("http://b.example/graphs", &[("host", "a.example")], Some("http://b.example")),
            ("/graphs", &[("host", "a.example"), ("x-forwarded-proto", "https")], Some("http://a.example")),
            ("/graphs", &[("host", "a.example/x")], None),
            ("/graphs", &[("host", "u@a.example")], None),
            ("/graphs", &[("host", "a b")], None),
            ("/graphs", &[("host", "a\"b")], None),
            ("/graphs", &[("host", "a.example"), ("host", "b.example")], None),
            ("/graphs", &[("host", "")], None),
            ("/graphs", &[], None),
        ] {
            assert_eq!(origin_of(uri, fields).as_deref(), expected, "{uri} {fields:?}");
        }
    }
}
