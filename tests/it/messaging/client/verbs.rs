//! Each verb, once in plain and, where shapes matter, as JSON.

use serde_json::Value;

use super::{Pair, Workspace, has, issue};
use crate::support::appliance::{shared, shared_rehearsal, stderr, stdout};

/// The id of what was sent.
fn sent_id(answer: &Value) -> String {
    answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The delivery at the end of somebody's inbox.
fn last(inbox: &Value) -> Value {
    inbox.as_array().unwrap().last().unwrap_or_else(|| panic!("{inbox}")).clone()
}

#[test]
fn mail_is_sent_read_answered_and_acknowledged() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    let said = one.succeed(&["send", &other.agent(), "-s", "Schema", "-b", "Is column a nullable?", "-p", "urgent"]);
    has(&said, &["sent ", "to 1 recipient", "thread:"]);
    let inbox = other.succeed(&["inbox", "--unread"]);
    has(&inbox, &["* #1", &one.agent(), "Schema"]);
    let row = last(&other.json(&["inbox"]));
    let delivery = row["delivery_id"].as_str().unwrap();
    has(&other.succeed(&["show", delivery]), &["Schema", "Is column a nullable?", "Signed:  no"]);
    has(&other.succeed(&["inbox", "--unread"]), &["no new messages"]);
    let replied = other.succeed(&["reply", delivery, "-b", "It is."]);
    has(&replied, &["replied:", &one.agent()]);
    let answer = last(&one.json(&["inbox"]));
    assert_eq!(answer["subject"], "Re: Schema");
    assert_eq!(answer["thread_id"], row["thread_id"]);
    let thread = one.succeed(&["thread", row["thread_id"].as_str().unwrap()]);
    has(&thread, &["# Schema", "[active]", "2 message(s)", "It is."]);
    has(&other.succeed(&["ack", delivery]), &["acked "]);
    has(&other.succeed(&["labels", delivery, "--add", "done", "--add", "db"]), &["labels: ", "done"]);
    has(&other.succeed(&["labels", delivery, "--remove", "db"]), &["labels: done"]);
    assert_eq!(other.json(&["inbox", "--label", "done"]).as_array().unwrap().len(), 1);
    let sent = one.json(&["sent"]);
    assert_eq!(sent["sent"][0]["subject"], "Schema");
    has(&other.succeed(&["inbox", "--cursor", "1"]), &["no messages after cursor 1"]);
}

#[test]
fn files_go_along_and_are_forwarded() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    let bytes: Vec<u8> = (0..200_000_u32).map(|number| (number * 7 % 251) as u8).collect();
    std::fs::write(one.directory.join("data.bin"), &bytes).unwrap();
    one.succeed(&["send", &other.agent(), "-s", "Data", "-b", "attached", "-a", "data.bin"]);
    let delivery = last(&other.json(&["inbox"]));
    assert_eq!(delivery["attachment_count"], 1);
    let delivery = delivery["delivery_id"].as_str().unwrap();
    has(&other.succeed(&["attachment", delivery, "-o", "got.bin"]), &["wrote", "200000 bytes"]);
    assert_eq!(std::fs::read(other.directory.join("got.bin")).unwrap(), bytes);
    has(&other.succeed(&["forward", delivery, &one.agent(), "-b", "back to you"]), &["forwarded:"]);
    let back = last(&one.json(&["inbox"]));
    assert_eq!((&back["subject"], &back["attachment_count"]), (&"Fwd: Data".into(), &1.into()));
}

