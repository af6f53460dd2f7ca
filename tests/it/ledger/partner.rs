//! The partner's side: sub-tenants, their keys, and what they may and may not do.

use serde_json::{Value, json};

use crate::ledger::{refused, text};
use crate::support::appliance::{Appliance, Client, Setup, fresh_key, shared, unique};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

fn partner(appliance: &Appliance) -> (Client, String) {
    let tenant_id = appliance.tenant();
    (appliance.persona("ledger", &tenant_id, &["ledger_partner"]), tenant_id)
}

fn client_of(partner: &Client) -> String {
    let body = json!({"name": format!("client {}", unique()), "kind": "production", "contact_email": "a@example.com"});
    text(&partner.post("/v1/sub-tenants", &body).expect(201), "sub_tenant_id")
}

fn delete(client: &Client, path: &str) -> crate::support::appliance::Answer {
    client.send("DELETE", path, &[("idempotency-key", &fresh_key())], b"")
}

#[test]
fn sub_tenants_are_created_listed_and_changed() {
    let (partner, _) = partner(shared());
    let body = json!({"name": "Zoë & Co", "kind": "sandbox", "contact_email": "zoe@example.com"});
    let made = partner.post("/v1/sub-tenants", &body).expect(201);
    let id = text(&made, "sub_tenant_id");
    let expected = json!({
        "sub_tenant_id": id, "name": "Zoë & Co", "kind": "sandbox", "contact_email": "zoe@example.com",
        "status": "active", "created_at": made["created_at"],
    });
    assert_eq!(made, expected);
    let others: Vec<String> = (0..3).map(|_| client_of(&partner)).collect();
    let mut seen = Vec::new();
    let mut path = "/v1/sub-tenants?limit=3".to_owned();
    loop {
        let page = partner.get(&path).expect(200);
        seen.extend(page["sub_tenants"].as_array().unwrap().iter().map(|one| text(one, "sub_tenant_id")));
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/sub-tenants?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, [std::slice::from_ref(&id), others.as_slice()].concat());

    let path = format!("/v1/sub-tenants/{id}");
    let changed = partner.patch(&path, &json!({"name": "Zoë", "status": "suspended"})).expect(200);
    assert_eq!((&changed["name"], &changed["status"]), (&json!("Zoë"), &json!("suspended")));
    assert_eq!(partner.patch(&path, &json!({})).expect(200), changed);
    for field in ["sub_tenant_id", "kind", "contact_email", "created_at"] {
        let details = refused(&partner.patch(&path, &json!({field: "x"})), 409, "IMMUTABLE_VIOLATION");
        assert_eq!(details, json!({"field": field}));
    }
    refused(&partner.patch(&path, &json!({"status": "closed"})), 422, "INVALID_REQUEST");
    refused(&partner.patch(&path, &json!({"parent": "x"})), 422, "INVALID_REQUEST");
    refused(&partner.patch(&path, &json!({"name": ""})), 422, "INVALID_TENANT");
    for id in [NOBODY, "nonsense"] {
        refused(&partner.patch(&format!("/v1/sub-tenants/{id}"), &json!({})), 404, "SUB_TENANT_NOT_FOUND");
    }
}

#[test]
fn fields_of_sub_tenants_and_keys_are_checked() {
    let (partner, _) = partner(shared());
    let with = |name: &str, value: Value| {
        let mut body = json!({"name": "n", "kind": "production", "contact_email": "a@example.com"});
        body[name] = value;
        partner.post("/v1/sub-tenants", &body)
    };
    for (name, value) in [
        ("name", json!("")),
        ("name", json!("  ")),
        ("name", json!("x".repeat(256))),
        ("name", json!("a\nb")),
        ("kind", json!("test")),
        ("contact_email", json!("nobody")),
        ("contact_email", json!("@example.com")),
        ("contact_email", json!("a@")),
        ("contact_email", json!("a b@example.com")),
        ("contact_email", json!(format!("{}@example.com", "x".repeat(255)))),
    ] {
        refused(&with(name, value), 422, "INVALID_TENANT");
    }
    with("name", json!("ü".repeat(255))).expect(201);
    for (name, value) in [("name", json!(1)), ("kind", json!(null)), ("contact_email", json!([])), ("more", json!(1))] {
        refused(&with(name, value), 422, "INVALID_REQUEST");
    }

    let keys = format!("/v1/sub-tenants/{}/keys", client_of(&partner));
    let with = |name: &str, value: Value| {
        let mut body = json!({"label": "l", "role": "reader", "ttl_days": 1});
        body[name] = value;
        partner.post(&keys, &body)
    };
    for (name, value) in [
        ("role", json!("partner")),
        ("ttl_days", json!(0)),
        ("ttl_days", json!(3651)),
        ("ttl_days", json!(-1)),
        ("ttl_days", json!(5_000_000_000_u64)),
        ("label", json!("x".repeat(256))),
        ("label", json!("a\u{7}")),
    ] {
        refused(&with(name, value), 422, "INVALID_KEY");
    }
    for (name, value) in [("role", json!(1)), ("ttl_days", json!("1")), ("ttl_days", json!(1.5)), ("more", json!(1))] {
        refused(&with(name, value), 422, "INVALID_REQUEST");
    }
    assert_eq!(with("ttl_days", Value::Null).expect(201)["expires_at"], Value::Null);
    with("ttl_days", json!(3650)).expect(201);
    let key = "x".repeat(256);
    let long = partner.send("POST", &keys, &[("idempotency-key", &key)], b"{}");
    refused(&long, 422, "INVALID_KEY");
}

