//! What containers write, however they write it.

use std::time::{Duration, Instant};

use quintet_runtime::{ContainerState, Limits, Stream};

use super::shared;

#[test]
fn output_of_any_shape_is_kept_as_lines() {
    let Some(runner) = shared() else { return };
    let script = r"printf 'one\n\ntwo\r\n'; printf '\377\376\000bin\n'; printf 'last'; printf 'err\nor' >&2";
    let (outcome, out, err) = runner.run(script, Limits::default());
    assert_eq!(out, ["one", "", "two\r", "\u{fffd}\u{fffd}\0bin", "last"]);
    assert_eq!(err, ["err", "or"]);
    assert_eq!((outcome.stdout.bytes, outcome.stdout.lines), (21, 5));
    assert_eq!((outcome.stderr.bytes, outcome.stderr.lines), (6, 2));
}

#[test]
fn a_line_without_an_end_is_cut_every_64_kib() {
    let Some(runner) = shared() else { return };
    let (outcome, out, _) = runner.run("head -c 200000 /dev/zero | tr '\\0' x", Limits::default());
    assert_eq!(out.iter().map(String::len).collect::<Vec<_>>(), [65_536, 65_536, 65_536, 3392]);
    assert_eq!(outcome.stdout.bytes, 200_000);
}

#[test]
fn a_flood_does_not_hold_it_up_and_keeps_its_beginning_and_end() {
    let Some(runner) = shared() else { return };
    let script = "yes 'a line of a flood' | head -c 30000000; echo; echo the end";
    let (outcome, out, _) = runner.run(script, Limits { timeout_seconds: 50, ..Limits::default() });
    assert_eq!(outcome.exit_code, Some(0));
    assert_eq!(outcome.stdout.bytes, 30_000_000 + 1 + 8);
    assert!(outcome.stdout.dropped_lines > 0);
    assert_eq!(out.len() as u64 + outcome.stdout.dropped_lines, outcome.stdout.lines);
    assert_eq!(out.last().unwrap(), "the end");
    let kept: usize = out.iter().map(|line| line.len() + 1).sum();
    assert!((10 << 20..=11 << 20).contains(&kept), "{kept}");
}

/// Each of them is work, however short it is: four million take two seconds, and as many bytes of text none.
#[test]
fn a_flood_of_empty_lines_waits_as_one_of_long_ones() {
    let Some(runner) = shared() else { return };
    let (outcome, _, _) = runner.run("yes '' | head -c 4000000", Limits::default());
    assert_eq!((outcome.exit_code, outcome.stdout.lines), (Some(0), 4_000_000));
    let micros = outcome.finished_at_micros - outcome.started_at_micros.unwrap();
    assert!(micros > 1_500_000, "{micros}");
}

#[test]
fn lines_can_be_read_while_they_come() {
    let Some(runner) = shared() else { return };
    let id = runner.start("echo one; sleep 0.3; echo two; echo half; printf 'no end'; sleep 60", Limits::default());
    runner.wait_for_lines(&id, 3);
    let page = runner.runner.log(&id, Stream::Stdout, 1, 1).unwrap();
    assert_eq!((page.lines[0].text.as_str(), page.next_line, page.complete), ("two", 2, false));
    let lines = runner.lines(&id, Stream::Stdout);
    assert!(lines[1].at_micros - lines[0].at_micros >= 250_000, "{lines:?}");
    assert_eq!(runner.lines(&id, Stream::Stderr), []);
    runner.runner.control(&id, quintet_runtime::Action::Kill).unwrap();
    runner.outcome(&id);
    let page = runner.runner.log(&id, Stream::Stdout, 3, 10).unwrap();
    assert_eq!((page.lines[0].text.as_str(), page.complete), ("no end", true));
}

#[test]
fn the_end_does_not_wait_for_what_was_left_in_the_background() {
    let Some(runner) = shared() else { return };
    let began = Instant::now();
    let (outcome, out, _) = runner.run("sleep 1000 & setsid sleep 1000 & echo done", Limits::default());
    assert_eq!((outcome.exit_code, out.as_slice()), (Some(0), ["done".to_owned()].as_slice()));
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn closed_streams_and_silence_are_no_harm() {
    let Some(runner) = shared() else { return };
    let (outcome, out, err) = runner.run("exec >&- 2>&-; sleep 0.1; exit 7", Limits::default());
    assert_eq!((outcome.exit_code, out.len(), err.len()), (Some(7), 0, 0));
    let id = runner.start("sleep 60", Limits::default());
    assert_eq!(runner.status(&id).state, ContainerState::Running);
    let page = runner.runner.log(&id, Stream::Stdout, 5, 10).unwrap();
    assert_eq!((page.lines.len(), page.next_line, page.complete), (0, 5, false));
    runner.wait_until(|| runner.runner.samples(&id, 0).unwrap().len() >= 2);
    let sample = runner.runner.samples(&id, 1).unwrap()[0];
    assert_eq!(sample.memory_limit_bytes, Limits::default().memory_bytes);
    assert!(sample.pids >= 2 && !sample.paused && sample.memory_bytes > 0, "{sample:?}");
    runner.runner.control(&id, quintet_runtime::Action::Kill).unwrap();
    runner.outcome(&id);
}
