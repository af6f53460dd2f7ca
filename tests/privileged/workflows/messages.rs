//! What one container says last is what those behind it are given, and what is told of all that.

use serde_json::{Value, json};

use super::{edges, gate, node, node_with, states};
use crate::runs::shared;

#[test]
fn a_chain_hands_on_what_was_said_last() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let nodes = json!([
        node("first", "echo working; echo '  {\"n\": 1,  \"s\": \"x\"}  '"),
        node_with("second", "echo \"got $SVC_INPUT_FIRST\" >&2; echo 17", json!({"inputs_from": ["first"]})),
        node_with("third", "echo \"$SVC_INPUT_FIRST $SVC_INPUT_SECOND\"", json!({"inputs_from": ["first", "second"]})),
    ]);
    let edges = edges(&[("first", "second", "on_success"), ("second", "third", "on_success")]);
    let path = tenant.workflow(&json!({"name": "chain", "tags": ["t"], "nodes": nodes, "edges": edges}));
    let result = tenant.result_of(&path);
    assert_eq!((&result["state"], &result["failed_nodes"]), (&json!("succeeded"), &json!([])), "{result}");
    let nodes = result["nodes"].as_array().unwrap();
    assert_eq!((&nodes[0]["output"], &nodes[1]["output"]), (&json!({"n": 1, "s": "x"}), &json!(17)));
    assert_eq!(nodes[2]["output"], Value::Null, "its last line is no JSON");
    let third = tenant.run_of(&path, "third");
    assert_eq!(tenant.lines(&third), ["{\"n\": 1,  \"s\": \"x\"} 17"], "as it was written, but for its margins");
    // The run tells what it is of, and is one of the workflow's.
    let run = tenant.get(&third);
    let id = path.rsplit('/').next().unwrap();
    let told = ["workflow_id", "node_ref", "name", "attempt", "tags"].map(|name| run[name].clone());
    assert_eq!(told, [json!(id), json!("third"), json!("third"), json!(1), json!(["t"])]);
    let runs = tenant.told(&format!("/api/v1/runs?workflow_id={id}"));
    let refs: Vec<&Value> = runs["items"].as_array().unwrap().iter().map(|run| &run["node_ref"]).collect();
    assert_eq!(refs, ["third", "second", "first"]);
    // The values of inputs are not shown.
    assert_eq!(run["env"], json!({"SVC_INPUT_FIRST": "***", "SVC_INPUT_SECOND": "***"}));
    let first = tenant.run_of(&path, "first");
    let expected = [
        ("running".to_owned(), json!({"attempt": 1, "track_id": first})),
        ("succeeded".to_owned(), json!({"attempt": 1, "exit_code": 0, "has_output": true})),
    ];
    assert_eq!(tenant.happened(&path, "first"), expected);
    assert_eq!(tenant.happened(&path, "third")[1].1["has_output"], false);
    let events = tenant.events(&path);
    let order: Vec<String> = events
        .iter()
        .map(|event| format!("{} {}", event["node_ref"].as_str().unwrap_or("-"), event["to_state"].as_str().unwrap()))
        .collect();
    let expected = "- pending, - running, first running, first succeeded, second running, second succeeded, third running, \
                    third succeeded, - succeeded";
    assert_eq!(order.join(", "), expected);
    // Each began when the one before had ended.
    let times: Vec<Value> = ["first", "second", "third"]
        .iter()
        .flat_map(|name| {
            let detail = tenant.detail(&path, name);
            [detail["started_at"].clone(), detail["finished_at"].clone()]
        })
        .collect();
    assert!(times.iter().map(|time| time.as_str().unwrap()).is_sorted(), "{times:?}");
}

