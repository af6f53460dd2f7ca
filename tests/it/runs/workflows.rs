//! Workflows of gates, and of containers that nobody starts: the engine is off. tests/privileged/workflows has the containers.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup, fresh_key, stdout};
use crate::support::contract::faults;

static APPLIANCE: LazyLock<Appliance> = LazyLock::new(|| Setup::new().rehearsal().start());

const WORKFLOWS: &str = "/api/v1/workflows";

impl Desk {
    pub(crate) fn workflow(&self, body: &Value) -> String {
        let told = self.client.post(WORKFLOWS, body).expect(202);
        assert_eq!(told["status"], "pending");
        format!("{WORKFLOWS}/{}", told["workflow_id"].as_str().unwrap())
    }

    fn states(&self, path: &str) -> Value {
        let told = self.client.get(path).expect(200);
        let nodes: Vec<&Value> = told["nodes"].as_array().unwrap().iter().map(|node| &node["state"]).collect();
        json!([told["state"], nodes])
    }

    pub(crate) fn post_to(&self, path: &str, way: &str) -> Value {
        self.client.send("POST", &format!("{path}/{way}"), &[], b"").expect(200)
    }
}

pub(crate) fn gates(refs: &[&str]) -> Vec<Value> {
    refs.iter().map(|name| json!({"ref": name, "type": "approval"})).collect()
}

#[test]
fn a_workflow_of_gates_ends_by_decisions() {
    let desk = Desk::open(&APPLIANCE);
    let edges = json!([{"from": "a b/c", "to": "yes"}, {"from": "a b/c", "to": "no", "condition": "on_failure"}]);
    let body = json!({"name": "n", "tags": ["t"], "nodes": gates(&["a b/c", "yes", "no"]), "edges": edges});
    let path = desk.workflow(&body);
    assert_eq!(desk.states(&path), json!(["running", ["waiting_approval", "pending", "pending"]]));
    refused(&desk.client.get(&format!("{path}/result")), 409, "not_terminal");
    // A ref is percent-encoded in paths.
    let decided = desk.client.post(&format!("{path}/nodes/a%20b%2Fc/approve"), &json!({"comment": "fine"})).expect(200);
    assert_eq!((&decided["ref"], &decided["state"]), (&json!("a b/c"), &json!("succeeded")));
    let detail = desk.client.get(&format!("{path}/nodes/a%20b%2Fc")).expect(200);
    assert_eq!((&detail["decision"]["decision"], &detail["decision"]["comment"]), (&json!("approved"), &json!("fine")));
    assert_eq!(desk.states(&path), json!(["running", ["succeeded", "waiting_approval", "skipped"]]));
    assert_eq!(desk.post_to(&path, "pause")["state"], "paused");
    assert_eq!(desk.post_to(&path, "nodes/yes/approve")["state"], "succeeded");
    assert_eq!(desk.post_to(&path, "resume")["state"], "succeeded");
    let result = desk.client.get(&format!("{path}/result")).expect(200);
    assert_eq!((&result["state"], &result["failed_nodes"]), (&json!("succeeded"), &json!([])));
    let events = desk.client.get(&format!("{path}/events?since=2&limit=3")).expect(200);
    let ids: Vec<&Value> = events.as_array().unwrap().iter().map(|event| &event["id"]).collect();
    assert_eq!(ids, [3, 4, 5]);
    // All of them as they come: the workflow has ended, and so does the stream.
    let followed = desk.client.send("GET", &format!("{path}/events?follow=true"), &[], b"");
    let text = followed.text.clone();
    assert!(
        text.contains("id: 1\nevent: event\n") && text.ends_with("event: end\ndata: {\"state\":\"succeeded\"}\n\n"),
        "{text}"
    );
    let retried = desk.post_to(&path, "nodes/no/retry");
    assert_eq!(retried["reset"], json!(["no"]));
    let found = desk.client.get(&format!("{WORKFLOWS}?state=succeeded&tag=t&name=n")).expect(200);
    assert_eq!(found["items"][0]["node_counts"]["skipped"], 1, "it was skipped again, and all has ended at once");
    assert_eq!(desk.client.get(&format!("{WORKFLOWS}?tag=x")).expect(200)["items"], json!([]));
}

