//! Room for large bodies: only so many are read, held and worked on at a time (6-messaging.md, E4).

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::Version;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http_body_util::BodyExt as _;
use quintet_platform::json::Fields;
use quintet_platform::service::{Change, Fault, Turn, refusal_of};
use tokio::time::{Instant, timeout_at};

use crate::dialect::{BODY_TIME, Call, Messaging, SMALL_BODY_BYTES_MAX};
use crate::form::members;
use crate::refusal::Refusal;

/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// A body of more bytes is looked at off the threads that serve everybody.
const HERE_BYTES_MAX: usize = 32 << 10;
/// What a body that has its turn comes with, in bytes a second: who is slower keeps others waiting.
const PACE_BYTES: u64 = 64 << 10;
/// So far behind that it may fall at any time, however fast it was before: who has sent nearly all and then stops keeps
/// others waiting as well.
const PACE_TIME: Duration = Duration::from_secs(5);

/// A request with a body that may be large, taken in; what it holds as long as that is worked on.
pub(crate) struct Taken {
    pub(crate) change: Change<Messaging>,
    pub(crate) turn: Option<Turn>,
    is_small: bool,
}

/// Takes a body of so many bytes at most in. It has its turn before it becomes a large one, by what it says or by what comes.
///
/// # Errors
/// It is too large, too slow, or broken; others had their turn for too long; or whoever sent it would not be let in any more.
pub(crate) async fn take(call: Call, bytes_max: usize) -> Result<Taken, Refusal> {
    let taken = take_any(call, bytes_max).await?;
    // It may have come slowly, and what is answered before anything is written tells of others.
    let call = &taken.change.call;
    call.caller.basis(false).check(&call.snapshot()).map_err(refusal_of)?;
    Ok(taken)
}

async fn take_any(mut call: Call, bytes_max: usize) -> Result<Taken, Refusal> {
    let headers = call.headers();
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.trim().parse::<usize>().ok());
    let is_endless =
        length.is_none() && (headers.contains_key(TRANSFER_ENCODING) || call.parts.version > Version::HTTP_11);
    let is_large = length.is_some_and(|length| length > SMALL_BODY_BYTES_MAX && length <= bytes_max);
    if !is_endless && !is_large {
        let is_small = length.is_none_or(|length| length <= HERE_BYTES_MAX);
        return Ok(Taken { change: call.change_of(bytes_max).await?, turn: None, is_small });
    }
    // What is wrong with it comes before its body.
    call.idempotency_key()?;
    let mut reading = Reading { whole: BytesMut::new(), until: Instant::now() + BODY_TIME, turn: None };
    if is_large {
        reading.turn = Some(Paced::begin(&call).await?);
    }
    let body = call.take_body();
    let (bytes, turn) = reading.read(&call, body, bytes_max).await?;
    let is_small = bytes.len() <= HERE_BYTES_MAX;
    call.put_body(Body::from(bytes));
    Ok(Taken { change: call.change_of(bytes_max).await?, turn, is_small })
}

/// A body that is being read.
struct Reading {
    whole: BytesMut,
    /// When it must have come, as long as it has no turn.
    until: Instant,
    turn: Option<Paced>,
}

/// A turn, and when more must have come.
struct Paced {
    turn: Turn,
    due: Instant,
}

impl Paced {
    async fn begin(call: &Call) -> Result<Paced, Refusal> {
        let turn = call.context.large_bodies.hold(call.caller.workspace.tenant_id, 1, PATIENCE).await?;
        Ok(Paced { turn, due: Instant::now() + PACE_TIME })
    }

    /// So many bytes have come.
    fn came(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let gained = Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / PACE_BYTES);
        self.due = (self.due + gained).min(Instant::now() + PACE_TIME);
    }
}

