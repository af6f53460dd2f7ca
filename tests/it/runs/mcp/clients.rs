//! Clients that are not ours: `mcp` of PyPI, in both eras, and `@modelcontextprotocol/sdk` of npm, as they are. Each is a
//! process that reads calls and writes what it made of the answers (`tests/mcp/`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::parity::{Case, cases, cases_of_limits, settled};
use super::{ALL, key, speak, url};
use crate::support::appliance::{Client, Setup, shared};
use crate::support::mcp::{Foreign, WAYS};

/// What a client makes of a call is what the route answers.
fn agrees(client: &Client, foreign: &mut Foreign, case: &Case) {
    let Case { tool, arguments, method, path, body, status } = case;
    let told = foreign.call(tool, arguments);
    let result = &told["result"];
    let answer = client.send(method, path, &[("content-type", "application/json")], body.as_bytes());
    assert_eq!(answer.status, *status, "{tool} {arguments}: {}", answer.text);
    assert_eq!(result["isError"].as_bool().unwrap_or(false), answer.status >= 400, "{tool}: {told}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(settled(&text), settled(&result["structuredContent"]), "{tool}");
    if answer.status != 204 {
        let body = answer.json();
        let body = if body.is_array() { json!({"items": body}) } else { body };
        assert_eq!(settled(&text), settled(&body), "{tool} {arguments}");
    }
}

/// With `--nocapture` it prints the table: each tool by each client in each way, and the statuses that its route answers.
#[test]
fn every_tool_answers_unmodified_clients_as_its_route_does() {
    for (kind, mode, version) in WAYS {
        let (key, client) = key(shared(), &ALL);
        let (mut foreign, first) = Foreign::start(kind, mode, &url(shared()), Some(&key));
        assert_eq!(first["version"], version, "{kind} {mode}: {first}");
        // Who skips the greeting knows no name.
        let knows_name = mode != version;
        assert_eq!(first["server"]["name"] == "quintet-runs", knows_name, "{kind} {mode}: {first}");
        let listed = foreign.ask(&json!({"list": true}));
        let mut names: Vec<String> = listed["result"]["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("{kind} {mode}: {listed}"))
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        let mut told: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
        for case in cases(&client).into_iter().chain(cases_of_limits(&client)) {
            agrees(&client, &mut foreign, &case);
            names.retain(|name| *name != case.tool);
            told.entry(case.tool).or_default().push(case.status);
        }
        for (tool, statuses) in told {
            let way = if mode.is_empty() { "its own way" } else { mode };
            println!("{tool:<22}  {kind:<4}  {way:<11}  {version}  as the route, {statuses:?}");
        }
        assert!(names.is_empty(), "{kind} {mode}: tools without a case: {names:?}");
        let unknown = foreign.call("no_such_tool", &json!({}));
        assert_eq!(unknown["error"]["code"], -32602, "{kind} {mode}: {unknown}");
    }
}

#[test]
fn a_wrong_key_ends_the_connection_of_every_client() {
    let appliance = Setup::new().rehearsal().start();
    let revoked = appliance.key(&appliance.tenant(), &[]);
    appliance.cli(&["key", "revoke", &revoked.0]);
    let issued = ["key", "issue", "--tenant", &appliance.tenant(), "--ttl-days", "1"];
    let expired = appliance.cli_json(&issued)["api_key"].as_str().unwrap().to_owned();
    let suspended = appliance.tenant();
    let of_suspended = appliance.key(&suspended, &[]).1;
    let ledger = appliance.cli_json(&["tenant", "create", "elsewhere", "--services", "ledger"]);
    let of_ledger = appliance.key(ledger["tenant_id"].as_str().unwrap(), &[]).1;
    // As long as they are right.
    for key in [&expired, &of_suspended] {
        assert_eq!(appliance.client("runs", key).get("/api/v1/tenant/quotas").status, 200);
    }
    appliance.cli_json(&["clock", "advance", "86400"]);
    appliance.cli_json(&["tenant", "suspend", &suspended]);
    for (kind, mode, version) in WAYS {
        let wrong = [
            ("none", None, 401),
            ("one that nobody has", Some("rak_nothing"), 401),
            ("a revoked one", Some(revoked.1.as_str()), 401),
            ("an expired one", Some(&expired), 401),
            ("a suspended tenant's", Some(&of_suspended), 403),
            ("one of another service", Some(&of_ledger), 403),
        ];
        for (what, key, status) in wrong {
            let client = key.map_or_else(|| appliance.stranger("runs"), |key| appliance.client("runs", key));
            let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
            assert_eq!(speak(&client, &[], list).status, status, "{what}");
            let (mut foreign, first) = Foreign::start(kind, mode, &url(&appliance), key);
            // Who skips the greeting learns it from the first call.
            let told = if first["failed"].is_null() { foreign.call("get_quotas", &json!({})) } else { first };
            let has_failed = !(told["failed"].is_null() && told["error"].is_null());
            assert!(told["result"].is_null() && has_failed, "{kind} {mode} {what}: {told}");
            let way = if mode.is_empty() { "its own way" } else { mode };
            println!("{what:<22}  {kind:<4}  {way:<11}  {version}  {status}");
        }
    }
}

/// What a key allows of images, and that it has paid for no more, are answers like others.
#[test]
fn what_a_key_does_not_allow_is_told_by_the_tool() {
    let appliance = shared();
    for (kind, mode, _) in WAYS {
        let tenant_id = appliance.tenant();
        let issue = ["key", "issue", "--tenant", &tenant_id, "--allowed-image", "busybox"];
        let metered = ["--tier", "free", "--metered-seconds", "1"];
        let issued = appliance.cli_json(&[&issue[..], &metered].concat());
        let key = issued["api_key"].as_str().unwrap();
        let client = appliance.client("runs", key);
        let (mut foreign, _) = Foreign::start(kind, mode, &url(appliance), Some(key));
        for (image, status, code) in [("alpine", 403, "image_not_allowed"), ("busybox", 429, "metered_quota_exceeded")]
        {
            let body = json!({"image": image, "timeout_seconds": 60});
            let case = Case {
                tool: "submit_run",
                arguments: body.clone(),
                method: "POST",
                path: "/api/v1/runs".to_owned(),
                body: body.to_string(),
                status,
            };
            agrees(&client, &mut foreign, &case);
            let problem = foreign.call("submit_run", &body)["result"]["structuredContent"].clone();
            assert_eq!((&problem["status"], &problem["code"]), (&json!(status), &json!(code)), "{kind} {mode}");
        }
    }
}

#[test]
fn a_key_without_the_permission_is_told_so_by_the_tool() {
    let (key, _) = key(shared(), &["svc_run_read"]);
    for (kind, mode, _) in WAYS {
        let (mut foreign, _) = Foreign::start(kind, mode, &url(shared()), Some(&key));
        let told = foreign.call("submit_run", &json!({"image": "a"}));
        assert_eq!(told["result"]["isError"], true, "{kind} {mode}: {told}");
        assert_eq!(told["result"]["structuredContent"]["code"], "forbidden", "{kind} {mode}");
        assert_eq!(told["result"]["structuredContent"]["status"], 403, "{kind} {mode}");
    }
}
