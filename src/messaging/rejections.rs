//! Calls of inbound endpoints that were rejected: counted in memory and stored a little later, so that whoever sends what is
//! not signed keeps neither the disk nor the writer busy. A crash may lose a minute of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quintet_storage::Timestamp;

/// How long they may stay in memory only, in seconds.
const STORE_AFTER_SECONDS: i64 = 60;
/// Of so many endpoints they are counted in a round; of more they are not.
const ENDPOINTS_MAX: usize = 10_000;

/// Why a call was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// No signature of it is good.
    Signature,
    /// It was there before.
    Replay,
    /// It is too old, or of a time to come.
    Stale,
}

/// How many were, for each reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rejected {
    pub(crate) signature: u64,
    pub(crate) replay: u64,
    pub(crate) stale: u64,
}

/// Those that are not stored yet, by the endpoint's id. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Rejections(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    by_endpoint: HashMap<u128, Rejected>,
    /// When the oldest of them was.
    since: Option<Timestamp>,
}

impl Rejections {
    /// Counts one. `true` if it is the first since everything was taken: time to wake the clock.
    pub(crate) fn note(&self, endpoint: u128, rejection: Rejection, now: Timestamp) -> bool {
        let mut held = self.held();
        if held.by_endpoint.len() >= ENDPOINTS_MAX && !held.by_endpoint.contains_key(&endpoint) {
            return false;
        }
        let rejected = held.by_endpoint.entry(endpoint).or_default();
        let count = match rejection {
            Rejection::Signature => &mut rejected.signature,
            Rejection::Replay => &mut rejected.replay,
            Rejection::Stale => &mut rejected.stale,
        };
        *count = count.saturating_add(1);
        let is_first = held.since.is_none();
        held.since.get_or_insert(now);
        is_first
    }

    /// Those of an endpoint that are not stored yet.
    pub(crate) fn of(&self, endpoint: u128) -> Rejected {
        self.held().by_endpoint.get(&endpoint).copied().unwrap_or_default()
    }

    /// When they are to be stored.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.held().since.map(|since| since.plus_seconds(STORE_AFTER_SECONDS))
    }

    /// Some of them, at most of so many endpoints, to be stored.
    pub(crate) fn some(&self, most: usize) -> Vec<(u128, Rejected)> {
        let held = self.held();
        let mut some: Vec<_> = held.by_endpoint.iter().take(most).map(|(id, rejected)| (*id, *rejected)).collect();
        some.sort_unstable_by_key(|(id, _)| *id);
        some
    }

    /// These are stored. What came since stays.
    pub(crate) fn stored(&self, some: &[(u128, Rejected)]) {
        let mut held = self.held();
        for (endpoint, stored) in some {
            let Some(rejected) = held.by_endpoint.get_mut(endpoint) else { continue };
            *rejected = Rejected {
                signature: rejected.signature.saturating_sub(stored.signature),
                replay: rejected.replay.saturating_sub(stored.replay),
                stale: rejected.stale.saturating_sub(stored.stale),
            };
            if *rejected == Rejected::default() {
                held.by_endpoint.remove(endpoint);
            }
        }
        if held.by_endpoint.is_empty() {
            held.since = None;
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_while_some_is_stored_is_stored_later() {
        let (rejections, now) = (Rejections::default(), Timestamp::from_micros(5_000_000));
        assert!(rejections.note(1, Rejection::Signature, now));
        assert!(!rejections.note(1, Rejection::Stale, now) && !rejections.note(2, Rejection::Replay, now));
        assert_eq!(rejections.due(), Some(now.plus_seconds(60)));
        let some = rejections.some(1);
        assert_eq!(some, [(some[0].0, rejections.some(9).iter().find(|one| one.0 == some[0].0).unwrap().1)]);
        let all = rejections.some(9);
        rejections.note(1, Rejection::Signature, now);
        rejections.stored(&all);
        assert_eq!(
            (rejections.of(1), rejections.of(2)),
            (Rejected { signature: 1, ..Rejected::default() }, Rejected::default())
        );
        rejections.stored(&rejections.some(9));
        assert_eq!((rejections.due(), rejections.some(9)), (None, vec![]));
        let full = Rejections::default();
        for id in 0..ENDPOINTS_MAX as u128 {
            assert_eq!(full.note(id, Rejection::Stale, now), id == 0);
        }
        full.note(u128::MAX, Rejection::Stale, now);
        assert_eq!(full.of(u128::MAX), Rejected::default(), "there is no room for more");
    }
}
