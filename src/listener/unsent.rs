//! What was answered and waits to be read: one bound for all listeners.
//!
//! A large answer that is there as a whole would otherwise be held for as long as its caller does not read, and a few
//! hundred callers who ask and never read hold gigabytes. Each goes out in pieces from one place that knows of all of them,
//! and counts for what it takes until its last piece has gone.
//!
//! When there is no room for another, room is made: those that nobody has read from for a while are given up first, the
//! longest unread before the others; then the slowest of whoever holds most, if that is more than the newcomer's would
//! then hold. So a tenant whose callers read slowly, or hardly, stands in nobody's way but his own. Their connections
//! break off. What still finds no room is refused, but for what has changed something: that is told in any case.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, SizeHint};
use quintet_platform::service::AnswerTo;
use quintet_storage::Uuid;

/// Answers up to this size go their way unwatched: connections are bounded, and so are these.
const SMALL_BYTES: u64 = 128 << 10;
/// What goes to a connection at a time. Copied, so that nothing keeps the whole answer alive but its one place here.
const PIECE_BYTES: usize = 64 << 10;
/// How long nobody must have read from an answer before it is given up for another, whoever holds it.
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

/// Whose room an answer takes: the tenant's, or where nobody was let in, the address's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Tenant(Uuid),
    Source(IpAddr),
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
    /// What all of them take, read or not.
    bytes: usize,
    last_number: u64,
    answers: BTreeMap<u64, Waiting>,
}

/// One of them.
struct Waiting {
    holder: Holder,
    /// All of it; what has gone out of it stays in memory until the last of it has.
    whole: Bytes,
    sent_bytes: usize,
    begun_at: Instant,
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

    /// A large answer on its way out, held here if it is there as a whole; `source` is where the request came from.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) async fn hold(&self, answer: Response, source: IpAddr) -> Result<Response, NoRoom> {
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
        let to: Option<&AnswerTo> = parts.extensions.get();
        let holder = to.map_or(Holder::Source(source), |to| Holder::Tenant(to.tenant_id));
        let is_change = to.is_some_and(|to| to.is_change);
        let place = self.take_in(whole, holder, is_change, Instant::now()).ok_or(NoRoom)?;
        Ok(Response::from_parts(parts, Body::new(place)))
    }

    fn take_in(&self, whole: Bytes, holder: Holder, is_change: bool, now: Instant) -> Option<Place> {
        let Shared { bound_bytes, patience, .. } = *self.0;
        let mut held = self.held();
        while !held.answers.is_empty() && held.bytes + whole.len() > bound_bytes {
            let given_up = held.unread(now, patience).or_else(|| held.slowest_of_most(holder, whole.len(), now));
            match given_up {
                Some(number) => held.give_up(number),
                // Whoever was told that nothing was done would do it again.
                None if is_change => break,
                None => {
                    tracing::warn!(
                        bytes = whole.len(),
                        held = held.bytes,
                        "no room for another answer; it was refused"
                    );
                    return None;
                }
            }
        }
        held.bytes += whole.len();
        held.last_number += 1;
        let number = held.last_number;
        held.answers.insert(number, Waiting { holder, whole, sent_bytes: 0, begun_at: now, read_at: now });
        Some(Place { unsent: self.clone(), number, is_over: false })
    }

    /// The next piece of an answer, and whether it was the last; none if it was given up.
    fn next_piece(&self, number: u64) -> Option<(Bytes, bool)> {
        let mut held = self.held();
        let waiting = held.answers.get_mut(&number)?;
        let rest = waiting.whole.get(waiting.sent_bytes..).unwrap_or_default();
        let piece = Bytes::copy_from_slice(rest.get(..PIECE_BYTES).unwrap_or(rest));
        waiting.sent_bytes += piece.len();
        waiting.read_at = Instant::now();
        let is_last = waiting.left_bytes() == 0;
        if is_last {
            held.forget(number);
        }
        Some((piece, is_last))
    }

    fn left_bytes(&self, number: u64) -> usize {
        self.held().answers.get(&number).map_or(0, Waiting::left_bytes)
    }
}

impl Waiting {
    fn left_bytes(&self) -> usize {
        self.whole.len() - self.sent_bytes
    }

    /// How fast it is read, in bytes a second.
    fn rate(&self, now: Instant) -> u128 {
        self.sent_bytes as u128 * 1_000_000 / (now - self.begun_at).as_micros().max(1)
    }
}

impl Held {
    /// The one that nobody has read from for longest, if that is long enough.
    fn unread(&self, now: Instant, patience: Duration) -> Option<u64> {
        let (number, waiting) = self.answers.iter().min_by_key(|(_, waiting)| waiting.read_at)?;
        (now - waiting.read_at >= patience).then_some(*number)
    }

    /// The slowest of whoever holds most, if that is more than `newcomer` would hold with so many bytes more. Of two as
    /// slow, the later one.
    fn slowest_of_most(&self, newcomer: Holder, bytes: usize, now: Instant) -> Option<u64> {
        let mut held_by: HashMap<Holder, usize> = HashMap::new();
        for waiting in self.answers.values() {
            *held_by.entry(waiting.holder).or_default() += waiting.whole.len();
        }
        let own = held_by.get(&newcomer).copied().unwrap_or_default() + bytes;
        let (most, _) = held_by.into_iter().filter(|(_, held)| *held > own).max_by_key(|(_, held)| *held)?;
        let theirs = self.answers.iter().filter(|(_, waiting)| waiting.holder == most);
        theirs.min_by_key(|(number, waiting)| (waiting.rate(now), u64::MAX - **number)).map(|(number, _)| *number)
    }

    fn give_up(&mut self, number: u64) {
        tracing::info!("an answer that was hardly read was given up, for others need its room");
        self.forget(number);
    }

