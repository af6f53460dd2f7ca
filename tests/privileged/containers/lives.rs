//! Runners and supervisors that are killed, many containers at once, and callers that say nonsense.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use quintet_runtime::{Action, ContainerState, EndReason, Limits, Refusal, RunnerError, Stream};
use rustix::process::{Pid, Signal};

use super::{TestRunner, shared};
use crate::support::appliance::{quintet, rounds};

fn kill(pid: i32) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn containers_outlive_their_runner_and_are_found_again() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    let counter = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done";
    let running = runner.start(counter, Limits::default());
    let paused = runner.start(counter, Limits::default());
    let ending = runner.start("sleep 1; exit 5", Limits::default());
    let lost = runner.start("sleep 60", Limits::default());
    let ended = runner.start("exit 4", Limits::default());
    runner.wait_for_lines(&paused, 3);
    runner.runner.control(&paused, Action::Pause).unwrap();
    runner.outcome(&ended);
    let heard = runner.runner.ended(0, Duration::ZERO).unwrap();
    assert_eq!(heard.ids.as_slice(), std::slice::from_ref(&ended));
    let began = std::time::Instant::now();
    assert_eq!(runner.runner.ended(heard.cursor, Duration::from_millis(300)).unwrap().ids, []);
    assert!(began.elapsed() >= Duration::from_millis(300), "it did not wait");

    runner.kill_runner();
    kill(runner.supervisor(&lost));
    std::thread::sleep(Duration::from_millis(1200));
    runner.start_runner().unwrap();

    assert_eq!(runner.status(&running).state, ContainerState::Running);
    assert_eq!(runner.status(&paused).state, ContainerState::Paused);
    assert_eq!(runner.outcome(&ending).exit_code, Some(5), "it ended while nobody was there");
    assert_eq!(runner.outcome(&ended).exit_code, Some(4));
    let outcome = runner.outcome(&lost);
    assert_eq!((outcome.reason, outcome.exit_code), (EndReason::Lost, None));
    assert!(outcome.started_at_micros.is_some());
    for id in [&ending, &lost, &ended] {
        runner.assert_gone(id);
        // Never twice, whatever became of it.
        match runner.runner.start(id, &runner.script("true", Limits::default())) {
            Err(RunnerError::Refused(Refusal::NameTaken)) => {}
            other => panic!("{other:?}"),
        }
    }
    let ids: BTreeSet<_> = runner.runner.ended(0, Duration::ZERO).unwrap().ids.into_iter().collect();
    assert_eq!(ids, BTreeSet::from([ended, ending.clone(), lost]));

    let before = runner.lines(&paused, Stream::Stdout).len() as u64;
    runner.runner.control(&paused, Action::Resume).unwrap();
    runner.wait_for_lines(&paused, before + 3);
    let lines = runner.lines(&paused, Stream::Stdout);
    assert!(lines.iter().all(|line| line.text == (line.number + 1).to_string()), "a gap or a new beginning");
    for id in [&running, &paused] {
        runner.runner.control(id, Action::Stop).unwrap();
        assert_eq!(runner.outcome(id).signal, Some(15));
        runner.assert_gone(id);
    }
    runner.runner.remove(&ending).unwrap();
    assert!(!runner.state().join(format!("containers/{ending}")).exists());
    runner.assert_no_mounts();
}

#[test]
fn a_container_does_not_outlive_its_supervisor() {
    let Some(runner) = shared() else { return };
    for pause in [false, true] {
        let id = runner.start("sleep 60 & sleep 60 & wait", Limits::default());
        runner.wait_until(|| runner.processes(&id).len() >= 4);
        let processes = runner.processes(&id);
        if pause {
            runner.runner.control(&id, Action::Pause).unwrap();
        }
        kill(runner.supervisor(&id));
        let outcome = runner.outcome(&id);
        assert_eq!(outcome.reason, EndReason::Lost, "paused: {pause}");
        runner.assert_gone(&id);
        let alive = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
        };
        assert!(!processes.iter().any(alive), "processes are left");
        assert!(matches!(
            runner.runner.control(&id, Action::Resume),
            Err(RunnerError::Refused(Refusal::WrongState { state: ContainerState::Ended }))
        ));
        runner.runner.remove(&id).unwrap();
    }
}

