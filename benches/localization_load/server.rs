//! A server of our own, and connections with as little work as possible.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A running appliance with a tenant.
pub struct Server {
    child: Child,
    _directory: tempfile::TempDir,
    address: String,
    tenant_id: String,
    api_key: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn quintet(arguments: &[&str], data: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    for name in ["LOCALIZATION", "RUNS", "LEDGER", "MESSAGING", "DIAGRAMS", "OPERATIONS"] {
        command.env(format!("QUINTET_LISTEN__{name}"), "127.0.0.1:0");
    }
    command.args(arguments).args(["--data", data]).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

impl Server {
    /// Starts it in a directory of its own.
    pub fn start() -> Server {
        let directory = tempfile::tempdir().unwrap();
        let data: PathBuf = directory.path().join("data");
        let text = data.to_str().unwrap();
        let child = quintet(&["serve"], text).stdout(Stdio::null()).spawn().unwrap();
        while !data.join("addresses.json").exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let addresses: Value = serde_json::from_slice(&std::fs::read(data.join("addresses.json")).unwrap()).unwrap();
        let command = |arguments: &[&str]| -> Value {
            let output = quintet(arguments, text).arg("--json").output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let tenant_id = command(&["tenant", "create", "bench"])["tenant_id"].as_str().unwrap().to_owned();
        let api_key = command(&["key", "issue", "--tenant", &tenant_id])["api_key"].as_str().unwrap().to_owned();
        let address = addresses["localization"].as_str().unwrap().to_owned();
        Server { child, _directory: directory, address, tenant_id, api_key }
    }

    /// User and system time of the server so far (proc(5), stat; ticks are 10 ms on Linux).
    pub fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) as f64 / 100.0
    }
}

/// A connection that is kept open.
pub struct Connection {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub async fn open(server: &Server) -> Connection {
        let stream = TcpStream::connect(&server.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let Server { tenant_id, api_key, .. } = server;
        let head = format!("Host: l10n\r\nAuthorization: Bearer {api_key}\r\nL10n-Tenant: {tenant_id}\r\n");
        Connection { stream, head, buffer: Vec::new() }
    }

    /// Sends something and expects to succeed; the body of the answer.
    pub async fn call(&mut self, method: &str, path: &str, media_type: &str, body: &str) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut request = format!("{method} {path} HTTP/1.1\r\n{}", self.head);
        if method != "GET" {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            write!(request, "Content-Type: {media_type}\r\nIdempotency-Key: bench-{number}\r\n").unwrap();
            write!(request, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let (status, answer) = self.receive().await;
        assert!(status < 300, "{method} {path}: {answer}");
        answer
    }

    async fn receive(&mut self) -> (u16, String) {
        let end = loop {
            if let Some(place) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break place;
            }
            self.fill().await;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
        self.buffer.drain(..end + 4);
        let status = head[9..12].parse().unwrap();
        if head.contains("transfer-encoding: chunked") {
            return (status, self.chunks().await);
        }
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
        (status, self.take(length).await)
    }

    async fn chunks(&mut self) -> String {
        let mut body = String::new();
        loop {
            let end = loop {
                match self.buffer.windows(2).position(|two| two == b"\r\n") {
                    Some(place) => break place,
                    None => self.fill().await,
                }
            };
            let length = self.take(end + 2).await;
            let length = usize::from_str_radix(length.trim(), 16).unwrap();
            body.push_str(self.take(length + 2).await.strip_suffix("\r\n").unwrap());
            if length == 0 {
                return body;
            }
        }
    }

    async fn take(&mut self, length: usize) -> String {
        while self.buffer.len() < length {
            self.fill().await;
        }
        String::from_utf8(self.buffer.drain(..length).collect()).unwrap()
    }

    async fn fill(&mut self) {
        let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert!(count > 0, "the server closed the connection");
    }

    /// A project in a workspace; its path.
    pub async fn project(&mut self) -> String {
        let workspace = json!({"slug": "bench", "name": "Bench"}).to_string();
        let workspace = self.call("POST", "/v1/workspaces", "application/json", &workspace).await;
        let workspace: Value = serde_json::from_str(&workspace).unwrap();
        let project = json!({"workspace_id": workspace["id"], "slug": "bench", "name": "Bench", "source_locale": "en"});
        let project = self.call("POST", "/v1/projects", "application/json", &project.to_string()).await;
        let project: Value = serde_json::from_str(&project).unwrap();
        format!("/v1/projects/{}", project["id"].as_str().unwrap())
    }
}
