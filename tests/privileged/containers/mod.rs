//! Real containers: a runner of the real binary, busybox in an image made here, and what becomes of them.

mod attacks;
mod control;
mod disk;
mod ground;
mod held_groups;
mod inhabitants;
pub mod isolation;
mod limits;
mod lives;
mod output;
mod places;
mod truth;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use quintet_runtime::{
    ContainerDescription, ContainerId, ContainerState, ContainerStatus, Digest, Limits, LogLine, Outcome, Runner,
    Stream,
};
use serde_json::json;

use crate::loop_disk::LoopDisk;
use crate::support::appliance::{quintet, say_skipped};
use crate::tarball::{Tarball, docker_archive, pack};

const PATIENCE: Duration = Duration::from_secs(60);

/// A runner on a directory of its own. It, its containers and the directory go when this is dropped, and also when the
/// tests are killed.
pub struct TestRunner {
    pub directory: PathBuf,
    pub runner: Runner,
    pub image: Digest,
    child: Option<Child>,
    arguments: Vec<String>,
    guard: Child,
}

/// The runner that tests share which do not stop it.
pub fn shared() -> Option<&'static TestRunner> {
    static SHARED: LazyLock<Option<TestRunner>> = LazyLock::new(|| TestRunner::make(&[]));
    SHARED.as_ref()
}

impl TestRunner {
    /// Starts one; if that is not possible here, says why and gives none.
    pub fn make(arguments: &[&str]) -> Option<TestRunner> {
        TestRunner::try_make(arguments, None).map_err(|reason| say_skipped(&reason)).ok()
    }

    /// Starts one whose directory is this disk, of which 16 MiB are kept in reserve.
    pub fn make_on(disk: &LoopDisk) -> Option<TestRunner> {
        let mount = ["--bind".to_owned(), disk.path().display().to_string()];
        TestRunner::try_make(&["--disk-reserve-mb", "16"], Some(&mount)).map_err(|reason| say_skipped(&reason)).ok()
    }

    /// Starts one whose directory is a disk of its own, in memory, of which nothing is kept in reserve.
    pub fn make_on_own_disk() -> Option<TestRunner> {
        let mount = ["-t", "tmpfs", "-o", "size=1g,mode=0700", "tmpfs"].map(str::to_owned);
        let reserve = ["--disk-reserve-mb", "0"];
        TestRunner::try_make(&reserve, Some(&mount)).map_err(|reason| say_skipped(&reason)).ok()
    }

    /// Makes that disk larger or smaller; false if that is smaller than what is on it.
    pub fn resize_disk(&self, size: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,size={size}")]).arg(self.state()).stderr(Stdio::null());
        mount.status().unwrap().success()
    }

