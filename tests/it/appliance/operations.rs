//! The operations listener.

use crate::support::appliance::shared;

#[test]
fn it_lives_and_is_ready() {
    let operations = shared().stranger("operations");
    assert_eq!(operations.get("/livez").expect(200)["status"], "ok");
    assert_eq!(operations.get("/readyz").expect(200)["status"], "ok");
    assert_eq!(operations.send("HEAD", "/readyz", &[], b"").status, 200);
}

#[test]
fn unknown_paths_and_methods_get_a_problem() {
    let operations = shared().stranger("operations");
    let answer = operations.get("/nothing");
    assert_eq!(answer.expect(404)["code"], "not_found");
    assert_eq!(answer.header("content-type"), "application/problem+json");
    let answer = operations.send("POST", "/metrics", &[], b"{}");
    assert_eq!(answer.expect(405)["code"], "method_not_allowed");
    assert_eq!(answer.header("allow"), "GET, HEAD");
}

#[test]
fn metrics_count_requests_by_route_template() {
    let appliance = shared();
    let client = appliance.persona("ledger", &appliance.tenant(), &[]);
    client.get("/v1/accounts/0190a5f0-0000-7000-8000-00000000dead").expect(404);
    client.get("/no/such/path");
    let answer = appliance.stranger("operations").get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    let has = |start: &str, part: &str| answer.text.lines().any(|line| line.starts_with(start) && line.contains(part));
    let requests = "quintet_http_requests_total{";
    assert!(
        has(requests, r#"service="ledger",method="GET",route="/v1/accounts/{id}",status="4xx""#),
        "{}",
        answer.text
    );
    assert!(has(requests, r#"route="unmatched""#), "{}", answer.text);
    assert!(!answer.text.contains("00000000dead"), "ids must not become labels");
    assert!(has("quintet_http_request_duration_seconds_bucket{", r#"service="ledger""#));
    for name in [
        "quintet_storage_lsn ",
        "quintet_storage_writes_total ",
        "quintet_storage_refusals_total ",
        "quintet_storage_batches_total ",
        "quintet_storage_sync_seconds_total ",
        "quintet_storage_queue_depth ",
        "quintet_storage_checkpoints ",
        "quintet_storage_checkpoint_lsn ",
        "quintet_storage_copy_window_seconds ",
        "quintet_storage_copy_window_wanted_seconds ",
        "quintet_storage_kept_for_copies_bytes ",
        "quintet_process_resident_memory_bytes ",
        "quintet_process_uptime_seconds ",
        "quintet_build_info{",
    ] {
        assert!(has(name, ""), "{name} is missing: {}", answer.text);
    }
    assert!(answer.text.ends_with("# EOF\n"));
}
