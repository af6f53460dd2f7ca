//! What a runner tells is true whatever is removed, killed or held up meanwhile; and nobody keeps others from asking.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use quintet_runtime::{Action, ContainerId, ContainerState, EndReason, Limits, Refusal, RunnerError, Stream};
use rustix::process::{Pid, Signal};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::{TestRunner, shared};
use crate::support::appliance::{rounds, say_skipped};

fn send(pid: i32, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn what_is_read_while_it_is_removed_is_whole_or_not_there() {
    let Some(runner) = shared() else { return };
    let lines = 2000;
    for _ in 0..10 {
        let id = runner.start(&format!("seq {lines}; exit 3"), Limits::default());
        runner.outcome(&id);
        let (begun, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let read = || {
                let mut answers = 0;
                while !is_over.load(Ordering::SeqCst) {
                    match runner.runner.log(&id, Stream::Stdout, 0, 10_000) {
                        Ok(page) => assert_eq!((page.lines.len(), page.complete), (lines, true), "a part of it"),
                        Err(RunnerError::Refused(Refusal::NoSuchContainer)) => {}
                        Err(error) => panic!("{error}"),
                    }
                    match runner.runner.samples(&id, 0) {
                        Ok(samples) => assert_ne!(samples, []),
                        Err(RunnerError::Refused(Refusal::NoSuchContainer)) => {}
                        Err(error) => panic!("{error}"),
                    }
                    answers += 1;
                    begun.fetch_max(answers, Ordering::SeqCst);
                }
            };
            for _ in 0..4 {
                scope.spawn(read);
            }
            runner.wait_until(|| begun.load(Ordering::SeqCst) > 2);
            runner.runner.remove(&id).unwrap();
            assert!(runner.runner.status(&id).is_err());
            is_over.store(true, Ordering::SeqCst);
        });
    }
}

#[test]
fn an_end_while_nobody_was_there_is_told_to_who_knows_the_others() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    let named = |name: &str, script: &str| {
        let id = ContainerId::parse(name).unwrap();
        runner.runner.start(&id, &runner.script(script, Limits::default())).unwrap();
        id
    };
    // All are recorded durably before the first ends; it is found first.
    let late = named("a-late", "sleep 1000");
    let others = [named("b-other", "sleep 0.2; exit 1"), named("c-other", "sleep 0.2; exit 1")];
    others.iter().for_each(|id| drop(runner.outcome(id)));
    let mut cursor = 0;
    let mut heard = BTreeSet::new();
    while heard.len() < others.len() {
        let ended = runner.runner.ended(cursor, Duration::from_secs(1)).unwrap();
        cursor = ended.cursor;
        heard.extend(ended.ids);
    }
    let process = runner.processes(&late)[0];
    runner.kill_runner();
    send(process, Signal::KILL);
    runner.wait_until(|| runner.state().join("containers/a-late/exit.json").exists());
    runner.start_runner().unwrap();
    let ended = runner.runner.ended(cursor, Duration::from_secs(60)).unwrap();
    assert!(ended.ids.contains(&late), "it is never heard of: {ended:?} after {cursor}");
}

/// The supervisor that was kept ready leaves when its runner has gone, and so does who has made it; what they tidy away must
/// not be what the next runner's containers are being made in.
#[test]
fn who_leaves_takes_no_ground_from_who_comes() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    let supervisors = |runner: &TestRunner| -> BTreeSet<i32> {
        let groups = runner.groups_called("supervisors").into_iter();
        let texts = groups.filter_map(|group| std::fs::read_to_string(group.join("cgroup.procs")).ok());
        texts.flat_map(|text| text.lines().map(|line| line.parse().unwrap()).collect::<Vec<_>>()).collect()
    };
    let id = runner.start("exit 0", Limits::default());
    runner.outcome(&id);
    runner.assert_gone(&id);
    // The one that was kept ready, and the one who makes them.
    runner.wait_until(|| supervisors(&runner).len() == 2);
    let leaving = supervisors(&runner);
    leaving.iter().for_each(|pid| send(*pid, Signal::STOP));
    runner.kill_runner();
    runner.start_runner().unwrap();
    runner.wait_until(|| supervisors(&runner).len() == 4);
    // Somebody has made this, and is about to make another one in it.
    let instance = std::fs::read_to_string(runner.directory.join("instance")).unwrap();
    let roots = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup"].map(std::path::PathBuf::from);
    let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists()).unwrap();
    let ground = root.join("quintet").join(instance);
    std::fs::create_dir_all(&ground).unwrap();
    leaving.iter().for_each(|pid| send(*pid, Signal::CONT));
    runner.wait_until(|| supervisors(&runner).is_disjoint(&leaving));
    let is_gone = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"))
    };
    runner.wait_until(|| leaving.iter().all(is_gone));
    assert!(ground.exists(), "it was taken away");
}

