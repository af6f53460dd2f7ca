//! The load: a server of our own, connections with as little work as possible, and what they measured.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One thing that was measured for some seconds.
pub struct Round {
    /// Transactions a second.
    pub rate: f64,
    /// The server's CPU for each.
    pub cpu_micros: f64,
    /// Of each request, sorted; where there is a rate, from when it was due.
    pub latencies_micros: Vec<u64>,
    /// Of each request from when it was sent, sorted: what the server took, without what its connection was behind.
    pub answers_micros: Vec<u64>,
}

impl Round {
    /// A percentile of the latencies.
    pub fn millis(&self, percentile: f64) -> f64 {
        millis(&self.latencies_micros, percentile)
    }

    /// A percentile of the answers.
    pub fn answer_millis(&self, percentile: f64) -> f64 {
        millis(&self.answers_micros, percentile)
    }

    /// The better of two rounds.
    pub fn best(self, other: Option<Round>) -> Round {
        match other {
            Some(other) if other.rate > self.rate => other,
            _ => self,
        }
    }
}

fn millis(sorted_micros: &[u64], percentile: f64) -> f64 {
    let last = sorted_micros.len() - 1;
    sorted_micros[(last as f64 * percentile / 100.0) as usize] as f64 / 1000.0
}

/// How requests are made: a number, counted up over all connections, as path and body.
pub type Make = Arc<dyn Fn(u64) -> String + Send + Sync>;

/// Sends requests over so many connections, as fast as they are answered or at a given rate, each carrying `each`
/// transactions.
pub async fn run(
    server: &Server,
    connections: usize,
    length: Duration,
    path: &'static str,
    each: usize,
    rate: Option<f64>,
    make: Make,
) -> Round {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(server).await);
    }
    let (began, cpu_before) = (Instant::now(), server.cpu_seconds());
    let mut callers = tokio::task::JoinSet::new();
    for (number, mut connection) in open.into_iter().enumerate() {
        let make = Arc::clone(&make);
        let pause = rate.map(|rate| Duration::from_secs_f64(connections as f64 / rate));
        callers.spawn(async move {
            let mut latencies = Vec::new();
            // With a rate, a request has its instant; one that is late counts from when it was due.
            let mut due = began + pause.unwrap_or_default().mul_f64(number as f64 / connections as f64);
            while began.elapsed() < length {
                if let Some(pause) = pause {
                    tokio::time::sleep_until(due.into()).await;
                    due += pause;
                }
                let sent = Instant::now();
                let due_at = pause.map_or(sent, |pause| due - pause);
                let n = NEXT.fetch_add(1, Ordering::Relaxed);
                connection.send(path, &format!("bench-{n}"), &make(n)).await;
                let (status, answer) = connection.receive().await;
                assert!(status < 300, "{answer}");
                let micros = |since: Instant| u64::try_from(since.elapsed().as_micros()).unwrap();
                latencies.push((micros(due_at), micros(sent)));
            }
            latencies
        });
    }
    let (mut latencies_micros, mut answers_micros): (Vec<u64>, Vec<u64>) =
        callers.join_all().await.into_iter().flatten().unzip();
    let took = began.elapsed().as_secs_f64();
    let cpu = server.cpu_seconds() - cpu_before;
    latencies_micros.sort_unstable();
    answers_micros.sort_unstable();
    let done = (latencies_micros.len() * each) as f64;
    Round { rate: done / took, cpu_micros: cpu * 1e6 / done, latencies_micros, answers_micros }
}

/// The appliance under test.
pub struct Server {
    child: Child,
    data: PathBuf,
    address: String,
    api_key: String,
}

impl Server {
    /// Starts one in a directory of its own.
    pub fn start(parent: &Path) -> Server {
        let data = parent.join("data");
        let child = Server::command(&["serve", "--data", data.to_str().unwrap()]).spawn().unwrap();
        let addresses = data.join("addresses.json");
        while !addresses.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let addresses: Value = serde_json::from_slice(&std::fs::read(addresses).unwrap()).unwrap();
        let cli = |arguments: &[&str]| -> Value {
            let mut arguments = arguments.to_vec();
            arguments.extend(["--json", "--data", data.to_str().unwrap()]);
            let output = Server::command(&arguments).stdout(Stdio::piped()).output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let tenant = cli(&["tenant", "create", "bench"]);
        let issued = cli(&["key", "issue", "--tenant", tenant["tenant_id"].as_str().unwrap()]);
        let api_key = issued["api_key"].as_str().unwrap().to_string();
        Server { child, address: addresses["ledger"].as_str().unwrap().to_string(), api_key, data }
    }

    fn command(arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
        command.args(arguments).env("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "0");
        for name in ["LOCALIZATION", "RUNS", "LEDGER", "MESSAGING", "DIAGRAMS", "OPERATIONS", "CONSOLE"] {
            command.env(format!("QUINTET_LISTEN__{name}"), "127.0.0.1:0");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// User and system time of the server so far (proc(5), stat; ticks are 10 ms on Linux).
    pub fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        ticks as f64 / 100.0
    }

    /// Stops it in good order and says what its tables take on disk.
    pub fn stop(mut self) -> u64 {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        self.child.wait().unwrap();
        let files = std::fs::read_dir(self.data.join("live")).unwrap().map(Result::unwrap);
        let tables = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "sst"));
        tables.map(|file| file.metadata().unwrap().len()).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that is kept open; requests are written and answers read with as little work as possible.
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
        let head =
            format!("Host: ledger\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n", server.api_key);
        Connection { stream, head, buffer: Vec::new() }
    }

    /// Sends a POST, or a GET if there is nothing to send.
    pub async fn send(&mut self, path: &str, idempotency_key: &str, body: &str) {
        let mut request = String::with_capacity(600);
        let method = if body.is_empty() { "GET" } else { "POST" };
        write!(request, "{method} {path} HTTP/1.1\r\n{}", self.head).unwrap();
        write!(request, "Idempotency-Key: {idempotency_key}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    /// Reads something; its body, and how long it took.
    pub async fn get(&mut self, path: &str) -> (String, Duration) {
        let request = format!("GET {path} HTTP/1.1\r\n{}\r\n", self.head);
        let sent = Instant::now();
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let (status, answer) = self.receive().await;
        assert_eq!(status, 200, "{answer}");
        (answer, sent.elapsed())
    }

    /// Reads an answer: status and body.
    pub async fn receive(&mut self) -> (u16, String) {
        let mut looked_at = 0;
        let end = loop {
            let from = looked_at.max(3) - 3;
            if let Some(place) =
                self.buffer[from.min(self.buffer.len())..].windows(4).position(|four| four == b"\r\n\r\n")
            {
                break from + place;
            }
            looked_at = self.buffer.len();
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

    async fn fill(&mut self) {
        let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert!(count > 0, "the server closed the connection");
    }

    /// Posts, and expects to succeed.
    pub async fn post(&mut self, path: &str, body: &Value) -> Value {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let key = format!("setup-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.send(path, &key, &body.to_string()).await;
        let (status, answer) = self.receive().await;
        assert!(status < 300, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }

    /// Opens accounts without floors.
    pub async fn accounts(&mut self, asset: &Value, count: usize) -> Vec<String> {
        let mut accounts = Vec::new();
        for n in 0..count {
            let body = json!({
                "asset_type_id": asset, "name": format!("account {n}"), "normal_side": "debit", "balance_floor": null,
            });
            accounts.push(self.post("/v1/accounts", &body).await["account_id"].as_str().unwrap().to_string());
        }
        accounts
    }
}