/// Whoever comes first decides; the others hear that it is decided, and nothing is launched twice.
#[test]
fn a_gate_is_decided_once_whoever_decides_at_once() {
    let desk = Desk::open(&APPLIANCE);
    for round in 0..6 {
        let edges = json!([{"from": "g", "to": "yes"}, {"from": "g", "to": "no", "condition": "on_failure"}]);
        let path = desk.workflow(&json!({"nodes": gates(&["g", "yes", "no"]), "edges": edges}));
        let ways = ["approve", "reject", "approve", "reject", "approve", "reject"];
        let decide = |way: &str| (way.to_owned(), desk.client.send("POST", &format!("{path}/nodes/g/{way}"), &[], b""));
        let answers: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = ways.iter().map(|way| scope.spawn(move || decide(way))).collect();
            all.into_iter().map(|decided| decided.join().unwrap()).collect()
        });
        let (taken, others): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, answer)| answer.status == 200);
        assert_eq!(taken.len(), 1, "round {round}");
        for (_, answer) in &others {
            refused(answer, 409, "invalid_state");
        }
        let ended = match taken[0].0.as_str() {
            "approve" => json!(["running", ["succeeded", "waiting_approval", "skipped"]]),
            _ => json!(["running", ["failed", "skipped", "waiting_approval"]]),
        };
        assert_eq!(desk.states(&path), ended, "round {round}");
        let events = desk.client.get(&format!("{path}/events")).expect(200);
        let open = |event: &&Value| event["to_state"] == "waiting_approval";
        assert_eq!(events.as_array().unwrap().iter().filter(open).count(), 2, "round {round}: {events}");
        desk.post_to(&path, "cancel");
    }
}

/// All text of a picture, whose tags must be those that draw: a name that broke out would bring others, or attributes that run
/// something.
pub(crate) fn text_of(svg: &str) -> String {
    let mut text = String::new();
    for part in svg.split('<').skip(1) {
        let (tag, behind) = part.split_once('>').unwrap();
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        let drawing = ["svg", "g", "title", "text", "tspan", "path", "polygon", "polyline", "ellipse", "rect", "style"];
        let is_head = tag.starts_with(['?', '!']);
        assert!(is_head || drawing.contains(&name) || ["defs", "desc", "a"].contains(&name), "<{tag}>");
        // The letters of a name are escaped within attributes as well.
        assert!(!tag.contains(" onload=\"x") && !tag.contains("href="), "<{tag}>");
        text.push_str(behind);
    }
    text
}

