//! Work that takes long, off the threads that serve everybody: so much of it at a time, and the rest waits its turn.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::fault::Fault;

/// How long anybody waits for their turn.
const TURN_TIME: Duration = Duration::from_secs(60);

/// Turns. Clones share them.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Semaphore>);

impl Turns {
    /// So much at a time.
    #[must_use]
    pub fn new(at_once: usize) -> Turns {
        Turns(Arc::new(Semaphore::new(at_once)))
    }

    /// Does something on a thread of its own, when it is its turn. A caller who leaves while waiting gives up the turn;
    /// work that has begun goes on to its end and keeps it.
    ///
    /// # Errors
    /// [`Fault::Busy`] if the turn does not come in time, [`Fault::Internal`] if the work panicked.
    pub async fn take<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
        let turn = tokio::time::timeout(TURN_TIME, Arc::clone(&self.0).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Fault::Busy) };
        let working = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop(turn);
            outcome
        });
        // Its panic is logged by the runtime.
        working.await.map_err(|_| Fault::Internal)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn one_after_the_other_and_others_meanwhile() {
        let turns = Turns::new(1);
        let (go, wait) = mpsc::channel::<()>();
        let first = tokio::spawn({
            let turns = turns.clone();
            async move { turns.take(move || wait.recv().is_ok()).await }
        });
        tokio::task::yield_now().await;
        let second = tokio::spawn(async move { turns.take(|| 2).await });
        // The thread that serves is free all the while.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(!second.is_finished());
        go.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Ok(true));
        assert_eq!(second.await.unwrap(), Ok(2));
    }

    #[tokio::test]
    async fn a_panic_is_a_mistake_and_gives_the_turn_back() {
        let turns = Turns::new(1);
        assert_eq!(turns.take(|| -> u8 { panic!("on purpose") }).await, Err(Fault::Internal));
        assert_eq!(turns.take(|| 1).await, Ok(1));
    }
}
