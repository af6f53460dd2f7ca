//! Control groups, version 1 and 2: where they lie, and what is read from and written to them.
//!
//! In version 2 libcontainer makes the group and puts the container's processes into it. In version 1 the supervisor is in
//! it itself while it makes the container ([`Group::visit`]). Everything after that happens here, by the groups' own files:
//! limiting, freezing, killing, counting, removing.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::description::Limits;

/// The controllers of version 1 that containers need.
const NEEDED: [&str; 5] = ["cpu", "cpuacct", "memory", "pids", "freezer"];
/// The controllers of version 1 in whose hierarchies a container has a group: those, and who opens which devices and how
/// much is read and written.
const JOINED: [&str; 7] = ["cpu", "cpuacct", "memory", "pids", "freezer", DEVICES, "blkio"];
const DEVICES: &str = "devices";
/// What a container may do with devices: hold nodes of any, and use those that every container has: null, zero, full,
/// random, urandom, tty, console, ptmx and its terminals.
const DEVICES_ALLOWED: [&str; 11] = [
    "c *:* m",
    "b *:* m",
    "c 1:3 rwm",
    "c 1:5 rwm",
    "c 1:7 rwm",
    "c 1:8 rwm",
    "c 1:9 rwm",
    "c 5:0 rwm",
    "c 5:1 rwm",
    "c 5:2 rwm",
    "c 136:* rwm",
];
/// How long freezing, killing and removing may take. A process that the kernel holds in an uninterruptible wait can
/// take as long as its disk.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a group of version 1 is waited for to be frozen before it is killed: what forks faster than it is killed stands
/// still by then, and what the kernel holds must not hold up the rest.
const FREEZE_BEFORE_KILL: Duration = Duration::from_millis(100);

/// The period over which processor time is counted, and that for what has so little that the kernel would take no smaller
/// part of it. Whoever uses all of its time takes it at once, on all processors there are, and then waits: the shorter the
/// period, the shorter others wait for their turn, and the shorter it stands still itself.
const CPU_PERIOD_MICROS: u64 = 10_000;
const CPU_PERIOD_LITTLE_MICROS: u64 = 100_000;
/// The least time in a period that the kernel takes.
const CPU_QUOTA_MICROS_MIN: u64 = 1_000;
/// The most memory that sockets of a container hold, and the part of its memory that they hold at most: version 1 counts
/// it apart from the rest.
const SOCKETS_BYTES_MAX: u64 = 64 << 20;
const SOCKETS_PART: u64 = 8;
const SOCKETS_LIMIT: &str = "memory.kmem.tcp.limit_in_bytes";

/// Where the processes of a container are in version 2: a group with groups below it has none itself, and only the
/// processor time of a container is shared with its supervisor. In version 1 they are in the container's group.
const PROCESSES: &str = "processes";
/// Where a supervisor is that counts against its container's processor time.
const SUPERVISOR: &str = "supervisor";
/// Where all others are, beside the groups of containers.
pub(crate) const SUPERVISORS: &str = "supervisors";

/// What a group counts for beside others when processor time is short: a container as much as any other, and whoever makes
/// one as much as can be, so that nobody's start waits for what others run.
struct Weights {
    file: &'static str,
    own: &'static str,
    most: &'static str,
}
const WEIGHTS_FIRST: Weights = Weights { file: "cpu.shares", own: "1024", most: "262144" };
const WEIGHTS_SECOND: Weights = Weights { file: "cpu.weight", own: "100", most: "10000" };

/// How often a group is made again that was removed before it could be entered.
const ENTER_ATTEMPTS: u32 = 100;

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::NODEV.raw_os_error())
}

/// The hierarchies of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Hierarchies {
    version: u8,
    /// Mount points with their controllers; of version 2 the one, without.
    mounts: Vec<(PathBuf, Vec<String>)>,
    /// Hierarchies by which an init system tells which processes are whose.
    tracking: Vec<PathBuf>,
}

/// What a group has used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub cpu_micros: u64,
    pub memory_bytes: u64,
    pub memory_peak_bytes: u64,
    pub memory_limit_bytes: u64,
    pub pids: u64,
    pub io_read_bytes: u64,
    pub io_write_bytes: u64,
    pub oom_kills: u64,
}

