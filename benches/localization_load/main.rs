//! Translators at work: durable PUT and transitions by 64 clients over HTTP against the real binary, alone and while an
//! XLIFF document of 50,000 units comes in; without a pause, and at 70 % of the rate that is kept up so. The load is made
//! on the same machine.
//!
//! `cargo bench --bench localization_load [-- SECONDS]`
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

mod connection;
#[path = "../localization/server.rs"]
mod server;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use connection::Connection;
use server::Server;

const CLIENTS: usize = 64;
const STRINGS: usize = 20_000;
const UNITS: usize = 50_000;
const ROUNDS: usize = 3;
/// The share of the peak at which it is asked how long somebody waits.
const PACE: f64 = 0.7;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let seconds = arguments.filter_map(|argument| argument.parse().ok()).next().unwrap_or(8);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(bench(Duration::from_secs(seconds)));
}

async fn bench(length: Duration) {
    let server = Arc::new(Server::start());
    let mut setup = Connection::open(&server).await;
    let project = server.project.clone();
    let file = |count: usize| {
        let texts = (0..count).map(|n| (format!("k{n}"), json!(format!("Delete the {n} selected files of {{name}}?"))));
        Value::Object(texts.collect()).to_string()
    };
    upload(&mut setup, &project, "worked.json", file(STRINGS)).await;
    let keys = Arc::new(keys(&mut setup, &project).await);
    let exchanged = upload(&mut setup, &project, "exchanged.json", file(UNITS)).await;
    println!("{CLIENTS} clients, {STRINGS} strings, {} s a round, best of {ROUNDS}", length.as_secs());
    println!("| | requests/s | CPU each | p50 | p99 | longest |");
    println!("|---|---|---|---|---|---|");
    let alone = AtomicBool::new(false);
    let mut best: Option<Round> = None;
    for _ in 0..ROUNDS {
        let found = work(&server, &keys, length, &alone, None).await;
        best = Some(best.into_iter().fold(found, |one, other| if other.p(99.0) < one.p(99.0) { other } else { one }));
    }
    let best = best.unwrap();
    best.print("PUT, review, approve");
    let rate = Some(best.rate * PACE);
    work(&server, &keys, length, &alone, rate).await.print("at 70 % of that rate");
    let mut best: Option<(Round, f64)> = None;
    for locale in ["fr", "it", "pt"] {
        let (found, took) = work_beside_import(&server, &keys, &exchanged, locale, None).await;
        best = Some(
            best.into_iter()
                .fold((found, took), |one, other| if other.0.p(99.0) < one.0.p(99.0) { other } else { one }),
        );
    }
    let (found, took) = best.unwrap();
    found.print(&format!("without a pause, beside an import that takes {took:.1} s"));
    let (found, took) = work_beside_import(&server, &keys, &exchanged, "es", rate).await;
    found.print(&format!("at 70 %, beside an import that takes {took:.1} s"));
}

/// The same work while a document is taken in; how long that took, in seconds.
async fn work_beside_import(
    server: &Arc<Server>,
    keys: &Arc<Vec<String>>,
    file: &str,
    locale: &str,
    rate: Option<f64>,
) -> (Round, f64) {
    let xliff = format!("{}/files/{file}/xliff", server.project);
    // One of the beginning has been idle for too long.
    let mut setup = Connection::open(server).await;
    let document = translated(&setup.call("GET", &format!("{xliff}?locale={locale}"), "", "").await);
    let done = Arc::new(AtomicBool::new(false));
    // On a thread of its own: sending and reading megabytes would hold up the clients, not the server.
    let import = std::thread::spawn({
        let (server, done) = (Arc::clone(server), Arc::clone(&done));
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(import(&server, &xliff, &document, &done))
        }
    });
    let found = work(server, keys, Duration::from_secs(600), &done, rate).await;
    (found, import.join().unwrap().as_secs_f64())
}

/// Takes a document in, and says when that is done; how long it took.
async fn import(server: &Server, xliff: &str, document: &str, done: &AtomicBool) -> Duration {
    let mut connection = Connection::open(server).await;
    let begun = Instant::now();
    let answer = connection.call("POST", xliff, "application/xliff+xml", document).await;
    let took = begun.elapsed();
    done.store(true, Ordering::Relaxed);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["written"], UNITS, "{}", answer["skipped"]);
    took
}

