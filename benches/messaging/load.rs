//! Calls to messaging: connections with as little work as possible, and what they measured.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::appliance::Appliance;
use super::processes::cpu_seconds;

/// One thing that was measured for some seconds.
pub struct Round {
    /// Sends a second.
    pub rate: f64,
    /// The server's CPU for each.
    pub cpu_micros: f64,
    /// Of each request, sorted.
    pub latencies_micros: Vec<u64>,
}

impl Round {
    /// A percentile of the latencies.
    pub fn millis(&self, percentile: f64) -> f64 {
        millis(&self.latencies_micros, percentile)
    }

    /// The better of two rounds.
    pub fn best(self, other: Option<Round>) -> Round {
        match other {
            Some(other) if other.rate > self.rate => other,
            _ => self,
        }
    }
}

/// A percentile of what was sorted.
pub fn millis(sorted_micros: &[u64], percentile: f64) -> f64 {
    let Some(last) = sorted_micros.len().checked_sub(1) else { return f64::NAN };
    sorted_micros[(last as f64 * percentile / 100.0) as usize] as f64 / 1000.0
}

/// A workspace, and the operator's key of it.
#[derive(Clone)]
pub struct Workspace {
    address: String,
    key: String,
}

/// A request: the agent that acts, the path, the body (none: a GET), and further lines of its head, each with its end.
pub struct Request {
    pub agent: String,
    pub path: String,
    pub body: String,
    pub head: String,
}

/// How requests are made: from a number, counted up over all connections.
pub type Make = Arc<dyn Fn(u64) -> Request + Send + Sync>;

impl Workspace {
    /// A new one without daily limits.
    pub fn new(appliance: &Appliance, slug: &str) -> Workspace {
        Workspace::made(appliance, slug, &[])
    }

    /// An encrypted one.
    pub fn encrypted(appliance: &Appliance, slug: &str) -> Workspace {
        Workspace::made(appliance, slug, &["--encrypted"])
    }

    fn made(appliance: &Appliance, slug: &str, further: &[&str]) -> Workspace {
        let create = ["messaging", "workspace", "create", slug, "--tenant", &appliance.tenant_id];
        appliance.command(&[&create[..], further].concat());
        let raised = [
            "messages_per_day=unlimited",
            "external_in_per_day=unlimited",
            "active_agents=unlimited",
            "recipients_per_message=100",
        ];
        appliance.command(&[&["messaging", "workspace", "limits", slug][..], &raised].concat());
        let issued = appliance.command(&["messaging", "key", "issue", "--workspace", slug, "--scope", "admin"]);
        let key = issued["api_key"].as_str().unwrap().to_owned();
        Workspace { address: appliance.address("messaging").to_owned(), key }
    }

    /// The same at an appliance that was started anew.
    pub fn moved(&self, appliance: &Appliance) -> Workspace {
        Workspace { address: appliance.address("messaging").to_owned(), ..self.clone() }
    }

    /// Registers agents of these names.
    pub async fn register(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut connection = Connection::open(self).await;
        let mut all = Vec::new();
        for name in names {
            let body = serde_json::json!({"name": name, "role": "bench"}).to_string();
            connection.call("", "/v1/agents/register", "", &body).await;
            all.push(name);
        }
        all
    }

    /// Sends requests over so many connections, as fast as they are answered; `each` deliveries come of one.
    pub async fn run(&self, server: u32, connections: usize, length: Duration, make: Make) -> Round {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut open = Vec::new();
        for _ in 0..connections {
            open.push(Connection::open(self).await);
        }
        let (began, cpu_before) = (Instant::now(), cpu_seconds(server));
        let mut callers = tokio::task::JoinSet::new();
        for mut connection in open {
            let make = Arc::clone(&make);
            callers.spawn(async move {
                let mut latencies = Vec::new();
                while began.elapsed() < length {
                    let number = NEXT.fetch_add(1, Ordering::Relaxed);
                    let Request { agent, path, body, head } = make(number);
                    let sent = Instant::now();
                    connection.send_with(&agent, &path, &format!("bench-{number}"), &body, &head).await;
                    let (status, answer) = connection.receive().await;
                    assert!(status < 300, "{answer}");
                    latencies.push(u64::try_from(sent.elapsed().as_micros()).unwrap());
                }
                latencies
            });
        }
        let mut latencies_micros: Vec<u64> = callers.join_all().await.into_iter().flatten().collect();
        let took = began.elapsed().as_secs_f64();
        let cpu = cpu_seconds(server) - cpu_before;
        latencies_micros.sort_unstable();
        let done = latencies_micros.len() as f64;
        Round { rate: done / took, cpu_micros: cpu * 1e6 / done, latencies_micros }
    }
}

