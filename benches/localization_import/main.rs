//! What a file of 50,000 keys costs: reading it and writing it again with every value changed, and importing and exporting
//! it over HTTP, beside what translate-toolkit needs for reading the same file.
//!
//! `cargo bench --bench localization_import` prints the best of five rounds. The toolkit comes with the files that
//! tests read (`tests/corpora/fetch.sh`); where it cannot be had, its columns stay empty.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench fails loudly and prints its result"
)]

mod files;
mod http;
#[path = "../localization/server.rs"]
mod server;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quintet_localization::formats::{Content, Document, Edit, Forms, Kind, read};

const ROUNDS: usize = 5;

/// The toolkit's reading of one file, in seconds; nothing where there is none.
fn toolkit_seconds(python: Option<&Path>, class: &str, file: &Path) -> Option<f64> {
    let output = Command::new(python?)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/localization_import/toolkit.py"))
        .args([class.as_ref(), file.as_os_str()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().ok()
}

fn best(mut work: impl FnMut()) -> Duration {
    let round = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    (0..ROUNDS).map(round).min().unwrap()
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Every value with something before it.
fn changed(document: &Document<'_>) -> Vec<Content> {
    let change = |text: &String| format!("Übersetzt: {text}");
    document
        .units()
        .iter()
        .map(|unit| match unit.content() {
            Content::Text(text) => Content::Text(change(text)),
            Content::Plural(forms) => {
                Content::Plural(forms.iter().map(|(name, form)| (*name, change(form))).collect::<Forms>())
            }
        })
        .collect()
}

fn main() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    let corpora = String::from_utf8(output.stdout).unwrap();
    let python = output.status.success().then(|| Path::new(corpora.trim()).join("python/bin/python3"));
    let directory = tempfile::tempdir().unwrap();
    println!(
        "| file of {} keys | MB | read, ms | changed and written, ms | toolkit reads, ms | ratio | \
         imported over HTTP, ms | ratio | exported over HTTP, ms |",
        files::KEYS
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let server = server::Server::start();
    let cases = [
        ("rails YAML", "yaml.RubyYAMLFile", Kind::Rails { root: "en" }, "kind=yaml&profile=rails", files::rails()),
        ("JSON", "jsonl10n.I18NextV4File", Kind::Json, "kind=json", files::json()),
        ("properties", "properties.javautf8file", Kind::Properties, "kind=properties", files::properties()),
    ];
    for (name, class, kind, query, text) in cases {
        let bytes = text.as_bytes();
        let file = directory.path().join("file");
        std::fs::write(&file, bytes).unwrap();
        let reading = best(|| assert_eq!(read(kind, bytes, later()).unwrap().units().len(), files::KEYS));
        let document = read(kind, bytes, later()).unwrap();
        let contents = changed(&document);
        let edits: Vec<Edit<'_>> = contents
            .iter()
            .map(|content| match content {
                Content::Text(text) => Edit::Text(text),
                Content::Plural(forms) => Edit::Forms(forms),
            })
            .collect();
        let writing = best(|| assert!(document.export(None, &edits, later()).unwrap().len() > bytes.len()));
        let toolkit = toolkit_seconds(python.as_deref(), class, &file);
        let (importing, exporting) = http::import_and_export(&server, query, &text, ROUNDS);
        let shown = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.0}"));
        println!(
            "| {name} | {:.1} | {:.0} | {:.0} | {} | {} | {:.0} | {} | {:.0} |",
            bytes.len() as f64 / 1e6,
            reading.as_secs_f64() * 1e3,
            writing.as_secs_f64() * 1e3,
            shown(toolkit.map(|seconds| seconds * 1e3)),
            shown(toolkit.map(|seconds| seconds / reading.as_secs_f64())),
            importing.as_secs_f64() * 1e3,
            shown(toolkit.map(|seconds| seconds / importing.as_secs_f64())),
            exporting.as_secs_f64() * 1e3,
        );
    }
}
