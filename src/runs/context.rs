//! What runs need to serve and to run: made once, shared by the listener and the engine.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quintet_platform::Foundation;
use quintet_platform::egress::Egress;
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_runtime::{ContainerId, Runner};
use tokio::sync::{Notify, watch};

use crate::model::{Ceilings, RunId};
use crate::registry::{PullLimits, Puller, Registries};

/// See [`Parts::controls`].
const CONTROLS: usize = 64;
/// How many requests for logs are served at a time; each may hold 16 MiB.
const READERS: usize = 4;
/// How many requests follow a run at a time.
const FOLLOWERS: usize = 256;

/// What the operator says of runs.
#[derive(Clone)]
pub struct Settings {
    /// Containers at once.
    pub workers: u32,
    /// The writable layer of a container, in MiB.
    pub scratch_mb: u64,
    /// Where the runner's socket lies; none: no containers here.
    pub runner_socket: Option<PathBuf>,
    /// What no tenant may exceed.
    pub ceilings: Ceilings,
    /// The one way out.
    pub egress: Egress,
    /// Where images come from, by host and port.
    pub registries: Vec<RegistrySettings>,
}

/// What the operator says of a registry.
#[derive(Clone, Debug)]
pub struct RegistrySettings {
    /// Its host and port.
    pub host: String,
    /// Whether it is spoken to without TLS.
    pub plain_http: bool,
    /// Who is asking; empty: nobody in particular.
    pub username: String,
    /// The password.
    pub password: quintet_platform::secrets::Secret,
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
    pub(crate) puller: Puller,
    /// The appliance stops: pulls are called off.
    pub(crate) is_pulling_over: AtomicBool,
    /// Ends the names of this appliance's containers, so that two appliances can share a runner.
    pub(crate) tag: String,
    /// Whether the runner answered the last time.
    pub(crate) engine_up: AtomicBool,
    /// Something may have been done or not: the engine asks the runner.
    pub(crate) is_in_doubt: AtomicBool,
    /// One control at a time for a run; runs share a few of these.
    pub(crate) controls: [tokio::sync::Mutex<()>; CONTROLS],
    /// Who reads many lines at the moment.
    pub(crate) readers: tokio::sync::Semaphore,
    /// Who follows a run at the moment.
    pub(crate) followers: Arc<tokio::sync::Semaphore>,
    /// Wakes the engine.
    pub(crate) wake: Notify,
    /// Changes with every change of a run, for those who wait for one; `true` once the appliance stops.
    pub(crate) changes: watch::Sender<bool>,
}

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

impl Context {
    /// Made once, when the appliance starts.
    ///
    /// # Errors
    /// The names of registries are not what they must be, or the directory for what arrives cannot be made.
    pub fn new(foundation: Foundation, settings: Settings) -> io::Result<Context> {
        let registries = Registries::new(&settings.registries).map_err(io::Error::other)?;
        let arriving = foundation.store.directory().join("pulls");
        let puller = Puller::new(settings.egress.clone(), registries, &arriving, PullLimits::default())?;
        let directory_id = foundation.store.format().directory_id.simple().to_string();
        let tag = directory_id.chars().skip(20).collect();
        let runner = settings.runner_socket.clone().map(Runner::new);
        let (changes, _) = watch::channel(false);
        Ok(Context(Arc::new(Parts {
            foundation,
            puller,
            is_pulling_over: AtomicBool::new(false),
            settings,
            runner,
            tag,
            engine_up: AtomicBool::new(false),
            is_in_doubt: AtomicBool::new(true),
            controls: std::array::from_fn(|_| tokio::sync::Mutex::new(())),
            readers: tokio::sync::Semaphore::new(READERS),
            followers: Arc::new(tokio::sync::Semaphore::new(FOLLOWERS)),
            wake: Notify::new(),
            changes,
        })))
    }

    /// Ends what would not end by itself: those who wait for a run, and those who follow one. Called when the appliance
    /// stops, before open requests are waited for.
    pub fn stop(&self) {
        self.changes.send_replace(true);
        self.is_pulling_over.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Whether the appliance stops.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.changes.borrow()
    }

    /// Has the engine ask the runner how things stand.
    pub(crate) fn doubt(&self) {
        self.is_in_doubt.store(true, Ordering::SeqCst);
    }

    /// Says that a run has changed.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|_| {});
        self.wake.notify_one();
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
    pub(crate) async fn control_of(&self, run_id: RunId) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let place = run_id.0.as_bytes().iter().fold(0_usize, |sum, byte| sum.wrapping_mul(31) ^ usize::from(*byte));
        Some(self.controls.get(place % CONTROLS)?.lock().await)
    }

    /// Whether there is to be a runner at all.
    #[must_use]
    pub fn has_runner(&self) -> bool {
        self.runner.is_some()
    }

    /// How many containers hold a slot now, and how many slots there are.
    ///
    /// # Errors
    /// What the store answers.
    pub fn workers(&self) -> Result<(u64, u32), quintet_storage::Failure> {
        Ok((crate::queries::busy(&self.store.read())?, self.settings.workers))
    }

    /// Whether the runner answers.
    #[must_use]
    pub fn is_engine_up(&self) -> bool {
        self.engine_up.load(Ordering::SeqCst)
    }
}
