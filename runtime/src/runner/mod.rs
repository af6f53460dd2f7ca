//! The runner: the one privileged process. It keeps the records, starts supervisors, and clears up after them.
//!
//! Everything it writes lies below one directory of root's. It makes no connection, listens on one unix socket, and
//! does for its client what [`protocol`](crate::protocol) says and nothing else.

mod ahead;
mod containers;
mod disk;
mod groups;
mod nursery;
mod options;
mod place;
mod probe;
mod server;
mod shared;
mod watcher;

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};

use crate::WallClock;
use crate::cgroup::Hierarchies;
use crate::ground::{Ground, INSTANCE_LENGTH, sweep_others};
use crate::image::{Images, make_private_directory, remove_tree};
use crate::records::Records;

use options::failing;
pub use options::{RunnerOptions, RunnerStartError};
pub use place::is_roots_alone;
pub use server::Serving;
pub use shared::CONTAINER_IDS;
use shared::{Containers, IDS_FIRST, Shared};

/// How long the lock of a runner that has been killed may outlive it.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// Starts a runner: takes the directory, finds its containers again, clears up what is nobody's, and answers calls from
/// then on.
///
/// # Errors
///
/// [`RunnerStartError`]: nothing was started.
pub fn start_runner(options: RunnerOptions, clock: Arc<dyn WallClock>) -> Result<Serving, RunnerStartError> {
    if !rustix::process::geteuid().is_root() {
        return Err(RunnerStartError::NotRoot);
    }
    let directory = options.directory.clone();
    let taken = place::take(&directory)?;
    let lock = lock(&taken, &directory)?;
    let hierarchies = Hierarchies::find().map_err(RunnerStartError::Machine)?;
    options.check_groups(&hierarchies)?;
    if !hierarchies.limits_sockets() {
        tracing::warn!("this kernel does not limit what sockets of containers hold in memory (CONFIG_MEMCG_KMEM)");
    }
    let instance = own_directory(&taken, &directory, options.groups(), &hierarchies)?;
    let held = Ground::hold(&directory, &format!("{}/{instance}", options.groups()));
    let ground = held.map_err(failing("the runner's control groups"))?;
    sweep_others(&hierarchies, options.groups(), &instance);
    for name in ["containers", "removed", "scratch"] {
        make_private_directory(&directory.join(name)).map_err(failing("the runner's directory"))?;
    }
    let features = probe::probe(&options, &hierarchies)?;
    let records = Arc::new(Records::open(&directory.join("records.redb")).map_err(failing("the runner's records"))?);
    let shift = if features.idmapped_layers { 0 } else { IDS_FIRST };
    let images = Images::open(&directory, Arc::clone(&records), options.limits.clone(), shift);
    let images = images.map_err(failing("the image store"))?;
    let containers = Containers::new();
    let shared = Arc::new(Shared {
        options,
        instance,
        features,
        hierarchies,
        records,
        images,
        containers,
        clock,
        _lock: lock,
        _ground: ground,
    });
    containers::recover(&shared).map_err(failing("finding the containers again"))?;
    server::serve(shared).map_err(failing("the runner's socket"))
}

/// Opens a file of the runner's directory itself, whatever may lie there.
fn open_own(taken: &File, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(taken, name, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(opened.into())
}

fn lock(taken: &File, directory: &Path) -> Result<File, RunnerStartError> {
    let lock = open_own(taken, "lock", OFlags::RDWR | OFlags::CREATE).map_err(failing("the runner's lock"))?;
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(lock),
            // A runner that was just killed may have been starting a supervisor: until that is another program, it has
            // the lock as well.
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(RunnerStartError::InUse(directory.to_owned())),
            Err(error) => return Err(failing("the runner's lock")(error)),
        }
    }
}

/// A directory is known by its inode and the time it was made, which a copy does not have. A copy speaks of containers
/// of the original: all of it is discarded.
fn own_directory(
    taken: &File,
    directory: &Path,
    groups: &str,
    hierarchies: &Hierarchies,
) -> Result<String, RunnerStartError> {
    let failed = || failing::<io::Error>("the runner's directory");
    let metadata = taken.metadata().map_err(failed())?;
    let born = metadata.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.unwrap_or_default().as_nanos();
    let identity = crate::digest::Digest::of(format!("{} {} {born}", metadata.dev(), metadata.ino()).as_bytes());
    let instance: String = identity.hex().chars().take(INSTANCE_LENGTH).collect();
    let found = open_own(taken, "identity", OFlags::RDONLY).and_then(io::read_to_string).ok();
    if found.as_deref() != Some(instance.as_str()) {
        if found.is_some() {
            tracing::warn!("the runner's directory is a copy: what is in it is discarded");
        }
        for name in ["containers", "removed", "layers", "layers-shifted", "staging", "scratch"] {
            remove_tree(&directory.join(name)).map_err(failed())?;
        }
        match std::fs::remove_file(directory.join("records.redb")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed()(error)),
            _ => {}
        }
        hierarchies.remove_if_idle(&format!("{groups}/{instance}"));
        put_identity(taken, &instance).map_err(failed())?;
    }
    Ok(instance)
}

/// Whole under its name or not there at all: half an identity would be another one's.
fn put_identity(taken: &File, instance: &str) -> io::Result<()> {
    let mut unfinished = open_own(taken, "identity.new", OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
    unfinished.write_all(instance.as_bytes())?;
    unfinished.sync_all()?;
    rustix::fs::renameat(taken, "identity.new", taken, "identity")?;
    taken.sync_all()
}
