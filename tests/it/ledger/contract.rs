//! What the ledger says of itself is what it does: answers have the documented shapes, codes are documented where they
//! are answered, and every code has a test that provokes it.

use std::collections::BTreeSet;

use quintet_platform::service::Route;
use serde_json::{Value, json};

use crate::ledger::{Books, FUTURE, refused, text, transfer};
use crate::support::appliance::{Answer, Client, Setup, fresh_key, shared};
use crate::support::contract::faults;
use crate::tidy::provoked;

/// Every code that can be answered, with the test that provokes it.
#[rustfmt::skip]
const PROVOKED: &[(&str, &str)] = &[
    ("MISSING_IDEMPOTENCY_KEY", "it/ledger/access::checks_come_in_the_documented_order"),
    ("UNAUTHENTICATED", "it/ledger/access::without_a_valid_key_there_is_nothing"),
    ("CREDENTIAL_EXPIRED", "it/ledger/access::expired_keys_say_so"),
    ("FORBIDDEN", "it/ledger/access::each_route_asks_for_its_permission"),
    ("TENANT_SUSPENDED", "it/ledger/access::tenants_must_be_provisioned_and_active"),
    ("TENANT_NOT_PROVISIONED", "it/ledger/access::tenants_must_be_provisioned_and_active"),
    ("ACCOUNT_NOT_FOUND", "it/ledger/access::another_tenants_records_are_not_found"),
    ("TRANSACTION_NOT_FOUND", "it/ledger/access::another_tenants_records_are_not_found"),
    ("ASSET_TYPE_NOT_FOUND", "it/ledger/access::another_tenants_records_are_not_found"),
    ("SUB_TENANT_NOT_FOUND", "it/ledger/partner::keys_work_in_the_clients_ledger_and_nowhere_else"),
    ("KEY_NOT_FOUND", "it/ledger/partner::keys_are_listed_without_secrets_and_revoked_for_good"),
    ("NOT_FOUND", "it/ledger/input::unknown_paths_and_methods_answer_in_the_envelope"),
    ("METHOD_NOT_ALLOWED", "it/ledger/input::unknown_paths_and_methods_answer_in_the_envelope"),
    ("ACCOUNT_NOT_ACTIVE", "it/ledger/postings::frozen_accounts_take_nothing_and_closed_ones_stay_closed"),
    ("INVALID_TRANSACTION_STATE", "it/ledger/postings::a_hold_is_placed_committed_and_voided"),
    ("DUPLICATE_TRANSACTION", "it/ledger/postings::a_posting_moves_balances_and_shows_everywhere"),
    ("LOCK_TIMEOUT", "ledger/http::a_busy_writer_turns_requests_away"),
    ("POSTING_FROZEN", "it/ledger/contract::a_disk_down_to_its_reserve_freezes_posting"),
    ("CLOSE_REQUIRES_ZERO_BALANCE", "it/ledger/postings::frozen_accounts_take_nothing_and_closed_ones_stay_closed"),
    ("IMMUTABLE_VIOLATION", "it/ledger/postings::patches_change_what_may_change"),
    ("HOLD_EXPIRED", "it/ledger/postings::holds_lapse_by_the_rehearsal_clock"),
    ("PAYLOAD_TOO_LARGE", "it/ledger/input::bodies_have_a_largest_size"),
    ("UNBALANCED_TRANSACTION", "it/ledger/input::transactions"),
    ("INSUFFICIENT_AVAILABLE", "it/ledger/postings::a_posting_moves_balances_and_shows_everywhere"),
    ("INVALID_AMOUNT", "it/ledger/input::amounts"),
    ("INVALID_AMOUNT_SCALE", "it/ledger/input::amounts"),
    ("INVALID_FLOOR", "it/ledger/postings::patches_change_what_may_change"),
    ("INVALID_EXPIRES_AT", "it/ledger/input::transactions"),
    ("INVALID_STATE", "it/ledger/input::parameters_and_ids_in_paths"),
    ("INVALID_AS_OF", "it/ledger/as_of::instants_that_are_none"),
    ("INVALID_EFFECTIVE_AT", "it/ledger/input::transactions"),
    ("IDEMPOTENCY_KEY_MISMATCH", "it/ledger/access::checks_come_in_the_documented_order"),
    ("ENTRY_COUNT_OUT_OF_RANGE", "it/ledger/input::transactions"),
    ("REFERENCE_NOT_FOUND", "it/ledger/access::another_tenants_records_are_not_found"),
    ("CONSTRAINT_VIOLATION", "it/ledger/postings::asset_types_are_defined_and_listed"),
    ("INVALID_ACCOUNT_ID", "it/ledger/input::parameters_and_ids_in_paths"),
    ("INVALID_METADATA", "it/ledger/postings::patches_change_what_may_change"),
    ("INVALID_ACCOUNT", "it/ledger/postings::patches_change_what_may_change"),
    ("INVALID_DESCRIPTION", "it/ledger/input::transactions"),
    ("INVALID_EXTERNAL_ID", "it/ledger/input::transactions"),
    ("INVALID_JSON_DEPTH", "it/ledger/input::malformed_bodies"),
    ("INVALID_REQUEST", "it/ledger/input::malformed_bodies"),
    ("INVALID_TENANT", "it/ledger/partner::fields_of_sub_tenants_and_keys_are_checked"),
    ("INVALID_KEY", "it/ledger/partner::fields_of_sub_tenants_and_keys_are_checked"),
    ("INVALID_ASSET_TYPE", "it/ledger/input::asset_types_and_accounts"),
    ("RATE_LIMITED", "it/ledger/access::the_edge_limits_each_source"),
    ("QUOTA_EXCEEDED", "it/ledger/operator::quotas_are_set_and_kept"),
    ("INTERNAL_ERROR", "ledger/http::damaged_data_is_an_internal_error_without_detail"),
    ("REVOCATION_FAILED", "it/ledger/authorization::keys_of_sub_tenants_are_announced_and_revoked_there"),
    ("AUTHZ_UNAVAILABLE", "it/ledger/authorization::what_it_does_not_say_is_undetermined"),
    ("AUTHZ_CREDENTIAL_REJECTED", "it/ledger/authorization::what_it_does_not_say_is_undetermined"),
    ("STATEMENT_TIMEOUT", "ledger/http::a_store_that_has_stopped_still_reads_and_replays"),
];

