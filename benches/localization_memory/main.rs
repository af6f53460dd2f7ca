//! Suggestions of a translation memory of 100,000 units: what finding them costs beside rapidfuzz, how large the index is,
//! and how long an answer takes over HTTP.
//!
//! `cargo bench --bench localization_memory` asks 200 queries three times over; rapidfuzz comes with the files that tests
//! read (`tests/corpora/fetch.sh`). Both must find the same scores.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench fails loudly and prints its result"
)]

mod asked;
#[path = "../localization/server.rs"]
mod server;
mod texts;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quintet_localization::likeness::{EFFORT, Entry, Index, Query, SCORE_EXACT, SCORE_LEAST, Unit, Wish};
use serde_json::{Value, json};

use server::Server;
use texts::{Texts, UNITS};

const ROUNDS: usize = 3;
const COUNT: usize = 5;

struct Found<'t>(&'t str);

impl Unit for Found<'_> {
    fn source(&self) -> &str {
        self.0
    }
    fn written_micros(&self) -> i64 {
        0
    }
}

/// The CPU time of this thread.
fn cpu() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(told.split(' ').next().unwrap().parse().unwrap())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A percentile of sorted values.
fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() as f64 * share) as usize).min(sorted.len() - 1)]
}

/// What rapidfuzz needs and finds.
fn rival(python: &Path, texts: &Texts) -> (f64, Vec<Vec<u8>>) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("asked.json");
    std::fs::write(&file, json!({"sources": texts.sources, "queries": texts.queries}).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/localization_memory/rival.py");
    let output = Command::new(python).arg(script).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let millis: Vec<f64> = serde_json::from_value(told["millis"].clone()).unwrap();
    (mean(&millis), serde_json::from_value(told["scores"].clone()).unwrap())
}

/// The scores that a query finds, the same text's among them.
fn scores(index: &Index, texts: &Texts, query: &str, same: Option<u128>) -> Vec<u8> {
    let mut scores: Vec<u8> = same.iter().map(|_| SCORE_EXACT).collect();
    let wish = Wish { least: SCORE_LEAST, count: COUNT - scores.len(), without: same, effort: EFFORT };
    let read = |id: u128| Ok::<_, Infallible>(Some(Found(&texts.sources[id as usize])));
    let found = index.search(&Query::of(query).unwrap(), wish, read).unwrap();
    scores.extend(found.iter().map(|(score, _)| score));
    scores
}

fn main() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "rapidfuzz and the real texts cannot be had");
    let corpora = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let texts = Texts::of(&corpora);
    let mut index = Index::default();
    let begun = Instant::now();
    for (id, source) in (0..).zip(&texts.sources) {
        index.add(&Entry { id, written_micros: 0, source });
    }
    index.shrink();
    let made = begun.elapsed();
    let chars: usize = texts.sources.iter().map(|text| text.chars().count()).sum();

    let (mut ours, mut theirs, mut expected) = (f64::MAX, f64::MAX, Vec::new());
    for _ in 0..ROUNDS {
        let (millis, found) = rival(&corpora.join("python/bin/python3"), &texts);
        theirs = theirs.min(millis);
        expected = found;
        let begun = cpu();
        for query in &texts.queries {
            scores(&index, &texts, query, None);
        }
        ours = ours.min((cpu() - begun).as_secs_f64() * 1e3 / texts.queries.len() as f64);
    }
    for (query, expected) in texts.queries.iter().zip(&expected) {
        let same = texts.sources.iter().position(|source| source == query).map(|place| place as u128);
        assert_eq!(&scores(&index, &texts, query, same), expected, "{query:?}");
    }
    println!(
        "{UNITS} units of {:.0} characters, {} queries, the same scores",
        chars as f64 / UNITS as f64,
        expected.len()
    );
    println!("| CPU of a query, ms | rapidfuzz, ms | ratio | index, MiB | made in, ms |");
    println!("|---|---|---|---|---|");
    println!(
        "| {ours:.2} | {theirs:.2} | {:.0} | {:.1} | {:.0} |",
        theirs / ours,
        index.bytes() as f64 / 1_048_576.0,
        made.as_secs_f64() * 1e3
    );

    let server = Server::start();
    let filled = asked::fill(&server, &texts.sources);
    let (first, told) = asked::ask(&server, &texts.queries, &expected);
    println!("| over HTTP: imported in, s | first answer, ms | p50, ms | p99, ms | of 8 callers: p50, ms | p99, ms |");
    println!("|---|---|---|---|---|---|");
    let [one, eight] = told;
    println!(
        "| {:.1} | {:.0} | {:.2} | {:.2} | {:.2} | {:.2} |",
        filled.as_secs_f64(),
        first.as_secs_f64() * 1e3,
        at(&one, 0.5),
        at(&one, 0.99),
        at(&eight, 0.5),
        at(&eight, 0.99),
    );
}
