//! The engine: gives slots to runs, starts their containers, sees to what has ended, and after any break finds out from
//! the runner how things stand.
//!
//! It looks at most a second after the last time, and at once when something has changed. The runner's calls block: they
//! are made on the blocking pool, never within a transaction. What the runner may or may not have done is in *doubt*,
//! and is asked of it before anything else is started.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quintet_runtime::{Action, ContainerId, ContainerState, ContainerStatus, Runner, RunnerError};
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, WriteTx};
use tokio::sync::{Semaphore, mpsc};

use crate::changes::{Place, find};
use crate::context::Context;
use crate::dispatch;
use crate::life::{self, Archive, End};
use crate::model::{Reason, RunId, RunState};
use crate::refusal::Refusal;
use crate::tables::{BUSY, CONTAINERS, RunRow};

mod finish;
mod start;

/// Between two looks when nothing happens.
const TICK: Duration = Duration::from_secs(1);
/// How long the runner is asked to wait for the end of a container.
const LISTEN_TIME: Duration = Duration::from_secs(5);
/// Between two calls to a runner that does not answer.
const DOWN_PAUSE: Duration = Duration::from_millis(200);
/// Runs given a slot in one transaction.
const DISPATCH_SLICE: usize = 64;
/// Containers being started at a time.
const STARTS: usize = 8;
/// Images being pulled at a time.
const PULLS: usize = 4;
/// Containers being cleared up at a time.
const FINISHES: usize = 8;
/// How long a transaction of the engine may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(30);

/// What the thread that listens to the runner tells.
enum Heard {
    /// It answers, for the first time or again.
    Up,
    /// It does not answer.
    Down,
    /// These containers have ended.
    Ended(Vec<ContainerId>),
}

/// What a step of the engine came to.
#[derive(Debug)]
enum Trouble {
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

/// The engine at work.
struct Engine {
    context: Context,
    runner: Runner,
    /// Runs that a task of this process sees to at the moment.
    in_hand: Mutex<HashSet<RunId>>,
    starts: Semaphore,
    pulls: Semaphore,
    finishes: Semaphore,
}

/// A run is in hand for as long as this lives.
struct Hand {
    engine: Arc<Engine>,
    run_id: RunId,
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.engine.in_hand.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run_id);
    }
}

impl Context {
    /// Starts what is due and sees to what ends, until [`Context::stop`].
    pub async fn run_containers(self) {
        let Some(runner) = self.runner.clone() else { return };
        let (sender, mut heard) = mpsc::channel(64);
        let listening = {
            let (context, runner) = (self.clone(), runner.clone());
            move || listen(&context, &runner, &sender)
        };
        if let Err(error) = std::thread::Builder::new().name("runs".into()).spawn(listening) {
            tracing::error!(%error, "nobody listens to the runner");
            return;
        }
        let engine = Arc::new(Engine {
            context: self,
            runner,
            in_hand: Mutex::default(),
            starts: Semaphore::new(STARTS),
            pulls: Semaphore::new(PULLS),
            finishes: Semaphore::new(FINISHES),
        });
        engine.run(&mut heard).await;
    }
}

/// Asks the runner in a loop what has ended. On a thread of its own: each question takes seconds.
fn listen(context: &Context, runner: &Runner, heard: &mpsc::Sender<Heard>) {
    let (mut cursor, mut is_up) = (0, None);
    while !context.is_stopping() {
        let told = match runner.ended(cursor, LISTEN_TIME) {
            Ok(ended) => {
                cursor = ended.cursor;
                if is_up != Some(true) && heard.blocking_send(Heard::Up).is_err() {
                    return;
                }
                is_up = Some(true);
                Heard::Ended(ended.ids)
            }
            Err(error) => {
                if is_up != Some(false) {
                    tracing::warn!(%error, "runs wait until the runner answers");
                }
                (cursor, is_up) = (0, Some(false));
                std::thread::sleep(DOWN_PAUSE);
                Heard::Down
            }
        };
        if heard.blocking_send(told).is_err() {
            return;
        }
    }
}

