//! Work that takes long, off the threads that serve everybody: so much of it at a time, and the rest waits its turn.
//!
//! Tenants take turns: whoever asks for a hundred files at once waits behind himself, and another tenant's one comes next.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quintet_storage::Uuid;
use tokio::sync::oneshot;

use super::fault::Fault;

/// How long work may wait for its turn.
const TURN_TIME: Duration = Duration::from_secs(60);
/// How much of one tenant's work may wait.
const WAITING_MAX: usize = 100;

/// So many pieces of work at a time. Clones share them.
#[derive(Clone)]
pub struct Turns(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
}

struct Queue {
    free: usize,
    /// Each tenant that waits, with those of its work that do, the first to come first. Who had a turn goes to the end.
    waiting: VecDeque<(Uuid, VecDeque<oneshot::Sender<Turn>>)>,
}

/// The right to work; whoever drops it hands it on.
pub struct Turn(Option<Arc<Shared>>);

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns")
    }
}

impl Turns {
    /// `at_once`: how many pieces of work go on side by side.
    #[must_use]
    pub fn new(at_once: usize) -> Turns {
        Turns(Arc::new(Shared { queue: Mutex::new(Queue { free: at_once, waiting: VecDeque::new() }) }))
    }

    /// Does a tenant's work when it is its turn, on a thread of its own. Work that has begun goes on to its end, also if
    /// nobody waits for it any more.
    ///
    /// # Errors
    /// [`Fault::Busy`] if too much of the tenant's waits already, or others kept it waiting for a minute;
    /// [`Fault::Internal`] if it panicked.
    pub async fn take<T: Send + 'static>(
        &self,
        tenant_id: Uuid,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let turn = self.turn(tenant_id, TURN_TIME).await?;
        let working = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop(turn);
            outcome
        });
        // Its panic is logged by the runtime.
        working.await.map_err(|_| Fault::Internal)
    }
}

impl Turns {
    /// A tenant's turn, for work that waits for others rather than for this machine.
    ///
    /// # Errors
    /// [`Fault::Busy`] if too much of the tenant's waits already, or others kept it waiting so long.
    pub async fn turn(&self, tenant_id: Uuid, patience: Duration) -> Result<Turn, Fault> {
        let turn = self.0.enter(tenant_id)?;
        let Ok(Ok(turn)) = tokio::time::timeout(patience, turn).await else { return Err(Fault::Busy) };
        Ok(turn)
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the tenant's next turn will arrive; at once, if one is free.
    fn enter(self: &Arc<Shared>, tenant_id: Uuid) -> Result<oneshot::Receiver<Turn>, Fault> {
        let (sender, receiver) = oneshot::channel();
        let mut queue = self.queue();
        if queue.free > 0 {
            queue.free -= 1;
            drop(queue);
            // The receiver is here.
            let _ = sender.send(Turn(Some(Arc::clone(self))));
            return Ok(receiver);
        }
        match queue.waiting.iter_mut().find(|(known, _)| *known == tenant_id) {
            None => queue.waiting.push_back((tenant_id, VecDeque::from([sender]))),
            Some((_, own)) => {
                own.retain(|waiting| !waiting.is_closed());
                if own.len() >= WAITING_MAX {
                    return Err(Fault::Busy);
                }
                own.push_back(sender);
            }
        }
        Ok(receiver)
    }

    /// Gives a turn to whoever is next.
    fn hand_on(self: &Arc<Shared>) {
        loop {
            let Some(next) = self.queue().next() else { return };
            // Who has given up meanwhile is passed over.
            match next.send(Turn(Some(Arc::clone(self)))) {
                Ok(()) => return,
                Err(mut turn) => turn.0 = None,
            }
        }
    }
}

impl Queue {
    /// Who is next; nobody: there is one more turn to take.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        while let Some((tenant_id, mut own)) = self.waiting.pop_front() {
            let Some(first) = own.pop_front() else { continue };
            if !own.is_empty() {
                self.waiting.push_back((tenant_id, own));
            }
            return Some(first);
        }
        self.free += 1;
        None
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.hand_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const ONE: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);

    /// Work that holds a turn until it is told to go on.
    fn held(turns: &Turns) -> (mpsc::Sender<()>, tokio::task::JoinHandle<Result<bool, Fault>>) {
        let (go, wait) = mpsc::channel::<()>();
        let turns = turns.clone();
        (go, tokio::spawn(async move { turns.take(ONE, move || wait.recv().is_ok()).await }))
    }

    #[tokio::test]
    async fn one_after_the_other_and_others_meanwhile() {
        let turns = Turns::new(1);
        let (go, first) = held(&turns);
        tokio::task::yield_now().await;
        let second = tokio::spawn(async move { turns.take(ONE, || 2).await });
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
        assert_eq!(turns.take(ONE, || -> u8 { panic!("on purpose") }).await, Err(Fault::Internal));
        assert_eq!(turns.take(ONE, || 1).await, Ok(1));
    }

    #[tokio::test]
    async fn tenants_take_turns() {
        let turns = Turns::new(1);
        let (go, first) = held(&turns);
        tokio::task::yield_now().await;
        let (told, order) = mpsc::channel();
        let mut all = Vec::new();
        for (tenant_id, name) in [(ONE, "one"), (ONE, "one again"), (ONE, "one at last"), (OTHER, "other")] {
            let (turns, told) = (turns.clone(), told.clone());
            all.push(tokio::spawn(async move { turns.take(tenant_id, move || told.send(name)).await }));
            tokio::task::yield_now().await;
        }
        go.send(()).unwrap();
        first.await.unwrap().unwrap();
        for work in all {
            work.await.unwrap().unwrap().unwrap();
        }
        assert_eq!(order.try_iter().collect::<Vec<_>>(), ["one", "other", "one again", "one at last"]);
        assert_eq!(turns.0.queue().free, 1);
    }

    #[tokio::test]
    async fn who_has_given_up_is_passed_over_and_no_queue_is_endless() {
        let turns = Turns::new(1);
        let (go, first) = held(&turns);
        tokio::task::yield_now().await;
        let waiting: Vec<_> = (0..WAITING_MAX).map(|_| turns.0.enter(ONE).unwrap()).collect();
        assert_eq!(turns.take(ONE, || 1).await, Err(Fault::Busy));
        let other = turns.0.enter(OTHER).unwrap();
        drop(waiting);
        assert!(turns.0.enter(ONE).is_ok(), "those who left make room");
        go.send(()).unwrap();
        first.await.unwrap().unwrap();
        drop(other.await.unwrap());
        assert_eq!(turns.take(ONE, || 1).await, Ok(1));
        assert_eq!(turns.0.queue().free, 1);
    }
}
