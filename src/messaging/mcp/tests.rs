//! The table of tools against the routes that are served, and who is let in.

use std::collections::BTreeSet;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use quintet_platform::service::describe::schemas;
use serde_json::{Value, json};

use super::*;
use crate::dialect::SEALING;
use crate::http::ENDPOINTS as SERVED;
use crate::identity::Scope;
use crate::testing::Bench;

/// The tools whose routes are not served yet. A tool leaves this list with the first build that serves its routes.
const NOT_YET: &[&str] = &[];

/// What tools note or do that no GET does.
const ONLY_READ: &[&str] = &[
    "bus_approval_status",
    "bus_attachment",
    "bus_health",
    "bus_inbox",
    "bus_phonebook",
    "bus_room_history",
    "bus_thread",
    "bus_usage",
    "bus_verify_sender",
    "bus_wait",
    "bus_whoami",
];

fn listed() -> Vec<Value> {
    serde_json::from_str(SERVER.listed(SERVED)).unwrap()
}

#[test]
fn all_26_tools_are_there_but_those_whose_routes_are_not() {
    let names: BTreeSet<&str> = tools::TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!((names.len(), tools::TOOLS.len()), (26, 26));
    let served: BTreeSet<String> = crate::served().map(Route::template).collect();
    for tool in tools::TOOLS {
        let has_routes = tool.routes().all(|(_, template)| served.contains(template));
        assert_eq!(has_routes, !NOT_YET.contains(&tool.name), "{}: is it NOT_YET?", tool.name);
        assert_eq!(has_routes, tool.is_served(SERVED), "{}", tool.name);
    }
    let listed: BTreeSet<String> = listed().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    let expected = names.iter().copied().filter(|name| !NOT_YET.contains(name)).map(str::to_owned).collect();
    assert_eq!(listed, expected);
    assert!(NOT_YET.iter().all(|name| names.contains(name)));
}

/// What each tool takes (6-messaging.md, N2): besides, each takes `agent`, and some take more of what their routes do.
#[test]
fn a_tool_takes_what_is_said_of_it_and_what_its_routes_take() {
    let takes: &[(&str, &[&str], &[&str])] = &[
        (
            "bus_register",
            &[
                "name",
                "role",
                "workdir",
                "device_id",
                "repo_remote",
                "capabilities",
                "labels",
                "unlisted",
                "ephemeral",
                "persona",
            ],
            &[],
        ),
        ("bus_whoami", &[], &[]),
        ("bus_phonebook", &["query", "capability", "repo_fingerprint", "label"], &[]),
        ("bus_tag", &["set", "remove"], &[]),
        ("bus_heartbeat", &[], &[]),
        (
            "bus_send",
            &[
                "to",
                "subject",
                "text",
                "cc",
                "priority",
                "thread_id",
                "attachments",
                "payload",
                "require_responsive",
                "require_available",
                "require_ack",
                "ack_window_seconds",
                "derived_from",
                "guarantee",
                "claim",
                "idempotency_key",
            ],
            &["to"],
        ),
        (
            "bus_reply",
            &[
                "message_id",
                "text",
                "reply_all",
                "cc",
                "subject",
                "priority",
                "attachments",
                "require_responsive",
                "idempotency_key",
            ],
            &["message_id"],
        ),
        ("bus_forward", &["delivery_id", "to", "text", "cc", "priority"], &["delivery_id", "to"]),
        ("bus_inbox", &["cursor", "limit", "label", "unread"], &[]),
        ("bus_read", &["delivery_id"], &["delivery_id"]),
        ("bus_ack", &["delivery_id"], &["delivery_id"]),
        ("bus_attachment", &["delivery_id", "index"], &["delivery_id"]),
        ("bus_thread", &["thread_id", "limit", "before"], &["thread_id"]),
        ("bus_thread_resume", &["thread_id"], &["thread_id"]),
        ("bus_label", &["delivery_id", "add", "remove"], &["delivery_id"]),
        ("bus_draft", &["action", "draft_id", "to", "cc", "subject", "text", "cursor"], &["action"]),
        ("bus_usage", &[], &[]),
        (
            "bus_request_approval",
            &[
                "title",
                "kind",
                "summary",
                "proposed_action",
                "context",
                "thread_id",
                "expires_in_minutes",
                "idempotency_key",
            ],
            &["title"],
        ),
        ("bus_approval_status", &["approval_id", "wait"], &["approval_id"]),
        ("bus_busy", &["seconds", "reason"], &[]),
        ("bus_status", &["state", "seconds", "reason", "hold_below"], &[]),
        ("bus_health", &["target"], &[]),
        ("bus_room_history", &["room", "limit", "since"], &["room"]),
        ("bus_room_schema", &["room", "schema"], &["room"]),
        ("bus_verify_sender", &["delivery_id"], &["delivery_id"]),
        ("bus_wait", &["seconds", "cursor"], &[]),
    ];
    let listed = listed();
    for (name, properties, needed) in takes {
        let tool = listed.iter().find(|tool| tool["name"] == *name).unwrap();
        let schema = &tool["inputSchema"];
        let told: BTreeSet<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(told, properties.iter().copied().chain(["agent"]).collect(), "{name}");
        let told: BTreeSet<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(told, needed.iter().copied().collect(), "{name}");
    }
    assert_eq!(listed.len(), takes.len(), "every tool is in the table");
}

