//! What a document of 50,000 units costs: reading it and writing it, beside translate-toolkit on the same document; the same
//! over HTTP, where what comes in is judged, checked, stored, audited and durable; and what the server's memory peaks at.
//!
//! `cargo bench --bench localization_exchange` prints CPU time, the best of five rounds. The toolkit comes with the files
//! that tests read (`tests/corpora/fetch.sh`).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench fails loudly and prints its result"
)]

mod http;
#[path = "../localization/server.rs"]
mod server;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quintet_localization::formats::tmx::{TmxPair, TmxReader, TmxWriter};
use quintet_localization::formats::xliff::{File, Pair, Progress, UnitReader, Version, Writer, Written, WrittenUnit};

/// How many units a document has.
const UNITS: usize = 50_000;
const ROUNDS: usize = 5;

/// The texts of a unit.
fn texts(number: usize) -> (String, String) {
    match number % 4 {
        0 => (format!("Label {number} of the settings page"), format!("Beschriftung {number} der Einstellungen")),
        1 => (
            format!("Hello {{name}}, it's <b>message {number}</b>: see \"details\" & more"),
            format!("Hallo {{name}}, das ist <b>Nachricht {number}</b>: siehe „Details“ & mehr"),
        ),
        2 => (format!("First line {number}\nsecond line"), format!("Erste Zeile {number}\nzweite Zeile")),
        _ => (
            format!(
                "A longer explanation of what happens when option {number} is switched on, in one sentence or two."
            ),
            format!(
                "Eine längere Erklärung, was geschieht, wenn Option {number} eingeschaltet ist, in ein, zwei Sätzen."
            ),
        ),
    }
}

/// Seconds of CPU of this process's threads.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// The best round, in seconds of CPU.
fn best(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let begun = cpu();
        work();
        cpu() - begun
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// The toolkit's reading and writing of a document, in seconds of CPU.
fn toolkit(corpora: &str, kind: &str, document: &str) -> (f64, f64) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), document).unwrap();
    let output = Command::new(Path::new(corpora).join("python/bin/python3"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/localization_exchange/toolkit.py"))
        .args([kind.as_ref(), file.path().as_os_str()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

fn xliff(units: &[(String, String, String)]) -> String {
    let mut document = String::new();
    let file = File { id: "f", path: "a.json", source_language: "en", target_language: "de" };
    let mut writer = Writer::begin(&mut document, Version::V1, &file);
    for (id, source, target) in units {
        let content = Written::Text(Pair { source, target: Some(target) });
        writer.unit(&mut document, &WrittenUnit { id, path: id, note: None, progress: Progress::Draft, content });
    }
    writer.end(&mut document);
    document
}

fn read_xliff(document: &str) {
    let mut reader = UnitReader::begin(document.as_bytes(), later()).unwrap();
    let mut units = 0;
    while let Some(unit) = reader.next_unit().unwrap() {
        units += usize::from(unit.target.is_some());
    }
    assert_eq!(units, UNITS);
}

fn tmx(units: &[(String, String, String)]) -> String {
    let mut document = String::new();
    let mut writer = TmxWriter::begin(&mut document, "en");
    for (_, source, target) in units {
        writer.unit(&mut document, &TmxPair { source_language: "en", source, target_language: "de", target });
    }
    writer.end(&mut document);
    document
}

fn read_tmx(document: &str) {
    let mut reader = TmxReader::begin(document.as_bytes(), later()).unwrap();
    let mut units = 0;
    while let Some(unit) = reader.next_unit().unwrap() {
        units += unit.variants.len() / 2;
    }
    assert_eq!(units, UNITS);
}

fn main() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "translate-toolkit cannot be had");
    let corpora = String::from_utf8(output.stdout).unwrap();
    let units: Vec<(String, String, String)> = (0..UNITS)
        .map(|number| {
            let (source, target) = texts(number);
            (format!("00000000-0000-8000-8000-{number:012}"), source, target)
        })
        .collect();
    println!("| document of {UNITS} units | MB | way | CPU, ms | the toolkit's CPU, ms | ratio |");
    println!("|---|---|---|---|---|---|");
    for (kind, document) in [("xliff", xliff(&units)), ("tmx", tmx(&units))] {
        let (read, written) = toolkit(corpora.trim(), kind, &document);
        let reading = best(|| if kind == "xliff" { read_xliff(&document) } else { read_tmx(&document) });
        let writing = best(|| drop(if kind == "xliff" { xliff(&units) } else { tmx(&units) }));
        for (way, ours, toolkits) in [("read", reading, read), ("written", writing, written)] {
            let (megabytes, ours_ms, theirs_ms) = (document.len() as f64 / 1e6, ours * 1e3, toolkits * 1e3);
            println!("| {kind} | {megabytes:.1} | {way} | {ours_ms:.0} | {theirs_ms:.0} | {:.0} |", toolkits / ours);
        }
    }
    let mut source = String::from("{");
    for (number, (_, text, _)) in units.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        write!(source, "{comma}\n\"k{number}\": {}", serde_json::Value::from(text.as_str())).unwrap();
    }
    source.push_str("\n}\n");
    http::over_http(&source, &tmx(&units));
}