    fn forget(&mut self, number: u64) {
        if let Some(waiting) = self.answers.remove(&number) {
            self.bytes -= waiting.whole.len();
        }
    }
}

/// The body of an answer that waits here.
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
            Some((piece, is_last)) => {
                self.is_over = is_last;
                Some(Ok(Frame::data(piece)))
            }
            None => {
                self.is_over = true;
                Some(Err(io::Error::other("nobody read the answer, and others needed its room")))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.unsent.left_bytes(self.number) as u64)
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

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const ONE: Holder = Holder::Source(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));
    const OTHER: Holder = Holder::Source(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)));

    fn answer(bytes: usize) -> Response {
        Response::new(Body::from(vec![7; bytes]))
    }

    /// An answer to a reader on this machine.
    async fn held(unsent: &Unsent, bytes: usize) -> Result<Response, NoRoom> {
        unsent.hold(answer(bytes), HERE).await
    }

    async fn read(response: Response) -> Result<usize, axum::Error> {
        Ok(response.into_body().collect().await?.to_bytes().len())
    }

    #[tokio::test]
    async fn what_is_read_arrives_whole_and_leaves_nothing() {
        let unsent = Unsent::new(1 << 20, PATIENCE);
        for bytes in [1, 64 << 10, 128 << 10, (128 << 10) + 1, 1 << 20] {
            assert_eq!(read(held(&unsent, bytes).await.unwrap()).await.unwrap(), bytes);
        }
        let left = { unsent.held().answers.len() };
        assert_eq!((unsent.held().bytes, left), (0, 0));
        // One that is larger than all the room goes out alone.
        let first = held(&unsent, 2 << 20).await.unwrap();
        assert_eq!(first.body().size_hint().exact(), Some(2 << 20));
        assert!(held(&unsent, 200 << 10).await.is_err());
        assert_eq!(read(first).await.unwrap(), 2 << 20);
        assert!(held(&unsent, 200 << 10).await.is_ok());
    }

    #[tokio::test]
    async fn what_nobody_reads_makes_room_for_others_after_a_while() {
        let unsent = Unsent::new(1 << 20, Duration::ZERO);
        let mut unread = Vec::new();
        for _ in 0..50 {
            unread.push(held(&unsent, 300 << 10).await.unwrap());
            assert!(unsent.held().bytes <= 1 << 20);
        }
        let last = unread.pop().unwrap();
        assert_eq!(read(last).await.unwrap(), 300 << 10);
        assert!(read(unread.remove(0)).await.is_err(), "the first was given up");
        drop(unread);
        assert_eq!(unsent.held().bytes, 0);
        let patient = Unsent::new(1 << 20, Duration::from_secs(60));
        let _held = held(&patient, 1 << 20).await.unwrap();
        assert!(held(&patient, 300 << 10).await.is_err(), "its reader may still come");
    }

    #[test]
    fn what_was_read_takes_room_until_the_last_of_it_has_gone() {
        let unsent = Unsent::new(1 << 20, Duration::from_secs(60));
        let whole = || Bytes::from(vec![7; 1 << 20]);
        let mut place = unsent.take_in(whole(), ONE, false, Instant::now()).unwrap();
        for piece in 0..(1 << 20) / PIECE_BYTES {
            assert_eq!(unsent.held().bytes, 1 << 20, "{piece}");
            assert!(unsent.take_in(whole(), ONE, false, Instant::now()).is_none());
            place.is_over = unsent.next_piece(place.number).unwrap().1;
        }
        assert!(place.is_over);
        assert_eq!(unsent.held().bytes, 0);
    }

    #[test]
    fn whoever_holds_most_makes_room_for_others() {
        let (unsent, now) = (Unsent::new(1 << 20, Duration::from_secs(60)), Instant::now());
        let take_in = |holder, bytes: usize| unsent.take_in(Bytes::from(vec![7; bytes]), holder, false, now);
        let slow: Vec<Place> = (0..4).map(|_| take_in(ONE, 250 << 10).unwrap()).collect();
        // All of them are read all the time, one less than the others.
        for place in [&slow[0], &slow[1], &slow[3]] {
            unsent.next_piece(place.number).unwrap();
        }
        assert!(take_in(ONE, 250 << 10).is_none(), "one's own");
        let other = take_in(OTHER, 250 << 10).unwrap();
        assert!(unsent.next_piece(slow[2].number).is_none(), "the slowest");
        assert!(take_in(OTHER, 600 << 10).is_none(), "others would then hold more");
        for place in [&other, &slow[0], &slow[1], &slow[3]] {
            assert!(unsent.next_piece(place.number).is_some());
        }
    }

    #[tokio::test]
    async fn what_has_changed_something_is_told_in_any_case() {
        let unsent = Unsent::new(1 << 20, Duration::from_secs(60));
        let _held = held(&unsent, 1 << 20).await.unwrap();
        assert!(held(&unsent, 300 << 10).await.is_err());
        let mut answer = answer(300 << 10);
        answer.extensions_mut().insert(AnswerTo { tenant_id: Uuid::nil(), is_change: true });
        let told = unsent.hold(answer, HERE).await.unwrap();
        assert_eq!(read(told).await.unwrap(), 300 << 10);
    }

    #[tokio::test]
    async fn what_is_made_as_it_is_sent_goes_its_way() {
        let unsent = Unsent::new(10, PATIENCE);
        let pieces = futures_util::stream::iter([Ok::<_, io::Error>(vec![1; 100_000]), Ok(vec![2; 100_000])]);
        let streamed = unsent.hold(Response::new(Body::from_stream(pieces)), HERE).await.unwrap();
        assert_eq!(read(streamed).await.unwrap(), 200_000);
    }
}