impl Hierarchies {
    /// Finds them. The error says what is missing, for whoever runs the machine.
    pub fn find() -> Result<Hierarchies, String> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").map_err(|error| error.to_string())?;
        Hierarchies::read(&mounts)
    }

    /// Finds them in a table of mounts, as `/proc/self/mountinfo` has it.
    pub fn read(mountinfo: &str) -> Result<Hierarchies, String> {
        let mut first = Vec::new();
        let mut tracking = Vec::new();
        let mut second = None;
        let mut seen = BTreeSet::new();
        for line in mountinfo.lines() {
            let Some((left, right)) = line.split_once(" - ") else { continue };
            let left: Vec<&str> = left.split(' ').collect();
            let (Some(device), Some(point)) = (left.get(2), left.get(4).map(PathBuf::from)) else { continue };
            let mut right = right.split(' ');
            let kind = right.next().unwrap_or_default();
            let options: Vec<String> = right.nth(1).unwrap_or_default().split(',').map(str::to_owned).collect();
            // Whoever keeps another root file system somewhere shows them there once more; the first place is theirs.
            if !kind.starts_with("cgroup") || !seen.insert(*device) {
                continue;
            }
            match kind {
                "cgroup" if options.iter().any(|option| option.starts_with("name=")) => tracking.push(point),
                "cgroup" => first.push((point, options)),
                "cgroup2" => second = Some(point),
                _ => {}
            }
        }
        let missing = |name: &&&str| !first.iter().any(|(_, options)| options.iter().any(|option| option == **name));
        if !NEEDED.iter().any(|name| !missing(&name)) {
            let root = second.ok_or("no control groups are mounted")?;
            return Ok(Hierarchies { version: 2, mounts: vec![(root.clone(), vec![])], tracking: vec![root] });
        }
        let absent: Vec<&str> = NEEDED.iter().filter(missing).copied().collect();
        if !absent.is_empty() {
            return Err(format!("control group controllers are missing: {}", absent.join(", ")));
        }
        tracking.extend(second);
        Ok(Hierarchies { version: 1, mounts: first, tracking })
    }

    /// 1 or 2.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Swap can be limited, and there is some.
    pub fn limits_swap(&self) -> bool {
        match self.version {
            1 => self.mount_of("memory").is_some_and(|memory| memory.join("memory.memsw.limit_in_bytes").exists()),
            _ => std::fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1),
        }
    }

    /// What sockets hold counts against a container: version 2 counts it with the rest.
    pub fn limits_sockets(&self) -> bool {
        self.version == 2 || self.mount_of("memory").is_some_and(|memory| memory.join(SOCKETS_LIMIT).exists())
    }

    fn mount_of(&self, controller: &str) -> Option<&Path> {
        self.mounted(controller).map(|(point, _)| point.as_path())
    }

    fn mounted(&self, controller: &str) -> Option<&(PathBuf, Vec<String>)> {
        let has = |options: &[String]| self.version == 2 || options.iter().any(|option| option == controller);
        self.mounts.iter().find(|(_, options)| has(options))
    }

    /// The group of this path below the roots of all hierarchies.
    pub fn group(&self, path: &str) -> Group {
        Group { hierarchies: self.clone(), path: path.trim_start_matches('/').to_owned() }
    }

    /// Moves this process into a group by which an init system tells it from its parent, so that stopping the parent's
    /// unit does not stop it.
    pub fn leave_unit(&self, path: &str) -> io::Result<()> {
        for root in &self.tracking {
            enter(&root.join(path.trim_start_matches('/')))?;
        }
        Ok(())
    }

    /// Keeps the hierarchies of version 1 at hand for a process that is about to take them out of its mount namespace, so
    /// that libcontainer finds none to move processes in: see [`Group::visit`].
    pub fn keep(&mut self) -> io::Result<()> {
        if self.version != 1 {
            return Ok(());
        }
        for point in self.mounts.iter_mut().map(|(point, _)| point).chain(&mut self.tracking) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(point.as_path(), flags, Mode::empty())?;
            // As long as this process lives.
            *point = PathBuf::from(format!("/proc/self/fd/{}", opened.into_raw_fd()));
        }
        Ok(())
    }

    /// Whether somebody has made this group in a hierarchy by which an init system tracks processes.
    pub fn is_made(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        self.tracking.iter().any(|root| root.join(path).is_dir())
    }

    /// The names of all groups directly below this path.
    pub fn children(&self, path: &str) -> Vec<String> {
        let path = path.trim_start_matches('/');
        let entries = self.roots().filter_map(|root| std::fs::read_dir(root.join(path)).ok()).flatten().flatten();
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut names: Vec<String> = directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        self.mounts.iter().map(|(point, _)| point).chain(&self.tracking)
    }

    /// Removes a group that has nothing below it, wherever it lies: what is just being made below it stays. Says whether it
    /// is nowhere any more.
    pub fn remove_if_empty(&self, path: &str) -> bool {
        let removed = self.roots().map(|root| std::fs::remove_dir(root.join(path.trim_start_matches('/'))));
        removed.filter(|removed| removed.as_ref().is_err_and(|error| !is_gone(error))).count() == 0
    }

    /// Removes a group that has only empty groups below it, wherever it lies. One that is in use stays.
    pub fn remove_if_idle(&self, path: &str) {
        for root in self.roots() {
            let _ = remove_below(&root.join(path.trim_start_matches('/')));
        }
    }

    /// Whether no process is in this group or in one below it, wherever it lies; not so if that cannot be seen.
    pub fn is_deserted(&self, path: &str) -> bool {
        self.roots().all(|root| has_nobody(&root.join(path.trim_start_matches('/'))).unwrap_or(false))
    }
}