#[test]
fn a_kill_in_the_middle_of_starts_starts_nothing_twice() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    for round in 0..rounds("QUINTET_START_ENDS", 4) {
        let delay_millis = [5, 40, 90, 160][round % 4];
        let ids: Vec<_> = (0..12).map(|_| runner.new_id()).collect();
        // All of them have room on a disk that is rather full.
        let limits = Limits { scratch_bytes: 64 << 20, ..Limits::default() };
        let description = runner.script("echo started; sleep 0.3", limits);
        std::thread::scope(|scope| {
            for id in &ids {
                let (client, description) = (runner.runner.clone(), &description);
                // Whether it is answered or cut off is the point.
                scope.spawn(move || client.start(id, description).is_ok());
            }
            std::thread::sleep(Duration::from_millis(delay_millis));
            runner.kill_runner();
        });
        runner.start_runner().unwrap();
        for id in &ids {
            // Whoever does not know whether it was started tries again.
            match runner.runner.start(id, &description) {
                Ok(_) | Err(RunnerError::Refused(Refusal::NameTaken)) => {}
                other => panic!("{other:?}"),
            }
            let outcome = runner.outcome(id);
            let lines = runner.lines(id, Stream::Stdout).len();
            match outcome.reason {
                EndReason::Exited => assert_eq!((lines, outcome.exit_code), (1, Some(0)), "{outcome:?}"),
                EndReason::Lost => assert!(lines <= 1, "{lines} starts: {outcome:?}"),
                EndReason::NotMade(_) => assert_eq!(lines, 0, "it was made: {outcome:?}"),
                _ => panic!("{outcome:?}"),
            }
            runner.assert_gone(id);
        }
    }
    runner.assert_no_mounts();
}

#[test]
fn what_is_nobodys_is_cleared_away() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    let template = runner.start("exit 0", Limits::default());
    runner.outcome(&template);
    let ready = || {
        let texts = runner.groups_called("supervisors").into_iter();
        texts.filter_map(|group| std::fs::read_to_string(group.join("cgroup.procs")).ok()).any(|text| !text.is_empty())
    };
    runner.assert_gone(&template);
    runner.wait_until(ready);
    runner.kill_runner();
    let orphan = runner.state().join("containers/orphan");
    std::fs::create_dir_all(orphan.join("streams")).unwrap();
    std::fs::create_dir_all(runner.state().join("staging/7/0")).unwrap();
    std::fs::create_dir_all(runner.state().join("layers/0000")).unwrap();
    let instance = std::fs::read_to_string(runner.directory.join("instance")).unwrap();
    // The supervisor that was kept ready goes with the runner, and takes its groups along.
    let left = || runner.groups_called("supervisors");
    runner.wait_until(|| left().is_empty());
    let mut process = Command::new("sleep").arg("1000").spawn().unwrap();
    let mut groups = Vec::new();
    for root in std::fs::read_dir("/sys/fs/cgroup").unwrap().map(|entry| entry.unwrap().path()) {
        let group = root.join(format!("quintet/{instance}/orphan"));
        let made = || {
            let made = std::fs::create_dir_all(&group);
            made.and_then(|()| std::fs::write(group.join("cgroup.procs"), process.id().to_string())).is_ok()
        };
        // One in cpuset would need processors first. Until the process is in one of them, whoever starts a runner takes
        // what is empty away.
        if !root.ends_with("cpuset") && (0..100).any(|_| made()) {
            groups.push(group);
        }
    }
    runner.start_runner().unwrap();
    if !groups.is_empty() {
        use std::os::unix::process::ExitStatusExt;
        runner.wait_until(|| process.try_wait().unwrap().is_some());
        assert_eq!(process.wait().unwrap().signal(), Some(9));
    } else {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    for gone in groups.iter().chain(&[orphan, runner.state().join("staging/7"), runner.state().join("layers/0000")]) {
        assert!(!gone.exists(), "{} is left", gone.display());
    }
    assert_eq!(runner.outcome(&template).exit_code, Some(0));
}

