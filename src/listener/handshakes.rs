//! Connections of an encrypted listener before they are served.
//!
//! A handshake takes some round trips, and whoever does not go on with it could hold up a place for ever. So a
//! connection takes its place among those that are served only once it is encrypted. Until then it has some seconds, and
//! there are only so many: when one more comes, the oldest of them is closed. Whoever means it is done long before that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quintet_platform::http::Outgoing;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio_rustls::server::TlsStream;

use super::accepted::Accepted;
use super::activity::Activity;
use super::closing::close;
use super::connections::Connections;
use super::stall::Progressing;
use crate::tls::Tls;

/// How long a connection may take until it is encrypted.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// What the first byte of a handshake is (RFC 8446, section 5.1).
const HANDSHAKE_RECORD: u8 = 0x16;

/// What a request without TLS is answered with. Nothing of it is looked at: it may hold a key, which anybody on the way
/// has read, so that a redirect would only hide the mistake.
const SPEAK_TLS: &str = "This port speaks TLS: use https:// instead of http://. If what was sent held a key, others may \
                         have read it: revoke it.\n";

/// The connections that are not encrypted yet. Clones count together.
#[derive(Clone)]
pub(super) struct Handshakes {
    max: usize,
    under_way: Arc<Mutex<UnderWay>>,
}

#[derive(Default)]
struct UnderWay {
    next: u64,
    /// By age. Whoever drops the sender calls the handshake off.
    turns: BTreeMap<u64, oneshot::Sender<()>>,
}

/// One connection's turn; over when it is dropped.
pub(super) struct Turn {
    number: u64,
    handshakes: Handshakes,
    called_off: oneshot::Receiver<()>,
}

/// A connection that is encrypted and has a place.
pub(super) struct Encrypted {
    // Boxed: it is large, and is moved from here into the connection that is served.
    pub(super) stream: Box<TlsStream<Progressing<Accepted>>>,
    pub(super) activity: Activity,
    pub(super) outgoing: Option<Outgoing>,
    pub(super) permit: OwnedSemaphorePermit,
}

impl Handshakes {
    /// At most so many at a time.
    pub(super) fn new(max: u32) -> Handshakes {
        Handshakes { max: max as usize, under_way: Arc::default() }
    }

    /// One more; the oldest is called off if there are too many.
    pub(super) fn enter(&self) -> Turn {
        let mut under_way = self.under_way();
        if under_way.turns.len() >= self.max {
            under_way.turns.pop_first();
        }
        let (sender, called_off) = oneshot::channel();
        let number = under_way.next;
        under_way.next += 1;
        under_way.turns.insert(number, sender);
        Turn { number, handshakes: self.clone(), called_off }
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.handshakes.under_way().turns.remove(&self.number);
    }
}

/// Encrypts a connection and waits for its place; `None` if it came to nothing: the caller speaks no TLS, took too
/// long, was called off, or the listener stops.
pub(super) async fn admit(
    stream: Accepted,
    tls: &Tls,
    mut turn: Turn,
    connections: &Connections,
    head_timeout: Duration,
    mut stop: watch::Receiver<bool>,
) -> Option<Encrypted> {
    let outgoing = stream.outgoing();
    let work = async {
        let shaken = tokio::time::timeout(HANDSHAKE_TIMEOUT, shake_hands(stream, tls, head_timeout));
        let (stream, activity) = shaken.await.ok()??;
        let permit = connections.enter().await?;
        Some(Encrypted { stream, activity, outgoing, permit })
    };
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => None,
        _ = &mut turn.called_off => None,
        encrypted = work => encrypted,
    }
}

type Shaken = (Box<TlsStream<Progressing<Accepted>>>, Activity);

async fn shake_hands(mut stream: Accepted, tls: &Tls, patience: Duration) -> Option<Shaken> {
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first == [HANDSHAKE_RECORD] => {}
        // A method of HTTP.
        Ok(1) if first.iter().all(u8::is_ascii_uppercase) => {
            refuse_plain(&mut stream).await;
            return None;
        }
        _ => return None,
    }
    let activity = Activity::default();
    // Below the encryption: whether a caller reads shows there.
    let stream = Progressing::new(stream, patience, activity.clone());
    match tls.acceptor().accept(stream).await {
        Ok(stream) => Some((Box::new(stream), activity)),
        Err(error) => {
            tracing::debug!(%error, "a handshake came to nothing");
            None
        }
    }
}

async fn refuse_plain(stream: &mut Accepted) {
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{SPEAK_TLS}",
        SPEAK_TLS.len()
    );
    if stream.write_all(answer.as_bytes()).await.is_ok() {
        close(stream, true).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_gives_way() {
        let handshakes = Handshakes::new(2);
        let mut turns: Vec<Turn> = (0..3).map(|_| handshakes.enter()).collect();
        let mut is_called_off =
            |at: usize| turns[at].called_off.try_recv() == Err(oneshot::error::TryRecvError::Closed);
        assert!(is_called_off(0));
        assert!(!is_called_off(1) && !is_called_off(2));
        drop(turns);
        assert!(handshakes.under_way().turns.is_empty(), "nothing is kept of those that are over");
    }
}
