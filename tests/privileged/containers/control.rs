//! Pausing, stopping, killing, signals, and starts that fail.

use std::time::{Duration, Instant};

use quintet_runtime::{Action, ContainerState, EndReason, Limits, Refusal, RunnerError, Stream};

use super::{TestRunner, shared};

const COUNTER: &str = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done";

fn refused<T: std::fmt::Debug>(result: Result<T, RunnerError>) -> Refusal {
    match result {
        Err(RunnerError::Refused(refusal)) => refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn wrong_state(state: ContainerState) -> Refusal {
    Refusal::WrongState { state }
}

#[test]
fn a_pause_holds_everything_and_a_resume_goes_on_from_there() {
    let Some(runner) = shared() else { return };
    let id = runner.start(COUNTER, Limits { timeout_seconds: 30, ..Limits::default() });
    runner.wait_for_lines(&id, 3);
    runner.runner.control(&id, Action::Pause).unwrap();
    assert_eq!(runner.status(&id).state, ContainerState::Paused);
    // What was written before lies in the pipe for a moment.
    std::thread::sleep(Duration::from_millis(200));
    let count = |runner: &TestRunner| runner.lines(&id, Stream::Stdout).len();
    let before = count(runner);
    let cpu_before = runner.runner.samples(&id, 0).unwrap().len();
    std::thread::sleep(Duration::from_millis(2300));
    assert_eq!(count(runner), before, "the counter went on");
    let samples = runner.runner.samples(&id, u32::try_from(cpu_before).unwrap()).unwrap();
    assert!(samples.len() >= 2, "samples go on while it is paused");
    let last = samples.last().unwrap();
    assert!(last.paused && last.memory_bytes > 0 && last.pids >= 2, "{last:?}");
    assert!(last.cpu_percent < 1.0, "{last:?}");
    assert_eq!(refused(runner.runner.control(&id, Action::Pause)), wrong_state(ContainerState::Paused));
    assert_eq!(refused(runner.runner.control(&id, Action::Stop)), wrong_state(ContainerState::Paused));
    runner.runner.control(&id, Action::Resume).unwrap();
    assert_eq!(refused(runner.runner.control(&id, Action::Resume)), wrong_state(ContainerState::Running));
    runner.wait_for_lines(&id, before as u64 + 3);
    let lines = runner.lines(&id, Stream::Stdout);
    assert!(lines.iter().all(|line| line.text == (line.number + 1).to_string()), "it forgot where it was");
    assert!(runner.status(&id).paused_micros >= 2_300_000);
    runner.runner.control(&id, Action::Pause).unwrap();
    runner.runner.control(&id, Action::Kill).unwrap();
    let outcome = runner.outcome(&id);
    assert_eq!((outcome.reason, outcome.signal), (EndReason::Killed, Some(9)));
    assert_eq!(refused(runner.runner.control(&id, Action::Kill)), wrong_state(ContainerState::Ended));
    runner.assert_gone(&id);
}

#[test]
fn paused_time_is_not_counted() {
    let Some(runner) = shared() else { return };
    let id = runner.start("sleep 60", Limits { timeout_seconds: 2, ..Limits::default() });
    runner.runner.control(&id, Action::Pause).unwrap();
    std::thread::sleep(Duration::from_millis(3000));
    assert_eq!(runner.status(&id).state, ContainerState::Paused);
    runner.runner.control(&id, Action::Resume).unwrap();
    let outcome = runner.outcome(&id);
    assert_eq!(outcome.reason, EndReason::TimedOut);
    assert!(outcome.paused_micros >= 3_000_000, "{outcome:?}");
    let ran = outcome.finished_at_micros - outcome.started_at_micros.unwrap() - outcome.paused_micros as i64;
    assert!(ran >= 1_900_000, "{ran}");
}

#[test]
fn a_stop_lets_it_end_by_itself_and_then_does_not() {
    let Some(runner) = shared() else { return };
    let polite = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let id = runner.start(polite, Limits::default());
    runner.wait_for_lines(&id, 1);
    runner.runner.control(&id, Action::Stop).unwrap();
    let outcome = runner.outcome(&id);
    assert_eq!((outcome.reason, outcome.exit_code), (EndReason::Exited, Some(3)));
    assert_eq!(runner.lines(&id, Stream::Stdout).last().unwrap().text, "bye");

    let deaf = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let id = runner.start(deaf, Limits { grace_seconds: 1, ..Limits::default() });
    runner.wait_for_lines(&id, 1);
    let asked = Instant::now();
    runner.runner.control(&id, Action::Stop).unwrap();
    let outcome = runner.outcome(&id);
    assert!(asked.elapsed() >= Duration::from_secs(1));
    assert_eq!((outcome.reason, outcome.exit_code, outcome.signal), (EndReason::GraceExpired, None, Some(9)));
    runner.assert_gone(&id);
}

#[test]
fn signals_reach_the_command_and_what_is_orphaned_is_reaped() {
    let Some(runner) = shared() else { return };
    let script = "trap 'echo usr1' USR1; (sleep 0.1 & sleep 0.1 & sleep 0.1 &) ; echo ready; \
        for i in $(seq 400); do sleep 0.05; done";
    let id = runner.start(script, Limits::default());
    runner.wait_for_lines(&id, 1);
    runner.runner.control(&id, Action::Signal(10)).unwrap();
    runner.wait_for_lines(&id, 2);
    // Process 1, the shell, and one sleep at a time: the orphans do not stay.
    runner.wait_until(|| runner.processes(&id).len() <= 3);
    assert!(matches!(refused(runner.runner.control(&id, Action::Signal(9))), Refusal::Invalid(_)));
    runner.runner.control(&id, Action::Signal(15)).unwrap();
    let outcome = runner.outcome(&id);
    assert_eq!((outcome.reason, outcome.exit_code, outcome.signal), (EndReason::Exited, None, Some(15)));
}

#[test]
fn what_cannot_start_says_why_and_is_never_tried_again() {
    let Some(runner) = shared() else { return };
    let start = |command: &[&str]| {
        let mut description = runner.script("", Limits::default());
        description.command = command.iter().map(|word| (*word).to_owned()).collect();
        let id = runner.new_id();
        (refused(runner.runner.start(&id, &description)), id)
    };
    for (command, reason) in [
        (&["/bin/nothing"][..], "No such file"),
        (&["nothing-in-path"], "No such file"),
        (&["/etc/passwd/x"], "Not a directory"),
        (&["/etc"], "Permission denied"),
    ] {
        let (refusal, id) = start(command);
        let Refusal::StartFailed(said) = &refusal else { panic!("{command:?}: {refusal:?}") };
        assert!(said.contains(reason) || said.contains("No such file"), "{command:?}: {said}");
        let outcome = runner.outcome(&id);
        assert_eq!(outcome.reason, EndReason::StartFailed(said.clone()));
        assert_eq!(outcome.started_at_micros, None);
        let again = runner.runner.start(&id, &runner.script("true", Limits::default()));
        assert_eq!(refused(again), Refusal::NameTaken);
        runner.assert_gone(&id);
    }
    let mut description = runner.script("true", Limits::default());
    description.limits.memory_bytes = 1;
    let id = runner.new_id();
    assert!(matches!(refused(runner.runner.start(&id, &description)), Refusal::Invalid(_)));
    description.limits = Limits::default();
    description.image = quintet_runtime::Digest::of(b"no image");
    assert_eq!(refused(runner.runner.start(&id, &description)), Refusal::NoSuchImage);
    assert_eq!(refused(runner.runner.status(&id)), Refusal::NoSuchContainer);
    assert_eq!(refused(runner.runner.remove(&id)), Refusal::NoSuchContainer);
}

#[test]
fn the_image_and_the_description_make_the_environment_and_the_command() {
    let Some(runner) = shared() else { return };
    let mut description = runner.script("echo $FROM_IMAGE $MINE $HOME $0", Limits::default());
    description.env.insert("MINE".into(), "a b=c".into());
    let id = runner.new_id();
    runner.runner.start(&id, &description).unwrap();
    runner.outcome(&id);
    assert_eq!(runner.lines(&id, Stream::Stdout)[0].text, "1 a b=c /root sh");
    description.command.clear();
    let id = runner.new_id();
    runner.runner.start(&id, &description).unwrap();
    assert_eq!(runner.outcome(&id).exit_code, Some(0), "the image's own command is true");
    // An image with an entrypoint and a user of its own.
    let config = serde_json::json!({ "Entrypoint": ["sh", "-c", "echo $0 $1; id -u; id -g; echo $HOME; echo > /dev/stdout; \
        touch /tmp/mine && touch /root/not"], "Cmd": ["from-image"], "User": "web" });
    let tar = runner.directory.join("web.tar");
    std::fs::write(&tar, super::busybox_image(&std::fs::read("/bin/busybox").unwrap(), &config)).unwrap();
    let image = runner.runner.import(std::fs::File::open(&tar).unwrap().into(), "web:test", None).unwrap();
    description.image = image.digest;
    for (command, said) in [(vec![], "from-image"), (vec!["from".to_owned(), "run".to_owned()], "from run")] {
        description.command = command;
        let id = runner.new_id();
        runner.runner.start(&id, &description).unwrap();
        assert_eq!(runner.outcome(&id).exit_code, Some(1), "it must not write where root alone may");
        let lines: Vec<String> = runner.lines(&id, Stream::Stdout).into_iter().map(|line| line.text).collect();
        assert_eq!(lines, [said, "33", "33", "/srv", ""]);
    }
    for directory in ["/proc/self/fd/7", "/dev", "/../proc", "work"] {
        let config = serde_json::json!({ "Cmd": ["pwd"], "WorkingDir": directory });
        let image = super::busybox_image(&std::fs::read("/bin/busybox").unwrap(), &config);
        std::fs::write(&tar, image).unwrap();
        let image = runner.runner.import(std::fs::File::open(&tar).unwrap().into(), "elsewhere:test", None).unwrap();
        (description.image, description.command) = (image.digest, vec![]);
        let Refusal::StartFailed(said) = refused(runner.runner.start(&runner.new_id(), &description)) else { panic!() };
        assert!(said.contains("working directory"), "{directory}: {said}");
    }
    let used = runner.start("sleep 60", Limits::default());
    assert_eq!(refused(runner.runner.remove_image("busybox:test")), Refusal::ImageInUse);
    assert_eq!(refused(runner.runner.remove(&used)), wrong_state(ContainerState::Running));
    runner.runner.control(&used, Action::Kill).unwrap();
    runner.outcome(&used);
}
