//! A long audit chain: verified and exported by the real binary.

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::Server;

/// Events of the chain.
const EVENTS: usize = 1_000_000;
/// Units of the documents that make events: one each.
const UNITS: usize = 50_000;
const ROUNDS: usize = 3;

/// How many events a second are verified.
pub fn measure_verify(count: Option<usize>) {
    let server = chain(count.unwrap_or(EVENTS));
    println!("\n| verify | s | events/s | CPU s | a PUT beside it, p50 | p99 | longest |");
    println!("|---|---|---|---|---|---|---|");
    for _ in 0..ROUNDS {
        let is_over = AtomicBool::new(false);
        let (waits, (took, events, cpu)) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| writes(&server, &is_over));
            let cpu = server.cpu_seconds();
            let begun = Instant::now();
            let found: Value = serde_json::from_slice(&server.get("/v1/audit/verify")).unwrap();
            let took = begun.elapsed();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(found["breaks"], json!([]));
            let measured = (took, found["events"].as_f64().unwrap(), server.cpu_seconds() - cpu);
            (beside.join().unwrap(), measured)
        });
        let millis = |share: usize| waits[(waits.len() - 1) * share / 100].as_secs_f64() * 1e3;
        println!(
            "| {events} events, others beside | {:.2} | {:.0} | {cpu:.2} | {:.1} ms | {:.1} ms | {:.1} ms |",
            took.as_secs_f64(),
            events / took.as_secs_f64(),
            millis(50),
            millis(99),
            millis(100),
        );
        let begun = Instant::now();
        let cpu = server.cpu_seconds();
        drop(server.get("/v1/audit/verify"));
        let (took, cpu) = (begun.elapsed().as_secs_f64(), server.cpu_seconds() - cpu);
        println!("| {events} events alone | {took:.2} | {:.0} | {cpu:.2} | | | |", events / took);
    }
}

/// How long an export takes, and how much memory.
pub fn measure_export(count: Option<usize>) {
    let server = chain(count.unwrap_or(EVENTS));
    println!("\n| export | s | MB/s | MB | memory before, MiB | peak, MiB |");
    println!("|---|---|---|---|---|---|");
    for format in ["ndjson", "cef"] {
        server.forget_peak();
        let before = server.peak_mib();
        let begun = Instant::now();
        let mut answer = server.send_unread("GET", &format!("/v1/audit/export?format={format}"), "", Vec::new());
        let (mut reader, mut bytes, mut buffer) = (answer.body_mut().as_reader(), 0, vec![0; 1 << 16]);
        loop {
            match reader.read(&mut buffer).unwrap() {
                0 => break,
                read => bytes += read,
            }
        }
        let took = begun.elapsed().as_secs_f64();
        let megabytes = bytes as f64 / 1e6;
        println!(
            "| {format} | {took:.2} | {:.0} | {megabytes:.0} | {before} | {} |",
            megabytes / took,
            server.peak_mib()
        );
    }
}

/// What a caller waits for who sets a style again and again, until told to stop; ascending.
fn writes(server: &Server, is_over: &AtomicBool) -> Vec<Duration> {
    let mut waits = Vec::new();
    while !is_over.load(Ordering::Relaxed) || waits.is_empty() {
        let body = json!({"locale": "de", "scope": "default", "text": format!("Text {}", waits.len())});
        let begun = Instant::now();
        server.json("PUT", &server.at("/style"), &body);
        waits.push(begun.elapsed());
    }
    waits.sort();
    waits
}

/// A server with a chain of so many events at least, made by documents with other targets each.
fn chain(count: usize) -> Server {
    let server = Server::start();
    let texts = (0..UNITS).map(|n| (format!("k{n}"), json!(format!("Delete the {n} selected files?"))));
    let file = Value::Object(texts.collect()).to_string();
    let path = server.at("/files?kind=json&path=a.json");
    let imported: Value = serde_json::from_slice(&server.send("POST", &path, "application/json", file)).unwrap();
    let xliff = server.at(&format!("/files/{}/xliff", imported["file_id"].as_str().unwrap()));
    let empty = String::from_utf8(server.get(&format!("{xliff}?locale=de"))).unwrap();
    for round in 0..count.div_ceil(UNITS) {
        let target = format!("</source><target>Text der Runde {round}</target>");
        let document = empty.replace("</source>", &target);
        server.send("POST", &xliff, "application/xliff+xml", document);
    }
    server
}