/// The control group of the container that is made ahead, if there is one.
fn ahead(runner: &TestRunner) -> Option<String> {
    let above = runner.groups_called("").into_iter().find(|group| group.join("freezer.state").exists());
    let above =
        above.or_else(|| runner.groups_called("").into_iter().find(|group| group.join("memory.stat").exists()))?;
    let used: Vec<String> = std::fs::read_dir(runner.state().join("containers"))
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("group")).ok())
        .collect();
    let names = std::fs::read_dir(above).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names = names.filter(|name| name.starts_with('_') && !used.contains(name));
    names.next()
}

#[test]
fn what_is_made_ahead_becomes_the_next_of_its_kind_and_nothing_else() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    let tell = "hostname; echo $OWN; cat /left 2>/dev/null; echo own > /left";
    let limits = || Limits { memory_bytes: 48 << 20, scratch_bytes: 8 << 20, ..Limits::default() };
    let run = |runner: &TestRunner, own: &str, limits: Limits| -> (String, Vec<String>) {
        let id = runner.new_id();
        let mut description = runner.script(tell, limits);
        description.env.insert("OWN".into(), own.into());
        runner.runner.start(&id, &description).unwrap();
        assert_eq!(runner.outcome(&id).exit_code, Some(0));
        let lines: Vec<String> = runner.lines(&id, Stream::Stdout).into_iter().map(|line| line.text).collect();
        assert_eq!(lines, [id.as_str(), own], "a name, a value or a file of another one");
        let group = std::fs::read_to_string(runner.state().join(format!("containers/{id}/group"))).unwrap();
        (group, lines)
    };
    run(&runner, "1", limits());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(ahead(&runner), None, "nothing is made for what came once");
    run(&runner, "2", limits());
    runner.wait_until(|| ahead(&runner).is_some());
    let expected = ahead(&runner);
    assert_eq!(Some(run(&runner, "3", limits()).0), expected, "it was made in vain");
    runner.wait_until(|| ahead(&runner).is_some_and(|next| Some(next) != expected));

    // Whatever it may take besides: that is set when it becomes somebody's.
    let made = ahead(&runner);
    let weight = |groups: Vec<std::path::PathBuf>| -> String {
        let mut found = groups.into_iter().flat_map(|group| ["cpu.shares", "cpu.weight"].map(|file| group.join(file)));
        found.find_map(|file| std::fs::read_to_string(file).ok()).unwrap_or_default().trim().to_owned()
    };
    let most = weight(runner.groups_called(&made.clone().unwrap()));
    assert!(["262144", "10000"].contains(&most.as_str()), "others hold its making up: {most}");
    let large = Limits { memory_bytes: 96 << 20, cpu_millicores: 500, pids: 64, ..limits() };
    let id = runner.start("sleep 60", large);
    let group = std::fs::read_to_string(runner.state().join(format!("containers/{id}/group"))).unwrap();
    assert_eq!(Some(group), made, "it was made in vain");
    let set = |files: [&str; 2]| -> u64 {
        let found = runner.groups(&id).into_iter().flat_map(|group| [group.join("processes"), group]);
        let mut found = found.flat_map(|group| files.map(|file| std::fs::read_to_string(group.join(file)).ok()));
        let text = found.find_map(|text| text.filter(|text| !text.starts_with("max"))).unwrap_or_default();
        text.split_whitespace().next().unwrap_or_default().parse().unwrap()
    };
    let own = weight(runner.groups(&id));
    assert!(["1024", "100"].contains(&own.as_str()), "it counts for more than others: {own}");
    assert_eq!(set(["memory.limit_in_bytes", "memory.max"]), 96 << 20);
    assert_eq!((set(["cpu.cfs_quota_us", "cpu.max"]), set(["pids.max", "pids.max"])), (5_000, 64));
    runner.runner.control(&id, Action::Kill).unwrap();
    runner.outcome(&id);

    // Others do not get it, and it does not stay for long when others come.
    runner.wait_until(|| ahead(&runner).is_some_and(|next| Some(next) != made));
    let first = ahead(&runner);
    let more = || Limits { scratch_bytes: 16 << 20, ..limits() };
    let group = run(&runner, "4", more()).0;
    assert_ne!(Some(group), first);
    run(&runner, "5", more());
    runner.wait_until(|| ahead(&runner).is_some_and(|next| Some(next) != first));

    // One that has died is not waited for, and leaves nothing.
    let dead = ahead(&runner).unwrap();
    let processes = |name: &str| -> Vec<(i32, String)> {
        let texts = runner.groups_called(&dead).into_iter();
        let texts = texts.filter_map(|group| std::fs::read_to_string(group.join("cgroup.procs")).ok());
        let pids: Vec<i32> =
            texts.flat_map(|text| text.lines().map(|line| line.parse().unwrap()).collect::<Vec<_>>()).collect();
        let stats = pids.into_iter().map(|pid| (pid, std::fs::read_to_string(format!("/proc/{pid}/stat"))));
        let living = stats.filter_map(|(pid, stat)| Some((pid, stat.ok()?)));
        living.filter(|(_, stat)| stat.contains(name)).collect()
    };
    // Process 1 has its name once nothing is left to be made.
    runner.wait_until(|| !processes("(init)").is_empty());
    let stat = processes("(init)")[0].1.clone();
    kill(stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap());
    runner.wait_until(|| processes("").is_empty());
    assert_ne!(run(&runner, "6", more()).0, dead);
    runner.wait_until(|| runner.groups_called(&dead).is_empty());

    // It goes with its image, and with the runner.
    runner.wait_until(|| ahead(&runner).is_some());
    let last = ahead(&runner).unwrap();
    runner.runner.remove_image("busybox:test").unwrap();
    runner.wait_until(|| runner.groups_called(&last).is_empty() && runner.loop_devices() == 0);
    runner.kill_runner();
    runner.wait_until(|| runner.groups_called("").is_empty());
}

