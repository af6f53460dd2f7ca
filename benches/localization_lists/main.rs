//! Lists and figures of 20,000 strings in three locales over HTTP, against the real binary: each kind of list, the figures,
//! and both right behind a change of the glossary. One caller asks one thing after another, on one connection.
//!
//! `cargo bench --bench localization_lists` prints the median and the 99th percentile of 300 answers each.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench fails loudly and prints its result"
)]

#[path = "../localization/server.rs"]
mod server;
mod strings;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use server::Server;

const STRINGS: usize = 20_000;
const LOCALES: [&str; 3] = ["de", "fr", "ru"];
const ROUNDS: usize = 300;
/// How often the glossary is changed.
const CHANGES: usize = 60;

/// Words of sources and of translations. Every twentieth source has each of them about once.
const WORDS: [&str; 40] = [
    "save",
    "file",
    "folder",
    "open",
    "close",
    "window",
    "report",
    "account",
    "user",
    "name",
    "delete",
    "restore",
    "version",
    "history",
    "search",
    "filter",
    "export",
    "import",
    "table",
    "column",
    "row",
    "value",
    "number",
    "date",
    "time",
    "project",
    "issue",
    "comment",
    "attachment",
    "download",
    "upload",
    "settings",
    "language",
    "theme",
    "password",
    "session",
    "message",
    "network",
    "error",
    "warning",
];

fn source(at: usize) -> String {
    let word = |offset: usize| WORDS[(at * 7 + offset * 13 + at / 40) % WORDS.len()];
    match at % 5 {
        0 => format!("Please {} the {} before you {} it", word(0), word(1), word(2)),
        1 => format!("{{count}} {} in this {}", word(0), word(1)),
        _ => format!("The {} of your {} has {} {}", word(0), word(1), at % 97, word(3)),
    }
}

/// One in ten has lost its number or its placeholder.
fn target(at: usize, locale: &str) -> String {
    let text = source(at).replace("the", "der").replace("The", "Das");
    if at.is_multiple_of(10) {
        format!("{locale} {}", text.replace(['{', '}'], ""))
    } else {
        format!("{locale} {text}")
    }
}

fn report(name: &str, mut times: Vec<Duration>, bytes: usize) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize].as_secs_f64() * 1e3;
    println!("| {name} | {:.1} | {:.1} | {:.1} | {:.0} |", at(0.5), at(0.99), at(1.0), bytes as f64 / 1e3);
}

/// How long an answer takes.
fn asked(server: &Server, path: &str) -> (Duration, Vec<u8>) {
    let begun = Instant::now();
    let body = server.get(&server.at(path));
    (begun.elapsed(), body)
}

fn main() {
    let server = Server::start();
    let texts: serde_json::Map<String, Value> =
        (0..STRINGS).map(|at| (format!("area{}.key{at:05}", at % 20), json!(source(at)))).collect();
    let begun = Instant::now();
    server.json("POST", &server.at("/files?kind=json&path=en.json"), &Value::Object(texts));
    let keys = strings::keys(&server);
    assert_eq!(keys.len(), STRINGS);
    strings::translate(&server, &keys, &LOCALES, target);
    println!("{} translations written in {:.0} s", STRINGS * LOCALES.len(), begun.elapsed().as_secs_f64());
    println!("| | median, ms | p99, ms | longest, ms | kB |");
    println!("|---|---|---|---|---|");
    let asks = [
        ("list", "/translations"),
        ("list of 500", "/translations?limit=500"),
        ("list in a locale", "/translations?locale=de"),
        ("untranslated in a locale", "/translations?locale=it&state=untranslated"),
        ("by state", "/translations?state=draft&locale=fr"),
        ("by a state that nothing has", "/translations?state=approved"),
        ("by a check", "/translations?check=Q08"),
        ("by text that many have", "/translations?q=folder"),
        ("by text that few have", "/translations?q=key19999"),
        ("by text that none has", "/translations?q=nowhere"),
        ("by text and locale", "/translations?q=das%20folder&locale=ru"),
        ("figures", "/stats"),
    ];
    for (name, path) in asks {
        let (mut times, mut bytes) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let (time, body) = asked(&server, path);
            times.push(time);
            bytes = body.len();
        }
        report(name, times, bytes);
    }
    let (mut changes, mut behind): (Vec<Duration>, Vec<(Vec<Duration>, usize)>) =
        (Vec::new(), vec![Default::default(); 3]);
    let paths = ["/stats", "/translations?check=Q09", "/translations?locale=de&state=draft"];
    for change in 0..CHANGES {
        let word = WORDS[change % WORDS.len()];
        let term = json!({"kind": "term", "locale": "de", "source": word, "target": format!("wort{change}")});
        let begun = Instant::now();
        server.json("POST", &server.at("/glossary"), &term);
        changes.push(begun.elapsed());
        let at = change % paths.len();
        let (time, body) = asked(&server, paths[at]);
        behind[at].0.push(time);
        behind[at].1 = body.len();
    }
    report("a term is added (answered once all is judged anew)", changes, 0);
    for (path, (times, bytes)) in paths.iter().zip(behind) {
        report(&format!("{path} right behind it"), times, bytes);
    }
    // All of a locale is judged anew.
    let mut changes = Vec::new();
    let mut behind = Vec::new();
    for round in 0..6 {
        let register = if round % 2 == 0 { json!("formal") } else { Value::Null };
        let style = json!({"locale": "fr", "scope": "default", "text": "Vous.", "register": register});
        let begun = Instant::now();
        server.json("PUT", &server.at("/style"), &style);
        changes.push(begun.elapsed());
        behind.push(asked(&server, "/stats").0);
    }
    report("a register is set (a locale is judged anew)", changes, 0);
    report("/stats right behind it", behind, 0);
}
