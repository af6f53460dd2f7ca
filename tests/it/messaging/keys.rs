//! Keys, one-time addresses and invites over HTTP.

use serde_json::json;

use crate::support::appliance::{Client, shared, shared_rehearsal};
use crate::support::messaging::{Workspace, refused};

/// The client of an address that was handed out, and its path.
fn at(url: &str) -> (Client, String) {
    let address = shared().address("messaging");
    let path = url.strip_prefix(&format!("http://{address}")).unwrap_or_else(|| panic!("{url} is elsewhere"));
    (shared().stranger("messaging"), path.to_owned())
}

#[test]
fn a_key_makes_keys_that_may_no_more_than_itself() {
    let workspace = Workspace::open(shared());
    let (admin, full) = (&workspace.admin, workspace.client("full", &[]));
    let made = full.post("/v1/keys", &json!({"scope": "send", "agents": ["a", "a"], "label": "setup-a"})).expect(201);
    assert_eq!((&made["scope"], &made["agents"], &made["label"]), (&json!("send"), &json!(["a"]), &json!("setup-a")));
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    assert!(key.starts_with(&format!("ab_sk_{id}_")), "{key}");
    assert!(key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "clients cut elsewhere: {key}");
    refused(&full.post("/v1/keys", &json!({"scope": "admin"})), 403, "permission_denied");
    admin.post("/v1/keys", &json!({"scope": "admin"})).expect(201);
    for wrong in [
        json!({}),
        json!({"scope": "send"}),
        json!({"scope": "owner"}),
        json!({"scope": 1}),
        json!({"scope": "send", "agents": "a"}),
        json!({"scope": "send", "agents": ["Big"]}),
        json!({"scope": "send", "agents": ["system"]}),
        json!({"scope": "read", "label": "a\nb"}),
        json!({"scope": "read", "label": "x".repeat(201)}),
        json!({"scope": "read", "delivery": "mail"}),
    ] {
        refused(&admin.post("/v1/keys", &wrong), 422, "validation_error");
    }
    let listed = admin.get("/v1/keys").expect(200);
    assert_eq!(listed["count"], 4);
    let listed = listed["keys"].as_array().unwrap().clone();
    assert!(listed.iter().all(|key| key.get("key").is_none() && key["revoked_at"].is_null()), "{listed:?}");
    for _ in 0..2 {
        let revoked = admin.delete(&format!("/v1/keys/{id}")).expect(200);
        assert_eq!((&revoked["id"], &revoked["revoked"]), (&json!(id), &json!(true)));
    }
    refused(&shared().client("messaging", key).get("/v1/usage"), 401, "invalid_api_key");
}

#[test]
fn another_workspaces_keys_are_not_there() {
    let (one, other) = (Workspace::open(shared()), Workspace::open(shared()));
    let id = one.admin_key.split('_').nth(2).unwrap().to_owned();
    let absent = refused(&other.admin.delete("/v1/keys/abcdefghij"), 404, "not_found");
    let others = refused(&other.admin.delete(&format!("/v1/keys/{id}")), 404, "not_found");
    assert_eq!(absent["detail"], others["detail"]);
    one.admin.get("/v1/keys").expect(200);
}

#[test]
fn a_workspace_has_so_many_keys() {
    let workspace = Workspace::open(shared());
    workspace.limit("operator_keys=2");
    workspace.limit("bound_keys=1");
    let admin = &workspace.admin;
    let second = admin.post("/v1/keys", &json!({"scope": "read"})).expect(201);
    let told = refused(&admin.post("/v1/keys", &json!({"scope": "read"})), 409, "limit_reached");
    assert_eq!((&told["limit"], &told["max"]), (&json!("operator_keys"), &json!(2)));
    admin.post("/v1/keys", &json!({"scope": "send", "agents": ["a"]})).expect(201);
    let told = refused(&admin.post("/v1/keys", &json!({"scope": "send", "agents": ["a"]})), 409, "limit_reached");
    assert_eq!(told["limit"], "bound_keys");
    let usage = admin.get("/v1/usage").expect(200);
    let expected = json!({"bound_send": {"used": 1, "limit": 1}, "operator": {"used": 2, "limit": 2}});
    assert_eq!(usage["keys"], expected);
    admin.delete(&format!("/v1/keys/{}", second["id"].as_str().unwrap())).expect(200);
    admin.post("/v1/keys", &json!({"scope": "read"})).expect(201);
}

