//! What a template was given as a secret reaches its containers, and is found nowhere else.

use std::path::Path;

use serde_json::json;

use super::node_with;
use crate::runs::House;
use crate::support::receiver::Receiver;

const SECRET: &str = "sesame-4711-of-nobody-else";

/// The files below a directory that have this text in them.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files_with(&path, text));
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_secret_reaches_its_container_and_nobody_else() {
    let configuration = "[egress]\nallow_private = [\"127.0.0.1/32\"]\n".to_owned();
    let Some(mut house) = House::start_with(&[], Some(configuration)) else { return };
    let (tenant, receiver) = (house.tenant(), Receiver::start());
    // It is compared by its length alone, so that no script has it; and told once the container has gone on.
    let script = "test ${#TOKEN} -eq $0 && test ${#1} -eq $0 && echo true || echo false";
    let length = SECRET.len().to_string();
    let command = ["sh", "-c", script, &length, "${{ token }}"];
    let mut ship = node_with("ship", "", json!({"env": {"TOKEN": "${{ token }}"}}));
    ship["command"] = json!(command);
    // One that cannot start says why, and has the same.
    let mut lost = ship.clone();
    (lost["ref"], lost["command"]) = (json!("lost"), json!(["/absent", "${{ token }}"]));
    let template = json!({
        "name": "secrets",
        "params": [{"name": "token", "type": "string", "secret": true, "required": true}],
        "definition": {
            "nodes": [ship, lost],
            "failure_policy": "continue",
            "webhook": {"url": receiver.url(204, "own"), "events": ["*"], "secret": "${{ token }}"},
        },
    });
    tenant.client.post("/api/v1/templates", &template).expect(201);
    let endpoint = json!({"url": receiver.url(204, "all"), "events": ["*"]});
    tenant.client.post("/api/v1/webhooks", &endpoint).expect(201);
    let launched =
        tenant.client.post("/api/v1/templates/secrets/run", &json!({"params": {"token": SECRET}})).expect(202);
    let path = format!("/api/v1/workflows/{}", launched["workflow_id"].as_str().unwrap());
    let result = tenant.result_of(&path);
    assert_eq!((&result["nodes"][0]["output"], &result["failed_nodes"]), (&json!(true), &json!(["lost"])), "{result}");
    // Both hear of the end of the workflow, behind all that went before.
    for place in ["own", "all"] {
        crate::runs::wait_until("the end is told", || {
            receiver.at(place).iter().any(|one| one.header("x-svc-event") == "workflow.failed")
        });
        let told: Vec<u8> = receiver.at(place).into_iter().flat_map(|one| one.raw).collect();
        assert!(!String::from_utf8(told).unwrap().contains(SECRET), "{place}");
    }
    let runs = ["ship", "lost"].map(|reference| tenant.run_of(&path, reference));
    // What a node put out is told with its end.
    crate::runs::wait_until("its end is told", || {
        receiver.at("all").iter().any(|one| one.header("x-svc-event") == "node.succeeded")
    });
    let all = receiver.at("all");
    let ship = all.iter().find(|one| one.header("x-svc-event") == "node.succeeded").unwrap().body();
    let data = json!({"workflow_id": launched["workflow_id"], "ref": "ship", "state": "succeeded", "attempt": 1,
        "current_track_id": runs[0], "exit_code": 0, "output": true});
    assert_eq!(ship["data"], data);
    let mut asked = vec![path.clone(), format!("{path}/result"), format!("{path}/events"), format!("{path}/graph.svg")];
    asked.extend(["ship", "lost"].map(|reference| format!("{path}/nodes/{reference}")));
    asked.extend(runs.iter().flat_map(|run| ["", "/logs", "/result"].map(|part| format!("/api/v1/runs/{run}{part}"))));
    for path in asked {
        let answer = tenant.client.get(&path);
        assert!(answer.status == 200 && !answer.text.contains(SECRET), "{path}: {}", answer.text);
    }
    // What is stored is sealed, and the runner keeps nothing of what has ended.
    house.assert_clean();
    assert!(!house.appliance().log().contains(SECRET));
    house.kill_server();
    assert!(!files_with(&house.data_dir(), "busybox:test").is_empty(), "what is no secret is found");
    assert_eq!(files_with(&house.data_dir(), SECRET), Vec::<String>::new());
    assert_eq!(files_with(&house.runner.state(), SECRET), Vec::<String>::new());
}
