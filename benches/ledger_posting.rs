//! Single postings over HTTP: 64 connections against the real binary, durable, load generator on the same machine.
//!
//! `cargo bench --bench ledger_posting [-- SECONDS]` prints a row for postings spread over 1,000 accounts and one with
//! a hot account in every posting: postings/s, the server's CPU for each, latency percentiles. Best of three rounds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CONNECTIONS: usize = 64;
const ACCOUNTS: usize = 1_000;
const ROUNDS: usize = 3;

fn main() {
    let seconds = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(5);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(bench(Duration::from_secs(seconds)));
}

async fn bench(length: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let mut setup = Connection::open(&server).await;
    let asset = setup.post("/v1/asset-types", &json!({"code": "EUR", "kind": "fiat", "scale": 2})).await;
    let mut accounts = Vec::new();
    for n in 0..ACCOUNTS {
        let body = json!({
            "asset_type_id": asset["asset_type_id"], "name": format!("account {n}"), "normal_side": "debit",
            "balance_floor": null,
        });
        accounts.push(setup.post("/v1/accounts", &body).await["account_id"].as_str().unwrap().to_string());
    }
    let accounts = Arc::new(accounts);
    println!("{CONNECTIONS} connections, {ACCOUNTS} accounts, {} s a round, best of {ROUNDS}", length.as_secs());
    println!(
        "{:<8} {:>12} {:>16} {:>9} {:>9} {:>9}",
        "accounts", "postings/s", "server CPU us", "p50 ms", "p99 ms", "max ms"
    );
    for hot in [false, true] {
        let mut best: Option<Round> = None;
        for _ in 0..ROUNDS {
            let round = run(&server, &accounts, hot, length).await;
            if best.as_ref().is_none_or(|best| round.rate > best.rate) {
                best = Some(round);
            }
        }
        let round = best.unwrap();
        println!(
            "{:<8} {:>12.0} {:>16.1} {:>9.2} {:>9.2} {:>9.2}",
            if hot { "hot" } else { "spread" },
            round.rate,
            round.cpu_micros,
            round.millis(50.0),
            round.millis(99.0),
            round.millis(100.0),
        );
    }
}

struct Round {
    rate: f64,
    cpu_micros: f64,
    latencies_micros: Vec<u64>,
}

impl Round {
    fn millis(&self, percentile: f64) -> f64 {
        let last = self.latencies_micros.len() - 1;
        self.latencies_micros[(last as f64 * percentile / 100.0) as usize] as f64 / 1000.0
    }
}

async fn run(server: &Server, accounts: &Arc<Vec<String>>, hot: bool, length: Duration) -> Round {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let began = Instant::now();
    let cpu_before = server.cpu_seconds();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (mut connection, accounts) = (Connection::open(server).await, Arc::clone(accounts));
        callers.spawn(async move {
            let mut latencies = Vec::new();
            while began.elapsed() < length {
                let n = NEXT.fetch_add(1, Ordering::Relaxed);
                let from = &accounts[if hot { 0 } else { (n.wrapping_mul(7919) % ACCOUNTS as u64) as usize }];
                let to = &accounts[(n.wrapping_mul(104_729) % (ACCOUNTS as u64 - 1)) as usize + 1];
                let (from, to) = if from == to { (&accounts[0], to) } else { (from, to) };
                let body = format!(
                    r#"{{"description":"bench","pending":false,"entries":[{{"account_id":"{to}","direction":"debit","amount":"1.25"}},{{"account_id":"{from}","direction":"credit","amount":"1.25"}}]}}"#
                );
                let sent = Instant::now();
                connection.send("/v1/transactions", &format!("bench-{n}"), &body).await;
                let (status, answer) = connection.receive().await;
                assert_eq!(status, 201, "{answer}");
                latencies.push(u64::try_from(sent.elapsed().as_micros()).unwrap());
            }
            latencies
        });
    }
    let mut latencies_micros: Vec<u64> = callers.join_all().await.into_iter().flatten().collect();
    let took = began.elapsed().as_secs_f64();
    let cpu = server.cpu_seconds() - cpu_before;
    latencies_micros.sort_unstable();
    let postings = latencies_micros.len() as f64;
    Round { rate: postings / took, cpu_micros: cpu * 1e6 / postings, latencies_micros }
}

/// The appliance under test.
struct Server {
    child: Child,
    address: String,
    api_key: String,
}

impl Server {
    fn start(parent: &std::path::Path) -> Server {
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
        let mut issue = vec!["key", "issue", "--tenant", tenant["tenant_id"].as_str().unwrap()];
        for permission in ["ledger_admin", "ledger_poster", "ledger_reader"] {
            issue.extend(["--permission", permission]);
        }
        let api_key = cli(&issue)["api_key"].as_str().unwrap().to_string();
        Server { child, address: addresses["ledger"].as_str().unwrap().to_string(), api_key }
    }

    fn command(arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
        command.args(arguments).env("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "0");
        for name in ["LOCALIZATION", "RUNS", "LEDGER", "MESSAGING", "DIAGRAMS", "OPERATIONS"] {
            command.env(format!("QUINTET_LISTEN__{name}"), "127.0.0.1:0");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// User and system time of the server so far (proc(5), stat; ticks are 10 ms on Linux).
    fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        ticks as f64 / 100.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that is kept open; requests are written and answers read with as little work as possible.
struct Connection {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(server: &Server) -> Connection {
        let stream = TcpStream::connect(&server.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let head =
            format!("Host: ledger\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n", server.api_key);
        Connection { stream, head, buffer: Vec::new() }
    }

    async fn send(&mut self, path: &str, idempotency_key: &str, body: &str) {
        let mut request = String::with_capacity(600);
        write!(request, "POST {path} HTTP/1.1\r\n{}", self.head).unwrap();
        write!(request, "Idempotency-Key: {idempotency_key}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> (u16, String) {
        loop {
            let text = String::from_utf8_lossy(&self.buffer);
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let lower = head.to_ascii_lowercase();
                let length = lower.split("content-length: ").nth(1).unwrap();
                let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
                if body.len() >= length {
                    let answer = (head[9..12].parse().unwrap(), body[..length].to_string());
                    let used = head.len() + 4 + length;
                    self.buffer.drain(..used);
                    return answer;
                }
            }
            let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(count > 0, "the server closed the connection");
        }
    }

    async fn post(&mut self, path: &str, body: &Value) -> Value {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let key = format!("setup-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.send(path, &key, &body.to_string()).await;
        let (status, answer) = self.receive().await;
        assert_eq!(status, 201, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }
}
