//! The control groups above those of the containers of one runner: who builds on them, and who takes them away.
//!
//! The runner and each of its supervisors hold a lock for as long as they live. Whoever goes looks whether anybody else
//! holds it, and the last one takes the groups along: they stay for as long as anybody needs them, and no longer, whoever
//! that is and however the others ended. What nobody could take along, all of them having been killed, goes with the next
//! start of a runner ([`sweep_others`]).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::cgroup::{Hierarchies, SUPERVISORS};

/// How long the last one waits for those who went before it: their files and mounts are closed before they leave their
/// groups, which may take as long as a disk.
const LEAVING_PATIENCE: Duration = Duration::from_secs(60);
/// How long whoever comes waits for one who is taking them along.
const HOLDING_PATIENCE: Duration = Duration::from_secs(10);
const LEAVING_PAUSE: Duration = Duration::from_millis(1);
const LEAVING_PAUSE_MAX: Duration = Duration::from_millis(100);
/// How long the name of a runner's group is: so many hexadecimal digits.
pub(crate) const INSTANCE_LENGTH: usize = 16;

/// That this process makes or uses the groups.
pub(crate) struct Ground {
    /// Its lock is one of `fcntl`: it goes with the process that took it, and those that it makes do not have it.
    file: File,
    /// The path of the group of all containers.
    group: String,
}

impl Ground {
    /// Nobody takes the groups away from now on. `directory` is the runner's. Must be called once in a process: a second
    /// file that is closed would take the lock along.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or locked.
    pub fn hold(directory: &Path, group: &str) -> io::Result<Ground> {
        let path = directory.join("groups");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let ground = Ground { file, group: group.to_owned() };
        ground.hold_too()?;
        Ok(ground)
    }

    /// The same for a copy of the process that held it.
    ///
    /// # Errors
    ///
    /// The file cannot be locked.
    pub fn hold_too(&self) -> io::Result<()> {
        let until = Instant::now() + HOLDING_PATIENCE;
        loop {
            match rustix::fs::fcntl_lock(&self.file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                // Held against it for a moment, by one who takes the groups along.
                Err(Errno::AGAIN | Errno::ACCESS) if Instant::now() < until => std::thread::sleep(LEAVING_PAUSE),
                Err(Errno::AGAIN | Errno::ACCESS) => {
                    let reason =
                        "a process that took the runner's control groups along does not let go of the file `groups`";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Goes, and takes the groups along if nobody else builds on them. Groups of containers stay, and so does what is above
    /// them: the next runner has to say how they ended.
    ///
    /// # Errors
    ///
    /// The groups stay for now: one of those who were in them is not gone.
    pub fn leave(self, hierarchies: &Hierarchies) -> io::Result<()> {
        let supervisors = format!("{}/{SUPERVISORS}", self.group);
        let until = Instant::now() + LEAVING_PATIENCE;
        let (mut pause, mut has_left) = (LEAVING_PAUSE, false);
        loop {
            // Of two who go at the same time one finds nobody else, or one who takes them along just now.
            rustix::fs::fcntl_lock(&self.file, FlockOperation::Unlock)?;
            if !self.is_last()? {
                return Ok(());
            }
            // Once: for this the kernel stops all forks on the machine for a while.
            if !has_left {
                hierarchies.leave_unit("")?;
                has_left = true;
            }
            if hierarchies.remove_if_empty(&supervisors) {
                hierarchies.remove_if_empty(&self.group);
                return Ok(());
            }
            if Instant::now() > until {
                return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{supervisors} is not empty")));
            }
            rustix::fs::fcntl_lock(&self.file, FlockOperation::Unlock)?;
            std::thread::sleep(pause);
            pause = (pause * 2).min(LEAVING_PAUSE_MAX);
        }
    }

    /// Whether nobody else holds them; nobody comes then until this process lets go.
    fn is_last(&self) -> io::Result<bool> {
        loop {
            match rustix::fs::fcntl_lock(&self.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(true),
                Err(Errno::AGAIN | Errno::ACCESS) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Takes away what other runners than this one have left below `groups` in which there is no process any more. A runner
/// that lives has one there at any time, but for the moments in which it makes another; what goes then, it makes again.
/// Nothing is killed.
pub(crate) fn sweep_others(hierarchies: &Hierarchies, groups: &str, own: &str) {
    let is_instance = |name: &String| {
        name.len() == INSTANCE_LENGTH && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    for name in hierarchies.children(groups).into_iter().filter(|name| name != own).filter(is_instance) {
        let path = format!("{groups}/{name}");
        if hierarchies.is_deserted(&path) {
            hierarchies.remove_if_idle(&path);
        }
    }
}
