//! The life of the process, in a line: storage, rooms, socket, listeners, `addresses.json`, notify; then wait,
//! drain, stop.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use quintet_messaging::SmtpListening;
use sd_notify::NotifyState;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::admin;
use crate::app::{self, App};
use crate::config::Config;
use crate::listener::Listening;
use crate::open_files;
use crate::own_listener;
use crate::own_runner;
use crate::root_key::RootKeySources;
use crate::router;
use crate::signals::Signals;
use crate::sites::{self, Bound};
use crate::start_error::StartError;

/// How long open requests may take to end once the process is told to stop.
const DRAIN_DEADLINE: Duration = Duration::from_secs(15);
/// How long a stop waits for deliveries that are being made; what takes longer is made again after the start.
const DELIVERY_TIME: Duration = Duration::from_secs(5);

/// The file that tells where the listeners are, and what that for mail is called there.
const ADDRESSES_FILE: &str = "addresses.json";
const MAIL: &str = "smtp";

/// The file whose lock storage holds as long as it is open.
const LOCK_FILE: &str = "LOCK";

/// Makes a data directory and its root key, and leaves it closed.
///
/// # Errors
/// The directory is not empty, or cannot be made.
pub fn init(config: &Config, rehearsal: bool) -> Result<(), StartError> {
    let root_key = RootKeySources::take(config);
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
    let (store, ..) = app::open_store(config, root_key, rehearsal)?;
    let made = quintet_localization::webhook_secret(&store);
    store.shutdown();
    made.map(drop).map_err(|failure| StartError::Io {
        doing: "making the decision desk's secret".into(),
        error: io::Error::other(failure),
    })
}

/// A started appliance.
pub struct Running {
    app: App,
    listening: Vec<Listening>,
    mail: Option<MailListening>,
    admin: admin::server::Serving,
    clock_task: JoinHandle<()>,
    core_task: JoinHandle<()>,
    engine_task: JoinHandle<()>,
    watchdog: Option<JoinHandle<()>>,
    stop: watch::Sender<bool>,
    signals: Signals,
}

/// Starts the appliance; when it returns, every listener is bound and `addresses.json` is written.
/// `progress` is told each step as it begins.
///
/// # Errors
/// See [`StartError`]; whatever had been opened is closed again.
pub async fn start(config: Config, rehearsal: bool, progress: fn(&str)) -> Result<Running, StartError> {
    // First of all, so that a stop during a long start is one in good order, too.
    let signals = Signals::listen().map_err(|error| StartError::Io { doing: "waiting for signals".into(), error })?;
    let root_key = RootKeySources::take(&config);
    keep_private();
    keep_lean();
    let file_limit = open_files::raise_limit()?;
    remove_stale_addresses(&config.data_dir)?;
    progress(&format!("opening {}", config.data_dir.display()));
    let opened = tokio::task::spawn_blocking(move || App::open(config, root_key, rehearsal)).await;
    let app = opened.map_err(|error| StartError::Io { doing: "opening storage".into(), error: error.into() })??;
    if signals.received() > 0 {
        close_store(&app).await;
        return Err(StartError::ToldToStop);
    }
    let (stop, stopping) = watch::channel(false);
    progress("starting the listeners");
    let (listening, mail, admin) = match listen(&app, file_limit, &stopping).await {
        Ok(bound) => bound,
        Err(error) => {
            stop.send_replace(true);
            close_store(&app).await;
            return Err(error);
        }
    };
    if let Some(tls) = app.tls.clone() {
        tokio::spawn(tls.watch(stopping.clone()));
    }
    let clock_task = tokio::spawn(run_clock(app.clone(), stopping));
    let core_task = tokio::spawn(quintet_localization::watch(app.localization.clone()));
    if let Some(place) = app.runner.clone() {
        own_runner::start(place);
    }
    let engine_task = tokio::spawn(app.runs.clone().run_containers());
    let running = Running {
        app,
        listening,
        mail,
        admin,
        clock_task,
        core_task,
        engine_task,
        watchdog: start_watchdog(),
        stop,
        signals,
    };
    for Listening { name, address, is_encrypted, .. } in &running.listening {
        tracing::info!(service = name, %address, tls = is_encrypted, "listening");
    }
    if let Some(MailListening { address, .. }) = &running.mail {
        tracing::info!(service = MAIL, %address, "listening");
    }
    notify(&[NotifyState::Ready]);
    tracing::info!(version = env!("CARGO_PKG_VERSION"), data_dir = %running.app.store.directory().display(), rehearsal, "ready");
    Ok(running)
}

/// Where mail is taken in.
struct MailListening {
    address: SocketAddr,
    listening: SmtpListening,
}

/// Takes mail in, if the operator wants any and has a domain for it.
async fn listen_for_mail(app: &App, stopping: &watch::Receiver<bool>) -> Result<Option<MailListening>, StartError> {
    let Some(address) = app.config.messaging_smtp_listen.filter(|_| !app.config.messaging_domain.is_empty()) else {
        return Ok(None);
    };
    let unbound = |error| StartError::Bind { name: MAIL, address: address.to_string(), error };
    let listener = TcpListener::bind(address).await.map_err(unbound)?;
    let address = listener.local_addr().map_err(unbound)?;
    let acceptor = app.tls.as_ref().map(|tls| tls.acceptor().clone());
    let listening = SmtpListening::start(app.messaging.clone(), listener, acceptor, stopping.clone());
    Ok(Some(MailListening { address, listening }))
}

/// What is open when everything listens.
type Open = (Vec<Listening>, Option<MailListening>, admin::server::Serving);

