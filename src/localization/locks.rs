//! Locks by what they are about: whoever prepares a change for long keeps nobody away but those who change the same thing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use quintet_platform::service::Fault;
use tokio::sync::OwnedMutexGuard;

/// How long one waits for those who change the same thing.
const LOCK_TIME: Duration = Duration::from_secs(60);

/// A lock for each thing that somebody changes or waits for. What a thing is called is any number of its own.
#[derive(Default)]
pub struct Locks(Mutex<HashMap<u128, Weak<tokio::sync::Mutex<()>>>>);

impl Locks {
    /// Waits until nobody else holds the lock.
    ///
    /// # Errors
    /// [`Fault::Busy`] if that takes too long.
    pub async fn lock(&self, about: u128) -> Result<OwnedMutexGuard<()>, Fault> {
        let lock = self.get(about);
        tokio::time::timeout(LOCK_TIME, lock.lock_owned()).await.map_err(|_| Fault::Busy)
    }

    fn get(&self, about: u128) -> Arc<tokio::sync::Mutex<()>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = held.get(&about).and_then(Weak::upgrade) {
            return lock;
        }
        // There are as many as requests hold or wait for: few.
        held.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        held.insert(about, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_the_same_thing_waits_and_nothing_is_left() {
        let locks = Locks::default();
        let one = locks.lock(1).await.unwrap();
        for other in 2..200 {
            drop(locks.lock(other).await.unwrap());
        }
        assert!(locks.lock(1).await.is_err(), "somebody holds it");
        drop(one);
        drop(locks.lock(1).await.unwrap());
        drop(locks.lock(2).await.unwrap());
        assert_eq!(locks.0.lock().unwrap().len(), 1);
    }
}
