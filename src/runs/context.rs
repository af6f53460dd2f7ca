//! What runs need to serve and to run: made once, shared by the listener and the engine.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::Foundation;
use quintet_platform::deliveries::Pump;
use quintet_platform::egress::Egress;
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::service::Turns;
use quintet_platform::stopping::Stopping;
use quintet_runtime::{ContainerId, Runner};
use quintet_storage::{Abort, Failure, Lsn, Store, Timestamp, WriteTx};
use tokio::sync::{Notify, watch};

use crate::allowances::{Ceilings, quotas};
use crate::aside::Aside;
use crate::due::{self, Fire};
use crate::followers::Followers;
use crate::model::{FAMILY, RunId, RunKey};
use crate::pictures::SharedPainter;
use crate::registry::{PullLimits, Puller, Registries, RegistrySettings};

/// How many requests for logs and samples are served at a time; each may hold 64 MiB.
pub(crate) const READERS: usize = 4;
/// How many requests look through rows at a time.
pub(crate) const LOOKERS: usize = 8;

/// How long keeping the ceilings may wait for the writer.
const CEILINGS_TIME: Duration = Duration::from_secs(10);

/// How long somebody who waits puts off the next look while changes follow one another, at least and at most.
const PAUSE_LEAST: Duration = Duration::from_millis(1);
const PAUSE_MOST: Duration = Duration::from_millis(20);

/// What the operator says of runs.
#[derive(Clone)]
pub struct Settings {
    /// Containers at once.
    pub workers: u32,
    /// The writable layer of a container, in MiB.
    pub scratch_mb: u64,
    /// Free space that stays on disks whatever images and containers take, in bytes.
    pub disk_reserve_bytes: u64,
    /// Where the runner's socket lies; none: no containers here.
    pub runner_socket: Option<PathBuf>,
    /// What no tenant may exceed.
    pub ceilings: Ceilings,
    /// The one way out.
    pub egress: Egress,
    /// What draws pictures.
    pub painter: SharedPainter,
    /// What makes the deliveries of webhooks.
    pub pump: Pump,
    /// Where images come from, by host and port.
    pub registries: Vec<RegistrySettings>,
}

/// What runs need. Clones share it, at the cost of one reference.
#[derive(Clone)]
pub struct Context(Arc<Parts>);

/// The parts of a context.
pub struct Parts {
    foundation: Foundation,
    /// What the operator says.
    pub(crate) settings: Settings,
    /// The runner, if there is to be one.
    pub(crate) runner: Option<Runner>,
    /// Where images come from that are not here.
    pub(crate) puller: Arc<Puller>,
    /// The runs that have their slot and hold no worker.
    pub(crate) aside: Aside,
    /// Ends the names of this appliance's containers, so that two appliances can share a runner.
    tag: String,
    /// Whether the runner answered the last time.
    pub(crate) engine_up: AtomicBool,
    /// Whether runs wait for room on the runner's disk.
    pub(crate) is_disk_short: AtomicBool,
    /// Something may have been done or not: the engine asks the runner.
    pub(crate) is_in_doubt: AtomicBool,
    /// Has the engine look at once.
    pub(crate) doubts: Notify,
    /// One control at a time for a run.
    controls: Mutex<HashMap<RunId, Arc<tokio::sync::Mutex<()>>>>,
    /// For those who read many lines.
    pub(crate) readers: Turns,
    /// For those who look through many rows, or read a large body.
    pub(crate) lookers: Turns,
    /// Who follows a run at the moment.
    pub(crate) followers: Followers,
    /// What is done about the end of a run that is an attempt at a node, in the same transaction.
    pub(crate) node_ends: NodeEnds,
}