/// Makes or enters a group, and does so again if it is gone meanwhile: empty as it was, somebody tidied it away, also
/// between what says that it is there and the look at it.
fn unless_taken_away(enter: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let mut attempts = 0;
    loop {
        match enter() {
            Err(error)
                if (is_gone(&error) || error.kind() == io::ErrorKind::AlreadyExists) && attempts < ENTER_ATTEMPTS =>
            {
                attempts += 1;
            }
            entered => return entered,
        }
    }
}

/// Moves this process into a group, which is made if need be.
fn enter(directory: &Path) -> io::Result<()> {
    unless_taken_away(|| {
        std::fs::create_dir_all(directory)?;
        std::fs::write(directory.join("cgroup.procs"), "0")
    })
}

/// Moves this process, which has a single thread, into a group of version 1, which is made if need be. Others are not
/// stopped for it, nor does it wait: only for a move of more than the caller's own thread the kernel waits until all
/// processors have noticed, with the lock of all control groups held, and that is 12 ms on a machine that rests.
fn enter_alone(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("tasks"), "0")
}

/// The leaf that the process of a held group moves into: in version 2 a group whose children have limits has no
/// processes of its own.
const HOLDER: &str = "holder";

/// Moves this process, which an init system started in a group that it delegates, into a leaf of that group, so that the
/// rest of it is free for the control groups of containers. Returns the group.
///
/// # Errors
///
/// There are no control groups, or this process may not change its own.
pub fn hold_control_group() -> io::Result<String> {
    let hierarchies = Hierarchies::find().map_err(io::Error::other)?;
    let group = tracked_group(&std::fs::read_to_string("/proc/self/cgroup")?)
        .ok_or_else(|| io::Error::other("this process is in no control group that is named"))?;
    hierarchies.leave_unit(&format!("{group}/{HOLDER}"))?;
    Ok(group)
}

/// The group of a process in the hierarchy of a controller, from `/proc/PID/cgroup`; none: of version 2.
fn group_by<'a>(text: &'a str, controller: Option<&str>) -> Option<&'a str> {
    let mut rows = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let is_meant =
        |names: &str| controller.map_or(names.is_empty(), |name| names.split(',').any(|other| other == name));
    rows.find(|(names, _)| is_meant(names)).map(|(_, path)| path)
}

/// The group by which an init system knows a process, from `/proc/PID/cgroup`: that of its own hierarchy, or of the one
/// of version 2.
fn tracked_group(text: &str) -> Option<String> {
    let named = text.lines().find_map(|line| line.split_once(":name=systemd:"));
    let second = || text.lines().find_map(|line| line.split_once("0::"));
    let (_, path) = named.or_else(second)?;
    Some(path.trim_end_matches('/').to_owned())
}

/// One container's group, in all hierarchies.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    hierarchies: Hierarchies,
    path: String,
}

impl Group {
    /// Its own name: the last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The path of where its processes go, for libcontainer.
    pub fn absolute_path(&self) -> PathBuf {
        self.processes(Path::new("/"))
    }

    /// Where its processes are below the root of a hierarchy.
    fn processes(&self, root: &Path) -> PathBuf {
        let group = root.join(&self.path);
        if self.hierarchies.version == 1 { group } else { group.join(PROCESSES) }
    }

    fn directory(&self, controller: &str) -> io::Result<PathBuf> {
        let mount = self.hierarchies.mount_of(controller).ok_or(io::ErrorKind::NotFound)?;
        Ok(if controller == "cpu" { mount.join(&self.path) } else { self.processes(mount) })
    }

    fn write(&self, controller: &str, file: &str, value: impl ToString) -> io::Result<()> {
        let path = self.directory(controller)?.join(file);
        let said = |error: io::Error| io::Error::new(error.kind(), format!("{file}: {error}"));
        std::fs::write(path, value.to_string()).map_err(said)
    }