#[test]
fn rooms_tags_and_the_phonebook_agree() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    has(&other.succeed(&["tag", "skill=playwright", "skill:rust"]), &["skill\tplaywright", "2/50 tags"]);
    for (expression, count) in [("skill=playwright", 1), ("skill:rust", 1), ("skill", 1)] {
        let listed = one.json(&["phonebook", "--label", expression]);
        assert_eq!(listed.as_array().unwrap().len(), count, "{expression}");
        let sent = one.json(&["send", &format!("tag:{expression}"), "-s", "tagged", "-b", "x"]);
        assert_eq!(sent["delivery_count"], count, "{expression}");
    }
    let unmatched = one.refused(&["send", "tag:skill=cobol", "-s", "x", "-b", "y"], 3);
    has(&unmatched, &["unmatched_capability"]);
    let room = one.json(&["whoami"])["rooms"][0].as_str().unwrap().to_owned();
    assert!(room.contains("repo:e1dcaa3496b9"), "{room}");
    let sent = one.json(&["send", "room:repo:e1dcaa3496b9", "-s", "to the room", "-b", "all"]);
    assert_eq!(sent["delivery_count"], 1);
    has(&other.succeed(&["history", "repo:e1dcaa3496b9"]), &["to the room"]);
    let schema = r#"{"type": "object", "required": ["build"]}"#;
    one.succeed(&["schema", "repo:e1dcaa3496b9", "--set", schema]);
    let wrong = one.refused(&["send", "room:repo:e1dcaa3496b9", "-s", "x", "-b", "y", "--payload", "{}"], 3);
    has(&wrong, &["payload_invalid"]);
    one.succeed(&["send", "room:repo:e1dcaa3496b9", "-s", "x", "-b", "y", "--payload", r#"{"build": 7}"#]);
    one.succeed(&["schema", "repo:e1dcaa3496b9", "--clear"]);
}

#[test]
fn what_cannot_be_sent_says_why() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    let said = one.refused(&["send", "nobody", "nowhere", "-s", "x", "-b", "y"], 3);
    has(&said, &["unknown_recipient", "nobody", "nowhere"]);
    let many: Vec<String> = (0..26).map(|number| format!("agent-{number}")).collect();
    let mut arguments = vec!["send"];
    arguments.extend(many.iter().map(String::as_str));
    arguments.extend(["-s", "x", "-b", "y"]);
    has(&one.refused(&arguments, 3), &["too_many_recipients"]);
    other.succeed(&["status", "dnd", "--for", "600"]);
    let said = one.refused(&["send", &other.agent(), "-s", "x", "-b", "y", "--require-available"], 3);
    has(&said, &["recipient_unavailable"]);
    other.succeed(&["block", &one.agent(), "--reason", "noise"]);
    has(&one.refused(&["send", &other.agent(), "-s", "x", "-b", "y"], 3), &["blocked_by_recipient"]);
    has(&other.succeed(&["blocks"]), &[&one.agent(), "noise"]);
    has(&other.succeed(&["whoami"]), &["1 active"]);
    other.succeed(&["unblock", &one.agent()]);
}

#[test]
fn mail_waits_for_who_does_not_want_it() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    has(&other.succeed(&["status", "dnd", "--for", "600", "--reason", "deep work"]), &["dnd until", "HELD"]);
    let sent = one.json(&["send", &other.agent(), "-s", "Later", "-b", "x"]);
    assert_eq!(sent["held"][0]["agent"], other.agent().as_str());
    assert_eq!(sent["held"][0]["reason"], "deep work");
    one.succeed(&["send", &other.agent(), "-s", "Now", "-b", "x", "-p", "urgent"]);
    let inbox = other.json(&["inbox"]);
    assert_eq!(inbox.as_array().unwrap().len(), 1, "{inbox}");
    has(&other.succeed(&["status"]), &["dnd until", "1 message(s) held"]);
    has(&other.succeed(&["status", "online"]), &["released 1 withheld message(s)"]);
    let subjects: Vec<Value> =
        other.json(&["inbox"]).as_array().unwrap().iter().map(|row| row["subject"].clone()).collect();
    assert_eq!(subjects, ["Now", "Later"]);
    has(&other.succeed(&["busy", "300", "--reason", "tests"]), &["busy until"]);
    has(&other.succeed(&["busy", "0"]), &["busy cleared"]);
}

#[test]
fn drafts_notes_and_limits() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    let draft = sent_id(&one.json(&["draft", &other.agent(), "-s", "Plan", "-b", "first thoughts"]));
    has(&one.succeed(&["drafts"]), &["Plan"]);
    one.succeed(&["draft-send", &draft]);
    has(&other.succeed(&["inbox"]), &["Plan"]);
    assert_eq!(one.json(&["drafts"]).as_array().unwrap().len(), 0);
    one.succeed(&["memory", "the tests need PostgreSQL"]);
    one.succeed(&["memory", "port 8080 is taken"]);
    has(&one.succeed(&["memory", "fetch"]), &["the tests need PostgreSQL", "port 8080 is taken"]);
    one.succeed(&["memory", "rm", "1"]);
    one.succeed(&["memory", "truncate", "--first", "1"]);
    has(&one.succeed(&["usage"]), &["messages"]);
    has(&one.succeed(&["liveness"]), &[&one.agent(), &other.agent()]);
    has(&one.succeed(&["phonebook", "tester"]), &[&other.agent()]);
    one.succeed(&["qr"]);
    one.succeed(&["identities", "--remote"]);
    let batch = format!(r#"{{"to": ["{}"], "subject": "batch", "text": "one"}}"#, other.agent());
    let mut child = one.program("agentbus").arg("send-batch").stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), format!("{batch}\n{batch}\n").as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(last(&other.json(&["inbox"]))["subject"], "batch");
}

