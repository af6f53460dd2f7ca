//! Requests by hand, in every version: what is answered, and how what is none is refused.

use serde_json::{Value, json};

use super::{ALL, call, key, speak};
use crate::runs::refused;
use crate::support::appliance::{Client, shared};

const VERSION: &str = "mcp-protocol-version";
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The error of JSON-RPC that a request is answered with.
#[track_caller]
fn error(client: &Client, head: &[(&str, &str)], body: &str, status: u16, code: i32) -> Value {
    let answer = speak(client, head, body);
    let told = answer.expect(status);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!((&told["jsonrpc"], &told["error"]["code"]), (&json!("2.0"), &json!(code)), "{body}: {told}");
    assert!(told["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{told}");
    assert!(told.get("result").is_none());
    told
}

#[test]
fn every_version_with_a_handshake_is_spoken() {
    let (_, client) = key(shared(), &[]);
    for version in HANDSHAKES {
        let hello = json!({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        }});
        let told = speak(&client, &[], &hello.to_string());
        assert_eq!(told.expect(200)["result"]["protocolVersion"], version);
        assert_eq!(told.headers.get("mcp-session-id"), None, "nothing is kept between requests");
        // Versions before 2025-06-18 say nothing in the head.
        let said = [(VERSION, version)];
        let head = if version < "2025-06-18" { &[][..] } else { &said[..] };
        let answer = speak(&client, head, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!((answer.status, answer.text.as_str()), (202, ""), "{version}");
        let ping = speak(&client, head, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).expect(200);
        assert_eq!(ping, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        let listed = speak(&client, head, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#).expect(200);
        assert!(listed["result"]["tools"].as_array().unwrap().len() >= 10);
        let body = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_quotas"}}"#;
        let called = speak(&client, head, body).expect(200);
        assert_eq!((&called["id"], &called["result"]["isError"]), (&json!(3), &json!(false)), "{version}");
        error(&client, head, r#"{"jsonrpc":"2.0","id":4,"method":"server/discover"}"#, 200, -32601);
        error(&client, head, r#"{"jsonrpc":"2.0","id":5,"method":"resources/list"}"#, 200, -32601);
    }
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}"#;
    assert_eq!(speak(&client, &[], asked).expect(200)["result"]["protocolVersion"], "2025-11-25");
    error(&client, &[], r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, 200, -32602);
}

/// A request of the version without a handshake: its head and its body.
fn modern(method: &str, members: Value) -> (Vec<(&'static str, String)>, String) {
    let mut params = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    }});
    params.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let mut head = vec![(VERSION, "2026-07-28".to_owned()), ("mcp-method", method.to_owned())];
    head.extend(params["name"].as_str().map(|name| ("mcp-name", name.to_owned())));
    (head, json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string())
}

fn borrowed<'h>(head: &'h [(&'static str, String)]) -> Vec<(&'h str, &'h str)> {
    head.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

#[test]
fn the_version_without_a_handshake_is_spoken() {
    let (_, client) = key(shared(), &[]);
    let ask = |method: &str, members: Value| {
        let (head, body) = modern(method, members);
        speak(&client, &borrowed(&head), &body).expect(200)["result"].clone()
    };
    let found = ask("server/discover", json!({}));
    assert_eq!(found["supportedVersions"].as_array().unwrap().len(), 5);
    let listed = ask("tools/list", json!({}));
    for result in [&found, &listed] {
        assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("private")));
        assert!(result["ttlMs"].is_u64());
    }
    let called = ask("tools/call", json!({"name": "get_quotas", "arguments": {}}));
    assert_eq!((&called["resultType"], &called["isError"]), (&json!("complete"), &json!(false)));
    for (method, members, status, code) in [
        ("initialize", json!({"protocolVersion": "2025-11-25"}), 404, -32601),
        ("ping", json!({}), 404, -32601),
        ("resources/list", json!({}), 404, -32601),
        ("tools/call", json!({"name": "nothing"}), 400, -32602),
        ("tools/call", json!({}), 400, -32602),
        ("tools/list", json!({"cursor": "x"}), 400, -32602),
        ("tools/list", json!({"_meta": {}}), 400, -32602),
    ] {
        let (head, body) = modern(method, members);
        error(&client, &borrowed(&head), &body, status, code);
    }
    let (head, body) = modern("tools/list", json!({}));
    let head = borrowed(&head);
    error(&client, &head[..1], &body, 400, -32020);
    error(&client, &head[1..], &body, 400, -32020);
    error(&client, &[(VERSION, "2025-11-25"), head[1]], &body, 400, -32020);
    let told = error(&client, &[(VERSION, "2099-01-01"), head[1]], &body, 400, -32022);
    assert_eq!(told["error"]["data"]["requested"], "2099-01-01");
    assert_eq!(told["error"]["data"]["supported"].as_array().unwrap().len(), 5);
    error(&client, &head, &format!("[{body}]"), 400, -32600);
    let answer = speak(&client, &head, r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    assert_eq!(answer.status, 202);
    error(&client, &head, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, -32600);
}

#[test]
fn one_version_takes_several_messages_at_a_time() {
    let (_, client) = key(shared(), &ALL);
    let ping = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let get = r#"{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"get_quotas"}}"#;
    let hello = r#"{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#;
    for head in [&[][..], &[(VERSION, "2025-03-26")][..]] {
        let batch = format!("[{},{notice},{get},7,{hello}]", ping(1));
        let told = speak(&client, head, &batch).expect(200);
        let ids: Vec<&Value> = told.as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!("q"), &Value::Null, &json!(9)]);
        assert_eq!(told[1]["result"]["isError"], false);
        assert_eq!((&told[2]["error"]["code"], &told[3]["error"]["code"]), (&json!(-32600), &json!(-32600)));
        assert_eq!(speak(&client, head, &format!("[{notice},{notice}]")).status, 202);
        error(&client, head, "[]", 400, -32600);
        let many = (0..20).map(ping).collect::<Vec<_>>().join(",");
        assert_eq!(speak(&client, head, &format!("[{many}]")).expect(200).as_array().unwrap().len(), 20);
        error(&client, head, &format!("[{many},{}]", ping(20)), 400, -32600);
    }
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        error(&client, &[(VERSION, version)], &format!("[{}]", ping(1)), 400, -32600);
    }
}

