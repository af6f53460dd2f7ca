//! The README and the manual: whatever they show to be typed is run, in a network of its own, and prints what stands
//! there. What a block of code is, its info string says:
//!
//! | info string | what becomes of it |
//! |---|---|
//! | `sh` | it is run; a block `text` right behind it is what it prints |
//! | `sh first-terminal` | it starts a server, and goes on beside what follows |
//! | `sh not-run: REASON` | it is not run, and says why |
//! | `toml` | it is a configuration that `quintet config check` finds no fault with |
//! | `tjp` | working hours, which `src/runs/allowances/calendar/tests.rs` reads |
//!
//! The README's steps begin on an empty directory; those of a page where an appliance runs, with a tenant and a key.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use quintet::manual::PAGES;
use quintet::manual::document::{Block, Document, Span};

use crate::support::appliance::say_skipped;

/// How long the steps of one page may take.
const PATIENCE_SECONDS: &str = "240";

/// How many blocks say that they are not run. Whoever adds one knows that nothing holds it against the truth.
const NOT_RUN: usize = 8;

/// Pages whose steps take the image `busybox` for granted.
const WITH_IMAGE: [&str; 2] = ["runs", "containers"];

/// What precedes the steps of a page.
const FIRST_STEPS: &str = "export QUINTET_DATA_DIR=./data\n\
    quintet serve >server.page 2>&1 &\n";
const TENANT: &str = "TENANT=$(quintet tenant create 'Example Ltd' --json | jq -r .tenant_id)\n\
    KEY=$(quintet key issue --tenant 'Example Ltd' --quiet)\n";
const IMAGE: &str = "until [ \"$(curl -s http://127.0.0.1:7420/health | jq -r .engine)\" = up ]; do\n\
    grep -q 'cannot run containers' server.page && exit 1; sleep 0.05; done\n\
    mkdir -p image/bin && cp /bin/busybox image/bin/sh && tar -C image -cf image.tar .\n\
    quintet image import image.tar --rootfs --name busybox >/dev/null\nrm -r image image.tar\n";
const UNTIL_READY: &str =
    "until curl -fs http://127.0.0.1:7400/readyz >/dev/null; do jobs %% >/dev/null; sleep 0.05; done\n";

/// A block that is run.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    is_first_terminal: bool,
    code: String,
    /// What it prints, if the page says so.
    expected: Option<String>,
}

/// The blocks of code of a page, by what becomes of them.
#[derive(Debug, Default)]
struct Examples {
    steps: Vec<Step>,
    not_run: Vec<String>,
    configurations: Vec<String>,
    working_hours: usize,
    faults: Vec<String>,
    /// How many blocks there are.
    blocks: usize,
    is_behind_step: bool,
}

impl Examples {
    fn of(blocks: &[Block]) -> Examples {
        let mut examples = Examples::default();
        examples.take_all(blocks);
        examples
    }

    fn take_all(&mut self, blocks: &[Block]) {
        for block in blocks {
            let was_behind_step = std::mem::take(&mut self.is_behind_step);
            match block {
                Block::Code { info, text } => self.take(info, text, was_behind_step),
                Block::List { items, .. } => items.iter().for_each(|item| self.take_all(item)),
                Block::Heading { text, .. } | Block::Paragraph(text) => self.take_words(text),
                Block::Table { rows, .. } => rows.iter().flatten().for_each(|cell| self.take_words(cell)),
            }
        }
    }

    fn take(&mut self, info: &str, text: &str, was_behind_step: bool) {
        self.blocks += 1;
        let (language, mark) = info.split_once(' ').unwrap_or((info, ""));
        match (language, mark) {
            ("sh", "" | "first-terminal") => {
                let is_first_terminal = !mark.is_empty();
                self.steps.push(Step { is_first_terminal, code: text.to_owned(), expected: None });
                self.is_behind_step = !is_first_terminal;
            }
            ("sh", reason) if reason.strip_prefix("not-run: ").is_some_and(|reason| reason.contains(' ')) => {
                self.not_run.push(text.to_owned());
            }
            ("text", "") if was_behind_step => {
                self.steps.last_mut().expect("it is behind one").expected = Some(text.to_owned());
            }
            ("toml", "") => self.configurations.push(text.to_owned()),
            ("tjp", "") => self.working_hours += 1,
            _ => self.faults.push(format!("```{info}\n{text}")),
        }
    }

    /// A request in the middle of a sentence would be run by nobody.
    fn take_words(&mut self, spans: &[Span]) {
        for span in spans {
            match span {
                Span::Code(code) if code.starts_with("curl ") => self.faults.push(code.clone()),
                Span::Strong(inner) | Span::Emphasis(inner) | Span::Link { text: inner, .. } => self.take_words(inner),
                Span::Code(_) | Span::Text(_) => {}
            }
        }
    }
}

/// Every document with its name: the README, whose chapter is the page `tour`, and the pages.
fn documents() -> Vec<(&'static str, String)> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let pages = PAGES.iter().filter(|page| page.topic != "tour");
    let pages = pages.map(|page| (page.topic, page.markdown().into_owned()));
    std::iter::once(("README", std::fs::read_to_string(readme).unwrap())).chain(pages).collect()
}

#[test]
fn nothing_that_looks_runnable_escapes() {
    let mut not_run = 0;
    for (name, text) in documents() {
        let examples = Examples::of(&Document::read(&text).blocks);
        assert_eq!(examples.faults, Vec::<String>::new(), "{name}");
        let with_expected = examples.steps.iter().filter(|step| step.expected.is_some()).count();
        let known = examples.steps.len() + with_expected + examples.not_run.len() + examples.configurations.len();
        assert_eq!(examples.blocks, known + examples.working_hours, "{name}");
        let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
        assert_eq!(fences, 2 * examples.blocks, "{name} has blocks that were not found");
        assert_eq!(examples.working_hours, usize::from(name == "runs"), "{name}");
        not_run += examples.not_run.len();
    }
    assert_eq!(not_run, NOT_RUN);
}