    fn weights(&self) -> Weights {
        if self.hierarchies.version == 1 { WEIGHTS_FIRST } else { WEIGHTS_SECOND }
    }

    /// Sets what all of it may take, once it is known: a container is made before it is anybody's. What it counts for is
    /// its own from here on.
    pub fn limit(&self, limits: &Limits) -> io::Result<()> {
        let (period_micros, quota_micros) = cpu_time(limits.cpu_millicores);
        let limits_swap = self.hierarchies.limits_swap();
        self.write("cpu", self.weights().file, self.weights().own)?;
        if self.hierarchies.version == 1 {
            self.write("cpu", "cpu.cfs_period_us", period_micros)?;
            self.write("cpu", "cpu.cfs_quota_us", quota_micros)?;
            self.write("memory", "memory.limit_in_bytes", limits.memory_bytes)?;
            if limits_swap {
                self.write("memory", "memory.memsw.limit_in_bytes", limits.memory_bytes)?;
            }
            if self.hierarchies.limits_sockets() {
                let most = (limits.memory_bytes / SOCKETS_PART).min(SOCKETS_BYTES_MAX);
                self.write("memory", SOCKETS_LIMIT, most)?;
            }
            // The most until now was for making it.
            self.write("memory", "memory.max_usage_in_bytes", 0)?;
        } else {
            self.write("cpu", "cpu.max", format!("{quota_micros} {period_micros}"))?;
            self.write("memory", "memory.max", limits.memory_bytes)?;
            if limits_swap {
                self.write("memory", "memory.swap.max", 0)?;
            }
        }
        self.write("pids", "pids.max", limits.pids)
    }

    /// Moves this process, which has a single thread, into the group until [`Visit::leave`]: what it forks meanwhile is
    /// there from its beginning and need not be moved. The group is made, and may use the devices of every container. None
    /// in version 2, where libcontainer moves what it makes. In both the group counts for the most there is until
    /// [`Group::limit`].
    ///
    /// # Errors
    ///
    /// A hierarchy that containers need is not there, or the group cannot be made or entered.
    pub fn visit(&self) -> io::Result<Option<Visit>> {
        if self.hierarchies.version != 1 {
            self.weigh_in_second()?;
            return Ok(None);
        }
        if self.hierarchies.mount_of(DEVICES).is_none() {
            return Err(io::Error::other("the control group controller devices is missing"));
        }
        let own = std::fs::read_to_string("/proc/self/cgroup")?;
        let mut visit = Visit { before: Vec::new() };
        for (root, options) in &self.hierarchies.mounts {
            let Some(controller) = options.iter().find(|option| JOINED.contains(&option.as_str())) else { continue };
            let before = group_by(&own, Some(controller)).ok_or(io::ErrorKind::NotFound)?;
            let entered = unless_taken_away(|| self.enter_to_visit(root, options));
            visit.before.push(root.join(before.trim_start_matches('/')));
            if let Err(error) = entered {
                visit.leave()?;
                return Err(error);
            }
        }
        Ok(Some(visit))
    }

    /// Makes the group, and has it and the supervisors beside it count for the most there is.
    fn weigh_in_second(&self) -> io::Result<()> {
        let group = self.directory("cpu")?;
        unless_taken_away(|| std::fs::create_dir_all(&group))?;
        for directory in [group.with_file_name(SUPERVISORS), group] {
            // Before the first container of a runner the controller is not there yet, nor anybody to compete with.
            let _ = std::fs::write(directory.join(WEIGHTS_SECOND.file), WEIGHTS_SECOND.most);
        }
        Ok(())
    }

    fn enter_to_visit(&self, root: &Path, options: &[String]) -> io::Result<()> {
        let has = |controller: &str| options.iter().any(|option| option == controller);
        let directory = self.processes(root);
        std::fs::create_dir_all(&directory)?;
        if has("cpu") {
            std::fs::write(directory.join(WEIGHTS_FIRST.file), WEIGHTS_FIRST.most)?;
        }
        if has(DEVICES) {
            std::fs::write(directory.join("devices.deny"), "a")?;
            for allowed in DEVICES_ALLOWED {
                std::fs::write(directory.join("devices.allow"), allowed)?;
            }
        }
        enter_alone(&directory)
    }

