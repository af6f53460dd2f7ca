//! What the parts of a runner share, and what it knows of its containers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::nursery::{Nursing, Supervisor};
use super::options::RunnerOptions;
use crate::WallClock;
use crate::cgroup::{Group, Hierarchies};
use crate::description::{ContainerDescription, ContainerId};
use crate::digest::Digest;
use crate::ground::Ground;
use crate::image::Images;
use crate::model::ContainerStatus;
use crate::protocol::Features;
use crate::records::{ContainerRecord, Records};

/// Root inside the container of the first slot, outside: the start of a part of the ids that nobody gives out
/// (systemd's UIDS-GIDS lists 0x70000000 to 0x7ffffffe as unused).
pub(super) const IDS_FIRST: u32 = 0x7000_0000;
/// Ranges of ids that there are.
pub(super) const SLOTS: u32 = 4096;

/// The ids that containers have outside: nobody else on the machine may give them out.
pub const CONTAINER_IDS: std::ops::Range<u64> =
    IDS_FIRST as u64..IDS_FIRST as u64 + SLOTS as u64 * crate::image::IDS as u64;

/// What the parts of a runner share.
pub(super) struct Shared {
    pub options: RunnerOptions,
    pub instance: String,
    pub features: Features,
    pub hierarchies: Hierarchies,
    pub records: Arc<Records>,
    pub images: Images,
    pub containers: Containers,
    pub clock: Arc<dyn WallClock>,
    /// Keeps others out of the directory.
    pub _lock: File,
    /// Keeps the control groups above the containers' for as long as this process lives.
    pub _ground: Ground,
}

impl Shared {
    pub fn containers_directory(&self) -> PathBuf {
        self.options.directory.join("containers")
    }

    /// Where what a removed container has left lies until it is gone.
    pub fn removed_directory(&self) -> PathBuf {
        self.options.directory.join("removed")
    }

    pub fn templates_directory(&self) -> PathBuf {
        self.options.directory.join("scratch")
    }

    /// The control group of all its containers. Another runner's directory has another one.
    pub fn group(&self) -> String {
        format!("{}/{}", self.options.groups(), self.instance)
    }
}

/// The names of the control groups that are somebody's: of a container, of one that is made ahead, or of one that is being
/// taken down.
#[derive(Clone, Default)]
pub(super) struct OwnedGroups(Arc<Mutex<BTreeSet<String>>>);

impl OwnedGroups {
    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn all(&self) -> BTreeSet<String> {
        self.names().clone()
    }

    /// A group of this name is about to be made, or there is one.
    pub fn own(&self, name: &str) {
        self.names().insert(name.to_owned());
    }

    /// A group is nobody's any more. It has been removed, or goes with one of the next looks.
    pub fn disown(&self, group: &Group) {
        self.names().remove(group.name());
    }
}

/// All containers that were not removed, in memory as in the records.
pub(super) struct Containers {
    all: Mutex<Table>,
    /// Told whenever one ends.
    pub ended: Condvar,
    /// Told whenever one was made ahead.
    pub ready: Condvar,
    /// Held while a file system for writable layers is made.
    pub templates: Mutex<()>,
    /// The control groups that are somebody's.
    pub groups: OwnedGroups,
    /// The process that makes supervisors; none before the first.
    pub nursing: Mutex<Nursing>,
    /// A supervisor that waits for its order. It ends when this process does: nobody has the other end of its socket then.
    pub spare: Mutex<Option<Supervisor>>,
}

pub(super) struct Table {
    pub rows: BTreeMap<ContainerId, Row>,
    /// The order of the last end. A runner begins with the microseconds since 1970, beyond whatever an earlier one has
    /// told: not all it told was on the disk when it ended, and who asks for what came after that misses nothing.
    pub ends: u64,
    /// At most one, and only after two containers like it in a row: nothing is made in vain for those who take turns.
    pub standby: Option<Standby>,
    /// The slot of the one that is being made, and what it will be.
    pub reserved: Option<(u32, Like)>,
    /// What the last container was.
    pub last: Option<Like>,
    /// Counts the removals of images, which what was made ahead must not outlive.
    pub removals: u64,
}

impl Table {
    /// A range of ids that nobody has.
    pub fn free_slot(&self) -> Option<u32> {
        let running = self.rows.values().filter(|row| row.record.outcome.is_none()).map(|row| row.record.slot);
        let ahead = self.standby.as_ref().map(|standby| standby.slot);
        let used: BTreeSet<u32> =
            running.chain(ahead).chain(self.reserved.as_ref().map(|reserved| reserved.0)).collect();
        (0..SLOTS).find(|slot| !used.contains(slot))
    }
}

pub(super) struct Row {
    pub record: ContainerRecord,
    /// Its command was executed, or it has ended.
    pub started: bool,
    /// What its supervisor said last.
    pub last: Option<ContainerStatus>,
}

impl Containers {
    pub fn new() -> Containers {
        let table = Table { rows: BTreeMap::new(), ends: 1, standby: None, reserved: None, last: None, removals: 0 };
        Containers {
            all: Mutex::new(table),
            ended: Condvar::new(),
            ready: Condvar::new(),
            templates: Mutex::default(),
            groups: OwnedGroups::default(),
            nursing: Mutex::default(),
            spare: Mutex::default(),
        }
    }

    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What containers have in common that one made ahead can become.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Like {
    pub image: Digest,
    /// Size of the writable layer. All other limits are set once it is somebody's.
    pub scratch_bytes: u64,
}

impl Like {
    pub fn of(description: &ContainerDescription) -> Like {
        Like { image: description.image.clone(), scratch_bytes: description.limits.scratch_bytes }
    }
}

/// A container that lacks nothing but a name and a command, or soon will. Like the spare supervisor it ends with this
/// process.
pub(super) struct Standby {
    pub like: Like,
    pub slot: u32,
    /// The name of its control group.
    pub group: String,
    pub child: Supervisor,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In version 2 the processes of a container are in a group below its own.
    #[test]
    fn what_is_nobodys_any_more_is_not_kept_in_mind() {
        let first: Vec<String> = ["cpu", "cpuacct", "memory", "pids", "freezer"]
            .iter()
            .enumerate()
            .map(|(number, name)| format!("31 29 0:{number} / /{name} rw - cgroup cgroup rw,{name}"))
            .collect();
        for mounts in [first.join("\n"), "30 29 0:26 / / rw - cgroup2 cgroup2 rw".to_owned()] {
            let (groups, hierarchies) = (OwnedGroups::default(), Hierarchies::read(&mounts).unwrap());
            groups.own("_0001_a");
            groups.own("_0002_b");
            groups.disown(&hierarchies.group("/quintet/instance/_0001_a"));
            assert_eq!(groups.all().into_iter().collect::<Vec<_>>(), ["_0002_b"], "version {}", hierarchies.version());
        }
    }
}
