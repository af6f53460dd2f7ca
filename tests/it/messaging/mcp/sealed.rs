//! What is sealed: nothing plain goes out of a tool into an encrypted workspace, and no armor comes out of one.

use serde_json::{Value, json};

use super::{answered, call, refused};
use crate::support::appliance::{Client, shared};
use crate::support::messaging::{Agent, Workspace};

/// What has the form of armor; nobody can open it.
const ARMOR: &str = "-----BEGIN AGE ENCRYPTED FILE-----
YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBBQUFBQUFBQUFBQUFBQUFB
QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBCkJCQkJCQkJCQkJCQkJCQkJCQkJC
QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkEKLS0tIEFBQUFBQUFBQUFBQUFBQUFBQUFB
QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUEKBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH
BwcHBwcHBwcHBwcHBwcHBw==
-----END AGE ENCRYPTED FILE-----
";

/// What of the armor may stand nowhere.
const TRACES: [&str; 4] = ["BEGIN AGE", "X25519", "YWdlLWVuY3J5cHRpb24ub3JnL3Yx", "LS0tLS1CRUdJTiBBR0Ug"];

fn sent(from: &Agent, subject: &str) -> Value {
    let base64 = data_encoding::BASE64.encode(ARMOR.as_bytes());
    let files = json!([
        {"filename": "a.age", "content_base64": base64},
        {"filename": "b.age", "content_base64": ARMOR.lines().filter(|line| !line.starts_with('-')).collect::<String>()},
    ]);
    let message = json!({
        "to": ["ann", "room:sealed"], "subject": subject, "text": ARMOR, "sealed": true, "attachments": files,
    });
    from.client.post("/v1/messages", &message).expect(202)
}

/// A result of a tool must have a marker for each of these ids, the note, and no armor.
#[track_caller]
fn withheld(client: &Client, tool: &str, arguments: &Value, ids: &[&Value]) {
    let result = call(client, tool, arguments);
    assert_eq!(result["isError"], false, "{tool}: {result}");
    let whole = result.to_string();
    assert!(TRACES.iter().all(|trace| !whole.contains(trace)), "{tool}: {whole}");
    for id in ids {
        let marker = format!("[sealed: read it with agentbus show {}]", id.as_str().unwrap());
        let count = whole.matches(&marker).count();
        assert!(count >= 2 && count % 2 == 0, "{tool}, as JSON and as text: {whole}");
    }
    let told = &result["structuredContent"];
    assert_eq!(told["sealed_note"].is_string(), !ids.is_empty(), "{tool}: {told}");
}

/// With `--nocapture` it prints the table: each tool that can show a text, and how many it marks.
#[test]
fn no_tool_shows_armor() {
    let workspace = Workspace::encrypted(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    for agent in [&ann, &ben] {
        agent.client.post("/v1/rooms/sealed/join", &json!({})).expect(200);
    }
    let (first, second) = (sent(&ben, "first"), sent(&ben, "second"));
    let inbox = ann.inbox(0);
    let (delivery, message, thread) = (&inbox[0]["delivery_id"], &first["id"], &first["thread_id"]);
    let in_room = [message, &second["id"]];
    let shown: [(&Agent, &str, Value, &[&Value]); 10] = [
        (&ann, "bus_wait", json!({}), &[]),
        (&ann, "bus_inbox", json!({}), &[]),
        (&ann, "bus_verify_sender", json!({"delivery_id": delivery}), &[]),
        (&ann, "bus_read", json!({"delivery_id": delivery}), &[delivery]),
        (&ann, "bus_read", json!({"delivery_id": message}), &[delivery]),
        (&ben, "bus_read", json!({"delivery_id": message}), &[message]),
        (&ann, "bus_thread", json!({"thread_id": thread}), &[message]),
        (&ann, "bus_room_history", json!({"room": "sealed"}), &in_room),
        (&ann, "bus_attachment", json!({"delivery_id": delivery, "index": 0}), &[delivery]),
        (&ann, "bus_attachment", json!({"delivery_id": delivery, "index": 1}), &[delivery]),
    ];
    for (agent, tool, arguments, ids) in shown {
        withheld(&agent.client, tool, &arguments, ids);
        println!("{tool:<20} {} marked", ids.len());
    }
    // The routes show what they always did.
    let whole = ann.client.get(&format!("/v1/deliveries/{}", delivery.as_str().unwrap())).expect(200);
    assert_eq!(whole["text_body"], ARMOR);
}

#[test]
fn tools_write_nothing_into_an_encrypted_workspace() {
    let workspace = Workspace::encrypted(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    ben.client.post("/v1/rooms/sealed/join", &json!({})).expect(200);
    let message = sent(&ben, "first")["id"].clone();
    let draft = json!({"to": ["ben"], "text": ARMOR, "sealed": true});
    let draft = ann.client.post("/v1/drafts", &draft).expect(201)["id"].clone();
    for (tool, arguments) in [
        ("bus_send", json!({"to": "ben", "text": "plain"})),
        ("bus_send", json!({"to": "ben"})),
        ("bus_send", json!({"to": "ben", "text": ARMOR})),
        ("bus_send", json!({"to": "ben", "text": ARMOR, "sealed": true})),
        ("bus_send", json!({})),
        ("bus_reply", json!({"message_id": message, "text": "plain"})),
        ("bus_reply", json!({"message_id": message})),
        ("bus_forward", json!({"delivery_id": message, "to": "ben", "text": "plain"})),
        ("bus_draft", json!({"action": "create", "to": "ben", "text": "plain"})),
        ("bus_draft", json!({"action": "update", "draft_id": draft, "text": "plain"})),
        ("bus_draft", json!({"action": "send", "draft_id": draft})),
    ] {
        refused(&ann.client, tool, &arguments, 422, "sealing_required");
    }
    let listed = answered(&ann.client, "bus_draft", &json!({"action": "list"}));
    assert_eq!(listed["drafts"][0]["id"], draft);
    answered(&ann.client, "bus_draft", &json!({"action": "delete", "draft_id": draft}));
    assert!(ben.inbox(0).iter().all(|row| row["sender_agent_name"] != "ann"), "nothing was sent");
    // All else a tool does there as elsewhere.
    answered(&ann.client, "bus_ack", &json!({"delivery_id": ann.inbox(0)[0]["delivery_id"]}));
    answered(&ann.client, "bus_busy", &json!({"seconds": 0}));
}

/// On a plain workspace somebody may have sealed something all the same.
#[test]
fn armor_in_a_plain_workspace_is_withheld_too() {
    let workspace = Workspace::open(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    ben.client.post("/v1/rooms/sealed/join", &json!({})).expect(200);
    let message = sent(&ben, "first")["id"].clone();
    let delivery = ann.inbox(0)[0]["delivery_id"].clone();
    withheld(&ann.client, "bus_read", &json!({"delivery_id": message}), &[&delivery]);
    refused(&ann.client, "bus_forward", &json!({"delivery_id": delivery, "to": "ben"}), 422, "sealing_required");
    // Words about it, and words around it, stay.
    ben.send(&["ann"], &format!("Look:\n\n{ARMOR}\nIt begins with -----BEGIN AGE ENCRYPTED FILE----- and ends so."));
    let second = ann.inbox(1)[0]["delivery_id"].clone();
    let text = answered(&ann.client, "bus_read", &json!({"delivery_id": second}))["text_body"].clone();
    let marker = format!("[sealed: read it with agentbus show {}]", second.as_str().unwrap());
    let expected = format!("Look:\n\n{marker}\n\nIt begins with -----BEGIN AGE ENCRYPTED FILE----- and ends so.");
    assert_eq!(text, expected);
}
