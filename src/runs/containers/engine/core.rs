//! What the parts of the engine share: its way to the store and the runner, and which runs are in hand.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quintet_runtime::{Runner, RunnerError};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};
use tokio::sync::Semaphore;

use crate::containers::runner::on_runner;
use crate::context::Context;
use crate::model::RunId;

/// Containers being started at a time.
const STARTS: usize = 8;
/// Images being pulled at a time.
const PULLS: usize = 4;
/// Containers being cleared up at a time.
const FINISHES: usize = 8;
/// How long a transaction of the engine may wait for the writer.
pub(super) const WRITER_TIME: Duration = Duration::from_secs(30);

/// What a step of the engine came to.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The runner did not answer: what was asked for may have been done.
    Runner(RunnerError),
    /// The store did not take it.
    Store(Failure),
    /// The appliance stops.
    Stopping,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Runner(error) => error.fmt(f),
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
    /// Which images could make some.
    pub(super) images: Mutex<Option<Timestamp>>,
}

/// The engine at work.
pub(super) struct Engine {
    pub(super) context: Context,
    pub(super) runner: Runner,
    /// Runs that a task of this process sees to at the moment.
    in_hand: Mutex<HashSet<RunId>>,
    pub(super) starts: Semaphore,
    pub(super) pulls: Semaphore,
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
            context,
            runner,
            in_hand: Mutex::default(),
            starts: Semaphore::new(STARTS),
            pulls: Semaphore::new(PULLS),
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

    pub(super) fn take(self: &Arc<Self>, run_id: RunId) -> Option<Hand> {
        let is_free = self.in_hand.lock().unwrap_or_else(PoisonError::into_inner).insert(run_id);
        is_free.then(|| Hand { engine: Arc::clone(self), run_id })
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
