//! The README's tour: every line of it is run, in a network of its own, and prints what stands there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::appliance::say_skipped;

/// How long the whole tour may take.
const PATIENCE_SECONDS: &str = "240";

/// A block of the tour.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    is_first_terminal: bool,
    code: String,
    /// What it prints, if the README says so.
    expected: Option<String>,
}

/// The blocks of a chapter: `sh` is run, and `text` right behind it is what is printed.
fn steps(chapter: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = chapter.lines();
    let (mut is_first_terminal, mut is_right_behind) = (false, false);
    while let Some(line) = lines.next() {
        let mut block = || lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        match line {
            "<!-- first terminal -->" => is_first_terminal = true,
            "```sh" => {
                steps.push(Step { is_first_terminal, code: block(), expected: None });
                (is_first_terminal, is_right_behind) = (false, true);
            }
            "```text" => {
                let expected: String = block();
                assert!(is_right_behind, "a text that no command printed: {expected}");
                steps.last_mut().unwrap().expected = Some(expected);
            }
            _ => is_right_behind = false,
        }
    }
    steps
}

/// A script that runs the steps one after another and leaves what each printed in a file; a step that fails ends it and
/// everything it started. A step of the first terminal
/// runs beside the others until the server it starts is ready.
fn script(steps: &[Step]) -> String {
    let mut script = String::from(
        "set -euo pipefail\n\
         /bin/busybox ip link set lo up\n\
         trap 'status=$?; [ $status = 0 ] || kill 0; exit $status' EXIT\n",
    );
    for (number, step) in steps.iter().enumerate() {
        let code = &step.code;
        if step.is_first_terminal {
            // The one before has ended, or this one could not start.
            script.push_str(&format!("wait\n{{ {code} }} >server.{number} 2>&1 &\n"));
            script.push_str(
                "until curl -fs http://127.0.0.1:7400/readyz >/dev/null; do jobs %% >/dev/null; sleep 0.05; done\n",
            );
        } else {
            script.push_str(&format!("echo '# step {number}' >&2\n{{\n{code}}} >printed.{number}\n"));
        }
    }
    script.push_str("kill $(quintet status --data ./data --json | jq .pid)\nwait\n");
    script
}

#[test]
fn every_line_of_the_tour_does_what_it_says() {
    if !rustix::process::geteuid().is_root() {
        return say_skipped("only root may run containers");
    }
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let chapter = readme.split_once("\n## Tour\n").unwrap().1.split("\n## ").next().unwrap();
    let steps = steps(chapter);
    assert!(steps.len() > 15, "the tour was not found: {steps:?}");
    let directory = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_quintet")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("timeout");
    command.args([PATIENCE_SECONDS, "unshare", "--net", "bash", "-c", &script(&steps)]);
    command.current_dir(directory.path()).env("PATH", path).env("HOME", directory.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let read = |name: String| std::fs::read_to_string(directory.path().join(name)).unwrap_or_default();
    let told = String::from_utf8_lossy(&output.stderr);
    let servers: String = (0..steps.len()).map(|number| read(format!("server.{number}"))).collect();
    if servers.contains("cannot run containers") {
        return say_skipped("this machine runs no containers");
    }
    assert!(output.status.success(), "{told}\n{servers}");
    let wrong: Vec<(String, &Step)> = steps
        .iter()
        .enumerate()
        .map(|(number, step)| (read(format!("printed.{number}")), step))
        // Without the line's end where what was printed has none.
        .filter(|(printed, step)| step.expected.as_ref().is_some_and(|text| text.trim_end() != printed.trim_end()))
        .collect();
    assert!(wrong.is_empty(), "printed something else: {wrong:#?}");
}

#[test]
fn steps_are_read_with_what_they_print() {
    let chapter = "Text\n```sh\na\n```\n```text\n1\n```\n\n<!-- first terminal -->\n```sh\nb\nc\n```\nmore\n";
    let first = Step { is_first_terminal: false, code: "a\n".into(), expected: Some("1\n".into()) };
    let second = Step { is_first_terminal: true, code: "b\nc\n".into(), expected: None };
    assert_eq!(steps(chapter), [first, second]);
}