    /// Has this process, which is not part of it, count against its processor time from now on, ahead of all that is.
    ///
    /// # Errors
    ///
    /// Also where version 1 keeps processor time in one hierarchy with what must not touch this process.
    pub fn share_time(&self) -> io::Result<SharedTime> {
        let own = std::fs::read_to_string("/proc/self/cgroup")?;
        let (root, options) = self.hierarchies.mounted("cpu").ok_or(io::ErrorKind::NotFound)?;
        if ["memory", "freezer", "pids"].iter().any(|other| options.iter().any(|option| option == other)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let before = group_by(&own, (self.hierarchies.version == 1).then_some("cpu")).ok_or(io::ErrorKind::NotFound)?;
        let directory = root.join(&self.path).join(SUPERVISOR);
        match std::fs::create_dir(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        std::fs::write(directory.join(self.weights().file), self.weights().most)?;
        let before = root.join(before.trim_start_matches('/'));
        if self.hierarchies.version == 1 {
            enter_alone(&directory)?;
        } else {
            std::fs::write(directory.join("cgroup.procs"), "0")?;
        }
        Ok(SharedTime { before, directory, is_alone: self.hierarchies.version == 1 })
    }

    fn read(&self, controller: &str, file: &str) -> io::Result<String> {
        std::fs::read_to_string(self.directory(controller)?.join(file))
    }

    fn number(&self, controller: &str, file: &str) -> u64 {
        self.read(controller, file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// Freezes all of it; returns once the kernel reports so.
    pub fn freeze(&self) -> io::Result<()> {
        self.freeze_for(PATIENCE)
    }

    /// Lets all of it go on.
    pub fn thaw(&self) -> io::Result<()> {
        self.set_frozen(false, PATIENCE)
    }

    fn freeze_for(&self, patience: Duration) -> io::Result<()> {
        self.set_frozen(true, patience)
    }

    fn set_frozen(&self, frozen: bool, patience: Duration) -> io::Result<()> {
        let directory = self.directory("freezer")?;
        let until = Instant::now() + patience;
        let first = self.hierarchies.version == 1;
        loop {
            if first {
                // Written again each time: a process made while the others froze may have been passed over.
                std::fs::write(directory.join("freezer.state"), if frozen { "FROZEN" } else { "THAWED" })?;
            } else {
                std::fs::write(directory.join("cgroup.freeze"), if frozen { "1" } else { "0" })?;
            }
            if self.is_frozen()? == frozen {
                return Ok(());
            }
            if Instant::now() > until {
                if frozen {
                    // Half frozen is neither running nor paused.
                    let _ = std::fs::write(directory.join("freezer.state"), "THAWED");
                    let _ = std::fs::write(directory.join("cgroup.freeze"), "0");
                }
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// All of it is frozen, as the kernel reports.
    pub fn is_frozen(&self) -> io::Result<bool> {
        if self.hierarchies.version == 1 {
            Ok(self.read("freezer", "freezer.state")?.trim() == "FROZEN")
        } else {
            Ok(keyed(&self.read("freezer", "cgroup.events")?, "frozen") == 1)
        }
    }

    /// Kills everything in it, frozen or not, and returns once nothing is left. A group that is not there is empty.
    pub fn kill(&self) -> io::Result<()> {
        self.kill_within(PATIENCE)
    }

    /// The same, for whoever has no more time than this.
    pub fn kill_within(&self, patience: Duration) -> io::Result<()> {
        let until = Instant::now() + patience;
        let mut struck = BTreeSet::new();
        loop {
            let members = self.members()?;
            if members.is_empty() {
                return Ok(());
            }
            let by_kernel = self.hierarchies.version == 2
                && std::fs::write(self.directory("freezer")?.join("cgroup.kill"), "1").is_ok();
            if !by_kernel {
                // Nothing forks meanwhile. Whoever was struck is not frozen again: on a machine with much to do he would
                // not be given the processor between two times, which dying takes.
                if members.iter().any(|member| !struck.contains(&member.as_raw_nonzero())) {
                    let _ = self.freeze_for(FREEZE_BEFORE_KILL);
                }
                for member in self.members()? {
                    match rustix::process::kill_process(member, Signal::KILL) {
                        Ok(()) | Err(Errno::SRCH) => {}
                        Err(error) => return Err(error.into()),
                    }
                    struck.insert(member.as_raw_nonzero());
                }
            }
            // What is frozen dies once it is thawed; the signal lies there already.
            match self.thaw() {
                Err(error) if !is_gone(&error) => return Err(error),
                _ => {}
            }
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn members(&self) -> io::Result<Vec<Pid>> {
        let mut members = Vec::new();
        for (point, _) in &self.hierarchies.mounts {
            match std::fs::read_to_string(self.processes(point).join("cgroup.procs")) {
                Ok(text) => members.extend(text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?))),
                // The latter if it goes while it is read.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        members.sort_by_key(|pid| pid.as_raw_nonzero());
        members.dedup();
        Ok(members)
    }

    /// Removes it from all hierarchies; what lives in it still is killed.
    pub fn remove(&self) -> io::Result<()> {
        self.remove_within(PATIENCE)
    }

    /// The same, for whoever has no more time than this.
    pub fn remove_within(&self, patience: Duration) -> io::Result<()> {
        let until = Instant::now() + patience;
        for (point, _) in &self.hierarchies.mounts {
            let directory = point.join(&self.path);
            while let Err(error) = remove_below(&directory) {
                if error.raw_os_error() != Some(Errno::BUSY.raw_os_error()) || Instant::now() > until {
                    return Err(error);
                }
                // What was still on its way in when the rest was killed.
                self.kill_within(until.saturating_duration_since(Instant::now()))?;
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(())
    }

    /// Processor time so far; 0 where it cannot be read.
    pub fn cpu_micros(&self) -> u64 {
        match self.hierarchies.version {
            1 => self.number("cpuacct", "cpuacct.usage") / 1000,
            _ => keyed(&self.read("cpu", "cpu.stat").unwrap_or_default(), "usage_usec"),
        }
    }

    /// What it has used so far. What cannot be read counts as nothing: a sample is not worth a container.
    pub fn usage(&self) -> Usage {
        if self.hierarchies.version == 1 { self.usage_of_first() } else { self.usage_of_second() }
    }

    fn usage_of_first(&self) -> Usage {
        let held = self.number("memory", "memory.usage_in_bytes");
        let stat = self.read("memory", "memory.stat").unwrap_or_default();
        let io = self.read("blkio", "blkio.throttle.io_service_bytes_recursive").unwrap_or_default();
        let moved = |what: &str| {
            let rows = io.lines().filter_map(|line| line.split_once(&format!(" {what} ")));
            rows.filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok()).sum()
        };
        Usage {
            cpu_micros: self.cpu_micros(),
            memory_bytes: held.saturating_sub(keyed(&stat, "total_inactive_file")),
            memory_peak_bytes: self.number("memory", "memory.max_usage_in_bytes"),
            memory_limit_bytes: self.number("memory", "memory.limit_in_bytes"),
            pids: self.number("pids", "pids.current"),
            io_read_bytes: moved("Read"),
            io_write_bytes: moved("Write"),
            oom_kills: keyed(&self.read("memory", "memory.oom_control").unwrap_or_default(), "oom_kill"),
        }
    }

    fn usage_of_second(&self) -> Usage {
        let held = self.number("memory", "memory.current");
        let stat = self.read("memory", "memory.stat").unwrap_or_default();
        let io = self.read("io", "io.stat").unwrap_or_default();
        let moved = |what: &str| {
            let words = io.split_whitespace().filter_map(|word| word.strip_prefix(what));
            words.filter_map(|bytes| bytes.parse::<u64>().ok()).sum()
        };
        Usage {
            cpu_micros: self.cpu_micros(),
            memory_bytes: held.saturating_sub(keyed(&stat, "inactive_file")),
            memory_peak_bytes: self.number("memory", "memory.peak").max(held),
            memory_limit_bytes: self.number("memory", "memory.max"),
            pids: self.number("pids", "pids.current"),
            io_read_bytes: moved("rbytes="),
            io_write_bytes: moved("wbytes="),
            oom_kills: keyed(&self.read("memory", "memory.events").unwrap_or_default(), "oom_kill"),
        }
    }
}

/// That this process is in a container's group; until [`Visit::leave`].
#[derive(Debug)]
pub(crate) struct Visit {
    /// The groups it was in.
    before: Vec<PathBuf>,
}

impl Visit {
    /// Goes back to where this process was.
    pub fn leave(self) -> io::Result<()> {
        self.before.iter().try_for_each(|before| enter_alone(before))
    }
}

/// That this process counts against the processor time of a container; until [`SharedTime::leave`].
#[derive(Debug)]
pub(crate) struct SharedTime {
    /// The group it was in.
    before: PathBuf,
    directory: PathBuf,
    /// It moves by its only thread.
    is_alone: bool,
}

impl SharedTime {
    /// Goes back to where this process was.
    pub fn leave(self) -> io::Result<()> {
        if self.is_alone {
            enter_alone(&self.before)?
        } else {
            enter(&self.before)?
        }
        std::fs::remove_dir(self.directory)
    }
}

/// The number in a line `key number`; 0 if there is none.
fn keyed(text: &str, key: &str) -> u64 {
    let mut rows = text.lines().filter_map(|line| line.split_once(' '));
    rows.find(|(name, _)| *name == key).and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

/// Removes a group and the groups below it. Their files cannot be removed and need not be.
fn remove_below(directory: &Path) -> io::Result<()> {
    match std::fs::read_dir(directory) {
        Err(error) if is_gone(&error) => return Ok(()),
        Err(error) => return Err(error),
        Ok(entries) => {
            for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                remove_below(&entry.path())?;
            }
        }
    }
    match std::fs::remove_dir(directory) {
        Err(error) if is_gone(&error) => Ok(()),
        removed => removed,
    }
}

/// Whether no process is in a group or in one below it; a group that is not there has none.
fn has_nobody(directory: &Path) -> io::Result<bool> {
    let gone_is = |read: io::Result<String>| match read {
        Err(error) if is_gone(&error) => Ok(String::new()),
        read => read,
    };
    if !gone_is(std::fs::read_to_string(directory.join("cgroup.procs")))?.is_empty() {
        return Ok(false);
    }
    let entries = match std::fs::read_dir(directory) {
        Err(error) if is_gone(&error) => return Ok(true),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() && !has_nobody(&entry.path())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Period and part of it that is a container's, both in microseconds.
fn cpu_time(millicores: u32) -> (u64, u64) {
    let quota_micros = |period_micros: u64| u64::from(millicores) * period_micros / 1000;
    let is_little = quota_micros(CPU_PERIOD_MICROS) < CPU_QUOTA_MICROS_MIN;
    let period_micros = if is_little { CPU_PERIOD_LITTLE_MICROS } else { CPU_PERIOD_MICROS };
    (period_micros, quota_micros(period_micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
30 29 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
31 29 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 29 0:28 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
33 29 0:29 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
34 29 0:30 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
35 29 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";

    #[test]
    fn controllers_decide_which_version_counts() {
        let found = Hierarchies::read(HYBRID).unwrap();
        assert_eq!(found.version(), 1);
        assert_eq!(found.mount_of("cpuacct"), Some(Path::new("/sys/fs/cgroup/cpu")));
        assert_eq!(found.tracking.len(), 2);
        let twice = format!("{HYBRID}\n{}", HYBRID.replace(" /sys/fs/cgroup", " /elsewhere/sys/fs/cgroup"));
        let again = Hierarchies::read(&twice).unwrap();
        assert_eq!((&again.mounts, &again.tracking), (&found.mounts, &found.tracking), "places of others");
        let found = Hierarchies::read("30 29 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate").unwrap();
        assert_eq!((found.version(), found.mount_of("memory")), (2, Some(Path::new("/sys/fs/cgroup"))));
        let half = HYBRID.lines().filter(|line| !line.contains("freezer")).collect::<Vec<_>>().join("\n");
        assert!(Hierarchies::read(&half).unwrap_err().contains("freezer"));
        assert!(Hierarchies::read("").is_err());
    }

    /// A directory that looks like a group of version 2: what is read from files alone.
    #[test]
    fn usage_of_version_2_is_read_from_its_files() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("q/t");
        std::fs::create_dir_all(directory.join("processes")).unwrap();
        for (file, content) in [
            ("cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n"),
            ("processes/memory.current", "8192\n"),
            ("processes/memory.peak", "16384\n"),
            ("processes/memory.max", "1048576\n"),
            ("processes/memory.stat", "anon 1\ninactive_file 4096\nslab 1\n"),
            ("processes/memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n"),
            ("processes/pids.current", "3\n"),
            ("processes/io.stat", "8:0 rbytes=100 wbytes=20 rios=1\n7:0 rbytes=11 wbytes=2 rios=1\n"),
        ] {
            std::fs::write(directory.join(file), content).unwrap();
        }
        let line = format!("30 29 0:26 / {} rw - cgroup2 cgroup2 rw", root.path().display());
        let usage = Hierarchies::read(&line).unwrap().group("/q/t").usage();
        assert_eq!((usage.cpu_micros, usage.memory_bytes, usage.memory_peak_bytes), (1500, 4096, 16384));
        assert_eq!((usage.memory_limit_bytes, usage.pids, usage.oom_kills), (1 << 20, 3, 1));
        assert_eq!((usage.io_read_bytes, usage.io_write_bytes), (111, 22));
    }

    #[test]
    fn limits_of_version_2_are_written_where_they_count() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("q/t");
        std::fs::create_dir_all(directory.join("processes")).unwrap();
        let line = format!("30 29 0:26 / {} rw - cgroup2 cgroup2 rw", root.path().display());
        let group = Hierarchies::read(&line).unwrap().group("/q/t");
        std::fs::create_dir(directory.with_file_name("supervisors")).unwrap();
        assert!(group.visit().unwrap().is_none(), "libcontainer moves what it makes");
        for made in [directory.clone(), directory.with_file_name("supervisors")] {
            assert_eq!(std::fs::read_to_string(made.join("cpu.weight")).unwrap(), "10000", "{}", made.display());
        }
        group.limit(&Limits { cpu_millicores: 10, memory_bytes: 6 << 20, pids: 8, ..Limits::default() }).unwrap();
        let written = |file: &str| std::fs::read_to_string(directory.join(file)).unwrap();
        assert_eq!((written("cpu.max"), written("cpu.weight")), ("1000 100000".into(), "100".into()));
        assert_eq!((written("processes/memory.max"), written("processes/pids.max")), ("6291456".into(), "8".into()));
        assert_eq!(
            (cpu_time(99), cpu_time(100), cpu_time(1500)),
            ((100_000, 9_900), (10_000, 1_000), (10_000, 15_000))
        );
        // A supervisor that takes its time from there is not one of its processes.
        let shared = group.share_time().unwrap();
        assert_eq!(
            (written("supervisor/cgroup.procs"), written("supervisor/cpu.weight")),
            ("0".into(), "10000".into())
        );
        assert_eq!(shared.directory, directory.join("supervisor"));
    }

    #[test]
    fn the_group_that_a_process_is_in_is_found() {
        let hybrid = "12:pids:/other\n1:name=systemd:/system.slice/a.service\n0::/system.slice/b.service\n";
        assert_eq!(tracked_group(hybrid).as_deref(), Some("/system.slice/a.service"));
        assert_eq!(tracked_group("0::/system.slice/b.service\n").as_deref(), Some("/system.slice/b.service"));
        assert_eq!(tracked_group("0::/\n").as_deref(), Some(""));
        assert_eq!(tracked_group("4:memory:/x\n"), None);
        let first = "4:memory:/m\n3:cpu,cpuacct:/a:b\n0::/second\n";
        assert_eq!((group_by(first, Some("cpu")), group_by(first, None)), (Some("/a:b"), Some("/second")));
        assert_eq!(group_by(first, Some("cpuset")), None);
    }

    /// What of version 2 needs no controller, on a real group: hybrid hosts have the hierarchy, too.
    #[test]
    fn groups_of_version_2_freeze_kill_and_go() {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let second: Vec<&str> = mounts.lines().filter(|line| line.contains(" - cgroup2 ")).collect();
        if !rustix::process::geteuid().is_root() || second.is_empty() {
            eprintln!("skipped: it needs root and a mounted hierarchy of version 2");
            return;
        }
        let hierarchies = Hierarchies::read(&second.join("\n")).unwrap();
        assert_eq!(hierarchies.version(), 2);
        let above = format!("quintet-test-{}", std::process::id());
        let group = hierarchies.group(&format!("{above}/one"));
        let Ok(directory) = group.directory("freezer") else { panic!("there is no such hierarchy") };
        if let Err(error) = std::fs::create_dir_all(&directory) {
            eprintln!("skipped: no group can be made there: {error}");
            return;
        }
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        std::fs::write(directory.join("cgroup.procs"), sleeper.id().to_string()).unwrap();
        assert_eq!(hierarchies.children(&above), ["one"]);
        assert!(!group.is_frozen().unwrap());
        group.freeze().unwrap();
        assert!(group.is_frozen().unwrap());
        group.thaw().unwrap();
        assert!(!group.is_frozen().unwrap());
        assert!(group.usage().cpu_micros < 10_000_000);
        // What is in use stays; frozen or not, what is killed goes.
        hierarchies.remove_if_idle(&above);
        assert!(directory.exists());
        group.freeze().unwrap();
        group.kill().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&sleeper.wait().unwrap()), Some(9));
        group.kill().unwrap();
        group.remove().unwrap();
        assert!(!directory.exists());
        group.remove().unwrap();
        hierarchies.remove_if_idle(&above);
        assert_eq!(hierarchies.children(&above), Vec::<String>::new());
    }

    #[test]
    fn numbers_are_found_by_their_whole_key() {
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(keyed(text, "oom_kill"), 3);
        assert_eq!(keyed(text, "oom"), 0);
    }
}