#[test]
fn who_has_no_key_learns_nothing_whatever_is_sent() {
    let appliance = shared();
    let revoked = appliance.key(&appliance.tenant(), &[]);
    appliance.cli(&["key", "revoke", &revoked.0]);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let wrong = [None, Some("rak_x"), Some(""), Some(revoked.1.as_str())];
    for key in wrong {
        let client = key.map_or_else(|| appliance.stranger("runs"), |key| appliance.client("runs", key));
        for (method, body) in [("POST", list), ("POST", "{"), ("POST", ""), ("GET", ""), ("DELETE", ""), ("PUT", "x")] {
            let fields = [("content-type", "application/json"), ("origin", "http://elsewhere.example")];
            let answer = client.send(method, "/mcp", &fields, body.as_bytes());
            refused(&answer, 401, "unauthorized");
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{method} {key:?}");
        }
        assert_eq!(client.send("HEAD", "/mcp", &[], b"").status, 401);
    }
    let ledger = appliance.cli_json(&["tenant", "create", &format!("l{}", revoked.0), "--services", "ledger"]);
    let other = appliance.key(ledger["tenant_id"].as_str().unwrap(), &["ledger_reader"]);
    refused(&speak(&appliance.client("runs", &other.1), &[], list), 403, "forbidden");
}

#[test]
fn methods_sites_and_bodies_that_are_not_taken() {
    let (_, client) = key(shared(), &[]);
    for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
        let answer = client.send(method, "/mcp", &[], b"");
        refused(&answer, 405, "method_not_allowed");
        assert_eq!(answer.header("allow"), "POST");
    }
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let own = format!("http://{}", shared().address("runs"));
    for origin in ["http://elsewhere.example", "null", "http://127.0.0.1", "", "\u{e9}", "http://127.0.0.1:99999"] {
        refused(&speak(&client, &[("origin", origin)], ping), 403, "forbidden");
    }
    speak(&client, &[("origin", &own)], ping).expect(200);
    for (fields, body) in [
        (&[("content-type", "text/plain")][..], ping),
        (&[], ping),
        (&[("content-type", "application/json"), ("content-encoding", "gzip")][..], ping),
    ] {
        refused(&client.send("POST", "/mcp", fields, body.as_bytes()), 415, "unsupported_media_type");
    }
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{}"}}"#, "x".repeat(2 << 20));
    refused(&speak(&client, &[], &long), 413, "payload_too_large");
    let fits = "x".repeat((2 << 20) - 100);
    speak(&client, &[], &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{fits}"}}"#)).expect(200);
}

