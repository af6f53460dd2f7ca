//! A container that ends wakes an agent: its webhook names an inbound endpoint of this appliance, and stays within it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use super::{House, script_with, shared};
use crate::support::messaging::{Agent, Workspace};

/// A run of a tenant whose end is told to an agent; what the agent's stream says, and the message then.
fn woken(house: &House, workspace: &Workspace<'_>, ann: &Agent) -> Value {
    let made = ann.client.post("/v1/agents/ann/inbound", &json!({"label": "runs"})).expect(201);
    let mut socket = house.appliance().connect("messaging").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(240))).unwrap();
    write!(
        socket,
        "GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nX-AgentBus-Wake-Capable: 1\r\n\r\n",
        ann.key
    )
    .unwrap();
    let webhook = json!({"url": made["url"], "secret": made["secret"], "events": ["run.terminal"]});
    let body = script_with("echo XYZZY; exit 3", json!({"webhook": webhook, "name": "build"}));
    let id = house.tenant_of(&workspace.tenant_id).submit(&body);
    let mut lines = BufReader::new(socket).lines().map(Result::unwrap);
    let event = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
    let event: Value = serde_json::from_str(&event).unwrap();
    let path = format!("/v1/deliveries/{}", event["delivery_id"].as_str().unwrap());
    let told = ann.client.get(&path).expect(200);
    assert_eq!((&told["subject"], &told["direction"]), (&json!("run.failed"), &json!("ingress")));
    assert_eq!(told["inbound_source"], "hook:runs");
    let text: Value = serde_json::from_str(told["text_body"].as_str().unwrap()).unwrap();
    assert_eq!((&text["resource"]["id"], &text["data"]["state"]), (&json!(id), &json!("failed")));
    assert_eq!(text["data"]["result"]["exit_code"], 3);
    told
}

#[test]
fn a_container_that_ends_wakes_an_agent() {
    let Some(house) = shared() else { return };
    let workspace = Workspace::open(house.appliance());
    let ann = workspace.agent("ann");
    let told = woken(house, &workspace, &ann);
    assert_eq!(told["payload"]["data"]["result"]["result_summary"], "XYZZY");
}

/// 6-messaging.md, E3.
#[test]
fn in_an_encrypted_workspace_it_does_so_without_what_it_wrote() {
    let Some(house) = shared() else { return };
    let workspace = Workspace::encrypted(house.appliance());
    let ann = workspace.agent("ann");
    let told = woken(house, &workspace, &ann);
    assert_eq!((&told["payload"], &told["sealed"]), (&Value::Null, &json!(false)));
    assert!(!told.to_string().contains("XYZZY"), "{told}");
}