#[test]
fn a_picture_tells_states_and_conditions_and_no_name_breaks_out_of_it() {
    let desk = Desk::open(&APPLIANCE);
    let hostile = "</text><script>x()</script><b onload=\"x()\">";
    let edges =
        json!([{"from": "agree", "to": hostile}, {"from": "agree", "to": "\u{202e}no", "condition": "on_failure"}]);
    let nodes = gates(&["agree", hostile, "\u{202e}no"]);
    let path = desk.workflow(&json!({"name": "\"];\\ <b>", "nodes": nodes, "edges": edges}));
    desk.post_to(&path, "nodes/agree/approve");
    let picture = desk.client.get(&format!("{path}/graph.svg"));
    assert_eq!(picture.status, 200, "{}", picture.text);
    assert_eq!(picture.header("content-type"), "image/svg+xml");
    let text = text_of(&picture.text);
    for told in ["agree", "succeeded", "waiting_approval", "skipped", "upstream", "(gate)", "on_success", "on_failure"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(!picture.text.contains('\u{202e}') && picture.text.contains('\u{fffd}'), "{text}");
    // Nobody else's.
    refused(&Desk::open(&APPLIANCE).client.get(&format!("{path}/graph.svg")), 404, "not_found");
    refused(&desk.client.get(&format!("{path}/graph.svg?x=1")), 400, "unknown_query_parameter");
}

#[test]
fn the_picture_of_the_densest_graph_is_bounded() {
    let desk = Desk::open(&APPLIANCE);
    let refs: Vec<String> = (0..50).map(|place| format!("{place}{}", "\"<&\\".repeat(31))).collect();
    let ends = (0..50).flat_map(|from| (from + 1..50).map(move |to| (from, to)));
    let edges: Vec<Value> = ends.map(|(from, to)| json!({"from": refs[from], "to": refs[to]})).collect();
    let refs: Vec<&str> = refs.iter().map(String::as_str).collect();
    let path = desk.workflow(&json!({"nodes": gates(&refs), "edges": edges}));
    let picture = desk.client.get(&format!("{path}/graph.svg"));
    assert_eq!(picture.status, 200, "{}", picture.text);
    assert!(picture.text.len() < 16_000_000, "{} bytes", picture.text.len());
    assert!(text_of(&picture.text).contains("lines: solid on_success"));
}

#[test]
fn a_graph_that_is_too_large_for_a_picture_is_told_so() {
    let tenant = APPLIANCE.tenant();
    let quota = ["tenant", "quota", &tenant, "--service", "runs", "--max-nodes-per-workflow", "1000"];
    APPLIANCE.cli_json(&quota);
    let desk = Desk { client: APPLIANCE.persona("runs", &tenant, &[]) };
    // More letters than a picture holds, which a workflow may have.
    let refs: Vec<String> = (0..1_000).map(|place| format!("{place:03}{}", "\u{1f600}".repeat(125))).collect();
    let body = json!({"nodes": gates(&refs.iter().map(String::as_str).collect::<Vec<_>>())});
    let path = desk.workflow(&body);
    let problem = refused(&desk.client.get(&format!("{path}/graph.svg")), 409, "invalid_state");
    assert_eq!(problem["detail"], "the graph is too large for a picture");
    // It is for a picture only.
    assert_eq!(desk.client.get(&path).expect(200)["nodes"].as_array().unwrap().len(), 1_000);
    desk.post_to(&path, "cancel");
}

#[test]
fn the_clock_starts_and_decides() {
    let (appliance, now) = (Setup::new().rehearsal().start(), "now");
    let desk = Desk::open(&appliance);
    let clock = appliance.cli_json(&["clock", "show"]);
    let instant = quintet_platform::clock::parse_rfc3339(clock[now].as_str().unwrap()).unwrap().plus_seconds(100);
    let later = quintet_platform::clock::rfc3339(instant);
    let gate = json!({"ref": "g", "type": "approval", "expires_after_seconds": 60, "on_expiry": "approve"});
    let path = desk.workflow(&json!({"nodes": [gate], "scheduled_start": later}));
    assert_eq!(desk.states(&path), json!(["pending", ["pending"]]));
    appliance.cli_json(&["clock", "advance", "101"]);
    assert_eq!(desk.states(&path), json!(["running", ["waiting_approval"]]));
    appliance.cli_json(&["clock", "advance", "60"]);
    assert_eq!(desk.states(&path), json!(["succeeded", ["succeeded"]]));
    let detail = desk.client.get(&format!("{path}/nodes/g")).expect(200);
    assert_eq!(detail["decision"]["decided_by"], "expiry");
}

/// `quintet status` and the metrics tell what there is of the workflows of all tenants.
#[test]
fn the_operator_is_told_what_there_is_of_workflows() {
    let appliance = Setup::new().rehearsal().start();
    let told = |states: [u64; 6], gates: u64, oldest: u64| {
        let status = appliance.cli_json(&["status"])["workflows"].clone();
        let active: u64 = states[..3].iter().sum();
        let mut expected = json!({"active": active, "open_gates": gates});
        if gates > 0 {
            expected["oldest_gate_seconds"] = json!(oldest);
        }
        assert_eq!(status, expected);
        let metrics = ureq::get(format!("http://{}/metrics", appliance.address("operations"))).call().unwrap();
        let metrics = metrics.into_body().read_to_string().unwrap();
        let value = |name: &str| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
            line.unwrap_or_else(|| panic!("{name}: {metrics}")).parse::<f64>().unwrap()
        };
        let names = ["pending", "running", "paused", "succeeded", "failed", "cancelled"];
        let found = names.map(|state| value(&format!("quintet_runs_workflows{{state=\"{state}\"}}")));
        assert_eq!(found, states.map(|count| count as f64));
        assert_eq!(value("quintet_runs_open_gates"), gates as f64);
        assert_eq!(value("quintet_runs_oldest_open_gate_seconds"), oldest as f64);
        assert_eq!(value("quintet_runs_workflow_nodes_seconds_total"), 0.0, "nothing was ever started");
    };
    told([0; 6], 0, 0);
    let (desk, other) = (Desk::open(&appliance), Desk::open(&appliance));
    let gate = |reference: &str| json!({"nodes": gates(&[reference])});
    let oldest = desk.workflow(&gate("a"));
    appliance.cli_json(&["clock", "advance", "100"]);
    let (second, cancelled) = (other.workflow(&gate("a")), other.workflow(&gate("a")));
    desk.workflow(&json!({"nodes": gates(&["a"]), "scheduled_start": "2999-01-01T00:00:00Z"}));
    other.post_to(&second, "pause");
    other.post_to(&cancelled, "cancel");
    appliance.cli_json(&["clock", "advance", "20"]);
    told([1, 1, 1, 0, 0, 1], 2, 120);
    desk.post_to(&oldest, "nodes/a/reject");
    told([1, 0, 1, 0, 1, 1], 1, 20);
    other.post_to(&second, "resume");
    other.post_to(&second, "nodes/a/approve");
    told([1, 0, 0, 1, 1, 1], 0, 0);
    let text = stdout(&appliance.cli(&["status"]));
    assert!(text.contains("\nworkflows    1 active; 0 gates are open"), "{text}");
    // They go in their time, and are not counted any more.
    appliance.cli_json(&["clock", "advance", "2592000"]);
    told([1, 0, 0, 0, 0, 0], 0, 0);
}