impl Engine {
    async fn run(self: Arc<Self>, heard: &mut mpsc::Receiver<Heard>) {
        let mut answers = false;
        while !self.context.is_stopping() {
            if answers {
                answers = self.step().await;
            }
            self.context.engine_up.store(answers, Ordering::SeqCst);
            let told = tokio::select! {
                told = heard.recv() => told,
                () = self.context.wake.notified() => None,
                () = tokio::time::sleep(TICK) => None,
            };
            match told {
                Some(Heard::Up) => {
                    answers = true;
                    self.context.is_in_doubt.store(true, Ordering::SeqCst);
                }
                Some(Heard::Down) => answers = false,
                Some(Heard::Ended(ids)) => {
                    for id in ids {
                        tokio::spawn(Arc::clone(&self).finish(id));
                    }
                }
                None => {}
            }
        }
        self.context.engine_up.store(false, Ordering::SeqCst);
    }

    /// Clears doubts, then gives slots. Says whether the runner answers.
    async fn step(self: &Arc<Self>) -> bool {
        if self.context.is_in_doubt.swap(false, Ordering::SeqCst)
            && let Err(trouble) = self.reattach().await
        {
            self.doubt(&trouble);
            return !matches!(trouble, Trouble::Runner(_));
        }
        if let Err(failure) = self.dispatch().await {
            tracing::warn!(%failure, "slots could not be given; trying again");
        }
        true
    }

    /// What is not known is asked of the runner, at the next look.
    fn doubt(&self, trouble: &Trouble) {
        tracing::warn!(%trouble, "it is not known how a run stands; asking the runner");
        self.context.is_in_doubt.store(true, Ordering::SeqCst);
    }

    fn take(self: &Arc<Self>, run_id: RunId) -> Option<Hand> {
        let is_free = self.in_hand.lock().unwrap_or_else(PoisonError::into_inner).insert(run_id);
        is_free.then(|| Hand { engine: Arc::clone(self), run_id })
    }

    async fn dispatch(self: &Arc<Self>) -> Result<(), Failure> {
        let workers = u64::from(self.context.settings.workers);
        loop {
            let ceilings = &self.context.settings.ceilings;
            let (snapshot, now) = self.context.store.read_now(self.context.clock.now());
            if dispatch::choose(&snapshot, now, workers, ceilings, 1)?.is_empty() {
                return Ok(());
            }
            let ceilings = ceilings.clone();
            let given =
                self.write(move |tx, now| dispatch::dispatch(tx, now, workers, &ceilings, DISPATCH_SLICE)).await?;
            self.context.changed();
            for place in &given {
                tokio::spawn(Arc::clone(self).start(*place));
            }
        }
    }

