//! Clients of the Model Context Protocol that are not ours, as they are, and what tests of tools compare by.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

/// Where the clients are. What cannot be fetched is no reason to pass.
static CLIENTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the clients cannot be had");
    String::from_utf8(output.stdout).unwrap().trim().into()
});

/// Each client in each way to connect that it has, and the version that it then speaks.
pub const WAYS: [(&str, &str, &str); 4] = [
    ("PyPI", "legacy", "2025-11-25"),
    ("PyPI", "auto", "2026-07-28"),
    ("PyPI", "2026-07-28", "2026-07-28"),
    ("npm", "", "2025-11-25"),
];

/// A client. It ends with its standard input.
pub struct Foreign {
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Foreign {
    /// A client, and what it says of the connection.
    pub fn start(kind: &str, mode: &str, url: &str, key: Option<&str>) -> (Foreign, Value) {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
        let mut command = if kind == "PyPI" {
            let mut python = Command::new(CLIENTS.join("python/bin/python3"));
            python.arg(scripts.join("client.py")).args([url, mode]);
            python
        } else {
            let mut node = Command::new("node");
            node.arg(scripts.join("client.mjs")).arg(&*CLIENTS).arg(url);
            node
        };
        command.args(key).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut foreign = Foreign { child, stdin, lines: BufReader::new(stdout) };
        let first = foreign.line();
        (foreign, first)
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.lines.read_line(&mut line).unwrap() > 0, "the client has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// What a client makes of something that it is asked to do.
    pub fn ask(&mut self, asked: &Value) -> Value {
        writeln!(self.stdin, "{asked}").unwrap();
        self.line()
    }

    /// What a client makes of a call of a tool.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(&json!({"call": tool, "arguments": arguments}))
    }
}
