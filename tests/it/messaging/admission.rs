//! How a request is let in: its key, its workspace, the agent that it acts as, its scope, and how much it may.

use serde_json::json;

use crate::support::appliance::{Setup, shared};
use crate::support::messaging::{AS_AGENT, Workspace, refused};

/// A path that every key may read.
const OPEN_TO_ALL: &str = "/v1/usage";

#[test]
fn a_key_opens_its_workspace() {
    let workspace = Workspace::open(shared());
    let stranger = shared().stranger("messaging");
    let answer = stranger.get(OPEN_TO_ALL);
    refused(&answer, 401, "unauthenticated");
    assert_eq!(answer.header("www-authenticate"), "Bearer");
    let good = workspace.key("read", &[]);
    let (start, _) = good.rsplit_once('_').unwrap();
    for bad in [
        String::new(),
        "ab_sk_".to_owned(),
        good.to_uppercase(),
        format!("{good}x"),
        good[..good.len() - 1].to_owned(),
        format!("{start}_{}", "A".repeat(40)),
        good.replacen("ab_sk_", "ab_jt_", 1),
        workspace.appliance.key(&workspace.tenant_id, &[]).1,
    ] {
        let told = refused(&shared().client("messaging", &bad).get(OPEN_TO_ALL), 401, "invalid_api_key");
        assert!(told["title"].as_str().unwrap().contains("unknown or revoked"), "clients look for these words: {told}");
    }
    refused(&stranger.send("GET", OPEN_TO_ALL, &[("authorization", &good)], b""), 401, "invalid_api_key");
    for field in [format!("Bearer {good}"), format!("bearer  {good}")] {
        stranger.send("GET", OPEN_TO_ALL, &[("authorization", &field)], b"").expect(200);
    }
}

#[test]
fn a_revoked_key_is_refused_at_once() {
    let workspace = Workspace::open(shared());
    let key = workspace.key("full", &[]);
    let client = shared().client("messaging", &key);
    client.get(OPEN_TO_ALL).expect(200);
    let id = key.split('_').nth(2).unwrap();
    let revoked = shared().cli_json(&["messaging", "key", "revoke", id]);
    assert_eq!((&revoked["key_id"], revoked["revoked_at"].is_string()), (&json!(id), true));
    refused(&client.get(OPEN_TO_ALL), 401, "invalid_api_key");
}

#[test]
fn scopes_open_what_they_may() {
    let workspace = Workspace::open(shared());
    let (reader, sender) = (workspace.client("read", &[]), workspace.client("send", &["a"]));
    let (full, bound) = (workspace.client("full", &[]), workspace.client("admin", &["a"]));
    reader.get(OPEN_TO_ALL).expect(200);
    full.get("/v1/limits").expect(200);
    refused(&reader.post("/v1/keys", &json!({})), 403, "permission_denied");
    refused(&full.get("/v1/keys"), 403, "permission_denied");
    refused(&full.delete("/v1/keys/abcdefghij"), 403, "permission_denied");
    // Its agent is not there yet, which comes before its scope.
    refused(&sender.get(OPEN_TO_ALL), 404, "not_found");
    workspace.agent("a");
    sender.get(OPEN_TO_ALL).expect(200);
    for client in [&reader, &sender] {
        refused(&client.post("/v1/invites", &json!({})), 403, "permission_denied");
    }
    refused(&bound.post("/v1/keys", &json!({"scope": "read"})), 403, "permission_denied");
    refused(&bound.post("/v1/invites", &json!({})), 403, "permission_denied");
    bound.get("/v1/keys").expect(200);
}

#[test]
fn who_acts_is_said_by_the_header_or_the_key() {
    let workspace = Workspace::open(shared());
    let agent = workspace.agent("builder");
    workspace.agent("tester");
    let acting = |client: crate::support::appliance::Client, name: &str| client.with(AS_AGENT, name).get("/v1/inbox");
    agent.client.get("/v1/inbox").expect(200);
    acting(agent.client.clone(), "builder").expect(200);
    let told = refused(&acting(agent.client.clone(), "tester"), 403, "key_agent_mismatch");
    assert!(told["detail"].as_str().unwrap().contains("tester"), "{told}");
    // Who may act as any says as whom.
    refused(&workspace.admin.get("/v1/inbox"), 403, "permission_denied");
    acting(workspace.admin.clone(), "tester").expect(200);
    let told = refused(&acting(workspace.admin.clone(), "nobody"), 404, "not_found");
    assert!(told["detail"].as_str().unwrap().contains("nobody"), "{told}");
    // A key of several agents needs to be told.
    let several = workspace.client("send", &["builder", "tester"]);
    refused(&several.get("/v1/inbox"), 403, "permission_denied");
    acting(several.clone(), "builder").expect(200);
    refused(&acting(several, "nobody"), 403, "key_agent_mismatch");
}

#[test]
fn a_retired_agent_does_nothing_until_it_registers() {
    let workspace = Workspace::open(shared());
    let agent = workspace.agent("old");
    let retired = shared().cli_json(&["messaging", "agent", "retire", "old", "--workspace", &workspace.slug]);
    assert!(retired["retired_at"].is_string(), "{retired}");
    for answer in [agent.client.get("/v1/inbox"), agent.client.get(OPEN_TO_ALL)] {
        let told = refused(&answer, 410, "agent_retired");
        assert!(told["detail"].as_str().unwrap().contains("retired"), "clients look for this word: {told}");
    }
    let listed = shared().cli_json(&["messaging", "agent", "list", "--workspace", &workspace.slug]);
    assert_eq!(listed["items"][0]["retired_at"], retired["retired_at"]);
    let answer = agent.client.post("/v1/agents/register", &json!({"name": "old"}));
    assert_eq!(answer.status, 200, "{answer:?}");
    agent.client.get("/v1/inbox").expect(200);
}

