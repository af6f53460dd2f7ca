//! What there is a certain amount of: memory, processor, kernel tables; and calls that nobody is to have answered.

use std::process::Command;
use std::time::Instant;

use quintet_runtime::{EndReason, Limits};

use super::{Ground, Others, Table, Verdict, attacker, beside, is_loud, is_wanted, shared, small, starts, verdict};

/// How it is judged what an attack got.
#[derive(Clone, Copy)]
enum Judge {
    /// So much at most, whoever stops it; more memory than it may have ends it.
    AtMost(u64),
    /// While it keeps what it got, another container and the host's root get one more.
    LeavesOthers,
}

struct Attempt {
    name: &'static str,
    /// What the attacker's program takes, and how much at most.
    take: (&'static str, u64),
    judge: Judge,
    holder: &'static str,
    /// Others' starts are measured beside it.
    is_load: bool,
}

const fn attempt(
    name: &'static str,
    take: (&'static str, u64),
    judge: Judge,
    holder: &'static str,
    is_load: bool,
) -> Attempt {
    Attempt { name, take, judge, holder, is_load }
}

/// Megabytes are counted for memory and disk. The limits are those of [`small`].
const ATTEMPTS: &[Attempt] = &[
    attempt("memory", ("memory", 300), Judge::AtMost(64), "the memory limit", true),
    attempt("buffers of TCP", ("tcp", 300), Judge::AtMost(64), "the limit of socket memory", true),
    attempt("buffers of UDP", ("udp", 300), Judge::AtMost(64), "the limit of socket memory", true),
    attempt("buffers of unix sockets", ("unix", 300), Judge::AtMost(64), "the memory limit", true),
    attempt("buffers of pipes", ("pipes", 300), Judge::AtMost(64), "the memory limit", true),
    attempt("huge pages", ("huge_map", 64), Judge::AtMost(0), "the system call filter, the group", false),
    attempt("files of huge pages", ("huge_file", 64), Judge::AtMost(0), "the system call filter", false),
    attempt("shared memory of huge pages", ("huge_segment", 64), Judge::AtMost(0), "rights of the host's root", false),
    attempt("the writable layer", ("disk", 300), Judge::AtMost(32), "the layer's own disk", true),
    attempt("files without a byte", ("nodes", 1_000_000), Judge::AtMost(100_000), "the layer's own disk", true),
    attempt("a fork bomb", ("processes", 20_000), Judge::AtMost(512), "the limit of processes", true),
    attempt("terminals", ("terminals", 400), Judge::AtMost(128), "devpts of its own", false),
    attempt(
        "descriptors",
        ("files", 2_000_000),
        Judge::LeavesOthers,
        "the limit of descriptors, the memory limit",
        true,
    ),
    attempt("inotify instances", ("inotify", 20_000), Judge::LeavesOthers, "limits by the slot's user", true),
    attempt("queued signals", ("signals", 400_000), Judge::LeavesOthers, "limits by the slot's user", true),
    attempt("timers", ("timers", 400_000), Judge::LeavesOthers, "limits by the slot's user", true),
    attempt("queued signals at once", ("signals", 400_000), Judge::AtMost(4096), "a limit of 4,096", false),
    attempt("timers at once", ("timers", 400_000), Judge::AtMost(4096), "a limit of 4,096", false),
    attempt("message queues", ("queues", 300), Judge::LeavesOthers, "limits by the slot's user", false),
    attempt("contexts of asynchronous input", ("io_setup", 1000), Judge::AtMost(0), "the system call filter", false),
];

/// What the attacker's program said: how much it got, and why no more.
fn got(lines: &[String], name: &str) -> Option<(u64, String)> {
    let line = lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(" got "))?;
    let (count, error) = line.split_once(' ')?;
    Some((count.parse().ok()?, error.to_owned()))
}

fn at_most(ground: &Ground, attempt: &Attempt, most: u64) -> Verdict {
    let (what, asked) = attempt.take;
    let id = ground.attack(&[what, &asked.to_string()], small());
    let said = ground.ended(&id);
    match got(&said.lines, what) {
        Some((count, error)) => verdict(count <= most, format!("got {count}, {error}")),
        None if said.outcome.oom_killed => Ok("oom_killed".into()),
        None => Err(format!("it said nothing: {:?}", said.outcome)),
    }
}

fn leaves_others(ground: &Ground, attempt: &Attempt) -> Verdict {
    let (what, asked) = attempt.take;
    let id = ground.attack(&[what, &asked.to_string(), "hold"], small());
    ground.runner.wait_until(|| {
        let page = ground.runner.runner.log(&id, quintet_runtime::Stream::Stdout, 0, 1).unwrap();
        page.next_line > 0 || page.complete
    });
    let other = ground.ended(&ground.attack(&[what, "1"], small()));
    let host = Command::new(attacker()).args([what, "1"]).output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let said = ground.killed(&id);
    if said.outcome.oom_killed {
        return Ok("oom_killed".into());
    }
    let Some((count, error)) = got(&said.lines, what) else { return Err("it said nothing".into()) };
    let left = [("another container", got(&other.lines, what)), ("the host", got(&host, what))];
    let without: Vec<&str> =
        left.iter().filter(|(_, got)| got.as_ref().is_none_or(|(n, _)| *n < 1)).map(|(who, _)| *who).collect();
    verdict(
        without.is_empty(),
        format!(
            "got {count}, {error}; none left for: {}",
            if without.is_empty() { "nobody".into() } else { without.join(", ") }
        ),
    )
}

/// Others' starts while it takes all it gets again and again.
fn others(ground: &Ground, attempt: &Attempt) -> Option<Others> {
    let (what, asked) = attempt.take;
    let attack = || ground.attack(&[what, &asked.to_string(), "forever"], small());
    beside(
        attempt.is_load,
        || ground.others_start(),
        attack,
        |id| {
            ground.killed(&id);
        },
    )
}

#[test]
fn nobody_gets_more_than_a_share() {
    let Some(ground) = shared() else { return };
    let mut table = Table::default();
    for attempt in ATTEMPTS.iter().filter(|attempt| is_wanted(attempt.name)) {
        let verdict = match attempt.judge {
            Judge::AtMost(most) => at_most(ground, attempt, most),
            Judge::LeavesOthers => leaves_others(ground, attempt),
        };
        table.add(attempt.name, attempt.holder, &verdict, others(ground, attempt));
    }
    table.finish();
}

/// What the filter says, and the kernel before it looks at what it was asked. That a protocol is not supported is said
/// after the host was asked for a module.
const REFUSALS: [&str; 4] = ["EPERM", "ENOSYS", "EACCES", "killed"];

/// Parts of the names of modules that the attacker's sockets would make the host load.
const MODULES: &str = "sctp dccp af_alg af_key vsock can bluetooth tipc rds x25 appletalk ax25 ipx llc phonet kcm qrtr smc \
    l2tp _diag nfnetlink xfrm crypto_user";

#[test]
fn calls_that_reach_beyond_are_not_answered() {
    let Some(ground) = shared() else { return };
    let mut table = Table::default();
    let modules = || {
        let text = std::fs::read_to_string("/proc/modules").unwrap_or_default();
        text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect::<Vec<_>>()
    };
    let before = modules();
    let said = ground.ended(&ground.attack(&["calls"], small()));
    assert_eq!(said.outcome.exit_code, Some(0), "{:?}", said.outcome);
    assert!(said.lines.len() > 80, "{:?}", said.lines);
    for line in &said.lines {
        let name = line.split(' ').next().unwrap();
        let (count, error) = got(&said.lines, name).unwrap();
        let is_held = count == 0 && REFUSALS.contains(&error.as_str());
        table.add(&name.replacen('_', " ", 1), "the system call filter", &verdict(is_held, error), None);
    }
    // Others on this machine may make it load what no container could ask for.
    let is_theirs = |name: &String| !before.contains(name) && MODULES.split(' ').any(|part| name.contains(part));
    let loaded: Vec<String> = modules().into_iter().filter(is_theirs).collect();
    let verdict = verdict(loaded.is_empty(), format!("loaded: {loaded:?}"));
    table.add("socket families make modules load", "the system call filter", &verdict, None);
    table.finish();
}

/// Ticks of the processor that a process has used, a hundredth of a second each.
fn ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // Its name may hold anything but this.
    let words: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    words[11].parse::<u64>().unwrap() + words[12].parse::<u64>().unwrap()
}

