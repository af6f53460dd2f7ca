//! Runs without containers: what is accepted and refused, the queue, the clock, restarts. Nothing is ever started: the
//! engine is off. tests/privileged/runs has the containers.

use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Setup, fresh_key, shared};

fn plain() -> Value {
    json!({"image": "busybox"})
}

#[test]
fn a_run_is_accepted_and_waits_for_the_engine() {
    let desk = Desk::open(shared());
    let body = json!({
        "image": "busybox:1", "command": ["sh", "-c", "true"], "env": {"TOKEN": "hunter2"}, "timeout_seconds": 60,
        "cpu_limit": 0.5, "memory_limit_mb": 64, "name": "n", "tags": ["a", "b", "a"],
        "scheduled_start": "2020-01-01T00:00:00Z", "expires_at": "2999-01-01T00:00:00.5Z",
        "webhook": {"url": "https://hooks.example.com/x", "events": ["run.*", "*", "run.terminal"], "secret": "sesame"},
    });
    let answer = desk.submit(&body).expect(202);
    assert_eq!((&answer["status"], &answer["clamped"]), (&json!("scheduled"), &json!(false)));
    let id = answer["track_id"].as_str().unwrap();
    let run = desk.run(id);
    assert_eq!(run["eligible_start"], Value::Null);
    assert_eq!(run["scheduling_info"]["eligible_start"], answer["eligible_start"]);
    assert_eq!(run["submitted_at"], answer["eligible_start"], "a past start is now");
    assert_eq!((&run["tags"], &run["env"]), (&json!(["a", "b"]), &json!({"TOKEN": "***"})));
    assert_eq!(
        (&run["cpu_limit"], &run["memory_limit_mb"], &run["timeout_seconds"]),
        (&json!(0.5), &json!(64), &json!(60))
    );
    assert_eq!(run["expires_at"], "2999-01-01T00:00:00.500000Z");
    let info = &run["scheduling_info"];
    assert_eq!((&info["queue_position"], &info["blocked_by"]), (&json!(1), &json!("engine")));
    assert_eq!((&info["working_hours_applied"], &info["estimated_start"]), (&json!(false), &Value::Null));
    let health = shared().stranger("runs").get("/health").expect(200);
    assert_eq!(
        (&health["engine"], &health["database"], &health["status"]),
        (&json!("down"), &json!("up"), &json!("degraded"))
    );
    for secret in ["hunter2", "sesame"] {
        let told = desk.list("").to_string() + &run.to_string() + &shared().log();
        assert!(!told.contains(secret), "a secret is told");
    }
    refused(&desk.client.get(&format!("/api/v1/runs/{id}/result")), 409, "not_terminal");
    for action in ["pause", "resume", "stop", "kill"] {
        let path = format!("/api/v1/runs/{id}/{action}");
        assert_eq!(
            refused(&desk.client.send("POST", &path, &[], b""), 409, "invalid_state")["detail"],
            "the run is scheduled"
        );
    }
    let began = std::time::Instant::now();
    assert_eq!(desk.client.get(&format!("/api/v1/runs/{id}?wait=1")).expect(200)["state"], "scheduled");
    assert!(began.elapsed() >= std::time::Duration::from_millis(950), "it did not wait");
    let logs = desk.client.get(&format!("/api/v1/runs/{id}/logs"));
    assert_eq!(logs.header("x-log-source"), "none");
    assert_eq!(
        logs.expect(200),
        json!({
            "track_id": id, "stream": "stdout", "lines": [], "entries": [], "truncated": false, "next_since": "p0-0",
        })
    );
    let samples = desk.client.get(&format!("/api/v1/runs/{id}/utilization")).expect(200);
    assert_eq!(samples, json!({"track_id": id, "samples": []}));
    assert_eq!(desk.delete(id).expect(200), json!({"track_id": id, "deleted": true}));
    refused(&desk.delete(id), 404, "not_found");
}

