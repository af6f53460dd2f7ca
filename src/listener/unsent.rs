//! What was answered and waits to be read: one bound for all listeners.
//!
//! A large answer that is there as a whole would otherwise be held for as long as its caller does not read, and a few
//! hundred callers who ask and never read hold gigabytes. Each goes out in pieces from one place that knows of all of them.
//! When there is no room for another, those that nobody has read from for a while are given up, the longest unread first:
//! their connections break off. What still finds no room is refused.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, SizeHint};

/// Answers up to this size go their way unwatched: connections are bounded, and so are these.
const SMALL_BYTES: u64 = 128 << 10;
/// What goes to a connection at a time. Copied, so that nothing keeps the whole answer alive but its one place here.
const PIECE_BYTES: usize = 64 << 10;
/// How long nobody must have read from an answer before it is given up for another.
const PATIENCE: Duration = Duration::from_secs(2);
/// The usual bound, in bytes.
const BOUND_BYTES: usize = 256 << 20;

/// The answers that wait to be read. Clones share them.
#[derive(Clone)]
pub struct Unsent(Arc<Shared>);

struct Shared {
    bound_bytes: usize,
    patience: Duration,
    held: Mutex<Held>,
}

/// There is no room for another large answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

/// Whether an answer is so small, or made as it is sent, that nobody need look after it.
pub(super) fn is_small(answer: &Response) -> bool {
    answer.body().size_hint().exact().is_none_or(|bytes| bytes <= SMALL_BYTES)
}

#[derive(Default)]
struct Held {
    /// All that is left of all of them.
    bytes: usize,
    last_number: u64,
    answers: BTreeMap<u64, Waiting>,
}

/// What is left of an answer, and when somebody read from it last.
struct Waiting {
    left: Bytes,
    read_at: Instant,
}

impl Default for Unsent {
    fn default() -> Unsent {
        Unsent::new(BOUND_BYTES, PATIENCE)
    }
}

impl Unsent {
    fn new(bound_bytes: usize, patience: Duration) -> Unsent {
        Unsent(Arc::new(Shared { bound_bytes, patience, held: Mutex::default() }))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A large answer on its way out, held here if it is there as a whole.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) async fn hold(&self, answer: Response) -> Result<Response, NoRoom> {
        let (parts, mut body) = answer.into_parts();
        let whole = match body.frame().await {
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(_)) | None => Bytes::new(),
        };
        if !body.is_end_stream() {
            // It is made as it is sent; what was taken goes in front of the rest.
            let first = futures_util::stream::iter([Ok::<_, axum::Error>(whole)]);
            let rest = futures_util::StreamExt::chain(first, body.into_data_stream());
            return Ok(Response::from_parts(parts, Body::from_stream(rest)));
        }
        let place = self.take_in(whole, Instant::now()).ok_or(NoRoom)?;
        Ok(Response::from_parts(parts, Body::new(place)))
    }

    fn take_in(&self, whole: Bytes, now: Instant) -> Option<Place> {
        let mut held = self.held();
        while !held.answers.is_empty() && held.bytes + whole.len() > self.0.bound_bytes {
            let longest_unread = held.answers.iter().min_by_key(|(_, waiting)| waiting.read_at);
            let given_up = longest_unread.filter(|(_, waiting)| now - waiting.read_at >= self.0.patience);
            let number = given_up.map(|(number, _)| *number)?;
            held.forget(number);
        }
        held.bytes += whole.len();
        held.last_number += 1;
        let number = held.last_number;
        held.answers.insert(number, Waiting { left: whole, read_at: now });
        Some(Place { unsent: self.clone(), number, is_over: false })
    }

    /// The next piece of an answer; `None` if it was given up. Empty behind the last.
    fn next_piece(&self, number: u64) -> Option<Bytes> {
        let mut held = self.held();
        let waiting = held.answers.get_mut(&number)?;
        let piece = waiting.left.split_to(waiting.left.len().min(PIECE_BYTES));
        waiting.read_at = Instant::now();
        held.bytes -= piece.len();
        Some(Bytes::copy_from_slice(&piece))
    }
}

impl Held {
    fn forget(&mut self, number: u64) {
        if let Some(waiting) = self.answers.remove(&number) {
            self.bytes -= waiting.left.len();
        }
    }
}

/// The body of an answer that is held.
struct Place {
    unsent: Unsent,
    number: u64,
    is_over: bool,
}

impl hyper::body::Body for Place {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        Poll::Ready(match self.unsent.next_piece(self.number) {
            Some(piece) if piece.is_empty() => {
                self.is_over = true;
                None
            }
            Some(piece) => Some(Ok(Frame::data(piece))),
            None => {
                self.is_over = true;
                Some(Err(io::Error::other("nobody read the answer, and others needed its room")))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.unsent.held().answers.get(&self.number).is_some_and(|waiting| waiting.left.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.unsent.held().answers.get(&self.number).map(|waiting| waiting.left.len() as u64);
        left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.unsent.held().forget(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: usize) -> Response {
        Response::new(Body::from(vec![7; bytes]))
    }

    async fn read(response: Response) -> Result<usize, axum::Error> {
        Ok(response.into_body().collect().await?.to_bytes().len())
    }

    #[tokio::test]
    async fn what_is_read_arrives_whole_and_leaves_nothing() {
        let unsent = Unsent::new(1 << 20, PATIENCE);
        for bytes in [0, 1, 128 << 10, (128 << 10) + 1, 1 << 20] {
            assert_eq!(read(unsent.hold(answer(bytes)).await.unwrap()).await.unwrap(), bytes);
        }
        let left = { unsent.held().answers.len() };
        assert_eq!((unsent.held().bytes, left), (0, 0));
        // One that is larger than all the room goes out alone.
        let first = unsent.hold(answer(2 << 20)).await.unwrap();
        assert_eq!(first.body().size_hint().exact(), Some(2 << 20));
        assert!(unsent.hold(answer(200 << 10)).await.is_err());
        assert_eq!(read(first).await.unwrap(), 2 << 20);
        assert!(unsent.hold(answer(200 << 10)).await.is_ok());
    }

    #[tokio::test]
    async fn what_nobody_reads_makes_room_for_others_after_a_while() {
        let unsent = Unsent::new(1 << 20, Duration::ZERO);
        let mut unread = Vec::new();
        for _ in 0..50 {
            unread.push(unsent.hold(answer(300 << 10)).await.unwrap());
            assert!(unsent.held().bytes <= 1 << 20);
        }
        let last = unread.pop().unwrap();
        assert_eq!(read(last).await.unwrap(), 300 << 10);
        assert!(read(unread.remove(0)).await.is_err(), "the first was given up");
        drop(unread);
        assert_eq!(unsent.held().bytes, 0);
        let patient = Unsent::new(1 << 20, Duration::from_secs(60));
        let _held = patient.hold(answer(1 << 20)).await.unwrap();
        assert!(patient.hold(answer(300 << 10)).await.is_err(), "its reader may still come");
    }

    #[tokio::test]
    async fn what_is_made_as_it_is_sent_goes_its_way() {
        let unsent = Unsent::new(10, PATIENCE);
        let pieces = futures_util::stream::iter([Ok::<_, io::Error>(vec![1; 100_000]), Ok(vec![2; 100_000])]);
        let streamed = unsent.hold(Response::new(Body::from_stream(pieces))).await.unwrap();
        assert_eq!(read(streamed).await.unwrap(), 200_000);
    }
}
