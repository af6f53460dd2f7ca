//! The runner that belongs to this appliance: where it is, and one of its own where nobody has started any.
//!
//! An installed appliance finds its runner at the configured socket, started by the system, and needs no privilege.
//! Started by root without one (`make run`, a trial), `serve` starts a runner as its child, in a directory of root's
//! beside the data directory, or below /var/lib where somebody else decides what lies there. The child ends with its
//! parent, whatever ends it; containers do not: their supervisors go on, and the next runner finds them again.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use quintet_runtime::{Digest, Runner, is_roots_alone};

use crate::config::Config;

/// The socket's name that says: no containers here.
const OFF: &str = "off";
/// Where runners of one's own work that cannot lie beside their data: in a home, say.
const ELSEWHERE: &str = "/var/lib/quintet-runners";
/// Between the end of a runner of one's own and the next.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Where a runner is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its directory.
    pub directory: PathBuf,
    /// Its socket.
    pub socket: PathBuf,
}

/// Whether there are to be no containers.
#[must_use]
pub fn is_off(config: &Config) -> bool {
    config.runs_runner_socket == Path::new(OFF)
}

/// Where the runner of this configuration is; none if there is to be none.
#[must_use]
pub fn place(config: &Config) -> Option<Place> {
    if is_off(config) {
        return None;
    }
    let configured = Place { directory: config.runs_runner_dir.clone(), socket: config.runs_runner_socket.clone() };
    if config.runs_runner_is_placed {
        return Some(configured);
    }
    let beside = beside(&config.data_dir);
    // Installed, the system's runner keeps its directory just there: that it exists does not make it one of ours.
    if beside.directory == without_links(&configured.directory) {
        return Some(configured);
    }
    let is_beside = answers(&beside.socket)
        || beside.directory.exists()
        || (!answers(&configured.socket) && rustix::process::geteuid().is_root());
    Some(if is_beside { beside } else { configured })
}

/// The place of a runner of one's own: `quintet-data-runner` for `quintet-data`, where a runner takes that; else one by
/// the directory's name below [`ELSEWHERE`], and that for good.
fn beside(data_dir: &Path) -> Place {
    let data_dir = without_links(data_dir);
    let mut name = OsString::from(data_dir.file_name().unwrap_or_default());
    name.push("-runner");
    let beside = data_dir.with_file_name(name);
    let digest = Digest::of(data_dir.as_os_str().as_bytes());
    let elsewhere = Path::new(ELSEWHERE).join(digest.hex().get(..16).unwrap_or_default());
    let directory = if is_roots_alone(&beside) && !elsewhere.exists() { beside } else { elsewhere };
    Place { socket: directory.join("runner.sock"), directory }
}

/// The same place by a path without links, as far as it is there: a runner follows none.
fn without_links(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path };
    let parent = parent.canonicalize().unwrap_or_else(|_| without_links(parent));
    parent.join(name)
}

fn answers(socket: &Path) -> bool {
    Runner::new(socket).find().is_ok()
}

/// How many cores this machine has, and how much memory in MiB.
#[must_use]
pub fn machine() -> (u64, u64) {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory_bytes = rustix::system::sysinfo();
    let memory_mb = (u128::from(memory_bytes.totalram) * u128::from(memory_bytes.mem_unit)) >> 20;
    (cores as u64, u64::try_from(memory_mb).unwrap_or(u64::MAX))
}

/// How many containers this machine runs at once: four a core, as long as each may have 256 MiB.
#[must_use]
pub fn workers_of_machine() -> u32 {
    let (cores, memory_mb) = machine();
    u32::try_from((cores * 4).min(memory_mb / 256)).unwrap_or(u32::MAX).clamp(1, 512)
}

/// Starts a runner where one is to be and none answers, if this is root, and again whenever it ends.
pub fn start(place: Place) {
    if answers(&place.socket) || !rustix::process::geteuid().is_root() {
        return;
    }
    let look_after = move || {
        loop {
            match spawn(&place) {
                Ok(mut child) => {
                    // Waiting would close the pipe.
                    let _pipe = child.stdin.take();
                    let ended = child.wait();
                    tracing::warn!(?ended, "the runner has ended; starting another");
                }
                Err(error) => tracing::error!(%error, "a runner could not be started"),
            }
            std::thread::sleep(RESTART_PAUSE);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("runner".into()).spawn(look_after) {
        tracing::error!(%error, "a runner could not be started");
    }
}

/// The child holds the reading end of a pipe whose other end goes with this process. A group of its own: an interrupt
/// from the terminal is for the server.
fn spawn(place: &Place) -> std::io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["runner", "--with-parent", "--dir"]).arg(&place.directory).arg("--socket").arg(&place.socket);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_runner_is_not_taken_for_ones_own() {
        let load = |data_dir: &str| {
            let environment = vec![("QUINTET_DATA_DIR".to_owned(), data_dir.to_owned())];
            Config::load(&crate::config::Sources { environment, ..Default::default() }).unwrap()
        };
        // An installed appliance: the runner's directory lies beside the data, where the system's runner keeps it.
        let installed = place(&load("/var/lib/quintet")).unwrap();
        assert_eq!(installed.socket, Path::new("/run/quintet/runner.sock"));
        assert_eq!(installed.directory, Path::new("/var/lib/quintet-runner"));
    }

    #[test]
    fn a_runner_of_ones_own_lies_beside_the_data() {
        // No directory of that name is anywhere.
        let place = beside(Path::new("/srv-of-nobody/quintet-data/"));
        assert_eq!(place.directory, Path::new("/srv-of-nobody/quintet-data-runner"));
        assert_eq!(place.socket, Path::new("/srv-of-nobody/quintet-data-runner/runner.sock"));
    }

    #[test]
    fn where_others_decide_what_lies_beside_the_data_a_runner_lies_elsewhere() {
        let parent = tempfile::tempdir().unwrap();
        let data = parent.path().join("data");
        let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
        for (of_parent, is_beside) in [(0o700, rustix::process::geteuid().is_root()), (0o777, false), (0o1777, true)] {
            std::fs::set_permissions(parent.path(), mode(of_parent)).unwrap();
            let is_beside = is_beside && rustix::process::geteuid().is_root();
            let place = beside(&data);
            assert_eq!(place.directory == parent.path().join("data-runner"), is_beside, "{of_parent:o}: {place:?}");
            assert_eq!(place.directory.starts_with(ELSEWHERE), !is_beside, "{of_parent:o}: {place:?}");
            assert_eq!(place, beside(&parent.path().join("./data/")), "the same directory by another name");
        }
    }

    #[test]
    fn every_machine_runs_something() {
        assert!((1..=512).contains(&workers_of_machine()));
    }
}