#[test]
fn submissions_that_are_wrong() {
    let desk = Desk::open(shared());
    let with = |name: &str, value: Value| {
        let mut body = plain();
        body[name] = value;
        body
    };
    let long = "x".repeat(129);
    let far = json!((0..51).map(|number| number.to_string()).collect::<Vec<_>>());
    for (body, field) in [
        (json!({}), "image"),
        (with("image", json!(7)), "image"),
        (with("image", json!("")), "image"),
        (with("image", json!("a b")), "image"),
        (with("image", json!("x".repeat(513))), "image"),
        (with("command", json!("true")), "command"),
        (with("command", json!(["a", 1])), "command"),
        (with("command", json!([""])), "command"),
        (with("command", json!(["a\u{0}"])), "command"),
        (with("command", json!(vec!["a"; 4097])), "command"),
        (with("command", json!(vec!["x".repeat(100_000); 6])), "command"),
        (with("env", json!(["A=1"])), "env"),
        (with("env", json!({"A": 1})), "env.A"),
        (with("env", json!({"A=B": "1"})), "env.A=B"),
        (with("env", json!({"": "1"})), "env."),
        (with("env", json!({"A": "\u{0}"})), "env.A"),
        (with("timeout_seconds", json!(0)), "timeout_seconds"),
        (with("timeout_seconds", json!(1.5)), "timeout_seconds"),
        (with("timeout_seconds", json!("60")), "timeout_seconds"),
        (with("cpu_limit", json!(0)), "cpu_limit"),
        (with("cpu_limit", json!(-1)), "cpu_limit"),
        (with("memory_limit_mb", json!(5)), "memory_limit_mb"),
        (with("name", json!("")), "name"),
        (with("name", json!(long)), "name"),
        (with("name", json!("a\nb")), "name"),
        (with("tags", json!("a")), "tags"),
        (with("tags", json!([long])), "tags"),
        (with("tags", far), "tags"),
        (with("scheduled_start", json!("2030-01-01T00:00:00")), "scheduled_start"),
        (with("scheduled_start", json!("2030-01-01T00:00:00+00:00")), "scheduled_start"),
        (with("expires_at", json!("tomorrow")), "expires_at"),
        (with("webhook", json!("https://example.com")), "webhook"),
        (with("webhook", json!({"events": ["*"]})), "webhook.url"),
        (with("webhook", json!({"url": "https://example.com"})), "webhook.events"),
        (with("webhook", json!({"url": "https://example.com", "events": []})), "webhook.events"),
        (with("webhook", json!({"url": "https://example.com", "events": ["run.started"]})), "webhook.events"),
        (with("webhook", json!({"url": "https://example.com", "events": ["*"], "secret": ""})), "webhook.secret"),
        (with("stdin", json!("x")), "stdin"),
        (json!([]), ""),
    ] {
        let problem = refused(&desk.submit(&body), 422, "validation_failed");
        assert_eq!(problem["field"].as_str().unwrap_or_default(), field, "{problem}");
    }
    let problem = refused(
        &desk.submit(&with("webhook", json!({"url": "https://example.com", "events": ["*"], "secrets": "x"}))),
        422,
        "unknown_webhook_key",
    );
    assert_eq!(problem["field"], "webhook.secrets");
    for url in [
        "http://example.com/",
        "ftp://example.com/",
        "example.com",
        "https://user:pw@example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.1.2.3/",
        "https://169.254.169.254/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://[::ffff:127.0.0.1]/",
        "",
    ] {
        let body = with("webhook", json!({"url": url, "events": ["*"]}));
        refused(&desk.submit(&body), 422, "url_not_allowed");
    }
    let raw = |kind: &str, body: &[u8]| desk.client.send("POST", "/api/v1/runs", &[("content-type", kind)], body);
    for body in [&b"{"[..], b"", b"\xff", b"{\"image\": nul}", &[b'['; 100]] {
        refused(&raw("application/json", body), 400, "malformed_json");
    }
    refused(&raw("application/json", br#"{"image":"a","image":"b"}"#), 422, "validation_failed");
    refused(&raw("text/plain", br#"{"image":"a"}"#), 415, "unsupported_media_type");
    refused(&raw("application/json", &vec![b' '; (2 << 20) + 1]), 413, "payload_too_large");
    assert_eq!(desk.list("")["items"], json!([]), "nothing of it was accepted");
    let clamped = desk.submit(&json!({"image": "a", "timeout_seconds": 1e0})).status;
    assert_eq!(clamped, 422, "a whole number is written as one");
    for (name, value) in
        [("timeout_seconds", json!(3601)), ("cpu_limit", json!(1e300)), ("memory_limit_mb", json!(99_999))]
    {
        assert_eq!(desk.submit(&with(name, value)).expect(202)["clamped"], true, "{name}");
    }
}

/// A request that is repeated under its Idempotency-Key has its first answer, and is done once; another one is refused.
#[test]
fn a_submission_is_repeated_under_its_key() {
    let (desk, key) = (Desk::open(shared()), fresh_key());
    let body = json!({"image": "busybox", "name": "once"});
    let send = |body: &Value| desk.client.post_under(&key, "/api/v1/runs", body);
    let (first, again) = (send(&body), send(&body));
    assert_eq!((first.expect(202), &first.text), (again.expect(202), &again.text));
    refused(&send(&json!({"image": "busybox", "name": "twice"})), 422, "idempotency_key_mismatch");
    // It is the route's own, as in the ledger.
    let gate = json!({"nodes": [{"ref": "a", "type": "approval"}]});
    desk.client.post_under(&key, "/api/v1/workflows", &gate).expect(202);
    assert_eq!(desk.list("")["items"].as_array().unwrap().len(), 1, "one run");
    // It stays what it was when the run is gone, and is another tenant's own.
    let id = first.json()["track_id"].as_str().unwrap().to_owned();
    desk.delete(&id).expect(200);
    assert_eq!(send(&body).text, first.text);
    assert_eq!(desk.list("")["items"], json!([]), "nothing was submitted anew");
    let stranger = Desk::open(shared());
    assert_ne!(stranger.client.post_under(&key, "/api/v1/runs", &body).expect(202)["track_id"], id);
    // What was refused is not remembered.
    let key = fresh_key();
    refused(&desk.client.post_under(&key, "/api/v1/runs", &json!({"image": ""})), 422, "validation_failed");
    desk.client.post_under(&key, "/api/v1/runs", &body).expect(202);
}

#[test]
fn paths_methods_and_parameters() {
    let desk = Desk::open(shared());
    let id = desk.id(&plain());
    for id in ["", "x", "0", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "%00", "..%2f"] {
        refused(&desk.client.get(&format!("/api/v1/runs/{id}/result")), 404, "not_found");
    }
    refused(&desk.client.get("/api/v1/nothing"), 404, "not_found");
    let answer = desk.client.send("PUT", "/api/v1/runs", &[], b"");
    refused(&answer, 405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "GET,HEAD,POST");
    let problem = refused(&desk.client.get("/api/v1/runs?statee=x&zeta=1&limit=0"), 400, "unknown_query_parameter");
    assert_eq!(problem["field"], "statee, zeta");
    let supported =
        ["state", "tag", "name", "image", "workflow_id", "submitted_after", "submitted_before", "limit", "cursor"];
    assert_eq!(problem["supported"], json!(supported));
    let problem = refused(&desk.client.get(&format!("/api/v1/runs/{id}/result?x=1")), 400, "unknown_query_parameter");
    assert_eq!(problem["supported"], json!([]));
    for (path, field) in [
        ("?limit=0", "limit"),
        ("?limit=201", "limit"),
        ("?limit=5&limit=6", "limit"),
        ("?state=done", "state"),
        ("?cursor=abc", "cursor"),
        ("?submitted_after=yesterday", "submitted_after"),
        ("?workflow_id=x", "workflow_id"),
        (&format!("/{id}?wait=0"), "wait"),
        (&format!("/{id}?wait=61"), "wait"),
        (&format!("/{id}/logs?stream=all"), "stream"),
        (&format!("/{id}/logs?tail=0"), "tail"),
        (&format!("/{id}/logs?since=1"), "since"),
        (&format!("/{id}/logs?follow=yes"), "follow"),
    ] {
        let problem = refused(&desk.client.get(&format!("/api/v1/runs{path}")), 422, "validation_failed");
        assert_eq!(problem["field"], field, "{path}");
    }
    let head = desk.client.send("HEAD", &format!("/api/v1/runs/{id}"), &[], b"");
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(desk.client.send("HEAD", "/health", &[], b"").status, 200);
}

#[test]
fn lists_are_filtered_and_paged() {
    let desk = Desk::open(shared());
    let ids: Vec<String> = (0..5)
        .map(|number| {
            desk.id(&json!({"image": "a", "name": format!("n{number}"), "tags": [format!("t{}", number % 2)]}))
        })
        .collect();
    let found = |list: &Value| -> Vec<String> {
        list["items"].as_array().unwrap().iter().map(|run| run["track_id"].as_str().unwrap().to_owned()).collect()
    };
    let newest: Vec<String> = ids.iter().rev().cloned().collect();
    let page = desk.list("limit=2");
    assert_eq!(found(&page), newest[..2]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = desk.list(&format!("limit=3&cursor={cursor}"));
    assert_eq!((found(&rest), &rest["next_cursor"]), (newest[2..].to_vec(), &Value::Null));
    refused(&desk.client.get(&format!("/api/v1/runs?tag=t0&cursor={cursor}")), 422, "validation_failed");
    assert_eq!(found(&desk.list("tag=t1")), [newest[1].clone(), newest[3].clone()]);
    assert_eq!(found(&desk.list("name=n3")), [newest[1].clone()]);
    assert_eq!(found(&desk.list("state=running&image=a")), Vec::<String>::new());
    let at = desk.run(&ids[2])["submitted_at"].as_str().unwrap().to_owned();
    assert_eq!(found(&desk.list(&format!("submitted_after={at}"))), newest[..3]);
    assert_eq!(found(&desk.list(&format!("submitted_before={at}"))), newest[3..]);
}

#[test]
fn keys_open_what_they_may() {
    let appliance = shared();
    let tenant_id = appliance.tenant();
    let all = Desk { client: appliance.persona("runs", &tenant_id, &[]) };
    let id = all.id(&plain());
    let calls = [
        ("svc_run_submit", "POST", "/api/v1/runs".to_owned()),
        ("svc_run_read", "GET", "/api/v1/runs".to_owned()),
        ("svc_run_read", "GET", format!("/api/v1/runs/{id}")),
        ("svc_run_read", "GET", format!("/api/v1/runs/{id}/result")),
        ("svc_run_read", "GET", format!("/api/v1/runs/{id}/logs")),
        ("svc_run_read", "GET", format!("/api/v1/runs/{id}/utilization")),
        ("svc_run_read", "GET", "/api/v1/tenant/quotas".to_owned()),
        ("svc_tenant_admin", "PUT", "/api/v1/tenant/quotas".to_owned()),
        ("svc_run_read", "GET", "/api/v1/usage".to_owned()),
        ("svc_run_control", "POST", format!("/api/v1/runs/{id}/pause")),
        ("svc_run_control", "POST", format!("/api/v1/runs/{id}/resume")),
        ("svc_run_control", "POST", format!("/api/v1/runs/{id}/stop")),
        ("svc_run_control", "POST", format!("/api/v1/runs/{id}/kill")),
        ("svc_run_delete", "DELETE", format!("/api/v1/runs/{id}")),
    ];
    for permission in ["svc_run_submit", "svc_run_read", "svc_run_control", "svc_run_delete", "svc_tenant_admin"] {
        let client = appliance.persona("runs", &tenant_id, &[permission]);
        for (needed, method, path) in &calls {
            let answer = client.send(method, path, &[("content-type", "application/json")], b"");
            if *needed == permission {
                assert!(![401, 403].contains(&answer.status), "{permission}: {method} {path}: {answer:?}");
            } else {
                refused(&answer, 403, "forbidden");
            }
        }
    }
    let stranger = appliance.stranger("runs");
    for (_, method, path) in &calls {
        let answer = stranger.send(method, path, &[], b"");
        refused(&answer, 401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    refused(&appliance.client("runs", "rak_nonsense").get("/api/v1/runs"), 401, "unauthorized");
    let elsewhere = appliance.cli_json(&["tenant", "create", "elsewhere", "--services", "ledger"]);
    let key = appliance.key(elsewhere["tenant_id"].as_str().unwrap(), &[]).1;
    refused(&appliance.client("runs", &key).get("/api/v1/runs"), 403, "forbidden");
    appliance.cli_json(&["tenant", "suspend", &tenant_id]);
    refused(&all.client.get("/api/v1/runs"), 403, "forbidden");
}

#[test]
fn another_tenants_runs_do_not_exist() {
    let (mine, other) = (Desk::open(shared()), Desk::open(shared()));
    let id = mine.id(&plain());
    for path in ["", "/result", "/logs", "/utilization"] {
        refused(&other.client.get(&format!("/api/v1/runs/{id}{path}")), 404, "not_found");
    }
    refused(&other.delete(&id), 404, "not_found");
    for action in ["pause", "resume", "stop", "kill"] {
        refused(&other.client.send("POST", &format!("/api/v1/runs/{id}/{action}"), &[], b""), 404, "not_found");
    }
    assert_eq!(other.list("")["items"], json!([]));
}

#[test]
fn the_day_has_so_many_runs_and_quotas_keep_below_the_ceilings() {
    let appliance = Setup::new()
        .env("QUINTET_RUNS__CEILINGS__MAX_DAILY_RUNS", "2")
        .env("QUINTET_RUNS__CEILINGS__MAX_CPU", "0.25")
        .env("QUINTET_RUNS__CEILINGS__MAX_TIMEOUT_SECONDS", "30")
        .start();
    let desk = Desk::open(&appliance);
    let id = desk.id(&json!({"image": "a", "cpu_limit": 1}));
    let run = desk.run(&id);
    assert_eq!((&run["cpu_limit"], &run["timeout_seconds"], &run["clamped"]), (&json!(0.25), &json!(30), &json!(true)));
    desk.id(&plain());
    let answer = desk.submit(&plain());
    refused(&answer, 429, "daily_quota_exceeded");
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert!((1..=86_400).contains(&wait));
    assert!(desk.delete(&id).status == 200 && desk.submit(&plain()).status == 429, "what was deleted was submitted");
    let quotas = desk.client.get("/api/v1/tenant/quotas").expect(200);
    assert_eq!(
        (&quotas["max_daily_runs"], &quotas["max_cpu"], &quotas["default_cpu"]),
        (&json!(2), &json!(0.25), &json!(0.25))
    );
    assert_eq!((&quotas["max_concurrent_runs"], &quotas["working_hours_tjp"]), (&json!(10), &Value::Null));
    let usage = desk.client.get("/api/v1/usage").expect(200);
    assert_eq!(
        (&usage["tier"], &usage["metered"], &usage["allowed_images"]),
        (&Value::Null, &json!(false), &Value::Null)
    );
    let daily = &usage["usage"][0];
    assert_eq!((&daily["policy"], &daily["used"], &daily["remaining"]), (&json!("daily_runs"), &json!(2), &json!(0)));
    assert!(daily["resets_at"].as_str().unwrap().ends_with("T00:00:00.000000Z"));
}

#[test]
fn the_clock_ends_what_waits_too_long_and_removes_what_is_old() {
    let appliance = Setup::new().rehearsal().start();
    let desk = Desk::open(&appliance);
    let waits = desk.id(&plain());
    let now = desk.run(&waits)["submitted_at"].as_str().unwrap().to_owned();
    let year: i32 = now[..4].parse().unwrap();
    let next_year = format!("{}{}", year + 1, &now[4..]);
    let later = desk.id(&json!({"image": "a", "scheduled_start": next_year}));
    let info = desk.run(&later)["scheduling_info"].clone();
    assert_eq!((&info["blocked_by"], &info["estimated_start"]), (&json!("start_time"), &json!(next_year)));
    let expires = desk.id(&json!({"image": "a", "expires_at": "2000-01-01T00:00:00Z"}));
    appliance.cli_json(&["clock", "advance", "1"]);
    let run = desk.run(&expires);
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("expired")));
    let result = desk.client.get(&format!("/api/v1/runs/{expires}/result")).expect(200);
    assert_eq!(
        (&result["state"], &result["exit_code"], &result["result_summary"]),
        (&json!("failed"), &Value::Null, &json!(""))
    );
    appliance.cli_json(&["clock", "advance", "3598"]);
    assert_eq!(desk.run(&waits)["state"], "scheduled");
    appliance.cli_json(&["clock", "advance", "1"]);
    assert_eq!(desk.run(&waits)["reason"], "queue_timeout");
    appliance.cli_json(&["clock", "advance", "2592000"]);
    refused(&desk.client.get(&format!("/api/v1/runs/{expires}")), 404, "not_found");
    assert_eq!(desk.list("")["items"].as_array().unwrap().len(), 1, "the deferred one is still to come");
    assert_eq!(desk.run(&later)["state"], "scheduled");
}

#[test]
fn a_queue_outlives_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let tenant_id = appliance.tenant();
    let key = appliance.key(&tenant_id, &[]).1;
    let desk = Desk { client: appliance.client("runs", &key) };
    let ids: Vec<String> = (0..20).map(|_| desk.id(&plain())).collect();
    appliance.kill();
    let appliance = Setup::new().on(&data).start();
    let desk = Desk { client: appliance.client("runs", &key) };
    for (index, id) in ids.iter().enumerate() {
        let run = desk.run(id);
        assert_eq!(
            (&run["state"], &run["scheduling_info"]["queue_position"]),
            (&json!("scheduled"), &json!(index + 1))
        );
    }
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}
