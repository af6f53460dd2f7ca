//! The same units and queries over HTTP, against the real binary: imported as TMX, asked for by keys whose sources are the
//! queries.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::Server;

/// How often each query is asked.
const ROUNDS: usize = 5;
const CALLERS: usize = 8;

/// Escapes what stands between the tags of XML.
fn escaped(text: &str) -> String {
    let written = |character: char| match character {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '\r' => "&#13;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(written).collect()
}

/// Imports units as TMX; how long that took.
pub fn fill(server: &Server, sources: &[String]) -> Duration {
    let mut document = String::from(concat!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tmx version=\"1.4\"><header creationtool=\"bench\" ",
        "creationtoolversion=\"1\" segtype=\"block\" o-tmf=\"none\" adminlang=\"en\" srclang=\"en\" ",
        "datatype=\"plaintext\"/><body>\n"
    ));
    for (number, source) in sources.iter().enumerate() {
        let source = escaped(source);
        writeln!(
            document,
            "<tu><tuv xml:lang=\"en\"><seg>{source}</seg></tuv><tuv xml:lang=\"de\"><seg>{number} {source}</seg></tuv></tu>"
        )
        .unwrap();
    }
    document.push_str("</body></tmx>\n");
    let begun = Instant::now();
    let told = server.send("POST", &server.at("/memory"), "application/x-tmx+xml", document);
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["written"], sources.len(), "{told}");
    begun.elapsed()
}

/// Asks for suggestions for keys whose sources are these: how long the first answer took, which makes the index, and
/// how many milliseconds those of one caller and of eight took, sorted.
pub fn ask(server: &Server, queries: &[String], expected: &[Vec<u8>]) -> (Duration, [Vec<f64>; 2]) {
    let member = |(number, query): (usize, &String)| (format!("k{number}"), json!(query));
    let file: serde_json::Map<String, Value> = queries.iter().enumerate().map(member).collect();
    server.json("POST", &server.at("/files?kind=json&path=queries.json"), &Value::Object(file));
    let listed: Value = serde_json::from_slice(&server.get(&server.at("/keys?limit=500"))).unwrap();
    let listed = listed["keys"].as_array().unwrap();
    assert_eq!(listed.len(), queries.len());
    let place = |key: &Value| key["path"].as_str().unwrap()[1..].parse::<usize>().unwrap();
    let keys: Vec<(String, usize)> =
        listed.iter().map(|key| (key["id"].as_str().unwrap().to_owned(), place(key))).collect();
    let ask = |(key_id, place): &(String, usize)| {
        let begun = Instant::now();
        let told = server.get(&format!("/v1/keys/{key_id}/suggestions/de"));
        let took = begun.elapsed();
        let told: Value = serde_json::from_slice(&told).unwrap();
        let scores = told["suggestions"].as_array().unwrap().iter().map(|one| one["score"].as_u64().unwrap() as u8);
        assert_eq!(scores.collect::<Vec<u8>>(), expected[*place], "{told}");
        took
    };
    let first = ask(&keys[0]);
    let rounds = || -> Vec<f64> {
        let mut all = Vec::new();
        for _ in 0..ROUNDS {
            all.extend(keys.iter().map(|key| ask(key).as_secs_f64() * 1e3));
        }
        all
    };
    let mut one = rounds();
    let mut eight: Vec<f64> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(rounds)).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    one.sort_by(f64::total_cmp);
    eight.sort_by(f64::total_cmp);
    (first, [one, eight])
}
