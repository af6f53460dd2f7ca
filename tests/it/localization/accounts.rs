//! Service accounts and API keys from outside, those of the command line among them.

use serde_json::{Value, json};

use crate::localization::members::{NOBODY, invite, key_of};
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{fresh_key, shared};

/// A service account.
pub fn account(desk: &Desk, label: &str) -> Value {
    desk.post("/v1/service-accounts", &json!({"label": label})).expect(201)
}

/// The path of a service account.
pub fn path_of(account: &Value) -> String {
    format!("/v1/service-accounts/{}", text(account, "id"))
}

#[test]
fn service_accounts_are_made_listed_and_revoked() {
    let desk = Desk::open(shared());
    let made = account(&desk, "ci");
    assert_eq!((&made["label"], &made["status"]), (&json!("ci"), &json!("active")));
    assert_eq!(text(&made, "short_id").len(), 10);
    // The key that made it acts as one, too, named by its label.
    let labelled = Desk::of(shared(), &desk.tenant_id, &["--label", "nightly build"]);
    let listed = desk.get("/v1/service-accounts").expect(200);
    let all = listed["service_accounts"].as_array().unwrap();
    let mine = desk.get("/v1/me").expect(200)["principal_id"].clone();
    refused(&desk.post("/v1/service-accounts", &json!({"label": "a\u{7}"})), 400, "invalid_field");
    let other = labelled.get("/v1/me").expect(200)["principal_id"].clone();
    let label = |id: &Value| all.iter().find(|one| one["id"] == *id).unwrap()["label"].clone();
    assert_eq!((all.len(), label(&mine), label(&other)), (3, json!(""), json!("nightly build")));
    let first = desk.get("/v1/service-accounts?limit=1").expect(200);
    let cursor = text(&first, "next_cursor");
    let rest = desk.get(&format!("/v1/service-accounts?cursor={cursor}")).expect(200);
    assert_eq!((rest["service_accounts"].as_array().unwrap().len(), &rest["next_cursor"]), (2, &Value::Null));
    for (body, code) in [
        (json!({}), "invalid_field"),
        (json!({"label": "x".repeat(65)}), "invalid_field"),
        (json!({"label": null}), "invalid_field"),
        (json!({"label": "x", "name": "y"}), "unknown_field"),
    ] {
        refused(&desk.post("/v1/service-accounts", &body), 400, code);
    }
    let own = key_of(&desk, &path_of(&made));
    own.get("/v1/me").expect(200);
    let revoked = desk.send("DELETE", &path_of(&made), &[], b"").expect(200);
    assert_eq!((&revoked["status"], &revoked["id"]), (&json!("revoked"), &made["id"]));
    refused(&own.get("/v1/me"), 401, "unauthenticated");
    assert_eq!(desk.send("DELETE", &path_of(&made), &[], b"").expect(200), revoked, "again: the same");
    refused(&desk.post(&format!("{}/keys", path_of(&made)), &json!({})), 409, "conflict");
    // The account of a key from the command line goes with its key, and the key with its account.
    let path = format!("/v1/service-accounts/{}", other.as_str().unwrap());
    desk.send("DELETE", &path, &[], b"").expect(200);
    refused(&labelled.get("/v1/me"), 401, "unauthenticated");
    for path in [format!("/v1/service-accounts/{NOBODY}"), "/v1/service-accounts/x".into()] {
        refused(&desk.send("DELETE", &path, &[], b""), 404, "not_found");
        refused(&desk.get(&format!("{path}/keys")), 404, "not_found");
        refused(&desk.post(&format!("{path}/keys"), &json!({})), 404, "not_found");
    }
    let stranger = Desk::open(shared());
    refused(&stranger.send("DELETE", &path_of(&made), &[], b""), 404, "not_found");
    refused(&stranger.get(&format!("{}/keys", path_of(&made))), 404, "not_found");
    let viewer = desk.template(shared(), "viewer", &json!({}));
    for answer in [
        viewer.get("/v1/service-accounts"),
        viewer.post("/v1/service-accounts", &json!({"label": "x"})),
        viewer.send("DELETE", &format!("/v1/service-accounts/{NOBODY}"), &[], b""),
        viewer.get(&format!("/v1/service-accounts/{NOBODY}/keys")),
        viewer.post(&format!("/v1/service-accounts/{NOBODY}/keys"), &json!({})),
        viewer.send("DELETE", "/v1/api-keys/x", &[], b""),
    ] {
        refused(&answer, 403, "forbidden");
    }
    // A member is no service account, nor the other way round.
    let member = text(&invite(&desk, "a@b.example"), "id");
    refused(&desk.get(&format!("/v1/service-accounts/{member}/keys")), 404, "not_found");
    refused(&desk.get(&format!("/v1/members/{}/keys", text(&made, "id"))), 404, "not_found");
}

