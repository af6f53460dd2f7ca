//! Every code that a service can answer has a test that provokes it: one that expects an answer with that code, not one
//! that merely has the word in it.

use std::collections::BTreeSet;
use std::path::Path;

use super::source::{Piece, pieces, tokens};

/// Calls that fail unless an answer is what they are told: the tests' own, and the assertion of what two things are.
const EXPECTATIONS: [&[&str]; 2] = [&["refused", "("], &["assert_eq", "!", "("]];

/// Every known code has a test, and every test is there and expects its code. Tests are written `it/folder/file::name`, or
/// `room/folder::name` for those in a room's own `tests.rs`.
pub fn every_code_is_provoked(known: &BTreeSet<&str>, table: &[(&str, &str)]) {
    let provoked: BTreeSet<&str> = table.iter().map(|(code, _)| *code).collect();
    assert_eq!(&provoked, known);
    let top = std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo");
    for (code, test) in table {
        let (place, name) = test.split_once("::").unwrap();
        let file = match place.split_once('/').unwrap() {
            ("it" | "privileged", _) => format!("tests/{place}.rs"),
            _ => format!("src/{place}/tests.rs"),
        };
        let source = std::fs::read_to_string(Path::new(&top).join(&file)).unwrap();
        let body = test_body(&source, name).unwrap_or_else(|| panic!("{file} has no test {name}"));
        assert!(expects(body, code), "{test} does not provoke {code}: no `refused` and no `assert_eq` is given it");
    }
}

/// The text of a test, from its name on.
fn test_body<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let (before, body) = source.split_once(&format!("fn {name}("))?;
    let attribute = before.trim_end_matches("async ").trim_end().lines().last()?;
    let is_test = attribute.starts_with("#[test]") || attribute.starts_with("#[tokio::test");
    is_test.then(|| &body[..body.find("\n}\n").unwrap_or(body.len())])
}

/// Whether a test expects an answer with this code: the code is given to an expectation, or stands in the list of a loop
/// whose body has one.
fn expects(body: &str, code: &str) -> bool {
    let words = words(body);
    let code = format!("\"{code}\"");
    let mut open = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => drop(open.pop()),
            word if word == code && open.iter().any(|at| is_expectation(&words, *at) || is_tried(&words, *at)) => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// The words and strings of the code, without its comments.
fn words(text: &str) -> Vec<&str> {
    let words = pieces(text).into_iter().flat_map(|piece| match piece {
        Piece::Code(code) => tokens(code).into_iter().map(|token| token.text).collect(),
        Piece::Literal(literal) => vec![literal],
        Piece::Comment(_) => Vec::new(),
    });
    words.collect()
}

/// Whether this bracket opens what an expectation is given.
fn is_expectation(words: &[&str], open: usize) -> bool {
    EXPECTATIONS.iter().any(|call| words[..=open].ends_with(call))
}

/// Whether this bracket opens the list of a loop whose body has an expectation.
fn is_tried(words: &[&str], open: usize) -> bool {
    if !words[..=open].ends_with(&["in", "["]) {
        return false;
    }
    let after = open + inside(&words[open..]).len();
    let Some(body) = words[after..].iter().position(|word| *word == "{").map(|at| inside(&words[after + at..])) else {
        return false;
    };
    EXPECTATIONS.iter().any(|call| body.windows(call.len()).any(|part| part == *call))
}

/// From an opening bracket to the one that closes it.
fn inside<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    let mut depth = 0;
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &words[..=at];
        }
    }
    words
}

#[test]
fn a_code_that_is_not_expected_is_not_provoked() {
    for body in [
        "{ refused(&get(\"/a\"), 404, \"gone\"); }",
        "{ assert_eq!(refused(&get(\"/a\"), 404, \"gone\")[\"detail\"], \"x\"); }",
        "{ assert_eq!((status, &told[\"code\"]), (404, &json!(\"gone\"))); }",
        "{ for (path, code) in [(\"/a\", \"gone\"), (\"/b\", \"lost\")] { refused(&get(path), 404, code); } }",
        "{ for (at, code) in [\"gone\"].iter().enumerate() { assert_eq!(get(at).code, code); } }",
    ] {
        assert!(expects(body, "gone"), "{body}");
    }
    for body in [
        "{ // refused(&get(\"/a\"), 404, \"gone\")\n get(\"/a\"); }",
        "{ refused(&get(\"/a\"), 404, /* \"gone\" */ \"lost\"); }",
        "{ const CODE: &str = \"gone\"; refused(&get(\"/a\"), 404, \"lost\"); }",
        "{ let _ = \"gone\"; refused(&get(\"/a\"), 404, \"lost\"); }",
        "{ let _ = [\"gone\"]; refused(&get(\"/a\"), 404, \"lost\"); }",
        "{ assert_eq!(get(\"/a\").text, r#\"refused(a, 404, \"gone\")\"#); }",
        "{ refused(&get(\"/a\"), 404, \"gone_for_good\"); }",
        "{ for code in [\"gone\"] { drop(code); } refused(&get(\"/a\"), 404, \"lost\"); }",
        "{ let gone = json!({\"code\": \"gone\"}); refused(&get(\"/a\"), 404, \"lost\"); }",
    ] {
        assert!(!expects(body, "gone"), "{body}");
    }
}

#[test]
fn a_function_beside_the_tests_is_none() {
    let source =
        "#[test]\nfn a() {\n    b();\n}\n\nfn b() {\n    c();\n}\n#[tokio::test]\nasync fn d() {\n    e();\n}\n";
    assert_eq!(test_body(source, "a"), Some(") {\n    b();"));
    assert_eq!(test_body(source, "b"), None);
    assert_eq!(test_body(source, "d"), Some(") {\n    e();"));
}