#[test]
fn what_is_left_of_a_runner_takes_nothing_from_the_next_one() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    for _ in 0..rounds("QUINTET_RUNNER_ENDS", 1) {
        let id = runner.start("exit 0", Limits::default());
        runner.outcome(&id);
        runner.kill_runner();
        runner.start_runner().unwrap();
        for _ in 0..20 {
            let id = runner.new_id();
            let started = runner.runner.start(&id, &runner.script("exit 0", Limits::default()));
            assert!(started.is_ok(), "{started:?}");
            assert_eq!(runner.outcome(&id).reason, EndReason::Exited);
        }
    }
}

/// Whoever kills a supervisor, at whatever moment: what is told is true.
#[test]
fn a_killed_supervisor_is_told_as_lost_or_the_end_was_real() {
    let Some(runner) = shared() else { return };
    let script = "echo begun; sleep 0.02; echo done; exit 5";
    for round in 0..rounds("QUINTET_SUPERVISOR_ENDS", 12) {
        let id = runner.new_id();
        let started = runner.runner.start(&id, &runner.script(script, Limits::default()));
        if round % 3 == 0 {
            runner.wait_for_lines(&id, 1);
        }
        std::thread::sleep(Duration::from_micros(u64::try_from(round * 7919 % 30_000).unwrap()));
        if let Some(supervisor) = runner.find_supervisor(&id) {
            let _ = rustix::process::kill_process(Pid::from_raw(supervisor).unwrap(), Signal::KILL);
        }
        let outcome = runner.outcome(&id);
        match outcome.reason {
            EndReason::Exited => assert_eq!(outcome.exit_code, Some(5), "{outcome:?}"),
            EndReason::Lost => assert_eq!((outcome.exit_code, outcome.signal), (None, None), "{outcome:?}"),
            _ => panic!("{outcome:?} after {started:?}"),
        }
        runner.assert_gone(&id);
        runner.runner.remove(&id).unwrap();
    }
}

#[test]
fn supervisors_that_are_stopped_hold_nobody_up() {
    let Some(runner) = TestRunner::make(&[]) else { return };
    let ids: Vec<ContainerId> = (0..6).map(|_| runner.start("sleep 1000", Limits::default())).collect();
    runner.runner.control(&ids[0], Action::Pause).unwrap();
    assert_eq!(runner.status(&ids[0]).state, ContainerState::Paused);
    let supervisors: Vec<i32> = ids.iter().map(|id| runner.supervisor(id)).collect();
    supervisors.iter().for_each(|pid| send(*pid, Signal::STOP));
    let began = Instant::now();
    let states: Vec<ContainerState> = runner.runner.list().unwrap().iter().map(|status| status.state).collect();
    // Half a minute for each it would be, one after the other.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(states[0], ContainerState::Paused, "it goes on as it did");
    assert!(states[1..].iter().all(|state| *state == ContainerState::Running), "{states:?}");
    let refused = runner.runner.control(&ids[1], Action::Kill);
    assert!(matches!(refused, Err(RunnerError::Refused(Refusal::Failed(_)))), "{refused:?}");
    supervisors.iter().for_each(|pid| send(*pid, Signal::CONT));
    for id in &ids {
        runner.runner.control(id, Action::Kill).unwrap();
        assert_eq!(runner.outcome(id).reason, EndReason::Killed);
    }
}

