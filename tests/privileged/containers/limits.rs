//! What a container may take is what it gets, and what happens when it wants more.

use quintet_runtime::{EndReason, Limits};

use super::shared;

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
