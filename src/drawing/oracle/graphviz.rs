//! A long-lived node process with Graphviz as WebAssembly in it, asked line by line, with a time limit for each answer.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Value, json};

/// The file of the package that `packaging/diagrams-oracle.sh` installs.
pub fn library(top: &Path) -> PathBuf {
    top.join("viz-3.31.0/node_modules/@viz-js/viz/dist/viz.js")
}

/// What Graphviz says to a source.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether it took the source.
    pub accepted: bool,
    /// Errors and warnings, in order: the level, if any, and the text.
    pub messages: Vec<(Option<String>, String)>,
    /// What it drew, for a rendering.
    pub output: Option<String>,
    /// How long it took, for a rendering.
    pub milliseconds: f64,
    /// Whether it crashed or ran out of time, so that it says nothing about the source.
    pub crashed: bool,
}

impl Answer {
    /// The first error's text.
    pub fn error(&self) -> Option<&str> {
        let error = self.messages.iter().find(|(level, _)| level.as_deref() == Some("error"));
        error.map(|(_, text)| text.as_str())
    }
}

/// The process.
pub struct Graphviz {
    top: PathBuf,
    limit: Duration,
    running: Option<Running>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Graphviz {
    /// Starts with the first question. Each answer may take as long as `limit`.
    pub fn new(top: &Path, limit: Duration) -> Graphviz {
        Graphviz { top: top.to_owned(), limit, running: None }
    }

    fn start(&self) -> Running {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/server.mjs");
        let mut child = Command::new("node")
            .arg(server)
            .arg(library(&self.top))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node runs");
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Running { child, input, answers }
    }

    /// Only reads a source.
    pub fn parse(&mut self, source: &[u8]) -> Answer {
        self.ask(&json!({ "op": "parse", "source": BASE64.encode(source) }))
    }

    /// Lays a source out with `engine` and writes it in `format`.
    pub fn render(&mut self, source: &[u8], engine: &str, format: &str) -> Answer {
        self.ask(&json!({ "op": "render", "engine": engine, "format": format, "source": BASE64.encode(source) }))
    }

    fn ask(&mut self, question: &Value) -> Answer {
        let mut running = self.running.take().unwrap_or_else(|| self.start());
        let sent = writeln!(running.input, "{question}").and_then(|()| running.input.flush());
        let answer = sent.ok().and_then(|()| running.answers.recv_timeout(self.limit).ok());
        let Some(answer) = answer else {
            // The process is replaced with the next question.
            return Answer { accepted: false, messages: Vec::new(), output: None, milliseconds: 0.0, crashed: true };
        };
        self.running = Some(running);
        let answer: Value = serde_json::from_str(&answer).expect("one JSON value a line");
        let messages = answer["errors"].as_array().into_iter().flatten().map(|message| {
            let text = message["message"].as_str().unwrap_or_default().to_owned();
            (message["level"].as_str().map(str::to_owned), text)
        });
        Answer {
            accepted: answer["accepted"] == true,
            messages: messages.collect(),
            output: answer["output"].as_str().map(str::to_owned),
            milliseconds: answer["milliseconds"].as_f64().unwrap_or_default(),
            crashed: !answer["crashed"].is_null(),
        }
    }
}