#[test]
fn a_workspace_that_does_not_serve_turns_everybody_away() {
    let workspace = Workspace::open(shared());
    let of = |verb: &str| shared().cli_json(&["messaging", "workspace", verb, &workspace.slug]);
    assert_eq!(of("suspend")["status"], "suspended");
    refused(&workspace.admin.get(OPEN_TO_ALL), 403, "workspace_suspended");
    assert_eq!(of("activate")["status"], "active");
    workspace.admin.get(OPEN_TO_ALL).expect(200);
    shared().cli_json(&["tenant", "suspend", &workspace.tenant_id]);
    refused(&workspace.admin.get(OPEN_TO_ALL), 403, "workspace_suspended");
    shared().cli_json(&["tenant", "activate", &workspace.tenant_id]);
    workspace.admin.get(OPEN_TO_ALL).expect(200);
    let deleted = shared().cli_json(&["messaging", "workspace", "delete", &workspace.slug, "--yes"]);
    assert_eq!(deleted["status"], "deleted");
    refused(&workspace.admin.get(OPEN_TO_ALL), 410, "workspace_deleted");
}

#[test]
fn a_tenant_has_so_many_calls() {
    let workspace = Workspace::open(shared());
    let quota = ["tenant", "quota", &workspace.tenant_id, "--service", "messaging", "--monthly-calls", "1"];
    shared().cli_json(&quota);
    workspace.admin.get(OPEN_TO_ALL).expect(200);
    let answer = workspace.admin.get(OPEN_TO_ALL);
    let told = refused(&answer, 429, "quota_exceeded");
    assert_eq!(told["retry_after"], json!(answer.header("retry-after").parse::<u64>().unwrap()));
}

#[test]
fn a_key_has_so_many_requests_a_second() {
    let setup = Setup::new().env("QUINTET_MESSAGING__RATE_PER_SECOND", "1").env("QUINTET_MESSAGING__RATE_BURST", "3");
    let appliance = setup.start();
    let workspace = Workspace::open(&appliance);
    let statuses: Vec<u16> = (0..4).map(|_| workspace.admin.get(OPEN_TO_ALL).status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
    let answer = workspace.admin.get(OPEN_TO_ALL);
    let told = refused(&answer, 429, "rate_limited");
    assert_eq!((&told["retry_after"], answer.header("retry-after")), (&json!(1), "1"));
    workspace.client("read", &[]).get(OPEN_TO_ALL).expect(200);
}

#[test]
fn what_is_no_request_has_the_form_too() {
    let workspace = Workspace::open(shared());
    let admin = &workspace.admin;
    refused(&admin.get("/v1/nothing"), 404, "not_found");
    let answer = admin.send("PATCH", "/v1/usage", &[], b"{}");
    refused(&answer, 405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "GET,HEAD");
    refused(&admin.get("/v1/usage?colour=red"), 422, "validation_error");
    let post = |body: &str| admin.send("POST", "/v1/invites", &[], body.as_bytes());
    for broken in ["{", "nothing", "{\"role\": \"a\", \"role\": \"b\"}", "\u{feff}{}"] {
        refused(&post(broken), 400, "malformed_json");
    }
    for wrong in ["[]", "7", "{\"ttl_seconds\": \"60\"}", "{\"ttl_seconds\": 59}", "{\"ttl_seconds\": 604801}"] {
        refused(&post(wrong), 422, "validation_error");
    }
    for good in ["", "{}", "{\"ttl_seconds\": 60, \"of the future\": [1]}", "{\"role\": null}"] {
        assert_eq!(post(good).status, 201, "{good}");
    }
    let large = format!("{{\"role\": \"{}\"}}", "a".repeat(9 << 20));
    refused(&post(&large), 413, "payload_too_large");
    assert_eq!(admin.send("HEAD", "/v1/usage", &[], b"").status, 200);
}

#[test]
fn a_repeat_is_answered_as_before() {
    let workspace = Workspace::open(shared());
    let first = workspace.admin.post_under("one", "/v1/keys", &json!({"scope": "read"})).expect(201);
    let again = workspace.admin.post_under("one", "/v1/keys", &json!({"scope": "read"}));
    assert_eq!((again.header("idempotent-replayed"), &again.expect(201)), ("true", &first));
    let other = workspace.admin.post_under("one", "/v1/keys", &json!({"scope": "full"}));
    refused(&other, 422, "idempotency_mismatch");
    // Another path's keys, another agent's and another workspace's are their own.
    workspace.admin.post_under("one", "/v1/invites", &json!({})).expect(201);
    workspace.agent("a");
    let acting = workspace.acting("a").post_under("one", "/v1/keys", &json!({"scope": "full"})).expect(201);
    assert_ne!(acting["id"], first["id"]);
    Workspace::open(shared()).admin.post_under("one", "/v1/keys", &json!({"scope": "full"})).expect(201);
    let long = "k".repeat(256);
    refused(&workspace.admin.post_under(&long, "/v1/invites", &json!({})), 422, "validation_error");
    workspace.admin.post_under(&long[1..], "/v1/invites", &json!({})).expect(201);
}

/// 6-messaging.md, C5: no body and `{}` are alike where none is needed, and neither costs the caller a connection.
#[test]
fn a_body_that_nobody_needs_is_passed_over() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    let join = |body: &[u8]| ann.client.send("POST", "/v1/rooms/den/join", &[], body);
    for body in [&b""[..], b"{}", b"not even JSON"] {
        let answer = join(body);
        assert_eq!((answer.status, answer.header("connection")), (200, ""), "{answer:?}");
    }
    assert_eq!(join(&[b' '; 2_000]).header("connection"), "close", "it is not waited for");
}
