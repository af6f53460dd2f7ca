//! Webhooks: who may make and change them, what they are told, and what follows when nobody listens (6-messaging.md, O).

use quintet_platform::deliveries::{self, Attempted, Delivery, DeliveryRoom as _, Filter, LastError, Settled, Verdict};
use quintet_platform::ids::parse_ulid;
use quintet_storage::{Abort, Uuid};
use serde_json::{Value, json};

use super::DELIVERIES;
use crate::identity::{Priority, Scope};
use crate::limits::WEBHOOKS;
use crate::mail::model::Sender;
use crate::model::{AgentKey, WorkspaceNo};
use crate::refusal::Refusal;
use crate::telling::{Decided, WebhookId, decided, rows};
use crate::testing::{Bench, assert_refused};

const NONE: Value = Value::Null;
const URL: &str = "http://127.0.0.1:9/hook";

fn bench_of_two() -> Bench {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("ben");
    bench
}

fn verify(bench: &Bench) {
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), Vec::<String>::new());
}

/// A webhook of the operator's; its record.
async fn made(bench: &Bench, events: Value, agent: Value) -> Value {
    let body = json!({"url": URL, "events": events, "agent": agent});
    let (status, told) = bench.call(&bench.admin, "POST", "/v1/webhooks", body).await;
    assert_eq!(status, 201, "{told}");
    told
}

fn id_of(record: &Value) -> WebhookId {
    WebhookId(parse_ulid(record["id"].as_str().unwrap()).unwrap())
}

/// What was enqueued for a workspace, the oldest first.
fn told(bench: &Bench) -> Vec<Delivery> {
    let read = bench.context.store.read();
    let filter = Filter { endpoint_id: None, resource: None, state: None, since: 0, before: None, limit: 1_000 };
    let state = |_: &Delivery| deliveries::DeliveryState::Pending;
    deliveries::list(&read, rows::outbox(bench.workspace.tenant_id), filter, state).unwrap().items
}

fn names(bench: &Bench) -> Vec<String> {
    told(bench).into_iter().map(|one| one.event).collect()
}

#[tokio::test]
async fn who_may_make_and_see_which() {
    let bench = bench_of_two();
    let (ann, full) = (bench.key(Scope::Send, &["ann"]), bench.key(Scope::Full, &[]));
    let read = bench.key(Scope::Read, &["ann"]);
    let body = |agent: Value| json!({"url": URL, "agent": agent});
    for (key, acting, agent, expected) in [
        (&ann, None, json!("ann"), 201),
        (&ann, None, json!("ben"), 403),
        (&ann, None, NONE, 403),
        (&full, None, json!("ben"), 201),
        (&full, None, NONE, 201),
        (&full, Some("ann"), json!("ann"), 201),
        (&full, Some("ann"), json!("ben"), 403),
        (&full, Some("ann"), NONE, 201),
        (&read, None, json!("ann"), 403),
        (&full, None, json!("nobody"), 422),
    ] {
        let (status, told) = bench.asked(key, acting, "POST", "/v1/webhooks", body(agent.clone())).await;
        assert_eq!(status, expected, "{acting:?} {agent} {told}");
    }
    let count = async |key: &str| bench.call(key, "GET", "/v1/webhooks", NONE).await.1["count"].clone();
    assert_eq!((count(&ann).await, count(&full).await), (json!(2), json!(5)));
    let of_ben = bench.call(&full, "GET", "/v1/webhooks", NONE).await.1["webhooks"].as_array().unwrap().clone();
    let of_ben = of_ben.into_iter().find(|one| one["agent"] == "ben").unwrap();
    assert!(of_ben.get("secret").is_none(), "it is shown once");
    let path = format!("/v1/webhooks/{}", of_ben["id"].as_str().unwrap());
    let absent = bench.call(&ann, "GET", "/v1/webhooks/01ARZ3NDEKTSV4RRFFQ69G5FAV", NONE).await;
    for method in ["GET", "PATCH", "DELETE"] {
        let others = bench.call(&ann, method, &path, json!({"enabled": true})).await;
        assert_refused(&others, (404, "not_found"), "webhook");
        assert_eq!(others.1["detail"], absent.1["detail"]);
    }
    let told = bench.asked(&full, Some("ann"), "PATCH", &path, json!({"enabled": true})).await;
    assert_refused(&told, (403, "permission_denied"), "no other");
    let another = bench.another("other");
    let theirs = bench.key_of(another.no, Scope::Admin, &[]);
    assert_refused(&bench.call(&theirs, "GET", &path, NONE).await, (404, "not_found"), "webhook");
    assert_eq!(bench.call(&full, "DELETE", &path, NONE).await.0, 204);
    assert_refused(&bench.call(&full, "DELETE", &path, NONE).await, (404, "not_found"), "webhook");
    verify(&bench);
}

