//! Reading the body of a call, whose caller nobody knows yet: most are small and read at once; of others only so many are read
//! and held at a time, and whoever is slow with one loses his turn.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use quintet_platform::service::{Fault, Turn};
use quintet_storage::Uuid;
use tokio::time::{Instant, timeout_at};

use super::super::receive::SMALL_BODY_BYTES;
use crate::context::Context;
use crate::dialect::{BODY_TIME, SMALL_BODY_BYTES_MAX};

/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a body that has its turn comes with, in bytes a second.
const PACE_BYTES: u64 = 64 << 10;
/// How far behind that it may be.
const PACE_TIME: Duration = Duration::from_secs(5);

/// A body, with what is held as long as it is worked on.
pub(super) struct Taken {
    pub(super) bytes: Bytes,
    pub(super) _turn: Option<Turn>,
}

/// Reads a body of a mebibyte at most. One that says to be larger is refused before any of it is read.
///
/// # Errors
/// It is too large, too slow or broken; or others had their turn for too long.
pub(super) async fn read(context: &Context, headers: &HeaderMap, mut body: Body, source: Uuid) -> Result<Taken, Fault> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.trim().parse::<u64>().ok());
    if length.is_some_and(|length| length > SMALL_BODY_BYTES_MAX as u64) {
        return Err(Fault::BodyTooLarge);
    }
    let mut turn = match length {
        Some(length) if length > SMALL_BODY_BYTES as u64 => Some(hold(context, source).await?),
        _ => None,
    };
    let (mut whole, mut first) = (BytesMut::new(), None::<Bytes>);
    let mut until = Instant::now() + if turn.is_some() { PACE_TIME } else { BODY_TIME };
    loop {
        let frame = timeout_at(until, body.frame()).await.map_err(|_| Fault::BodyTimedOut)?;
        let Some(frame) = frame else { break };
        let Ok(chunk) = frame.map_err(|_| Fault::BodyBroken)?.into_data() else { continue };
        let so_far = whole.len() + first.as_ref().map_or(0, Bytes::len) + chunk.len();
        if so_far > SMALL_BODY_BYTES_MAX {
            return Err(Fault::BodyTooLarge);
        }
        if turn.is_none() && so_far > SMALL_BODY_BYTES {
            turn = Some(hold(context, source).await?);
            until = Instant::now() + PACE_TIME;
        }
        if turn.is_some() {
            let gained = Duration::from_nanos((chunk.len() as u64).saturating_mul(1_000_000_000) / PACE_BYTES);
            until = (until + gained).min(Instant::now() + PACE_TIME);
        }
        // Most bodies are one chunk, which needs no copy.
        match first.take() {
            None if whole.is_empty() => first = Some(chunk),
            earlier => {
                whole.extend_from_slice(&earlier.unwrap_or_default());
                whole.extend_from_slice(&chunk);
            }
        }
    }
    Ok(Taken { bytes: first.unwrap_or_else(|| whole.freeze()), _turn: turn })
}

async fn hold(context: &Context, source: Uuid) -> Result<Turn, Fault> {
    context.calls.hold(source, 1, PATIENCE).await
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;
    use crate::testing::Bench;

    const SOURCE: Uuid = Uuid::from_u128(1);

    fn body(pieces: Vec<Vec<u8>>, is_endless: bool) -> Body {
        let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
        if is_endless { Body::from_stream(pieces.chain(stream::pending())) } else { Body::from_stream(pieces) }
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_a_mebibyte() {
        let bench = Bench::new();
        let none = HeaderMap::new();
        let half = vec![b'x'; SMALL_BODY_BYTES_MAX / 2];
        for (pieces, expected) in [
            (vec![], Some(0)),
            (vec![b"one".to_vec()], Some(3)),
            (vec![b"one".to_vec(), vec![], b"two".to_vec(), b"three".to_vec()], Some(11)),
            (vec![half.clone(), half.clone()], Some(SMALL_BODY_BYTES_MAX)),
            (vec![half.clone(), half.clone(), b"x".to_vec()], None),
        ] {
            let taken = read(&bench.context, &none, body(pieces, false), SOURCE).await;
            assert_eq!(taken.map(|taken| taken.bytes.len()).ok(), expected);
        }
        let claims = HeaderMap::from_iter([(CONTENT_LENGTH, (SMALL_BODY_BYTES_MAX + 1).into())]);
        let unread = read(&bench.context, &claims, body(vec![], true), SOURCE).await;
        assert!(matches!(unread, Err(Fault::BodyTooLarge)), "before a byte of it is read");
    }

    /// Whoever sends many large ones and never ends leaves turns to others, and loses his own.
    #[tokio::test(start_paused = true)]
    async fn large_ones_take_turns() {
        let bench = Bench::new();
        let endless = || {
            let (context, large) = (bench.context.clone(), vec![b'x'; SMALL_BODY_BYTES + 1]);
            tokio::spawn(async move {
                let taken = read(&context, &HeaderMap::new(), body(vec![large], true), SOURCE).await;
                taken.map(|taken| taken.bytes.len())
            })
        };
        let begun: Vec<_> = (0..20).map(|_| endless()).collect();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(bench.context.calls.hold(SOURCE, 1, Duration::ZERO).await.is_err(), "he has as many as one may have");
        assert!(bench.context.calls.hold(Uuid::from_u128(2), 1, Duration::ZERO).await.is_ok());
        for one in begun {
            assert!(matches!(one.await.unwrap(), Err(Fault::BodyTimedOut | Fault::Busy)));
        }
        assert!(bench.context.calls.hold(SOURCE, 1, Duration::ZERO).await.is_ok());
    }
}
