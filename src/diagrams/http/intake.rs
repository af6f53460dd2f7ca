//! Taking bodies in: of large ones only so many at a time, and none that does not come.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http_body_util::BodyExt as _;
use quintet_platform::service::Fault;
use tokio::time::{Instant, timeout, timeout_at};

use crate::context::Context;
use crate::places::Place;
use crate::refusal::Refusal;

/// A body up to this size is read without further ado; of larger ones, only so many are held at once.
pub(super) const SMALL_BODY_BYTES: usize = 64 << 10;
/// How much of a large one must arrive in [`PACE_TIME`], and then in the next: whoever holds a place makes use of it. The
/// time for the whole body asks no less of it.
const PACE_BYTES: usize = 64 << 10;
const PACE_TIME: Duration = Duration::from_secs(2);

/// The address that a request comes from, where that is known.
pub(super) fn source_of(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(source)| source.ip())
}

/// A body of so many bytes at most, and the place it takes among the large ones.
pub(super) async fn take_in<'a>(
    context: &'a Context,
    parts: &Parts,
    body: Body,
    bytes_max: usize,
    time: Duration,
) -> Result<(Bytes, Option<Place<'a>>), Refusal> {
    if claimed_bytes(&parts.headers).is_some_and(|claimed| claimed > bytes_max as u64) {
        return Err(Fault::BodyTooLarge.into());
    }
    let arriving = arrive(context, source_of(parts), body, bytes_max);
    timeout(time, arriving).await.map_err(|_| Fault::BodyTimedOut)?
}

/// Takes a body in. It gets a place once it has turned out to be large: one that was only announced takes none.
async fn arrive(
    context: &Context,
    source: Option<IpAddr>,
    mut body: Body,
    bytes_max: usize,
) -> Result<(Bytes, Option<Place<'_>>), Refusal> {
    let mut whole = BytesMut::new();
    let mut place = None;
    // How much must have arrived by when.
    let (mut due, mut due_at) = (usize::MAX, Instant::now());
    loop {
        let frame = match place {
            None => body.frame().await,
            Some(_) => timeout_at(due_at, body.frame()).await.map_err(|_| Fault::BodyTimedOut)?,
        };
        let Some(frame) = frame else { return Ok((whole.freeze(), place)) };
        let Ok(chunk) = frame.map_err(|_| Fault::BodyBroken)?.into_data() else { continue };
        if chunk.len() > bytes_max.saturating_sub(whole.len()) {
            return Err(Fault::BodyTooLarge.into());
        }
        whole.extend_from_slice(&chunk);
        let is_first = place.is_none() && whole.len() > SMALL_BODY_BYTES;
        if is_first {
            place = Some(context.large_bodies.enter(source).ok_or(Fault::Busy)?);
        }
        if is_first || whole.len() >= due {
            (due, due_at) = (whole.len() + PACE_BYTES, Instant::now() + PACE_TIME);
        }
    }
}

fn claimed_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}
