//! Runs that hold no worker although they have their slot: they wait for an image that is not here yet, and once it is
//! here, for a worker. Known in memory alone: after a restart such a run waits in its queue again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quintet_storage::Timestamp;
use tokio::sync::watch;

use crate::model::{RunId, RunKey};

/// The runs that are aside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside(Arc<Mutex<HashMap<RunId, Place>>>);

#[derive(Debug)]
struct Place {
    run_key: RunKey,
    eligible_start: Timestamp,
    stage: watch::Sender<Stage>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It waits for its image.
    Image,
    /// Its image is here.
    Ready,
    /// It has a worker again: its container is being started.
    Given,
    /// Somebody wants it to end.
    Killed,
}

/// A run is aside for as long as this lives, unless it gets a worker.
pub(crate) struct Standing {
    aside: Aside,
    run_id: RunId,
    stage: watch::Receiver<Stage>,
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.aside.places().remove(&self.run_id);
    }
}

impl Standing {
    /// Its image is here: it wants a worker.
    pub(crate) fn ready(&self) {
        self.aside.go_on(self.run_id, Stage::Image, Stage::Ready);
    }

    /// Waits until it has a worker.
    pub(crate) async fn given(&self) {
        self.reaches(Stage::Given).await;
    }

    /// Waits until somebody wants it to end. It is given no worker after that.
    pub(crate) async fn killed(&self) {
        self.reaches(Stage::Killed).await;
    }

    async fn reaches(&self, stage: Stage) {
        // What it waits on goes with itself, not before.
        let _ = self.stage.clone().wait_for(|now| *now == stage).await;
    }
}

impl Aside {
    fn places(&self) -> MutexGuard<'_, HashMap<RunId, Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run gives its worker back until its image is here.
    pub(crate) fn step(&self, run_key: RunKey, eligible_start: Timestamp) -> Standing {
        let (sender, stage) = watch::channel(Stage::Image);
        let place = Place { run_key, eligible_start, stage: sender };
        self.places().insert(run_key.1, place);
        Standing { aside: self.clone(), run_id: run_key.1, stage }
    }

    /// From one stage to another; says whether it was in that one.
    fn go_on(&self, run_id: RunId, from: Stage, to: Stage) -> bool {
        let places = self.places();
        let Some(place) = places.get(&run_id) else { return false };
        place.stage.send_if_modified(|stage| {
            let is_there = *stage == from;
            if is_there {
                *stage = to;
            }
            is_there
        })
    }

    /// Gives a run whose image is here a worker; false if it wants none.
    pub(crate) fn give(&self, run_id: RunId) -> bool {
        self.go_on(run_id, Stage::Ready, Stage::Given)
    }

    /// Has a run end. Nothing happens to one whose container is being started.
    pub(crate) fn kill(&self, run_id: RunId) {
        let _ = self.go_on(run_id, Stage::Image, Stage::Killed) || self.go_on(run_id, Stage::Ready, Stage::Killed);
    }

    /// Of these runs those that hold a worker.
    pub(crate) fn with_worker<T>(&self, mut runs: Vec<(RunId, T)>) -> Vec<(RunId, T)> {
        let places = self.places();
        runs.retain(|(run_id, _)| places.get(run_id).is_none_or(|place| *place.stage.borrow() == Stage::Given));
        runs
    }

    /// How many runs hold no worker.
    pub(crate) fn count(&self) -> usize {
        self.places().values().filter(|place| *place.stage.borrow() != Stage::Given).count()
    }

    /// The runs whose image is here, and since when each may start.
    pub(crate) fn ready(&self) -> Vec<(RunKey, Timestamp)> {
        let places = self.places();
        let ready = places.values().filter(|place| *place.stage.borrow() == Stage::Ready);
        ready.map(|place| (place.run_key, place.eligible_start)).collect()
    }
}

#[cfg(test)]
mod tests {
    use quintet_storage::Uuid;

    use super::*;
    use crate::testing::tenant;

    const START: Timestamp = Timestamp::from_micros(5);

    fn key(number: u128) -> RunKey {
        (tenant(1), RunId(Uuid::from_u128(number)))
    }

    fn holders(aside: &Aside) -> usize {
        aside.with_worker([1, 2].map(|number| (key(number).1, ())).to_vec()).len()
    }

    #[tokio::test]
    async fn a_run_has_a_worker_but_while_it_is_aside() {
        let aside = Aside::default();
        assert_eq!(holders(&aside), 2, "nobody is");
        let standing = aside.step(key(1), START);
        assert_eq!((holders(&aside), aside.ready().len()), (1, 0));
        assert!(!aside.give(key(1).1), "its image is not here");
        standing.ready();
        assert_eq!(aside.ready(), [(key(1), START)]);
        assert_eq!(holders(&aside), 1);
        assert!(aside.give(key(1).1) && !aside.give(key(1).1));
        assert_eq!((holders(&aside), aside.ready().len()), (2, 0));
        standing.given().await;
        aside.kill(key(1).1);
        assert!(
            tokio::time::timeout(std::time::Duration::ZERO, standing.killed()).await.is_err(),
            "it is being started"
        );
        drop(standing);
        assert!(aside.places().is_empty());
    }

    #[tokio::test]
    async fn a_run_that_was_killed_gets_no_worker() {
        let aside = Aside::default();
        for is_ready in [false, true] {
            let standing = aside.step(key(1), START);
            if is_ready {
                standing.ready();
            }
            aside.kill(key(1).1);
            standing.killed().await;
            standing.ready();
            assert!(aside.ready().is_empty() && !aside.give(key(1).1));
            assert_eq!(holders(&aside), 1, "it holds none until it has ended");
        }
        aside.kill(key(1).1);
        assert_eq!(holders(&aside), 2);
    }
}