#[test]
fn every_code_has_a_test_that_provokes_it() {
    let arising: BTreeSet<&str> =
        quintet_ledger::EXPLANATIONS.iter().filter(|known| known.arises).map(|known| known.code).collect();
    provoked::every_code_is_provoked(&arising, PROVOKED);
}

#[test]
fn a_disk_down_to_its_reserve_freezes_posting() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let books = Books::open(&appliance);
    let (source, alice) = (books.source(), books.account("credit"));
    let (_, api_key) = appliance.key(&books.tenant_id, &[]);
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).env("QUINTET_STORAGE__DISK_RESERVE_MB", "1073741824").start();
    let books = Books { client: appliance.client("ledger", &api_key), ..books };
    refused(&books.post(&source, &alice, "1.00"), 409, "POSTING_FROZEN");
    let bulk = json!({"transactions": [transfer(&source, &alice, "1.00")]});
    refused(&books.client.post("/v1/transactions/bulk", &bulk), 409, "POSTING_FROZEN");
    assert_eq!(books.available(&alice), "0.00", "reading goes on");
    appliance.stranger("ledger").get("/healthz").expect(200);
}

/// Calls that are held against the description.
struct Witness {
    document: Value,
    seen: BTreeSet<String>,
}

impl Witness {
    fn call(&mut self, client: &Client, method: &str, template: &str, path: &str, body: Option<&Value>) -> Answer {
        let key = fresh_key();
        let headers: &[(&str, &str)] = if method == "GET" { &[] } else { &[("idempotency-key", &key)] };
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let answer = client.send(method, path, headers, bytes.as_bytes());
        let pointer = format!("/paths/{}/{}", template.replace('/', "~1"), method.to_lowercase());
        let operation = self.document.pointer(&pointer).unwrap_or_else(|| panic!("{pointer} is not described"));
        let response = &operation["responses"][answer.status.to_string()];
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {template}: {} is not described: {answer:?}", answer.status);
        let found = faults(&self.document, schema, &answer.json(), "");
        assert!(found.is_empty(), "{method} {template}: {found:#?}\n{answer:?}");
        if let Some(code) = answer.json()["error"]["code"].as_str() {
            let codes = response["x-codes"].as_array().unwrap();
            assert!(codes.contains(&json!(code)), "{method} {template}: {code} is not documented");
        } else {
            let request = &operation["requestBody"]["content"]["application/json"]["schema"];
            if let Some(body) = body.filter(|_| request.is_object()) {
                let found = faults(&self.document, request, body, "");
                assert!(found.is_empty(), "{method} {template}: the body: {found:#?}");
            }
            self.seen.insert(format!("{method} {template}"));
        }
        answer
    }
}

