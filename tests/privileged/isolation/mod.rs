//! What hostile tenants try, what is expected to hold it, and what says that it did.
//!
//! `make test` runs the quiet attempts: those that end within a moment and harm nobody even where nothing holds them.
//! `make isolation` runs every one, also those that set the machine something or take it for a while, measures how long
//! others' containers take beside the attack, and prints a table: whether it was held, the attempt, what held it.
//!
//! The attempts lie by what they need: [`walls`] a shell, [`amounts`] a program of its own (`attacker.c`), [`staged`] an
//! appliance around them.

mod amounts;
mod staged;
mod walls;

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use quintet_runtime::{Action, ContainerDescription, ContainerId, Digest, EndReason, Limits, Outcome, Stream};
use serde_json::json;

use crate::containers::{TestRunner, busybox_layer};
use crate::support::appliance::say_skipped;
use crate::tarball::{Tarball, docker_archive, pack};

/// How many of others' starts are measured beside each attack; none in `make test`, which runs the quiet attempts alone.
fn starts() -> Option<usize> {
    let text = std::env::var("QUINTET_ISOLATION").ok()?;
    Some(text.parse().expect("QUINTET_ISOLATION is a number of starts"))
}

/// Whether an attack is to be tried and measured: all are, unless `QUINTET_ISOLATION_ONLY` has parts of the names of some,
/// separated by commas.
fn is_wanted(attempt: &str) -> bool {
    let only = std::env::var("QUINTET_ISOLATION_ONLY").unwrap_or_default();
    only.is_empty() || only.split(',').any(|part| attempt.contains(part))
}

/// What an attempt was judged: what held it, or what it got.
type Verdict = Result<String, String>;

/// Held or not, with what was found.
fn verdict(is_held: bool, found: impl Into<String>) -> Verdict {
    if is_held { Ok(found.into()) } else { Err(found.into()) }
}

/// Others' starts: without the attack and beside it.
#[derive(Clone, Copy)]
struct Others {
    without: Duration,
    beside: Duration,
}

/// A part of the table.
#[derive(Default)]
struct Table {
    not_held: Vec<String>,
}

impl Table {
    #[expect(clippy::print_stdout, reason = "the table is what make isolation shows")]
    fn add(&mut self, attempt: &str, holder: &str, verdict: &Verdict, others: Option<Others>) {
        let is_slow = others.is_some_and(|others| others.beside > others.without * 2);
        let (word, found) = match verdict {
            Ok(found) if is_slow => ("SLOW", found),
            Ok(found) => ("held", found),
            Err(found) => ("NOT HELD", found),
        };
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        let others = others.map(|others| {
            let (without, beside) = (millis(others.without), millis(others.beside));
            format!("; others' p99 {without:.1} ms without, {beside:.1} ms beside, {:.2}x", beside / without)
        });
        let line = format!("{word:<9}| {attempt:<42} | {holder}: {found}{}", others.unwrap_or_default());
        println!("{line}");
        if word != "held" {
            self.not_held.push(line);
        }
    }

    /// Everything must have been held.
    fn finish(self) {
        assert!(self.not_held.is_empty(), "not held:\n{}", self.not_held.join("\n"));
    }
}

/// The start that 99 of a hundred are no slower than: of a hundred, the slowest but one.
fn p99(count: usize, mut start: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..count).map(|_| start()).collect();
    times.sort_unstable();
    times[(count * 99).div_ceil(100).saturating_sub(1)]
}

/// Measures others' starts, if it is to be measured: first without the attack, then beside it.
fn beside<T>(
    is_measured: bool,
    mut start: impl FnMut() -> Duration,
    attack: impl FnOnce() -> T,
    end: impl FnOnce(T),
) -> Option<Others> {
    let count = starts().filter(|_| is_measured)?;
    let without = p99(count, &mut start);
    let attack = attack();
    let beside = p99(count, &mut start);
    end(attack);
    Some(Others { without, beside })
}

