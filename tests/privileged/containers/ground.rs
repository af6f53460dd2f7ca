//! The control groups above those of the containers: who ends last takes them along, whoever that is.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use quintet_runtime::Limits;
use rustix::process::{Pid, Signal};

use super::TestRunner;
use crate::support::appliance::rounds;

impl TestRunner {
    /// Has the runner end by this signal.
    fn end_runner(&mut self, signal: Signal) {
        let mut child = self.child.take().unwrap();
        rustix::process::kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
    }

    /// The supervisors that are not gone.
    fn supervisors(&self) -> Vec<i32> {
        let groups = self.groups_called("supervisors").into_iter();
        let texts = groups.filter_map(|group| std::fs::read_to_string(group.join("cgroup.procs")).ok());
        let mut pids: Vec<i32> =
            texts.flat_map(|text| text.lines().map(|l| l.parse().unwrap()).collect::<Vec<_>>()).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Waits until it has left no control group at all.
    fn wait_until_nothing_is_left(&self, what: &str) {
        let began = std::time::Instant::now();
        while !self.groups_called("").is_empty() {
            let left = super::inhabitants::of(&self.groups_called(""));
            assert!(began.elapsed() < super::PATIENCE, "{what}: is left:\n{left}\n{}", self.complaints());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait_for_supervisor(&self) {
        self.wait_until(|| !self.supervisors().is_empty());
    }
}

/// Those who have gone meanwhile get nothing.
fn send_all(pids: &[i32], signal: Signal) {
    for pid in pids {
        let _ = rustix::process::kill_process(Pid::from_raw(*pid).unwrap(), signal);
    }
}

#[test]
fn whoever_is_slow_to_go_is_waited_for() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    runner.wait_for_supervisor();
    // As one whose mounts are being taken down: it has let go of all it held, and is in its group still.
    let mut slow = Command::new("sleep").arg("1000").spawn().unwrap();
    for group in runner.groups_called("supervisors") {
        std::fs::write(group.join("cgroup.procs"), slow.id().to_string()).unwrap();
    }
    runner.end_runner(Signal::TERM);
    runner.wait_until(|| runner.supervisors() == [i32::try_from(slow.id()).unwrap()]);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!runner.groups_called("supervisors").is_empty());
    slow.kill().unwrap();
    slow.wait().unwrap();
    runner.wait_until_nothing_is_left("the supervisor that was kept ready has gone first");
}

#[test]
fn an_ended_runner_leaves_no_group() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    for round in 0..rounds("QUINTET_GROUND_ENDS", 12) {
        let signal = if round % 2 == 0 { Signal::KILL } else { Signal::TERM };
        let delay = Duration::from_micros(u64::try_from(round * 7919 % 40_000).unwrap());
        let what = match round % 3 {
            // Right after an end, while what it held is taken down; a container is made ahead in between.
            0 => {
                for _ in 0..3 {
                    let id = runner.start("exit 0", Limits::default());
                    runner.outcome(&id);
                }
                "right after an end"
            }
            // Before the end: the container's own supervisor is the last.
            1 => {
                runner.start("sleep 0.2", Limits::default());
                std::thread::sleep(delay);
                "before an end"
            }
            // In the middle of starts.
            _ => {
                let description = runner.script("sleep 0.1", Limits::default());
                for _ in 0..4 {
                    let (client, id, description) = (runner.runner.clone(), runner.new_id(), description.clone());
                    std::thread::spawn(move || client.start(&id, &description).is_ok());
                }
                std::thread::sleep(delay);
                "in the middle of starts"
            }
        };
        runner.end_runner(signal);
        runner.wait_until_nothing_is_left(&format!("round {round}, {what}, by {signal:?}"));
        runner.start_runner().unwrap();
    }
}

