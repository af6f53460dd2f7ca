//! Drafts over the whole way.

use serde_json::{Value, json};

use crate::identity::Scope;
use crate::testing::{Bench, assert_refused};
use crate::words::sealed::tests::sealed_text;

async fn created(bench: &Bench, body: Value) -> Value {
    let (status, draft) = bench.call_as("alice", "POST", "/v1/drafts", body).await;
    assert_eq!(status, 201, "{draft}");
    draft
}

fn path(draft: &Value) -> String {
    format!("/v1/drafts/{}", draft["id"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_kept_changed_and_sent_once() {
    let bench = Bench::new();
    bench.agent("alice");
    bench.agent("bob");
    let draft = created(&bench, json!({"to": ["nobody"], "subject": "Hi", "text": "words"})).await;
    assert_eq!(
        (&draft["recipients"], &draft["text_body"], &draft["sealed"]),
        (&json!(["nobody"]), &json!("words"), &json!(false))
    );
    let (_, list) = bench.call_as("alice", "GET", "/v1/drafts", Value::Null).await;
    assert_eq!(list["drafts"][0]["id"], draft["id"]);
    assert!(list["drafts"][0].get("text_body").is_none());
    let send = format!("{}/send", path(&draft));
    let refused = bench.call_as("alice", "POST", &send, Value::Null).await;
    assert_refused(&refused, (422, "unknown_recipient"), "nobody");
    let (status, changed) =
        bench.call_as("alice", "PATCH", &path(&draft), json!({"to": ["bob"], "cc": ["alice"]})).await;
    assert_eq!((status, &changed["text_body"], &changed["subject"]), (200, &json!("words"), &json!("Hi")));
    let (status, sent) = bench.call_as("alice", "POST", &send, Value::Null).await;
    assert_eq!((status, &sent["recipients"]), (202, &json!(["bob", "alice"])));
    assert_refused(&bench.call_as("alice", "POST", &send, Value::Null).await, (404, "not_found"), "draft");
    let (_, page) = bench.call_as("bob", "GET", "/v1/inbox", Value::Null).await;
    assert_eq!((&page["count"], &page["messages"][0]["subject"]), (&json!(1), &json!("Hi")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_nobody_else_s() {
    let bench = Bench::new();
    bench.agent("alice");
    bench.agent("bob");
    let draft = created(&bench, json!({"to": ["bob"], "text": "words"})).await;
    for (method, path) in [("GET", path(&draft)), ("PATCH", path(&draft)), ("POST", format!("{}/send", path(&draft)))] {
        assert_refused(&bench.call_as("bob", method, &path, json!({})).await, (404, "not_found"), "draft");
    }
    assert_eq!(bench.call_as("bob", "DELETE", &path(&draft), Value::Null).await.0, 204);
    assert_eq!(bench.call_as("alice", "GET", &path(&draft), Value::Null).await.0, 200);
    for _ in 0..2 {
        assert_eq!(bench.call_as("alice", "DELETE", &path(&draft), Value::Null).await.0, 204);
    }
    assert_refused(&bench.call_as("alice", "GET", &path(&draft), Value::Null).await, (404, "not_found"), "draft");
    assert_refused(&bench.call_as("alice", "GET", "/v1/drafts/x", Value::Null).await, (404, "not_found"), "draft");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_an_encrypted_workspace_drafts_are_sealed_and_sealed_anew() {
    let bench = Bench::encrypted();
    bench.agent("alice");
    bench.agent("bob");
    let refused = bench.call_as("alice", "POST", "/v1/drafts", json!({"to": ["bob"], "text": "plain"})).await;
    assert_refused(&refused, (422, "sealing_required"), "text");
    let draft = created(&bench, json!({"to": ["bob"], "text": sealed_text(), "sealed": true})).await;
    let send = format!("{}/send", path(&draft));
    let refused = bench.call_as("alice", "POST", &send, json!({"text": "plain"})).await;
    assert_refused(&refused, (422, "sealing_required"), "text");
    let body = json!({"text": sealed_text(), "sealed": true, "signature": null, "signing_key_fingerprint": null});
    let (status, sent) = bench.call_as("alice", "POST", &send, body).await;
    assert_eq!(status, 202, "{sent}");
    created(&bench, json!({"to": ["bob"], "text": sealed_text(), "sealed": true})).await;
    let (_, listed) = bench.call_as("alice", "GET", "/v1/drafts", Value::Null).await;
    assert_eq!(listed["drafts"].as_array().unwrap().len(), 1, "the other was sent, and is gone");
}

/// 6-messaging.md, R: what is not sent yet is no mail that a key of scope `read` may read.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_only_reads_sees_no_draft() {
    let bench = Bench::new();
    bench.agent("alice");
    let draft = created(&bench, json!({"to": ["alice"], "text": "words"})).await;
    for bound in [&[][..], &["alice"]] {
        let key = bench.key(Scope::Read, bound);
        for path in ["/v1/drafts".to_owned(), path(&draft)] {
            let answer = bench.asked(&key, Some("alice"), "GET", &path, Value::Null).await;
            assert_refused(&answer, (403, "permission_denied"), "scope");
        }
    }
}
