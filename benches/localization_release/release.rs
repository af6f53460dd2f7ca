//! A release: time, memory, what others wait for.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::connection::Connection;
use super::server::Server;

const LOCALES: [&str; 10] = ["cs", "da", "de", "es", "fi", "fr", "it", "nl", "pt", "sv"];
/// Who approves.
const CLIENTS: usize = 64;
/// How many files the keys lie in.
const FILES: [usize; 2] = [1, 500];
/// How many keys, unless somebody says.
const KEYS: usize = 50_000;
/// How often it is made.
const ROUNDS: usize = 3;
/// How often another writer writes: one text of a project of its own.
const PACE: Duration = Duration::from_millis(2);

/// Measures releases of so many keys.
pub fn measure(keys: Option<usize>) {
    let keys = keys.unwrap_or(KEYS);
    println!("a release of {keys} keys in {} locales, all approved; best of {ROUNDS}", LOCALES.len());
    println!(
        "| files | archive | took | server before | its peak | others' p99 | longest | alone: p99 | longest | the same again |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for files in FILES.into_iter().filter(|files| *files <= keys) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = Arc::new(Server::start());
        runtime.block_on(approve_all(&server, keys, files));
        let mut server = Arc::into_inner(server).unwrap();
        // What filling it took is no part of it.
        server.restart();
        row(&Arc::new(server), keys, files);
    }
}

/// Uploads the files, takes translations of all keys in and approves each.
async fn approve_all(server: &Arc<Server>, keys: usize, files: usize) {
    let mut setup = Connection::open(server).await;
    let each = keys / files;
    for file in 0..files {
        let texts = (file * each..(file + 1) * each)
            .map(|n| (format!("screen.key{n}"), json!(format!("Delete the {n} selected files of {{name}}?"))));
        let content = Value::Object(texts.collect()).to_string();
        let path = format!("{}/files?kind=json&path=part{file}/en.json", server.project);
        let imported = setup.call("POST", &path, "application/octet-stream", &content).await;
        let imported: Value = serde_json::from_str(&imported).unwrap();
        for locale in LOCALES {
            let xliff = format!("{}/files/{}/xliff", server.project, imported["file_id"].as_str().unwrap());
            let document = setup.call("GET", &format!("{xliff}?locale={locale}"), "", "").await;
            let document = translated(&document, locale);
            setup.call("POST", &xliff, "application/xliff+xml", &document).await;
        }
    }
    let ids = Arc::new(ids(&mut setup, &server.project).await);
    let clients = (0..CLIENTS).map(|client| {
        let (server, ids) = (Arc::clone(server), Arc::clone(&ids));
        async move {
            let mut connection = Connection::open(&server).await;
            for id in ids.iter().skip(client).step_by(CLIENTS) {
                for locale in LOCALES {
                    let path = format!("/v1/keys/{id}/translations/{locale}/transition");
                    for action in [r#"{"action":"review"}"#, r#"{"action":"approve"}"#] {
                        connection.call("POST", &path, "application/json", action).await;
                    }
                }
            }
        }
    });
    futures_util::future::join_all(clients).await;
}

async fn ids(connection: &mut Connection, project: &str) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = connection.call("GET", &format!("{project}/keys?limit=500{cursor}"), "", "").await;
        let page: Value = serde_json::from_str(&page).unwrap();
        ids.extend(page["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

/// The document with a target behind each source.
pub fn translated(document: &str, locale: &str) -> String {
    let mut whole = String::with_capacity(document.len() * 2);
    let mut rest = document;
    while let Some((before, behind)) = rest.split_once("</source>") {
        let source = before.rsplit_once('>').map_or("", |(_, text)| text);
        let target = source.replace("Delete the", locale);
        write!(whole, "{before}</source><target xml:space=\"preserve\">{target}</target>").unwrap();
        rest = behind;
    }
    whole + rest
}

/// What was measured of one release.
struct Round {
    took: Duration,
    before_mib: u64,
    peak_mib: u64,
    size: u64,
    sha256: String,
    waits: Vec<Duration>,
}

fn row(server: &Arc<Server>, keys: usize, files: usize) {
    let alone = beside(server, || std::thread::sleep(Duration::from_secs(4))).1;
    let rounds: Vec<Round> = (0..ROUNDS).map(|_| round(server)).collect();
    let is_same = rounds.iter().all(|round| round.sha256 == rounds[0].sha256);
    let archive = rounds[0].size;
    // The first one that is made meets nothing in memory; the peak is the highest of all.
    let peak = rounds.iter().map(|round| round.peak_mib).max().unwrap();
    let before = rounds[0].before_mib;
    let best = rounds.iter().min_by_key(|round| round.took).unwrap();
    let first = rounds[0].took.as_secs_f64();
    let mut waits: Vec<Duration> = rounds.iter().flat_map(|round| round.waits.iter().copied()).collect();
    waits.sort();
    let p99 = |waits: &[Duration]| millis(waits[waits.len() * 99 / 100]);
    let longest = |waits: &[Duration]| millis(*waits.last().unwrap());
    println!(
        "| {files} of {} | {:.1} MB | {:.2} s (first {first:.2} s) | {before} MiB | {peak} MiB | {} | {} | {} | {} | {} |",
        keys / files,
        archive as f64 / 1e6,
        best.took.as_secs_f64(),
        p99(&waits),
        longest(&waits),
        p99(&alone),
        longest(&alone),
        if is_same { "yes" } else { "NO" },
    );
    assert!(is_same);
}

fn round(server: &Arc<Server>) -> Round {
    server.forget_peak();
    let before_mib = server.peak_mib();
    let ((release, took), waits) = beside(server, || {
        let begun = Instant::now();
        let release = server.json("POST", &server.at("/releases"), &Value::Null);
        (release, begun.elapsed())
    });
    assert_eq!(release["locales"], LOCALES.len());
    let peak_mib = server.peak_mib();
    let (size, sha256) = (release["size"].as_u64().unwrap(), release["sha256"].as_str().unwrap().to_owned());
    Round { took, before_mib, peak_mib, size, sha256, waits }
}

/// Does work while another writer writes a small thing every few milliseconds; how long each of these took, sorted.
pub fn beside<T>(server: &Arc<Server>, work: impl FnOnce() -> T) -> (T, Vec<Duration>) {
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = std::thread::spawn({
        let (server, is_over) = (Arc::clone(server), Arc::clone(&is_over));
        move || {
            let mut waits = Vec::new();
            let name = json!({"name": "Bench"});
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                server.json("PATCH", &server.project, &name);
                waits.push(begun.elapsed());
                std::thread::sleep(PACE);
            }
            waits.sort();
            waits
        }
    });
    let outcome = work();
    is_over.store(true, Ordering::Relaxed);
    (outcome, writer.join().unwrap())
}

/// As tables show it.
pub fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