/// What was measured.
struct Round {
    rate: f64,
    cpu_micros: f64,
    /// In microseconds, sorted.
    latencies: Vec<u64>,
}

impl Round {
    fn p(&self, percentile: f64) -> f64 {
        let last = self.latencies.len() - 1;
        self.latencies[(last as f64 * percentile / 100.0) as usize] as f64 / 1000.0
    }

    fn print(&self, name: &str) {
        let Round { rate, cpu_micros, .. } = self;
        let (p50, p99, longest) = (self.p(50.0), self.p(99.0), self.p(100.0));
        println!("| {name} | {rate:.0} | {cpu_micros:.0} µs | {p50:.1} ms | {p99:.1} ms | {longest:.1} ms |");
    }
}

/// Each client writes, reviews and approves texts of its own, for so long or until it is told to stop; all together at a
/// rate, if there is one. Then a request has its instant, and one that is late counts from when it was due.
async fn work(
    server: &Arc<Server>,
    keys: &Arc<Vec<String>>,
    length: Duration,
    stop: &AtomicBool,
    rate: Option<f64>,
) -> Round {
    static TEXTS: AtomicU64 = AtomicU64::new(0);
    let pause = rate.map(|rate| Duration::from_secs_f64(CLIENTS as f64 / rate));
    let (begun, cpu) = (Instant::now(), server.cpu_seconds());
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let (keys, mut connection) = (Arc::clone(keys), Connection::open(server).await);
        clients.push(async move {
            let mut latencies = Vec::new();
            let mut due = begun + pause.unwrap_or_default().mul_f64(client as f64 / CLIENTS as f64);
            for turn in 0_usize.. {
                if begun.elapsed() > length || stop.load(Ordering::Relaxed) {
                    break;
                }
                let key = &keys[(turn * CLIENTS + client) % keys.len()];
                let place = format!("/v1/keys/{key}/translations/de");
                let number = TEXTS.fetch_add(1, Ordering::Relaxed);
                let text = json!({"text": format!("{turn} Dateien von {{name}} löschen? Nummer {number}")});
                let steps = ["review", "approve"].map(|action| json!({"action": action}).to_string());
                let transition = format!("{place}/transition");
                let [review, approve] = &steps;
                for (method, path, body) in
                    [("PUT", &place, &text.to_string()), ("POST", &transition, review), ("POST", &transition, approve)]
                {
                    let mut counted_from = Instant::now();
                    if let Some(pause) = pause {
                        tokio::time::sleep_until(due.into()).await;
                        counted_from = due;
                        due += pause;
                    }
                    connection.call(method, path, "application/json", body).await;
                    latencies.push(u64::try_from(counted_from.elapsed().as_micros()).unwrap());
                }
            }
            latencies
        });
    }
    let mut latencies: Vec<u64> = futures_util::future::join_all(clients).await.into_iter().flatten().collect();
    let took = begun.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let count = latencies.len() as f64;
    Round { rate: count / took, cpu_micros: (server.cpu_seconds() - cpu) * 1e6 / count, latencies }
}

async fn upload(connection: &mut Connection, project: &str, name: &str, file: String) -> String {
    let path = format!("{project}/files?kind=json&path={name}");
    let imported = connection.call("POST", &path, "application/octet-stream", &file).await;
    let imported: Value = serde_json::from_str(&imported).unwrap();
    imported["file_id"].as_str().unwrap().to_owned()
}

async fn keys(connection: &mut Connection, project: &str) -> Vec<String> {
    let (mut keys, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = connection.call("GET", &format!("{project}/keys?limit=500{cursor}"), "", "").await;
        let page: Value = serde_json::from_str(&page).unwrap();
        keys.extend(page["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return keys,
        }
    }
}

/// The document with a target behind each source.
fn translated(document: &str) -> String {
    let mut whole = String::with_capacity(document.len() * 2);
    let mut rest = document;
    while let Some((before, behind)) = rest.split_once("</source>") {
        let source = before.rsplit_once('>').map_or("", |(_, text)| text);
        let target = source.replace("Delete the", "Supprimer les").replace("selected files of", "fichiers choisis de");
        write!(whole, "{before}</source><target xml:space=\"preserve\">{target}</target>").unwrap();
        rest = behind;
    }
    whole + rest
}