#[test]
fn silent_connections_keep_nobody_out_and_are_closed() {
    let Some(runner) = &TestRunner::make(&["--group", "65534"]) else { return };
    std::fs::set_permissions(&runner.directory, std::fs::Permissions::from_mode(0o711)).unwrap();
    let socket = runner.runner.socket();
    let is_closed = |connection: &UnixStream| {
        connection.set_nonblocking(true).unwrap();
        matches!((&*connection).read(&mut [0]), Ok(0))
    };
    let (turn, hear) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let somebody = scope.spawn(move || {
            // This thread alone is somebody else from here on.
            let (user, group) = (rustix::fs::Uid::from_raw(65534), rustix::fs::Gid::from_raw(65534));
            set_thread_groups(&[]).unwrap();
            set_thread_res_gid(group, group, group).unwrap();
            set_thread_res_uid(user, user, user).unwrap();
            let connections: Vec<UnixStream> = (0..200).map(|_| UnixStream::connect(socket).unwrap()).collect();
            let closed = || connections.iter().filter(|connection| is_closed(connection)).count();
            runner.wait_until(|| closed() >= 200 - 64);
            turn.send(()).unwrap();
            runner.wait_until(|| closed() == 200);
            runner.wait_until(|| {
                let mut connection = UnixStream::connect(socket).unwrap();
                let call = br#"{"protocol":1,"request":"hello"}"#;
                let frame = [&u32::try_from(call.len()).unwrap().to_be_bytes()[..], call].concat();
                let mut answer = Vec::new();
                let asked = connection.write_all(&frame).and_then(|()| connection.shutdown(std::net::Shutdown::Write));
                asked.and_then(|()| connection.read_to_end(&mut answer)).is_ok() && !answer.is_empty()
            });
        });
        // Root is heard nevertheless.
        if hear.recv().is_ok() {
            runner.runner.hello().unwrap();
        }
        somebody.join().unwrap();
    });
}