/// The attacker's program: compiled here, or named by `QUINTET_ATTACKER` where there is no compiler.
fn attacker() -> &'static PathBuf {
    static ATTACKER: LazyLock<PathBuf> = LazyLock::new(|| {
        if let Some(path) = std::env::var_os("QUINTET_ATTACKER") {
            return path.into();
        }
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("attacker");
        let new = path.with_extension(std::process::id().to_string());
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/privileged/isolation/attacker.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-static", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&new).args([source, "-lrt"]);
        let output = compiler.output().expect("cc is part of what builds need");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Other tests may be using the one that is there.
        std::fs::rename(new, &path).unwrap();
        path
    });
    &ATTACKER
}

/// A runner of its own with an image of busybox and the attacker's program.
struct Ground {
    runner: TestRunner,
    image: Digest,
}

/// The one that quiet attempts share.
fn shared() -> Option<&'static Ground> {
    static SHARED: LazyLock<Option<Ground>> = LazyLock::new(|| TestRunner::make(&[]).map(Ground::of));
    SHARED.as_ref()
}

/// What a container of the ground said.
struct Said {
    outcome: Outcome,
    lines: Vec<String>,
}

impl Ground {
    fn of(runner: TestRunner) -> Ground {
        let image = import(&runner);
        Ground { runner, image }
    }

    /// The attacker with these words.
    fn attack(&self, words: &[&str], limits: Limits) -> ContainerId {
        let command = std::iter::once("attacker").chain(words.iter().copied()).map(str::to_owned).collect();
        self.start(command, limits)
    }

    fn start(&self, command: Vec<String>, limits: Limits) -> ContainerId {
        let id = self.runner.new_id();
        let description =
            ContainerDescription { image: self.image.clone(), command, env: std::collections::BTreeMap::new(), limits };
        self.runner.runner.start(&id, &description).unwrap();
        id
    }

    /// Waits for the end, and takes it away.
    fn ended(&self, id: &ContainerId) -> Said {
        let outcome = self.runner.outcome(id);
        let lines = self.runner.lines(id, Stream::Stdout).into_iter().map(|line| line.text).collect();
        self.runner.assert_gone(id);
        self.runner.runner.remove(id).unwrap();
        Said { outcome, lines }
    }

    fn killed(&self, id: &ContainerId) -> Said {
        // It may have ended by itself.
        let _ = self.runner.runner.control(id, Action::Kill);
        self.ended(id)
    }

    /// Another tenant's container, from its start to its end.
    fn others_start(&self) -> Duration {
        let began = Instant::now();
        let id = self.start(vec!["true".into()], small());
        let outcome = self.runner.outcome(&id);
        let time = began.elapsed();
        assert_eq!((outcome.reason, outcome.exit_code), (EndReason::Exited, Some(0)), "another's container");
        self.runner.runner.remove(&id).unwrap();
        time
    }
}

/// Takes an image of busybox and the attacker's program in.
fn import(runner: &TestRunner) -> Digest {
    let program = std::fs::read(attacker()).unwrap();
    let busybox = std::fs::read("/bin/busybox").unwrap();
    let layers = [busybox_layer(&busybox), Tarball::new().directory("bin").file("bin/attacker", &program).finish()];
    let config = json!({ "Env": ["PATH=/bin"] });
    let archive = docker_archive(&layers, &config, "attacker:test", |bytes| Digest::of(bytes).to_string());
    let path = runner.directory.join("attacker.tar");
    std::fs::write(&path, pack(&archive)).unwrap();
    runner.runner.import(std::fs::File::open(path).unwrap().into(), "attacker:test", None).unwrap().digest
}

/// The limits of an attack and of others: 64 MiB, one core.
fn small() -> Limits {
    Limits { memory_bytes: 64 << 20, scratch_bytes: 32 << 20, timeout_seconds: 300, ..Limits::default() }
}

/// Something that only `make isolation` may do to the machine.
fn is_loud(what: &str) -> bool {
    let is_loud = starts().is_some();
    if !is_loud {
        say_skipped(&format!("{what} is for make isolation"));
    }
    is_loud && is_wanted(what)
}