    /// One transaction that refuses nothing.
    async fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let verb = move |tx: &mut WriteTx<'_>, now| Ok(verb(tx, now)?);
        let outcome: Result<T, Abort<Infallible>> = self.context.store.write(Instant::now() + WRITER_TIME, verb).await;
        outcome.map_err(|abort| match abort {
            Abort::Refused(never) => match never {},
            Abort::Failed(failure) => failure,
        })
    }

    /// A call to the runner.
    async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Runner) -> Result<T, RunnerError> + Send + 'static,
    ) -> Result<T, RunnerError> {
        on_runner(&self.runner, call).await
    }

    /// Asks the runner for all containers and makes every run agree with the truth.
    async fn reattach(self: &Arc<Self>) -> Result<(), Trouble> {
        let containers: BTreeMap<(RunId, u32), ContainerStatus> = self
            .call(|runner| runner.list())
            .await?
            .into_iter()
            .filter_map(|status| Some((self.context.run_of(&status.id)?, status)))
            .collect();
        let snapshot = self.context.store.read();
        for (run_id, busy) in snapshot.scan(&BUSY, Scan::all())? {
            let Some(hand) = self.take(run_id) else { continue };
            let place = (busy.tenant_id, run_id);
            // What happened since the snapshot counts.
            let Some(row) = find(&self.context.store.read(), place)?.filter(|row| row.state.holds_slot()) else {
                continue;
            };
            self.agree(place, &row, containers.get(&(run_id, row.starts)), hand).await?;
        }
        for ((run_id, number), status) in &containers {
            self.clear_up(*run_id, *number, status).await?;
        }
        for (run_id, row) in self.context.store.read().scan(&CONTAINERS, Scan::all())? {
            let place = (row.tenant_id, run_id);
            let is_over = find(&self.context.store.read(), place)?.is_none_or(|run| run.state.is_terminal());
            if is_over
                && !containers.contains_key(&(run_id, row.number))
                && let Some(_hand) = self.take(run_id)
            {
                self.write(move |tx, now| life::archived(tx, now, place, Some(&Archive::Lost))).await?;
            }
        }
        Ok(())
    }

    /// Makes a run that holds a slot agree with its container.
    async fn agree(
        self: &Arc<Self>,
        place: Place,
        row: &RunRow,
        status: Option<&ContainerStatus>,
        hand: Hand,
    ) -> Result<(), Trouble> {
        let number = row.starts;
        match (row.state, status.map(|status| status.state)) {
            (RunState::Queued, _) | (RunState::Pulling, None) => {
                self.write(move |tx, now| dispatch::requeue(tx, now, place)).await?;
            }
            (_, None) => {
                let message = "its container is gone, and how it would have ended nobody knows";
                let end = End::failed(Reason::WorkerLost, message, self.context.clock.now());
                self.write(move |tx, now| life::ended(tx, now, place, number, &end)).await?;
            }
            (_, Some(ContainerState::Ended)) => {
                if let Some(status) = status {
                    drop(hand);
                    tokio::spawn(Arc::clone(self).finish(status.id.clone()));
                }
            }
            // Whoever starts it answers within moments: look again then.
            (_, Some(ContainerState::Starting)) => self.context.is_in_doubt.store(true, Ordering::SeqCst),
            (state, Some(found)) => self.go_on(place, number, state, found, status).await?,
        }
        self.context.changed();
        Ok(())
    }

    /// The container lives: its run is running, or paused, as it is.
    async fn go_on(
        &self,
        place: Place,
        number: u32,
        state: RunState,
        found: ContainerState,
        status: Option<&ContainerStatus>,
    ) -> Result<(), Failure> {
        let Some(status) = status.cloned() else { return Ok(()) };
        let now = self.context.clock.now();
        let at = status.started_at_micros.map_or(now, Timestamp::from_micros);
        let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
            if state == RunState::Pulling {
                life::started(tx, now, place, number, at, &status.image.to_string())?;
            }
            let changed = match (state, found) {
                (RunState::Pulling | RunState::Running, ContainerState::Paused) => life::paused(tx, now, place, number),
                (RunState::Paused, ContainerState::Running) => {
                    life::resumed(tx, now, place, number, status.paused_micros)
                }
                _ => Ok(()),
            };
            match changed {
                Ok(()) | Err(Abort::Refused(_)) => Ok(()),
                Err(Abort::Failed(failure)) => Err(failure),
            }
        };
        self.write(verb).await
    }

    /// A container that is no live run's: one whose run has ended is archived; one that no run knows of is killed.
    async fn clear_up(self: &Arc<Self>, run_id: RunId, number: u32, status: &ContainerStatus) -> Result<(), Trouble> {
        let read = self.context.store.read();
        let run = match read.get(&CONTAINERS, &run_id)? {
            Some(row) if row.number == number => find(&read, (row.tenant_id, run_id))?,
            _ => None,
        };
        if run.is_some_and(|row| row.state.holds_slot()) {
            return Ok(());
        }
        if status.state == ContainerState::Ended {
            tokio::spawn(Arc::clone(self).finish(status.id.clone()));
            return Ok(());
        }
        tracing::warn!(container = %status.id, "a container that no run knows of is killed");
        let id = status.id.clone();
        match self.call(move |runner| runner.control(&id, Action::Kill)).await {
            Ok(()) | Err(RunnerError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A call to the runner, on the blocking pool.
pub(crate) async fn on_runner<T: Send + 'static>(
    runner: &Runner,
    call: impl FnOnce(&Runner) -> Result<T, RunnerError> + Send + 'static,
) -> Result<T, RunnerError> {
    let runner = runner.clone();
    let called = tokio::task::spawn_blocking(move || call(&runner)).await;
    called.unwrap_or(Err(RunnerError::Confused))
}

/// What a caller is told of a runner's no.
pub(crate) fn refusal_of(error: &RunnerError) -> Refusal {
    match error {
        RunnerError::Refused(quintet_runtime::Refusal::WrongState { state }) => Refusal::InvalidState(match state {
            ContainerState::Starting => "pulling",
            ContainerState::Running => "running",
            ContainerState::Paused => "paused",
            ContainerState::Ended => "ending",
        }),
        RunnerError::Refused(quintet_runtime::Refusal::NoSuchContainer) => Refusal::InvalidState("ending"),
        _ => Refusal::EngineUnavailable,
    }
}
