//! Runs against their own description: every answer has the documented shape, every code is provoked by a test.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Setup, shared};
use crate::support::contract::{self, faults};
use crate::tidy::provoked;

/// Every code, and the test that provokes it.
const PROVOKED: &[(&str, &str)] = &[
    ("host_missing", "runs/http::what_no_handler_answers_has_the_form_too"),
    ("malformed_json", "it/runs/queue::submissions_that_are_wrong"),
    ("unknown_query_parameter", "it/runs/queue::paths_methods_and_parameters"),
    ("unauthorized", "it/runs/queue::keys_open_what_they_may"),
    ("forbidden", "it/runs/queue::keys_open_what_they_may"),
    ("image_not_allowed", "it/runs/keys::a_key_allows_some_images"),
    ("not_found", "it/runs/queue::another_tenants_runs_do_not_exist"),
    ("method_not_allowed", "it/runs/queue::paths_methods_and_parameters"),
    ("request_timeout", "runs/http::a_body_that_does_not_arrive_is_a_timeout"),
    ("invalid_state", "it/runs/queue::a_run_is_accepted_and_waits_for_the_engine"),
    ("invalid_graph", "it/runs/workflows::workflows_that_are_wrong_are_refused_and_change_nothing"),
    ("too_many_nodes", "it/runs/workflows::workflows_that_are_wrong_are_refused_and_change_nothing"),
    ("node_not_terminal", "it/runs/workflows::workflows_that_are_wrong_are_refused_and_change_nothing"),
    ("not_an_approval", "it/runs/workflows::workflows_that_are_wrong_are_refused_and_change_nothing"),
    ("workflow_quota_exceeded", "it/runs/workflows::workflows_that_are_wrong_are_refused_and_change_nothing"),
    ("invalid_params", "it/runs/templates::templates_that_are_wrong_are_refused_and_change_nothing"),
    ("name_taken", "it/runs/templates::templates_that_are_wrong_are_refused_and_change_nothing"),
    ("limit_reached", "it/runs/webhooks::endpoints_that_are_wrong_are_refused_and_change_nothing"),
    ("idempotency_key_mismatch", "it/runs/webhooks::endpoints_that_are_wrong_are_refused_and_change_nothing"),
    ("not_terminal", "it/runs/queue::a_run_is_accepted_and_waits_for_the_engine"),
    ("run_active", "privileged/runs/control::what_has_ended_takes_no_control_and_can_be_deleted"),
    ("payload_too_large", "it/runs/queue::submissions_that_are_wrong"),
    ("unsupported_media_type", "it/runs/queue::submissions_that_are_wrong"),
    ("above_ceiling", "it/runs/quotas::nothing_goes_above_the_ceilings"),
    ("invalid_cron", "it/runs/schedules::schedules_that_are_wrong_are_refused_and_change_nothing"),
    ("invalid_working_hours", "it/runs/quotas::changes_that_are_wrong_change_nothing"),
    ("never_fires", "it/runs/schedules::schedules_that_are_wrong_are_refused_and_change_nothing"),
    ("unknown_webhook_key", "it/runs/queue::submissions_that_are_wrong"),
    ("url_not_allowed", "it/runs/queue::submissions_that_are_wrong"),
    ("validation_failed", "it/runs/queue::submissions_that_are_wrong"),
    ("daily_quota_exceeded", "it/runs/queue::the_day_has_so_many_runs_and_quotas_keep_below_the_ceilings"),
    ("metered_quota_exceeded", "it/runs/keys::a_metered_key_is_charged_once_whatever_happens"),
    ("quota_exceeded", "it/runs/contract::calls_have_a_quota"),
    ("internal_error", "runs/http::damaged_data_is_an_internal_error_that_tells_nothing_of_it"),
    ("authorization_unavailable", "it/runs/contract::without_its_authorization_system_nobody_is_let_in"),
    ("busy", "runs/http::followers_have_a_share_each"),
    ("engine_unavailable", "privileged/runs/restarts::runs_wait_for_a_runner_that_is_away"),
    ("outcome_unknown", "runs/http::failures_of_the_store_have_codes_of_their_own"),
    ("storage_full", "it/runs/contract::a_disk_down_to_its_reserve_takes_nothing_and_goes_on_reading"),
    ("writing_stopped", "runs/http::a_store_that_has_stopped_takes_nothing_and_still_reads"),
];

