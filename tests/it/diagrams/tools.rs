//! Diagrams as tools of the Model Context Protocol: by clients that are not ours, with a key and without.

use serde_json::{Value, json};

use super::routes::{SOURCE, keyed, open, refused};
use crate::support::appliance::{Answer, Appliance, Client, shared};
use crate::support::mcp::{Foreign, WAYS};

fn url(appliance: &Appliance) -> String {
    format!("http://{}/mcp", appliance.address("diagrams"))
}

fn speak(client: &Client, head: &[(&str, &str)], body: &str) -> Answer {
    let mut fields = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    fields.extend(head);
    client.send("POST", "/mcp", &fields, body.as_bytes())
}

fn message(tool: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string()
}

/// What a tool answers, which stands in it as a text as well, and whether that is an error.
#[track_caller]
fn told(result: &Value) -> (Value, bool) {
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    (text, result["isError"].as_bool().unwrap_or(false))
}

#[test]
fn clients_that_are_not_ours_draw_and_check_without_a_key() {
    let client = open();
    for (kind, mode, version) in WAYS {
        let (mut foreign, first) = Foreign::start(kind, mode, &url(shared()), None);
        assert_eq!(first["version"], version, "{kind} {mode}: {first}");
        let listed = foreign.ask(&json!({"list": true}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{kind} {mode}: {listed}"));
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["draw", "validate"], "{kind} {mode}");
        assert_eq!(tools[0]["inputSchema"]["properties"]["format"]["enum"], json!(["png", "svg"]));
        assert_eq!(tools[1]["inputSchema"]["required"], json!(["dotfile"]));
        for (format, content_type) in [("svg", "image/svg+xml"), ("png", "image/png")] {
            let drawn = foreign.call("draw", &json!({"dotfile": SOURCE, "format": format}));
            let (drawn, is_error) = told(&drawn["result"]);
            assert!(!is_error, "{drawn}");
            let base = format!("http://{}", shared().address("diagrams"));
            let path = drawn["url"].as_str().unwrap().strip_prefix(&base).unwrap();
            assert_eq!(client.get(path).header("content-type"), content_type);
        }
        let wrong = "digraph {\n a -> ;\n}";
        let place = json!({"error": "syntax error in line 2 near ';'", "line": 2, "column": 7});
        let validity = json!({"valid": false, "error": place["error"], "line": 2, "column": 7});
        for (tool, arguments, expected) in [
            ("validate", json!({"dotfile": SOURCE}), (json!({"valid": true}), false)),
            ("validate", json!({"dotfile": wrong}), (validity, false)),
            ("draw", json!({"dotfile": wrong}), (place, true)),
        ] {
            let result = foreign.call(tool, &arguments);
            assert_eq!(told(&result["result"]), expected, "{kind} {mode} {tool}");
        }
    }
}

#[test]
fn what_was_not_honoured_is_told_beside_the_address() {
    let client = open();
    let drawn = |source: &str| {
        let answer = speak(&client, &[], &message("draw", &json!({"dotfile": source, "format": "svg"}))).expect(200);
        let (body, is_error) = told(&answer["result"]);
        assert!(!is_error && body["url"].is_string(), "{body}");
        body
    };
    assert_eq!(drawn(SOURCE).as_object().unwrap().len(), 1);
    let source = "digraph { layout=neato a }";
    let post = [("content-type", "application/json")];
    let plain = client.send("POST", "/graphs?format=svg", &post, json!({"dotfile": source}).to_string().as_bytes());
    let warned = drawn(source);
    assert!(warned["warnings"].as_str().unwrap().contains("neato"), "{warned}");
    assert_eq!(warned["warnings"], plain.header("x-render-warning"));
    assert_eq!(warned.get("degraded"), None);
}

#[test]
fn calls_that_make_no_sense_are_told_so() {
    let client = open();
    for (tool, arguments, part) in [
        ("draw", json!({}), "dotfile is required"),
        ("draw", json!({"dotfile": 7}), "dotfile"),
        ("draw", json!({"dotfile": SOURCE, "format": "pdf"}), "png, svg"),
        ("draw", json!({"dotfile": SOURCE, "more": 1}), "more"),
        ("validate", json!({"dotfile": SOURCE, "format": "svg"}), "format"),
        ("draw", json!({"dotfile": ""}), "no graph"),
        ("draw", json!({"dotfile": " ".repeat((1 << 20) + 1)}), "1048576 bytes"),
    ] {
        let answer = speak(&client, &[], &message(tool, &arguments)).expect(200);
        let (body, is_error) = told(&answer["result"]);
        assert!(is_error && body["error"].as_str().unwrap().contains(part), "{tool} {part}: {body}");
    }
    let unknown = speak(&client, &[], &message("generate", &json!({}))).expect(200);
    assert_eq!(unknown["error"]["code"], -32602);
    refused(&speak(&client, &[], &" ".repeat((2 << 20) + 1)), 413);
    let elsewhere = speak(&client, &[("origin", "http://elsewhere.example")], &message("draw", &json!({})));
    assert_eq!(refused(&elsewhere, 403), "a page of another site asks");
    let typed = client.send("POST", "/mcp", &[("content-type", "text/plain")], b"{}");
    assert!(refused(&typed, 400).contains("application/json"), "{typed:?}");
    for method in ["GET", "DELETE", "PUT"] {
        refused(&client.send(method, "/mcp", &[], b""), 405);
    }
    assert_eq!(speak(&client, &[], "{").expect(400)["error"]["code"], -32700);
}

#[test]
fn where_keys_are_required_tools_take_one_too() {
    let appliance = keyed("http://127.0.0.1:9").start();
    let tenant = appliance.tenant();
    let (_, key) = appliance.key(&tenant, &["diagrams_render"]);
    let list = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;
    let stranger = appliance.stranger("diagrams");
    for body in [list.to_owned(), message("validate", &json!({"dotfile": SOURCE})), "{".to_owned(), " ".repeat(3 << 20)]
    {
        let answer = speak(&stranger, &[], &body);
        refused(&answer, 401);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    let (mut foreign, _) = Foreign::start("npm", "", &url(&appliance), Some(&key));
    let drawn = foreign.call("draw", &json!({"dotfile": SOURCE, "format": "svg"}));
    assert!(!told(&drawn["result"]).1, "{drawn}");
    // Every key may list; a call needs what its route needs, and counts.
    let poster = appliance.persona("diagrams", &tenant, &["ledger_poster"]);
    assert_eq!(speak(&poster, &[], list).expect(200)["result"]["tools"].as_array().unwrap().len(), 2);
    let refusal = speak(&poster, &[], &message("draw", &json!({"dotfile": SOURCE}))).expect(200);
    let (body, is_error) = told(&refusal["result"]);
    assert!(is_error && body["error"].as_str().unwrap().contains("diagrams_render"), "{body}");
    appliance.cli_json(&["tenant", "quota", &tenant, "--service", "diagrams", "--monthly-calls", "1"]);
    let client = appliance.client("diagrams", &key);
    let over = speak(&client, &[], &message("validate", &json!({"dotfile": SOURCE}))).expect(200);
    assert!(told(&over["result"]).1, "{over}");
}
