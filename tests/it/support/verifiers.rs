//! Verifiers of Standard Webhooks that are not ours: `standardwebhooks` of PyPI and of npm, each a process that is told an
//! address and a key (`tests/webhooks/`); and the same as signers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Value, json};

/// How long a verifier waits for a request that does not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the verifiers are. What cannot be fetched is no reason to pass.
static VERIFIERS: LazyLock<PathBuf> = LazyLock::new(|| {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhooks/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the verifiers cannot be had");
    String::from_utf8(output.stdout).unwrap().trim().into()
});

/// A verifier. It ends with its standard input.
pub struct Verifier {
    child: Child,
    _stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
    pub address: String,
}

impl Drop for Verifier {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Verifier {
    /// One of PyPI or of npm, with a key.
    pub fn start(kind: &str, key: &str) -> Verifier {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhooks");
        let mut command = if kind == "PyPI" {
            let mut python = Command::new(VERIFIERS.join("python/bin/python3"));
            python.arg(scripts.join("verifier.py"));
            python
        } else {
            let mut node = Command::new("node");
            node.arg(scripts.join("verifier.cjs")).env("NODE_PATH", VERIFIERS.join("node_modules"));
            node
        };
        let mut child =
            command.args(["127.0.0.1:0", key]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut verifier = Verifier { child, _stdin: stdin, lines: BufReader::new(stdout), address: String::new() };
        verifier.address = verifier.line()["address"].as_str().unwrap().to_owned();
        verifier
    }

    /// What it says next.
    pub fn line(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.lines.read_line(&mut line).unwrap() > 0, "the verifier has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends it a request; what it says to it.
    #[expect(clippy::disallowed_methods, reason = "the tests' own verifier, on loopback")]
    pub fn judge(&mut self, head: &[(String, String)], body: &[u8]) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = String::from("POST /again HTTP/1.1\r\nhost: a\r\nconnection: close\r\n");
        for (name, value) in head {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let line = self.line();
        let status = if line["genuine"] == true { "HTTP/1.1 204" } else { "HTTP/1.1 400" };
        assert!(answer.starts_with(status), "{answer}");
        line
    }
}

/// The fields of the head that the verifiers read, and the body.
pub fn taken_apart(line: &Value) -> (Vec<(String, String)>, Vec<u8>) {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let head = names.map(|name| (name.to_owned(), line["head"][name].as_str().unwrap().to_owned()));
    (head.to_vec(), BASE64.decode(line["body"].as_str().unwrap().as_bytes()).unwrap())
}

/// Signs with a key as PyPI's or npm's package does: the fields of the head for each of these ids, timestamps and bodies.
pub fn signed_by(kind: &str, key: &str, calls: &[(String, i64, String)]) -> Vec<Vec<(String, String)>> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhooks");
    let mut command = if kind == "PyPI" {
        let mut python = Command::new(VERIFIERS.join("python/bin/python3"));
        python.arg(scripts.join("signer.py"));
        python
    } else {
        let mut node = Command::new("node");
        node.arg(scripts.join("signer.cjs")).env("NODE_PATH", VERIFIERS.join("node_modules"));
        node
    };
    let mut child = command.arg(key).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: Vec<Value> =
        calls.iter().map(|(id, at, body)| json!({"id": id, "timestamp": at, "body": body})).collect();
    child.stdin.take().unwrap().write_all(json!(lines).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{kind} does not sign");
    let signatures: Vec<String> = serde_json::from_slice(&output.stdout).unwrap();
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let head = |((id, at, _), signature): (&(String, i64, String), &String)| {
        let at = at.to_string();
        vec![field("webhook-id", id), field("webhook-timestamp", &at), field("webhook-signature", signature)]
    };
    calls.iter().zip(&signatures).map(head).collect()
}
