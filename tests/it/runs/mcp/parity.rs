//! A tool's answer is its route's: every tool that is listed, against the routes that it names.

use serde_json::{Value, json};

use super::{ALL, call, key};
use crate::support::appliance::{Client, shared};

/// A call of a tool and the request that does the same.
pub struct Case {
    pub tool: &'static str,
    pub arguments: Value,
    pub method: &'static str,
    pub path: String,
    pub body: String,
    /// What the request is answered with.
    pub status: u16,
}

/// What is different each time it is told, made the same: ids, instants, lengths of time, requests' identifiers.
pub fn settled(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() == 26 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) => json!("ID"),
        Value::String(text) if text.len() > 19 && text.as_bytes()[10] == b'T' && text.ends_with('Z') => {
            json!("INSTANT")
        }
        Value::Array(values) => values.iter().map(settled).collect(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let is_length = name == "duration_seconds" && value.is_number();
                (name.clone(), if is_length { json!("SECONDS") } else { settled(value) })
            };
            Value::Object(members.iter().filter(|(name, _)| *name != "next_since").map(member).collect())
        }
        // A client may write 1.0 as 1.
        Value::Number(number) => json!(number.as_f64()),
        plain => plain.clone(),
    }
}

fn submitted(client: &Client, body: &Value) -> String {
    client.post("/api/v1/runs", body).expect(202)["track_id"].as_str().unwrap().to_owned()
}