#[test]
fn keys_work_in_the_clients_ledger_and_nowhere_else() {
    let appliance = shared();
    let (partner, tenant_id) = partner(appliance);
    let client_id = client_of(&partner);
    let keys = format!("/v1/sub-tenants/{client_id}/keys");
    let issue = |role: &str| partner.post(&keys, &json!({"label": role, "role": role})).expect(201);
    let admin_key = issue("admin");
    let mut names: Vec<&String> = admin_key.as_object().unwrap().keys().collect();
    names.sort_unstable();
    assert_eq!(names, ["api_key", "created_at", "expires_at", "key_id", "label", "role"]);
    let as_client = |key: &Value| appliance.client("ledger", &text(key, "api_key"));
    let admin = as_client(&admin_key);
    let asset = admin.post("/v1/asset-types", &json!({"code": "EUR", "kind": "fiat", "scale": 2})).expect(201);
    assert_eq!(admin.get("/v1/asset-types").expect(200)["asset_types"].as_array().unwrap().len(), 1);
    // The parent's ledger is another one, and the partner's key opens neither.
    let parent = appliance.persona("ledger", &tenant_id, &[]);
    assert_eq!(parent.get("/v1/asset-types").expect(200), json!({"asset_types": []}));
    refused(&partner.get("/v1/asset-types"), 403, "FORBIDDEN");
    let body = json!({"asset_type_id": asset["asset_type_id"], "name": "a", "normal_side": "debit"});
    refused(&partner.post("/v1/accounts", &body), 403, "FORBIDDEN");
    let account = text(&admin.post("/v1/accounts", &body).expect(201), "account_id");
    refused(&parent.get(&format!("/v1/accounts/{account}")), 404, "ACCOUNT_NOT_FOUND");
    // Roles.
    let (poster, reader) = (as_client(&issue("poster")), as_client(&issue("reader")));
    refused(&poster.post("/v1/accounts", &body), 403, "FORBIDDEN");
    refused(&poster.post("/v1/transactions", &json!({})), 422, "INVALID_REQUEST");
    refused(&reader.post("/v1/transactions", &json!({})), 403, "FORBIDDEN");
    reader.get("/v1/accounts").expect(200);
    // A sub-tenant has no sub-tenants, whatever permissions its key has.
    refused(&admin.get("/v1/sub-tenants"), 403, "FORBIDDEN");
    let odd = appliance.persona("ledger", &client_id, &["ledger_partner"]);
    let nested = json!({"name": "n", "kind": "production", "contact_email": "a@example.com"});
    refused(&odd.post("/v1/sub-tenants", &nested), 422, "INVALID_TENANT");
    // Another tenant's partner sees nothing.
    let (stranger, _) = self::partner(appliance);
    refused(&stranger.get(&keys), 404, "SUB_TENANT_NOT_FOUND");
    refused(&stranger.patch(&format!("/v1/sub-tenants/{client_id}"), &json!({})), 404, "SUB_TENANT_NOT_FOUND");
    refused(&stranger.post(&keys, &json!({"label": "", "role": "admin"})), 404, "SUB_TENANT_NOT_FOUND");
    let key_path = format!("{keys}/{}", text(&admin_key, "key_id"));
    refused(&delete(&stranger, &key_path), 404, "SUB_TENANT_NOT_FOUND");
    assert_eq!(stranger.get("/v1/sub-tenants").expect(200), json!({"sub_tenants": [], "next_cursor": null}));
}