/// One of each kind of last line, all at once, and one that is given them all.
#[test]
fn what_is_no_message_is_not_handed_on() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let exact = "printf '\"'; head -c 65534 /dev/zero | tr '\\0' x; echo '\"'";
    let sources = [
        ("object", "echo '  {\"b\":  [1, null]}'"),
        ("a string/\u{fc}", "echo '\"quoted\"'"),
        ("null", "echo null"),
        ("fails", "echo 7; exit 3"),
        ("silent", "true"),
        ("words", "echo 1; echo not json"),
        ("blank-behind", "echo 5; echo; echo '   '"),
        ("other-stream", "echo 6; echo 8 >&2"),
        ("unended", "printf 9"),
        ("large", exact),
        ("larger", "printf '\"'; head -c 65535 /dev/zero | tr '\\0' x; echo '\"'"),
        ("rest", "head -c 65536 /dev/zero | tr '\\0' ' '; echo 42"),
    ];
    let given = "echo \"LARGE ${#SVC_INPUT_LARGE}\"; unset SVC_INPUT_LARGE; env | grep ^SVC_; true";
    let refs: Vec<&str> = sources.iter().map(|(name, _)| *name).collect();
    let more = json!({"inputs_from": refs, "env": {"SVC_INPUT_OBJECT": "mine", "SVC_OTHER": "kept"}});
    let mut nodes: Vec<Value> = sources.iter().map(|(name, script)| node(name, script)).collect();
    nodes.push(node_with("all", given, more));
    let ends: Vec<(&str, &str, &str)> = refs.iter().map(|name| (*name, "all", "always")).collect();
    let path = tenant.workflow(&json!({"nodes": nodes, "edges": edges(&ends)}));
    let result = tenant.result_of(&path);
    assert_eq!((&result["state"], &result["failed_nodes"]), (&json!("failed"), &json!(["fails"])), "{result}");
    let mut lines = tenant.lines(&tenant.run_of(&path, "all"));
    lines.sort_unstable();
    let expected = [
        "LARGE 65536",
        "SVC_INPUT_A_STRING__=\"quoted\"",
        "SVC_INPUT_BLANK_BEHIND=5",
        "SVC_INPUT_FAILS=7",
        "SVC_INPUT_NULL=null",
        "SVC_INPUT_OBJECT={\"b\":  [1, null]}",
        "SVC_INPUT_OTHER_STREAM=6",
        "SVC_INPUT_UNENDED=9",
        "SVC_OTHER=kept",
    ];
    assert_eq!(lines, expected);
    let has_output = |name: &str| tenant.happened(&path, name).last().unwrap().1["has_output"].clone();
    for (name, is_there) in [("null", true), ("silent", false), ("words", false), ("larger", false), ("rest", false)] {
        assert_eq!(has_output(name), is_there, "{name}");
    }
    assert_eq!(tenant.detail(&path, "fails")["output"], 7);
}

/// A gate between two containers: nothing is launched before it is decided, and what was said before it stands still, also
/// when the run that said it is deleted.
#[test]
fn a_gate_lets_through_what_was_said_before_it() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let reader = |name: &str| node_with(name, "echo \"$SVC_INPUT_A\"", json!({"inputs_from": ["a", "g"]}));
    let nodes = json!([node("a", "echo '\"secret\"'"), gate("g"), reader("yes"), reader("no")]);
    let edges = edges(&[("a", "g", "on_success"), ("g", "yes", "on_success"), ("g", "no", "on_failure")]);
    let body = json!({"nodes": nodes, "edges": edges});
    for (way, state, launched, skipped) in [("approve", "succeeded", "yes", "no"), ("reject", "failed", "no", "yes")] {
        let path = tenant.workflow(&body);
        tenant.node_until(&path, "g", "waiting_approval");
        assert_eq!(tenant.node(&path, launched)["state"], "pending");
        let run = tenant.run_of(&path, "a");
        tenant.client.send("DELETE", &format!("/api/v1/runs/{run}"), &[], b"").expect(200);
        assert_eq!(tenant.order(&path, &format!("nodes/g/{way}"))["state"], state);
        let result = tenant.result_of(&path);
        assert_eq!(result["state"], state, "{result}");
        let mut expected = vec![("a", "succeeded"), ("g", state), ("yes", "succeeded"), ("no", "succeeded")];
        expected.iter_mut().find(|(name, _)| *name == skipped).unwrap().1 = "skipped";
        assert_eq!(states(&result), expected);
        assert_eq!(result["nodes"][0]["output"], "secret");
        assert_eq!(tenant.lines(&tenant.run_of(&path, launched)), ["\"secret\""]);
        assert_eq!(tenant.detail(&path, "a")["attempts"], json!([run]), "its id stays");
    }
}
