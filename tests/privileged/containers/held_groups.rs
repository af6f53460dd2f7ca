//! Control groups that somebody else made and keeps: as systemd does for quintet-containers.service.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use quintet_runtime::Limits;

use super::TestRunner;
use crate::support::appliance::{quintet, say_skipped, stderr};

/// The hierarchies by which an init system tracks processes, which it keeps groups of its own in.
fn tracking_roots() -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let tracks = |line: &&str| line.contains(" - cgroup2 ") || (line.contains(" - cgroup ") && line.contains("name="));
    let points = mounts.lines().filter(tracks).map(|line| PathBuf::from(line.split(' ').nth(4).unwrap()));
    // A hierarchy may be mounted elsewhere as well.
    points.filter(|point| point.starts_with("/sys/fs/cgroup")).collect()
}

/// A group with a process in it that holds it. Both go when this is dropped.
struct Held {
    path: String,
    holder: Child,
}

impl Held {
    fn make() -> Option<Held> {
        if !rustix::process::geteuid().is_root() {
            say_skipped("only root may make control groups");
            return None;
        }
        let path = format!("/quintet-held-{}", std::process::id());
        let groups: Vec<PathBuf> = tracking_roots().iter().map(|root| root.join(&path[1..])).collect();
        if groups.is_empty() || groups.iter().any(|group| std::fs::create_dir(group).is_err()) {
            say_skipped("no control groups can be made here");
            return None;
        }
        // As systemd does: first into the group, then the program.
        let script = r#"binary=$1; shift; for group; do echo $$ >"$group/cgroup.procs" || exit 1; done; exec "$binary" hold-groups"#;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_quintet")]).args(&groups);
        let holder = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Some(Held { path, holder })
    }

    fn groups(&self) -> Vec<PathBuf> {
        tracking_roots().iter().map(|root| root.join(&self.path[1..])).collect()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        let mut roots = tracking_roots();
        roots.extend(std::fs::read_dir("/sys/fs/cgroup").unwrap().map(|entry| entry.unwrap().path()));
        for group in roots.iter().map(|root| root.join(&self.path[1..])) {
            let _ = std::fs::remove_dir(group.join("holder"));
            let _ = std::fs::remove_dir(group);
        }
    }
}

#[test]
fn containers_live_in_the_group_that_is_kept_for_them() {
    let Some(mut held) = Held::make() else { return };
    let holder = held.holder.id().to_string();
    let is_in_leaf = |group: &PathBuf| {
        std::fs::read_to_string(group.join("holder/cgroup.procs")).is_ok_and(|text| text.trim() == holder)
    };
    let until = std::time::Instant::now() + super::PATIENCE;
    while !held.groups().iter().all(is_in_leaf) {
        assert!(std::time::Instant::now() < until, "the holder does not leave the way free");
        assert!(held.holder.try_wait().unwrap().is_none(), "the holder ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let Some(runner) = TestRunner::make(&["--control-group", &held.path]) else { return };
    let id = runner.start("echo up; sleep 600", Limits::default());
    runner.wait_for_lines(&id, 1);
    let groups = runner.groups(&id);
    assert!(groups.iter().any(|group| group.starts_with("/sys/fs/cgroup")), "{groups:?}");
    assert_eq!(runner.processes(&id).len(), 2, "process 1 and the command");
    for pid in runner.processes(&id).into_iter().chain([runner.supervisor(&id)]) {
        let own = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        assert!(own.lines().any(|line| line.split(':').nth(2).unwrap().starts_with(&held.path)), "{own}");
        assert!(!own.contains(":/quintet/"), "{own}");
    }
    runner.runner.control(&id, quintet_runtime::Action::Kill).unwrap();
    runner.outcome(&id);
    runner.assert_gone(&id);
}

#[test]
fn a_group_that_nobody_made_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return say_skipped("only root may start a runner");
    }
    let directory = tempfile::tempdir().unwrap();
    for path in ["/quintet-nobody-made-this", "relative", "/../.."] {
        let mut command = quintet();
        command.args(["runner", "--control-group", path, "--dir"]).arg(directory.path().join("state"));
        let output = command.arg("--socket").arg(directory.path().join("socket")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{path}");
        let complaint = format!("there is no control group {path}: is quintet-containers.service running?");
        assert!(stderr(&output).contains(&complaint), "{}", stderr(&output));
    }
}

/// Version 2 wakes whom it thaws out of every call, as if a signal had come. Where the controllers are of version 1, its
/// hierarchy can freeze all the same.
#[test]
fn a_container_outlives_being_frozen_by_version_2() {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let second = mounts.lines().find(|line| line.contains(" - cgroup2 ")).map(|line| line.split(' ').nth(4).unwrap());
    let Some(second) = second else { return say_skipped("no hierarchy of version 2 is mounted") };
    let Some(runner) = TestRunner::make(&[]) else { return };
    let id = runner.start("trap 'exit 7' USR1; echo up; while :; do sleep 0.1; done", Limits::default());
    runner.wait_for_lines(&id, 1);
    let before = runner.processes(&id);
    // Process 1 and what it attends to, in a group that is frozen and thawed again and again.
    let group = PathBuf::from(second).join(format!("quintet-frozen-{}", std::process::id()));
    std::fs::create_dir(&group).unwrap();
    for pid in &before {
        // The sleep among them may have ended.
        let _ = std::fs::write(group.join("cgroup.procs"), pid.to_string());
    }
    for _ in 0..5 {
        for (frozen, told) in [("1", "frozen 1"), ("0", "frozen 0")] {
            std::fs::write(group.join("cgroup.freeze"), frozen).unwrap();
            let events = || std::fs::read_to_string(group.join("cgroup.events")).unwrap();
            runner.wait_until(|| events().contains(told));
        }
    }
    // Process 1 hands it on.
    let first = rustix::process::Pid::from_raw(before[0]).unwrap();
    rustix::process::kill_process(first, rustix::process::Signal::USR1).unwrap();
    let outcome = runner.outcome(&id);
    let _ = std::fs::remove_dir(&group);
    assert_eq!(outcome.exit_code, Some(7), "{outcome:?}");
}