#[tokio::test]
async fn what_a_webhook_cannot_be() {
    let mut bench = bench_of_two();
    for (member, wrong) in [
        ("url", json!({})),
        ("url", json!({"url": 1})),
        ("url", json!({"url": "ftp://example.com"})),
        ("url", json!({"url": "https://a@example.com/"})),
        ("events", json!({"url": URL, "events": []})),
        ("events[1]", json!({"url": URL, "events": ["message.delivered", "message"]})),
        ("events[0]", json!({"url": URL, "events": [1]})),
        ("secret", json!({"url": URL, "secret": "hunter2"})),
    ] {
        let told = bench.call(&bench.admin, "POST", "/v1/webhooks", wrong.clone()).await;
        assert_refused(&told, (422, "validation_error"), member);
    }
    bench.set(|workspace| workspace.limits = vec![(WEBHOOKS.code, Some(1))]);
    let first = made(&bench, NONE, NONE).await;
    assert_eq!((&first["events"], &first["agent"], &first["enabled"]), (&NONE, &NONE, &json!(true)));
    assert!(first["secret"].as_str().unwrap().starts_with("whsec_"));
    let told = bench.call(&bench.admin, "POST", "/v1/webhooks", json!({"url": URL})).await;
    assert_refused(&told, (409, "limit_reached"), "webhooks");
    let path = format!("/v1/webhooks/{}", first["id"].as_str().unwrap());
    assert_refused(&bench.call(&bench.admin, "PATCH", &path, json!({})).await, (422, "validation_error"), "enabled");
    verify(&bench);
}

#[tokio::test]
async fn what_happens_is_told_to_whoever_asked() {
    let bench = bench_of_two();
    bench.post("ann", &["ben"], "before", |_| {});
    assert_eq!(names(&bench), Vec::<String>::new(), "nobody asked");
    made(&bench, json!(["message.delivered", "thread.paused"]), json!("ben")).await;
    made(&bench, json!(["message.released", "approval.decided"]), NONE).await;
    bench.post("ann", &["ben"], "one", |_| {});
    bench.post("ben", &["ann"], "not to him", |_| {});
    assert_eq!(names(&bench), ["message.delivered"]);
    let path = "/v1/agents/ben/availability";
    bench.call_as("ben", "PUT", path, json!({"state": "dnd"})).await;
    for number in 0..3 {
        bench.post("ann", &["ben"], &number.to_string(), |_| {});
    }
    assert_eq!(names(&bench).len(), 1, "it is held");
    bench.call_as("ben", "PUT", path, json!({"state": "online"})).await;
    assert_eq!(names(&bench)[1..], ["message.released"], "all of one release is one event");
    let workspace = bench.workspace.no;
    let ann = bench.named("ann").1;
    bench
        .run(move |tx, now| {
            let told = Decided {
                approval_id: tx.new_id(),
                thread: None,
                kind: "generic",
                status: "approved",
                requested_by: (ann, "ann"),
            };
            Ok(decided(tx, now, workspace, &told)?)
        })
        .unwrap();
    assert_eq!(names(&bench)[2..], ["approval.decided"]);
    let first = bench.post("ann", &["ben"], "thread", |_| {});
    for _ in 0..60 {
        bench.post("ann", &["ben"], "more", |letter| letter.thread = Some(first.thread));
    }
    let names = names(&bench);
    let paused = names.iter().filter(|name| *name == "thread.paused").count();
    // The platform's own word of the pause is delivered as well.
    assert_eq!((paused, names.iter().filter(|name| *name == "message.delivered").count()), (1, 1 + 60 + 1));
    let path = format!("/v1/threads/{}/resume", quintet_platform::ids::ulid(first.thread.0));
    assert_eq!(bench.call(&bench.admin, "POST", &path, NONE).await.0, 200);
    assert_eq!(super::tests::names(&bench).iter().filter(|name| *name == "message.released").count(), 2);
    verify(&bench);
}