#[test]
fn a_keys_secret_is_told_once() {
    let desk = Desk::open(shared());
    let account = account(&desk, "ci");
    let path = format!("{}/keys", path_of(&account));
    let key = fresh_key();
    let issued = desk.json_under(&key, "POST", &path, &json!({"label": "laptop"})).expect(201);
    let api_key = text(&issued, "api_key");
    assert!(api_key.starts_with("rak_") && api_key.contains(&text(&issued, "key_id")), "{issued}");
    let again = desk.json_under(&key, "POST", &path, &json!({"label": "laptop"}));
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"));
    assert_eq!(again.json(), json!({"key_id": issued["key_id"], "api_key": null}));
    let listed = desk.get(&path).expect(200);
    let found = &listed["keys"][0];
    assert_eq!((listed["keys"].as_array().unwrap().len(), &found["label"]), (1, &json!("laptop")));
    assert_eq!((&found["revoked_at"], &found["expires_at"]), (&Value::Null, &Value::Null));
    assert_eq!((&found["last_used_at"], &found["key_id"]), (&Value::Null, &issued["key_id"]));
    let own = Desk { client: desk.client.with_key(&api_key), tenant_id: desk.tenant_id.clone() };
    let me = own.get("/v1/me").expect(200);
    assert_eq!((&me["kind"], &me["principal_id"]), (&json!("service_account"), &account["id"]));
    assert!(desk.get(&path).expect(200)["keys"][0]["last_used_at"].is_string());
    // Without a body, and without a label; one key is nothing to another.
    let second = desk.send("POST", &path, &[], b"").expect(201);
    for (body, code) in [
        (json!({"label": "x".repeat(65)}), "invalid_field"),
        (json!({"label": "a\u{7}"}), "invalid_field"),
        (json!({"label": null}), "invalid_field"),
        (json!({"permissions": ["org_members-manage"]}), "unknown_field"),
        (json!([]), "invalid_body"),
    ] {
        refused(&desk.post(&path, &body), 400, code);
    }
    let of_key = format!("/v1/api-keys/{}", text(&issued, "key_id"));
    let revoked = desk.send("DELETE", &of_key, &[], b"").expect(200);
    assert!(revoked["revoked_at"].is_string() && revoked["key_id"] == issued["key_id"], "{revoked}");
    refused(&own.get("/v1/me"), 401, "unauthenticated");
    assert_eq!(desk.send("DELETE", &of_key, &[], b"").expect(200), revoked, "again: the same");
    let other = Desk { client: desk.client.with_key(&text(&second, "api_key")), tenant_id: desk.tenant_id.clone() };
    other.get("/v1/me").expect(200);
    refused(&Desk::open(shared()).send("DELETE", &of_key, &[], b""), 404, "not_found");
    refused(&desk.send("DELETE", "/v1/api-keys/00000000000000000000000000", &[], b""), 404, "not_found");
    // One that is not localization's is not there, though it is the tenant's.
    let ledger = shared().cli_json(&["key", "issue", "--tenant", &desk.tenant_id, "--permission", "ledger_reader"]);
    refused(&desk.send("DELETE", &format!("/v1/api-keys/{}", text(&ledger, "key_id")), &[], b""), 404, "not_found");
    // A page at a time, and no page of another principal's.
    let first = desk.get(&format!("{path}?limit=1")).expect(200);
    let cursor = text(&first, "next_cursor");
    assert_eq!(desk.get(&format!("{path}?cursor={cursor}")).expect(200)["keys"].as_array().unwrap().len(), 1);
    let beside = account_path(&desk);
    refused(&desk.get(&format!("{beside}?cursor={cursor}")), 400, "invalid_parameter");
}

fn account_path(desk: &Desk) -> String {
    format!("{}/keys", path_of(&account(desk, "other")))
}

#[test]
fn nobody_issues_a_key_of_one_who_may_do_more() {
    let desk = Desk::open(shared());
    let (strong, weak) = (account(&desk, "strong"), account(&desk, "weak"));
    let manager = account(&desk, "manager");
    let grant = |principal: &Value, template: &str| {
        desk.post("/v1/grants", &json!({"principal_id": principal["id"], "template": template})).expect(201);
    };
    grant(&strong, "org_admin");
    grant(&manager, "member_manager");
    let own = key_of(&desk, &path_of(&manager));
    own.post(&format!("{}/keys", path_of(&weak)), &json!({})).expect(201);
    own.post(&format!("{}/keys", path_of(&manager)), &json!({})).expect(201);
    refused(&own.post(&format!("{}/keys", path_of(&strong)), &json!({})), 403, "forbidden");
    // Who there is is told to whoever manages members.
    refused(&own.post(&format!("/v1/service-accounts/{NOBODY}/keys"), &json!({})), 404, "not_found");
    grant(&weak, "viewer");
    refused(&own.post(&format!("{}/keys", path_of(&weak)), &json!({})), 403, "forbidden");
    assert_eq!(desk.get(&format!("{}/keys", path_of(&strong))).expect(200)["keys"], json!([]));
}