/// What goes on when a run has ended: its workflow does. Runs come before workflows and do not know them, so this is handed
/// down to them.
pub(crate) type NodeEnds = fn(&mut WriteTx<'_>, Timestamp, RunKey) -> Result<(), Failure>;

impl std::ops::Deref for Parts {
    type Target = Foundation;

    fn deref(&self) -> &Foundation {
        &self.foundation
    }
}

impl std::ops::Deref for Context {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// Keeps the ceilings of this start. A disk without room keeps those of the last one in force.
fn keep_ceilings(store: &Store, ceilings: &Ceilings) {
    let (before, kept) = (quotas::are_kept(&store.read(), ceilings), ceilings.clone());
    let verb = move |tx: &mut WriteTx<'_>, _| Ok::<(), Abort<Infallible>>(quotas::keep_ceilings(tx, kept)?);
    let kept = before.map_err(Abort::Failed).and_then(|are_kept| match are_kept {
        true => Ok(()),
        false => store.write_blocking(Instant::now() + CEILINGS_TIME, verb),
    });
    if let Err(Abort::Failed(failure)) = kept {
        tracing::warn!(%failure, "the ceilings of runs cannot be kept: what is told keeps to the last ones");
    }
}

impl Context {
    /// Made once, when the appliance starts.
    ///
    /// # Errors
    /// The names of registries are not what they must be, or the directory for what arrives cannot be made.
    pub(crate) fn new(foundation: Foundation, settings: Settings, node_ends: NodeEnds) -> io::Result<Context> {
        let registries = Registries::new(&settings.registries).map_err(io::Error::other)?;
        let arriving = foundation.store.directory().join("pulls");
        let limits = PullLimits { disk_reserve_bytes: settings.disk_reserve_bytes, ..PullLimits::default() };
        let puller = Puller::new(settings.egress.clone(), registries, &arriving, limits)?;
        let directory_id = foundation.store.format().directory_id.simple().to_string();
        let tag = directory_id.chars().skip(20).collect();
        keep_ceilings(&foundation.store, &settings.ceilings);
        let runner = settings.runner_socket.clone();
        let runner = runner.map(|socket| Runner::new(socket).with_reserve(settings.disk_reserve_bytes));
        Ok(Context(Arc::new(Parts {
            foundation,
            puller: Arc::new(puller),
            aside: Aside::default(),
            settings,
            runner,
            tag,
            engine_up: AtomicBool::new(false),
            is_disk_short: AtomicBool::new(false),
            is_in_doubt: AtomicBool::new(true),
            doubts: Notify::new(),
            controls: Mutex::default(),
            readers: Turns::new(READERS),
            lookers: Turns::of(LOOKERS, LOOKERS / 2),
            followers: Followers::default(),
            node_ends,
        })))
    }

    /// One transaction, at most so long in waiting for the writer.
    ///
    /// # Errors
    /// What the verb refuses, and the store's failures.
    pub(crate) async fn write<T, R>(
        &self,
        patience: Duration,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    ) -> Result<T, Abort<R>>
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        self.store.write(Instant::now() + patience, verb).await
    }

    /// Somebody who waits for changes of runs, from now on.
    pub(crate) fn watch(&self) -> Watch {
        Watch { changes: self.store.changes(FAMILY), stopping: self.stopping.clone(), pause: Duration::ZERO }
    }

    /// Has the engine look at once, for a worker came free or is wanted, which no row says.
    pub(crate) fn look(&self) {
        self.doubts.notify_one();
    }

    /// Has the engine ask the runner how things stand.
    pub(crate) fn doubt(&self) {
        self.is_in_doubt.store(true, Ordering::SeqCst);
        self.doubts.notify_one();
    }

    /// The name of a run's container.
    pub(crate) fn container_id(&self, run_id: RunId, number: u32) -> Option<ContainerId> {
        ContainerId::parse(&format!("{}-{number}-{}", ulid(run_id.0), self.tag)).ok()
    }

    /// Whose container this is, if it is one of this appliance.
    pub(crate) fn run_of(&self, id: &ContainerId) -> Option<(RunId, u32)> {
        let mut parts = id.as_str().split('-');
        let (run_id, number, tag) = (parts.next()?, parts.next()?, parts.next()?);
        if tag != self.tag || parts.next().is_some() {
            return None;
        }
        Some((RunId(parse_ulid(run_id)?), number.parse().ok()?))
    }

    /// Lets only one control of a run through at a time.
    pub(crate) async fn control_of(&self, run_id: RunId) -> Control<'_> {
        let turn = Arc::clone(self.controls().entry(run_id).or_default());
        let mut control = Control { context: self, run_id, turn: None };
        control.turn = Some(turn.lock_owned().await);
        control
    }

    fn controls(&self) -> MutexGuard<'_, HashMap<RunId, Arc<tokio::sync::Mutex<()>>>> {
        self.controls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is to be a runner at all.
    #[must_use]
    pub fn has_runner(&self) -> bool {
        self.runner.is_some()
    }

    /// When the first timer or schedule fires that has not yet.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn first_alarm(&self) -> Result<Option<Timestamp>, Failure> {
        let first = due::first_fires(&self.store.read(), (Timestamp::EPOCH, Fire::FIRST), 1)?;
        Ok(first.first().map(|(at, _)| *at))
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether runs wait for room on the runner's disk.
    #[must_use]
    pub fn is_disk_short(&self) -> bool {
        self.is_disk_short.load(Ordering::SeqCst)
    }

    /// Whether the runner answers.
    #[must_use]
    pub fn is_engine_up(&self) -> bool {
        self.engine_up.load(Ordering::SeqCst) && self.runner.as_ref().is_some_and(|runner| !runner.is_hung())
    }
}

