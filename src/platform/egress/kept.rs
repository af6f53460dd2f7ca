//! Connections that are kept for a while after an answer was read to its end, for the next request to the same place.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::target::Target;

/// How long a connection is kept idle.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(10);
/// How often it is looked for those that have been idle that long.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// The most connections that are kept to one place, and to all.
const OF_A_TARGET_MAX: usize = 4;
const OF_ALL_MAX: usize = 256;

/// A connection. Whoever drops it closes it.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) peer: SocketAddr,
    /// Moves the bytes, for as long as this lives.
    pub(super) _task: Moving,
}

/// A task that moves the bytes of a connection, and ends with it.
pub(super) struct Moving(pub(super) AbortHandle);

impl Drop for Moving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Connections that wait for the next request. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    /// Those to a target, each with when it began to wait.
    all: HashMap<Target, Vec<(Connection, Instant)>>,
    /// Whether somebody closes those that wait too long.
    is_watched: bool,
}

impl Kept {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.waiting().all.values().map(Vec::len).sum()
    }

    /// A connection to one of these addresses, which have just been vetted for this target.
    pub(super) fn take(&self, target: &Target, vetted: &[SocketAddr]) -> Option<Connection> {
        let all = &mut self.waiting().all;
        let of_target = all.get_mut(target)?;
        of_target.retain(|(connection, since)| since.elapsed() < IDLE_TIME && !connection.sender.is_closed());
        let place = of_target.iter().rposition(|(connection, _)| vetted.contains(&connection.peer));
        let taken = place.map(|place| of_target.remove(place).0);
        if of_target.is_empty() {
            all.remove(target);
        }
        taken
    }

    /// Keeps a connection whose last answer was read to its end, if there is room for it.
    pub(super) fn keep(&self, target: Target, connection: Connection) {
        if connection.sender.is_closed() {
            return;
        }
        let mut waiting = self.waiting();
        if waiting.all.values().map(Vec::len).sum::<usize>() >= OF_ALL_MAX {
            return;
        }
        let of_target = waiting.all.entry(target).or_default();
        if of_target.len() >= OF_A_TARGET_MAX {
            return;
        }
        of_target.push((connection, Instant::now()));
        if !std::mem::replace(&mut waiting.is_watched, true) {
            let kept = self.clone();
            tokio::spawn(async move {
                while kept.close_idle() {
                    tokio::time::sleep(LOOK_TIME).await;
                }
            });
        }
    }

    /// Closes those that have waited long enough; whether there are others.
    fn close_idle(&self) -> bool {
        let waiting = &mut *self.waiting();
        waiting.all.retain(|_, of_target| {
            of_target.retain(|(_, since)| since.elapsed() < IDLE_TIME);
            !of_target.is_empty()
        });
        waiting.is_watched = !waiting.all.is_empty();
        waiting.is_watched
    }
}
