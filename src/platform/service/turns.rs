//! Work that takes long, or much, off the threads that serve everybody: so much of it at a time, and the rest waits its turn.
//!
//! Tenants take turns: whoever asks for a hundred files at once waits behind himself, and another tenant's one comes next.
//! A turn may be of any weight. Who is next waits until there is room for his, and nobody comes before him meanwhile: small
//! ones would keep a large one waiting for good.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quintet_storage::Uuid;
use tokio::sync::oneshot;

use super::fault::Fault;

/// How long work may wait for its turn.
pub const TURN_TIME: Duration = Duration::from_secs(60);
/// How much of one tenant's work may wait.
const WAITING_MAX: usize = 100;

/// So many pieces of work at a time, or work of so much weight. Clones share them.
#[derive(Clone)]
pub struct Turns(Arc<Shared>);

struct Shared {
    /// The most weight.
    weight_max: usize,
    /// That of one tenant; `None`: all of it.
    each_max: Option<usize>,
    queue: Mutex<Queue>,
}

struct Queue {
    /// What is left of the weight.
    free: usize,
    /// What each tenant has of it.
    held: HashMap<Uuid, usize>,
    /// Each tenant that waits, with those of its work that do, the first to come first. Who had a turn goes to the end.
    waiting: VecDeque<(Uuid, VecDeque<Waiting>)>,
}

struct Waiting {
    weight: usize,
    turn: oneshot::Sender<Turn>,
}

/// The right to work; whoever drops it hands it on.
pub struct Turn {
    shared: Arc<Shared>,
    tenant_id: Uuid,
    weight: usize,
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns")
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("weight", &self.weight).finish_non_exhaustive()
    }
}

impl Turns {
    /// `weight_max`: how many pieces of work go on side by side, each of weight 1, or how much they weigh together.
    #[must_use]
    pub fn new(weight_max: usize) -> Turns {
        Turns::shared(weight_max, None)
    }

    /// The same, of which one tenant has so much at most: whoever keeps his turns for long leaves some to others.
    #[must_use]
    pub fn of(weight_max: usize, each_max: usize) -> Turns {
        Turns::shared(weight_max, Some(each_max.min(weight_max)))
    }

    fn shared(weight_max: usize, each_max: Option<usize>) -> Turns {
        let queue = Queue { free: weight_max, held: HashMap::new(), waiting: VecDeque::new() };
        Turns(Arc::new(Shared { weight_max, each_max, queue: Mutex::new(queue) }))
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
        let turn = self.hold(tenant_id, 1, TURN_TIME).await?;
        let working = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop(turn);
            outcome
        });
        // Its panic is logged by the runtime.
        working.await.map_err(|_| Fault::Internal)
    }

    /// A turn for a tenant's work of some weight, which holds until it is dropped. What is heavier than one tenant can have
    /// counts as heavy as that.
    ///
    /// # Errors
    /// [`Fault::Busy`] as [`Turns::take`], if others kept it waiting for longer than `patience`.
    pub async fn hold(&self, tenant_id: Uuid, weight: usize, patience: Duration) -> Result<Turn, Fault> {
        let turn = self.0.enter(tenant_id, weight)?;
        match tokio::time::timeout(patience, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Fault::Busy),
        }
    }
}

impl Turn {
    /// Hands a part of it on: it weighs no more than that from now on.
    pub fn lighten(&mut self, weight: usize) {
        let less = self.weight.saturating_sub(weight);
        self.weight -= less;
        self.shared.hand_on(self.tenant_id, less);
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the tenant's next turn will arrive; at once, if there is room for it and nobody waits.
    fn enter(self: &Arc<Shared>, tenant_id: Uuid, weight: usize) -> Result<oneshot::Receiver<Turn>, Fault> {
        let weight = weight.min(self.each_max.unwrap_or(self.weight_max));
        let (sender, receiver) = oneshot::channel();
        let waiting = Waiting { weight, turn: sender };
        let mut queue = self.queue();
        match queue.waiting.iter_mut().find(|(known, _)| *known == tenant_id) {
            None => queue.waiting.push_back((tenant_id, VecDeque::from([waiting]))),
            Some((_, own)) => {
                own.retain(|waiting| !waiting.turn.is_closed());
                if own.len() >= WAITING_MAX {
                    return Err(Fault::Busy);
                }
                own.push_back(waiting);
            }
        }
        drop(queue);
        self.go_on();
        Ok(receiver)
    }

    /// Takes so much weight back from a tenant, and gives it to whoever is next.
    fn hand_on(self: &Arc<Shared>, tenant_id: Uuid, weight: usize) {
        self.queue().take_back(tenant_id, weight);
        self.go_on();
    }

    /// Gives turns to whoever is next, as long as there is room for theirs.
    fn go_on(self: &Arc<Shared>) {
        loop {
            let Some((tenant_id, Waiting { weight, turn })) = self.queue().next(self.each_max) else { return };
            // Who has given up meanwhile drops it, which hands it on.
            drop(turn.send(Turn { shared: Arc::clone(self), tenant_id, weight }));
        }
    }
}

impl Queue {
    /// Who is next, if there is room for him. Who has as much as one may have lets those behind him go before.
    fn next(&mut self, each_max: Option<usize>) -> Option<(Uuid, Waiting)> {
        let mut place = 0;
        loop {
            let (tenant_id, own) = self.waiting.get_mut(place)?;
            // Nobody waits for room behind those who have left.
            while own.front().is_some_and(|first| first.turn.is_closed()) {
                own.pop_front();
            }
            let Some(weight) = own.front().map(|first| first.weight) else {
                self.waiting.remove(place);
                continue;
            };
            let held = self.held.get(tenant_id).copied().unwrap_or_default();
            if each_max.is_some_and(|each_max| held + weight > each_max) {
                place += 1;
                continue;
            }
            if weight > self.free {
                return None;
            }
            let (tenant_id, mut own) = self.waiting.remove(place)?;
            let first = own.pop_front()?;
            self.free -= weight;
            self.held.insert(tenant_id, held + weight);
            if !own.is_empty() {
                self.waiting.push_back((tenant_id, own));
            }
            return Some((tenant_id, first));
        }
    }

