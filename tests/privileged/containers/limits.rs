//! What a container may take is what it gets, and what happens when it wants more.

use std::time::{Duration, Instant};

use quintet_runtime::{Action, EndReason, Limits};

use super::shared;
use crate::support::appliance::say_skipped;

#[test]
fn processor_time_is_limited_for_all_processes_together() {
    let Some(runner) = shared() else { return };
    let limits = Limits { cpu_millicores: 200, timeout_seconds: 3, ..Limits::default() };
    let (outcome, _, _) = runner.run("while :; do :; done & while :; do :; done", limits);
    assert_eq!(outcome.reason, EndReason::TimedOut);
    assert_eq!((outcome.exit_code, outcome.signal), (None, Some(9)));
    let lasted = outcome.finished_at_micros - outcome.started_at_micros.unwrap();
    assert!(lasted >= 3_000_000, "{lasted}");
    let share = outcome.cpu_micros as f64 / lasted as f64;
    assert!(share < 0.25, "a fifth of a core became {share}");
    assert!(share > 0.01, "it did not run at all: {share}");
}

/// What a supervisor does for a container that keeps it busy is the container's processor time, and so is limited with it.
#[test]
fn a_supervisor_takes_its_time_from_its_container() {
    let Some(runner) = shared() else { return };
    let limits = Limits { cpu_millicores: 100, timeout_seconds: 60, ..Limits::default() };
    let id = runner.start("while :; do cat /bin/busybox; done", limits);
    runner.wait_for_lines(&id, 1);
    let (supervisor, began) = (runner.supervisor(&id), Instant::now());
    let before = time_of(supervisor);
    std::thread::sleep(Duration::from_secs(3));
    let (taken, lasted) = (time_of(supervisor) - before, began.elapsed().as_secs_f64());
    let groups = runner.groups(&id);
    assert!(groups.iter().any(|group| group.join("supervisor").is_dir()), "it is in none of {groups:?}");
    runner.runner.control(&id, Action::Kill).unwrap();
    assert_eq!(runner.outcome(&id).reason, EndReason::Killed);
    // A tenth of a core for both together, and what it has for nothing.
    assert!(taken < lasted * 0.1 + 0.15, "{taken} s of {lasted}");
    runner.assert_gone(&id);
}