impl Reading {
    async fn read(mut self, call: &Call, mut body: Body, bytes_max: usize) -> Result<(Bytes, Option<Turn>), Refusal> {
        loop {
            // With a turn the pace alone counts: a large body that keeps it may take minutes.
            let due = self.turn.as_ref().map_or(self.until, |paced| paced.due);
            let frame = timeout_at(due, body.frame()).await.map_err(|_| Fault::BodyTimedOut)?;
            let Some(frame) = frame else { return Ok((self.whole.freeze(), self.turn.map(|paced| paced.turn))) };
            let Ok(chunk) = frame.map_err(|_| Fault::BodyBroken)?.into_data() else { continue };
            if chunk.len() > bytes_max - self.whole.len() {
                return Err(Fault::BodyTooLarge.into());
            }
            match &mut self.turn {
                Some(paced) => paced.came(chunk.len()),
                None if self.whole.len() + chunk.len() > SMALL_BODY_BYTES_MAX => {
                    self.turn = Some(Paced::begin(call).await?);
                }
                None => {}
            }
            self.whole.extend_from_slice(&chunk);
        }
    }
}

impl Taken {
    /// Reads its members: where they may be many bytes, off the threads that serve everybody.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&mut Fields) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let mut fields = members(&mut self.change)?;
        if self.is_small {
            return read(&mut fields);
        }
        let call = &self.change.call;
        call.context.lookers.take(call.caller.workspace.tenant_id, move || read(&mut fields)).await?
    }
}

#[cfg(test)]
mod tests {
    use axum::response::Response;
    use futures_util::{StreamExt as _, stream};
    use quintet_storage::Uuid;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Bench;

    const OTHER: Uuid = Uuid::from_u128(7);

    /// A send whose body comes in pieces, and may never end.
    async fn send(bench: &Bench, pieces: Vec<Vec<u8>>, is_endless: bool) -> Response {
        let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
        let body = match is_endless {
            true => Body::from_stream(pieces.chain(stream::pending())),
            false => Body::from_stream(pieces),
        };
        let request = http::Request::post("/v1/messages").header("transfer-encoding", "chunked");
        let request = request.header("authorization", format!("Bearer {}", bench.admin));
        bench.answer(request.header("x-agentbus-agent", "ann").body(body).unwrap()).await
    }

    fn bench() -> Bench {
        let bench = Bench::new();
        bench.agent("ann");
        bench
    }

    async fn has_room(bench: &Bench, tenant_id: Uuid, weight: usize) -> bool {
        bench.context.large_bodies.hold(tenant_id, weight, Duration::ZERO).await.is_ok()
    }