/// Cases of every tool, by a client who may do everything: what succeeds, what is refused by the route, what the route does
/// not know.
pub fn cases(client: &Client) -> Vec<Case> {
    let waiting = submitted(client, &json!({"image": "a", "tags": ["t&= ü"], "name": "w"}));
    let late = submitted(client, &json!({"image": "a", "expires_at": "2000-01-01T00:00:00Z"}));
    let ended = client.get(&format!("/api/v1/runs/{late}?wait=60")).expect(200);
    assert_eq!(ended["state"], "failed");
    let twins: Vec<String> = (0..2).map(|_| submitted(client, &json!({"image": "b"}))).collect();
    let run = |id: &str, rest: &str| format!("/api/v1/runs/{id}{rest}");
    let case = |tool, arguments: Value, method, path: String, body: &str, status| Case {
        tool,
        arguments,
        method,
        path,
        body: body.to_owned(),
        status,
    };
    let runs = || "/api/v1/runs".to_owned();
    let quotas = || "/api/v1/tenant/quotas".to_owned();
    let mut cases = vec![
        case("submit_run", json!({"image": "a", "tags": ["x"]}), "POST", runs(), r#"{"image":"a","tags":["x"]}"#, 202),
        case("submit_run", json!({}), "POST", runs(), "{}", 422),
        case("submit_run", json!({"image": "a", "imag": 1}), "POST", runs(), r#"{"image":"a","imag":1}"#, 422),
        case(
            "submit_run",
            json!({"image": "a", "webhook": {"url": "https://a.invalid/", "events": ["*"], "x": 1}}),
            "POST",
            runs(),
            r#"{"image":"a","webhook":{"url":"https://a.invalid/","events":["*"],"x":1}}"#,
            422,
        ),
        case("list_runs", json!({"limit": 1}), "GET", runs() + "?limit=1", "", 200),
        case("list_runs", json!({"limit": "1", "state": null}), "GET", runs() + "?limit=1", "", 200),
        case("list_runs", json!({"tag": "t&= ü"}), "GET", runs() + "?tag=t%26%3D%20%C3%BC", "", 200),
        case("list_runs", json!({"limit": 0}), "GET", runs() + "?limit=0", "", 422),
        case("list_runs", json!({"limit": 1.5}), "GET", runs() + "?limit=1.5", "", 422),
        case("list_runs", json!({"statee": {}}), "GET", runs() + "?statee=x", "", 400),
        case("get_run", json!({"track_id": waiting}), "GET", run(&waiting, ""), "", 200),
        case("get_run", json!({"track_id": late, "wait": 60}), "GET", run(&late, "?wait=60"), "", 200),
        case("get_run", json!({"track_id": "../usage"}), "GET", run("..%2Fusage", ""), "", 404),
        case("get_run", json!({"track_id": ""}), "GET", run("x", ""), "", 404),
        case("get_run_result", json!({"track_id": late}), "GET", run(&late, "/result"), "", 200),
        case("get_run_result", json!({"track_id": waiting}), "GET", run(&waiting, "/result"), "", 409),
        case("get_run_logs", json!({"track_id": late, "tail": 3}), "GET", run(&late, "/logs?tail=3"), "", 200),
        case("get_run_logs", json!({"track_id": late, "stream": "x"}), "GET", run(&late, "/logs?stream=x"), "", 422),
        case("get_run_utilization", json!({"track_id": late}), "GET", run(&late, "/utilization"), "", 200),
        case("delete_run", json!({"track_id": twins[0]}), "DELETE", run(&twins[1], ""), "", 200),
        case("delete_run", json!({"track_id": twins[0]}), "DELETE", run(&twins[1], ""), "", 404),
        case("get_quotas", json!({}), "GET", quotas(), "", 200),
        case("get_quotas", json!(null), "GET", quotas(), "", 200),
        case("update_quotas", json!({"max_cpu": 1.50}), "PUT", quotas(), r#"{"max_cpu":1.50}"#, 200),
        case("update_quotas", json!({"max_cpu": "1"}), "PUT", quotas(), r#"{"max_cpu":"1"}"#, 422),
        case("update_quotas", json!({"max_cpu": 100000}), "PUT", quotas(), r#"{"max_cpu":100000}"#, 422),
    ];
    cases.extend(cases_of_workflows(client));
    cases.extend(cases_of_templates(client));
    for action in ["pause", "resume", "stop", "kill"] {
        let arguments = json!({"track_id": waiting, "action": action});
        cases.push(case("control_run", arguments, "POST", run(&waiting, &format!("/{action}")), "", 409));
    }
    cases
}

/// Those of workflows: of two that are the same, the tool has the one and the route the other.
fn cases_of_workflows(client: &Client) -> Vec<Case> {
    let graph = json!({
        "name": "release",
        "nodes": [{"ref": "look at/it ü", "type": "approval"}, {"ref": "ship", "type": "approval"}],
        "edges": [{"from": "look at/it ü", "to": "ship"}],
    });
    let made = || client.post("/api/v1/workflows", &graph).expect(202)["workflow_id"].as_str().unwrap().to_owned();
    let (own, other) = (made(), made());
    let workflows = || "/api/v1/workflows".to_owned();
    let path = |id: &str, rest: &str| format!("/api/v1/workflows/{id}{rest}");
    let case = |tool, arguments: Value, method, path: String, body: &Value, status| Case {
        tool,
        arguments,
        method,
        path,
        body: if body.is_null() { String::new() } else { body.to_string() },
        status,
    };
    let cyclic = json!({
        "nodes": [{"ref": "a", "type": "approval"}, {"ref": "b", "type": "approval"}],
        "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}],
    });
    let of = |rest: &[(&str, Value)]| {
        let mut arguments = json!({"workflow_id": own});
        rest.iter().for_each(|(name, value)| arguments[*name] = value.clone());
        arguments
    };
    let gate = ("ref", json!("look at/it ü"));
    let decide = |decision: &str| of(&[gate.clone(), ("decision", json!(decision)), ("comment", json!("fine"))]);
    let decided = json!({"comment": "fine"});
    let node = "/nodes/look%20at%2Fit%20%C3%BC";
    let control = |action: &str| of(&[("action", json!(action))]);
    let get = Value::Null;
    vec![
        case("submit_workflow", graph.clone(), "POST", workflows(), &graph, 202),
        case("submit_workflow", json!({}), "POST", workflows(), &json!({}), 422),
        case("submit_workflow", cyclic.clone(), "POST", workflows(), &cyclic, 400),
        case(
            "list_workflows",
            json!({"limit": 1, "name": "release"}),
            "GET",
            workflows() + "?limit=1&name=release",
            &get,
            200,
        ),
        case("list_workflows", json!({"limit": 0}), "GET", workflows() + "?limit=0", &get, 422),
        case("get_workflow", of(&[]), "GET", path(&other, ""), &get, 200),
        case("get_workflow", json!({"workflow_id": "x"}), "GET", path("x", ""), &get, 404),
        case("get_workflow_node", of(std::slice::from_ref(&gate)), "GET", path(&other, node), &get, 200),
        case("get_workflow_node", of(&[("ref", json!("none"))]), "GET", path(&other, "/nodes/none"), &get, 404),
        case("get_workflow_result", of(&[]), "GET", path(&other, "/result"), &get, 409),
        case("control_workflow", control("pause"), "POST", path(&other, "/pause"), &get, 200),
        case("control_workflow", control("pause"), "POST", path(&other, "/pause"), &get, 409),
        case("control_workflow", control("resume"), "POST", path(&other, "/resume"), &get, 200),
        case("decide_approval", decide("approve"), "POST", path(&other, &format!("{node}/approve")), &decided, 200),
        case("decide_approval", decide("reject"), "POST", path(&other, &format!("{node}/reject")), &decided, 409),
        case(
            "retry_workflow_node",
            of(std::slice::from_ref(&gate)),
            "POST",
            path(&other, &format!("{node}/retry")),
            &get,
            409,
        ),
        case("control_workflow", control("cancel"), "POST", path(&other, "/cancel"), &get, 200),
        case("get_workflow_result", of(&[]), "GET", path(&other, "/result"), &get, 200),
        case(
            "retry_workflow_node",
            of(std::slice::from_ref(&gate)),
            "POST",
            path(&other, &format!("{node}/retry")),
            &get,
            200,
        ),
        case("get_workflow_events", of(&[("since", json!(2))]), "GET", path(&other, "/events?since=2"), &get, 200),
    ]
}

/// Those of templates: of two that are the same, the tool has the one and the route the other.
fn cases_of_templates(client: &Client) -> Vec<Case> {
    let nodes = json!([{"ref": "agree on ${{ app }}", "type": "approval"}]);
    let body = |name: Option<&str>| {
        let params = json!([{"name": "app", "type": "string", "required": true}]);
        json!({"name": name, "params": params, "definition": {"name": "release", "nodes": nodes}})
    };
    let made = || {
        let told = client.post("/api/v1/templates", &body(None)).expect(201);
        told["template_id"].as_str().unwrap().to_owned()
    };
    let (own, other) = (made(), made());
    let path = |rest: &str| format!("/api/v1/templates{rest}");
    let of = |rest: Value| {
        let mut arguments = json!({"ref": own});
        rest.as_object().unwrap().iter().for_each(|(name, value)| arguments[name] = value.clone());
        arguments
    };
    let case = |tool, arguments: Value, method, path: String, body: &Value, status| Case {
        tool,
        arguments,
        method,
        path,
        body: if body.is_null() { String::new() } else { body.to_string() },
        status,
    };
    let get = Value::Null;
    let (run, wrong) = (json!({"params": {"app": "web"}, "tags": ["t"]}), json!({"params": {"app": 1}}));
    let change = json!({"definition": {"nodes": [{"ref": "b", "type": "approval"}]}});
    vec![
        case("create_template", body(None), "POST", path(""), &body(None), 201),
        case("create_template", json!({}), "POST", path(""), &json!({}), 422),
        case("list_templates", json!({"limit": 1}), "GET", path("?limit=1"), &get, 200),
        case("get_template", of(json!({"version": 1})), "GET", path(&format!("/{other}?version=1")), &get, 200),
        case("get_template", json!({"ref": "nothing"}), "GET", path("/nothing"), &get, 404),
        case("run_template", of(run.clone()), "POST", path(&format!("/{other}/run")), &run, 202),
        case("run_template", of(wrong.clone()), "POST", path(&format!("/{other}/run")), &wrong, 422),
        case("update_template", of(change.clone()), "PATCH", path(&format!("/{other}")), &change, 200),
        case("delete_template", of(json!({})), "DELETE", path(&format!("/{other}")), &get, 200),
        case("delete_template", of(json!({})), "DELETE", path(&format!("/{other}")), &get, 404),
    ]
}

/// Those of a tenant that may do no more, which it is once they have been tried.
pub fn cases_of_limits(client: &Client) -> Vec<Case> {
    let case = |tool, method, path: &str, body: Value, status| Case {
        tool,
        arguments: body.clone(),
        method,
        path: path.to_owned(),
        body: body.to_string(),
        status,
    };
    let template = json!({"definition": {"nodes": [{"ref": "a", "type": "approval"}]}});
    let made = client.post("/api/v1/templates", &template).expect(201);
    let run = format!("/api/v1/templates/{}/run", made["template_id"].as_str().unwrap());
    let (gate, container) = (template["definition"].clone(), json!({"nodes": [{"ref": "a", "image": "a"}]}));
    let quotas = |body: Value| case("update_quotas", "PUT", "/api/v1/tenant/quotas", body, 200);
    vec![
        quotas(json!({"max_concurrent_workflows": 1})),
        case("submit_workflow", "POST", "/api/v1/workflows", gate, 429),
        Case { arguments: json!({"ref": made["template_id"]}), ..case("run_template", "POST", &run, json!({}), 429) },
        quotas(json!({"max_concurrent_workflows": 10, "max_daily_runs": 1})),
        case("submit_run", "POST", "/api/v1/runs", json!({"image": "a"}), 429),
        case("submit_workflow", "POST", "/api/v1/workflows", container, 429),
    ]
}

#[test]
fn what_is_in_an_answer_is_there_to_the_byte() {
    let (_, client) = key(shared(), &ALL);
    let id = submitted(&client, &json!({"image": "a", "name": "\u{2603}\"\\ \u{1f600}", "cpu_limit": 0.50}));
    let answer = client.get(&format!("/api/v1/runs/{id}"));
    let result = call(&client, "get_run", &json!({"track_id": id}));
    assert_eq!(result["content"][0]["text"], answer.text);
    assert_eq!(result["structuredContent"], answer.json());
    assert_eq!((&result["isError"], result["content"].as_array().unwrap().len()), (&json!(false), 1));
}

#[test]
fn a_call_counts_as_one_and_what_stands_before_it_as_none() {
    let appliance = shared();
    let tenant_id = appliance.tenant();
    let client = appliance.persona("runs", &tenant_id, &ALL);
    appliance.cli_json(&["tenant", "quota", &tenant_id, "--service", "runs", "--monthly-calls", "3"]);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for _ in 0..5 {
        super::speak(&client, &[], list).expect(200);
    }
    assert_eq!(call(&client, "get_quotas", &json!({}))["isError"], false);
    // One that says too little counts as well.
    assert_eq!(call(&client, "get_run", &json!({}))["structuredContent"]["code"], "validation_failed");
    assert_eq!(call(&client, "get_quotas", &json!({}))["isError"], false);
    let problem = call(&client, "get_quotas", &json!({}))["structuredContent"].clone();
    assert_eq!((&problem["status"], &problem["code"]), (&json!(429), &json!("quota_exceeded")));
    assert_eq!(client.get("/api/v1/usage").status, 429, "it is the same quota");
    super::speak(&client, &[], list).expect(200);
}

#[test]
fn a_problem_names_the_request_that_it_came_with() {
    let (_, client) = key(shared(), &ALL);
    let body =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"track_id":"x"}}}"#;
    let answer = super::speak(&client, &[("x-request-id", "mine")], body);
    assert_eq!(answer.expect(200)["result"]["structuredContent"]["request_id"], "mine");
    assert_eq!(answer.header("x-request-id"), "mine");
}

#[test]
fn fields_of_the_head_do_not_reach_the_route() {
    let (_, client) = key(shared(), &ALL);
    let body =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"submit_run","arguments":{"image":"a"}}}"#;
    let id = || {
        let head = [("idempotency-key", "one"), ("content-encoding-not", "gzip")];
        super::speak(&client, &head, body).expect(200)["result"]["structuredContent"]["track_id"].clone()
    };
    assert_ne!(id(), id());
}