#[test]
fn images_are_managed_from_the_command_line() {
    let Some(runner) = TestRunner::make(&[]) else { return };
    let image = |arguments: &[&str]| {
        quintet().arg("image").args(arguments).arg("--socket").arg(runner.runner.socket()).output().unwrap()
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let listed = image(&["list", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["items"][0]["names"], serde_json::json!(["busybox:test"]));
    assert_eq!(listed["items"][0]["digest"], serde_json::json!(runner.image));
    let hostile = crate::tarball::Tarball::new().file("index.json", b"{}").finish();
    let path = runner.directory.join("hostile.tar");
    std::fs::write(&path, hostile).unwrap();
    let refused = image(&["import", path.to_str().unwrap(), "--name", "x"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("the image is refused"), "{}", text(&refused.stderr));
    let missing = image(&["import", "/nowhere", "--name", "x"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(image(&["remove", "busybox:test"]).status.success());
    let again = image(&["remove", "busybox:test"]);
    assert!(text(&again.stderr).contains("no such image"), "{}", text(&again.stderr));
    assert_eq!(std::fs::read_dir(runner.state().join("layers")).unwrap().count(), 0, "its layer is left");
    let nobody = quintet().args(["image", "list", "--socket", "/nowhere"]).output().unwrap();
    assert_eq!(nobody.status.code(), Some(1));
    assert!(text(&nobody.stderr).contains("quintet runner"), "{}", text(&nobody.stderr));
}

#[test]
fn two_hundred_at_once() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    let limits =
        || Limits { memory_bytes: 16 << 20, scratch_bytes: 4 << 20, timeout_seconds: 300, ..Limits::default() };
    let ids: Vec<_> = (0..200).map(|_| runner.new_id()).collect();
    std::thread::scope(|scope| {
        for part in ids.chunks(25) {
            let (runner, limits) = (&runner, &limits);
            scope.spawn(move || {
                for id in part {
                    let script = format!("echo {id}; read line < /go 2>/dev/null; while :; do sleep 5; done");
                    runner.runner.start(id, &runner.script(&script, limits())).unwrap();
                }
            });
        }
    });
    let list = runner.runner.list().unwrap();
    assert_eq!(list.len(), 200);
    assert!(list.iter().all(|status| status.state == ContainerState::Running), "{list:?}");
    for id in &ids {
        runner.runner.control(id, Action::Kill).unwrap();
    }
    for id in &ids {
        assert_eq!(runner.outcome(id).reason, EndReason::Killed);
        assert_eq!(runner.lines(id, Stream::Stdout)[0].text, id.as_str(), "it wrote its own name once");
        runner.assert_gone(id);
        runner.runner.remove(id).unwrap();
    }
    assert_eq!(std::fs::read_dir(runner.state().join("containers")).unwrap().count(), 0);
    runner.assert_no_mounts();
    // Not even what was above them, once nobody is kept ready for the next one.
    runner.kill_runner();
    runner.wait_until(|| runner.groups_called("supervisors").is_empty());
}

#[test]
fn a_second_runner_is_refused_and_a_copy_starts_empty() {
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    let ended = runner.start("exit 0", Limits::default());
    runner.outcome(&ended);
    let other = runner.directory.join("other");
    let start = |directory: &std::path::Path| {
        quintet().args(["runner", "--dir"]).arg(directory).arg("--socket").arg(&other).output().unwrap()
    };
    let output = start(&runner.state());
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));

    let living = runner.start("sleep 60", Limits::default());
    runner.kill_runner();
    let original = runner.directory.join("original");
    std::fs::rename(runner.state(), &original).unwrap();
    let copied = Command::new("cp").arg("-a").arg(&original).arg(runner.state()).status().unwrap();
    assert!(copied.success());
    let instance = std::fs::read_to_string(runner.directory.join("instance")).unwrap();
    runner.start_runner().unwrap();
    assert_eq!(runner.runner.list().unwrap(), []);
    assert_eq!(runner.runner.images().unwrap(), []);
    assert_ne!(runner.runner.hello().unwrap().instance, instance);

    // The original still speaks for its container.
    runner.kill_runner();
    std::fs::remove_dir_all(runner.state()).unwrap();
    std::fs::rename(&original, runner.state()).unwrap();
    runner.start_runner().unwrap();
    assert_eq!(runner.outcome(&ended).exit_code, Some(0));
    assert_eq!(runner.status(&living).state, ContainerState::Running);
    runner.runner.control(&living, Action::Kill).unwrap();
    runner.outcome(&living);
    runner.assert_gone(&living);
}

#[test]
fn nonsense_ends_the_connection_and_nothing_else() {
    let Some(runner) = shared() else { return };
    let frame = |text: &str| [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat();
    let say = |bytes: &[u8]| {
        let mut socket = UnixStream::connect(runner.runner.socket()).unwrap();
        socket.write_all(bytes).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        String::from_utf8_lossy(answer.get(4..).unwrap_or_default()).into_owned()
    };
    assert!(say(&frame(r#"{"protocol":1,"request":"hello"}"#)).contains(r#""hello""#));
    assert!(say(&frame(r#"{"protocol":99,"request":"hello"}"#)).contains("other_protocol"));
    for nonsense in [
        frame("not json"),
        frame(r#"{"protocol":1,"request":"format_the_disk"}"#),
        frame(r#"{"protocol":1,"request":{"status":{"id":"../../etc"}}}"#),
        frame(r#"{"protocol":1,"request":{"remove":{"id":".."}}}"#),
        u32::MAX.to_be_bytes().to_vec(),
        vec![0, 0, 1],
        [&1000_u32.to_be_bytes()[..], b"short"].concat(),
        Vec::new(),
    ] {
        assert_eq!(say(&nonsense), "", "{nonsense:?}");
    }
    // There are no words for what no container gets.
    let description = serde_json::to_value(runner.script("true", Limits::default())).unwrap();
    for (field, value) in [
        ("mounts", serde_json::json!([{ "source": "/", "destination": "/host" }])),
        ("network", serde_json::json!("host")),
        ("capabilities", serde_json::json!(["CAP_SYS_ADMIN"])),
        ("privileged", serde_json::json!(true)),
    ] {
        let mut extended = description.clone();
        extended[field] = value;
        let call = serde_json::json!({
            "protocol": 1, "request": { "start": { "id": runner.new_id(), "description": extended } },
        });
        assert_eq!(say(&frame(&call.to_string())), "", "{field} was taken");
    }
    assert!(runner.runner.hello().is_ok());
}
