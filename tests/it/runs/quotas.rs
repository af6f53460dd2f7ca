//! Quotas over HTTP: what can be changed, what is refused and leaves the old state, and working hours by the clock.

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Answer, Appliance, Client, Setup, shared};

const PATH: &str = "/api/v1/tenant/quotas";
const DAY_SECONDS: i64 = 86_400;

/// A tenant's client that may do everything, administration too.
fn admin(appliance: &Appliance) -> Client {
    let permissions = ["svc_run_submit", "svc_run_read", "svc_tenant_admin"];
    appliance.persona("runs", &appliance.tenant(), &permissions)
}

fn put(client: &Client, body: &Value) -> Answer {
    client.send("PUT", PATH, &[("content-type", "application/json")], body.to_string().as_bytes())
}

/// Quotas without what goes with the clock: while the hours are open, the next instant that is open is now.
fn unchanging(mut quotas: Value) -> Value {
    quotas["working_hours_effective"]["next_open"].take();
    quotas
}

#[test]
fn quotas_change_one_by_one() {
    let client = admin(shared());
    let before = client.get(PATH).expect(200);
    assert_eq!(put(&client, &json!({})).expect(200), before);
    let mut wanted = json!({
        "max_concurrent_runs": 3, "max_daily_runs": 7, "max_timeout_seconds": 70, "max_queue_seconds": 80,
        "max_nodes_per_workflow": 9, "max_concurrent_workflows": 4, "max_webhook_payload_bytes": 2048,
        "max_cpu": 1.5, "max_memory_mb": 256, "default_timeout_seconds": 60, "default_cpu": 0.25,
        "default_memory_mb": 128, "retention_days": 3, "stop_grace_seconds": 5, "max_webhook_endpoints": 2,
        "max_image_mb": 4096,
    });
    for (name, value) in wanted.as_object().unwrap() {
        assert_eq!(put(&client, &json!({name: value})).expect(200)[name], *value, "{name}");
    }
    wanted["working_hours_tjp"] = Value::Null;
    wanted["working_hours_effective"] = Value::Null;
    assert_eq!(client.get(PATH).expect(200), wanted, "each change left the others alone");
    let desk = Desk { client };
    let run = desk.run(&desk.id(&json!({"image": "a", "timeout_seconds": 71})));
    let told = (&run["timeout_seconds"], &run["cpu_limit"], &run["memory_limit_mb"], &run["clamped"]);
    assert_eq!(told, (&json!(70), &json!(0.25), &json!(128), &json!(true)));
}

#[test]
fn changes_that_are_wrong_change_nothing() {
    let client = admin(shared());
    put(&client, &json!({"max_daily_runs": 5, "working_hours_tjp": "shift s \"S\" { }"})).expect(200);
    let before = client.get(PATH).expect(200);
    for (name, value) in [
        ("max_concurrent_runs", json!(-1)),
        ("max_concurrent_runs", json!("3")),
        ("max_concurrent_runs", json!(null)),
        ("max_concurrent_runs", json!(1.5)),
        ("max_timeout_seconds", json!(0)),
        ("max_queue_seconds", json!(0)),
        ("max_webhook_payload_bytes", json!(1023)),
        ("max_cpu", json!(0)),
        ("max_cpu", json!(-1)),
        ("default_cpu", json!("1")),
        ("max_memory_mb", json!(5)),
        ("retention_days", json!(0)),
        ("working_hours_tjp", json!(7)),
        ("working_hours_effective", json!(null)),
        ("max_runs", json!(1)),
    ] {
        // The first one would be taken.
        let answer = put(&client, &json!({"max_daily_runs": 6, name: value}));
        assert_eq!(refused(&answer, 422, "validation_failed")["field"], name, "{value}");
    }
    refused(&put(&client, &json!([])), 422, "validation_failed");
    for (text, line, column, found) in [
        ("", 1, 1, "the end of the text"),
        ("shift s \"S\" {\n  workinghours mon 9:00 - 8:00\n}", 2, 20, ""),
        ("shift s \"S\" { workinghours mon - sun off }", 1, 1, ""),
        ("shift s \"S\" { color \"x\" }", 1, 15, "color"),
    ] {
        let answer = put(&client, &json!({"max_daily_runs": 6, "working_hours_tjp": text}));
        let problem = refused(&answer, 422, "invalid_working_hours");
        assert_eq!(problem["field"], "working_hours_tjp");
        assert!(problem["line"].as_i64() >= Some(line) && problem["column"].as_i64().is_some(), "{problem}");
        assert!(!problem["expected"].as_str().unwrap().is_empty() && problem["found"].is_string(), "{problem}");
        if !found.is_empty() {
            let told = (&problem["line"], &problem["column"], &problem["found"]);
            assert_eq!(told, (&json!(line), &json!(column), &json!(found)), "{problem}");
        }
    }
    assert_eq!(unchanging(client.get(PATH).expect(200)), unchanging(before));
    let reader = shared().persona("runs", &shared().tenant(), &["svc_run_read", "svc_run_submit"]);
    refused(&put(&reader, &json!({})), 403, "forbidden");
}

