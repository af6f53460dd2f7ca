//! Who is let in, as which agent, and what is no call of a tool.

use serde_json::{Value, json};

use super::{answered, call, refused, speak};
use crate::support::appliance::{Client, shared};
use crate::support::messaging::{AS_AGENT, Workspace};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[test]
fn other_methods_are_told_in_plain_words_whoever_asks() {
    let workspace = Workspace::open(shared());
    for client in [&workspace.admin, &shared().stranger("messaging"), &shared().client("messaging", "ab_sk_x")] {
        for path in ["/mcp", "/mcp/"] {
            for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
                for accept in ["text/html", "text/event-stream", "*/*"] {
                    let answer = client.send(method, path, &[("accept", accept)], b"");
                    assert_eq!((answer.status, answer.header("allow")), (405, "POST"), "{method} {path}");
                    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
                    assert!((1..200).contains(&answer.text.len()), "{answer:?}");
                }
            }
            assert_eq!(client.send("HEAD", path, &[], b"").status, 405);
        }
    }
}

#[test]
fn whoever_has_no_key_learns_nothing() {
    let workspace = Workspace::open(shared());
    let revoked = workspace.key("read", &[]);
    let id = revoked.split('_').nth(2).unwrap().to_owned();
    workspace.admin.delete(&format!("/v1/keys/{id}")).expect(200);
    let ledger = shared().cli_json(&["tenant", "create", &format!("l{id}"), "--services", "ledger"]);
    let foreign = shared().key(ledger["tenant_id"].as_str().unwrap(), &["ledger_reader"]).1;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bus_whoami"}}"#;
    for key in [None, Some("ab_sk_x"), Some(""), Some(revoked.as_str()), Some(foreign.as_str())] {
        let client = key.map_or_else(|| shared().stranger("messaging"), |key| shared().client("messaging", key));
        for (path, body) in [("/mcp", LIST), ("/mcp/", LIST), ("/mcp", call), ("/mcp", "{"), ("/mcp", "")] {
            let answer = speak(&client, path, &[], body);
            let code = if key.is_none() { "unauthenticated" } else { "invalid_api_key" };
            let told = crate::support::messaging::refused(&answer, 401, code);
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{told}");
        }
    }
    let reader = workspace.client("read", &[]);
    for path in ["/mcp", "/mcp/"] {
        let listed = speak(&reader, path, &[], LIST).expect(200);
        assert!(listed["result"]["tools"].as_array().unwrap().len() > 20, "any key of the workspace may list");
    }
    shared().cli_json(&["messaging", "workspace", "suspend", &workspace.slug]);
    let answer = speak(&reader, "/mcp", &[], LIST);
    crate::support::messaging::refused(&answer, 403, "workspace_suspended");
    shared().cli_json(&["messaging", "workspace", "activate", &workspace.slug]);
    shared().cli_json(&["messaging", "workspace", "delete", &workspace.slug, "--yes"]);
    let answer = speak(&reader, "/mcp", &[], LIST);
    crate::support::messaging::refused(&answer, 410, "workspace_deleted");
}

#[test]
fn a_call_acts_as_the_argument_says_then_the_header_then_the_key() {
    let workspace = Workspace::open(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let name = |client: &Client, arguments: Value| answered(client, "bus_whoami", &arguments)["agent"]["name"].clone();
    assert_eq!(name(&ann.client, json!({})), "ann");
    assert_eq!(name(&workspace.admin, json!({})), Value::Null, "an unbound key acts as nobody");
    assert_eq!(name(&workspace.admin, json!({"agent": null})), Value::Null);
    assert_eq!(name(&workspace.admin, json!({"agent": "ben"})), "ben");
    assert_eq!(name(&workspace.acting("ann"), json!({})), "ann");
    assert_eq!(name(&workspace.acting("ann"), json!({"agent": "ben"})), "ben");
    let both = workspace.client("send", &["ann", "ben"]);
    assert_eq!(name(&both, json!({"agent": "ben"})), "ben");
    assert_eq!(name(&both, json!({})), Value::Null);
    refused(&both, "bus_inbox", &json!({}), 403, "permission_denied");
    refused(&ann.client, "bus_whoami", &json!({"agent": "ben"}), 403, "key_agent_mismatch");
    refused(&workspace.admin, "bus_whoami", &json!({"agent": "none"}), 404, "not_found");
    for unclear in ["", " ", "\u{e9}"] {
        refused(&workspace.admin, "bus_whoami", &json!({"agent": unclear}), 403, "key_agent_mismatch");
    }
    for wrong in [json!(7), json!(["ann"]), json!("a\r\nx: y")] {
        refused(&workspace.admin, "bus_whoami", &json!({"agent": wrong}), 422, "validation_error");
    }
    let twice = workspace.acting("ann").with(AS_AGENT, "ben");
    refused(&twice, "bus_whoami", &json!({}), 403, "key_agent_mismatch");
    // What an agent does to itself it does to none other, and nobody does it to nobody.
    for tool in ["bus_tag", "bus_heartbeat", "bus_busy", "bus_status", "bus_health"] {
        let told = refused(&workspace.admin, tool, &json!({}), 403, "permission_denied");
        assert!(told["detail"].as_str().unwrap().contains("agent to act as"), "{tool}: {told}");
    }
    answered(&workspace.admin, "bus_tag", &json!({"agent": "ben", "set": {"a": ""}}));
    answered(&ann.client, "bus_tag", &json!({"name": "ben", "set": {"b": ""}}));
    let labels = |name: &str| ben.client.get(&format!("/v1/agents/{name}")).expect(200)["labels"].clone();
    assert_eq!((labels("ann"), labels("ben")), (json!({"b": ""}), json!({"a": ""})));
    shared().cli_json(&["messaging", "agent", "retire", "ben", "--workspace", &workspace.slug]);
    refused(&ben.client, "bus_inbox", &json!({}), 410, "agent_retired");
    answered(&ben.client, "bus_register", &json!({}));
    answered(&ben.client, "bus_inbox", &json!({}));
}

#[test]
fn a_tool_wants_the_scope_of_its_route() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    ann.send(&["ann"], "a");
    let delivery = ann.inbox(0)[0]["delivery_id"].clone();
    let reader = workspace.client("read", &["ann"]);
    for (tool, arguments) in [
        ("bus_whoami", json!({})),
        ("bus_read", json!({"delivery_id": delivery})),
        ("bus_wait", json!({"seconds": 1})),
        ("bus_verify_sender", json!({"delivery_id": delivery})),
        ("bus_status", json!({})),
    ] {
        answered(&reader, tool, &arguments);
    }
    assert_eq!(ann.inbox(0)[0]["read_at"], Value::Null, "a key of scope read marks nothing read");
    for (tool, arguments) in [
        ("bus_send", json!({"to": "ann", "text": "t"})),
        ("bus_send", json!({})),
        ("bus_reply", json!({})),
        ("bus_forward", json!({"delivery_id": delivery, "to": "ann"})),
        ("bus_ack", json!({"delivery_id": delivery})),
        ("bus_ack", json!({"delivery_id": []})),
        ("bus_tag", json!({})),
        ("bus_status", json!({"state": "dnd"})),
        ("bus_draft", json!({"action": "list"})),
        ("bus_register", json!({"name": "ann"})),
    ] {
        refused(&reader, tool, &arguments, 403, "permission_denied");
    }
}

