//! What harnesses run at the begin of a session, before a tool and at the end of a turn.

use std::io::Write as _;
use std::process::{Output, Stdio};

use super::{Pair, Place, Workspace, has};
use crate::support::appliance::{shared, stderr, stdout};

fn hook(place: &Place<'_>, name: &str, input: &str) -> Output {
    let mut command = place.program("agentbus-hook");
    command.arg(name).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_session_hears_of_its_mail_and_is_woken_once() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let name = pair.other().agent();
    let (one, other) = (pair.one(), pair.other().with("AGENTBUS_AGENT", &name).with("AGENTBUS_REWAKE_WINDOW", "0"));
    let quiet = hook(&other, "session-start", "{}");
    assert_eq!((quiet.status.code(), stdout(&quiet).as_str()), (Some(0), ""), "{}", stderr(&quiet));
    one.succeed(&["send", &name, "-s", "While you slept", "-b", "x"]);
    has(&stdout(&hook(&other, "session-start", "{}")), &["1 unread message(s)", "While you slept", "agentbus show"]);
    has(&stdout(&hook(&other, "pending", "{}")), &["1 unread message(s) waiting", "While you slept"]);
    let woken = hook(&other, "monitor", "{}");
    assert_eq!(woken.status.code(), Some(2), "{}{}", stdout(&woken), stderr(&woken));
    assert_eq!(hook(&other, "monitor", "{}").status.code(), Some(0), "each message wakes once");
}

#[test]
fn a_long_poll_ends_with_the_mail_that_comes() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let name = pair.other().agent();
    let (one, other) = (pair.one(), pair.other().with("AGENTBUS_AGENT", &name).with("AGENTBUS_REWAKE_WINDOW", "60"));
    let began = std::time::Instant::now();
    let woken = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| hook(&other, "monitor", "{}"));
        std::thread::sleep(std::time::Duration::from_millis(1500));
        one.succeed(&["send", &name, "-s", "Wake", "-b", "x"]);
        waiting.join().unwrap()
    });
    assert_eq!(woken.status.code(), Some(2), "{}{}", stdout(&woken), stderr(&woken));
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "it was woken, and did not wait for its time");
}

#[test]
fn a_tool_is_used_when_the_guard_says_so() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let name = pair.one().agent();
    let key = super::issue(shared(), &workspace.slug, "send", &[&name]);
    let one = pair.one().with("AGENTBUS_AGENT", &name).with("AGENTBUS_API_KEY", &key);
    let rules = one.directory.join("rules.json");
    std::fs::write(
        &rules,
        r#"[{"tool": "Write", "action": "deny", "reason": "nothing is written here"},
        {"tool": "Bash", "field": "command", "contains": "deploy", "action": "approval"}]"#,
    )
    .unwrap();
    let set = ["messaging", "guard", "set", rules.to_str().unwrap(), "--workspace", &workspace.slug];
    shared().cli_json(&set);
    let ask = |tool: &str, input: &str| {
        let asked = hook(&one, "pre-tool-use", &format!(r#"{{"tool_name": "{tool}", "tool_input": {input}}}"#));
        assert_eq!(asked.status.code(), Some(0), "{}", stderr(&asked));
        format!("{}{}", stdout(&asked), stderr(&asked))
    };
    has(&ask("Read", "{}"), &["\"allow\""]);
    has(&ask("Write", "{}"), &["\"deny\"", "nothing is written here"]);
    let denied = ask("Bash", r#"{"command": "make deploy"}"#);
    has(&denied, &["\"deny\"", "agentbus approval ", "--wait 300"]);
    let words: Vec<&str> = denied.split(|char: char| !char.is_ascii_alphanumeric()).collect();
    let id = words.iter().find(|word| word.len() == 26).unwrap_or_else(|| panic!("{denied}"));
    shared().cli_json(&["messaging", "approval", "decide", id, "--verdict", "approved"]);
    has(&ask("Bash", r#"{"command": "make deploy"}"#), &["\"allow\""]);
    has(&ask("Bash", r#"{"command": "make deploy"}"#), &["\"deny\""]);
    has(&ask("Bash", r#"{"command": "ls"}"#), &["\"allow\""]);
}
