//! Outbound webhooks: what is told and how it is signed, when it is tried again, and when it is not any more.

use data_encoding::{BASE64, HEXLOWER};
use quintet_platform::deliveries::hmac_sha256;
use serde_json::{Value, json};

use super::{advance, told_seconds};
use crate::messaging::contract::described;
use crate::support::appliance::{Appliance, Setup, shared};
use crate::support::messaging::{Workspace, refused};
use crate::support::receiver::{Arrived, Receiver};

/// An appliance that may call this machine, under a clock that is told.
fn appliance() -> Appliance {
    Setup::new().rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start()
}

/// Whether it is signed in both ways.
fn is_signed(arrived: &Arrived, secret: &Value) -> bool {
    let key = BASE64.decode(secret.as_str().unwrap().strip_prefix("whsec_").unwrap().as_bytes()).unwrap();
    let (id, at) = (arrived.header("webhook-id"), arrived.header("webhook-timestamp"));
    let standard = hmac_sha256(&key, &[id.as_bytes(), b".", at.as_bytes(), b".", &arrived.raw]);
    let own = hmac_sha256(&key, &[arrived.header("x-agentbus-timestamp").as_bytes(), b".", &arrived.raw]);
    arrived.header("webhook-signature") == format!("v1,{}", BASE64.encode(&standard))
        && arrived.header("x-agentbus-signature") == format!("v1={}", HEXLOWER.encode(&own))
}

#[test]
fn what_happens_to_an_agent_is_told_without_what_is_said() {
    let (appliance, receiver) = (appliance(), Receiver::start());
    let workspace = Workspace::open(&appliance);
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let made = ben.client.post("/v1/webhooks", &json!({"url": receiver.url(204, "ben"), "agent": "ben"})).expect(201);
    let members =
        ["id", "url", "events", "agent", "secret", "enabled", "consecutive_failures", "failures_total", "created_at"];
    assert!(members.iter().all(|name| made.get(name).is_some()), "{made}");
    let all = json!({"url": receiver.url(204, "all"), "events": ["message.delivered"]});
    workspace.admin.post("/v1/webhooks", &all).expect(201);
    let sent = ann.send_with(&["ben"], "TOP SECRET", json!({"subject": "Ready", "priority": "urgent"})).expect(202);
    let told = receiver.wait("ben", 1);
    assert!(is_signed(&told[0], &made["secret"]));
    assert_eq!(told[0].header("content-type"), "application/json");
    let (body, row) = (told[0].body(), ben.inbox(0)[0].clone());
    let expected = json!({
        "event_id": told[0].header("webhook-id"), "type": "message.delivered", "occurred_at": body["occurred_at"],
        "workspace": workspace.slug, "agent": "ben",
        "data": {
            "delivery_id": row["delivery_id"], "message_id": sent["id"], "thread_id": sent["thread_id"], "agent_seq": 1,
            "subject": "Ready", "sender": "ann", "priority": "urgent", "direction": "bus",
        },
    });
    assert_eq!(body, expected);
    assert_eq!(told[0].header("webhook-timestamp"), told_seconds(&appliance).to_string());
    assert!(!String::from_utf8_lossy(&told[0].raw).contains("SECRET"));
    assert_eq!(receiver.wait("all", 1)[0].body()["data"], body["data"]);
    // What is held is told of when it is released, all of it at once.
    let declare = |state: &str| ben.client.put("/v1/agents/ben/availability", &json!({"state": state})).expect(200);
    declare("offline");
    (0..3).for_each(|number| drop(ann.send(&["ben"], &number.to_string())));
    declare("online");
    let told = receiver.wait("ben", 2)[1].body();
    assert_eq!((&told["type"], &told["data"]["released"]), (&json!("message.released"), &json!(3)));
    assert_eq!(told["data"]["agent_seq"], 4);
    assert_eq!(receiver.at("all").len(), 1, "it has not asked for that");
    let first = ann.send(&["ben"], "thread");
    for number in 0..60 {
        ann.send_with(&["ben"], &number.to_string(), json!({"thread_id": first["thread_id"]})).expect(202);
    }
    advance(&appliance, 1);
    let told = receiver.at("ben").into_iter().find(|one| one.body()["type"] == "thread.paused").unwrap().body();
    assert_eq!((&told["agent"], &told["data"]["thread_id"]), (&Value::Null, &first["thread_id"]));
    let health = ann.client.get("/v1/agents/ben/health").expect(200);
    assert_eq!(health["wake_channel_state"], "webhook");
    assert_eq!(appliance.stop(), Some(0));
}

