//! From the start of a container to its end, with nothing in between: `true` through the runner, side by side with
//! Debian's `crun run` and `runc run` on the same root file system.
//!
//! `cargo bench --bench run_start [-- CONTAINERS]`: CONTAINERS of each in every round. Needs root.
//!
//! Debian's crun refuses hosts whose controllers sit in version 1 of control groups: there it runs in a mount namespace
//! of its own in which there is version 2 alone, with a group for the container but without limits, since the
//! controllers are elsewhere; runc takes the host as it is. Both get the description that `crun spec` writes: no user
//! namespace, no system call filter, no writable layer, no log. Ours does all of that. In a second row crun has namespaces
//! and filter as ours has them.
//!
//! Ours is measured with the same limits each time and, in a row of its own, with others than the last one's.
//!
//! Measured twice: each container alone, with a moment of rest before it (in which ours makes the next one ahead, if two
//! in a row were alike), and one right after the other.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly and prints its result"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use quintet_runtime::{ContainerDescription, ContainerId, ContainerState, Digest, EndReason, Limits, Runner};
use serde_json::{Value, json};

#[path = "../appliance/bundle.rs"]
mod bundle;
#[path = "../../runtime/src/image/tests/tarball.rs"]
#[allow(dead_code, reason = "shared with the runtime's own tests")]
mod tarball;

use bundle::{bundle_at, crun_ground};
use tarball::{Tarball, docker_archive, pack};

const ROUNDS: usize = 5;
const GOAL: f64 = 1.5;
/// Before a container that is measured alone.
const REST: Duration = Duration::from_millis(100);

/// Runs one container and says how long it took.
type Once<'a> = Box<dyn FnMut() -> Duration + 'a>;

