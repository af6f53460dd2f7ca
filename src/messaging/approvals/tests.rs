//! Waits and their ends, verdicts as they reach whoever asked, and lists.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::decide::decide;
use super::model::{Act, Choice, How};
use crate::agents::retire;
use crate::identity::{Scope, Status};
use crate::model::{ApprovalId, ApprovalKey};
use crate::refusal::Refusal;
use crate::testing::{Bench, assert_refused};
use crate::workspaces::set_status;

async fn raised(bench: &Bench, agent: &str, body: Value) -> Value {
    let (status, told) = bench.call_as(agent, "POST", "/v1/approvals", body).await;
    assert_eq!(status, 201, "{told}");
    told
}

fn key(bench: &Bench, record: &Value) -> ApprovalKey {
    let id = quintet_platform::ids::parse_ulid(record["id"].as_str().unwrap()).unwrap();
    (bench.workspace.no, ApprovalId(id))
}

fn path(record: &Value) -> String {
    format!("/v1/approvals/{}", record["id"].as_str().unwrap())
}

fn say(bench: &Bench, record: &Value, choice: Choice) -> Result<(), Refusal> {
    let key = key(bench, record);
    let act = Act { by: "ann".to_owned(), how: How::Cli, source: "uid 0".to_owned(), reason: "because".to_owned() };
    bench.run(move |tx, now| decide(tx, now, key, choice, act).map(drop))
}

/// A wait that is under way.
fn waiting(bench: &Bench, key: &str, record: &Value) -> tokio::task::JoinHandle<(u16, Value)> {
    let request = Request::get(format!("{}?wait=55", path(record))).header("authorization", format!("Bearer {key}"));
    let answering = bench.answering(request.body(Body::empty()).unwrap());
    tokio::spawn(async move {
        let response = answering.await;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap())
    })
}