#[test]
fn hostile_bodies_are_answered_and_nothing_more() {
    let (_, client) = key(shared(), &ALL);
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let nested = |levels: usize| {
        let arguments = format!(r#"{{"image":"a","env":{}}}"#, deep(levels));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"submit_run","arguments":{arguments}}}}}"#
        )
    };
    for body in [
        "",
        " ",
        "{",
        "nul",
        "{\"jsonrpc\":\"2.0\",}",
        "\u{feff}{}",
        &deep(100_000),
        &deep(1_000),
        &nested(40),
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"submit_run","arguments":{"image":"a","image":"b"}}}"#,
        r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#,
        &format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, "1".repeat(5_000)),
        &format!("[{}1]", "1,".repeat(300_000)),
    ] {
        let told = error(&client, &[], body, 400, -32700);
        assert_eq!(told["id"], Value::Null);
    }
    let answer = client.send("POST", "/mcp", &[("content-type", "application/json")], b"\xff{}");
    assert_eq!(answer.expect(400)["error"]["code"], -32700);
    for body in ["{}", "1", "\"x\"", "null", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#] {
        error(&client, &[], body, 400, -32600);
    }
    // What is too deep for the route is for the route to say.
    let problem = speak(&client, &[], &nested(16)).expect(200)["result"]["structuredContent"].clone();
    assert_eq!((&problem["status"], &problem["code"]), (&json!(400), &json!("malformed_json")), "{problem}");
    let long = "i".repeat(1 << 20);
    let told = speak(&client, &[], &format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#)).expect(200);
    assert_eq!(told["id"], long);
    assert_eq!(client.get("/api/v1/runs").expect(200)["items"], json!([]), "nothing was done");
}

#[test]
fn wrong_arguments_are_an_answer_that_a_model_can_act_on() {
    let (_, client) = key(shared(), &ALL);
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (tool, arguments, field) in [
        ("get_run", json!({}), "track_id"),
        ("get_run", json!({"track_id": null}), "track_id"),
        ("get_run", json!({"track_id": 5}), "track_id"),
        ("get_run", json!({"track_id": id, "wait": [1]}), "wait"),
        ("get_run", json!({"track_id": id, "wait": true}), "wait"),
        ("list_runs", json!({"tag": 5}), "tag"),
        ("control_run", json!({"track_id": id}), "action"),
        ("control_run", json!({"track_id": id, "action": "halt"}), "action"),
        ("control_run", json!({"track_id": id, "action": ["kill"]}), "action"),
        ("control_run", json!({"action": "kill"}), "track_id"),
        ("get_quotas", json!([]), "arguments"),
        ("get_quotas", json!("x"), "arguments"),
        ("submit_run", json!({"image": 5}), "image"),
        ("get_run", json!({"track_id": id, "wait": "x".repeat(100_000)}), "arguments"),
    ] {
        let result = call(&client, tool, &arguments);
        let problem = &result["structuredContent"];
        assert_eq!(
            (&result["isError"], &problem["code"]),
            (&json!(true), &json!("validation_failed")),
            "{tool}: {result}"
        );
        assert_eq!((&problem["status"], &problem["field"]), (&json!(422), &json!(field)), "{tool}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    }
    // A route's own refusal: what it knows, it names.
    let problem = call(&client, "get_run", &json!({"track_id": id, "follow": 1}))["structuredContent"].clone();
    assert_eq!((&problem["code"], &problem["supported"]), (&json!("unknown_query_parameter"), &json!(["wait"])));
    // A stream is nothing that a tool could hand on.
    let problem =
        call(&client, "get_run_logs", &json!({"track_id": id, "follow": "true"}))["structuredContent"].clone();
    assert_eq!(problem["code"], "unknown_query_parameter", "{problem}");
}