#[test]
fn nobody_shuts_out_who_may_do_more_in_the_tenant() {
    let desk = Desk::open(shared());
    let (strong, auditor, translator) = (account(&desk, "strong"), account(&desk, "auditor"), account(&desk, "other"));
    let (manager, beside) = (account(&desk, "manager"), account(&desk, "beside"));
    let member = invite(&desk, "strong@example.org");
    let grant = |principal: &Value, template: &str| {
        desk.post("/v1/grants", &json!({"principal_id": principal["id"], "template": template})).expect(201)
    };
    let (of_strong, of_auditor) = (grant(&strong, "org_admin"), grant(&auditor, "org_auditor"));
    grant(&member, "org_admin");
    grant(&translator, "translator");
    grant(&manager, "member_manager");
    grant(&beside, "member_manager");
    let of_member = format!("/v1/members/{}", text(&member, "id"));
    let own = key_of(&desk, &path_of(&manager));
    let key = desk.post(&format!("{}/keys", path_of(&strong)), &json!({})).expect(201);
    let of_key = format!("/v1/api-keys/{}", text(&key, "key_id"));
    // What the key of the desk may, it carries by itself.
    let of_desk = format!("/v1/service-accounts/{}", text(&desk.get("/v1/me").expect(200), "principal_id"));
    for path in [&path_of(&strong), &path_of(&auditor), &of_member, &of_key, &of_desk] {
        refused(&own.send("DELETE", path, &[], b""), 403, "forbidden");
    }
    refused(&own.send("POST", &format!("{of_member}/erase"), &[], b""), 403, "forbidden");
    for grant in [&of_strong, &of_auditor] {
        refused(&own.send("DELETE", &format!("/v1/grants/{}", text(grant, "id")), &[], b""), 403, "forbidden");
    }
    assert_eq!(desk.get(&of_member).expect(200)["status"], "pending");
    // Whoever holds no more over the tenant is removed by those who manage members.
    for path in [path_of(&translator), path_of(&beside), path_of(&manager)] {
        own.send("DELETE", &path, &[], b"").expect(200);
    }
    for path in [&path_of(&strong), &path_of(&auditor), &of_member] {
        desk.send("DELETE", path, &[], b"").expect(200);
    }
}

#[test]
fn keys_are_a_bounded_number_and_the_oldest_revoked_goes_from_the_list() {
    let desk = Desk::open(shared());
    let path = account_path(&desk);
    let first = desk.post(&path, &json!({})).expect(201);
    for _ in 1..100 {
        desk.post(&path, &json!({})).expect(201);
    }
    refused(&desk.post(&path, &json!({})), 409, "conflict");
    let of_key = format!("/v1/api-keys/{}", text(&first, "key_id"));
    desk.send("DELETE", &of_key, &[], b"").expect(200);
    desk.post(&path, &json!({})).expect(201);
    let listed = desk.get(&format!("{path}?limit=500")).expect(200);
    let keys = listed["keys"].as_array().unwrap();
    assert!(keys.len() == 100 && keys.iter().all(|key| key["key_id"] != first["key_id"]));
    desk.send("DELETE", &of_key, &[], b"").expect(200);
}

#[test]
fn a_key_that_the_operator_revokes_takes_its_account_with_it() {
    let desk = Desk::open(shared());
    let issued = shared().cli_json(&["key", "issue", "--tenant", &desk.tenant_id, "--template", "viewer"]);
    let client = desk.client.with_key(&text(&issued, "api_key"));
    let own = Desk { client, tenant_id: desk.tenant_id.clone() };
    let id = own.get("/v1/me").expect(200)["principal_id"].clone();
    let status = || {
        let listed = desk.get("/v1/service-accounts").expect(200);
        let found = listed["service_accounts"].as_array().unwrap().iter().find(|one| one["id"] == id).cloned();
        found.unwrap()["status"].clone()
    };
    assert_eq!(status(), "active");
    // With another key of its own it stays.
    let path = format!("/v1/service-accounts/{}", id.as_str().unwrap());
    let second = desk.post(&format!("{path}/keys"), &json!({})).expect(201);
    shared().cli_json(&["key", "revoke", &text(&issued, "key_id")]);
    assert_eq!(status(), "active");
    refused(&own.get("/v1/me"), 401, "unauthenticated");
    let client = desk.client.with_key(&text(&second, "api_key"));
    let own = Desk { client, tenant_id: desk.tenant_id.clone() };
    own.get("/v1/projects").expect(200);
    shared().cli_json(&["key", "revoke", &text(&second, "key_id")]);
    assert_eq!(status(), "revoked");
    let grants = desk.get("/v1/grants").expect(200);
    let own = grants["grants"].as_array().unwrap().iter().find(|grant| grant["principal_id"] == id).unwrap();
    assert_eq!(own["state"], "revoked");
}
