//! Messaging against its own description: every answer has the documented shape, every code is provoked by a test.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::appliance::{Client, Setup, shared};
use crate::support::contract::faults;
use crate::support::messaging::{Workspace, refused};
use crate::tidy::provoked;

/// Every code, and the test that provokes it.
const PROVOKED: &[(&str, &str)] = &[
    ("host_missing", "messaging/http::what_no_handler_answers_has_the_form_too"),
    ("malformed_json", "it/messaging/admission::what_is_no_request_has_the_form_too"),
    ("invalid_api_key", "it/messaging/admission::a_key_opens_its_workspace"),
    ("invalid_invite", "it/messaging/refusals::a_token_lets_one_new_agent_in_once"),
    ("unauthenticated", "it/messaging/admission::a_key_opens_its_workspace"),
    ("key_agent_mismatch", "it/messaging/admission::who_acts_is_said_by_the_header_or_the_key"),
    ("permission_denied", "it/messaging/admission::scopes_open_what_they_may"),
    ("workspace_suspended", "it/messaging/admission::a_workspace_that_does_not_serve_turns_everybody_away"),
    ("not_found", "it/messaging/admission::who_acts_is_said_by_the_header_or_the_key"),
    ("method_not_allowed", "it/messaging/admission::what_is_no_request_has_the_form_too"),
    ("request_timeout", "messaging/http::a_body_that_does_not_arrive_is_a_timeout"),
    ("already_decided", "it/messaging/approvals::a_person_decides_at_the_command_line_and_no_key_does"),
    ("approvals_not_configured", "it/messaging/approvals::kinds_are_the_operator_s"),
    ("limit_reached", "it/messaging/keys::a_workspace_has_so_many_keys"),
    ("memory_full", "it/messaging/refusals::what_is_too_large_is_refused"),
    ("name_taken", "it/messaging/refusals::a_token_lets_one_new_agent_in_once"),
    ("recipient_not_responsive", "it/messaging/refusals::a_message_that_is_not_to_wait_is_refused_where_it_would"),
    ("recipient_unavailable", "it/messaging/refusals::a_message_that_is_not_to_wait_is_refused_where_it_would"),
    ("agent_retired", "it/messaging/admission::a_retired_agent_does_nothing_until_it_registers"),
    ("workspace_deleted", "it/messaging/admission::a_workspace_that_does_not_serve_turns_everybody_away"),
    ("memory_entry_too_large", "it/messaging/refusals::what_is_too_large_is_refused"),
    ("payload_too_large", "it/messaging/refusals::what_is_too_large_is_refused"),
    (
        "blocked_by_recipient",
        "it/messaging/refusals::recipients_that_cannot_be_written_to_are_named_and_nothing_is_accepted",
    ),
    ("external_mail_refused", "it/messaging/refusals::an_encrypted_workspace_takes_what_is_sealed_alone"),
    (
        "external_mail_unavailable",
        "it/messaging/refusals::recipients_that_cannot_be_written_to_are_named_and_nothing_is_accepted",
    ),
    ("idempotency_mismatch", "it/messaging/admission::a_repeat_is_answered_as_before"),
    ("payload_invalid", "it/messaging/refusals::a_payload_fits_the_schema_of_its_room"),
    ("sealing_required", "it/messaging/refusals::an_encrypted_workspace_takes_what_is_sealed_alone"),
    (
        "too_many_recipients",
        "it/messaging/refusals::recipients_that_cannot_be_written_to_are_named_and_nothing_is_accepted",
    ),
    (
        "unknown_recipient",
        "it/messaging/refusals::recipients_that_cannot_be_written_to_are_named_and_nothing_is_accepted",
    ),
    (
        "unmatched_capability",
        "it/messaging/refusals::recipients_that_cannot_be_written_to_are_named_and_nothing_is_accepted",
    ),
    ("validation_error", "it/messaging/admission::what_is_no_request_has_the_form_too"),
    ("quota_exceeded", "it/messaging/admission::a_tenant_has_so_many_calls"),
    ("rate_limited", "it/messaging/admission::a_key_has_so_many_requests_a_second"),
    ("internal_error", "messaging/http::what_no_handler_answers_has_the_form_too"),
    ("busy", "messaging/http::failures_of_the_store_have_codes_of_their_own"),
    ("outcome_unknown", "messaging/http::failures_of_the_store_have_codes_of_their_own"),
    ("storage_full", "it/messaging/contract::a_disk_down_to_its_reserve_takes_nothing_and_goes_on_reading"),
    ("writing_stopped", "messaging/http::a_store_that_has_stopped_takes_nothing_and_still_reads"),
];

