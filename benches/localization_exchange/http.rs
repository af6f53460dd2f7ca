//! The same over HTTP, against the real binary: wall clock, the server's CPU, and the peak of its memory, under the worst that
//! may be sent as well.

use std::time::Instant;

use serde_json::Value;

use super::server::Server;

/// The most memory that the appliance may take, whatever comes in, in MiB.
const MEMORY_MAX_MIB: u64 = 256;
/// How many hostile documents come in at once.
const AT_ONCE: usize = 4;
/// How large they are, in bytes.
const HOSTILE_BYTES: usize = 50_000_000;

/// Does something, and prints what it took.
fn measured<T>(server: &Server, what: &str, work: impl FnOnce() -> T) -> T {
    server.forget_peak();
    let (begun, before) = (Instant::now(), server.cpu_seconds());
    let outcome = work();
    let (wall, cpu, peak) = (begun.elapsed(), server.cpu_seconds() - before, server.peak_mib());
    let exceeds = if peak > MEMORY_MAX_MIB { " (!)" } else { "" };
    println!("| {what} | {:.0} | {:.0} | {peak}{exceeds} |", wall.as_secs_f64() * 1e3, cpu * 1e3);
    outcome
}

fn read(answer: &[u8]) -> Value {
    serde_json::from_slice(answer).unwrap()
}

/// Prints what documents of as many keys cost over HTTP, in a file of these and in a memory.
pub fn over_http(source: &str, tmx: &str) {
    let server = Server::start();
    println!("\n| over HTTP | wall, ms | the server's CPU, ms | peak of its memory meanwhile, MiB |");
    println!("|---|---|---|---|");
    let path = server.at("/files?kind=json&path=a.json");
    let imported =
        read(&measured(&server, "string file uploaded", || server.send("POST", &path, "application/json", source)));
    let xliff = server.at(&format!("/files/{}/xliff", imported["file_id"].as_str().unwrap()));
    let export = format!("{xliff}?locale=de");
    let document = String::from_utf8(measured(&server, "XLIFF without targets out", || server.get(&export))).unwrap();
    let filled = with_targets(&document);
    for what in ["XLIFF in, every unit written", "XLIFF in again, nothing to write"] {
        let send = || server.send("POST", &xliff, "application/xliff+xml", filled.as_str());
        let answer = read(&measured(&server, what, send));
        assert_eq!(answer["skipped"], 0, "{}", answer["units"][0]);
    }
    measured(&server, "XLIFF with targets out", || server.get(&export));
    let memory = server.at("/memory");
    let send = || server.send("POST", &memory, "application/x-tmx+xml", tmx);
    let answer = read(&measured(&server, "TMX in, every unit written", send));
    assert_eq!(answer["skipped"], 0, "{answer}");
    measured(&server, "TMX out", || server.get(&memory));
    let keys: Vec<&str> =
        document.split("<trans-unit id=\"").skip(1).filter_map(|unit| unit.split('"').next()).collect();
    for (what, document) in hostile(&keys) {
        measured(&server, what, || hostile_answer(&server, &xliff, &document));
        measured(&server, &format!("{AT_ONCE} of these at once"), || {
            std::thread::scope(|scope| {
                for _ in 0..AT_ONCE {
                    scope.spawn(|| hostile_answer(&server, &xliff, &document));
                }
            });
        });
    }
}

/// Sends a document of which nothing is written.
fn hostile_answer(server: &Server, path: &str, document: &str) {
    let (status, answer) = server.try_send("POST", path, "application/xliff+xml", document);
    assert!(matches!(status, 200 | 422), "{status} {}", String::from_utf8_lossy(&answer));
}

/// A document with a target for each source: the source itself, with something behind it, passes most checks.
fn with_targets(document: &str) -> String {
    let mut filled = String::with_capacity(2 * document.len());
    for line in document.lines() {
        filled.push_str(line);
        filled.push('\n');
        if line.ends_with("</source>") && line.starts_with("<source") {
            filled.push_str(&line.replace("source", "target").replace("</target>", " (de)</target>"));
        } else if line.ends_with("</source>") {
            filled.push_str("<target>zweite Zeile</target>");
        }
    }
    filled
}

/// Fifty megabytes of the worst that there is: a tag, a text, references, units, tags, and targets of what has other sources.
fn hostile(keys: &[&str]) -> Vec<(&'static str, String)> {
    let head = "<xliff version='1.2'><file source-language='en' target-language='de'><body>";
    let fill = |piece: &str| format!("{head}{}", piece.repeat((HOSTILE_BYTES - head.len()) / piece.len()));
    let unit =
        "<trans-unit id='00000000-0000-8000-8000-000000000000'><source>x</source><target>y</target></trans-unit>";
    let target = "x".repeat(HOSTILE_BYTES / keys.len() - 100);
    let targets = keys
        .iter()
        .map(|key| format!("<trans-unit id='{key}'><source>-</source><target>{target}</target></trans-unit>"));
    vec![
        ("a tag of 50 MB", format!("{head}<trans-unit id='{}'/>", "x".repeat(HOSTILE_BYTES))),
        ("a text of 50 MB", format!("{head}<trans-unit><source>{}", "x".repeat(HOSTILE_BYTES))),
        ("a target of references of 50 MB", format!("{head}<trans-unit><target>{}", "&amp;".repeat(HOSTILE_BYTES / 5))),
        ("units of 50 MB", fill(unit)),
        ("tags of 50 MB", fill("<a>")),
        ("targets of 50 MB", format!("{head}{}</body></file></xliff>", targets.collect::<String>())),
    ]
}