/// The control of a run, for one at a time.
pub(crate) struct Control<'c> {
    context: &'c Context,
    run_id: RunId,
    turn: Option<tokio::sync::OwnedMutexGuard<()>>,
}

impl Drop for Control<'_> {
    fn drop(&mut self) {
        let mut controls = self.context.controls();
        drop(self.turn.take());
        // Nobody else has it or waits for it.
        if controls.get(&self.run_id).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            controls.remove(&self.run_id);
        }
    }
}

/// Somebody who waits for changes of runs.
pub(crate) struct Watch {
    changes: watch::Receiver<Lsn>,
    stopping: Stopping,
    /// How long the next look is put off after a change.
    pause: Duration,
}

impl Watch {
    /// What has changed until now is seen: the next wait is for something new. To be called before the look.
    pub(crate) fn mark(&mut self) {
        let _ = self.changes.borrow_and_update();
    }

    /// Waits for a change since the mark, at most so long. The stop of the appliance ends it, too.
    pub(crate) async fn change(&mut self, at_most: Duration) {
        // What can tell nothing any more, for the store is closed, is not waited for.
        tokio::select! {
            Ok(()) = self.changes.changed() => {}
            () = self.stopping.stopped() => {}
            () = tokio::time::sleep(at_most) => {}
        }
    }

    /// The same for the many who wait for one run while all of them change: the first change after a quiet time is told
    /// at once, each that follows on its heels a little later.
    pub(crate) async fn paced_change(&mut self, at_most: Duration) {
        let began = Instant::now();
        self.change(at_most).await;
        let waited = began.elapsed();
        self.pause = next_pause(self.pause, waited);
        tokio::time::sleep(self.pause.min(at_most.saturating_sub(waited))).await;
    }
}

/// How long a look is put off after a change that came so long after the look before.
fn next_pause(pause: Duration, waited: Duration) -> Duration {
    if waited > PAUSE_MOST { Duration::ZERO } else { (pause * 2).clamp(PAUSE_LEAST, PAUSE_MOST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_waits_while_all_changes_looks_a_few_times_a_second() {
        let change_every = Duration::from_millis(1);
        let (mut pause, mut now, mut looks) = (Duration::ZERO, Duration::ZERO, 0);
        while now < Duration::from_secs(1) {
            pause = next_pause(pause, change_every);
            now += change_every + pause;
            looks += 1;
        }
        assert!((40..70).contains(&looks), "{looks} looks at a thousand changes");
        assert_eq!(next_pause(pause, Duration::from_millis(21)), Duration::ZERO, "what comes alone is told at once");
    }
}
