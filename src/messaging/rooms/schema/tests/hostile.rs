//! Schemas and payloads that are made to take long.

use std::time::{Duration, Instant};

use super::*;

fn nested(depth: usize, open: &str, middle: &str, close: &str) -> String {
    format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
}

fn large(items: usize, item: &str) -> String {
    format!("[{}]", vec![item; items].join(","))
}

/// Each with its schema and payload.
fn hostile() -> Vec<(&'static str, String, String)> {
    let object = |count: usize, member: &dyn Fn(usize) -> String| {
        format!("{{{}}}", (0..count).map(member).collect::<Vec<_>>().join(","))
    };
    let list = |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(",");
    let pattern = |pattern: &str| format!(r#"{{"items": {{"pattern": "{pattern}"}}}}"#);
    let long = |text: &str, bytes: usize| format!(r#"["{}"]"#, text.repeat(bytes / text.len()));
    let mib = 1 << 20;
    vec![
        ("branches that double at each level", r##"{"anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["b"]}, {"properties": {"a": {"$ref": "#"}}, "required": ["b"]}]}"##.into(), nested(60, r#"{"a":"#, "1", "}")),
        ("branches that double at each reference", format!(r##"{{"$ref": "#/$defs/a0", "$defs": {{{}, "a99": false}}}}"##, list(99, &|at| format!(r##""a{at}": {{"anyOf": [{{"$ref": "#/$defs/a{0}"}}, {{"$ref": "#/$defs/a{0}"}}]}}"##, at + 1))), "1".into()),
        ("a long way of references", format!(r##"{{"$ref": "#/$defs/0", "$defs": {{{}, "550": true}}}}"##, list(550, &|at| format!(r##""{at}":{{"$ref":"#/$defs/{}"}}"##, at + 1))), "1".into()),
        ("a way of references at each level", format!(r##"{{"items": {{"$ref": "#/$defs/0"}}, "$defs": {{{}, "400": {{"$ref": "#"}}}}}}"##, list(400, &|at| format!(r##""{at}":{{"$ref":"#/$defs/{}"}}"##, at + 1))), nested(60, "[", "", "]")),
        ("one of thousands", format!(r#"{{"items": {{"oneOf": [{}]}}}}"#, list(3000, &|_| "{}".into())), large(200_000, "1")),
        ("equal items", r#"{"uniqueItems": true}"#.into(), large(200_000, "1")),
        ("items that are long and nearly equal", r#"{"uniqueItems": true}"#.into(), format!("[{}]", list(1000, &|at| format!("\"{}{at}\"", "x".repeat(1000))))),
        ("unique at every level", r##"{"uniqueItems": true, "items": {"$ref": "#"}}"##.into(), nested(60, "[1,", &large(100_000, "1"), "]")),
        ("large choices", format!(r#"{{"items": {{"enum": [{}]}}}}"#, list(1500, &|at| format!(r#""x{at}""#))), large(200_000, r#""x99""#)),
        ("a long choice", format!(r#"{{"items": {{"enum": ["{}"]}}}}"#, "x".repeat(16_000)), format!("[{}]", list(60, &|_| format!("\"{}\"", "x".repeat(16_000))))),
        ("numbers with many digits", r#"{"items": {"multipleOf": 1.234567890123456789, "minimum": 1e-999999}}"#.into(), format!("[{}]", list(1000, &|_| "9".repeat(1000)))),
        ("numbers with large exponents", r#"{"items": {"multipleOf": 3, "maximum": 1e999999999}}"#.into(), large(100_000, "1e999999999")),
        ("members that many patterns are tried on", format!(r#"{{"patternProperties": {{{}}}}}"#, list(100, &|at| format!(r#""^{at}": true"#))), object(50_000, &|at| format!(r#""{at}":1"#))),
        ("many names", format!(r#"{{"items": {{"required": [{}]}}}}"#, list(2500, &|at| format!(r#""{at}""#))), large(200_000, "{}")),
        ("dependents of everything", format!(r#"{{"dependentRequired": {{{}}}}}"#, list(60, &|at| format!(r#""{at}": [{}]"#, list(60, &|at| format!(r#""{at}""#))))), format!("{{{}}}", list(60, &|at| format!(r#""{at}":1"#)))),
        ("looked at by everybody", format!(r#"{{"unevaluatedProperties": true, "anyOf": [{}]}}"#, list(400, &|_| r#"{"properties":{"a":true}}"#.into())), object(50_000, &|at| format!(r#""{at}":1"#))),
        ("contains everything", format!(r#"{{"allOf": [{}]}}"#, list(500, &|_| r#"{"contains": false}"#.into())), large(200_000, "1")),
        ("names as values", r#"{"propertyNames": {"pattern": "a[ab]{20}$"}}"#.into(), object(50_000, &|at| format!(r#""ababababa{at}":1"#))),
        ("many misfits", r#"{"items": false}"#.into(), large(200_000, "1")),
        ("many misfits, deep", r##"{"items": {"$ref": "#"}, "type": "array"}"##.into(), nested(60, "[", &large(100_000, "1"), "]")),
        ("pattern: a count at the end", pattern("[ab]*a[ab]{200}c"), long("ab", mib)),
        ("pattern: counts of what may be empty", pattern("(a?){250}a{250}b"), long("a", mib)),
        ("pattern: counts of counts", pattern("((a{1,9}b?){1,9}c?){1,9}d"), long("aab", mib)),
        ("pattern: classes", pattern(r"(\\p{L}|\\p{N})*\\p{Lu}\\p{N}x"), long("ä1", mib)),
        ("pattern: large classes, counted", pattern(r"\\p{L}{1,12}$"), long("ä", mib)),
        ("pattern: many words", pattern(&format!("({})$", list(90, &|at| format!("w{at}o")).replace(',', "|"))), long("w1w2", mib)),
        ("pattern: a boundary", pattern(r"\\b\\w+\\B\\w+\\b#"), long("äa ", mib)),
        ("pattern: on many short texts", pattern("^[a-z]{2,8}$"), large(150_000, r#""abc""#)),
        ("pattern: dots", pattern(".{100}.{100}x.{3}$"), long("é", mib)),
        ("pattern: unicode negated", pattern(r"[^\\p{L}]{30}\\P{Lu}*!"), long("1", mib)),
    ]
}

/// Long enough for a slow machine with other work; a check takes some 50 ms at most, in an unoptimized build.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn nothing_takes_long() {
    let mut slowest = (Duration::ZERO, "");
    // A part of what threads of a server have.
    let small_stack = std::thread::Builder::new().stack_size(1 << 20);
    let tried = small_stack.spawn(move || {
        for (name, schema, payload) in hostile() {
            let begun = Instant::now();
            let compiled = Schema::compile(&schema);
            assert!(begun.elapsed() < PATIENCE, "{name}: compiling took {:?}", begun.elapsed());
            let Ok(schema) = compiled else { continue };
            let payload = json(&payload);
            let begun = Instant::now();
            let found = schema.check(&payload);
            let took = begun.elapsed();
            assert!(took < PATIENCE, "{name}: a check took {took:?}: {found:?}");
            slowest = slowest.max((took, name));
        }
        slowest
    });
    let (took, name) = tried.unwrap().join().unwrap();
    println!("the slowest check took {took:?}: {name}");
}

#[test]
fn what_cannot_be_finished_does_not_fit() {
    for (name, expected) in [
        ("branches that double at each level", "takes too many steps"),
        ("branches that double at each reference", "takes too many steps"),
        ("a long way of references", "goes too deep"),
        ("unique at every level", "takes too many steps"),
        ("pattern: counts of counts", "takes too many steps"),
    ] {
        let (_, schema, payload) = hostile().into_iter().find(|(known, ..)| *known == name).unwrap();
        let misfits = Schema::compile(&schema).unwrap().check(&json(&payload)).unwrap_err();
        let last = misfits.last().unwrap();
        assert!(last.path.is_empty() && last.message.contains(expected), "{name}: {misfits:?}");
    }
}

/// What people do must not come near the bounds.
#[test]
fn a_large_payload_that_is_checked_in_full() {
    let schema = r#"{"type": "array", "items": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
            "state": {"enum": ["todo", "doing", "done"]},
            "title": {"type": "string", "minLength": 1, "maxLength": 200},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
            "estimate": {"type": "number", "minimum": 0}
        },
        "required": ["id", "state", "title"],
        "additionalProperties": false
    }}"#;
    let item = r#"{"id": "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "state": "doing", "title": "Write it down",
        "tags": ["a", "b", "c"], "estimate": 1.5}"#;
    let payload = format!("[{}]", vec![item; 2_000].join(","));
    assert!(payload.len() > 250_000);
    assert_eq!(Schema::compile(schema).unwrap().check(&json(&payload)), Ok(()));
}