#[test]
fn every_tool_is_described_so_that_a_model_can_choose() {
    for tool in listed() {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["description"].as_str().unwrap().len() > 20, "{name}");
        assert!(!tool.to_string().contains("$ref"), "{name}: not every client follows references");
        let hint = |hint: &str| tool["annotations"][hint].as_bool().unwrap();
        assert_eq!(hint("readOnlyHint"), ONLY_READ.contains(&name), "{name}");
        assert!(!(hint("destructiveHint") && hint("readOnlyHint")), "{name}");
        let agent = &tool["inputSchema"]["properties"]["agent"];
        assert_eq!(agent["type"], "string", "{name}");
    }
    let property = |tool: &str, name: &str| {
        let listed = listed();
        listed.iter().find(|told| told["name"] == tool).unwrap()["inputSchema"]["properties"][name].clone()
    };
    assert_eq!(property("bus_send", "to")["type"], json!(["string", "array"]));
    assert_eq!(property("bus_send", "cc")["type"], json!(["string", "array", "null"]));
    assert_eq!(property("bus_ack", "delivery_id")["anyOf"][1]["maxItems"], 100);
    assert_eq!(property("bus_phonebook", "label")["anyOf"][0]["type"], "string");
    assert_eq!(property("bus_draft", "action")["enum"], json!(["list", "create", "update", "delete", "send"]));
}

/// What tools write into workspaces has a mark, so that an encrypted one refuses it.
#[test]
fn what_tools_write_is_marked() {
    let marked: Vec<String> = crate::served().filter(|route| route.has_mark(SEALING)).map(Route::template).collect();
    let shapes = schemas::<Messaging>();
    for route in crate::served() {
        let takes_sealed = match route.body {
            Content::Json(name) | Content::OptionalJson(name) => {
                shapes[name]["properties"].as_object().is_some_and(|members| members.contains_key("sealed"))
            }
            _ => false,
        };
        let is_called = tools::TOOLS.iter().any(|tool| tool.routes().any(|(_, called)| called == route.template()));
        assert_eq!(marked.contains(&route.template()), takes_sealed && is_called, "{}", route.template());
    }
}

async fn asked(bench: &Bench, method: &str, path: &str, key: Option<&str>, body: Value) -> (u16, String, String) {
    let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut response = bench.answer(request.body(Body::from(body.to_string())).unwrap()).await;
    let media_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
    (response.status().as_u16(), media_type, String::from_utf8(bytes.to_vec()).unwrap())
}

async fn called(bench: &Bench, key: &str, tool: &str, arguments: Value) -> Value {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let (status, _, text) = asked(bench, "POST", "/mcp", Some(key), body).await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str::<Value>(&text).unwrap()["result"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_addresses_speak_and_show_no_page() {
    let bench = Bench::new();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for path in ["/mcp", "/mcp/"] {
        assert_eq!(asked(&bench, "POST", path, Some(&bench.admin), list.clone()).await.0, 200);
        for key in [None, Some("ab_sk_x"), Some(bench.admin.as_str())] {
            for method in ["GET", "DELETE"] {
                let (status, media_type, text) = asked(&bench, method, path, key, Value::Null).await;
                assert_eq!((status, media_type.as_str()), (405, "text/plain; charset=utf-8"));
                assert!(text.len() < 200, "{text}");
            }
        }
        assert_eq!(asked(&bench, "POST", path, None, list.clone()).await.0, 401);
        assert_eq!(asked(&bench, "POST", path, Some("ab_sk_x"), list.clone()).await.0, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_as_the_one_that_is_named() {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("ben");
    let own = bench.key(Scope::Send, &["ann"]);
    let told = called(&bench, &own, "bus_tag", json!({"set": {"a": "1"}})).await;
    assert_eq!(told["structuredContent"]["labels"], json!({"a": "1"}));
    let told = called(&bench, &own, "bus_tag", json!({"agent": "ben", "set": {"a": "1"}})).await;
    assert_eq!(told["structuredContent"]["code"], "key_agent_mismatch");
    let told = called(&bench, &bench.admin, "bus_tag", json!({"set": {"a": "1"}})).await;
    assert_eq!(told["structuredContent"]["code"], "permission_denied");
    let sent = called(&bench, &own, "bus_send", json!({"to": "ben", "text": "t"})).await;
    assert_eq!((&sent["isError"], &sent["structuredContent"]["recipients"]), (&json!(false), &json!(["ben"])));
    let told = called(&bench, &bench.admin, "bus_wait", json!({"agent": "ben"})).await;
    assert_eq!(told["structuredContent"]["waited_out"], false, "{told}");
    assert_eq!(told["structuredContent"]["count"], 1);
    let told = called(&bench, &bench.admin, "bus_wait", json!({"agent": "ann", "seconds": 1})).await;
    assert_eq!(told["structuredContent"]["waited_out"], true, "{told}");
}
