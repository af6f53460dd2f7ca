//! The runner: the one privileged process. It keeps the records, starts supervisors, and clears up after them.
//!
//! Everything it writes lies below one directory of root's. It makes no connection, listens on one unix socket, and
//! does for its client what [`protocol`](crate::protocol) says and nothing else.

mod ahead;
mod containers;
mod probe;
mod server;

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FlockOperation;

use crate::WallClock;
use crate::cgroup::Hierarchies;
use crate::image::{ImageLimits, Images, make_private_directory, remove_tree};
use crate::protocol::Features;
use crate::records::Records;

pub use server::Serving;

/// How a runner is set up.
#[derive(Clone, Debug)]
pub struct RunnerOptions {
    /// Its directory. Root's, and on a disk.
    pub directory: PathBuf,
    /// Its socket. The directory it lies in must exist.
    pub socket: PathBuf,
    /// The control group below which those of containers are made, by its path from the roots of the hierarchies, where
    /// somebody has made one and left it to the runner: an init system that owns the tree. None: `/quintet`, which the
    /// runner makes.
    pub control_group: Option<String>,
    /// The group whose members may speak to it, besides root.
    pub client_group: Option<u32>,
    /// What images may be.
    pub limits: ImageLimits,
    /// Containers that run at once, at most; 1 to 4,096.
    pub containers_max: u32,
    /// Do not map the owners of layers even where the kernel can: all containers then share one range of ids.
    pub shared_ids: bool,
    /// The program of supervisors and its arguments: the product itself.
    pub supervisor: Vec<String>,
    /// The product's version.
    pub version: String,
}

impl RunnerOptions {
    /// Where the control groups of runners lie, without the slash before it.
    fn groups(&self) -> &str {
        self.control_group.as_deref().unwrap_or("quintet").trim_matches('/')
    }

    /// A group that was named must be there: one that the runner made itself would be in somebody else's tree.
    fn check_groups(&self, hierarchies: &Hierarchies) -> Result<(), RunnerStartError> {
        let Some(named) = &self.control_group else { return Ok(()) };
        let is_plain = named.starts_with('/') && named.split('/').all(|part| part != ".." && part != ".");
        if is_plain && hierarchies.is_made(named) {
            return Ok(());
        }
        Err(RunnerStartError::Machine(format!(
            "there is no control group {named}: is quintet-containers.service running?"
        )))
    }
}

/// A runner does not start.
#[derive(Debug, thiserror::Error)]
pub enum RunnerStartError {
    /// Another one holds the directory.
    #[error("another runner holds {0}")]
    InUse(PathBuf),
    /// It is not root.
    #[error("the runner must be started by root")]
    NotRoot,
    /// The machine lacks something.
    #[error("this machine cannot run containers: {0}")]
    Machine(String),
    /// Something failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

fn failing<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> RunnerStartError {
    let what = what.to_owned();
    move |error| RunnerStartError::Io { what, source: io::Error::other(error.to_string()) }
}

/// What the parts of a runner share.
struct Shared {
    options: RunnerOptions,
    instance: String,
    features: Features,
    hierarchies: Hierarchies,
    records: Arc<Records>,
    images: Images,
    containers: containers::Containers,
    clock: Arc<dyn WallClock>,
    /// Keeps others out of the directory.
    _lock: File,
}

impl Shared {
    fn containers_directory(&self) -> PathBuf {
        self.options.directory.join("containers")
    }

    fn templates_directory(&self) -> PathBuf {
        self.options.directory.join("scratch")
    }

    /// The control group of all its containers. Another runner's directory has another one.
    fn group(&self) -> String {
        format!("{}/{}", self.options.groups(), self.instance)
    }
}

/// Root inside the container of the first slot, outside: the start of a part of the ids that nobody gives out
/// (systemd's UIDS-GIDS lists 0x70000000 to 0x7ffffffe as unused).
const IDS_FIRST: u32 = 0x7000_0000;
/// Ranges of ids that there are.
const SLOTS: u32 = 4096;

/// The ids that containers have outside: nobody else on the machine may give them out.
pub const CONTAINER_IDS: std::ops::Range<u64> =
    IDS_FIRST as u64..IDS_FIRST as u64 + SLOTS as u64 * crate::image::IDS as u64;

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
    make_private_directory(&directory).map_err(failing("the runner's directory"))?;
    let lock = take_directory(&directory)?;
    let hierarchies = Hierarchies::find().map_err(RunnerStartError::Machine)?;
    options.check_groups(&hierarchies)?;
    let instance = own_directory(&directory, options.groups(), &hierarchies)?;
    for name in ["containers", "scratch"] {
        make_private_directory(&directory.join(name)).map_err(failing("the runner's directory"))?;
    }
    let features = probe::probe(&options, &hierarchies)?;
    let records = Arc::new(Records::open(&directory.join("records.redb")).map_err(failing("the runner's records"))?);
    let shift = if features.idmapped_layers { 0 } else { IDS_FIRST };
    let images = Images::open(&directory, Arc::clone(&records), options.limits.clone(), shift);
    let images = images.map_err(failing("the image store"))?;
    let containers = containers::Containers::new();
    let shared =
        Arc::new(Shared { options, instance, features, hierarchies, records, images, containers, clock, _lock: lock });
    containers::recover(&shared).map_err(failing("finding the containers again"))?;
    server::serve(shared).map_err(failing("the runner's socket"))
}

fn take_directory(directory: &Path) -> Result<File, RunnerStartError> {
    let lock = File::create(directory.join("lock")).map_err(failing("the runner's lock"))?;
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(RunnerStartError::InUse(directory.to_owned())),
        Err(error) => Err(failing("the runner's lock")(error)),
    }
}

/// A directory is known by its inode and the time it was made, which a copy does not have. A copy speaks of containers
/// of the original: all of it is discarded.
fn own_directory(directory: &Path, groups: &str, hierarchies: &Hierarchies) -> Result<String, RunnerStartError> {
    let failed = || failing::<io::Error>("the runner's directory");
    let metadata = directory.metadata().map_err(failed())?;
    let born = metadata.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.unwrap_or_default().as_nanos();
    let identity = crate::digest::Digest::of(format!("{} {} {born}", metadata.dev(), metadata.ino()).as_bytes());
    let instance: String = identity.hex().chars().take(16).collect();
    let path = directory.join("identity");
    let found = std::fs::read_to_string(&path).ok();
    if found.as_deref() != Some(instance.as_str()) {
        if found.is_some() {
            tracing::warn!("the runner's directory is a copy: what is in it is discarded");
        }
        for name in ["containers", "layers", "layers-shifted", "staging", "scratch"] {
            remove_tree(&directory.join(name)).map_err(failed())?;
        }
        match std::fs::remove_file(directory.join("records.redb")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed()(error)),
            _ => {}
        }
        hierarchies.remove_if_idle(&format!("{groups}/{instance}"));
        std::fs::write(&path, &instance).map_err(failed())?;
    }
    Ok(instance)
}