/// A connection that is kept open.
pub struct Connection {
    stream: TcpStream,
    key: String,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub async fn open(workspace: &Workspace) -> Connection {
        let stream = TcpStream::connect(&workspace.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Connection { stream, key: workspace.key.clone(), buffer: Vec::new() }
    }

    /// Sends a POST, or a GET if there is nothing to send.
    pub async fn send(&mut self, agent: &str, path: &str, idempotency_key: &str, body: &str) {
        self.send_with(agent, path, idempotency_key, body, "").await;
    }

    /// The same with further lines of the head.
    pub async fn send_with(&mut self, agent: &str, path: &str, idempotency_key: &str, body: &str, head: &str) {
        let mut request = String::with_capacity(body.len() + 300);
        let method = if body.is_empty() { "GET" } else { "POST" };
        write!(request, "{method} {path} HTTP/1.1\r\nHost: bus\r\nAuthorization: Bearer {}\r\n", self.key).unwrap();
        if !agent.is_empty() {
            write!(request, "X-AgentBus-Agent: {agent}\r\n").unwrap();
        }
        if !idempotency_key.is_empty() {
            write!(request, "Idempotency-Key: {idempotency_key}\r\n").unwrap();
        }
        write!(request, "{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .unwrap();
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    /// Reads an answer: status and body.
    pub async fn receive(&mut self) -> (u16, String) {
        let end = loop {
            if let Some(place) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break place;
            }
            self.fill().await;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
        while self.buffer.len() < end + 4 + length {
            self.fill().await;
        }
        let body = String::from_utf8_lossy(&self.buffer[end + 4..end + 4 + length]).into_owned();
        self.buffer.drain(..end + 4 + length);
        (head[9..12].parse().unwrap(), body)
    }

    /// Asks, and expects to succeed.
    pub async fn call(&mut self, agent: &str, path: &str, idempotency_key: &str, body: &str) -> Value {
        self.send(agent, path, idempotency_key, body).await;
        let (status, answer) = self.receive().await;
        assert!(status < 300, "{path}: {answer}");
        serde_json::from_str(&answer).unwrap()
    }

    /// Opens the stream of an agent, whose events begin behind a place.
    pub async fn stream(mut self, agent: &str, behind: u64) -> Stream {
        let request = format!(
            "GET /v1/stream HTTP/1.1\r\nHost: bus\r\nAuthorization: Bearer {}\r\nX-AgentBus-Agent: {agent}\r\n\
             Last-Event-ID: {behind}\r\nX-AgentBus-Wake-Capable: 1\r\nAccept: text/event-stream\r\n\r\n",
            self.key
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        while !self.buffer.windows(4).any(|four| four == b"\r\n\r\n") {
            self.fill().await;
        }
        assert!(self.buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&self.buffer));
        let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        self.buffer.drain(..end + 4);
        Stream { connection: self }
    }

    async fn fill(&mut self) {
        let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert!(count > 0, "the server closed the connection");
    }
}

/// An open stream.
pub struct Stream {
    connection: Connection,
}

impl Stream {
    /// How many messages the next events tell of; waits until there is one.
    pub async fn next(&mut self) -> usize {
        loop {
            let buffer = &mut self.connection.buffer;
            let mut events = 0;
            while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                events += usize::from(buffer.starts_with(b"data: "));
                buffer.drain(..=end);
            }
            if events > 0 {
                return events;
            }
            self.connection.fill().await;
        }
    }
}