/// What is asked of a runner that is held up, and given up, is not done later.
#[test]
fn a_call_that_was_given_up_is_not_carried_out() {
    let Some(runner) = TestRunner::make(&[]) else { return };
    let id = runner.start("sleep 1000", Limits::default());
    let pid: i32 = std::fs::read_to_string(runner.directory.join("pid")).unwrap().parse().unwrap();
    send(pid, Signal::STOP);
    let call =
        serde_json::json!({ "protocol": 1, "request": { "control": { "id": id, "action": "kill" } } }).to_string();
    let frame = [&u32::try_from(call.len()).unwrap().to_be_bytes()[..], call.as_bytes()].concat();
    UnixStream::connect(runner.runner.socket()).unwrap().write_all(&frame).unwrap();
    send(pid, Signal::CONT);
    // Those who came later have been heard.
    for _ in 0..20 {
        assert_eq!(runner.status(&id).state, ContainerState::Running);
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(runner.status(&id).state, ContainerState::Running);
    runner.runner.control(&id, Action::Kill).unwrap();
    assert_eq!(runner.outcome(&id).reason, EndReason::Killed);
}

/// A group that lets a process make no more threads than it has; gone when this is dropped.
struct NoMoreThreads {
    root: std::path::PathBuf,
    group: std::path::PathBuf,
    pid: String,
}

impl NoMoreThreads {
    fn of(pid: &str) -> Option<NoMoreThreads> {
        let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(std::path::PathBuf::from);
        let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists())?;
        let group = root.join(format!("quintet-test-threads-{}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        let held = NoMoreThreads { root, group, pid: pid.to_owned() };
        std::fs::write(held.group.join("cgroup.procs"), pid).ok()?;
        held.allow("max").then_some(held)
    }

    fn count(&self) -> String {
        std::fs::read_to_string(self.group.join("pids.current")).unwrap().trim().to_owned()
    }

    fn allow(&self, most: &str) -> bool {
        std::fs::write(self.group.join("pids.max"), most).is_ok()
    }
}

impl Drop for NoMoreThreads {
    fn drop(&mut self) {
        self.allow("max");
        let _ = std::fs::write(self.root.join("cgroup.procs"), &self.pid);
        let _ = std::fs::remove_dir(&self.group);
    }
}

#[test]
fn what_nobody_could_watch_is_not_started() {
    let Some(runner) = TestRunner::make(&[]) else { return };
    let first = runner.start("exit 0", Limits::default());
    runner.outcome(&first);
    runner.assert_gone(&first);
    // One who is there already: nobody else is let in without a thread.
    let mut connection = UnixStream::connect(runner.runner.socket()).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut ask = |request: serde_json::Value| {
        let call = serde_json::json!({ "protocol": 1, "request": request }).to_string();
        let frame = [&u32::try_from(call.len()).unwrap().to_be_bytes()[..], call.as_bytes()].concat();
        connection.write_all(&frame).unwrap();
        let mut length = [0; 4];
        connection.read_exact(&mut length).unwrap();
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        connection.read_exact(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    };
    assert!(ask(serde_json::json!("hello")).contains("hello"));
    let pid = std::fs::read_to_string(runner.directory.join("pid")).unwrap();
    let Some(held) = NoMoreThreads::of(&pid) else { return say_skipped("no group of the controller pids can be made") };
    // What is ready for the next container was made before.
    std::thread::sleep(Duration::from_millis(300));
    assert!(ask(serde_json::json!("hello")).contains("hello"));
    assert!(held.allow(&held.count()));
    let id = runner.new_id();
    let description = runner.script("sleep 1000", Limits::default());
    let answer = ask(serde_json::json!({ "start": { "id": id, "description": description } }));
    drop(held);
    assert!(answer.contains("refused"), "{answer}");
    let status = runner.runner.status(&id);
    assert!(matches!(status, Err(RunnerError::Refused(Refusal::NoSuchContainer))), "{status:?}");
    // The same can be asked for again.
    runner.runner.start(&id, &description).unwrap();
    runner.runner.control(&id, Action::Kill).unwrap();
    assert_eq!(runner.outcome(&id).reason, EndReason::Killed);
}

#[test]
fn what_the_machine_could_not_make_is_told_apart() {
    let Some(runner) = TestRunner::make(&[]) else { return };
    let scratch = runner.state().join("scratch");
    let limits = || Limits { scratch_bytes: 9 << 20, ..Limits::default() };
    std::fs::remove_dir_all(&scratch).unwrap();
    std::fs::write(&scratch, "").unwrap();
    let failed = runner.new_id();
    let refused = runner.runner.start(&failed, &runner.script("exit 0", limits()));
    assert!(matches!(refused, Err(RunnerError::Refused(Refusal::StartFailed(_)))), "{refused:?}");
    let outcome = runner.outcome(&failed);
    assert!(matches!(outcome.reason, EndReason::NotMade(_)), "{outcome:?}");
    std::fs::remove_file(&scratch).unwrap();
    std::fs::create_dir(&scratch).unwrap();
    let id = runner.start("exit 0", limits());
    assert_eq!(runner.outcome(&id).reason, EndReason::Exited);
    // A command that is not there is the image's affair.
    let mut nothing = runner.script("exit 0", limits());
    nothing.command = vec!["/nowhere".into()];
    let id = runner.new_id();
    assert!(runner.runner.start(&id, &nothing).is_err());
    assert!(matches!(runner.outcome(&id).reason, EndReason::StartFailed(_)));
}

/// What goes on making a container after all who wait for it are gone; and does so again, however often that is noticed.
#[test]
fn a_group_that_is_made_behind_the_runner_goes() {
    let Some(runner) = TestRunner::make(&[]) else { return };
    let id = runner.start("sleep 1000", Limits::default());
    let groups = runner.groups(&id);
    let began = Instant::now();
    for _ in 0..9 {
        let mut stray = Command::new("sleep").arg("1000").spawn().unwrap();
        let made: Vec<_> = groups.iter().map(|group| group.with_file_name("_0fff_stray")).collect();
        for group in &made {
            // One in cpuset would need processors first.
            if !group.starts_with("/sys/fs/cgroup/cpuset") && std::fs::create_dir(group).is_ok() {
                // It may be noticed at once.
                let _ = std::fs::write(group.join("cgroup.procs"), stray.id().to_string());
            }
        }
        runner.wait_until(|| made.iter().all(|group| !group.exists()));
        // None of it in a group: it was noticed too soon.
        let _ = stray.kill();
        runner.wait_until(|| stray.try_wait().unwrap().is_some());
    }
    assert!(began.elapsed() < super::PATIENCE, "each look comes later than the one before");
    assert_eq!(runner.status(&id).state, ContainerState::Running, "what is somebody's stays");
    runner.runner.control(&id, Action::Kill).unwrap();
    runner.outcome(&id);
    runner.assert_gone(&id);
}
