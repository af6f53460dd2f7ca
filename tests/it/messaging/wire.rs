//! Requests as the public client was seen to send them (`wire.jsonl`: command, method, path, header fields, body), one after
//! the other against a workspace that has what they name.

use serde_json::{Value, json};

use crate::support::appliance::shared;
use crate::support::messaging::Workspace;

/// What the recording calls the agent that asks, and one that it writes to.
const ASKING: &str = "builder-abc123";
const PEER: &str = "peer";

/// The status that an answer must have, and its code if it is a refusal.
fn expected(method: &str, path: &str, body: &Value) -> (Vec<u16>, Value) {
    // Nothing goes out without a domain; the other recipients are as they should be.
    if body["to"].as_array().is_some_and(|to| to.contains(&"bob@example.com".into())) && path == "/v1/messages" {
        return (vec![422], "external_mail_unavailable".into());
    }
    (if method == "POST" { vec![200, 201, 202] } else { vec![200] }, Value::Null)
}

#[test]
fn what_the_client_was_seen_to_send_is_answered() {
    let workspace = Workspace::open(shared());
    let (asking, peer) = (workspace.agent(ASKING), workspace.agent(PEER));
    for agent in [&asking, &peer] {
        agent.client.post("/v1/rooms/repo-x/join", &json!({})).expect(200);
    }
    let tagged = workspace.agent_with("tagged", json!({"labels": {"skill": "playwright"}}));
    let sent = peer.send(&[ASKING], "look at this");
    let delivery = asking.inbox(0).remove(0);
    let kind = ["messaging", "approval", "kind", "set", "deploy-prod", "--workspace", &workspace.slug];
    shared().cli_json(&kind);
    let raised = asking.client.post("/v1/approvals", &json!({"title": "Deploy v41"})).expect(201);
    let names = [
        ("01A", raised["id"].as_str().unwrap()),
        ("01D", delivery["delivery_id"].as_str().unwrap()),
        ("01M", sent["id"].as_str().unwrap()),
        ("01T", sent["thread_id"].as_str().unwrap()),
    ];
    // Word by word: an id can hold another's name.
    let named = |text: &str| -> String {
        let words = text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric());
        let one = |word: &str| {
            let id =
                names.iter().find(|(name, _)| word.trim_end_matches(|end: char| !end.is_ascii_alphanumeric()) == *name);
            id.map_or_else(|| word.to_owned(), |(name, id)| word.replace(name, id))
        };
        words.map(one).collect()
    };
    let mut answered = 0;
    for line in include_str!("wire.jsonl").lines() {
        let seen: Value = serde_json::from_str(line).unwrap();
        let (method, path) = (seen["method"].as_str().unwrap(), named(seen["path"].as_str().unwrap()));
        let (statuses, code) = expected(method, &path, &seen["body"]);
        let fields = seen["headers"].as_object().unwrap().iter();
        let fields: Vec<(&str, &str)> = fields
            .filter(|(name, _)| *name != "Authorization")
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let body = if seen["body"].is_null() { String::new() } else { named(&seen["body"].to_string()) };
        let answer = workspace.admin.send(method, &path, &fields, body.as_bytes());
        assert!(statuses.contains(&answer.status), "{line}\n{answer:?}");
        assert_eq!(answer.json()["code"], code, "{line}\n{answer:?}");
        answered += 1;
    }
    assert_eq!(answered, 44);
    // What they changed is what they say.
    let thread = asking.client.get(&named("/v1/threads/01T")).expect(200);
    assert_eq!(thread["count"], 2, "the answer to it: {thread}");
    let read = asking.client.get(&named("/v1/deliveries/01D")).expect(200);
    assert_eq!((&read["state"], &read["labels"]), (&"acked".into(), &json!(["done"])));
    let found = tagged.client.get("/v1/agents?label=skill%3Dplaywright").expect(200);
    assert_eq!(found["count"], 2, "it wears the tag as well now: {found}");
}