/// Somebody waits for the verdict by now.
async fn begun() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_the_verdict() {
    let bench = Bench::new();
    bench.agent("builder");
    let (one, other) = (
        raised(&bench, "builder", json!({"title": "x"})).await,
        raised(&bench, "builder", json!({"title": "y"})).await,
    );
    let (waits, others) = (waiting(&bench, &bench.admin, &one), waiting(&bench, &bench.admin, &other));
    begun().await;
    say(&bench, &one, Choice::Approve).unwrap();
    let (status, told) = waits.await.unwrap();
    assert_eq!((status, &told["status"], &told["waited_out"]), (200, &json!("approved"), &json!(false)));
    assert!(!others.is_finished(), "another one's verdict is not waited for");
    bench.advance(86_400).await;
    let (_, told) = others.await.unwrap();
    assert_eq!((&told["status"], &told["waited_out"]), (&json!("timed_out"), &json!(false)));
    let (_, told) = bench.call(&bench.admin, "GET", &format!("{}?wait=55", path(&one)), Value::Null).await;
    assert_eq!(told["waited_out"], false, "what is decided is not waited for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_without_a_verdict_too() {
    let bench = Bench::new();
    bench.agent("builder");
    let record = raised(&bench, "builder", json!({"title": "x"})).await;
    let (_, told) = bench.call(&bench.admin, "GET", &format!("{}?wait=1", path(&record)), Value::Null).await;
    assert_eq!((&told["status"], &told["waited_out"]), (&json!("pending"), &json!(true)));
    let (_, told) = bench.call(&bench.admin, "GET", &path(&record), Value::Null).await;
    assert_eq!(told["waited_out"], Value::Null);
    let reader = bench.key(Scope::Read, &[]);
    let id = reader.split('_').nth(2).unwrap().to_owned();
    let waits = waiting(&bench, &reader, &record);
    begun().await;
    let (status, _) = bench.call(&bench.admin, "DELETE", &format!("/v1/keys/{id}"), Value::Null).await;
    assert_eq!(status, 200);
    assert_refused(&waits.await.unwrap(), (401, "invalid_api_key"), "revoked");
    let waits = waiting(&bench, &bench.admin, &record);
    begun().await;
    bench.context.stopping.stop();
    let (status, told) = waits.await.unwrap();
    assert_eq!((status, &told["waited_out"]), (200, &json!(true)), "it stops, and answers what there is");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_reaches_whoever_asked_whatever_it_does() {
    let bench = Bench::new();
    let builder = bench.agent("builder");
    bench.agent("offline");
    let away = json!({"state": "offline", "seconds": 60});
    bench.call_as("offline", "PUT", "/v1/agents/offline/availability", away).await;
    let (one, two) = (
        raised(&bench, "builder", json!({"title": "x"})).await,
        raised(&bench, "offline", json!({"title": "y"})).await,
    );
    bench.run(move |tx, now| Ok(retire(tx, now, builder)?)).unwrap();
    say(&bench, &one, Choice::Reject).unwrap();
    say(&bench, &two, Choice::Approve).unwrap();
    assert_eq!(say(&bench, &two, Choice::Reject), Err(Refusal::AlreadyDecided("approved")));
    assert_eq!(bench.call_as("offline", "GET", "/v1/inbox", Value::Null).await.1["messages"], json!([]));
    bench.advance(61).await;
    for (agent, subject) in [("offline", "Approval approved: y"), ("builder", "Approval rejected: x")] {
        bench.agent(agent);
        let (_, inbox) = bench.call_as(agent, "GET", "/v1/inbox", Value::Null).await;
        assert_eq!(inbox["messages"][0]["subject"], subject, "{inbox}");
        assert_eq!(inbox["count"], 1);
    }
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

/// Nobody is told of anything while a workspace is suspended, and of everything when it is active again.
#[tokio::test]
async fn what_timed_out_in_a_suspension_is_told_when_it_is_over() {
    for is_tenants in [false, true] {
        let bench = Bench::new();
        bench.agent("builder");
        let record = raised(&bench, "builder", json!({"title": "x"})).await;
        let become_of = |status| {
            if is_tenants {
                if status == Status::Suspended { bench.suspend_tenant() } else { bench.activate_tenant() }
            } else {
                bench.run(move |tx, now| set_status(tx, now, "acme", status)).unwrap();
            }
        };
        become_of(Status::Suspended);
        bench.advance(86_400 + 600).await;
        assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
        become_of(Status::Active);
        bench.advance(if is_tenants { 60 } else { 1 }).await;
        let (_, listed) = bench.call(&bench.admin, "GET", "/v1/approvals?status=timed_out", Value::Null).await;
        assert_eq!(listed["approvals"][0]["decided_at"], record["expires_at"], "{listed}");
        let (_, inbox) = bench.call_as("builder", "GET", "/v1/inbox", Value::Null).await;
        assert_eq!((&inbox["count"], &inbox["messages"][0]["subject"]), (&json!(1), &json!("Approval timed out: x")));
        assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
    }
}

/// What somebody wrote is in no message of an encrypted workspace (E3); whoever asked reads it with the approval.
#[tokio::test(flavor = "multi_thread")]
async fn on_an_encrypted_workspace_a_message_tells_no_reason() {
    let bench = Bench::encrypted();
    bench.agent("builder");
    let record = raised(&bench, "builder", json!({"title": "x"})).await;
    say(&bench, &record, Choice::Reject).unwrap();
    let (_, inbox) = bench.call_as("builder", "GET", "/v1/inbox", Value::Null).await;
    let delivery = format!("/v1/deliveries/{}", inbox["messages"][0]["delivery_id"].as_str().unwrap());
    let (_, delivery) = bench.call_as("builder", "GET", &delivery, Value::Null).await;
    let text = delivery["text_body"].as_str().unwrap();
    assert!(text.contains("rejected") && text.contains("By: ann") && !text.contains("because"), "{text}");
    let (_, told) = bench.call_as("builder", "GET", &path(&record), Value::Null).await;
    assert_eq!(told["outcome"]["feedback_for_agent"]["message"], "because");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_goes_on_behind_its_last() {
    let bench = Bench::new();
    bench.agent("builder");
    let mut expected = Vec::new();
    for number in 0..5 {
        let record = raised(&bench, "builder", json!({"title": format!("{number}")})).await;
        if number % 2 == 0 {
            say(&bench, &record, Choice::Approve).unwrap();
        }
        expected.insert(0, record["id"].clone());
    }
    for (query, most, of) in [
        ("", 2, vec![0, 1, 2, 3, 4]),
        ("&status=approved", 2, vec![0, 2, 4]),
        ("&status=pending", 1, vec![1, 3]),
        ("&status=cancelled", 5, vec![]),
    ] {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/approvals?limit={most}{query}{cursor}");
            let (status, told) = bench.call(&bench.admin, "GET", &path, Value::Null).await;
            assert_eq!(status, 200, "{told}");
            let page = told["approvals"].as_array().unwrap();
            assert!(page.len() <= most);
            found.extend(page.iter().map(|one| one["id"].clone()));
            match told["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let of: Vec<Value> = of.into_iter().map(|place| expected[place].clone()).collect();
        assert_eq!(found, of, "{query}");
    }
    let refused = bench.call(&bench.admin, "GET", "/v1/approvals?status=open", Value::Null).await;
    assert_refused(&refused, (422, "validation_error"), "status");
}