    /// `mount` is what its directory is mounted with, if it is not to lie where all temporary files do.
    fn try_make(arguments: &[&str], mount: Option<&[String]>) -> Result<TestRunner, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root may run containers".into());
        }
        let busybox =
            std::fs::read("/bin/busybox").map_err(|error| format!("/bin/busybox (busybox-static): {error}"))?;
        let directory = tempfile::Builder::new().prefix("quintet-runner-").tempdir().unwrap().keep();
        let mut made = TestRunner {
            runner: Runner::new(directory.join("socket")),
            image: Digest::of(b""),
            child: None,
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            guard: guard(&directory, place_of_groups(arguments)),
            directory,
        };
        if let Some(arguments) = mount {
            std::fs::create_dir(made.state()).unwrap();
            assert!(Command::new("mount").args(arguments).arg(made.state()).status().unwrap().success());
            std::fs::set_permissions(made.state(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        }
        made.start_runner()?;
        let tar = made.directory.join("busybox.tar");
        let config = json!({ "Cmd": ["/bin/true"], "Env": ["FROM_IMAGE=1"], "WorkingDir": "/work/here" });
        std::fs::write(&tar, busybox_image(&busybox, &config)).unwrap();
        let import = ["image", "import", tar.to_str().unwrap(), "--name", "busybox:test", "--json", "--socket"];
        let output = quintet().args(import).arg(made.runner.socket()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        made.image = Digest::parse(info["digest"].as_str().unwrap()).unwrap();
        Ok(made)
    }

    /// Starts the runner, again after it was killed.
    pub fn start_runner(&mut self) -> Result<(), String> {
        let log = std::fs::OpenOptions::new().append(true).create(true).open(self.directory.join("log")).unwrap();
        let mut command = quintet();
        command.args(["runner", "--dir"]).arg(self.state()).arg("--socket").arg(self.runner.socket());
        let mut child = command.args(&self.arguments).stderr(log).spawn().unwrap();
        std::fs::write(self.directory.join("pid"), child.id().to_string()).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            if self.runner.hello().is_ok() {
                self.child = Some(child);
                let instance = self.runner.hello().unwrap().instance;
                std::fs::write(self.directory.join("instance"), instance).unwrap();
                return Ok(());
            }
            if child.try_wait().unwrap().is_some() {
                let log = std::fs::read_to_string(self.directory.join("log")).unwrap();
                assert!(log.contains("cannot run containers"), "the runner ended: {log}");
                return Err(log);
            }
            assert!(Instant::now() < until, "the runner does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// SIGKILL to the runner.
    pub fn kill_runner(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The runner's directory.
    pub fn state(&self) -> PathBuf {
        self.directory.join("state")
    }

    /// A name that nobody has.
    pub fn new_id(&self) -> ContainerId {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        ContainerId::parse(&format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed))).unwrap()
    }

    /// A shell script in a container with these limits.
    pub fn script(&self, script: &str, limits: Limits) -> ContainerDescription {
        ContainerDescription {
            image: self.image.clone(),
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            env: std::collections::BTreeMap::new(),
            limits,
        }
    }

    /// Starts a script.
    pub fn start(&self, script: &str, limits: Limits) -> ContainerId {
        let id = self.new_id();
        self.runner.start(&id, &self.script(script, limits)).unwrap();
        id
    }

    /// Waits for an end.
    pub fn outcome(&self, id: &ContainerId) -> Outcome {
        let status = self.runner.wait(id, PATIENCE).unwrap();
        assert_eq!(status.state, ContainerState::Ended, "{status:?}");
        status.outcome.unwrap()
    }

    /// Runs a script to its end.
    pub fn run(&self, script: &str, limits: Limits) -> (Outcome, Vec<String>, Vec<String>) {
        let id = self.start(script, limits);
        let outcome = self.outcome(&id);
        let texts = |stream| self.lines(&id, stream).into_iter().map(|line| line.text).collect();
        let said = (outcome, texts(Stream::Stdout), texts(Stream::Stderr));
        self.assert_gone(&id);
        self.runner.remove(&id).unwrap();
        said
    }

    /// All that is kept of a stream.
    pub fn lines(&self, id: &ContainerId, stream: Stream) -> Vec<LogLine> {
        let mut lines = Vec::new();
        let mut from = 0;
        loop {
            let page = self.runner.log(id, stream, from, 10_000).unwrap();
            let none = page.lines.is_empty();
            lines.extend(page.lines);
            from = page.next_line;
            if page.complete || none {
                return lines;
            }
        }
    }

    /// Waits until it has written so many lines.
    pub fn wait_for_lines(&self, id: &ContainerId, count: u64) {
        self.wait_until(|| self.runner.log(id, Stream::Stdout, count - 1, 1).unwrap().next_line >= count);
    }

    /// Waits until something holds.
    pub fn wait_until(&self, mut holds: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < until, "it was waited for in vain");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn status(&self, id: &ContainerId) -> ContainerStatus {
        self.runner.status(id).unwrap()
    }

    /// The control groups of a container, in all hierarchies.
    pub fn groups(&self, id: &ContainerId) -> Vec<PathBuf> {
        let noted = std::fs::read_to_string(self.state().join(format!("containers/{id}/group"))).ok();
        // Whoever is killed while he notes it leaves an empty file.
        self.groups_called(&noted.filter(|name| !name.is_empty()).unwrap_or_else(|| id.to_string()))
    }

    /// Control groups of this runner by their name.
    pub fn groups_called(&self, name: &str) -> Vec<PathBuf> {
        let instance = std::fs::read_to_string(self.directory.join("instance")).unwrap();
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let below = format!("{}/{instance}/{name}", place_of_groups(&arguments));
        let mut roots = vec![PathBuf::from("/sys/fs/cgroup")];
        roots.extend(std::fs::read_dir("/sys/fs/cgroup").unwrap().map(|entry| entry.unwrap().path()));
        roots.into_iter().map(|root| root.join(&below)).filter(|path| path.exists()).collect()
    }

    /// The processes of a container, outside.
    pub fn processes(&self, id: &ContainerId) -> Vec<i32> {
        let texts =
            self.groups(id).into_iter().filter_map(|group| std::fs::read_to_string(group.join("cgroup.procs")).ok());
        let mut found: Vec<i32> =
            texts.flat_map(|text| text.lines().map(|l| l.parse().unwrap()).collect::<Vec<_>>()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The supervisor of a container: whoever has its lock.
    pub fn supervisor(&self, id: &ContainerId) -> i32 {
        self.find_supervisor(id).expect("nobody has the lock")
    }

    /// The same, if it lives: once it has gone, the runner has the lock for a moment.
    pub fn find_supervisor(&self, id: &ContainerId) -> Option<i32> {
        use std::os::unix::fs::MetadataExt;
        let lock = self.state().join(format!("containers/{id}/lock")).metadata().ok()?;
        let device = lock.dev();
        let place = format!("{:02x}:{:02x}:{}", rustix::fs::major(device), rustix::fs::minor(device), lock.ino());
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut holders = locks.lines().map(words).filter(|words| words[1] == "POSIX");
        let holder = holders.find(|words| words[5] == place);
        let holder = holder.map(|words| words[4].parse().unwrap());
        holder.filter(|pid| self.child.as_ref().is_none_or(|runner| runner.id() != u32::try_from(*pid).unwrap()))
    }

    /// Waits until it has no control groups any more; if that takes long, says who is in them.
    fn wait_until_empty(&self, id: &ContainerId) {
        let began = Instant::now();
        let mut say_after = Duration::from_secs(2);
        loop {
            let groups = self.groups(id);
            if groups.is_empty() {
                return;
            }
            if began.elapsed() > say_after {
                let said = inhabitants::of(&groups);
                let waited = began.elapsed();
                let _ = writeln!(std::io::stderr(), "the groups of {id} are still there after {waited:?}:\n{said}");
                say_after *= 2;
            }
            assert!(began.elapsed() < PATIENCE, "the groups of {id} stay:\n{}", self.complaints());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The last that the runner and its supervisors have said.
    fn complaints(&self) -> String {
        let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Nothing of it is left on the machine but its files of record.
    pub fn assert_gone(&self, id: &ContainerId) {
        // An outcome is told before the last of a container is gone.
        self.wait_until_empty(id);
        self.wait_until(|| !self.state().join(format!("containers/{id}/control")).exists());
        // Nor does the kernel take loop devices down with the last process. One is ready for the next container, and one
        // may be in the making or on its way out.
        self.wait_until(|| {
            let living = self.runner.list().unwrap().iter().filter(|one| one.state != ContainerState::Ended).count();
            self.loop_devices() <= living + 1
        });
    }

    /// How many writable layers of this runner there are.
    pub fn loop_devices(&self) -> usize {
        let backing = |device: PathBuf| std::fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
        let devices = std::fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
        let state = self.state().display().to_string();
        devices.map(backing).filter(|file| file.starts_with(&state)).count()
    }

    /// No mount of this runner is left where everybody sees it.
    pub fn assert_no_mounts(&self) {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let (directory, state) = (self.directory.to_str().unwrap(), self.state());
        // But for the disk that it may lie on.
        let is_its_disk = |line: &&str| line.split(' ').nth(4) == state.to_str();
        let left: Vec<&str> = mounts.lines().filter(|line| line.contains(directory) && !is_its_disk(line)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for TestRunner {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }
}

/// Where a runner of these arguments makes its control groups.
fn place_of_groups<'a>(arguments: &[&'a str]) -> &'a str {
    let named = arguments.iter().skip_while(|word| **word != "--control-group").nth(1);
    named.map_or("quintet", |path| path.trim_start_matches('/'))
}

/// Clears up: a shell that waits until the tests let go of it, however they end.
fn guard(directory: &Path, groups: &str) -> Child {
    let script = r#"
        cat >/dev/null
        kill -9 "$(cat "$1/pid")" 2>/dev/null
        groups="$2/$(cat "$1/instance" 2>/dev/null || echo none)"
        for round in 1 2 3 4 5 6 7 8 9 10; do
            for state in /sys/fs/cgroup/freezer/"$groups"/*/freezer.state; do
                [ ! -e "$state" ] || echo THAWED >"$state"
            done
            for procs in /sys/fs/cgroup/"$groups"/*/cgroup.procs /sys/fs/cgroup/*/"$groups"/*/cgroup.procs \
                /sys/fs/cgroup/"$groups"/*/*/cgroup.procs /sys/fs/cgroup/*/"$groups"/*/*/cgroup.procs; do
                [ ! -e "$procs" ] || while read -r pid; do kill -9 "$pid" 2>/dev/null; done <"$procs"
            done
            sleep 0.1
            rmdir /sys/fs/cgroup/"$groups"/*/* /sys/fs/cgroup/*/"$groups"/*/* 2>/dev/null
            rmdir /sys/fs/cgroup/"$groups"/* /sys/fs/cgroup/*/"$groups"/* 2>/dev/null
            rmdir /sys/fs/cgroup/"$groups" /sys/fs/cgroup/*/"$groups" 2>/dev/null
            [ -n "$(ls -d /sys/fs/cgroup/"$groups" /sys/fs/cgroup/*/"$groups" 2>/dev/null)" ] || break
        done
        umount -l "$1/state" 2>/dev/null
        rm -rf "$1"
    "#;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "guard"]).arg(directory).arg(groups).stdin(Stdio::piped()).stdout(Stdio::null());
    shell.stderr(Stdio::null()).spawn().unwrap()
}

/// Busybox with a name for each of its programs that tests use, and two users.
pub fn busybox_image(busybox: &[u8], config: &serde_json::Value) -> Vec<u8> {
    let digest_of = |bytes: &[u8]| Digest::of(bytes).to_string();
    pack(&docker_archive(&[busybox_layer(busybox)], config, "busybox:test", digest_of))
}

/// Its one layer.
pub fn busybox_layer(busybox: &[u8]) -> Vec<u8> {
    const PROGRAMS: &str = "sh true false sleep cat echo ls id mount umount ps yes head tail dd seq kill ifconfig wget \
        mknod mkfifo mkdir rm chmod chown df hostname env unshare dmesg stat readlink date trap wc grep chroot nice tr \
        reboot swapoff insmod losetup pivot_root setsid nc touch ln cp test uname nsenter ";
    let mut layer = Tarball::new().directory("bin").directory("etc").directory("root").file("bin/busybox", busybox);
    for program in PROGRAMS.split_whitespace() {
        layer = layer.hard_link(&format!("bin/{program}"), "bin/busybox");
    }
    let users = b"root:x:0:0:root:/root:/bin/sh\nweb:x:33:33:web:/srv:/bin/sh\n";
    layer.file("etc/passwd", users).file("etc/group", b"root:x:0:\nweb:x:33:\n").finish()
}
