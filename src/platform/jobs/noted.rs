//! What is noted in memory and stored a little later, so that reading costs no write: the last use of something, by what
//! it is of.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Failure, Store, Timestamp, WriteTx};

use super::job::Progress;

/// How long a round may wait for the writer; the next one tries again.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// Last uses, by what they are of. The newest is kept; of more things than it has room for, the uses are not noted.
pub struct Noted<K> {
    keys_max: usize,
    store_after_seconds: i64,
    held: Mutex<Held<K>>,
}

struct Held<K> {
    by_key: HashMap<K, Timestamp>,
    /// When the oldest note that is not stored was made.
    since: Option<Timestamp>,
}

impl<K: Copy + Eq + Hash + Ord> Noted<K> {
    /// Nothing noted yet. Uses of at most `keys_max` things are held, for `store_after_seconds`.
    #[must_use]
    pub fn new(keys_max: usize, store_after_seconds: i64) -> Noted<K> {
        Noted { keys_max, store_after_seconds, held: Mutex::new(Held { by_key: HashMap::new(), since: None }) }
    }

    /// Notes a use. `true` if it is the first since everything was taken: time to
    /// [`wake`](crate::clock::Clock::wake) the clock.
    pub fn note(&self, key: K, at: Timestamp) -> bool {
        let mut held = self.held();
        if held.by_key.len() >= self.keys_max && !held.by_key.contains_key(&key) {
            return false;
        }
        let newest = held.by_key.entry(key).or_insert(at);
        *newest = at.max(*newest);
        let is_first = held.since.is_none();
        held.since.get_or_insert(at);
        is_first
    }

    /// The last use of something, if it is noted and not stored yet.
    #[must_use]
    pub fn of(&self, key: K) -> Option<Timestamp> {
        self.held().by_key.get(&key).copied()
    }

    /// When the notes are to be stored.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        self.held().since.map(|since| since.plus_seconds(self.store_after_seconds))
    }

    /// Takes at most so many notes, to store them; what cannot be stored is noted again. Once none is left, nothing is due.
    fn take(&self, most: usize) -> Vec<(K, Timestamp)> {
        let mut held = self.held();
        let mut keys: Vec<K> = held.by_key.keys().take(most).copied().collect();
        keys.sort_unstable();
        let taken = keys.into_iter().filter_map(|key| Some((key, held.by_key.remove(&key)?))).collect();
        if held.by_key.is_empty() {
            held.since = None;
        }
        taken
    }

    /// Stores at most so many notes in one transaction, with `put`; what cannot be stored is noted again.
    ///
    /// # Errors
    /// Only the store's.
    pub async fn store_some(
        &self,
        store: &Store,
        most: usize,
        put: impl FnOnce(&mut WriteTx<'_>, &[(K, Timestamp)]) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Progress, Failure>
    where
        K: Send + Sync + 'static,
    {
        let notes = Arc::new(self.take(most));
        let rows = Arc::clone(&notes);
        let stored = store.write(Instant::now() + WRITER_TIME, move |tx, _| Ok(put(tx, &rows)?)).await;
        match stored {
            Ok(()) if notes.len() == most => Ok(Progress::More),
            Ok(()) => Ok(Progress::Rest),
            Err(Abort::<Infallible>::Refused(never)) => match never {},
            Err(Abort::Failed(failure)) => {
                self.put_back(notes.iter().copied());
                Err(failure)
            }
        }
    }

    /// Notes again what could not be stored.
    fn put_back(&self, notes: impl IntoIterator<Item = (K, Timestamp)>) {
        for (key, at) in notes {
            self.note(key, at);
        }
    }

    fn held(&self) -> MutexGuard<'_, Held<K>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_newest_use_is_kept_until_it_is_taken() {
        let noted = Noted::new(2, 60);
        assert_eq!((noted.note(1, at(5)), noted.note(1, at(9)), noted.note(1, at(7))), (true, false, false));
        assert_eq!((noted.of(1), noted.due()), (Some(at(9)), Some(at(65))));
        noted.note(2, at(10));
        assert!(!noted.note(3, at(11)), "there is no room for a third");
        let first = noted.take(1);
        assert_eq!(noted.due(), Some(at(65)), "one is left");
        let mut both = [first, noted.take(9)].concat();
        both.sort();
        assert_eq!(both, [(1, at(9)), (2, at(10))]);
        assert_eq!((noted.due(), noted.take(9)), (None, vec![]));
        noted.put_back([(2, at(10))]);
        assert_eq!(noted.due(), Some(at(70)));
    }
}
