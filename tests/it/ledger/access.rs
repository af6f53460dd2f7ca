//! Who may use the ledger, and how often: keys, permissions, tenants, the edge rate.

use serde_json::{Value, json};

use crate::ledger::{Books, refused, text, transfer};
use crate::support::appliance::{Client, Setup, fresh_key, shared};

/// Every route with the one permission that opens it.
const ROUTES: [(&str, &str, &str); 20] = [
    ("POST", "/v1/asset-types", "ledger_admin"),
    ("GET", "/v1/asset-types", "ledger_reader"),
    ("POST", "/v1/accounts", "ledger_admin"),
    ("GET", "/v1/accounts", "ledger_reader"),
    ("GET", "/v1/accounts/{id}", "ledger_reader"),
    ("PATCH", "/v1/accounts/{id}", "ledger_admin"),
    ("GET", "/v1/accounts/{id}/balance", "ledger_reader"),
    ("GET", "/v1/accounts/{id}/balance-as-of", "ledger_reader"),
    ("GET", "/v1/accounts/{id}/entries", "ledger_reader"),
    ("POST", "/v1/transactions", "ledger_poster"),
    ("POST", "/v1/transactions/bulk", "ledger_poster"),
    ("GET", "/v1/transactions/{id}", "ledger_reader"),
    ("POST", "/v1/transactions/{id}/commit", "ledger_poster"),
    ("POST", "/v1/transactions/{id}/void", "ledger_poster"),
    ("POST", "/v1/sub-tenants", "ledger_partner"),
    ("GET", "/v1/sub-tenants", "ledger_partner"),
    ("PATCH", "/v1/sub-tenants/{id}", "ledger_partner"),
    ("POST", "/v1/sub-tenants/{id}/keys", "ledger_partner"),
    ("GET", "/v1/sub-tenants/{id}/keys", "ledger_partner"),
    ("DELETE", "/v1/sub-tenants/{id}/keys/{key_id}", "ledger_partner"),
];

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

fn call(client: &Client, method: &str, path: &str) -> crate::support::appliance::Answer {
    let path = path.replace("{id}", NOBODY);
    let key = fresh_key();
    let (headers, body): (&[(&str, &str)], &[u8]) =
        if method == "GET" { (&[], b"") } else { (&[("idempotency-key", key.as_str())], b"{}") };
    client.send(method, &path, headers, body)
}

#[test]
fn each_route_asks_for_its_permission() {
    let appliance = shared();
    let tenant_id = appliance.tenant();
    for permission in ["ledger_admin", "ledger_poster", "ledger_reader", "ledger_partner"] {
        let client = appliance.persona("ledger", &tenant_id, &[permission]);
        for (method, path, needed) in ROUTES {
            let answer = call(&client, method, path);
            if permission == needed {
                assert!(!matches!(answer.status, 401 | 403 | 405 | 500), "{method} {path}: {answer:?}");
            } else {
                refused(&answer, 403, "FORBIDDEN");
            }
        }
    }
}