#[tokio::test]
async fn an_agent_that_a_webhook_covers_can_be_woken() {
    let bench = bench_of_two();
    let channel = async |name: &str| {
        let told = bench.call_as(name, "GET", &format!("/v1/agents/{name}/health"), NONE).await.1;
        let row = bench.call_as(name, "GET", &format!("/v1/agents/{name}"), NONE).await.1;
        assert_eq!(told["wake_channel_state"], row["wake_channel"]);
        row["wake_channel"].as_str().unwrap().to_owned()
    };
    made(&bench, json!(["message.released", "thread.paused"]), NONE).await;
    assert_eq!(channel("ben").await, "none", "it is not told when a message comes");
    let of_ben = made(&bench, json!(["message.delivered"]), json!("ben")).await;
    assert_eq!((channel("ann").await.as_str(), channel("ben").await.as_str()), ("none", "webhook"));
    let sent = bench.call_as("ann", "POST", "/v1/messages", json!({"to": ["ben", "ann"], "text": "a"})).await.1;
    assert_eq!(sent["reachability"]["no_wake_channel"], json!(["ann"]));
    let path = format!("/v1/webhooks/{}", of_ben["id"].as_str().unwrap());
    let told = bench.call(&bench.admin, "PATCH", &path, json!({"enabled": false})).await.1;
    assert_eq!((&told["enabled"], &told["waiting"]), (&json!(false), &json!(0)));
    assert!(told["disabled_at"].is_string());
    assert_eq!((channel("ben").await.as_str(), names(&bench).len()), ("none", 0), "what waited is gone");
    bench.call(&bench.admin, "PATCH", &path, json!({"enabled": true})).await;
    assert_eq!(channel("ben").await, "webhook");
    verify(&bench);
}

/// Has the first delivery that waits have come to something.
fn settle(bench: &Bench, delivery: Delivery, attempted: Attempted, verdict: Verdict) {
    let outbox = rows::outbox(bench.workspace.tenant_id);
    bench
        .run(move |tx, now| {
            let settled = Settled { outbox, delivery: &delivery, attempted, verdict, health: None };
            Ok::<_, Abort<Refusal>>(DELIVERIES.settled(tx, now, &settled)?)
        })
        .unwrap();
}

#[tokio::test]
async fn twenty_failures_in_a_row_disable_it_and_its_agent_hears_of_it() {
    let bench = bench_of_two();
    let record = made(&bench, json!(["message.delivered"]), json!("ben")).await;
    for number in 0..3 {
        bench.post("ann", &["ben"], &number.to_string(), |_| {});
    }
    let key = (bench.workspace.no, id_of(&record));
    let standing = || rows::standing(&bench.context.store.read(), key).unwrap();
    assert_eq!(standing().waiting, 3);
    let delivery = told(&bench).remove(0);
    let failed = Attempted::Failed(LastError::TimedOut);
    let retry = Verdict::Retry(1);
    for _ in 0..19 {
        settle(&bench, delivery.clone(), failed, retry);
    }
    let answered = Attempted::Answered { status: 200, retry_after_seconds: None };
    settle(&bench, delivery.clone(), answered, Verdict::Delivered);
    assert_eq!((standing().consecutive_failures, standing().failures_total, standing().waiting), (0, 19, 2));
    for _ in 0..19 {
        settle(&bench, delivery.clone(), failed, retry);
    }
    // Where nobody was called, nothing failed.
    settle(&bench, delivery.clone(), Attempted::Undeliverable(LastError::EndpointDisabled), Verdict::Dead);
    assert_eq!((standing().consecutive_failures, told(&bench).len()), (19, 3));
    settle(&bench, delivery.clone(), failed, Verdict::Dead);
    assert_eq!(told(&bench), [], "what waited is gone");
    let path = format!("/v1/webhooks/{}", record["id"].as_str().unwrap());
    let shown = bench.call(&bench.admin, "GET", &path, NONE).await.1;
    assert_eq!((&shown["enabled"], &shown["consecutive_failures"]), (&json!(false), &json!(20)));
    assert_eq!((&shown["failures_total"], &shown["waiting"]), (&json!(39), &json!(0)));
    let inbox = bench.call_as("ben", "GET", "/v1/inbox?cursor=3", NONE).await.1;
    assert_eq!((&inbox["count"], &inbox["messages"][0]["direction"]), (&json!(1), &json!("system")));
    let subject = inbox["messages"][0]["subject"].as_str().unwrap();
    assert_eq!(subject, format!("Webhook disabled: {}", record["id"].as_str().unwrap()));
    verify(&bench);
    let shown = bench.call(&bench.admin, "PATCH", &path, json!({"enabled": true})).await.1;
    assert_eq!(
        (&shown["enabled"], &shown["consecutive_failures"], &shown["failures_total"]),
        (&json!(true), &json!(0), &json!(39))
    );
    // What was under way when it was disabled says nothing of what it is now.
    settle(&bench, delivery, failed, Verdict::Dead);
    assert_eq!((standing().consecutive_failures, standing().waiting), (0, 0));
    bench.post("ann", &["ben"], "again", |_| {});
    assert_eq!((standing().waiting, told(&bench).len()), (1, 1));
    verify(&bench);
}