    #[tokio::test]
    async fn uploads_of_one_tenant_leave_turns_to_others() {
        let bench = bench();
        let own = bench.workspace.tenant_id;
        let mut uploads: Vec<_> =
            (0..4).map(|_| Box::pin(send(&bench, vec![vec![b' '; SMALL_BODY_BYTES_MAX + 1]], true))).collect();
        for upload in &mut uploads {
            for _ in 0..50 {
                let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(upload.as_mut().poll(cx)));
                assert!(polled.await.is_pending());
                tokio::task::yield_now().await;
            }
        }
        assert!(!has_room(&bench, own, 1).await);
        assert!(has_room(&bench, OTHER, 4).await);
        uploads.pop();
        assert!(has_room(&bench, own, 1).await);
    }

    #[tokio::test]
    async fn a_small_body_of_unknown_length_needs_no_turn() {
        let bench = bench();
        let full = (
            bench.context.large_bodies.hold(bench.workspace.tenant_id, 4, PATIENCE).await,
            bench.context.large_bodies.hold(OTHER, 4, PATIENCE).await,
        );
        let body = json!({"to": ["ann"], "text": "x"}).to_string().into_bytes();
        let (begin, end) = body.split_at(9);
        let pieces = vec![begin.to_vec(), end.to_vec()];
        assert_eq!(send(&bench, pieces, false).await.status(), 202);
        drop(full);
    }

    #[tokio::test(start_paused = true)]
    async fn who_trickles_loses_his_turn() {
        let bench = bench();
        let began = Instant::now();
        let status = send(&bench, vec![vec![b' '; SMALL_BODY_BYTES_MAX + 1]], true).await.status();
        assert_eq!((status.as_u16(), began.elapsed().as_secs()), (408, PACE_TIME.as_secs()));
        let turn = bench.context.large_bodies.hold(OTHER, 1, PATIENCE).await.unwrap();
        let now = Instant::now();
        let mut paced = Paced { turn, due: now + Duration::from_secs(3) };
        for (bytes, seconds) in [(64 << 10, 4.0), (32 << 10, 4.5), (1 << 20, 5.0), (1, 5.0)] {
            paced.came(bytes);
            assert_eq!(paced.due, now + Duration::from_secs_f64(seconds), "{bytes}");
        }
    }

    /// However much came before, and whatever trickles in: a turn is for a body that is coming.
    #[tokio::test(start_paused = true)]
    async fn who_stops_near_the_end_loses_his_turn() {
        let bench = bench();
        let began = Instant::now();
        assert_eq!(send(&bench, vec![vec![b' '; 16 << 20]; 2], true).await.status().as_u16(), 408);
        assert_eq!(began.elapsed().as_secs(), PACE_TIME.as_secs());
        let pieces = [vec![b' '; 32 << 20]].into_iter().chain((0..100).map(|_| vec![b' ']));
        let pieces = stream::iter(pieces.map(Ok::<_, std::io::Error>)).then(|piece| async move {
            tokio::time::sleep(Duration::from_secs(4)).await;
            piece
        });
        let request = http::Request::post("/v1/messages").header("authorization", format!("Bearer {}", bench.admin));
        let request = request.header("content-length", 33 << 20).header("x-agentbus-agent", "ann");
        let began = Instant::now();
        assert_eq!(bench.answer(request.body(Body::from_stream(pieces)).unwrap()).await.status().as_u16(), 408);
        assert_eq!(began.elapsed().as_secs(), 4 + PACE_TIME.as_secs());
    }

    /// Whoever keeps the pace may take as long as that takes; before he has a turn, he has so long.
    #[tokio::test(start_paused = true)]
    async fn who_keeps_the_pace_is_not_cut_off() {
        let bench = bench();
        let paced = |pieces: usize, bytes: usize, seconds: u64| {
            let begin = [Vec::from(r#"{"to": ["ann"], "text": "x""#)].into_iter();
            let pieces = begin.chain((0..pieces).map(move |_| vec![b' '; bytes])).chain([Vec::from("}")]);
            let pieces = stream::iter(pieces.map(Ok::<_, std::io::Error>)).then(move |piece| async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                piece
            });
            let request =
                http::Request::post("/v1/messages").header("authorization", format!("Bearer {}", bench.admin));
            let request = request.header("transfer-encoding", "chunked").header("x-agentbus-agent", "ann");
            bench.answering(request.body(Body::from_stream(pieces)).unwrap())
        };
        // 119 KB a second are more than the pace, and 8.8 MB of them more than the time.
        assert_eq!(paced(74, 119_000, 1).await.status(), 202);
        let began = Instant::now();
        assert_eq!((paced(100, 1_000, 1).await.status().as_u16(), began.elapsed()), (408, BODY_TIME));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_needs_no_large_body_takes_none() {
        let bench = bench();
        let large = "x".repeat(SMALL_BODY_BYTES_MAX);
        for (path, body, status) in [
            ("/v1/recipients/resolve", json!({"to": ["ann"], "text": large}), 200),
            ("/v1/recipients/resolve-reply", json!({"message_id": "x", "text": large}), 413),
            ("/v1/drafts", json!({"to": ["ann"], "text": "\u{1}".repeat(200_000)}), 201),
            ("/v1/memory", json!({"text": large}), 413),
            ("/v1/reminders", json!({"text": large}), 413),
        ] {
            let (answered, answer): (u16, Value) = bench.call_as("ann", "POST", path, body).await;
            assert_eq!(answered, status, "{path}: {answer}");
        }
    }
}