#[test]
fn every_code_has_a_test_that_provokes_it() {
    let known: BTreeSet<&str> = quintet_runs::CODES.iter().map(|known| known.code).collect();
    provoked::every_code_is_provoked(&known, PROVOKED);
}

#[test]
fn without_its_authorization_system_nobody_is_let_in() {
    let appliance = contract::without_authorization();
    let answer = appliance.client("runs", "rak_key").get("/api/v1/runs");
    refused(&answer, 503, "authorization_unavailable");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
}

#[test]
fn calls_have_a_quota() {
    let appliance = shared();
    let tenant_id = appliance.tenant();
    let desk = Desk { client: appliance.persona("runs", &tenant_id, &[]) };
    appliance.cli_json(&["tenant", "quota", &tenant_id, "--service", "runs", "--monthly-calls", "1"]);
    assert_eq!(desk.client.get("/api/v1/runs").status, 200);
    let answer = desk.client.get("/api/v1/runs");
    refused(&answer, 429, "quota_exceeded");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
}

#[test]
fn a_disk_down_to_its_reserve_takes_nothing_and_goes_on_reading() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let tenant_id = appliance.tenant();
    let key = appliance.key(&tenant_id, &[]).1;
    let id = Desk { client: appliance.client("runs", &key) }.id(&json!({"image": "a"}));
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).env("QUINTET_STORAGE__DISK_RESERVE_MB", "1073741824").start();
    let desk = Desk { client: appliance.client("runs", &key) };
    let answer = desk.submit(&json!({"image": "a"}));
    refused(&answer, 503, "storage_full");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
    assert_eq!(desk.run(&id)["state"], "scheduled", "reading goes on");
}