/// Binds the socket and every listener that is not off, then says where they are.
async fn listen(app: &App, file_limit: u64, stopping: &watch::Receiver<bool>) -> Result<Open, StartError> {
    let data_dir = app.store.directory();
    let addresses_path = data_dir.join(ADDRESSES_FILE);
    remove_addresses(data_dir)?;
    let mut listening = Vec::new();
    let sites = router::sites(app).into_iter().filter_map(|site| Some((app.config.listen.of(site.name)?, site)));
    let sites: Vec<_> = sites.collect();
    let ceilings: Vec<u32> = sites.iter().map(|(_, site)| site.capacity.ceiling).collect();
    let granted = open_files::connections_of(file_limit, &ceilings, app.tls.is_some());
    for ((address, site), granted) in sites.into_iter().zip(granted) {
        let name = site.name;
        let tls = app.tls.clone().filter(|_| sites::is_encrypted(name, address));
        let started = Listening::start(site, address, granted, tls, stopping.clone()).await;
        listening.push(started.map_err(|error| StartError::Bind { name, address: address.to_string(), error })?);
    }
    if let Some(own) = listening.iter().find(|l| l.name == "messaging") {
        let scheme = if own.is_encrypted { "https" } else { "http" };
        app.messaging.listens_at(format!("{scheme}://{}", own.address));
    }
    let mail = listen_for_mail(app, stopping).await?;
    let mut addresses: BTreeMap<&'static str, SocketAddr> = listening.iter().map(|l| (l.name, l.address)).collect();
    addresses.extend(mail.iter().map(|mail| (MAIL, mail.address)));
    let bound = listening.iter().map(|l| Bound { name: l.name, address: l.address, is_encrypted: l.is_encrypted });
    app.places.say(bound.collect());
    let admin = admin::server::start(app.clone(), stopping.clone())
        .map_err(|error| StartError::io("binding the administration socket in", data_dir, error))?;
    write_addresses(&addresses_path, &addresses).map_err(|error| StartError::io("writing", &addresses_path, error))?;
    // It takes a moment, in which whoever found the listeners would look for the socket in vain.
    if let Some(own) = listening.iter().find(|l| l.name == "localization") {
        let way = own_listener::way_to(app, own, stopping.clone());
        quintet_localization::listens_at(&app.localization, way);
    }
    Ok((listening, mail, admin))
}

/// Whether a process works on this data directory.
#[must_use]
pub fn is_in_use(data_dir: &Path) -> bool {
    let Ok(lock) = std::fs::File::open(data_dir.join(LOCK_FILE)) else { return false };
    let taken = rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockShared);
    taken == Err(rustix::io::Errno::WOULDBLOCK)
}

/// Removes the addresses of a run that was cut off, before the start takes its time: whoever waits for the file must
/// not find them. A running appliance holds the lock, and its file stays; nobody can start while this holds it.
fn remove_stale_addresses(data_dir: &Path) -> Result<(), StartError> {
    if !quintet_storage::read_format(data_dir).is_ok_and(|format| format.is_some()) {
        return Ok(());
    }
    let Ok(lock) = std::fs::OpenOptions::new().write(true).open(data_dir.join(LOCK_FILE)) else { return Ok(()) };
    if rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        // Opening the directory says who holds it, or what is the matter.
        return Ok(());
    }
    remove_addresses(data_dir)
}

fn remove_addresses(data_dir: &Path) -> Result<(), StartError> {
    let path = data_dir.join(ADDRESSES_FILE);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StartError::io("removing", &path, error)),
        _ => Ok(()),
    }
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

/// Closes the store in good order: what waits is executed and answered, then the lock is given back.
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

    /// Waits until the process is told to stop (SIGTERM, SIGINT), if it was not told already.
    pub async fn until_told(&self) {
        self.signals.more_than(0).await;
    }

    /// Stops: no new connections, open requests are answered (a second signal or the deadline cuts them off),
    /// the store is closed.
    pub async fn stop(self) {
        let told = self.signals.received();
        notify(&[NotifyState::Stopping]);
        tracing::info!("stopping");
        self.stop.send_replace(true);
        self.app.stopping.stop();
        let drained = async {
            for listening in &self.listening {
                listening.drained().await;
            }
            if let Some(mail) = &self.mail {
                mail.listening.drained().await;
            }
            self.admin.drained().await;
            self.app.pump.stop(DELIVERY_TIME).await;
            self.app.messaging.mail_rests(DELIVERY_TIME).await;
        };
        tokio::select! {
            () = drained => {}
            () = tokio::time::sleep(DRAIN_DEADLINE) => tracing::warn!("some requests did not end in time; they are cut off"),
            () = self.signals.more_than(told) => tracing::warn!("told to stop again; open requests are cut off"),
        }
        if let Some(watchdog) = self.watchdog {
            watchdog.abort();
        }
        self.core_task.abort();
        let _ = tokio::time::timeout(DRAIN_DEADLINE, self.engine_task).await;
        let _ = tokio::time::timeout(DRAIN_DEADLINE, self.clock_task).await;
        admin::socket::remove(self.app.store.directory());
        let _ = std::fs::remove_file(self.app.store.directory().join(ADDRESSES_FILE));
        close_store(&self.app).await;
        tracing::info!("stopped");
    }
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
pub fn keep_private() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "core dumps cannot be ruled out");
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// Memory is taken and given back in pages. In blocks of two mebibytes, which some systems make of everything, little of
/// what has been freed can be given back: nearly twice as much is held at rest, and nothing is faster.
fn keep_lean() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay as the system has them");
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