#[test]
fn reminders_come_and_what_is_owed_is_known() {
    let appliance = shared_rehearsal();
    let workspace = Workspace::new(appliance);
    let pair = Pair::new(appliance, &workspace);
    let (one, other) = (pair.one(), pair.other());
    one.succeed(&["remind", "-m", "look at the build", "-s", "Build", "--delay", "2h"]);
    one.succeed(&["remind", "-m", "later", "--target", &other.agent(), "--at", "2090-08-22 09:00"]);
    let listed = one.json(&["reminds"]);
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    appliance.cli_json(&["clock", "advance", "7300"]);
    has(&one.succeed(&["inbox"]), &["Reminder: Build"]);
    one.succeed(&["send", &other.agent(), "-s", "Sign this", "-b", "x", "--require-ack", "--ack-window", "1h"]);
    has(&one.succeed(&["reminders", "--owed"]), &["Sign this"]);
    has(&other.succeed(&["reminders", "--owing"]), &["Sign this"]);
    let delivery = last(&other.json(&["inbox"]))["delivery_id"].as_str().unwrap().to_owned();
    other.succeed(&["ack", &delivery]);
    assert!(!other.succeed(&["reminders", "--owing"]).contains("Sign this"));
}

#[test]
fn what_is_signed_can_be_checked() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one().with("AGENTBUS_AGENT", &pair.one().agent()), pair.other());
    one.succeed(&["keys", "sign"]);
    one.succeed(&["send", &other.agent(), "-s", "Signed", "-b", "by me"]);
    let delivery = last(&other.json(&["inbox"]))["delivery_id"].as_str().unwrap().to_owned();
    has(&other.succeed(&["verify-sender", &delivery]), &["VERIFIED"]);
    has(&other.succeed(&["show", &delivery]), &["Signed:  yes"]);
    pair.other().succeed(&["send", &one.agent(), "-s", "Unsigned", "-b", "x"]);
    let unsigned = last(&one.json(&["inbox"]))["delivery_id"].as_str().unwrap().to_owned();
    has(&one.end(&["verify-sender", &unsigned], 2), &[]);
}

#[test]
fn an_operator_sees_what_a_read_key_must_not_change() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    one.succeed(&["send", &other.agent(), "-s", "Unread", "-b", "x"]);
    let reader = issue(shared(), &workspace.slug, "read", &[]);
    let glance = pair.machine.at_home().with("AGENTBUS_API_KEY", &reader);
    let name = other.agent();
    let delivery = last(&glance.json(&["--agent", &name, "inbox"]))["delivery_id"].as_str().unwrap().to_owned();
    glance.succeed(&["--agent", &name, "show", &delivery]);
    has(&other.succeed(&["inbox", "--unread"]), &["Unread"]);
    has(&glance.refused(&["--agent", &name, "send", &name, "-s", "x", "-b", "y"], 3), &["permission_denied"]);
}

#[test]
fn a_person_says_yes_or_no() {
    let workspace = Workspace::new(shared_rehearsal());
    let pair = Pair::new(shared_rehearsal(), &workspace);
    let one = pair.one();
    let decide = |id: &str, further: &[&str]| {
        shared_rehearsal().cli_json(&[&["messaging", "approval", "decide", id, "--verdict"], further].concat())
    };
    let raise = |title: &str| {
        let said = one.succeed(&["approve", title, "--summary", "all tests pass"]);
        said.split_whitespace().find(|word| word.len() == 26).unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let said = one.end(&["approve", "Deploy 4.2", "--wait", "1"], 7);
    has(&said, &["pending"]);
    let (approved, rejected, forgotten) = (raise("One"), raise("Two"), raise("Three"));
    one.end(&["approval", &approved], 7);
    decide(&approved, &["approved", "--by", "Ada"]);
    has(&one.succeed(&["approval", &approved]), &["approved"]);
    decide(&rejected, &["rejected", "--reason", "not before Monday"]);
    let said = one.run(&["approval", &rejected]);
    let said = (said.status.code(), format!("{}{}", stdout(&said), stderr(&said)));
    assert_eq!(said.0, Some(1), "{}", said.1);
    has(&said.1, &["rejected", "DO NOT PROCEED", "not before Monday"]);
    shared_rehearsal().cli_json(&["clock", "advance", "86400"]);
    let said = one.run(&["approval", &forgotten]);
    let said = (said.status.code(), format!("{}{}", stdout(&said), stderr(&said)));
    assert_eq!(said.0, Some(1), "{}", said.1);
    has(&said.1, &["timed_out", "DO NOT PROCEED"]);
    has(&one.succeed(&["inbox"]), &["Approval approved: One", "Approval rejected: Two", "Approval timed out: Three"]);
    has(&one.refused(&["approve", "x", "--kind", "deploy-prod"], 3), &["approvals_not_configured"]);
}