#[test]
fn what_is_no_call_is_an_error_and_what_is_a_wrong_one_is_a_problem() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    for (body, code) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bus_nothing"}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#, -32601),
    ] {
        let told = speak(&ann.client, "/mcp", &[], body).expect(200);
        assert_eq!(told["error"]["code"], code, "{told}");
    }
    let told = speak(&ann.client, "/mcp", &[], "{").expect(400);
    assert_eq!(told["error"]["code"], -32700);
    for (tool, arguments, field) in [
        ("bus_read", json!({}), "delivery_id"),
        ("bus_read", json!({"delivery_id": 5}), "delivery_id"),
        ("bus_read", json!({"delivery_id": null}), "delivery_id"),
        ("bus_phonebook", json!({"q": "x"}), "q"),
        ("bus_inbox", json!({"wait": 1}), "wait"),
        ("bus_inbox", json!({"limit": [1]}), "limit"),
        ("bus_send", json!({"to": "ann", "text": "t", "sealed": true}), "sealed"),
        ("bus_send", json!({"to": "ann", "text": "t", "signature": "x"}), "signature"),
        ("bus_send", json!({"to": 7}), "to"),
        ("bus_reply", json!({"text": "t"}), "message_id"),
        ("bus_draft", json!({}), "action"),
        ("bus_draft", json!({"action": "burn"}), "action"),
        ("bus_draft", json!({"action": "send"}), "draft_id"),
        ("bus_forward", json!({"to": "ann"}), "delivery_id"),
        ("bus_forward", json!({"to": "ann", "subject": "s"}), "subject"),
        ("bus_room_history", json!({"room": "a", "since": 5}), "since"),
        ("bus_whoami", json!([]), "arguments"),
        ("bus_whoami", json!("x"), "arguments"),
    ] {
        let problem = refused(&ann.client, tool, &arguments, 422, "validation_error");
        assert_eq!(problem["errors"][0]["field"], field, "{tool} {arguments}: {problem}");
    }
    assert_eq!(ann.inbox(0), Vec::<Value>::new(), "nothing was done");
    let long = "t".repeat(2 << 20);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "bus_send", "arguments":
        {"to": "ann", "text": long}}});
    let answer = speak(&ann.client, "/mcp", &[], &call.to_string());
    crate::support::messaging::refused(&answer, 413, "payload_too_large");
    let answer = speak(&ann.client, "/mcp", &[("origin", "http://elsewhere.example")], LIST);
    crate::support::messaging::refused(&answer, 403, "permission_denied");
    let answer = ann.client.send("POST", "/mcp", &[("content-type", "text/plain")], LIST.as_bytes());
    crate::support::messaging::refused(&answer, 400, "malformed_json");
}

/// A text of a mebibyte is what a route takes, and a tool as well.
#[test]
fn a_long_text_goes_through() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    let text = "t".repeat(1 << 20);
    answered(&ann.client, "bus_send", &json!({"to": "ann", "text": text}));
    let delivery = ann.inbox(0)[0]["delivery_id"].clone();
    assert_eq!(answered(&ann.client, "bus_read", &json!({"delivery_id": delivery}))["text_body"], text);
    refused(&ann.client, "bus_send", &json!({"to": "ann", "text": text + "t"}), 413, "payload_too_large");
}

#[test]
fn several_calls_come_at_a_time() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    let one = |id: u64, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let batch = json!([
        one(1, "bus_send", json!({"to": "ann", "text": "t"})),
        one(2, "bus_inbox", json!({})),
        one(3, "bus_whoami", json!({"agent": "none"})),
    ]);
    let told = speak(&ann.client, "/mcp", &[], &batch.to_string()).expect(200);
    assert_eq!(told[1]["result"]["structuredContent"]["count"], 1);
    assert_eq!(told[2]["result"]["structuredContent"]["code"], "key_agent_mismatch");
    assert_eq!(call(&ann.client, "bus_usage", &json!({}))["isError"], false);
}