    fn take_back(&mut self, tenant_id: Uuid, weight: usize) {
        self.free += weight;
        let Some(held) = self.held.get_mut(&tenant_id) else { return };
        *held = held.saturating_sub(weight);
        if *held == 0 {
            self.held.remove(&tenant_id);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.hand_on(self.tenant_id, self.weight);
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
        let waiting: Vec<_> = (0..WAITING_MAX).map(|_| turns.0.enter(ONE, 1).unwrap()).collect();
        assert_eq!(turns.take(ONE, || 1).await, Err(Fault::Busy));
        let other = turns.0.enter(OTHER, 1).unwrap();
        drop(waiting);
        assert!(turns.0.enter(ONE, 1).is_ok(), "those who left make room");
        go.send(()).unwrap();
        first.await.unwrap().unwrap();
        drop(other.await.unwrap());
        assert_eq!(turns.take(ONE, || 1).await, Ok(1));
        assert_eq!(turns.0.queue().free, 1);
    }

    #[tokio::test]
    async fn turns_weigh_what_they_weigh() {
        let turns = Turns::new(10);
        let mut seven = turns.hold(ONE, 7, TURN_TIME).await.unwrap();
        let three = turns.hold(OTHER, 3, TURN_TIME).await.unwrap();
        let mut eight = turns.0.enter(ONE, 8).unwrap();
        let mut one = turns.0.enter(OTHER, 1).unwrap();
        drop(three);
        assert!(eight.try_recv().is_err() && one.try_recv().is_err(), "there is room for one, and it is not next");
        seven.lighten(9);
        assert_eq!(turns.0.queue().free, 3, "nothing becomes heavier");
        seven.lighten(2);
        let eight = eight.try_recv().unwrap();
        assert!(one.try_recv().is_err());
        drop(seven);
        let one = one.try_recv().unwrap();
        assert_eq!(turns.0.queue().free, 1);
        drop((eight, one));
        assert_eq!(turns.hold(ONE, 1000, TURN_TIME).await.unwrap().weight, 10, "all there is");
        assert_eq!(turns.0.queue().free, 10);
    }

    #[tokio::test]
    async fn a_tenant_has_its_share_and_leaves_the_rest() {
        let turns = Turns::of(4, 2);
        let mut own: Vec<_> = (0..3).map(|_| turns.0.enter(ONE, 1).unwrap()).collect();
        let held: Vec<Turn> = own.iter_mut().filter_map(|turn| turn.try_recv().ok()).collect();
        assert_eq!(held.len(), 2, "there is room, and not for it");
        let others: Vec<_> = (0..2).map(|_| turns.0.enter(OTHER, 1).unwrap().try_recv().unwrap()).collect();
        drop(others);
        assert!(own[2].try_recv().is_err());
        drop(held);
        drop(own[2].try_recv().unwrap());
        assert_eq!(turns.hold(ONE, 1000, TURN_TIME).await.unwrap().weight, 2, "all that one has");
        assert_eq!(turns.0.queue().free, 4);
        assert!(turns.0.queue().held.is_empty());
    }

    #[tokio::test]
    async fn nobody_waits_behind_one_who_has_left() {
        let turns = Turns::new(2);
        let held = turns.hold(ONE, 1, TURN_TIME).await.unwrap();
        let large = turns.0.enter(ONE, 2).unwrap();
        drop(large);
        assert!(turns.0.enter(OTHER, 1).unwrap().try_recv().is_ok());
        drop(held);
        assert_eq!(turns.0.queue().free, 2);
    }
}
