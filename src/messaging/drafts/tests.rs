//! Drafts over the whole way.

use quintet_storage::{Read, Scan, Table, WriteTx};
use serde_json::{Value, json};

use super::model::{DRAFTS_MAX, DraftKey};
use super::tables::{COUNTS, CountRow, DRAFTS, TEXTS};
use crate::identity::Scope;
use crate::model::{AgentKey, FAMILY, Mark};
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

#[tokio::test]
async fn halves_of_drafts_are_found() {
    let bench = Bench::new();
    let ann = bench.agent("ann");
    let draft = json!({"to": ["ann"], "subject": "x", "text": "y"});
    assert_eq!(bench.call_as("ann", "POST", "/v1/drafts", draft).await.0, 201);
    let found = || crate::verify(&bench.context.store.read()).unwrap().join("\n");
    assert_eq!(found(), "");
    let key = bench.context.store.read().scan(&DRAFTS, Scan::prefix(&(ann.0, ann.1))).unwrap()[0].0;
    let text = bench.context.store.read().get(&TEXTS, &key).unwrap().unwrap();
    let gone = move |tx: &mut WriteTx<'_>, _| {
        tx.delete(&TEXTS, &key);
        Ok(())
    };
    bench.run(gone).unwrap();
    assert!(found().contains("says nothing"), "{}", found());
    let whole = move |tx: &mut WriteTx<'_>, _| {
        tx.put(&TEXTS, &key, &text)?;
        tx.delete(&DRAFTS, &key);
        Ok(())
    };
    bench.run(whole).unwrap();
    assert!(found().contains("that is not there"), "{}", found());
}

