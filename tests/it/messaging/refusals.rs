//! What sending and keeping are refused for, by its code. The order of the checks is tried beside the code.

use serde_json::{Value, json};

use crate::support::appliance::{Answer, Setup, shared};
use crate::support::messaging::{Agent, Workspace, refused};

/// Sends a message with these members.
fn send(agent: &Agent, message: Value) -> Answer {
    agent.client.post("/v1/messages", &message)
}

#[test]
fn recipients_that_cannot_be_written_to_are_named_and_nothing_is_accepted() {
    let workspace = Workspace::open(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let told =
        refused(&send(&ann, json!({"to": ["ben", "nobody", "room:none"], "text": "a"})), 422, "unknown_recipient");
    let named: Vec<&Value> = told["errors"].as_array().unwrap().iter().map(|one| &one["recipient"]).collect();
    assert_eq!(named, ["nobody", "room:none"]);
    refused(&send(&ann, json!({"to": ["ben", "tag:skill:none"], "text": "a"})), 422, "unmatched_capability");
    let many: Vec<String> = (0..26).map(|number| format!("a{number}")).collect();
    refused(&send(&ann, json!({"to": many, "text": "a"})), 422, "too_many_recipients");
    ben.client.post("/v1/blocks", &json!({"agent": "ann"})).expect(201);
    refused(&send(&ann, json!({"to": ["ben"], "text": "a"})), 422, "blocked_by_recipient");
    refused(&send(&ann, json!({"to": ["somebody@example.com"], "text": "a"})), 422, "external_mail_unavailable");
    assert_eq!(ben.inbox(0), Vec::<Value>::new());
}

#[test]
fn a_message_that_is_not_to_wait_is_refused_where_it_would() {
    let workspace = Workspace::open(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let message = json!({"to": ["ben"], "text": "a", "require_responsive": true});
    let told = refused(&send(&ann, message), 409, "recipient_not_responsive");
    assert_eq!(told["not_responsive"], json!(["ben"]));
    let away = json!({"state": "dnd", "seconds": 60});
    ben.client.put("/v1/agents/ben/availability", &away).expect(200);
    let message = json!({"to": ["ben"], "text": "a", "require_available": true});
    let told = refused(&send(&ann, message), 409, "recipient_unavailable");
    assert_eq!(
        (&told["withholding"][0]["agent"], &told["withholding"][0]["availability"]),
        (&json!("ben"), &json!("dnd"))
    );
}

#[test]
fn a_day_has_so_many_messages() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    workspace.limit("messages_per_day=1");
    ann.send(&["ann"], "first");
    let answer = ann.send_with(&["ann"], "second", json!({}));
    let told = refused(&answer, 429, "quota_exceeded");
    let expected = json!({"policy_name": "messages_per_day", "limit": 1, "used": 1});
    assert_eq!((&told["blocking_policy"], told["reset_at"].is_string()), (&expected, true));
    assert_eq!(told["retry_after"], json!(answer.header("retry-after").parse::<u64>().unwrap()));
    workspace.limit("messages_per_day=2");
    ann.send(&["ann"], "a limit that is raised holds at once");
}

#[test]
fn an_encrypted_workspace_takes_what_is_sealed_alone() {
    let workspace = Workspace::encrypted(shared());
    let ann = workspace.agent("ann");
    refused(&send(&ann, json!({"to": ["ann"], "text": "plain"})), 422, "sealing_required");
    refused(&send(&ann, json!({"to": ["ann"], "text": "plain", "sealed": true})), 422, "sealing_required");
    refused(&send(&ann, json!({"to": ["a@example.com"], "text": ""})), 422, "external_mail_refused");
}

#[test]
fn what_is_too_large_is_refused() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    refused(&send(&ann, json!({"to": ["ann"], "text": "a".repeat((1 << 20) + 1)})), 413, "payload_too_large");
    let entry = json!({"text": "a".repeat(16_385)});
    refused(&ann.client.post("/v1/memory", &entry), 413, "memory_entry_too_large");
    workspace.limit("memory_entries=1");
    ann.client.post("/v1/memory", &json!({"text": "a"})).expect(201);
    refused(&ann.client.post("/v1/memory", &json!({"text": "b"})), 409, "memory_full");
}

#[test]
fn a_payload_fits_the_schema_of_its_room() {
    let workspace = Workspace::open(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    for agent in [&ann, &ben] {
        agent.client.post("/v1/rooms/builds/join", &json!({})).expect(200);
    }
    let schema = json!({"type": "object", "required": ["commit"], "properties": {"commit": {"type": "string"}}});
    ben.client.put("/v1/rooms/builds/schema", &json!({"schema": schema})).expect(200);
    let message = |payload: Value| json!({"to": ["room:builds"], "text": "built", "payload": payload});
    let told = refused(&send(&ann, message(json!({"commit": 7}))), 422, "payload_invalid");
    assert!(told["errors"][0]["path"].as_str().unwrap().contains("commit"), "{told}");
    send(&ann, message(json!({"commit": "c320d86"}))).expect(202);
    assert_eq!(ben.inbox(0).len(), 1);
}

#[test]
fn a_token_lets_one_new_agent_in_once() {
    let workspace = Workspace::open(shared());
    workspace.agent("ann");
    let token = workspace.admin.post("/v1/invites", &json!({})).expect(201)["token"].clone();
    let stranger = shared().stranger("messaging");
    let join = |name: &str| stranger.post("/v1/agents/join", &json!({"token": token, "name": name}));
    refused(&join("ann"), 409, "name_taken");
    let joined = join("ben").expect(201);
    shared().client("messaging", joined["api_key"].as_str().unwrap()).get("/v1/inbox").expect(200);
    refused(&join("carol"), 401, "invalid_invite");
}

#[test]
fn a_workspace_has_so_many_agents() {
    let appliance = Setup::new().start();
    let workspace = Workspace::open(&appliance);
    workspace.limit("active_agents=1");
    workspace.agent("ann");
    let told = refused(&workspace.admin.post("/v1/agents/register", &json!({"name": "ben"})), 409, "limit_reached");
    assert_eq!((&told["limit"], &told["max"]), (&json!("active_agents"), &json!(1)));
    appliance.cli_json(&["messaging", "agent", "retire", "ann", "--workspace", &workspace.slug]);
    workspace.agent("ben");
}

#[test]
fn a_thread_that_runs_away_is_paused_until_the_operator_says_otherwise() {
    let workspace = Workspace::open(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let thread = ann.send(&["ben"], "0")["thread_id"].clone();
    for number in 1..60 {
        let sent = ann.send_with(&["ben"], &number.to_string(), json!({"thread_id": thread})).expect(202);
        assert_eq!(sent["thread_paused"], false, "{number}: {sent}");
    }
    let sent = ann.send_with(&["ben"], "60", json!({"thread_id": thread})).expect(202);
    assert_eq!((&sent["thread_paused"], &sent["held"][0]["reason"]), (&json!(true), &json!("thread_paused")));
    let texts = |agent: &Agent| agent.inbox(0).iter().filter(|row| row["direction"] == "bus").count();
    assert_eq!(texts(&ben), 60);
    let id = thread.as_str().unwrap();
    let resumed = shared().cli_json(&["messaging", "thread", "resume", id]);
    assert_eq!((&resumed["resumed"], &resumed["workspace"]), (&json!(true), &json!(workspace.slug)));
    assert_eq!(texts(&ben), 61);
    assert_eq!(shared().cli_json(&["messaging", "thread", "resume", id])["resumed"], false);
}