#[test]
fn cancelling_ends_runs_that_wait_and_frees_their_workflow() {
    let desk = Desk::open(&APPLIANCE);
    let path = desk.workflow(&json!({"nodes": [{"ref": "a", "image": "busybox", "retries": 3}]}));
    let track_id = desk.client.get(&path).expect(200)["nodes"][0]["current_track_id"].as_str().unwrap().to_owned();
    let run = desk.run(&track_id);
    assert_eq!((&run["node_ref"], &run["name"], &run["attempt"]), (&json!("a"), &json!("a"), &json!(1)));
    refused(&desk.delete(&track_id), 409, "run_active");
    assert_eq!(desk.post_to(&path, "cancel")["state"], "cancelled");
    let run = desk.run(&track_id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("killed"), &json!("workflow_cancelled")));
    desk.delete(&track_id).expect(200);
    let detail = desk.client.get(&format!("{path}/nodes/a")).expect(200);
    assert_eq!(detail["attempts"], json!([track_id]), "its id stays");
}

#[test]
fn workflows_that_are_wrong_are_refused_and_change_nothing() {
    let desk = Desk::open(&APPLIANCE);
    let node = |change: Value| {
        let mut node = json!({"ref": "a", "image": "busybox"});
        node.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"nodes": [node]})
    };
    let two = |edges: Value| json!({"nodes": gates(&["a", "b"]), "edges": edges});
    let many: Vec<String> = (0..51).map(|number| format!("n{number}")).collect();
    let many = json!({"nodes": gates(&many.iter().map(String::as_str).collect::<Vec<_>>())});
    let hooked = |webhook: Value| json!({"nodes": gates(&["a"]), "webhook": webhook});
    for (body, status, code, field) in [
        (json!([]), 422, "validation_failed", ""),
        (json!({}), 422, "validation_failed", "nodes"),
        (json!({"nodes": []}), 422, "validation_failed", "nodes"),
        (json!({"nodes": [1]}), 422, "validation_failed", "nodes[0]"),
        (json!({"nodes": gates(&["a"]), "more": 1}), 422, "validation_failed", "more"),
        (json!({"nodes": gates(&["a"]), "name": ""}), 422, "validation_failed", "name"),
        (json!({"nodes": gates(&["a"]), "failure_policy": "never"}), 422, "validation_failed", "failure_policy"),
        (
            json!({"nodes": gates(&["a"]), "scheduled_start": "2099-01-01T00:00:00"}),
            422,
            "validation_failed",
            "scheduled_start",
        ),
        (json!({"nodes": [{"image": "busybox"}]}), 422, "validation_failed", "nodes[0].ref"),
        (json!({"nodes": [{"ref": "a"}]}), 422, "validation_failed", "nodes[0].image"),
        (node(json!({"ref": ""})), 422, "validation_failed", "nodes[0].ref"),
        (node(json!({"ref": "x".repeat(129)})), 422, "validation_failed", "nodes[0].ref"),
        (node(json!({"ref": "a\n"})), 422, "validation_failed", "nodes[0].ref"),
        (node(json!({"type": "robot"})), 422, "validation_failed", "nodes[0].type"),
        (node(json!({"image": "no image"})), 422, "validation_failed", "nodes[0].image"),
        (node(json!({"command": "true"})), 422, "validation_failed", "nodes[0].command"),
        (node(json!({"env": {"A": 1}})), 422, "validation_failed", "nodes[0].env.A"),
        (node(json!({"inputs_from": "a"})), 422, "validation_failed", "nodes[0].inputs_from"),
        (node(json!({"retries": 11})), 422, "validation_failed", "nodes[0].retries"),
        (node(json!({"retries": -1})), 422, "validation_failed", "nodes[0].retries"),
        (node(json!({"retry_backoff_seconds": 86_401})), 422, "validation_failed", "nodes[0].retry_backoff_seconds"),
        (node(json!({"cpu_limit": 0})), 422, "validation_failed", "nodes[0].cpu_limit"),
        (node(json!({"timeout_seconds": 0})), 422, "validation_failed", "nodes[0].timeout_seconds"),
        (
            node(json!({"type": "approval", "expires_after_seconds": 59})),
            422,
            "validation_failed",
            "nodes[0].expires_after_seconds",
        ),
        (two(json!([{"from": "a"}])), 422, "validation_failed", "edges[0].to"),
        (two(json!([{"from": "a", "to": "b", "x": 1}])), 422, "validation_failed", "edges[0].x"),
        (two(json!([{"from": "a", "to": "b", "condition": "maybe"}])), 422, "validation_failed", "edges[0].condition"),
        (
            hooked(json!({"url": "https://example.com/", "events": ["*"], "x": 1})),
            422,
            "unknown_webhook_key",
            "webhook.x",
        ),
        (hooked(json!({"url": "https://127.0.0.1/", "events": ["*"]})), 422, "url_not_allowed", "webhook.url"),
        (many, 400, "too_many_nodes", "nodes"),
        (json!({"nodes": gates(&["a", "a"])}), 400, "invalid_graph", "nodes[1].ref"),
        (node(json!({"inputs_from": ["b"]})), 400, "invalid_graph", "nodes[0].inputs_from[0]"),
        (two(json!([{"from": "a", "to": "c"}])), 400, "invalid_graph", "edges[0].to"),
        (two(json!([{"from": "a", "to": "a"}])), 400, "invalid_graph", "edges[0]"),
        (two(json!([{"from": "a", "to": "b"}, {"from": "b", "to": "a"}])), 400, "invalid_graph", "edges"),
    ] {
        let problem = refused(&desk.client.post(WORKFLOWS, &body), status, code);
        assert_eq!(problem["field"].as_str().unwrap_or_default(), field, "{body} {problem}");
    }
    assert_eq!(desk.client.get(WORKFLOWS).expect(200)["items"], json!([]), "nothing was stored");
    // Members of a node that nobody knows are ignored.
    let path = desk
        .workflow(&json!({"nodes": [{"ref": "a", "image": "busybox", "imgae": 1}, {"ref": "g", "type": "approval"}]}));
    for (way, status, code) in [
        ("nodes/a/approve", 409, "not_an_approval"),
        ("nodes/a/retry", 409, "node_not_terminal"),
        ("nodes/b/approve", 404, "not_found"),
        ("resume", 409, "invalid_state"),
    ] {
        refused(&desk.client.send("POST", &format!("{path}/{way}"), &[], b""), status, code);
    }
    let long = json!({"comment": "x".repeat(2_001)});
    refused(&desk.client.post(&format!("{path}/nodes/g/reject"), &long), 422, "validation_failed");
    refused(&desk.client.post(&format!("{path}/pause"), &json!({"x": 1})), 422, "validation_failed");
    refused(&desk.client.get(&format!("{path}/events?since=-1")), 422, "validation_failed");
    refused(&desk.client.get(&format!("{path}/events?from=1")), 400, "unknown_query_parameter");
    assert_eq!(desk.states(&path), json!(["running", ["running", "waiting_approval"]]));
    for _ in 1..10 {
        desk.workflow(&json!({"nodes": gates(&["a"])}));
    }
    refused(&desk.client.post(WORKFLOWS, &json!({"nodes": gates(&["a"])})), 429, "workflow_quota_exceeded");
}

