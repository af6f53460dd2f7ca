//! What the parts of the engine share: its way to the store and the runner, and which runs are in hand.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::ids::ulid;
use quintet_runtime::{Runner, RunnerError};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};
use tokio::sync::Semaphore;

use crate::containers::changes::find;
use crate::containers::dispatch;
use crate::containers::runner::on_runner;
use crate::containers::shares::Turns;
use crate::context::Context;
use crate::model::{RunId, RunKey};
use crate::registry::{PullError, SharedPulls};

/// Containers being started at a time.
const STARTS: usize = 8;
/// Containers being cleared up at a time.
const FINISHES: usize = 8;
/// How often a run is given another container after the machine failed to make one, and how long that is put off: twice as
/// long each time up to the most, a quarter of a minute in all.
const STARTS_AGAIN: u32 = 8;
const AGAIN_PAUSE: Duration = Duration::from_millis(200);
const AGAIN_PAUSE_MOST: Duration = Duration::from_secs(3);
/// Between two looks whether a run is in another task's hand still: these have it for moments.
const HAND_PAUSE: Duration = Duration::from_millis(5);
/// How long a transaction of the engine may wait for the writer.
pub(super) const WRITER_TIME: Duration = Duration::from_secs(30);

/// What a step of the engine came to.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The runner did not answer: what was asked for may have been done.
    Runner(RunnerError),
    /// The same of a pull.
    Pull(Arc<PullError>),
    /// The store did not take it.
    Store(Failure),
    /// The appliance stops.
    Stopping,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Runner(error) => error.fmt(f),
            Trouble::Pull(error) => error.fmt(f),
            Trouble::Store(failure) => failure.fmt(f),
            Trouble::Stopping => f.write_str("the appliance stops"),
        }
    }
}

impl From<RunnerError> for Trouble {
    fn from(error: RunnerError) -> Trouble {
        Trouble::Runner(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Store(failure)
    }
}

/// When the runner was asked last about its disk.
#[derive(Default)]
pub(super) struct Asked {
    /// Whether it has room.
    pub(super) room: Mutex<Option<Instant>>,
    /// For how many containers it has, by an answer that nobody has heeded yet.
    pub(super) found: AtomicUsize,
    /// Which images could make some.
    pub(super) images: Mutex<Option<Timestamp>>,
}

/// The engine at work.
pub(super) struct Engine {
    pub(super) context: Context,
    pub(super) runner: Runner,
    pub(super) pulls: Arc<SharedPulls>,
    /// Whose turn to get a worker was when.
    pub(super) turns: Mutex<Turns>,
    /// Runs that a task of this process sees to at the moment.
    in_hand: Mutex<HashSet<RunId>>,
    /// Runs of cancelled workflows that a task of this process kills at the moment.
    pub(super) killing: Mutex<HashSet<RunId>>,
    /// How often the machine failed to make the container of a run that is to be started again.
    failed_starts: Mutex<HashMap<RunId, u32>>,
    pub(super) starts: Semaphore,
    pub(super) finishes: Semaphore,
    /// Runs that have been given a slot and have no container yet.
    pub(super) starting: AtomicUsize,
    pub(super) asked: Asked,
}

/// A run is in hand for as long as this lives.
pub(super) struct Hand {
    engine: Arc<Engine>,
    run_id: RunId,
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.engine.in_hand.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run_id);
    }
}

impl Engine {
    pub(super) fn new(context: Context, runner: Runner) -> Engine {
        Engine {
            pulls: SharedPulls::new(Arc::clone(&context.puller), runner.clone()),
            turns: Mutex::default(),
            context,
            runner,
            in_hand: Mutex::default(),
            killing: Mutex::default(),
            failed_starts: Mutex::default(),
            starts: Semaphore::new(STARTS),
            finishes: Semaphore::new(FINISHES),
            starting: AtomicUsize::new(0),
            asked: Asked::default(),
        }
    }

    /// What is not known is asked of the runner, at the next look.
    pub(super) fn doubt(&self, trouble: &Trouble) {
        tracing::warn!(%trouble, "it is not known how a run stands; asking the runner");
        self.context.doubt();
    }

    /// Takes a run in hand as soon as no other task has it; none if the appliance stops.
    pub(super) async fn take_soon(self: &Arc<Self>, run_id: RunId) -> Option<Hand> {
        loop {
            match self.take(run_id) {
                Some(hand) => return Some(hand),
                None if self.context.stopping.is_stopping() => return None,
                None => tokio::time::sleep(HAND_PAUSE).await,
            }
        }
    }

    /// Takes a run in hand, unless another task has it.
    pub(super) fn take(self: &Arc<Self>, run_id: RunId) -> Option<Hand> {
        let is_free = self.in_hand.lock().unwrap_or_else(PoisonError::into_inner).insert(run_id);
        is_free.then(|| Hand { engine: Arc::clone(self), run_id })
    }

    /// The machine failed to make the container of this number, and its command has not run. Has the run wait again, a
    /// little later; says no if that was tried often enough.
    pub(super) fn start_again(self: &Arc<Self>, run_key: RunKey, number: u32, why: &str) -> bool {
        let failed = {
            let mut failed_starts = self.failed_starts.lock().unwrap_or_else(PoisonError::into_inner);
            let failed = failed_starts.entry(run_key.1).or_default();
            *failed += 1;
            *failed
        };
        if failed > STARTS_AGAIN {
            self.started_or_over(run_key.1);
            return false;
        }
        tracing::warn!(run = %ulid(run_key.1.0), why, "a container could not be made; trying again");
        let engine = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep((AGAIN_PAUSE * 2_u32.pow(failed - 1)).min(AGAIN_PAUSE_MOST)).await;
            let requeued = engine.write(move |tx, now| {
                let is_same = find(tx, run_key)?.is_some_and(|run| run.starts == number);
                if is_same { dispatch::requeue(tx, now, run_key) } else { Ok(()) }
            });
            if let Err(failure) = requeued.await {
                engine.doubt(&failure.into());
            }
        });
        true
    }

    /// The command of a run has run, or it has ended: failed starts are counted anew.
    pub(super) fn started_or_over(&self, run_id: RunId) {
        self.failed_starts.lock().unwrap_or_else(PoisonError::into_inner).remove(&run_id);
    }

    /// One transaction that refuses nothing.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let verb = move |tx: &mut WriteTx<'_>, now| Ok(verb(tx, now)?);
        let outcome: Result<T, Abort<Infallible>> = self.context.write(WRITER_TIME, verb).await;
        outcome.map_err(|abort| match abort {
            Abort::Refused(never) => match never {},
            Abort::Failed(failure) => failure,
        })
    }

    /// A call to the runner.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Runner) -> Result<T, RunnerError> + Send + 'static,
    ) -> Result<T, RunnerError> {
        on_runner(&self.runner, call).await
    }
}