#[tokio::test]
async fn so_much_waits_and_no_more() {
    let bench = bench_of_two();
    let record = made(&bench, NONE, json!("ben")).await;
    let key = (bench.workspace.no, id_of(&record));
    bench
        .run(move |tx, _| {
            let standing = rows::standing(tx, key)?;
            Ok(rows::put_standing(tx, key, crate::telling::Standing { waiting: 1_000, ..standing })?)
        })
        .unwrap();
    bench.post("ann", &["ben"], "x", |_| {});
    let standing = rows::standing(&bench.context.store.read(), key).unwrap();
    assert_eq!((standing.waiting, standing.missed_total, names(&bench).len()), (1_000, 1, 0));
    verify(&bench);
}

/// A webhook that is an inbound endpoint of this appliance would be told of its own calls for good.
#[tokio::test]
async fn calls_are_not_told_to_an_endpoint_of_this_appliance() {
    let bench = bench_of_two();
    bench.context.settings.egress.tie(std::sync::Arc::new(crate::inbound::Door::new(&bench.context)));
    let inbound = bench.call_as("ben", "POST", "/v1/agents/ben/inbound", NONE).await.1;
    let body = json!({"url": inbound["url"], "secret": inbound["secret"], "agent": "ben"});
    let (status, record) = bench.call(&bench.admin, "POST", "/v1/webhooks", body).await;
    assert_eq!((status, &record["secret"]), (201, &inbound["secret"]), "no rule about addresses holds for it");
    bench.post("ann", &["ben"], "words", |_| {});
    bench.post("ann", &["ben"], "call", |letter| {
        letter.from.sender = Sender::Ingress("hook:inbound".to_owned());
        letter.priority = Priority::Normal;
    });
    assert_eq!(names(&bench).len(), 1);
    made(&bench, NONE, json!("ben")).await;
    bench.post("ann", &["ben"], "call", |letter| letter.from.sender = Sender::Ingress("hook:inbound".to_owned()));
    assert_eq!(names(&bench).len(), 2, "others are told of calls");
}

#[tokio::test]
async fn another_workspace_is_told_nothing() {
    let bench = bench_of_two();
    let another = bench.another("other");
    let theirs = bench.key_of(another.no, Scope::Admin, &[]);
    let body = json!({"url": URL});
    assert_eq!(bench.call(&theirs, "POST", "/v1/webhooks", body).await.0, 201);
    bench.post("ann", &["ben"], "x", |_| {});
    assert_eq!(names(&bench), Vec::<String>::new());
    let nobody: (AgentKey, Uuid) = ((WorkspaceNo(9), crate::model::AgentNo(1)), Uuid::nil());
    assert_eq!(rows::covered(&bench.context.store.read(), &[nobody.0]).unwrap(), [false]);
    verify(&bench);
}