#[test]
fn every_code_has_a_test_that_provokes_it() {
    let known: BTreeSet<&str> = quintet_messaging::CODES.iter().map(|known| known.code).collect();
    provoked::every_code_is_provoked(&known, PROVOKED);
}

#[test]
fn a_disk_down_to_its_reserve_takes_nothing_and_goes_on_reading() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let workspace = Workspace::open(&appliance);
    let key = workspace.admin_key.clone();
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).env("QUINTET_STORAGE__DISK_RESERVE_MB", "1073741824").start();
    let admin = appliance.client("messaging", &key);
    let answer = admin.post("/v1/invites", &json!({}));
    refused(&answer, 503, "storage_full");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
    admin.get("/v1/keys").expect(200);
    assert_eq!(appliance.stranger("messaging").get("/readyz").status, 200);
}

/// Sends a request, and holds its answer against what the document says of it.
#[track_caller]
pub fn described(client: &Client, document: &Value, (method, template): (&str, &str), path: &str, body: &str) -> Value {
    let answer = client.send(method, path, &[("content-type", "application/json")], body.as_bytes());
    let operation = &document["paths"][template][method.to_lowercase()];
    let response = &operation["responses"][answer.status.to_string()];
    let schema = &response["content"][answer.header("content-type")]["schema"];
    assert!(schema.is_object(), "{method} {path}: {} is not described: {answer:?}", answer.status);
    let found = faults(document, schema, &answer.json(), "");
    assert!(found.is_empty(), "{method} {path}: {found:#?}\n{answer:?}");
    if answer.status >= 400 {
        assert!(response["x-codes"].as_array().unwrap().contains(&answer.json()["code"]), "{answer:?}");
    }
    answer.json()
}

#[test]
fn answers_of_the_operators_routes_have_the_documented_shapes() {
    let document = shared().stranger("messaging").get("/openapi.json").expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    let workspace = Workspace::open(shared());
    let ask = |method: &str, template: &str, path: &str, body: &str| {
        described(&workspace.admin, &document, (method, template), path, body)
    };
    ask("GET", "/healthz", "/healthz", "");
    ask("GET", "/readyz", "/readyz", "");
    let made = ask("POST", "/v1/keys", "/v1/keys", r#"{"scope":"read"}"#);
    ask("POST", "/v1/keys", "/v1/keys", r#"{"scope":"read","delivery":"one-time-url"}"#);
    ask("POST", "/v1/keys", "/v1/keys", r#"{"scope":"none"}"#);
    ask("POST", "/v1/keys", "/v1/keys", "{");
    ask("GET", "/v1/keys", "/v1/keys", "");
    let path = format!("/v1/keys/{}", made["id"].as_str().unwrap());
    ask("DELETE", "/v1/keys/{key_id}", &path, "");
    ask("DELETE", "/v1/keys/{key_id}", "/v1/keys/nothing", "");
    ask("GET", "/v1/keys/once/{token}", "/v1/keys/once/nothing", "");
    ask("POST", "/v1/invites", "/v1/invites", "");
    ask("POST", "/v1/invites", "/v1/invites", r#"{"ttl_seconds":1}"#);
    ask("GET", "/v1/usage", "/v1/usage", "");
    ask("GET", "/v1/usage", "/v1/usage?a=b", "");
    ask("GET", "/v1/limits", "/v1/limits", "");
    let llms = shared().stranger("messaging").get("/llms.txt");
    assert!(llms.status == 200 && llms.text.contains("### POST /v1/keys"), "{llms:?}");
}
