//! The stream of an agent: what comes into its inbox, as it comes.

use std::convert::Infallible;

use axum::body::Body;
use futures_util::stream;
use http::header::CACHE_CONTROL;
use http::{HeaderName, HeaderValue, Method};
use quintet_platform::http::Outgoing;
use quintet_platform::service::{Answer, Route, media};

use super::super::watch::{Watcher, Wish, watch};
use crate::dialect::{ACTING, Answered, Call};

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const X_AGENTBUS_WAKE_CAPABLE: HeaderName = HeaderName::from_static("x-agentbus-wake-capable");

pub(super) const STREAM: Route = Route::get("stream_events", "/v1/stream")
    .permission("read")
    .summary("Server-sent events as mail comes in; Last-Event-ID is the last agent_seq that was read")
    .successes(&[media(200, &[("text/event-stream", r#"{"type":"string"}"#)]).about(
        "A `message` for each delivery or release, an `ephemeral` for what is kept nowhere, `unauthorized` at \
                the end if the key is not good any more, and a comment every 20 seconds",
    )])
    .marks(&[ACTING])
    .codes(&["limit_reached", "permission_denied"]);

pub(super) async fn stream(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    // A stream that nobody reads would show that somebody waits.
    if call.parts.method == Method::HEAD {
        return Ok(Answer::stream(200, EVENT_STREAM, Body::empty()).header(CACHE_CONTROL, NO_STORE));
    }
    let header = |name: &HeaderName| call.headers().get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let wish = Wish {
        after: header(&LAST_EVENT_ID).and_then(|text| text.parse().ok()).unwrap_or(0),
        is_wake_capable: header(&X_AGENTBUS_WAKE_CAPABLE) == Some("1"),
        outgoing: call.parts.extensions.get::<Outgoing>().cloned(),
    };
    let watcher = watch(&call.context, &call.caller, agent, wish)?;
    Ok(Answer::stream(200, EVENT_STREAM, pieces(watcher)).header(CACHE_CONTROL, NO_STORE))
}

/// What a watcher tells, piece by piece. A stream may be open for days and have little to say: it is one box, and what it
/// holds is small.
fn pieces(watcher: Box<Watcher>) -> Body {
    Body::from_stream(stream::unfold(watcher, |mut watcher| async move {
        let piece = watcher.piece().await?;
        Some((Ok::<_, Infallible>(piece), watcher))
    }))
}
