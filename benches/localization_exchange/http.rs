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
/// How many callers do not read what became of their units.
const SLOW_READERS: usize = 16;
/// The most units that a document may have, and a string file.
const UNITS_MAX: usize = 200_000;

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
        at_once(&server, |_| hostile_answer(&server, &xliff, &document));
    }
    beside_slow_readers(&server, &xliff, &targets(&keys));
    let file = string_file();
    let upload = |name: &str| {
        let path = server.at(&format!("/files?kind=json&path={name}.json"));
        // Who has waited for a minute is told so.
        let (status, answer) = server.try_send("POST", &path, "application/json", file.as_str());
        assert!(matches!(status, 201 | 503), "{status} {}", String::from_utf8_lossy(&answer));
    };
    measured(&server, "a string file of 50 MB", || upload("one"));
    at_once(&server, |number| upload(&number.to_string()));
}

/// Some callers do the same.
fn at_once(server: &Server, work: impl Fn(usize) + Sync) {
    measured(server, &format!("{AT_ONCE} of these at once"), || {
        std::thread::scope(|scope| {
            for number in 0..AT_ONCE {
                let work = &work;
                scope.spawn(move || work(number));
            }
        });
    });
}

/// Callers do not read what became of as many units as a document may have; another one's document comes in meanwhile.
fn beside_slow_readers(server: &Server, xliff: &str, document: &str) {
    let units = format!("{HEAD}{}{END}", "<trans-unit id='a'/>".repeat(UNITS_MAX));
    let send = || server.send_unread("POST", xliff, "application/xliff+xml", units.as_str());
    let what = format!("reports of {UNITS_MAX} units that {SLOW_READERS} callers do not read");
    let unread: Vec<_> = measured(server, &what, || (0..SLOW_READERS).map(|_| send()).collect());
    assert!(unread.iter().all(|answer| answer.status() == 200));
    measured(server, "targets of 50 MB beside these", || hostile_answer(server, xliff, document.as_bytes()));
    drop(unread);
}

/// A string file as large as one may be, of as many keys.
fn string_file() -> String {
    let text = "x".repeat(HOSTILE_BYTES / UNITS_MAX - 20);
    let members: Vec<String> = (0..UNITS_MAX).map(|number| format!("\"k{number}\": \"{text}\"")).collect();
    format!("{{{}}}", members.join(","))
}

/// Sends a document of which nothing is written.
fn hostile_answer(server: &Server, path: &str, document: &[u8]) {
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

/// How documents of 1.2 begin.
const HEAD: &str = "<xliff version='1.2'><file source-language='en' target-language='de'><body>";
/// How they end.
const END: &str = "</body></file></xliff>";
/// How documents of 2.1 begin.
const HEAD_2: &str =
    "<xliff version='2.1' xmlns='urn:oasis:names:tc:xliff:document:2.0' srcLang='en' trgLang='de'><file id='f'>";
/// How they end.
const END_2: &str = "</file></xliff>";

/// Targets of all keys, whose sources are other ones.
fn targets(keys: &[&str]) -> String {
    targets_of(keys, &"x".repeat(HOSTILE_BYTES / keys.len() - 100))
}

fn targets_of(keys: &[&str], target: &str) -> String {
    let unit = |key: &&str| format!("<trans-unit id='{key}'><source>-</source><target>{target}</target></trans-unit>");
    format!("{HEAD}{}{END}", keys.iter().map(unit).collect::<String>())
}

/// Fifty megabytes of the worst that there is: a tag, a text, references, units, tags, targets of what has other sources;
/// in 2.1 texts of codes that are named over and over, and segments of one unit; targets in UTF-16, which take more room
/// than they have.
fn hostile(keys: &[&str]) -> Vec<(&'static str, Vec<u8>)> {
    let fill = |head: &str, piece: &str| format!("{head}{}", piece.repeat((HOSTILE_BYTES - head.len()) / piece.len()));
    let unit =
        "<trans-unit id='00000000-0000-8000-8000-000000000000'><source>x</source><target>y</target></trans-unit>";
    let code = "y".repeat(HOSTILE_BYTES / keys.len() - 220);
    let coded = keys.iter().map(|key| {
        format!(
            "<unit id='{key}'><originalData><data id='d'>{code}</data></originalData><segment><source>-</source>\
             <target><ph id='1' dataRef='d'/><ph id='2' dataRef='d'/></target></segment></unit>"
        )
    });
    let segments = fill(&format!("{HEAD_2}<unit id='u'>"), "<segment><source>x</source><target>y</target></segment>");
    let wide = "漢".repeat(HOSTILE_BYTES / keys.len() / 2 - 100);
    let wide = format!("\u{feff}{}", targets_of(keys, &wide));
    let documents = [
        ("a tag of 50 MB", format!("{HEAD}<trans-unit id='{}'/>", "x".repeat(HOSTILE_BYTES))),
        ("a text of 50 MB", format!("{HEAD}<trans-unit><source>{}", "x".repeat(HOSTILE_BYTES))),
        ("a target of references of 50 MB", format!("{HEAD}<trans-unit><target>{}", "&amp;".repeat(HOSTILE_BYTES / 5))),
        ("units of 50 MB", fill(HEAD, unit)),
        ("tags of 50 MB", fill(HEAD, "<a>")),
        ("targets of 50 MB", targets(keys)),
        ("codes of 50 MB, XLIFF 2.1", format!("{HEAD_2}{}{END_2}", coded.collect::<String>())),
        ("segments of 50 MB, XLIFF 2.1", format!("{segments}</unit>{END_2}")),
    ];
    let mut all: Vec<(&str, Vec<u8>)> = documents.map(|(what, document)| (what, document.into_bytes())).into();
    all.push(("targets of 50 MB in UTF-16", wide.encode_utf16().flat_map(u16::to_le_bytes).collect()));
    all
}