#[test]
fn answers_have_the_documented_shapes() {
    let appliance = shared();
    let document = appliance.stranger("runs").get("/openapi.json").expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    let permissions = ["svc_run_submit", "svc_run_read", "svc_run_control", "svc_run_delete", "svc_tenant_admin"];
    let desk = Desk { client: appliance.persona("runs", &appliance.tenant(), &permissions) };
    let id = desk.id(&json!({"image": "a", "env": {"A": "1"}, "tags": ["t"]}));
    let late = desk.id(&json!({"image": "a", "expires_at": "2000-01-01T00:00:00Z"}));
    for _ in 0..500 {
        if desk.run(&late)["state"] == "failed" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut told = BTreeSet::new();
    for (method, template, path, body) in [
        ("GET", "/health", "/health".to_owned(), ""),
        ("GET", "/api/v1/runs", "/api/v1/runs?limit=1".to_owned(), ""),
        ("POST", "/api/v1/runs", "/api/v1/runs".to_owned(), r#"{"image":"a"}"#),
        ("POST", "/api/v1/runs", "/api/v1/runs".to_owned(), r#"{"imag":"a"}"#),
        ("GET", "/api/v1/runs/{track_id}", format!("/api/v1/runs/{id}"), ""),
        ("GET", "/api/v1/runs/{track_id}", format!("/api/v1/runs/{late}"), ""),
        ("GET", "/api/v1/runs/{track_id}/result", format!("/api/v1/runs/{late}/result"), ""),
        ("GET", "/api/v1/runs/{track_id}/result", format!("/api/v1/runs/{id}/result"), ""),
        ("GET", "/api/v1/runs/{track_id}/logs", format!("/api/v1/runs/{late}/logs?stream=both"), ""),
        ("GET", "/api/v1/runs/{track_id}/utilization", format!("/api/v1/runs/{late}/utilization"), ""),
        ("POST", "/api/v1/runs/{track_id}/kill", format!("/api/v1/runs/{id}/kill"), ""),
        ("GET", "/api/v1/tenant/quotas", "/api/v1/tenant/quotas".to_owned(), ""),
        (
            "PUT",
            "/api/v1/tenant/quotas",
            "/api/v1/tenant/quotas".to_owned(),
            r#"{"working_hours_tjp":"shift s \"S\" { leaves holiday 2026-05-01 }"}"#,
        ),
        ("PUT", "/api/v1/tenant/quotas", "/api/v1/tenant/quotas".to_owned(), r#"{"working_hours_tjp":"shift"}"#),
        ("GET", "/api/v1/usage", "/api/v1/usage".to_owned(), ""),
        ("DELETE", "/api/v1/runs/{track_id}", format!("/api/v1/runs/{late}"), ""),
    ] {
        described(&desk, &document, (method, template), &path, body);
        told.insert((method, template));
    }
    let llms = appliance.stranger("runs").get("/llms.txt");
    assert!(
        llms.status == 200 && told.iter().all(|(method, path)| llms.text.contains(&format!("### {method} {path}")))
    );
}

/// Sends a request, and holds its answer against what the document says of it.
#[track_caller]
fn described(desk: &Desk, document: &Value, (method, template): (&str, &str), path: &str, body: &str) -> Value {
    let answer = desk.client.send(method, path, &[("content-type", "application/json")], body.as_bytes());
    let operation = &document["paths"][template][method.to_lowercase()];
    let response = &operation["responses"][answer.status.to_string()];
    let schema = &response["content"][answer.header("content-type")]["schema"];
    assert!(schema.is_object(), "{method} {path}: {} is not described", answer.status);
    let found = faults(document, schema, &answer.json(), "");
    assert!(found.is_empty(), "{method} {path}: {found:#?}\n{answer:?}");
    if answer.status >= 400 {
        assert!(response["x-codes"].as_array().unwrap().contains(&answer.json()["code"]), "{answer:?}");
    }
    answer.json()
}

#[test]
fn answers_about_webhooks_have_the_documented_shapes() {
    const ALL: &str = "/api/v1/webhooks";
    const ONE: &str = "/api/v1/webhooks/{endpoint_id}";
    const ROTATE: &str = "/api/v1/webhooks/{endpoint_id}/rotate-secret";
    const TEST: &str = "/api/v1/webhooks/{endpoint_id}/test";
    const OF_ONE: &str = "/api/v1/webhooks/{endpoint_id}/deliveries";
    const OF_ALL: &str = "/api/v1/webhooks/deliveries";
    const AGAIN: &str = "/api/v1/webhooks/deliveries/{delivery_id}/redeliver";
    let appliance = shared();
    let document = appliance.stranger("runs").get("/openapi.json").expect(200);
    let desk = Desk::open(appliance);
    let ask = |method: &str, template: &str, path: &str, body: &str| {
        described(&desk, &document, (method, template), path, body)
    };
    let made = ask("POST", ALL, ALL, r#"{"url":"https://no-such-name.invalid/","events":["run.terminal"]}"#);
    ask("POST", ALL, ALL, r#"{"url":"https://10.0.0.1/","events":["*"]}"#);
    ask("POST", ALL, ALL, r#"{"url":"https://no-such-name.invalid/","events":["run"]}"#);
    let path = format!("{ALL}/{}", made["endpoint_id"].as_str().unwrap());
    ask("GET", ALL, ALL, "");
    ask("GET", ONE, &path, "");
    ask("GET", ONE, &format!("{ALL}/nothing"), "");
    ask("PATCH", ONE, &path, r#"{"description":"d"}"#);
    ask("POST", ROTATE, &format!("{path}/rotate-secret"), "");
    let delivery = ask("POST", TEST, &format!("{path}/test"), "");
    let again = format!("{OF_ALL}/{}/redeliver", delivery["delivery_id"]);
    for _ in 0..1_000 {
        let page = ask("GET", OF_ONE, &format!("{path}/deliveries"), "");
        if page["items"][0]["state"] == "dead" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(ask("POST", AGAIN, &again, "")["redelivery_of"], delivery["delivery_id"]);
    ask("GET", OF_ALL, OF_ALL, "");
    ask("GET", OF_ALL, &format!("{OF_ALL}?state_filter=gone"), "");
    ask("PATCH", ONE, &path, r#"{"active":false}"#);
    ask("POST", TEST, &format!("{path}/test"), "");
    ask("DELETE", ONE, &path, "");
    let llms = appliance.stranger("runs").get("/llms.txt").text;
    let routes = [("GET", ALL), ("POST", ALL), ("GET", ONE), ("PATCH", ONE), ("DELETE", ONE), ("POST", ROTATE)];
    let more = [("POST", TEST), ("GET", OF_ONE), ("GET", OF_ALL), ("POST", AGAIN)];
    for (method, template) in routes.into_iter().chain(more) {
        assert!(llms.contains(&format!("### {method} {template}")), "{method} {template}");
    }
}
