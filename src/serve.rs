//! The life of the process, in a line: storage, rooms, socket, listeners, `addresses.json`, notify; then wait,
//! drain, stop.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::admin;
use crate::app::{self, App};
use crate::config::Config;
use crate::listener::Listening;
use crate::router;
use crate::start_error::StartError;

/// How long open requests may take to end once the process is told to stop.
const DRAIN_DEADLINE: Duration = Duration::from_secs(15);

/// The file that tells where the listeners are.
const ADDRESSES_FILE: &str = "addresses.json";

/// Makes a data directory and its root key, and leaves it closed.
///
/// # Errors
/// The directory is not empty, or cannot be made.
pub fn init(config: &Config, rehearsal: bool) -> Result<(), StartError> {
    keep_private();
    match std::fs::read_dir(&config.data_dir) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(StartError::NotEmpty(config.data_dir.clone()));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(StartError::io("reading", &config.data_dir, error)),
    }
    let (store, _) = app::open_store(config, rehearsal)?;
    store.shutdown();
    Ok(())
}

/// A started appliance.
pub struct Running {
    app: App,
    listening: Vec<Listening>,
    admin: admin::server::Serving,
    clock_task: JoinHandle<()>,
    watchdog: Option<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

/// Starts the appliance; when it returns, every listener is bound and `addresses.json` is written.
/// `progress` is told each step as it begins.
///
/// # Errors
/// See [`StartError`]; whatever had been opened is closed again.
pub async fn start(config: Config, rehearsal: bool, progress: fn(&str)) -> Result<Running, StartError> {
    if config.wants_tls {
        let reason = "tls.cert: this version speaks plain HTTP only; leave it empty and put a proxy in front";
        return Err(StartError::Unsupported(reason.to_string()));
    }
    keep_private();
    raise_file_limit();
    progress(&format!("opening {}", config.data_dir.display()));
    let opened = tokio::task::spawn_blocking(move || App::open(config, rehearsal)).await;
    let app = opened.map_err(|error| StartError::Io { doing: "opening storage".into(), error: error.into() })??;
    let (stop, stopping) = watch::channel(false);
    progress("starting the listeners");
    let (listening, admin) = match listen(&app, &stopping).await {
        Ok(bound) => bound,
        Err(error) => {
            stop.send_replace(true);
            close_store(&app).await;
            return Err(error);
        }
    };
    let clock_task = tokio::spawn(run_clock(app.clone(), stopping));
    let running = Running { app, listening, admin, clock_task, watchdog: start_watchdog(), stop };
    for (name, address) in running.addresses() {
        tracing::info!(service = name, %address, "listening");
    }
    notify(&[NotifyState::Ready]);
    tracing::info!(version = env!("CARGO_PKG_VERSION"), data_dir = %running.app.store.directory().display(), rehearsal, "ready");
    Ok(running)
}

/// Binds the socket and every listener that is not off, then says where they are.
async fn listen(
    app: &App,
    stopping: &watch::Receiver<bool>,
) -> Result<(Vec<Listening>, admin::server::Serving), StartError> {
    let data_dir = app.store.directory();
    let addresses_path = data_dir.join(ADDRESSES_FILE);
    // Whoever waits for this file must not find the last run's.
    match std::fs::remove_file(&addresses_path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(StartError::io("removing", &addresses_path, error));
        }
        _ => {}
    }
    let mut listening = Vec::new();
    for site in router::sites(app) {
        let name = site.name;
        let Some(address) = app.config.listen.of(name) else { continue };
        let started = Listening::start(site, address, stopping.clone()).await;
        listening.push(started.map_err(|error| StartError::Bind { name, address: address.to_string(), error })?);
    }
    let addresses: BTreeMap<&'static str, SocketAddr> = listening.iter().map(|l| (l.name, l.address)).collect();
    let admin = admin::server::start(app.clone(), addresses.clone(), stopping.clone())
        .map_err(|error| StartError::io("binding the administration socket in", data_dir, error))?;
    write_addresses(&addresses_path, &addresses).map_err(|error| StartError::io("writing", &addresses_path, error))?;
    Ok((listening, admin))
}

/// Replaces the file as a whole, so that nobody reads half of it.
fn write_addresses(path: &Path, addresses: &BTreeMap<&'static str, SocketAddr>) -> io::Result<()> {
    let text = serde_json::to_string(addresses).map_err(io::Error::other)?;
    let half_written = path.with_extension("json.tmp");
    std::fs::write(&half_written, format!("{text}\n"))?;
    std::fs::rename(&half_written, path)
}

async fn run_clock(app: App, mut stopping: watch::Receiver<bool>) {
    let stopped = async move {
        // An error means that the sender is gone, which is the end as well.
        let _ = stopping.wait_for(|stop| *stop).await;
    };
    app.clock.run_real_time(stopped).await;
}

/// Waits until everything that was accepted is answered, or the deadline has passed.
async fn close_store(app: &App) {
    let store = app.store.clone();
    let _ = tokio::task::spawn_blocking(move || store.shutdown()).await;
}

impl Running {
    /// What is open.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Where the listeners are, in the order of the router.
    #[must_use]
    pub fn addresses(&self) -> Vec<(&'static str, SocketAddr)> {
        self.listening.iter().map(|listening| (listening.name, listening.address)).collect()
    }

    /// Waits until the process is told to stop (SIGTERM, SIGINT).
    ///
    /// # Errors
    /// Signals cannot be received.
    pub async fn until_told(&self) -> io::Result<()> {
        told_to_stop().await
    }

    /// Stops: no new connections, open requests are answered (a second signal or the deadline cuts them off),
    /// the store is closed.
    pub async fn stop(self) {
        notify(&[NotifyState::Stopping]);
        tracing::info!("stopping");
        self.stop.send_replace(true);
        let drained = async {
            for listening in &self.listening {
                listening.drained().await;
            }
            self.admin.drained().await;
        };
        tokio::select! {
            () = drained => {}
            () = tokio::time::sleep(DRAIN_DEADLINE) => tracing::warn!("some requests did not end in time; they are cut off"),
            _ = told_to_stop() => tracing::warn!("told to stop again; open requests are cut off"),
        }
        if let Some(watchdog) = self.watchdog {
            watchdog.abort();
        }
        let _ = tokio::time::timeout(DRAIN_DEADLINE, self.clock_task).await;
        admin::socket::remove(self.app.store.directory());
        let _ = std::fs::remove_file(self.app.store.directory().join(ADDRESSES_FILE));
        close_store(&self.app).await;
        tracing::info!("stopped");
    }
}

async fn told_to_stop() -> io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Tells systemd, if it listens.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd could not be notified");
    }
}

/// Keeps systemd's watchdog quiet as long as the runtime turns.
fn start_watchdog() -> Option<JoinHandle<()>> {
    let interval = sd_notify::watchdog_enabled()?;
    Some(tokio::spawn(async move {
        let mut tick = tokio::time::interval(interval / 2);
        loop {
            tick.tick().await;
            notify(&[NotifyState::Watchdog]);
        }
    }))
}

/// Nothing that this process makes is for other users' eyes, and its memory, which holds secrets, is for nobody's:
/// no core dump is written.
fn keep_private() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "core dumps cannot be ruled out");
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// Connections and tables need more files than the usual soft limit of 1,024.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// Runs the appliance to its end on a runtime of its own.
///
/// # Errors
/// The runtime cannot be made.
pub fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("quintet").build()?;
    Ok(runtime.block_on(work))
}
