//! Encrypted workspaces, keys, claims that are run, and leaving.

use super::{Machine, ORIGIN, Pair, Workspace, has, issue};
use crate::support::appliance::{shared, unique};

fn encrypted() -> Workspace {
    let (slug, tenant) = (format!("sealed-{}", unique()), shared().tenant());
    shared().cli_json(&["messaging", "workspace", "create", &slug, "--tenant", &tenant, "--encrypted"]);
    let key = issue(shared(), &slug, "admin", &[]);
    Workspace { slug, key }
}

/// Fingerprints of the keys that an agent has published.
fn published(place: &super::Place<'_>) -> Vec<String> {
    let listed = place.json(&["keys", "list"]);
    let keys = listed["keys"].as_array().unwrap_or_else(|| panic!("{listed}"));
    keys.iter().map(|key| key["fingerprint"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_sealed_goes_end_to_end_through_rotation_and_revocation() {
    let workspace = encrypted();
    let pair = Pair::new(shared(), &workspace);
    let one = pair.one().with("AGENTBUS_AGENT", &pair.one().agent());
    let other = pair.other().with("AGENTBUS_AGENT", &pair.other().agent());
    let said = one.refused(&["send", &other.agent(), "-s", "Plan", "-b", "in the clear"], 3);
    has(&said, &["no public key", &other.agent()]);
    for place in [&one, &other] {
        has(&place.succeed(&["keys", "rotate"]), &["published new key"]);
    }
    std::fs::write(one.directory.join("plan.txt"), "first this, then that").unwrap();
    one.succeed(&["send", &other.agent(), "-s", "Plan", "-b", "sealed words", "-a", "plan.txt"]);
    let row = other.json(&["inbox"])[0].clone();
    assert_eq!((&row["sealed"], &row["attachment_count"]), (&true.into(), &1.into()), "{row}");
    let delivery = row["delivery_id"].as_str().unwrap();
    has(&other.succeed(&["show", delivery]), &["sealed words"]);
    other.succeed(&["attachment", delivery, "-o", "got.txt"]);
    assert_eq!(std::fs::read_to_string(other.directory.join("got.txt")).unwrap(), "first this, then that");
    has(&other.succeed(&["forward", delivery, &one.agent(), "-b", "back"]), &["re-sealed"]);
    has(&other.succeed(&["reply", delivery, "-b", "an answer"]), &["replied:"]);
    let answer = one.json(&["inbox"])[1]["delivery_id"].as_str().unwrap().to_owned();
    has(&one.succeed(&["show", &answer]), &["an answer"]);
    let said = one.refused(&["send", &other.agent(), "-s", "x", "-b", "y", "--payload", "{}"], 3);
    has(&said, &["sealing_required"]);
    // What is sealed to a key that was replaced, and revoked, stays readable where that key is kept.
    let before = published(&other);
    has(&other.succeed(&["keys", "rotate", "--yes"]), &[&before[0], "STILL VALID"]);
    assert_eq!(published(&other).len(), 2);
    has(&other.end(&["keys", "revoke", &before[0]], 2), &["FORWARD ONLY"]);
    has(&other.succeed(&["keys", "revoke", &before[0], "--yes", "--reason", "old"]), &["revoked"]);
    has(&other.succeed(&["keys", "revoke", &before[0], "--yes"]), &["ALREADY revoked"]);
    assert_eq!(published(&other).len(), 1);
    has(&other.succeed(&["show", delivery]), &["sealed words"]);
    one.succeed(&["send", &other.agent(), "-s", "Anew", "-b", "to the new key"]);
    let anew = other.json(&["inbox", "--unread"])[0]["delivery_id"].as_str().unwrap().to_owned();
    has(&other.succeed(&["show", &anew]), &["to the new key"]);
    // Notes and drafts are sealed as well.
    other.succeed(&["memory", "where the key lies"]);
    has(&other.succeed(&["memory", "fetch"]), &["where the key lies"]);
    one.succeed(&["draft", &other.agent(), "-s", "Later", "-b", "to be sealed"]);
}

#[test]
fn a_claim_is_run_by_its_recipient_and_judged() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    let bus = shared().client("messaging", &workspace.key).with("x-agentbus-agent", &one.agent());
    for (repro, code, verdict) in [("exit 3", 0, "VERIFIED"), ("exit 4", 2, "REFUTED")] {
        let claim = serde_json::json!({"assert_text": "it ends with 3", "repro": repro, "expect": {"exit": 3}});
        let message = serde_json::json!({"to": [other.agent()], "subject": repro, "text": "see", "claim": claim});
        bus.post("/v1/messages", &message).expect(202);
        let delivery = other.json(&["inbox", "--unread"])[0]["delivery_id"].as_str().unwrap().to_owned();
        has(&other.succeed(&["verify", &delivery]), &["CLAIM: it ends with 3", &one.agent(), "Not run"]);
        has(&other.end(&["verify", &delivery, "--run"], code), &[verdict, "Recorded as your verdict"]);
        has(&other.succeed(&["verify", &delivery]), &["verdicts:   1", &other.agent()]);
    }
}

#[test]
fn a_checkout_is_left() {
    let workspace = Workspace::new(shared());
    let machine = Machine::signed_in(shared(), &workspace);
    let place = machine.checkout("api", ORIGIN);
    place.succeed(&["register", "--role", "builder"]);
    let agent = place.agent();
    has(&place.succeed(&["teardown", "--purge-key"]), &["wiring removed", &format!("keys/{agent}.env")]);
    assert!(!place.directory.join(".agentbus").exists());
    has(&machine.at_home().succeed(&["phonebook"]), &[&agent]);
}