#[test]
fn what_a_dead_runner_left_goes_with_the_start_of_any() {
    let (Some(mut dead), Some(living)) = (TestRunner::make(&[]), TestRunner::make(&[])) else { return };
    let id = living.start("sleep 1000", Limits::default());
    let (groups, above) = (living.groups(&id), living.groups_called(""));
    dead.wait_for_supervisor();
    // Nobody is left to take anything along.
    let stopped = dead.supervisors();
    send_all(&stopped, Signal::STOP);
    dead.kill_runner();
    let made: Vec<PathBuf> = dead.groups_called("").iter().map(|group| group.join("_0000_cut_off")).collect();
    for group in &made {
        std::fs::create_dir(group).unwrap();
    }
    send_all(&stopped, Signal::KILL);
    dead.wait_until(|| dead.supervisors().is_empty());
    let Some(_third) = TestRunner::make(&[]) else { return };
    dead.wait_until_nothing_is_left("another has started");
    assert_eq!((living.groups(&id), living.groups_called("")), (groups, above), "those of one who lives");
}

/// The runner looks after the one who is to take its groups along.
#[test]
fn a_supervisor_that_was_kept_ready_and_killed_has_a_successor() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    runner.wait_for_supervisor();
    let killed = runner.supervisors();
    send_all(&killed, Signal::KILL);
    runner.wait_until(|| runner.supervisors().iter().any(|pid| !killed.contains(pid)));
    // Also where the runner has not noticed yet.
    runner.kill_supervisors(&runner.supervisors());
    let (outcome, _, _) = runner.run("exit 3", Limits::default());
    assert_eq!(outcome.exit_code, Some(3));
    runner.wait_for_supervisor();
    runner.end_runner(Signal::TERM);
    runner.wait_until_nothing_is_left("the successor");
}

impl TestRunner {
    /// Kills them, and waits until they are dead: one that is told something meanwhile has a container to lose.
    fn kill_supervisors(&self, pids: &[i32]) {
        send_all(pids, Signal::KILL);
        self.wait_until(|| !self.supervisors().iter().any(|pid| pids.contains(pid)));
    }

    /// The runner's children that have ended and that nobody has waited for.
    fn unwaited(&self) -> Vec<i32> {
        let runner = self.child.as_ref().unwrap().id().to_string();
        let entries =
            std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let pids = entries.filter_map(|name| name.parse::<i32>().ok());
        let is_unwaited = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let rest = stat.rsplit(") ").next().unwrap_or_default();
            let mut fields = rest.split(' ');
            fields.next() == Some("Z") && fields.next() == Some(runner.as_str())
        };
        pids.filter(is_unwaited).collect()
    }
}

/// The process that makes supervisors does not answer: who waits for one waits a while, and not one after the other.
#[test]
fn one_that_makes_no_supervisors_is_replaced() {
    let Some(runner) = TestRunner::make(&[]) else { return };
    for round in 0..2 {
        runner.wait_until(|| runner.supervisors().len() >= 2);
        let all = runner.supervisors();
        let (maker, copies) = all.split_first().unwrap();
        send_all(&[*maker], Signal::STOP);
        runner.kill_supervisors(copies);
        let began = std::time::Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(runner.run("exit 3", Limits::default()).0.exit_code, Some(3)));
            }
        });
        assert!(began.elapsed() < Duration::from_secs(30), "round {round}: {:?}", began.elapsed());
        runner.wait_until(|| !runner.supervisors().contains(maker) && runner.unwaited().is_empty());
    }
}

/// What begins to be made and is cut off keeps nothing that the runner waits for.
#[test]
fn supervisors_killed_in_the_middle_leave_nobody_behind() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    for round in 0..rounds("QUINTET_GROUND_KILLS", 20) {
        let (client, id) = (runner.runner.clone(), runner.new_id());
        let description =
            runner.script("exit 0", Limits { scratch_bytes: (4 + round as u64) << 20, ..Limits::default() });
        let starting = std::thread::spawn(move || client.start(&id, &description).is_ok());
        let until = Duration::from_micros(u64::try_from(round * 7919 % 20_000).unwrap());
        let began = std::time::Instant::now();
        while began.elapsed() < until {
            std::thread::sleep(Duration::from_micros(100));
        }
        send_all(&runner.supervisors(), Signal::KILL);
        let waiting = std::time::Instant::now();
        starting.join().unwrap();
        assert!(waiting.elapsed() < Duration::from_secs(20), "round {round}");
    }
    assert_eq!(runner.run("exit 3", Limits::default()).0.exit_code, Some(3));
    runner.wait_until(|| runner.unwaited().is_empty());
    runner.end_runner(Signal::TERM);
    runner.wait_until_nothing_is_left("supervisors were killed while they made containers");
}
