//! How runs end, and what is told of it.

use serde_json::{Value, json};

use super::{script, script_with, shared, wait_until};

#[test]
fn a_run_goes_from_a_request_to_an_exit_code() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let body = script_with(
        // Some 4 MB, so that there is a peak of memory to tell.
        "x=0123456789abcdef; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do x=$x$x; done
         echo hello $NAME; echo oops >&2; echo '{\"answer\": 42}'",
        json!({"env": {"NAME": "world"}, "name": "first", "tags": ["a", "b"], "timeout_seconds": 99_999}),
    );
    let answer = tenant.client.post("/api/v1/runs", &body).expect(202);
    assert_eq!((&answer["status"], &answer["clamped"]), (&json!("scheduled"), &json!(true)));
    let id = answer["track_id"].as_str().unwrap();
    assert_eq!(id.len(), 26);
    let run = tenant.wait(id);
    assert_eq!(run["state"], "exited", "{run}");
    assert_eq!((&run["exit_code"], &run["reason"], &run["timeout_seconds"]), (&json!(0), &Value::Null, &json!(3600)));
    assert_eq!(run["env"], json!({"NAME": "***"}));
    assert_eq!((&run["name"], &run["tags"], &run["attempt"]), (&json!("first"), &json!(["a", "b"]), &json!(1)));
    assert!(run["image_digest"].as_str().unwrap().starts_with("sha256:"));
    let instants = ["submitted_at", "queued_at", "pulling_at", "started_at", "finished_at"];
    let told: Vec<&str> = instants.iter().map(|name| run[*name].as_str().unwrap()).collect();
    assert!(told.is_sorted(), "{told:?}");

    let result = tenant.result(id);
    assert_eq!(result["output"], json!({"answer": 42}));
    assert_eq!(result["result_summary"], "hello world\n{\"answer\": 42}");
    assert_eq!((&result["stdout_bytes"], &result["stderr_bytes"]), (&json!(27), &json!(5)));
    assert_eq!((&result["oom_killed"], &result["signal"]), (&json!(false), &Value::Null));
    assert!(result["duration_seconds"].as_f64().unwrap() > 0.0 && result["peak_memory_mb"].as_u64().unwrap() > 0);
    // Nothing of it is left but what was archived.
    wait_until("the container is gone", || {
        house.runner.runner.list().unwrap().iter().all(|status| !status.id.as_str().starts_with(id))
    });
    assert_eq!(tenant.lines(id), ["hello world", "{\"answer\": 42}"]);
}

#[test]
fn a_command_that_returns_another_code_has_failed() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let run = tenant.wait(&tenant.submit(&script("exit 3")));
    assert_eq!(
        (&run["state"], &run["reason"], &run["exit_code"]),
        (&json!("failed"), &json!("nonzero_exit"), &json!(3))
    );
    let id = tenant.submit(&script("sleep 0.1; kill -9 $$"));
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["exit_code"]), (&json!("failed"), &json!(137)));
    assert_eq!(tenant.result(&id)["signal"], 9);
}

#[test]
fn a_run_ends_with_its_time_without_its_pauses() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script_with("sleep 60", json!({"timeout_seconds": 2})));
    tenant.until(&id, "running");
    assert_eq!(tenant.control(&id, "pause").status, 204);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(tenant.get(&id)["state"], "paused", "paused time does not count");
    assert_eq!(tenant.control(&id, "resume").status, 204);
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("timeout"), &json!("timeout")));
    assert!(run["paused_seconds"].as_f64().unwrap() >= 2.4, "{run}");
    assert!(tenant.result(&id)["duration_seconds"].as_f64().unwrap() >= 4.4);
}

#[test]
fn a_run_that_wants_too_much_memory_is_told_so() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script_with("x=$(yes | head -c 200000000); echo ${#x}", json!({"memory_limit_mb": 16})));
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("oom_killed")), "{run}");
    assert_eq!(tenant.result(&id)["oom_killed"], true);
}

#[test]
fn what_cannot_start_says_why() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let run = tenant.wait(&tenant.submit(&json!({"image": "busybox:test", "command": ["/no/such/program"]})));
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("start_failed")), "{run}");
    assert!(!run["message"].as_str().unwrap().is_empty() && run["started_at"].is_null());
    // No registry is in reach of the tests, and this one least of all.
    let run = tenant.wait(&tenant.submit(&json!({"image": "127.0.0.1:1/nobody/has:this", "command": ["true"]})));
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("image_pull_failed")), "{run}");
    let id = tenant.submit(&json!({"image": "Not/A/Reference", "command": ["true"]}));
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("image_not_found")), "{run}");
    assert_eq!(tenant.logs(&id, "")["lines"], json!([]));
    let answer = tenant.client.get(&format!("/api/v1/runs/{id}/logs"));
    assert_eq!(answer.header("x-log-source"), "none");
}

#[test]
fn a_run_that_comes_too_late_never_starts() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script_with("true", json!({"expires_at": "2020-01-01T00:00:00Z"})));
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("expired")), "{run}");
    assert!(run["started_at"].is_null() && run["queued_at"].is_null(), "{run}");
}

#[test]
fn another_tenants_runs_do_not_exist() {
    let Some(house) = shared() else { return };
    let (mine, other) = (house.tenant(), house.tenant());
    let id = mine.submit(&script("sleep 30"));
    mine.until(&id, "running");
    for path in ["", "/result", "/logs", "/logs?follow=true", "/utilization"] {
        let answer = other.client.get(&format!("/api/v1/runs/{id}{path}"));
        assert_eq!(answer.expect(404)["code"], "not_found", "{path}");
    }
    for action in ["pause", "resume", "stop", "kill"] {
        assert_eq!(other.control(&id, action).expect(404)["code"], "not_found");
    }
    assert_eq!(other.client.send("DELETE", &format!("/api/v1/runs/{id}"), &[], b"").status, 404);
    assert_eq!(other.client.get("/api/v1/runs").expect(200)["items"], json!([]));
    assert_eq!(mine.client.get("/api/v1/runs").expect(200)["items"][0]["track_id"], id.as_str());
    assert_eq!(mine.control(&id, "kill").status, 204);
    assert_eq!(mine.wait(&id)["state"], "killed");
}