fn main() {
    let containers = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(40);
    if !rustix::process::geteuid().is_root() {
        println!("run_start: only root may run containers");
        return;
    }
    let ours = Ours::start();
    let mut others = (0..).map(other_limits);
    let mut candidates: Vec<(&str, Once<'_>)> = vec![("quintet", Box::new(|| ours.run(Limits::default())))];
    candidates.push(("quintet, other limits", Box::new(|| ours.run(others.next().unwrap()))));
    let root = ours.root();
    for (name, confined) in [("crun", false), ("crun, confined", true)] {
        match Other::crun(&ours.directory, &root, confined) {
            Ok(mut other) => candidates.push((name, Box::new(move || other.run()))),
            Err(reason) => println!("{name}: {reason}"),
        }
    }
    match Other::runc(&ours.directory, &root) {
        Ok(mut other) => candidates.push(("runc", Box::new(move || other.run()))),
        Err(reason) => println!("runc: {reason}"),
    }
    println!("{ROUNDS} rounds of {containers} containers each; the best round's median from start to exit of `true`");
    println!("each alone, {REST:?} after the one before:");
    measure(&mut candidates, containers, REST);
    println!("one right after the other:");
    measure(&mut candidates, containers, Duration::ZERO);
}

/// Limits that differ from those before in all that a client chooses.
fn other_limits(number: u32) -> Limits {
    let step = number % 100;
    Limits {
        cpu_millicores: 1000 - step,
        memory_bytes: (512 - u64::from(step)) << 20,
        timeout_seconds: 600 - u64::from(step),
        ..Limits::default()
    }
}

fn measure(candidates: &mut [(&str, Once<'_>)], containers: usize, rest: Duration) {
    let mut best = vec![Duration::MAX; candidates.len()];
    for _ in 0..ROUNDS {
        for (at, (_, run)) in candidates.iter_mut().enumerate() {
            let mut once = || {
                std::thread::sleep(rest);
                run()
            };
            let mut times: Vec<Duration> = (0..containers).map(|_| once()).collect();
            times.sort();
            best[at] = best[at].min(times[times.len() / 2]);
        }
    }
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    for ((name, _), time) in candidates.iter().zip(&best) {
        println!("{name:<22} {:>8.2} ms   {:>5.2} of ours", millis(*time), millis(*time) / millis(best[0]));
    }
    if let Some(at) = candidates.iter().position(|(name, _)| *name == "crun") {
        for (what, ours) in ["ours", "ours with other limits"].iter().zip(&best) {
            let ratio = millis(*ours) / millis(best[at]);
            let verdict = if ratio <= GOAL { "reached" } else { "missed" };
            println!("{what} is {ratio:.2} times crun; the goal of {GOAL} is {verdict}");
        }
    }
}

/// A runner with the image.
struct Ours {
    directory: PathBuf,
    runner: Runner,
    image: Digest,
    layer: Digest,
    child: Child,
}

impl Ours {
    fn start() -> Ours {
        let directory = tempfile::Builder::new().prefix("quintet-bench-").tempdir_in("/var/tmp").unwrap().keep();
        let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
        command.args(["runner", "--log-level", "error", "--dir"]).arg(directory.join("state"));
        command.arg("--socket").arg(directory.join("socket")).arg("--with-parent");
        // It ends with this input, and thereby with the bench, whatever ends that.
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        let runner = Runner::new(directory.join("socket"));
        while runner.hello().is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let busybox = std::fs::read("/bin/busybox").unwrap();
        let layer = Tarball::new().directory("bin").file("bin/busybox", &busybox).hard_link("bin/true", "bin/busybox");
        let layer = ["proc", "sys", "dev"].iter().fold(layer, |layer, name| layer.directory(name)).finish();
        let archive =
            docker_archive(std::slice::from_ref(&layer), &json!({}), "true:1", |bytes| Digest::of(bytes).to_string());
        let path = directory.join("image.tar");
        std::fs::write(&path, pack(&archive)).unwrap();
        let image = runner.import(std::fs::File::open(path).unwrap().into(), "true:1", None).unwrap().digest;
        Ours { directory, runner, image, layer: Digest::of(&layer), child }
    }

    /// The root file system that the others get.
    fn root(&self) -> PathBuf {
        self.directory.join("state/layers").join(self.layer.hex())
    }

    fn run(&self, limits: Limits) -> Duration {
        let id = ContainerId::parse("true").unwrap();
        let description = ContainerDescription {
            image: self.image.clone(),
            command: vec!["/bin/true".into()],
            env: BTreeMap::new(),
            limits,
        };
        let began = Instant::now();
        self.runner.start(&id, &description).unwrap();
        let status = self.runner.wait(&id, Duration::from_secs(30)).unwrap();
        let time = began.elapsed();
        assert_eq!(status.state, ContainerState::Ended);
        let outcome = status.outcome.unwrap();
        assert_eq!((outcome.reason, outcome.exit_code), (EndReason::Exited, Some(0)));
        self.runner.remove(&id).unwrap();
        time
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::fs::remove_dir_all(&self.directory).unwrap();
    }
}

/// A shell that runs a container whenever it is told to.
struct Other {
    _child: Child,
    tell: ChildStdin,
    hear: BufReader<ChildStdout>,
}

impl Other {
    fn crun(directory: &Path, root: &Path, confined: bool) -> Result<Other, String> {
        let bundle = directory.join(if confined { "crun-confined" } else { "crun" });
        bundle_at("crun", &bundle, root, |config| {
            if confined {
                confine(config);
            }
        })?;
        Other::start(&bundle, &format!("{} && cd \"$1\"", crun_ground()), "crun run bench-$$")
    }

    fn runc(directory: &Path, root: &Path) -> Result<Other, String> {
        let bundle = directory.join("runc");
        bundle_at("runc", &bundle, root, |_| ())?;
        Other::start(&bundle, "cd \"$1\"", "runc run bench-$$")
    }

    fn start(bundle: &Path, prepare: &str, run: &str) -> Result<Other, String> {
        let script = format!("{prepare} || exit 1; while read -r go; do {run} </dev/null >&2; echo $?; done");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script, "sh"]).arg(bundle).stdin(Stdio::piped()).stdout(Stdio::piped());
        let log = std::fs::File::create(bundle.join("log")).unwrap();
        let mut child = command.stderr(log).spawn().map_err(|error| error.to_string())?;
        let (tell, hear) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut other = Other { _child: child, tell, hear };
        match other.try_run() {
            Some((_, 0)) => Ok(other),
            _ => Err(std::fs::read_to_string(bundle.join("log")).unwrap_or_default()),
        }
    }

    fn try_run(&mut self) -> Option<(Duration, i32)> {
        let began = Instant::now();
        self.tell.write_all(b"go\n").ok()?;
        let mut line = String::new();
        self.hear.read_line(&mut line).ok()?;
        Some((began.elapsed(), line.trim().parse().ok()?))
    }

    fn run(&mut self) -> Duration {
        let (time, code) = self.try_run().unwrap();
        assert_eq!(code, 0);
        time
    }
}

/// Namespaces and the filter as ours has them.
fn confine(config: &mut Value) {
    config["linux"]["seccomp"] = filter();
    let namespaces = config["linux"]["namespaces"].as_array_mut().unwrap();
    namespaces.push(json!({ "type": "user" }));
    namespaces.push(json!({ "type": "cgroup" }));
    // The layer lies where only root looks; the container's root is the machine's here.
    let mapping = json!([{ "containerID": 0, "hostID": 0, "size": 65536 }]);
    config["linux"]["uidMappings"] = mapping.clone();
    config["linux"]["gidMappings"] = mapping;
}

/// Our own filter as these programs read it.
fn filter() -> Value {
    let mut calls = Vec::new();
    for line in include_str!("../../assets/seccomp/x86_64.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
            None => text.parse().unwrap(),
        };
        let arguments = match words.as_slice() {
            [_, _] => json!([]),
            [_, _, index, "=", value] => {
                json!([{ "index": number(index), "value": number(value), "op": "SCMP_CMP_EQ" }])
            }
            [_, _, index, "&", mask, "=", value] => json!([{
                "index": number(index), "value": number(mask), "valueTwo": number(value), "op": "SCMP_CMP_MASKED_EQ",
            }]),
            _ => continue,
        };
        calls.push(json!({ "names": [words[1]], "action": "SCMP_ACT_ALLOW", "args": arguments }));
    }
    json!({ "defaultAction": "SCMP_ACT_ERRNO", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": calls })
}