/// Processor time of a process of the host, in seconds.
fn time_of(process: i32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

#[test]
fn memory_is_limited_and_the_kernel_is_believed_about_it() {
    let Some(runner) = shared() else { return };
    let limits = || Limits { memory_bytes: 24 << 20, ..Limits::default() };
    let (outcome, _, _) = runner.run("exec tail /dev/zero", limits());
    assert!(outcome.oom_killed, "{outcome:?}");
    assert_eq!((&outcome.reason, outcome.signal), (&EndReason::Exited, Some(9)));
    // The shell goes on and ends well, after one of its children was killed.
    let (outcome, out, _) = runner.run("tail /dev/zero; echo after", limits());
    assert_eq!((outcome.exit_code, outcome.oom_killed), (Some(0), true), "{outcome:?}");
    assert_eq!(out, ["after"]);
    assert!(outcome.peak_memory_bytes <= 24 << 20 && outcome.peak_memory_bytes > 16 << 20, "{outcome:?}");
    // What it writes to a tmpfs is its memory, too.
    let (outcome, _, _) = runner.run("dd if=/dev/zero of=/tmp/f bs=1048576 count=64", limits());
    assert!(outcome.oom_killed, "{outcome:?}");
    let (outcome, _, _) = runner.run("dd if=/dev/zero of=/tmp/f bs=1048576 count=4", limits());
    assert_eq!((outcome.exit_code, outcome.oom_killed), (Some(0), false), "{outcome:?}");
}

#[test]
fn processes_are_limited() {
    let Some(runner) = shared() else { return };
    let limits = Limits { pids: 12, timeout_seconds: 20, ..Limits::default() };
    let script = "for i in $(seq 40); do sleep 30 & done; echo all of them";
    let (outcome, out, err) = runner.run(script, limits);
    assert_eq!(out, Vec::<String>::new(), "{outcome:?}");
    assert!(err.iter().any(|line| line.contains("fork")), "{err:?}");
}

#[test]
fn the_writable_layer_is_limited() {
    let Some(runner) = shared() else { return };
    let limits = Limits { scratch_bytes: 8 << 20, ..Limits::default() };
    let script =
        "dd if=/dev/zero of=/big bs=65536 count=1024; ls -l /big | grep -c 67108864; rm /big; echo small > /f; cat /f";
    let (outcome, out, err) = runner.run(script, limits);
    assert_eq!(outcome.exit_code, Some(0));
    assert_eq!(out, ["0", "small"]);
    assert!(err.iter().any(|line| line.contains("No space left")), "{err:?}");
}

#[test]
fn files_can_be_changed_and_removed_and_are_there_again_next_time() {
    let Some(runner) = shared() else { return };
    for _ in 0..2 {
        let script = "echo more >> /etc/passwd && rm /bin/uname && mkdir /new && touch /new/file && chown 33:33 /new/file \
            && stat -c %u /new/file && pwd && test -e /bin/uname || wc -l < /etc/passwd";
        let (outcome, out, err) = runner.run(script, Limits::default());
        assert_eq!(outcome.exit_code, Some(0), "{err:?}");
        assert_eq!(out, ["33", "/work/here", "3"]);
    }
}

/// Version 1: processes of a container are in its groups from their beginning, and nobody is moved. Who makes it is there
/// for no longer than that takes.
#[test]
fn a_container_is_made_in_its_groups_and_its_maker_leaves_them() {
    let Some(runner) = shared() else { return };
    if runner.runner.hello().unwrap().features.cgroup_version != 1 {
        return say_skipped("libcontainer moves what it makes in version 2");
    }
    let id = runner.start("echo up; sleep 1000", Limits::default());
    runner.wait_for_lines(&id, 1);
    let name = std::fs::read_to_string(runner.state().join(format!("containers/{id}/group"))).unwrap();
    let groups_of = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let processes = runner.processes(&id);
    assert_eq!(processes.len(), 2, "process 1 and the command");
    for pid in processes {
        let groups = groups_of(pid);
        for controller in ["cpu", "cpuacct", "memory", "pids", "freezer", "devices", "blkio"] {
            let of_it = |line: &&str| line.split(':').nth(1).unwrap().split(',').any(|word| word == controller);
            let line = groups.lines().find(of_it).unwrap_or_else(|| panic!("{controller}: {groups}"));
            assert!(line.ends_with(&name), "{line}");
        }
    }
    let supervisor = runner.supervisor(&id);
    assert!(!groups_of(supervisor).contains(&name), "{}", groups_of(supervisor));
    let mounts = std::fs::read_to_string(format!("/proc/{supervisor}/mountinfo")).unwrap();
    assert!(!mounts.contains(" - cgroup "), "libcontainer would move what it makes: {mounts}");
    // The devices that every container has, nodes of others, and nothing else.
    let devices =
        runner.groups(&id).into_iter().find_map(|group| std::fs::read_to_string(group.join("devices.list")).ok());
    let devices = devices.unwrap();
    let mut devices: Vec<&str> = devices.lines().collect();
    devices.sort_unstable();
    let expected =
        ["b *:* m", "c *:* m", "c 136:* rwm", "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm"];
    assert_eq!(devices, [&expected[..], &["c 5:0 rwm", "c 5:1 rwm", "c 5:2 rwm"]].concat());
    let used = |group: &std::path::PathBuf| std::fs::read_to_string(group.join("cpuacct.usage")).ok();
    let used: u64 = runner.groups(&id).iter().find_map(used).unwrap().trim().parse().unwrap();
    runner.runner.control(&id, Action::Kill).unwrap();
    let outcome = runner.outcome(&id);
    // Of that the most was for making it, which is not the container's.
    assert!(outcome.cpu_micros < used / 1000, "{} of {used} ns: {outcome:?}", outcome.cpu_micros);
    runner.assert_gone(&id);
}
