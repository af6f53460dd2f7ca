//! Schemas and payloads made at random, beside another validator: Python's jsonschema says whether each fits.
//!
//! `QUINTET_SCHEMA_CASES` tries more of them; a failure prints its seed for `QUINTET_SCHEMA_SEED`.

use std::fmt::Write as _;
use std::io::Write as _;

use fastrand::Rng;
use quintet_platform::json::to_compact;

use super::*;

/// What is tried if nothing is asked for.
const CASES: usize = 2_000;

/// Small sets, so that schemas and payloads meet.
const NAMES: [&str; 4] = ["a", "b", "cc", "d~/"];
const PATTERNS: [&str; 6] = ["^a", "b$", "c{2}", "^[a-c]+$", "^.{0,2}$", "x|a"];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

fn choose<'a>(random: &mut Rng, from: &[&'a str]) -> &'a str {
    from[random.usize(..from.len())]
}

fn value(random: &mut Rng, depth: usize) -> Json {
    let containers = if depth > 0 { 3 } else { 0 };
    match random.usize(..7 + containers * 2) {
        0 => Json::Null,
        1 => Json::Bool(random.bool()),
        2 | 3 => json(choose(random, &["0", "1", "2", "-1", "3", "1.0", "1.5", "0.5", "4", "1e1", "-2.5"])),
        4..=6 => Json::from(choose(random, &["", "a", "b", "ab", "cc", "abc", "ä", "äbc", "xa"])),
        at if at % 2 == 0 => Json::Array((0..random.usize(..4)).map(|_| value(random, depth - 1)).collect()),
        _ => {
            let mut members = Vec::new();
            for name in NAMES {
                if random.bool() {
                    members.push((name.to_owned(), value(random, depth - 1)));
                }
            }
            Json::Object(members)
        }
    }
}

/// A schema without references; those of the whole are added by [`whole`].
fn schema(random: &mut Rng, depth: usize) -> Json {
    match random.usize(..20) {
        0 => return Json::Bool(true),
        1 => return Json::Bool(false),
        2 | 3 if depth > 0 => return Json::object([("$ref", Json::from(choose(random, &["#/$defs/a", "#/$defs/b"])))]),
        _ => {}
    }
    let mut members: Vec<(String, Json)> = Vec::new();
    for _ in 0..random.usize(1..4) {
        let (name, said) = keyword(random, depth);
        if members.iter().all(|(known, _)| *known != name) {
            members.push((name.to_owned(), said));
        }
    }
    Json::Object(members)
}

fn keyword(random: &mut Rng, depth: usize) -> (&'static str, Json) {
    let count = |random: &mut Rng| Json::from(random.u8(..4));
    let number = |random: &mut Rng| json(choose(random, &["0", "1", "2.0", "1.5", "-1", "3"]));
    let names =
        |random: &mut Rng| Json::Array(NAMES.iter().filter(|_| random.bool()).map(|name| Json::from(*name)).collect());
    let one = |random: &mut Rng| schema(random, depth.saturating_sub(1));
    let list = |random: &mut Rng| Json::Array((0..random.usize(1..4)).map(|_| one(random)).collect());
    let named = |random: &mut Rng| {
        let named: Vec<&str> = NAMES.into_iter().filter(|_| random.bool()).collect();
        Json::object(named.into_iter().map(|name| (name, one(random))).collect::<Vec<_>>())
    };
    match random.usize(..if depth > 0 { 36 } else { 17 }) {
        0 => ("type", Json::from(choose(random, &TYPES))),
        1 => (
            "type",
            Json::Array(
                TYPES
                    .iter()
                    .filter(|_| random.bool())
                    .chain(["null"].iter())
                    .take(1)
                    .map(|name| Json::from(*name))
                    .collect(),
            ),
        ),
        2 => ("enum", Json::Array((0..random.usize(1..4)).map(|_| value(random, 1)).collect())),
        3 => ("const", value(random, 1)),
        4 => ("minimum", number(random)),
        5 => ("maximum", number(random)),
        6 => ("exclusiveMinimum", number(random)),
        7 => ("exclusiveMaximum", number(random)),
        8 => ("multipleOf", json(choose(random, &["1", "2", "0.5", "1.5"]))),
        9 => ("minLength", count(random)),
        10 => ("maxLength", count(random)),
        11 => ("pattern", Json::from(choose(random, &PATTERNS))),
        12 => ("required", names(random)),
        13 => (["minItems", "maxItems"][random.usize(..2)], count(random)),
        14 => ("uniqueItems", Json::Bool(random.bool())),
        15 => (["minProperties", "maxProperties"][random.usize(..2)], count(random)),
        16 => ("dependentRequired", Json::object([(choose(random, &NAMES), names(random))])),
        17..=19 => ("properties", named(random)),
        20 => ("patternProperties", Json::object([(choose(random, &PATTERNS), one(random))])),
        21 => ("additionalProperties", one(random)),
        22 => ("propertyNames", one(random)),
        23 | 24 => ("items", one(random)),
        25 => ("prefixItems", list(random)),
        26 => ("contains", one(random)),
        27 => (["minContains", "maxContains"][random.usize(..2)], count(random)),
        28 => ("allOf", list(random)),
        29 => ("anyOf", list(random)),
        30 => ("oneOf", list(random)),
        31 => ("not", one(random)),
        32 => (["if", "then", "else"][random.usize(..3)], one(random)),
        33 => ("dependentSchemas", named(random)),
        34 => ("unevaluatedItems", one(random)),
        _ => ("unevaluatedProperties", one(random)),
    }
}