#[tokio::test(flavor = "multi_thread")]
async fn recipients_of_a_draft_are_written_as_such() {
    let bench = Bench::new();
    bench.agent("alice");
    let draft = created(&bench, json!({"to": ["room:none", "Nobody"], "cc": null})).await;
    let long = "x".repeat(1_601);
    let many = |count: usize| vec!["x".repeat(1_600); count];
    for (body, words) in [
        (json!({"to": [7]}), "to[0] must be a string"),
        (json!({"to": ["bob", null]}), "to[1] must be a string"),
        (json!({"cc": ["bob", long]}), "cc[1] is longer than any recipient"),
        (json!({"to": ["  "]}), "to[0] is empty"),
        (json!({"to": ["room:No"]}), "to[0] is no room"),
        (json!({"to": vec!["x"; 1_001]}), "to must have at most 1000 items"),
        (json!({"to": many(20), "cc": many(21)}), "to must have at most 65536 bytes together with cc"),
    ] {
        let refused = bench.call_as("alice", "POST", "/v1/drafts", body.clone()).await;
        assert_refused(&refused, (422, "validation_error"), words);
        let refused = bench.call_as("alice", "PATCH", &path(&draft), body).await;
        assert_refused(&refused, (422, "validation_error"), words);
    }
    let (status, _) = bench.call_as("alice", "PATCH", &path(&draft), json!({"to": many(20)})).await;
    assert_eq!(status, 200);
    let more = bench.call_as("alice", "PATCH", &path(&draft), json!({"cc": many(21)})).await;
    assert_refused(&more, (422, "validation_error"), "65536 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_drafts_is_cut_and_says_where_it_goes_on() {
    let bench = Bench::new();
    bench.agent("alice");
    let mut made = Vec::new();
    for number in 0..40 {
        let body = json!({"to": vec!["x".repeat(1_600); 40], "subject": number.to_string()});
        made.push(created(&bench, body).await["id"].clone());
    }
    let (mut listed, mut pages, mut at) = (Vec::new(), 0, "/v1/drafts".to_owned());
    loop {
        let (status, page) = bench.call_as("alice", "GET", &at, Value::Null).await;
        assert_eq!(status, 200, "{page}");
        assert!(page.to_string().len() < (2 << 20) + (64 << 10));
        listed.extend(page["drafts"].as_array().unwrap().iter().map(|draft| draft["id"].clone()));
        pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        at = format!("/v1/drafts?cursor={next}");
    }
    assert_eq!((pages, listed), (3, made));
    let refused = bench.call_as("alice", "GET", "/v1/drafts?cursor=x", Value::Null).await;
    assert_refused(&refused, (422, "validation_error"), "cursor");
}

/// What a transaction cannot take is refused, and no mistake of the appliance.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_as_large_as_a_transaction_takes() {
    let bench = Bench::new();
    bench.agent("alice");
    let ask = async |text: String, key: Option<&str>| {
        let request = http::Request::post("/v1/drafts").header("authorization", format!("Bearer {}", bench.admin));
        let request = key.iter().fold(request, |request, key| request.header("idempotency-key", *key));
        let body = json!({"to": ["bob"], "text": text}).to_string();
        let request = request.header("x-agentbus-agent", "alice").body(axum::body::Body::from(body)).unwrap();
        bench.answer(request).await.status().as_u16()
    };
    for (bytes, key) in [(200_000, None), (100_000, Some("a"))] {
        assert_eq!(ask("x".repeat(bytes), key).await, 201, "{bytes}");
    }
    assert_eq!(ask("\u{1}".repeat(700_000), Some("c")).await, 413, "as it is written");
    let draft = created(&bench, json!({"to": ["bob"], "text": "x".repeat(200_000)})).await;
    let (status, changed) = bench.call_as("alice", "PATCH", &path(&draft), json!({"subject": "y"})).await;
    assert_eq!((status, changed["text_body"].as_str().unwrap().len()), (200, 200_000));
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

/// As many drafts of an agent as there may be.
async fn full(bench: &Bench) -> AgentKey {
    let agent = bench.agent("alice");
    for _ in 0..DRAFTS_MAX {
        created(bench, json!({"to": ["alice"], "text": "x"})).await;
    }
    agent
}

/// What is in the way of everybody is short: whether there is room for one more is asked of a row that counts, and what
/// others say is read by nobody. One that cannot be read is in nobody's way.
#[tokio::test(flavor = "multi_thread")]
async fn drafts_are_counted_and_not_read() {
    const BROKEN: Table<DraftKey, Mark> = Table::new(0x0540, FAMILY, "messaging_drafts");
    let bench = Bench::new();
    bench.agent("alice");
    let first = created(&bench, json!({"to": ["alice"], "text": "x"})).await;
    let second = created(&bench, json!({"to": ["alice"], "text": "x"})).await;
    let agent = bench.named("alice");
    let all = bench.context.store.read().scan(&DRAFTS, Scan::prefix(&(agent.0, agent.1))).unwrap();
    let broken = all[0].0;
    bench.run(move |tx, _| Ok(tx.put(&BROKEN, &broken, &Mark)?)).unwrap();
    assert_eq!(bench.call_as("alice", "GET", &path(&first), Value::Null).await.0, 500);
    created(&bench, json!({"to": ["alice"], "text": "y"})).await;
    assert_eq!(bench.call_as("alice", "DELETE", &path(&second), Value::Null).await.0, 204);
    let count = bench.context.store.read().get(&COUNTS, &agent).unwrap();
    assert_eq!(count, Some(CountRow(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_has_five_hundred_and_no_more() {
    let bench = Bench::new();
    let agent = full(&bench).await;
    let one = json!({"to": ["alice"], "text": "x"});
    let refused = bench.call_as("alice", "POST", "/v1/drafts", one.clone()).await;
    assert_refused(&refused, (409, "limit_reached"), "500");
    assert_eq!(refused.1["limit"], "drafts");
    let (_, listed) = bench.call_as("alice", "GET", "/v1/drafts", Value::Null).await;
    let draft = listed["drafts"][0].clone();
    for _ in 0..2 {
        assert_eq!(bench.call_as("alice", "DELETE", &path(&draft), Value::Null).await.0, 204, "it counts once");
    }
    created(&bench, one.clone()).await;
    let draft = &listed["drafts"][1];
    assert_eq!(bench.call_as("alice", "POST", &format!("{}/send", path(draft)), Value::Null).await.0, 202);
    created(&bench, one.clone()).await;
    assert_refused(&bench.call_as("alice", "POST", "/v1/drafts", one).await, (409, "limit_reached"), "500");
    assert_eq!(bench.context.store.read().get(&COUNTS, &agent).unwrap(), Some(CountRow(DRAFTS_MAX)));
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

/// Drafts of an earlier version are counted when one is made, sent or deleted for the first time.
#[tokio::test(flavor = "multi_thread")]
async fn drafts_that_were_not_counted_are_counted_once() {
    let bench = Bench::new();
    let agent = full(&bench).await;
    let uncounted = || {
        let uncount = move |tx: &mut WriteTx<'_>, _| {
            tx.delete(&COUNTS, &agent);
            Ok(())
        };
        bench.run(uncount).unwrap();
        assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
    };
    let counted = || bench.context.store.read().get(&COUNTS, &agent).unwrap();
    let one = json!({"to": ["alice"], "text": "x"});
    uncounted();
    assert_refused(&bench.call_as("alice", "POST", "/v1/drafts", one.clone()).await, (409, "limit_reached"), "500");
    let (_, listed) = bench.call_as("alice", "GET", "/v1/drafts", Value::Null).await;
    assert_eq!(bench.call_as("alice", "DELETE", &path(&listed["drafts"][0]), Value::Null).await.0, 204);
    assert_eq!(counted(), Some(CountRow(DRAFTS_MAX - 1)));
    uncounted();
    let send = format!("{}/send", path(&listed["drafts"][1]));
    assert_eq!(bench.call_as("alice", "POST", &send, Value::Null).await.0, 202);
    assert_eq!(counted(), Some(CountRow(DRAFTS_MAX - 2)));
    uncounted();
    created(&bench, one).await;
    assert_eq!(counted(), Some(CountRow(DRAFTS_MAX - 1)));
    bench.run(move |tx, _| Ok(tx.put(&COUNTS, &agent, &CountRow(7))?)).unwrap();
    assert!(crate::verify(&bench.context.store.read()).unwrap().join("\n").contains("499 drafts, and counts 7"));
}