#[test]
fn without_a_valid_key_there_is_nothing() {
    let appliance = shared();
    let tenant_id = appliance.tenant();
    let (key_id, api_key) = appliance.key(&tenant_id, &[]);
    let stranger = appliance.stranger("ledger");
    for (method, path, _) in ROUTES {
        let answer = call(&stranger, method, path);
        refused(&answer, 401, "UNAUTHENTICATED");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    let forged = format!("{}A", &api_key[..api_key.len() - 1]);
    let wrong = [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {api_key}"),
        api_key.clone(),
        "Bearer rak_nonsense".to_owned(),
        format!("Bearer {}", &api_key[4..]),
        format!("Bearer {forged}A"),
        format!("Bearer {}", api_key.to_uppercase()),
        format!("Bearer {api_key} {api_key}"),
    ];
    for authorization in wrong {
        let answer = stranger.send("GET", "/v1/accounts", &[("authorization", &authorization)], b"");
        refused(&answer, 401, "UNAUTHENTICATED");
    }
    let client = appliance.client("ledger", &api_key);
    client.get("/v1/accounts").expect(200);
    let health = stranger.get("/healthz");
    assert_eq!(health.expect(200), json!({"status": "ok", "auth_client_credential": "unknown"}));
    let head = stranger.send("HEAD", "/healthz", &[], b"");
    assert_eq!((head.status, head.text.as_str()), (200, ""));

    assert!(appliance.cli(&["key", "revoke", &key_id]).status.success());
    refused(&client.get("/v1/accounts"), 401, "UNAUTHENTICATED");
}

#[test]
fn expired_keys_say_so() {
    let appliance = Setup::new().rehearsal().start();
    let tenant_id = appliance.tenant();
    let key = appliance.cli_json(&["key", "issue", "--tenant", &tenant_id, "--ttl-days", "1"]);
    let client = appliance.client("ledger", &text(&key, "api_key"));
    client.get("/v1/accounts").expect(200);
    assert!(appliance.cli(&["clock", "advance", "86399"]).status.success());
    client.get("/v1/accounts").expect(200);
    assert!(appliance.cli(&["clock", "advance", "1"]).status.success());
    refused(&client.get("/v1/accounts"), 401, "CREDENTIAL_EXPIRED");
}

#[test]
fn tenants_must_be_provisioned_and_active() {
    let appliance = shared();
    let elsewhere = appliance.cli_json(&["tenant", "create", "elsewhere", "--services", "diagrams"]);
    let client = appliance.persona("ledger", &text(&elsewhere, "tenant_id"), &[]);
    refused(&client.get("/v1/accounts"), 403, "TENANT_NOT_PROVISIONED");

    let books = Books::open(appliance);
    assert!(appliance.cli(&["tenant", "suspend", &books.tenant_id]).status.success());
    refused(&books.client.get("/v1/accounts"), 403, "TENANT_SUSPENDED");
    refused(&books.client.post("/v1/asset-types", &json!({})), 403, "TENANT_SUSPENDED");
    assert!(appliance.cli(&["tenant", "activate", &books.tenant_id]).status.success());
    books.client.get("/v1/accounts").expect(200);
}

#[test]
fn another_tenants_records_are_not_found() {
    let (ours, theirs) = (Books::open(shared()), Books::open(shared()));
    let (source, alice) = (ours.source(), ours.account("credit"));
    let posted = text(&ours.post(&source, &alice, "5.00").expect(201), "transaction_id");
    let held = text(&ours.hold(&source, &alice, "5.00").expect(201), "transaction_id");
    for below in ["", "/balance", "/entries"] {
        refused(&theirs.client.get(&format!("/v1/accounts/{alice}{below}")), 404, "ACCOUNT_NOT_FOUND");
    }
    refused(&theirs.patch(&alice, &json!({"name": "x"})), 404, "ACCOUNT_NOT_FOUND");
    refused(&theirs.client.get(&format!("/v1/transactions/{posted}")), 404, "TRANSACTION_NOT_FOUND");
    refused(&theirs.settle(&held, "commit"), 404, "TRANSACTION_NOT_FOUND");
    refused(&theirs.settle(&held, "void"), 404, "TRANSACTION_NOT_FOUND");
    refused(&theirs.post(&source, &alice, "5.00"), 422, "REFERENCE_NOT_FOUND");
    let body = json!({"asset_type_id": ours.asset_type_id, "name": "n", "normal_side": "debit"});
    refused(&theirs.client.post("/v1/accounts", &body), 404, "ASSET_TYPE_NOT_FOUND");
    let accounts = theirs.client.get("/v1/accounts").expect(200);
    assert_eq!(accounts, json!({"accounts": [], "next_cursor": null}));
    // Codes and external ids are each tenant's own.
    let mut mine = transfer(&source, &alice, "1.00");
    mine["external_id"] = json!("shared");
    ours.client.post("/v1/transactions", &mine).expect(201);
    let (source, alice) = (theirs.source(), theirs.account("credit"));
    let mut other = transfer(&source, &alice, "1.00");
    other["external_id"] = json!("shared");
    theirs.client.post("/v1/transactions", &other).expect(201);
}

#[test]
fn checks_come_in_the_documented_order() {
    let appliance = shared();
    let books = Books::open(appliance);
    let reader = appliance.persona("ledger", &books.tenant_id, &["ledger_reader"]);
    let stranger = appliance.stranger("ledger");
    let path = "/v1/transactions";
    let large = vec![b'['; 70_000];
    refused(&stranger.send("POST", path, &[], &large), 401, "UNAUTHENTICATED");
    refused(&reader.send("POST", path, &[], &large), 403, "FORBIDDEN");
    refused(&books.client.send("POST", path, &[], &large), 400, "MISSING_IDEMPOTENCY_KEY");
    let key = fresh_key();
    let send = |body: &[u8]| books.client.send("POST", path, &[("idempotency-key", &key)], body);
    refused(&send(&large), 413, "PAYLOAD_TOO_LARGE");
    refused(&send(&large[..65]), 422, "INVALID_JSON_DEPTH");
    // Neither of these was remembered; the first that gets as far as the rules is.
    refused(&send(b"{}"), 422, "INVALID_REQUEST");
    refused(&send(&large), 413, "PAYLOAD_TOO_LARGE");
    refused(&send(&large[..65]), 422, "INVALID_JSON_DEPTH");
    refused(&send(b"[]"), 422, "IDEMPOTENCY_KEY_MISMATCH");
    assert_eq!(send(b"{}").header("idempotent-replayed"), "true");
}

#[test]
fn the_ledger_looks_a_key_up_before_what_a_request_says() {
    let books = Books::open(shared());
    let key = fresh_key();
    let send = |path: &str, key: &str, body: &[u8]| books.client.send("POST", path, &[("idempotency-key", key)], body);
    let path = "/v1/transactions";
    // A refusal is remembered, too.
    refused(&send(path, &key, b"{}"), 422, "INVALID_REQUEST");
    assert_eq!(send(path, &key, b"{}").header("idempotent-replayed"), "true");
    refused(&send(path, &key, b"{"), 422, "IDEMPOTENCY_KEY_MISMATCH");
    refused(&send("/v1/transactions?x=1", &key, b"{}"), 422, "IDEMPOTENCY_KEY_MISMATCH");
    refused(&send(path, &key, &[b'x'; 70_000]), 413, "PAYLOAD_TOO_LARGE");
    refused(&send(path, &key, &[b'['; 65]), 422, "INVALID_JSON_DEPTH");
    refused(&send(path, &fresh_key(), b"{"), 422, "INVALID_REQUEST");
}

#[test]
fn the_edge_limits_each_source() {
    let appliance =
        Setup::new().env("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "1").env("QUINTET_LEDGER__EDGE_BURST", "3").start();
    let stranger = appliance.stranger("ledger");
    let statuses: Vec<u16> = (0..8).map(|_| stranger.get("/v1/accounts").status).collect();
    assert_eq!(&statuses[..3], [401, 401, 401]);
    let limited = stranger.get("/v1/nothing");
    refused(&limited, 429, "RATE_LIMITED");
    for _ in 0..50 {
        assert_eq!(stranger.get("/healthz").status, 200);
    }
}

#[test]
fn answers_carry_a_request_id() {
    let books = Books::open(shared());
    assert_eq!(books.client.get("/v1/accounts").header("x-request-id").len(), 26);
    let given = books.client.send("GET", "/v1/nothing", &[("x-request-id", "mine-1")], b"");
    assert_eq!(given.header("x-request-id"), "mine-1");
}

#[test]
fn nothing_given_comes_back_in_an_error() {
    let books = Books::open(shared());
    let marker = "s3cr3t-marker";
    let answers = [
        books.client.get(&format!("/v1/accounts/{marker}")),
        books.client.get(&format!("/v1/{marker}")),
        books.client.get(&format!("/v1/accounts?cursor={marker}")),
        books.client.post("/v1/transactions", &json!({"description": marker, "entries": [marker, marker]})),
        books.client.post("/v1/asset-types", &json!({"code": marker, "kind": marker, "scale": marker})),
        books.client.post("/v1/transactions", &json!({"pending": true, "expires_at": marker, "entries": Value::Null})),
        shared().client("ledger", marker).get("/v1/accounts"),
    ];
    for answer in answers {
        assert!(answer.status >= 400 && !answer.text.contains(marker), "{answer:?}");
    }
    assert!(!shared().log().contains(marker));
}
