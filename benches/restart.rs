//! How soon the appliance takes writes again after kill -9 under full load, whether that grows with the age of the
//! directory, and what memory it takes when idle.
//!
//! `cargo bench --bench restart [-- SECONDS]`: SECONDS of load before each of six kills, on one growing directory.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const CALLERS: usize = 32;
const KILLS: usize = 6;

fn main() {
    let seconds = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(8);
    let directory = tempfile::tempdir_in(".").unwrap();
    let data = directory.path().join("data");
    let mut server = start(&data);
    println!("idle, empty directory: {} MiB resident", resident_mib(&server));
    let cli = |arguments: &[&str]| -> Value {
        let output = command(arguments).args(["--json", "--data", data.to_str().unwrap()]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let tenant = cli(&["tenant", "create", "bench"])["tenant_id"].as_str().unwrap().to_owned();
    let key = cli(&["key", "issue", "--tenant", &tenant])["api_key"].as_str().unwrap().to_owned();
    let books = Books::open(&data, &key);
    println!(
        "{:>5} {:>10} {:>9} {:>11} {:>14} {:>13}",
        "kill", "postings", "log MiB", "tables MiB", "first write ms", "resident MiB"
    );
    let mut ready_max = Duration::ZERO;
    for kill in 1..=KILLS {
        let posted = books.load(&data, Duration::from_secs(seconds));
        server.kill().unwrap();
        server.wait().unwrap();
        let (log, tables) = (mebibytes(&data.join("wal")), mebibytes(&data.join("live")));
        let began = Instant::now();
        server = start(&data);
        books.post(&address(&data), kill as u64).unwrap();
        let ready = began.elapsed();
        ready_max = ready_max.max(ready);
        println!(
            "{kill:>5} {posted:>10} {log:>9} {tables:>11} {:>14} {:>13}",
            ready.as_millis(),
            resident_mib(&server)
        );
    }
    std::thread::sleep(Duration::from_secs(20));
    println!(
        "idle for 20 s after that: {} MiB resident; slowest first write {} ms",
        resident_mib(&server),
        ready_max.as_millis()
    );
    server.kill().unwrap();
    server.wait().unwrap();
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    for service in ["localization", "runs", "ledger", "messaging", "diagrams", "operations", "console"] {
        command.env(format!("QUINTET_LISTEN__{}", service.to_uppercase()), "127.0.0.1:0");
    }
    command.env("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "0").stderr(Stdio::null()).args(arguments);
    command
}

/// Starts the appliance and waits until its listeners are bound.
fn start(data: &Path) -> Child {
    let _ = std::fs::remove_file(data.join("addresses.json"));
    let child = command(&["serve", "--data", data.to_str().unwrap()]).stdout(Stdio::null()).spawn().unwrap();
    while !data.join("addresses.json").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

fn address(data: &Path) -> String {
    let addresses: Value = serde_json::from_slice(&std::fs::read(data.join("addresses.json")).unwrap()).unwrap();
    addresses["ledger"].as_str().unwrap().to_owned()
}

fn resident_mib(server: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() >> 10
}

fn mebibytes(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap().filter_map(Result::ok);
    files.filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum::<u64>() >> 20
}

/// Two accounts to post between.
struct Books {
    key: String,
    accounts: [String; 2],
}

impl Books {
    fn open(data: &Path, key: &str) -> Books {
        let mut books = Books { key: key.to_owned(), accounts: [String::new(), String::new()] };
        let at = address(data);
        let asset = json!({"code": "EUR", "kind": "fiat", "scale": 2});
        let asset = books.send(&at, "/v1/asset-types", "asset", &asset).unwrap();
        for n in 0..2 {
            let body = json!({
                "asset_type_id": asset["asset_type_id"], "name": format!("account {n}"), "normal_side": "debit",
                "balance_floor": null,
            });
            let account = books.send(&at, "/v1/accounts", &format!("account {n}"), &body).unwrap();
            books.accounts[n] = account["account_id"].as_str().unwrap().to_owned();
        }
        books
    }

    fn send(&self, address: &str, path: &str, idempotency_key: &str, body: &Value) -> Result<Value, ureq::Error> {
        let request = ureq::post(format!("http://{address}{path}"))
            .header("authorization", format!("Bearer {}", self.key))
            .header("idempotency-key", idempotency_key)
            .header("content-type", "application/json");
        let mut answer = request.send(body.to_string())?;
        Ok(serde_json::from_str(&answer.body_mut().read_to_string()?).unwrap())
    }

    fn post(&self, address: &str, number: u64) -> Result<Value, ureq::Error> {
        let leg = |account: &str, direction| json!({"account_id": account, "direction": direction, "amount": "1.25"});
        let body = json!({
            "description": "bench", "pending": false,
            "entries": [leg(&self.accounts[0], "debit"), leg(&self.accounts[1], "credit")],
        });
        self.send(address, "/v1/transactions", &format!("restart-{number}"), &body)
    }

    /// Posts from all callers for a while; how many were acknowledged. It ends without waiting for the last ones.
    fn load(&self, data: &Path, length: Duration) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1000);
        let (stop, posted, at) = (AtomicBool::new(false), AtomicU64::new(0), address(data));
        std::thread::scope(|scope| {
            for _ in 0..CALLERS {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        self.post(&at, NEXT.fetch_add(1, Ordering::Relaxed)).unwrap();
                        posted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            std::thread::sleep(length);
            stop.store(true, Ordering::Relaxed);
        });
        posted.into_inner()
    }
}
