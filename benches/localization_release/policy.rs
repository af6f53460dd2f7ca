//! Approval by policy: how long it takes, and what others wait for meanwhile.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::release::{beside, millis, translated};
use super::server::Server;

/// How many keys, unless somebody says.
const KEYS: usize = 50_000;
/// How often, each time in another locale.
const LOCALES: [&str; 3] = ["de", "fr", "sv"];
/// How many keys are classified with one request.
const CLASSIFIED_AT_ONCE: usize = 1_000;

/// Measures the approval of so many keys of a file.
pub fn measure(keys: Option<usize>) {
    let keys = keys.unwrap_or(KEYS);
    let server = Arc::new(Server::start());
    let file_id = fill(&server, keys);
    println!("\n{keys} drafts of prose approved by policy; another writer beside it");
    println!("| locale | took | keys/s | CPU, µs a key | others' p99 | longest | alone: p99 | longest |");
    println!("|---|---|---|---|---|---|---|---|");
    for locale in LOCALES {
        license(&server, locale);
        let alone = beside(&server, || std::thread::sleep(Duration::from_secs(4))).1;
        let cpu = server.cpu_seconds();
        let ((done, took), waits) = beside(&server, || {
            let begun = Instant::now();
            let wished = json!({"file": file_id, "locale": locale});
            let done = server.json("POST", &server.at("/policy-approve"), &wished);
            (done, begun.elapsed())
        });
        assert_eq!(done["approved"], json!(keys), "{done}");
        let cpu = (server.cpu_seconds() - cpu) * 1e6 / keys as f64;
        let p99 = |waits: &[Duration]| millis(waits[waits.len() * 99 / 100]);
        let longest = |waits: &[Duration]| millis(*waits.last().unwrap());
        println!(
            "| {locale} | {:.2} s | {:.0} | {cpu:.0} | {} | {} | {} | {} |",
            took.as_secs_f64(),
            keys as f64 / took.as_secs_f64(),
            p99(&waits),
            longest(&waits),
            p99(&alone),
            longest(&alone),
        );
    }
}

/// Uploads a file, makes all its keys prose and takes drafts of them in; its id.
fn fill(server: &Server, keys: usize) -> String {
    let name = |n: usize| format!("screen.key{n}");
    let texts = (0..keys).map(|n| (name(n), json!(format!("Delete the {n} selected files of {{name}}?"))));
    let content = Value::Object(texts.collect()).to_string();
    let imported =
        server.send("POST", &server.at("/files?kind=json&path=en.json"), "application/octet-stream", content);
    let imported: Value = serde_json::from_slice(&imported).unwrap();
    let file_id = imported["file_id"].as_str().unwrap().to_owned();
    for from in (0..keys).step_by(CLASSIFIED_AT_ONCE) {
        let classes: Vec<Value> =
            (from..keys.min(from + CLASSIFIED_AT_ONCE)).map(|n| json!({"path": name(n), "class": "prose"})).collect();
        server.json("PUT", &server.at(&format!("/files/{file_id}/context")), &json!({"keys": classes}));
    }
    let mut xliff = server.at("/files/");
    write!(xliff, "{file_id}/xliff").unwrap();
    for locale in LOCALES {
        let document = server.get(&format!("{xliff}?locale={locale}"));
        let document = translated(&String::from_utf8(document).unwrap(), locale);
        server.send("POST", &xliff, "application/xliff+xml", document);
    }
    file_id
}

/// Gives a licence for a locale.
fn license(server: &Server, locale: &str) {
    let sample =
        json!({"locale": locale, "sample_size": 300, "corrections": 0, "meaning_errors": 0, "sample_ref": "bench"});
    let licence = server.json("POST", &server.at("/licences"), &sample);
    server.command(&["decision", "approve", licence["decision_id"].as_str().unwrap(), "--by", "bench"]);
    let begun = Instant::now();
    loop {
        let listed: Value = serde_json::from_slice(&server.get(&server.at("/licences"))).unwrap();
        if listed["licences"][0]["state"] == "active" {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{listed}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