#[test]
fn a_key_is_fetched_once_at_its_address() {
    let workspace = Workspace::open(shared());
    let wish = json!({"scope": "read", "delivery": "one-time-url", "label": "for Ann"});
    let made = workspace.admin.post("/v1/keys", &wish).expect(201);
    assert!(made.get("key").is_none(), "{made}");
    assert_eq!(made["expires_in_seconds"], 900);
    let (stranger, path) = at(made["delivery_url"].as_str().unwrap());
    // Programs that look at links before people do take nothing.
    assert_eq!(stranger.send("HEAD", &path, &[], b"").status, 200);
    let answer = stranger.get(&path);
    assert_eq!(answer.header("cache-control"), "no-store");
    let fetched = answer.expect(200);
    assert_eq!((&fetched["id"], &fetched["label"]), (&made["id"], &json!("for Ann")));
    shared().client("messaging", fetched["key"].as_str().unwrap()).get("/v1/usage").expect(200);
    let gone = refused(&stranger.get(&path), 404, "not_found");
    let (start, _) = path.rsplit_once('/').unwrap();
    let absent = refused(&stranger.get(&format!("{start}/{}", "A".repeat(40))), 404, "not_found");
    assert_eq!(gone["detail"], absent["detail"]);
    assert_eq!(stranger.send("HEAD", &path, &[], b"").status, 404);
}

#[test]
fn a_key_that_nobody_fetches_is_revoked() {
    let appliance = shared_rehearsal();
    let workspace = Workspace::open(appliance);
    let wish = json!({"scope": "read", "delivery": "one-time-url"});
    let made = workspace.admin.post("/v1/keys", &wish).expect(201);
    appliance.cli_json(&["clock", "advance", "901"]);
    let url = made["delivery_url"].as_str().unwrap();
    let path = url.strip_prefix(&format!("http://{}", appliance.address("messaging"))).unwrap();
    refused(&appliance.stranger("messaging").get(path), 404, "not_found");
    let listed = workspace.admin.get("/v1/keys").expect(200)["keys"].as_array().unwrap().clone();
    let own = listed.iter().find(|key| key["id"] == made["id"]).unwrap();
    assert!(own["revoked_at"].is_string(), "{own}");
    assert_eq!(workspace.admin.get("/v1/usage").expect(200)["keys"]["operator"]["used"], 1);
}

#[test]
fn an_address_is_under_the_public_one() {
    let setup = crate::support::appliance::Setup::new();
    let appliance = setup.env("QUINTET_MESSAGING__PUBLIC_URL", "https://agents.example.com/").start();
    let workspace = Workspace::open(&appliance);
    let made = workspace.admin.post("/v1/keys", &json!({"scope": "read", "delivery": "one-time-url"})).expect(201);
    let url = made["delivery_url"].as_str().unwrap();
    assert!(url.starts_with("https://agents.example.com/v1/keys/once/"), "{url}");
}

#[test]
fn invites_are_made_with_a_role_and_a_time() {
    let workspace = Workspace::open(shared());
    let made = workspace.admin.post("/v1/invites", &json!({"role": "builder", "ttl_seconds": 60})).expect(201);
    assert_eq!((&made["role"], &made["expires_in_seconds"]), (&json!("builder"), &json!(60)));
    let token = made["token"].as_str().unwrap();
    assert!(token.starts_with("ab_jt_") && token.len() == 46, "{token}");
    let made = workspace.client("full", &[]).post("/v1/invites", &json!({"role": null})).expect(201);
    assert_eq!((made["role"].is_null(), &made["expires_in_seconds"]), (true, &json!(3600)));
}

#[test]
fn usage_and_limits_are_told() {
    let workspace = Workspace::open(shared());
    let reader = workspace.client("read", &[]);
    let usage = reader.get("/v1/usage").expect(200);
    let first = &usage["policies"][0];
    assert_eq!(
        (&first["name"], &first["limit"], &first["used"]),
        (&json!("messages_per_day"), &json!(1000), &json!(0))
    );
    assert!(first["window"]["reset_at"].as_str().unwrap().ends_with("T00:00:00.000000Z"), "{first}");
    workspace.limit("messages_per_day=unlimited");
    workspace.limit("webhooks=3");
    let limits = reader.get("/v1/limits").expect(200);
    let told = &limits["limits"];
    assert_eq!((&told["webhooks"], &told["agent_tags"]), (&json!(3), &json!(50)));
    assert_eq!(told["messages_per_day"], json!((1_u64 << 53) - 1));
    assert_eq!(limits["policies"][0]["remaining"], json!((1_u64 << 53) - 1));
    workspace.limit("webhooks=default");
    assert_eq!(reader.get("/v1/limits").expect(200)["limits"]["webhooks"], 10);
}
