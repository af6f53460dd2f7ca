//! Messaging as tools of the Model Context Protocol: by clients that are not ours, against the routes, and what is refused
//! and withheld.

mod clients;
mod parity;
mod refusals;
mod sealed;

use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client};

/// Sends a body to an address of the tools, with fields of the head besides.
fn speak(client: &Client, path: &str, head: &[(&str, &str)], body: &str) -> Answer {
    let mut fields = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    fields.extend(head);
    client.send("POST", path, &fields, body.as_bytes())
}

/// A call by hand, without saying which version it is of; its result.
fn call(client: &Client, tool: &str, arguments: &Value) -> Value {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    speak(client, "/mcp", &[], &body.to_string()).expect(200)["result"].clone()
}

/// A call by hand that must succeed; what it answers.
#[track_caller]
fn answered(client: &Client, tool: &str, arguments: &Value) -> Value {
    let result = call(client, tool, arguments);
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    result["structuredContent"].clone()
}

/// A call by hand that must be refused with this status and code; the problem.
#[track_caller]
fn refused(client: &Client, tool: &str, arguments: &Value, status: u16, code: &str) -> Value {
    let result = call(client, tool, arguments);
    let problem = result["structuredContent"].clone();
    assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
    assert_eq!((&problem["status"], &problem["code"]), (&json!(status), &json!(code)), "{tool}: {problem}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, problem, "the problem stands there as text, too");
    problem
}

/// Where clients find the tools.
fn url(appliance: &Appliance) -> String {
    format!("http://{}/mcp", appliance.address("messaging"))
}