#[test]
fn what_escapes_is_seen() {
    for text in [
        "```\nls\n```",
        "```bash\nls\n```",
        "```sh later\nls\n```",
        "```sh not-run:\nls\n```",
        "```text\nx\n```",
        "```sh\nls\n```\nwords\n```text\nx\n```",
        "- ```console\n  ls\n  ```",
        "    ls",
        "Then `curl http://127.0.0.1/`.",
    ] {
        assert_eq!(Examples::of(&Document::read(text).blocks).faults.len(), 1, "{text}");
    }
}

#[test]
fn steps_are_read_with_what_they_print() {
    let text = "Text\n```sh\na\n```\n```text\n1\n```\n\n```sh first-terminal\nb\nc\n```\nmore\n\
        ```sh not-run: it is another machine's\nd\n```\n";
    let examples = Examples::of(&Document::read(text).blocks);
    let first = Step { is_first_terminal: false, code: "a\n".into(), expected: Some("1\n".into()) };
    let second = Step { is_first_terminal: true, code: "b\nc\n".into(), expected: None };
    assert_eq!(examples.steps, [first, second]);
    assert_eq!((examples.not_run, examples.faults), (vec!["d\n".to_owned()], vec![]));
}

#[test]
fn every_line_of_the_tour_does_what_it_says() {
    let (_, readme) = documents().remove(0);
    let steps = Examples::of(&Document::read(&readme).blocks).steps;
    assert!(steps.len() > 15, "the tour was not found: {steps:?}");
    if can_run() {
        follow("README", &steps, "");
    }
}

#[test]
fn every_example_of_the_manual_does_what_it_says() {
    if !can_run() {
        return;
    }
    let mut followed = 0;
    for (name, text) in documents().into_iter().skip(1) {
        let steps = Examples::of(&Document::read(&text).blocks).steps;
        let image = if WITH_IMAGE.contains(&name) { IMAGE } else { "" };
        if !steps.is_empty() {
            follow(name, &steps, &format!("{FIRST_STEPS}{UNTIL_READY}{TENANT}{image}"));
            followed += 1;
        }
    }
    assert!(followed > 10, "{followed} pages have examples");
}

#[test]
fn every_configuration_of_the_manual_is_valid() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("quintet.toml");
    let documents = documents().into_iter();
    let examples = documents.map(|(name, text)| (name, Examples::of(&Document::read(&text).blocks).configurations));
    for (name, text) in examples.flat_map(|(name, texts)| texts.into_iter().map(move |text| (name, text))) {
        std::fs::write(&path, &text).unwrap();
        let checked =
            Command::new(env!("CARGO_BIN_EXE_quintet")).args(["config", "check"]).arg(&path).output().unwrap();
        assert!(checked.status.success(), "{name}: {text}{}", String::from_utf8_lossy(&checked.stderr));
    }
}

fn can_run() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        say_skipped("only root may run containers, and have a network of its own");
    }
    is_root
}

/// Follows the steps of a page, and sees that they print what it says.
fn follow(name: &str, steps: &[Step], first_steps: &str) {
    let directory = tempfile::tempdir().unwrap();
    let output = run(&script(steps, first_steps), directory.path());
    let read = |name: String| std::fs::read_to_string(directory.path().join(name)).unwrap_or_default();
    let mut servers = read("server.page".to_owned());
    servers.extend((0..steps.len()).map(|number| read(format!("server.{number}"))));
    let needs_containers = name == "README" || WITH_IMAGE.contains(&name);
    if needs_containers && servers.contains("cannot run containers") {
        return say_skipped("this machine runs no containers");
    }
    assert!(output.status.success(), "{name}\n{}\n{servers}", String::from_utf8_lossy(&output.stderr));
    let wrong: Vec<(String, &Step)> = steps
        .iter()
        .enumerate()
        .map(|(number, step)| (read(format!("printed.{number}")), step))
        // Without the line's end where what was printed has none.
        .filter(|(printed, step)| step.expected.as_ref().is_some_and(|text| text.trim_end() != printed.trim_end()))
        .collect();
    assert!(wrong.is_empty(), "{name} printed something else: {wrong:#?}");
}

fn run(script: &str, directory: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_quintet")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("timeout");
    command.args([PATIENCE_SECONDS, "unshare", "--net", "bash", "-c", script]);
    command.current_dir(directory).env("PATH", path).env("HOME", directory).stdin(Stdio::null());
    command.output().unwrap()
}

/// A script that runs the steps one after another and leaves what each printed in a file; a step that fails ends it and
/// everything it started. A step of the first terminal
/// runs beside the others until the server it starts is ready.
fn script(steps: &[Step], first_steps: &str) -> String {
    let mut script = format!(
        "set -euo pipefail\n\
         /bin/busybox ip link set lo up\n\
         trap 'status=$?; [ $status = 0 ] || kill 0; exit $status' EXIT\n\
         {first_steps}"
    );
    for (number, step) in steps.iter().enumerate() {
        let code = &step.code;
        if step.is_first_terminal {
            // The one before has ended, or this one could not start.
            script.push_str(&format!("wait\n{{ {code} }} >server.{number} 2>&1 &\n{UNTIL_READY}"));
        } else {
            script.push_str(&format!("echo '# step {number}' >&2\n{{\n{code}}} >printed.{number}\n"));
        }
    }
    script.push_str("kill $(quintet status --json | jq .pid)\nwait\n");
    script
}