/// A schema with two more that all of it may refer to, which refer to one another as well.
fn whole(random: &mut Rng) -> Json {
    let mut members = match schema(random, 3) {
        Json::Object(members) => members,
        other => vec![("allOf".to_owned(), Json::Array(vec![other]))],
    };
    members.push(("$defs".to_owned(), Json::object([("a", schema(random, 2)), ("b", schema(random, 2))])));
    Json::Object(members)
}

/// What the other validator says of each line.
fn judged(lines: &str) -> Vec<String> {
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/schemas/judge.py");
    let mut python = Command::new(fetched().join("python/bin/python3"))
        .arg(judge)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It reads everything before it answers.
    python.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn beside_another_validator() {
    let seed = from_environment("QUINTET_SCHEMA_SEED").unwrap_or_else(|| fastrand::u64(..));
    let cases = from_environment("QUINTET_SCHEMA_CASES").unwrap_or(CASES);
    let mut random = Rng::with_seed(seed);
    let (mut lines, mut ours, mut circles) = (String::new(), Vec::new(), 0);
    while ours.len() < cases {
        let text = to_compact(&whole(&mut random));
        let schema = match Schema::compile(&text) {
            Ok(schema) => schema,
            // The other one would not come back from it.
            Err(fault) if fault.to_string().contains("leads back to itself") => {
                circles += 1;
                continue;
            }
            Err(fault) => panic!("{fault}: {text} (QUINTET_SCHEMA_SEED={seed})"),
        };
        for _ in 0..5 {
            let payload = value(&mut random, 3);
            let _ = writeln!(lines, r#"{{"schema":{text},"payload":{}}}"#, to_compact(&payload));
            ours.push(schema.check(&payload));
        }
    }
    let theirs = judged(&lines);
    let fitting = ours.iter().filter(|found| found.is_ok()).count();
    println!("{} payloads, {fitting} of which fit; {circles} schemas with circles left out", ours.len());
    assert_eq!(theirs.len(), ours.len());
    for ((line, found), judged) in lines.lines().zip(&ours).zip(&theirs) {
        let expected = if found.is_ok() { "true" } else { "false" };
        assert_eq!(judged, expected, "{line}: {found:?} (QUINTET_SCHEMA_SEED={seed})");
    }
    assert!(fitting * 10 > ours.len() && fitting * 10 < ours.len() * 9, "{fitting} of {} fit", ours.len());
}

/// Whatever is read as a schema, its check ends and does not panic; whatever is told has its bounds.
#[test]
fn whatever_bytes_say() {
    let seed = from_environment("QUINTET_SCHEMA_SEED").unwrap_or_else(|| fastrand::u64(..));
    let mut random = Rng::with_seed(seed);
    for _ in 0..20_000 {
        let mut text = to_compact(&whole(&mut random)).into_bytes();
        for _ in 0..random.usize(..4) {
            let at = random.usize(..text.len());
            match random.usize(..3) {
                0 => text[at] = random.choice(b"{}[]\",:#/$019-.eE\\ax").copied().unwrap(),
                1 => drop(text.remove(at)),
                _ => text.insert(at, random.choice(b"{}[]\",:#/$019-.eE\\ax").copied().unwrap()),
            }
        }
        let Ok(text) = String::from_utf8(text) else { continue };
        let Ok(schema) = Schema::compile(&text) else { continue };
        if let Err(misfits) = schema.check(&value(&mut random, 4)) {
            assert!((1..=20).contains(&misfits.len()), "{text} (QUINTET_SCHEMA_SEED={seed})");
            assert!(misfits.iter().all(|misfit| misfit.path.len() < 1100 && misfit.message.len() < 600), "{misfits:?}");
        }
    }
}
