//! What clients and harnesses ask of the documents, and that the commands in them exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{aliases, document, names};

#[test]
fn one_for_each_harness() {
    assert_eq!(names().collect::<Vec<_>>(), ["claude-code", "opencode", "antigravity"]);
    assert_eq!(aliases().collect::<Vec<_>>(), [("claude", "claude-code"), ("agy", "antigravity")]);
    assert_eq!(document("agy"), document("antigravity"));
    assert_eq!(document("codex"), None);
}

#[test]
fn in_the_form_that_harnesses_and_clients_take() {
    for name in names() {
        let text = document(name).unwrap();
        assert!(text.len() > 500 && text.len() < 20_000, "{name}: {} bytes", text.len());
        assert!(!text.contains('\r') && !text.starts_with('\u{feff}') && text.ends_with('\n'), "{name}");
        let matter = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
        let members: BTreeMap<&str, &str> = matter.lines().filter_map(|line| line.split_once(": ")).collect();
        // The folder that clients put it into.
        assert_eq!(members.get("name"), Some(&"agentbus"), "{name}");
        let description = members["description"];
        // YAML takes a colon or a quote in it for something else.
        assert!(description.len() < 1024 && !description.contains([':', '"', '#']), "{name}: {description}");
    }
}

/// Every `agentbus VERB` of a document, with the flags behind it in the same line or span of code.
fn commands(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let spans: Vec<&str> = if is_block { vec![line] } else { line.split('`').skip(1).step_by(2).collect() };
        for span in spans {
            let mut words = span.split('#').next().unwrap().split_whitespace().skip_while(|word| *word != "agentbus");
            words.next();
            // Before the verb stand only these, with what they are given.
            let mut verb = words.next();
            while let Some(flag) = verb.filter(|word| word.starts_with("--")) {
                verb = if flag == "--json" { words.next() } else { words.nth(1) };
            }
            let Some(verb) = verb.filter(|verb| verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
            else {
                continue;
            };
            let flags = words.filter(|word| word.len() > 1 && word.starts_with('-')).map(str::to_owned).collect();
            found.push((verb.to_owned(), flags));
        }
    }
    found
}

fn client() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/messaging/fetch.sh");
    let fetched = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(fetched.status.success(), "the client cannot be had");
    PathBuf::from(String::from_utf8(fetched.stdout).unwrap().trim()).join("python/bin/agentbus")
}

/// What the client says of itself, in a home where it knows nobody.
fn told(client: &Path, arguments: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(client).args(arguments).env_clear().env("HOME", home.path()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_client_has_every_command_and_flag() {
    let client = client();
    let verbs = told(&client, &["quickref", "--verbs"]);
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = 0;
    for (verb, flags) in names().flat_map(|name| commands(document(name).unwrap())) {
        assert!(verbs.lines().any(|known| known.trim() == verb), "there is no agentbus {verb}");
        let help = helps.entry(verb.clone()).or_insert_with(|| told(&client, &[&verb, "--help"]));
        for flag in flags {
            let is_known = help.split([' ', ',', '\n']).any(|word| word == flag);
            assert!(is_known, "agentbus {verb} has no {flag}");
            seen += 1;
        }
    }
    assert!(helps.len() > 25 && seen > 25, "{} verbs, {seen} flags", helps.len());
}