#[test]
fn keys_are_listed_without_secrets_and_revoked_for_good() {
    let appliance = shared();
    let (partner, _) = partner(appliance);
    let (client_id, other_id) = (client_of(&partner), client_of(&partner));
    let keys = format!("/v1/sub-tenants/{client_id}/keys");
    assert_eq!(partner.get(&keys).expect(200), json!({"keys": []}));
    let body = json!({"label": "the desk", "role": "poster", "ttl_days": 30});
    let issued = partner.post_under("issue-1", &keys, &body);
    let again = partner.post_under("issue-1", &keys, &body);
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"));
    issued.expect(201);
    assert_eq!(again.text, issued.text, "it was issued once, and the repeat gets the same answer, secret included");
    let (key_id, api_key) = (text(&issued.json(), "key_id"), text(&issued.json(), "api_key"));
    let client = appliance.client("ledger", &api_key);
    client.get("/v1/accounts").expect(200);
    let listed = partner.get(&keys);
    assert!(!listed.text.contains(&api_key[35..]), "no secret in a list");
    let listed = listed.expect(200)["keys"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let one = &listed[0];
    assert_eq!((&one["key_id"], &one["role"], &one["label"]), (&json!(key_id), &json!("poster"), &json!("the desk")));
    assert_eq!(one["revoked_at"], Value::Null);
    assert!(one["last_used_at"].is_string(), "{one}");

    refused(&delete(&partner, &format!("/v1/sub-tenants/{other_id}/keys/{key_id}")), 404, "KEY_NOT_FOUND");
    for nobody in ["nonsense", "01890000000000000000000000"] {
        refused(&delete(&partner, &format!("{keys}/{nobody}")), 404, "KEY_NOT_FOUND");
    }
    let path = format!("{keys}/{key_id}");
    refused(&partner.send("DELETE", &path, &[], b""), 400, "MISSING_IDEMPOTENCY_KEY");
    for _ in 0..2 {
        assert_eq!(delete(&partner, &path).expect(200), json!({"key_id": key_id, "revoked": true}));
    }
    refused(&client.get("/v1/accounts"), 401, "UNAUTHENTICATED");
    assert!(partner.get(&keys).expect(200)["keys"][0]["revoked_at"].is_string());
    // One key for two deletions of different keys is a mistake that is found out.
    let send = |path: &str| partner.send("DELETE", path, &[("idempotency-key", "one-for-two")], b"");
    send(&path).expect(200);
    refused(&send(&format!("{keys}/nonsense")), 422, "IDEMPOTENCY_KEY_MISMATCH");
}

#[test]
fn a_suspended_client_or_parent_is_shut_out_until_it_is_active_again() {
    let appliance = shared();
    let (partner, tenant_id) = partner(appliance);
    let client_id = client_of(&partner);
    let key = partner.post(&format!("/v1/sub-tenants/{client_id}/keys"), &json!({"label": "", "role": "admin"}));
    let client = appliance.client("ledger", &text(&key.expect(201), "api_key"));
    let path = format!("/v1/sub-tenants/{client_id}");
    client.get("/v1/accounts").expect(200);
    partner.patch(&path, &json!({"status": "suspended"})).expect(200);
    refused(&client.get("/v1/accounts"), 403, "TENANT_SUSPENDED");
    partner.patch(&path, &json!({"status": "active"})).expect(200);
    client.get("/v1/accounts").expect(200);
    assert!(appliance.cli(&["tenant", "suspend", &tenant_id]).status.success());
    refused(&client.get("/v1/accounts"), 403, "TENANT_SUSPENDED");
    refused(&partner.get("/v1/sub-tenants"), 403, "TENANT_SUSPENDED");
    assert!(appliance.cli(&["tenant", "activate", &tenant_id]).status.success());
    client.get("/v1/accounts").expect(200);
}

#[test]
fn keys_of_clients_expire() {
    let appliance = Setup::new().rehearsal().start();
    let (partner, _) = partner(&appliance);
    let keys = format!("/v1/sub-tenants/{}/keys", client_of(&partner));
    let key = partner.post(&keys, &json!({"label": "", "role": "reader", "ttl_days": 2})).expect(201);
    let client = appliance.client("ledger", &text(&key, "api_key"));
    client.get("/v1/accounts").expect(200);
    assert!(appliance.cli(&["clock", "advance", "172799"]).status.success());
    client.get("/v1/accounts").expect(200);
    assert!(appliance.cli(&["clock", "advance", "1"]).status.success());
    refused(&client.get("/v1/accounts"), 401, "CREDENTIAL_EXPIRED");
}