#[test]
fn work_for_a_container_counts_as_its_own() {
    let Some(ground) = shared() else { return };
    let mut table = Table::default();
    let shell = "head -c 1000000 /dev/zero >/f; while :; do cat /f; done";
    let attempts: [(&str, &[&str]); 2] = [
        ("a file handed to its own output", &["attacker", "splice"]),
        ("a shell that copies to its own output", &["sh", "-c", shell]),
    ];
    for (name, command) in attempts.into_iter().filter(|(name, _)| is_wanted(name)) {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let limits = Limits { cpu_millicores: 100, ..small() };
        let attack = || ground.start(command.clone(), limits.clone());
        let id = attack();
        let supervisor = ground.runner.supervisor(&id);
        let (began, before) = (Instant::now(), ticks(supervisor));
        std::thread::sleep(std::time::Duration::from_secs(3));
        #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
        let supervisor = (ticks(supervisor) - before) as f64 / 100.0 / began.elapsed().as_secs_f64();
        let outcome = ground.killed(&id).outcome;
        #[expect(clippy::cast_precision_loss, reason = "some seconds")]
        let own = outcome.cpu_micros as f64 / (outcome.finished_at_micros - outcome.started_at_micros.unwrap()) as f64;
        // Beside its limit what a supervisor may use before it counts as the container's own.
        let found = format!("{own:.2} cores, of which its supervisor {supervisor:.2}, at a limit of 0.10");
        let verdict = verdict(own < 0.16 && supervisor < 0.16, found);
        let others = beside(
            true,
            || ground.others_start(),
            attack,
            |id| {
                ground.killed(&id);
            },
        );
        table.add(name, "the processor limit, for the supervisor as well", &verdict, others);
    }
    table.finish();
}

