//! Pause, resume, stop, kill, delete: what they do, and when they are refused.

use std::time::Duration;

use serde_json::json;

use super::{script, shared, wait_until};

const COUNTER: &str = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done";

#[test]
fn a_paused_run_stands_still_and_is_watched() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script(COUNTER));
    tenant.until(&id, "running");
    wait_until("it counts", || tenant.lines(&id).len() > 5);
    assert_eq!(tenant.control(&id, "resume").expect(409)["code"], "invalid_state");
    assert_eq!(tenant.control(&id, "pause").status, 204);
    let run = tenant.get(&id);
    assert_eq!(run["state"], "paused");
    assert!(run["paused_at"].is_string());
    let before = tenant.lines(&id);
    std::thread::sleep(Duration::from_millis(2300));
    assert_eq!(tenant.lines(&id), before, "a counter inside moves");
    assert!(tenant.get(&id)["paused_seconds"].as_f64().unwrap() >= 2.0);
    let path = format!("/api/v1/runs/{id}/utilization");
    let samples = tenant.client.get(&path).expect(200)["samples"].clone();
    let paused = samples.as_array().unwrap().iter().filter(|sample| sample["state"] == "paused").count();
    assert!(paused >= 2, "samples go on: {samples}");
    for action in ["pause", "stop"] {
        assert_eq!(tenant.control(&id, action).expect(409)["code"], "invalid_state", "{action}");
    }
    assert_eq!(tenant.control(&id, "resume").status, 204);
    wait_until("it goes on where it was", || tenant.lines(&id).len() > before.len() + 3);
    assert_eq!(tenant.lines(&id)[before.len()], (before.len() + 1).to_string(), "its memory is what it was");
    assert_eq!(tenant.control(&id, "pause").status, 204);
    assert_eq!(tenant.control(&id, "kill").status, 204, "a frozen run can be killed");
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("killed"), &json!("killed")));
    let archived = tenant.client.get(&path).expect(200)["samples"].clone();
    assert!(archived.as_array().unwrap().len() >= samples.as_array().unwrap().len(), "samples are kept");
}

#[test]
fn a_stop_within_its_grace_is_an_exit() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"));
    tenant.until(&id, "running");
    wait_until("it is ready", || tenant.lines(&id) == ["ready"]);
    assert_eq!(tenant.control(&id, "stop").status, 204);
    assert!(
        tenant.control(&id, "stop").status == 204 || tenant.get(&id)["state"] == "exited",
        "a second changes nothing"
    );
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["exit_code"], &run["reason"]), (&json!("exited"), &json!(7), &json!(null)));
    assert_eq!(tenant.lines(&id), ["ready", "bye"]);
}

#[test]
fn a_run_that_does_not_stop_is_killed() {
    let Some(house) = super::House::start(&[("CEILINGS__STOP_GRACE_SECONDS", "1")]) else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("trap '' TERM; echo ready; while :; do sleep 0.05; done"));
    tenant.until(&id, "running");
    wait_until("it is ready", || tenant.lines(&id) == ["ready"]);
    assert_eq!(tenant.control(&id, "stop").status, 204);
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("killed"), &json!("stop_grace_expired")), "{run}");
    house.assert_clean();
}

#[test]
fn what_has_ended_takes_no_control_and_can_be_deleted() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("echo here; sleep 60"));
    tenant.until(&id, "running");
    let path = format!("/api/v1/runs/{id}");
    assert_eq!(tenant.client.send("DELETE", &path, &[], b"").expect(409)["code"], "run_active");
    assert_eq!(tenant.client.get(&format!("{path}/result")).expect(409)["code"], "not_terminal");
    assert_eq!(tenant.control(&id, "kill").status, 204);
    assert_eq!(tenant.wait(&id)["state"], "killed");
    for action in ["pause", "resume", "stop", "kill"] {
        assert_eq!(tenant.control(&id, action).expect(409)["code"], "invalid_state", "{action}");
    }
    let deleted = tenant.client.send("DELETE", &path, &[], b"").expect(200);
    assert_eq!(deleted, json!({"track_id": id, "deleted": true}));
    for path in [path.clone(), format!("{path}/logs"), format!("{path}/result")] {
        assert_eq!(tenant.client.get(&path).status, 404);
    }
    wait_until("its container is gone as well", || {
        house.runner.runner.list().unwrap().iter().all(|status| !status.id.as_str().starts_with(&id))
    });
}