#[test]
fn nothing_goes_above_the_ceilings() {
    let appliance = Setup::new()
        .env("QUINTET_RUNS__CEILINGS__MAX_CONCURRENT_RUNS", "4")
        .env("QUINTET_RUNS__CEILINGS__MAX_CPU", "0.5")
        .start();
    let client = admin(&appliance);
    let before = client.get(PATH).expect(200);
    for (name, value) in [("max_concurrent_runs", json!(5)), ("max_cpu", json!(0.501)), ("default_cpu", json!(1))] {
        let problem = refused(&put(&client, &json!({"max_daily_runs": 6, name: value})), 422, "above_ceiling");
        assert_eq!(problem["field"], name, "{problem}");
    }
    assert_eq!(client.get(PATH).expect(200), before);
    let quotas = put(&client, &json!({"max_concurrent_runs": 4, "max_cpu": 0.5})).expect(200);
    assert_eq!((&quotas["max_concurrent_runs"], &quotas["max_cpu"]), (&json!(4), &json!(0.5)));
    // Of what the operator says nothing there are ceilings, too, and any number can be above them.
    for name in ["max_daily_runs", "max_timeout_seconds", "max_memory_mb", "default_memory_mb", "retention_days"] {
        for value in ["1000000001", "18446744073709551616", "1e300"] {
            let body = format!("{{\"{name}\": {value}}}");
            let answer = client.send("PUT", PATH, &[("content-type", "application/json")], body.as_bytes());
            assert_eq!(refused(&answer, 422, "above_ceiling")["field"], name, "{value}");
        }
    }
    assert_eq!(client.get(PATH).expect(200), quotas);
}

#[test]
fn a_run_of_saturday_is_to_start_on_monday() {
    let appliance = Setup::new().rehearsal().start();
    let client = admin(&appliance);
    let text = "shift office \"Office\" {\n  workinghours mon - thu 9:00 - 12:30, 13:00 - 17:00\n}";
    let quotas = put(&client, &json!({"working_hours_tjp": text})).expect(200);
    assert_eq!(client.get(PATH).expect(200)["working_hours_tjp"], text);
    let effective = &quotas["working_hours_effective"];
    assert_eq!((&effective["shift"], &effective["timezone"]), (&json!("office"), &json!("UTC")));
    let monday = json!([{"from": "09:00", "until": "12:30"}, {"from": "13:00", "until": "17:00"}]);
    assert_eq!((&effective["week"]["mon"], &effective["week"]["sat"]), (&monday, &json!([])));
    assert_eq!(effective["week"]["fri"], json!([{"from": "09:00", "until": "17:00"}]), "days not named keep theirs");

    // Forward to a Saturday at ten. The first day of the epoch was a Thursday.
    let desk = Desk { client };
    let first = desk.run(&desk.id(&json!({"image": "a"})));
    let seconds = parse_rfc3339(first["submitted_at"].as_str().unwrap()).unwrap().as_micros().div_euclid(1_000_000);
    let into_week = (seconds + 3 * DAY_SECONDS).rem_euclid(7 * DAY_SECONDS);
    let ahead = (5 * DAY_SECONDS + 36_000 - into_week).rem_euclid(7 * DAY_SECONDS);
    appliance.cli_json(&["clock", "advance", &ahead.to_string()]);
    let answer = desk.submit(&json!({"image": "a"})).expect(202);
    let run = desk.run(answer["track_id"].as_str().unwrap());
    let submitted = parse_rfc3339(run["submitted_at"].as_str().unwrap()).unwrap();
    let day = submitted.as_micros().div_euclid(1_000_000) / DAY_SECONDS * DAY_SECONDS;
    let monday = quintet_storage::Timestamp::from_micros((day + 2 * DAY_SECONDS + 9 * 3600) * 1_000_000);
    assert_eq!(answer["eligible_start"], rfc3339(monday));
    let info = &run["scheduling_info"];
    assert_eq!((&info["eligible_start"], &info["estimated_start"]), (&json!(rfc3339(monday)), &json!(rfc3339(monday))));
    assert_eq!((&info["working_hours_applied"], &info["blocked_by"]), (&json!(true), &json!("start_time")));
    assert_eq!(desk.list("")["items"][0]["scheduling_info"]["eligible_start"], rfc3339(monday));

    // The queue's hour counts from the start, not from the submission: Monday at ten it is over.
    let id = run["track_id"].as_str().unwrap();
    appliance.cli_json(&["clock", "advance", &(2 * DAY_SECONDS - 7200).to_string()]);
    assert_eq!(
        (&desk.run(id)["state"], &desk.run(id)["scheduling_info"]["blocked_by"]),
        (&json!("scheduled"), &json!("start_time"))
    );
    appliance.cli_json(&["clock", "advance", "3605"]);
    assert_eq!(desk.run(id)["scheduling_info"]["blocked_by"], "engine", "its time has come");
    appliance.cli_json(&["clock", "advance", "3600"]);
    assert_eq!(desk.run(id)["reason"], "queue_timeout");

    // Another calendar holds for what waits.
    appliance.cli_json(&["clock", "advance", &(7 * 3600 + 1800).to_string()]);
    let waits = desk.id(&json!({"image": "a"}));
    assert_eq!(desk.run(&waits)["scheduling_info"]["working_hours_applied"], true);
    put(&desk.client, &json!({"working_hours_tjp": null})).expect(200);
    for _ in 0..500 {
        if desk.run(&waits)["scheduling_info"]["blocked_by"] == "engine" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let info = desk.run(&waits)["scheduling_info"].clone();
    assert_eq!((&info["working_hours_applied"], &info["blocked_by"]), (&json!(false), &json!("engine")));
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}
