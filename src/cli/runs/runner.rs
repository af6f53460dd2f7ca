//! `quintet runner`: the privileged side of containers; and the supervisors it makes of this same binary.

use std::path::PathBuf;
use std::sync::Arc;

use quintet_platform::clock::Clock;
use quintet_runtime::{
    ImageLimits, RunnerOptions, RunnerStartError, WallClock, hold_control_group, start_runner, supervise,
};

use crate::cli::CliError;
use crate::cli::output;
use crate::cli::serve::start_logging;

/// Where the runner's socket lies if nothing else is said (`runs.runner_socket`).
pub const DEFAULT_SOCKET: &str = "/run/quintet/runner.sock";

/// Run the privileged side of containers in the foreground
///
/// It needs root, opens no network connection and listens on one unix socket. Containers go on when it stops; when it
/// is started again it finds them. Its directory holds unpacked images and running containers, and belongs to root
/// alone: losing it loses nothing else, and a copy of it is discarded.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Its directory
    #[arg(long, value_name = "DIR", default_value = "/var/lib/quintet-runner")]
    dir: PathBuf,
    /// Its socket
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
    /// A control group that is left to it, in which the groups of containers are made: its path from the root of the
    /// hierarchies [default: /quintet, which it makes]
    #[arg(long, value_name = "PATH")]
    control_group: Option<String>,
    /// Who may speak to it besides root: a group, by name or number
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// How many containers run at once, at most
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=4096))]
    containers_max: u32,
    /// Free space that containers and images leave on its disk, in MiB, where a client does not say: a server does, by
    /// storage.disk_reserve_mb
    #[arg(long, value_name = "MB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(0..=1 << 30))]
    disk_reserve_mb: u64,
    /// Give all containers one range of ids, even where the kernel can map the owners of shared layers
    #[arg(long)]
    shared_ids: bool,
    /// End when standard input does: a server that starts its own runner holds the other end
    #[arg(long, hide = true)]
    with_parent: bool,
    /// What to log: error, warn, info, debug, trace [default: RUST_LOG, else info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
}

/// The time of day, for the runtime.
struct SystemClock(Clock);

impl WallClock for SystemClock {
    fn now_micros(&self) -> i64 {
        self.0.now().as_micros()
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    start_logging(arguments.log_level.as_deref(), "info")?;
    // What is unpacked and shared must be readable by others, whatever the caller thinks of files of its own.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // The appliance that starts its own runner wants none for itself; containers have what the machine has.
    if arguments.with_parent
        && let Err(error) = rustix::thread::disable_transparent_huge_pages(false)
    {
        tracing::debug!(%error, "containers get no huge pages");
    }
    let client_group = arguments.group.as_deref().map(group_number).transpose()?;
    let options = RunnerOptions {
        directory: arguments.dir.clone(),
        socket: arguments.socket.clone(),
        control_group: arguments.control_group.clone(),
        client_group,
        limits: ImageLimits { disk_reserve_bytes: arguments.disk_reserve_mb << 20, ..ImageLimits::default() },
        containers_max: arguments.containers_max,
        shared_ids: arguments.shared_ids,
        // The file that runs now, also when another one has taken its name since.
        supervisor: vec!["/proc/self/exe".into(), "supervise".into()],
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let serving = start_runner(options, Arc::new(SystemClock(Clock::system()))).map_err(|error| match error {
        RunnerStartError::InUse(_) => CliError::failed(error).code(CliError::IN_USE),
        RunnerStartError::NotRoot => CliError::failed(error).hint("sudo quintet runner"),
        error => CliError::failed(error),
    })?;
    let features = serving.features();
    tracing::info!(
        cgroup_version = features.cgroup_version,
        idmapped_layers = features.idmapped_layers,
        scratch = ?features.scratch,
        "the runner answers"
    );
    if arguments.with_parent {
        end_with_parent().map_err(CliError::failed)?;
    }
    notify_ready();
    serving.run().map_err(CliError::failed)
}

/// Tells systemd, if it listens.
fn notify_ready() {
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        tracing::warn!(%error, "systemd could not be notified");
    }
}

/// Keeps a delegated control group in being, for containers; the doing of quintet-containers.service
#[derive(Debug, clap::Args)]
pub struct HoldGroupsArguments {}

/// Runs the hidden command: until it is told to stop, it does nothing.
pub fn hold_groups(_: &HoldGroupsArguments) -> Result<(), CliError> {
    start_logging(None, "info")?;
    let group = hold_control_group().map_err(CliError::failed)?;
    tracing::info!(group, "held for containers");
    notify_ready();
    loop {
        rustix::event::pause();
    }
}

/// Ends this process once nobody holds the other end of its standard input. A runner can be ended at any moment: its
/// containers go on.
fn end_with_parent() -> std::io::Result<()> {
    let wait = || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM);
    };
    std::thread::Builder::new().name("parent".into()).spawn(wait).map(|_| ())
}

/// A group's number.
fn group_number(group: &str) -> Result<u32, CliError> {
    if let Ok(number) = group.parse() {
        return Ok(number);
    }
    let groups = std::fs::read_to_string("/etc/group").map_err(CliError::failed)?;
    let mut rows = groups.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let row = rows.find(|row| row.first() == Some(&group));
    let number = row.and_then(|row| row.get(2).and_then(|number| number.parse().ok()));
    number.ok_or_else(|| CliError::failed(format!("there is no group {}", output::plain(group))).code(CliError::USAGE))
}

/// Supervises one container; the runner's own doing
#[derive(Debug, clap::Args)]
pub struct SuperviseArguments {}

/// Runs the hidden command.
pub fn run_supervisor(_: &SuperviseArguments) -> Result<(), CliError> {
    // libcontainer goes on logging when standard error is the container's already; what fails it returns as well.
    start_logging(None, "warn,libcontainer=off,libcgroups=off")?;
    supervise(&SystemClock(Clock::system())).map_err(CliError::failed)
}