#[test]
fn another_tenants_workflows_do_not_exist_and_keys_open_what_they_may() {
    let (desk, other) = (Desk::open(&APPLIANCE), Desk::open(&APPLIANCE));
    let path = desk.workflow(&json!({"nodes": gates(&["a"])}));
    for way in ["", "/result", "/events", "/events?follow=true", "/nodes/a"] {
        refused(&other.client.get(&format!("{path}{way}")), 404, "not_found");
    }
    for way in ["cancel", "pause", "resume", "nodes/a/retry", "nodes/a/approve", "nodes/a/reject"] {
        refused(&other.client.send("POST", &format!("{path}/{way}"), &[], b""), 404, "not_found");
    }
    assert_eq!(other.client.get(WORKFLOWS).expect(200)["items"], json!([]));
    let tenant_id = APPLIANCE.tenant();
    let reader = APPLIANCE.persona("runs", &tenant_id, &["svc_run_read"]);
    refused(&reader.post(WORKFLOWS, &json!({"nodes": gates(&["a"])})), 403, "forbidden");
    for way in ["cancel", "pause", "resume", "nodes/a/approve", "nodes/a/reject", "nodes/a/retry"] {
        refused(&reader.send("POST", &format!("{path}/{way}"), &[], b""), 403, "forbidden");
    }
    assert_eq!(desk.states(&path), json!(["running", ["waiting_approval"]]));
    // A repeat under a key gets the first answer.
    let key = fresh_key();
    let body = json!({"nodes": gates(&["a"])}).to_string();
    let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
    let first = desk.client.send("POST", WORKFLOWS, &headers, body.as_bytes()).expect(202);
    assert_eq!(desk.client.send("POST", WORKFLOWS, &headers, body.as_bytes()).expect(202), first);
    let other = json!({"nodes": gates(&["b"])});
    refused(&desk.client.post_under(&key, WORKFLOWS, &other), 422, "idempotency_key_mismatch");
    assert_eq!(desk.client.get(WORKFLOWS).expect(200)["items"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_answered_has_the_documented_shape() {
    let desk = Desk::open(&APPLIANCE);
    let document = APPLIANCE.stranger("runs").get("/openapi.json").expect(200);
    let body = json!({"nodes": [{"ref": "g", "type": "approval"}, {"ref": "a", "image": "busybox"}], "edges": [{"from": "g", "to": "a"}]});
    let path = desk.workflow(&body);
    let nothing = Value::Null;
    let at = "/api/v1/workflows/{workflow_id}";
    for (method, way, body) in [
        ("GET", "", &nothing),
        ("GET", "/result", &nothing),
        ("GET", "/events", &nothing),
        ("GET", "/nodes/g", &nothing),
        ("POST", "/nodes/g/approve", &json!({"comment": null})),
        ("POST", "/nodes/g/reject", &nothing),
        ("GET", "/nodes/g", &nothing),
        ("POST", "/nodes/a/retry", &nothing),
        ("POST", "/pause", &json!({})),
        ("POST", "/resume", &nothing),
        ("POST", "/cancel", &nothing),
        ("POST", "/cancel", &nothing),
        ("GET", "/result", &nothing),
        ("GET", "/events", &nothing),
        ("POST", "/nodes/a/retry", &nothing),
        ("GET", "/nodes/a", &nothing),
        ("GET", "", &nothing),
    ] {
        let template = format!("{at}{}", way.replace("/nodes/g", "/nodes/{ref}").replace("/nodes/a", "/nodes/{ref}"));
        fits(&desk, &document, (method, &template, &format!("{path}{way}"), body));
    }
    fits(&desk, &document, ("POST", WORKFLOWS, WORKFLOWS, &body));
    fits(&desk, &document, ("POST", WORKFLOWS, WORKFLOWS, &json!({})));
    fits(&desk, &document, ("GET", WORKFLOWS, WORKFLOWS, &nothing));
}

fn fits(desk: &Desk, document: &Value, (method, template, path, body): (&str, &str, &str, &Value)) {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let headers: &[(&str, &str)] = if body.is_null() { &[] } else { &[("content-type", "application/json")] };
    let answer = desk.client.send(method, path, headers, text.as_bytes());
    let response = &document["paths"][template][method.to_lowercase()]["responses"][answer.status.to_string()];
    let schema = &response["content"][answer.header("content-type")]["schema"];
    assert!(schema.is_object(), "{method} {path}: {} is not described: {answer:?}", answer.status);
    let found = faults(document, schema, &answer.json(), "");
    assert!(found.is_empty(), "{method} {path}: {found:#?}\n{answer:?}");
    if answer.status >= 400 {
        assert!(response["x-codes"].as_array().unwrap().contains(&answer.json()["code"]), "{answer:?}");
    }
}