/// 6-messaging.md, O2: the instants of all attempts, and what follows from twenty failures.
#[test]
fn what_does_not_arrive_is_tried_again_and_then_given_up() {
    let (appliance, receiver) = (appliance(), Receiver::start());
    let workspace = Workspace::open(&appliance);
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let url = receiver.url(404, "ben");
    let made = ben.client.post("/v1/webhooks", &json!({"url": url, "agent": "ben"})).expect(201);
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    let begun = told_seconds(&appliance);
    ann.send(&["ben"], "a");
    receiver.wait("ben", 1);
    advance(&appliance, 2 * 3_600);
    let told = receiver.at("ben");
    let at = |one: &Arrived| one.header("webhook-timestamp").parse::<i64>().unwrap() - begun;
    let instants: Vec<i64> = told.iter().map(at).collect();
    let expected = [0, 10, 70, 370, 2_170, 5_770];
    let is_near = |(one, other): (&i64, &i64)| (one - other).abs() <= 5;
    assert!(instants.len() == 6 && instants.iter().zip(&expected).all(is_near), "{instants:?}");
    assert_eq!(told.iter().map(|one| one.header("webhook-id")).collect::<std::collections::BTreeSet<_>>().len(), 1);
    let shown = ben.client.get(&path).expect(200);
    assert_eq!((&shown["consecutive_failures"], &shown["failures_total"]), (&json!(6), &json!(6)));
    assert_eq!((&shown["waiting"], &shown["enabled"]), (&json!(0), &json!(true)));
    for text in ["b", "c", "d"] {
        ann.send(&["ben"], text);
        advance(&appliance, 2 * 3_600);
    }
    let shown = ben.client.get(&path).expect(200);
    assert_eq!((&shown["enabled"], &shown["consecutive_failures"]), (&json!(false), &json!(20)), "{shown}");
    assert_eq!((&shown["waiting"], receiver.at("ben").len()), (&json!(0), 20), "{shown}");
    let last = ben.inbox(4);
    assert_eq!((last.len(), &last[0]["direction"]), (1, &json!("system")));
    ann.send(&["ben"], "nobody is told");
    advance(&appliance, 7_200);
    assert_eq!(receiver.at("ben").len(), 20);
    let status = appliance.cli_json(&["status"]);
    assert_eq!(status["webhooks"]["endpoints_disabled"], 1, "{status}");
    let shown = ben.client.patch(&path, &json!({"enabled": true})).expect(200);
    assert_eq!(
        (&shown["enabled"], &shown["consecutive_failures"], &shown["failures_total"]),
        (&json!(true), &json!(0), &json!(20))
    );
    ann.send(&["ben"], "again");
    receiver.wait("ben", 21);
    assert_eq!(ben.client.delete(&path).status, 204);
    refused(&ben.client.get(&path), 404, "not_found");
    advance(&appliance, 7_200);
    assert_eq!(receiver.at("ben").len(), 21, "what waited is gone with it");
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn webhooks_go_to_port_443_of_the_public_internet() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    for url in [
        "http://127.0.0.1/",
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://localhost/",
        "http://1.1.1.1/",
        "http://example.invalid/",
        "https://1.1.1.1:8443/",
        "https://example.invalid:444/",
        "https://user:password@example.invalid/",
        "https://2130706433/",
        "ftp://example.invalid/",
        "example.invalid",
    ] {
        let told =
            refused(&ann.client.post("/v1/webhooks", &json!({"url": url, "agent": "ann"})), 422, "validation_error");
        assert_eq!(told["errors"][0]["field"], "url", "{url}");
    }
    for url in ["https://1.1.1.1/x", "https://example.invalid/", "https://example.invalid:443/hook?a=b"] {
        ann.client.post("/v1/webhooks", &json!({"url": url, "agent": "ann"})).expect(201);
    }
    workspace.limit("webhooks=3");
    let body = json!({"url": "https://example.invalid/", "agent": "ann"});
    let told = refused(&ann.client.post("/v1/webhooks", &body), 409, "limit_reached");
    assert_eq!((&told["limit"], &told["max"]), (&json!("webhooks"), &json!(3)));
    refused(&ann.client.post("/v1/webhooks", &json!({"url": "https://example.invalid/"})), 403, "permission_denied");
    let document = shared().stranger("messaging").get("/openapi.json").expect(200);
    let ask = |method: &str, template: &str, path: &str, body: &str| {
        described(&ann.client, &document, (method, template), path, body)
    };
    let listed = ask("GET", "/v1/webhooks", "/v1/webhooks", "");
    assert_eq!(listed["count"], 3);
    let path = format!("/v1/webhooks/{}", listed["webhooks"][0]["id"].as_str().unwrap());
    ask("GET", "/v1/webhooks/{webhook_id}", &path, "");
    ask("PATCH", "/v1/webhooks/{webhook_id}", &path, r#"{"enabled": false}"#);
    ask("PATCH", "/v1/webhooks/{webhook_id}", &path, "{}");
    ask("POST", "/v1/webhooks", "/v1/webhooks", r#"{"url": "x"}"#);
    ask("GET", "/v1/webhooks/{webhook_id}", "/v1/webhooks/nothing", "");
}
