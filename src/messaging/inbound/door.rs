//! Calls of this appliance itself: what its services tell an address that is an inbound endpoint of its own comes in here,
//! without a socket and after the same checks (6-messaging.md, H6).

use std::sync::Weak;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::uri::Authority;
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use quintet_platform::clock::BoxFuture;
use quintet_platform::egress::Inside;
use quintet_platform::ids::parse_ulid;
use quintet_platform::service::ServiceRefusal as _;
use quintet_storage::Uuid;

use super::model::EndpointId;
use super::receive::{Arrived, NotTaken, receive};
use crate::context::{Context, Parts};
use crate::dialect::SMALL_BODY_BYTES_MAX;
use crate::rejections::Rejection;

/// What answers for the inbound endpoints of this appliance.
pub struct Door(Weak<Parts>);

impl Door {
    /// It holds nothing: whoever calls is held by what it opens on.
    #[must_use]
    pub fn new(context: &Context) -> Door {
        Door(context.downgrade())
    }

    fn context(&self) -> Option<Context> {
        self.0.upgrade().map(Context::of)
    }
}

impl Inside for Door {
    fn takes(&self, uri: &Uri) -> bool {
        self.context().is_some_and(|context| endpoint(&context.base_url(), uri).is_some())
    }

    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<()>> {
        let context = self.context();
        Box::pin(async move {
            let Some(context) = context else { return answered(StatusCode::SERVICE_UNAVAILABLE, None) };
            let (parts, body) = request.into_parts();
            if body.len() > SMALL_BODY_BYTES_MAX {
                return answered(StatusCode::PAYLOAD_TOO_LARGE, None);
            }
            let named = endpoint(&context.base_url(), &parts.uri);
            let endpoint = named.and_then(parse_ulid).map(EndpointId);
            let (headers, source) = (parts.headers, Uuid::nil());
            let arrived = Arrived { endpoint, headers, body, source, is_from_within: true };
            match receive(&context, arrived).await {
                Ok(_) => answered(StatusCode::ACCEPTED, None),
                // A crash may have come between its message and what was written down of the attempt. The next one has a newer
                // timestamp, and is told what the first one became.
                Err(NotTaken::Rejected(Rejection::Replay)) => answered(StatusCode::SERVICE_UNAVAILABLE, None),
                Err(not_taken) => {
                    let verdict = not_taken.refusal().verdict();
                    let status = StatusCode::from_u16(verdict.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                    answered(status, verdict.retry_after_seconds)
                }
            }
        })
    }
}

fn answered(status: StatusCode, retry_after_seconds: Option<u64>) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    if let Some(seconds) = retry_after_seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// What an address names as an endpoint below a base; `None`: it is no address of one. A query says nothing there, so it
/// makes no other address of it either.
fn endpoint<'u>(base: &str, uri: &'u Uri) -> Option<&'u str> {
    let base: Uri = base.parse().ok()?;
    let is_same = base.scheme()? == uri.scheme()? && place(&base)? == place(uri)?;
    let rest = uri.path().strip_prefix(base.path().trim_end_matches('/'))?.strip_prefix("/in/")?;
    Some(rest).filter(|rest| is_same && !rest.is_empty() && !rest.contains('/'))
}

/// Host and port, in one spelling.
fn place(uri: &Uri) -> Option<(String, u16)> {
    let authority: &Authority = uri.authority()?;
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let has_user = authority.as_str().contains('@');
    let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
    Some((host, authority.port_u16().unwrap_or(usual))).filter(|_| !has_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_its_own_or_not() {
        let named = |base: &str, uri: &str| {
            let uri: Uri = uri.parse().unwrap();
            endpoint(base, &uri).map(str::to_owned)
        };
        for (base, uri) in [
            ("http://127.0.0.1:7440", "http://127.0.0.1:7440/in/x"),
            ("https://Agents.example", "https://agents.example:443/in/x"),
            ("https://agents.example/bus", "https://AGENTS.example./bus/in/x"),
            ("https://agents.example", "https://agents.example/in/x?y"),
        ] {
            assert_eq!(named(base, uri).as_deref(), Some("x"), "{uri}");
        }
        for (base, uri) in [
            ("https://agents.example", "http://agents.example/in/x"),
            ("https://agents.example", "https://agents.example:444/in/x"),
            ("https://agents.example", "https://agents.example.evil/in/x"),
            ("https://agents.example", "https://a@agents.example/in/x"),
            ("https://agents.example", "https://agents.example/in/x/y"),
            ("https://agents.example", "https://agents.example/in/"),
            ("https://agents.example", "https://agents.example/v1/in/x"),
            ("https://agents.example/bus", "https://agents.example/in/x"),
            ("", "https://agents.example/in/x"),
        ] {
            assert_eq!(named(base, uri), None, "{base} {uri}");
        }
    }
}
