//! Clients that are not ours: `mcp` of PyPI, in both eras, and `@modelcontextprotocol/sdk` of npm, as they are. Each is a
//! process that reads calls and writes what it made of the answers (`tests/mcp/`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::parity::{BY_THEMSELVES, Scene};
use super::url;
use crate::support::appliance::shared;
use crate::support::mcp::{Foreign, WAYS};
use crate::support::messaging::Workspace;

/// With `--nocapture` it prints the table: each tool by each client in each way, and the statuses that its route answers.
#[test]
fn every_tool_answers_unmodified_clients_as_its_route_does() {
    for (kind, mode, version) in WAYS {
        let scene = Scene::of(&Workspace::open(shared()));
        let (mut foreign, first) = Foreign::start(kind, mode, &url(shared()), Some(&scene.ann.key));
        assert_eq!(first["version"], version, "{kind} {mode}: {first}");
        // Who skips the greeting knows no name.
        let knows_name = mode != version;
        assert_eq!(first["server"]["name"] == "quintet-messaging", knows_name, "{kind} {mode}: {first}");
        let listed = foreign.ask(&json!({"list": true}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{kind} {mode}: {listed}"));
        let mut names: BTreeSet<String> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        let mut told: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
        for case in scene.cases() {
            let result = foreign.call(case.tool, &case.arguments)["result"].clone();
            case.agrees(&result, &case.answer(&scene.ann.client));
            names.remove(case.tool);
            told.entry(case.tool).or_default().push(case.status);
        }
        for tool in BY_THEMSELVES {
            let result = foreign.call(tool, &json!({"delivery_id": scene.delivery}))["result"].clone();
            assert_eq!(result["structuredContent"]["message_id"], scene.message, "{kind} {mode} {tool}: {result}");
            names.remove(tool);
            told.entry(tool).or_default().push(200);
        }
        for (tool, statuses) in told {
            let way = if mode.is_empty() { "its own way" } else { mode };
            println!("{tool:<20}  {kind:<4}  {way:<11}  {version}  as the route, {statuses:?}");
        }
        assert!(names.is_empty(), "{kind} {mode}: tools without a case: {names:?}");
        let unknown = foreign.call("bus_nothing", &json!({}));
        assert_eq!(unknown["error"]["code"], -32602, "{kind} {mode}: {unknown}");
    }
}

/// With the slash and without: clients are told the one and the other, and neither leads elsewhere.
#[test]
fn a_client_finds_the_tools_at_both_addresses_and_nothing_without_a_key() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    for (kind, mode, version) in WAYS {
        for address in [url(shared()), url(shared()) + "/"] {
            let (mut foreign, _) = Foreign::start(kind, mode, &address, Some(&ann.key));
            let told = foreign.call("bus_whoami", &json!({}));
            assert_eq!(told["result"]["structuredContent"]["agent"]["name"], "ann", "{kind} {mode}: {told}");
            for key in [None, Some("ab_sk_nothing")] {
                let (mut foreign, first) = Foreign::start(kind, mode, &address, key);
                // Who skips the greeting learns it from the first call.
                let told = if first["failed"].is_null() { foreign.call("bus_whoami", &json!({})) } else { first };
                let has_failed = !(told["failed"].is_null() && told["error"].is_null());
                assert!(told["result"].is_null() && has_failed, "{kind} {mode} {version}: {told}");
            }
        }
    }
}