#[test]
fn answers_have_the_documented_shapes() {
    let appliance = shared();
    let stranger = appliance.stranger("ledger");
    let document = stranger.get("/openapi.json").expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    let mut witness = Witness { document, seen: BTreeSet::new() };
    let tenant_id = appliance.tenant();
    let all = ["ledger_admin", "ledger_poster", "ledger_reader", "ledger_partner"];
    let client = &appliance.persona("ledger", &tenant_id, &all);
    witness.call(&stranger, "GET", "/healthz", "/healthz", None);
    witness.call(&stranger, "GET", "/openapi.json", "/openapi.json", None);
    let mut post =
        |template: &str, path: &str, body: Value| witness.call(client, "POST", template, path, Some(&body)).json();
    let asset = post("/v1/asset-types", "/v1/asset-types", json!({"code": "EUR", "kind": "fiat", "scale": 2}));
    let mut open = |side: &str, floor: Value| {
        let body = json!({
            "asset_type_id": asset["asset_type_id"], "name": "n", "normal_side": side, "balance_floor": floor,
            "metadata": {"a": 1},
        });
        text(&post("/v1/accounts", "/v1/accounts", body), "account_id")
    };
    let (source, alice) = (open("debit", Value::Null), open("credit", json!("0.00")));
    let mut full = transfer(&source, &alice, "5.00");
    full["description"] = json!("d");
    full["external_id"] = json!("e");
    full["effective_at"] = json!("2020-01-01T00:00:00Z");
    let posted = text(&post("/v1/transactions", "/v1/transactions", full.clone()), "transaction_id");
    post("/v1/transactions", "/v1/transactions", full);
    let mut hold = transfer(&alice, &source, "1.00");
    hold["pending"] = json!(true);
    hold["expires_at"] = json!(FUTURE);
    let bulk = json!({"atomic": true, "transactions": [hold.clone(), hold, transfer(&source, &alice, "1.00")]});
    let results = post("/v1/transactions/bulk", "/v1/transactions/bulk", bulk)["results"].clone();
    for (index, how) in ["commit", "void"].into_iter().enumerate() {
        let path = format!("/v1/transactions/{}/{how}", text(&results[index]["body"], "transaction_id"));
        post(&format!("/v1/transactions/{{id}}/{how}"), &path, json!({}));
        post(&format!("/v1/transactions/{{id}}/{how}"), &path, json!({}));
    }
    let client_body = json!({"name": "c", "kind": "sandbox", "contact_email": "a@example.com"});
    let client_id = text(&post("/v1/sub-tenants", "/v1/sub-tenants", client_body), "sub_tenant_id");
    let keys = format!("/v1/sub-tenants/{client_id}/keys");
    let key_body = json!({"label": "l", "role": "reader", "ttl_days": 5});
    let key_id = text(&post("/v1/sub-tenants/{id}/keys", &keys, key_body), "key_id");
    post("/v1/sub-tenants/{id}/keys", &keys, json!({"label": "l", "role": "x"}));
    let account = format!("/v1/accounts/{alice}");
    let frozen = json!({"status": "frozen", "name": "m", "metadata": {}, "balance_floor": "-1.00"});
    witness.call(client, "PATCH", "/v1/accounts/{id}", &account, Some(&frozen));
    witness.call(client, "PATCH", "/v1/accounts/{id}", &account, Some(&json!({"scale": 1})));
    witness.call(client, "POST", "/v1/transactions", "/v1/transactions", Some(&transfer(&source, &alice, "1.00")));
    let suspended = json!({"status": "suspended", "name": "m"});
    witness.call(client, "PATCH", "/v1/sub-tenants/{id}", &format!("/v1/sub-tenants/{client_id}"), Some(&suspended));
    witness.call(client, "DELETE", "/v1/sub-tenants/{id}/keys/{key_id}", &format!("{keys}/{key_id}"), None);
    witness.call(client, "DELETE", "/v1/sub-tenants/{id}/keys/{key_id}", &format!("{keys}/nonsense"), None);
    for (template, path) in [
        ("/v1/asset-types", "/v1/asset-types".to_owned()),
        ("/v1/accounts", "/v1/accounts?limit=1".to_owned()),
        ("/v1/accounts", "/v1/accounts?limit=0".to_owned()),
        ("/v1/accounts/{id}", account.clone()),
        ("/v1/accounts/{id}", "/v1/accounts/nonsense".to_owned()),
        ("/v1/accounts/{id}/balance", format!("{account}/balance")),
        ("/v1/accounts/{id}/balance-as-of", format!("{account}/balance-as-of?at=2024-01-01T00:00:00Z")),
        ("/v1/accounts/{id}/balance-as-of", format!("{account}/balance-as-of")),
        ("/v1/accounts/{id}/entries", format!("{account}/entries")),
        ("/v1/accounts/{id}/entries", format!("{account}/entries?state=x")),
        ("/v1/transactions/{id}", format!("/v1/transactions/{posted}")),
        ("/v1/transactions/{id}", "/v1/transactions/nonsense".to_owned()),
        ("/v1/sub-tenants", "/v1/sub-tenants".to_owned()),
        ("/v1/sub-tenants/{id}/keys", keys.clone()),
        ("/v1/sub-tenants/{id}/keys", "/v1/sub-tenants/nonsense/keys".to_owned()),
    ] {
        witness.call(client, "GET", template, &path, None);
        witness.call(&stranger, "GET", template, &path, None);
    }
    let described = quintet_ledger::served().map(Route::template);
    let missed: Vec<String> = described.filter(|route| !witness.seen.contains(route)).collect();
    assert_eq!(missed, ["GET /llms.txt"]);
    let guide = stranger.get("/llms.txt");
    assert_eq!((guide.status, guide.header("content-type")), (200, "text/plain; charset=utf-8"));
    for route in quintet_ledger::served() {
        assert!(guide.text.contains(&format!("### {}", route.template())), "{}", route.template());
    }
}
