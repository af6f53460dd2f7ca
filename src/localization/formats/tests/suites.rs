//! The test suites of the formats: what they call wrong is refused, what they call right is read as they say or refused
//! for a reason of ours.

use serde_json::Value;

use super::judge::corpora;
use super::soon;
use crate::formats::{Code, Content, Kind, read};

fn suite(name: &str) -> Vec<Value> {
    let Some(corpora) = corpora() else { return Vec::new() };
    let text = std::fs::read_to_string(corpora.join("suites").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What a JSON or YAML file may be and a string file may not.
const OURS: [Code; 6] = [
    Code::UnsupportedConstruct,
    Code::DuplicateKey,
    Code::KeyInvalid,
    Code::ValueUnrepresentable,
    Code::YamlAliasRefused,
    Code::YamlTagRefused,
];

/// Flow collections whose lines are indented too little: wrong to YAML 1.2, read alike by all programs that matter.
const LENIENT: [&str; 1] = ["9C9N/0"];

/// A tab as the first content of a block scalar: right to YAML 1.2, refused by libyaml and whatever reads with it.
const STRICT: [&str; 3] = ["96NN/0", "96NN/1", "Y79Y/1"];

#[test]
fn json_test_suite() {
    let (mut refused, mut read_well) = (0, 0);
    for case in suite("json.json") {
        let (name, input) = (case["name"].as_str().unwrap(), case["input"].as_str().unwrap());
        // Most cases are arrays, which are no string files; as a value of one they are.
        let wrapped = format!("{{\"a\":{input}}}");
        for file in [input, wrapped.as_str()] {
            let code = read(Kind::Json, file.as_bytes(), soon()).map_err(|refusal| refusal.code).err();
            match name.chars().next().unwrap() {
                'n' => assert!(code.is_some(), "{name}: accepted"),
                'y' => assert!(code.is_none_or(|code| OURS.contains(&code)), "{name}: {code:?}"),
                _ => {}
            }
            if code.is_some() { refused += 1 } else { read_well += 1 }
        }
    }
    println!("JSONTestSuite, each case twice: {refused} refused, {read_well} read");
}

/// The scalars below mappings alone, in order: as `=VAL :text`, written as the suite does.
fn values_of(tree: &str) -> Vec<String> {
    let mut values = Vec::new();
    // For each collection, whether it is a mapping, and whether a key comes next.
    let mut stack: Vec<(bool, bool)> = Vec::new();
    for line in tree.lines() {
        let line = line.trim_start();
        let is_key = matches!(stack.last(), Some((true, true)));
        let begins = ["+MAP", "+SEQ", "=VAL", "=ALI"].iter().any(|sign| line.starts_with(sign));
        if let Some((true, key)) = stack.last_mut().filter(|_| begins) {
            *key = !*key;
        }
        if line.starts_with("+MAP") || line.starts_with("+SEQ") {
            stack.push((line.starts_with("+MAP"), true));
        } else if line.starts_with("-MAP") || line.starts_with("-SEQ") {
            stack.pop();
        } else if let Some(value) = line.strip_prefix("=VAL ").filter(|_| !is_key) {
            values.push(value.strip_prefix("<!> ").unwrap_or(value).to_owned());
        }
    }
    values
}

#[test]
fn yaml_test_suite() {
    let (mut refused_rightly, mut refused_for_us, mut compared) = (0, 0, 0);
    let mut wrong = Vec::new();
    for case in suite("yaml.json") {
        let name = case["name"].as_str().unwrap();
        let yaml = case["yaml"].as_str().unwrap();
        let fails = case["fail"].as_bool().unwrap();
        if LENIENT.contains(&name) {
            continue;
        }
        let document = match read(Kind::Flat, yaml.as_bytes(), soon()) {
            Err(_) if fails => {
                refused_rightly += 1;
                continue;
            }
            Err(refusal) if OURS.contains(&refusal.code) => {
                refused_for_us += 1;
                continue;
            }
            Err(refusal) if STRICT.contains(&name) && refusal.code == Code::Malformed => {
                refused_for_us += 1;
                continue;
            }
            Err(refusal) => {
                wrong.push(format!("{name}: {refusal}\n{yaml}"));
                continue;
            }
            Ok(_) if fails => {
                wrong.push(format!("{name}: accepted\n{yaml}"));
                continue;
            }
            Ok(document) => document,
        };
        // A case without a tree is a variant of the one before.
        let Some(tree) = case["tree"].as_str() else { continue };
        let expected = values_of(tree);
        let mut expected = expected.iter();
        for unit in document.units() {
            let Content::Text(text) = unit.content() else { continue };
            let shown = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
            let shown = shown.replace('\u{8}', "\\b");
            // At an end without a line break the suite has one that is not there; libyaml has not, and neither have we.
            let unbroken = !yaml.ends_with(['\n', '\r']);
            let same = |value: &str| value == shown || (unbroken && value.strip_suffix("\\n") == Some(&shown));
            // Values that are no strings stand between.
            if expected.any(|value| value.get(1..).is_some_and(same)) {
                compared += 1;
            } else {
                wrong.push(format!("{name}: {} is {text:?}\n{yaml}", unit.path()));
            }
        }
    }
    println!(
        "YAML test suite: {refused_rightly} refused as it says, {refused_for_us} for our reasons, {compared} values"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