/// Processes that only wait are as hard to end as any.
#[test]
fn a_fork_bomb_is_ended_at_once() {
    let Some(ground) = shared() else { return };
    let mut table = Table::default();
    let limits = Limits { cpu_millicores: 10, ..small() };
    let bomb = "b() { while :; do b & done; }; echo begun; b";
    let id = ground.start(["sh", "-c", bomb].map(str::to_owned).to_vec(), limits);
    ground.runner.wait_for_lines(&id, 1);
    let said = ground.killed(&id);
    let verdict = verdict(said.outcome.reason == EndReason::Killed, format!("{:?}", said.outcome.reason));
    table.add("a fork bomb against its kill", "frozen before it is killed", &verdict, None);
    table.finish();
}

/// A core goes to a program of the host's root where the host says so.
#[test]
fn no_core_reaches_the_host() {
    let Some(ground) = shared() else { return };
    let mut table = Table::default();
    let name = "a core for the host's program";
    if starts().is_none() {
        // What the limit is after all that can be tried to change it.
        let said = ground.ended(&ground.attack(&["core"], small()));
        // What asks by the interface of 32 bits may not live to say it.
        let is_one = !said.lines.is_empty() && said.lines.iter().all(|line| line.starts_with("core got 0"));
        table.add(name, "a limit of one byte", &verdict(is_one, format!("{:?}", said.lines)), None);
        return table.finish();
    }
    const PATTERN: &str = "/proc/sys/kernel/core_pattern";
    let before = std::fs::read_to_string(PATTERN).unwrap();
    let (script, seen) = (ground.runner.directory.join("core.sh"), ground.runner.directory.join("core"));
    std::fs::write(&script, format!("#!/bin/sh\ncat >/dev/null\necho core >>{}\n", seen.display())).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(PATTERN, format!("|{} %u", script.display())).unwrap();
    let said = ground.ended(&ground.attack(&["core"], small()));
    let wrote = |text: &str| std::fs::write(PATTERN, text).unwrap();
    // Whoever dumps of the host's own shows that the program is called at all.
    let own = Command::new("sh").args(["-c", "ulimit -c unlimited; kill -ABRT $$"]).status();
    std::thread::sleep(std::time::Duration::from_secs(1));
    wrote(before.trim_end());
    let cores = std::fs::read_to_string(&seen).unwrap_or_default().lines().count();
    let found = format!("{cores} cores, one of them the host's own ({own:?}); {:?}", said.lines);
    table.add(name, "a limit of one byte", &verdict(cores <= 1, found), None);
    table.finish();
}

/// Where the host has huge pages.
#[test]
fn huge_pages_of_the_host_stay_its_own() {
    let Some(ground) = shared() else { return };
    const PAGES: &str = "/proc/sys/vm/nr_hugepages";
    if !is_loud("huge pages") || !std::path::Path::new(PAGES).exists() {
        return;
    }
    let mut table = Table::default();
    let before = std::fs::read_to_string(PAGES).unwrap();
    std::fs::write(PAGES, "16").unwrap();
    for attempt in ATTEMPTS.iter().filter(|attempt| attempt.take.0.starts_with("huge")) {
        let verdict = at_most(ground, attempt, 0);
        table.add(&format!("{}, of 16", attempt.name), attempt.holder, &verdict, None);
    }
    std::fs::write(PAGES, before.trim_end()).unwrap();
    table.finish();
}
