//! Runs as tools of the Model Context Protocol: by clients that are not ours, by hand in every version, and against the routes.

mod clients;
mod parity;
mod refusals;

use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client};

/// All that a key of runs can be given.
const ALL: [&str; 5] = ["svc_run_submit", "svc_run_read", "svc_run_control", "svc_run_delete", "svc_tenant_admin"];

/// Sends a body to `/mcp`, with fields of the head besides.
fn speak(client: &Client, head: &[(&str, &str)], body: &str) -> Answer {
    let mut fields = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    fields.extend(head);
    client.send("POST", "/mcp", &fields, body.as_bytes())
}

/// A call by hand, without saying which version it is of.
fn call(client: &Client, tool: &str, arguments: &Value) -> Value {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    speak(client, &[], &body.to_string()).expect(200)["result"].clone()
}

/// Where clients find the tools.
fn url(appliance: &Appliance) -> String {
    format!("http://{}/mcp", appliance.address("runs"))
}

/// A key of a new tenant, and a client that has it.
fn key(appliance: &Appliance, permissions: &[&str]) -> (String, Client) {
    let key = appliance.key(&appliance.tenant(), permissions).1;
    (key.clone(), appliance.client("runs", &key))
}
