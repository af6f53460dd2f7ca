//! Memory as callers see it.

use quintet_storage::WriteTx;
use serde_json::{Value, json};

use super::tables::{CountsRow, MEMORY_COUNTS};
use crate::identity::Scope;
use crate::limits::{MEMORY_BYTES, MEMORY_ENTRIES};
use crate::testing::{Bench, assert_refused};

const NONE: Value = Value::Null;

async fn texts(bench: &Bench, agent: &str) -> Vec<(u64, u64, String)> {
    let (status, body) = bench.call_as(agent, "GET", "/v1/memory", NONE).await;
    assert_eq!(status, 200, "{body}");
    let rows = body["memory"].as_array().unwrap().iter();
    let rows = rows.map(|row| {
        let number = |name: &str| row[name].as_u64().unwrap();
        (number("seq"), number("position"), row["text"].as_str().unwrap().to_owned())
    });
    rows.collect()
}

#[tokio::test]
async fn what_is_remembered_is_counted_and_never_renumbered() {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("ben");
    for text in ["one", "tw\u{f6}", "three"] {
        assert_eq!(bench.call_as("ann", "POST", "/v1/memory", json!({"text": text})).await.0, 201);
    }
    let (status, replaced) = bench.call_as("ann", "PUT", "/v1/memory/2", json!({"text": "2"})).await;
    assert_eq!((status, &replaced["bytes"], &replaced["bytes_used"]), (200, &json!(1), &json!(9)));
    let (status, removed) = bench.call_as("ann", "DELETE", "/v1/memory/3", NONE).await;
    assert_eq!((status, &removed["removed"], &removed["entries"]), (200, &json!([3]), &json!(2)));
    let (status, again) = bench.call_as("ann", "DELETE", "/v1/memory/3", NONE).await;
    assert_eq!((status, &again["removed"]), (200, &json!([])), "what is gone is gone");
    let (_, added) = bench.call_as("ann", "POST", "/v1/memory", json!({"text": "four"})).await;
    assert_eq!((&added["seq"], &added["bytes"], &added["entries_limit"]), (&json!(4), &json!(4), &json!(500)));
    let expected = [(1, 1, "one"), (2, 2, "2"), (4, 3, "four")];
    assert_eq!(texts(&bench, "ann").await, expected.map(|(seq, place, text)| (seq, place, text.to_owned())));
    assert!(texts(&bench, "ben").await.is_empty(), "it is the agent's own");
    let (_, truncated) = bench.call_as("ann", "POST", "/v1/memory/truncate", json!({"first": 2})).await;
    assert_eq!((&truncated["removed"], &truncated["bytes_used"]), (&json!([1, 2]), &json!(4)));
    let (_, truncated) = bench.call_as("ann", "POST", "/v1/memory/truncate", json!({"seqs": [4, 9]})).await;
    assert_eq!(
        (&truncated["removed"], &truncated["bytes_used"], &truncated["entries"]),
        (&json!([4]), &json!(0), &json!(0))
    );
}

#[tokio::test]
async fn what_cannot_be_remembered() {
    let mut bench = Bench::new();
    bench.agent("ann");
    let post = |body: Value| bench.call_as("ann", "POST", "/v1/memory", body);
    assert_refused(&post(json!({})).await, (422, "validation_error"), "text");
    assert_refused(&post(json!({"text": 5})).await, (422, "validation_error"), "text");
    assert_refused(&post(json!({"text": "plain", "sealed": true})).await, (422, "sealing_required"), "sealed");
    assert_eq!(post(json!({"text": "x".repeat(16_384)})).await.0, 201);
    assert_refused(&post(json!({"text": "x".repeat(16_385)})).await, (413, "memory_entry_too_large"), "16384");
    for seq in ["2", "0", "x", "-1", "99999999999999999999"] {
        let put = bench.call_as("ann", "PUT", &format!("/v1/memory/{seq}"), json!({"text": ""})).await;
        assert_refused(&put, (404, "not_found"), "entry");
    }
    for body in
        [json!({}), json!({"first": 1, "seqs": []}), json!({"first": 1001}), json!({"seqs": "x"}), json!({"first": -1})]
    {
        let refused = bench.call_as("ann", "POST", "/v1/memory/truncate", body).await;
        assert_refused(&refused, (422, "validation_error"), "");
    }
    let only_reads = bench.key(Scope::Read, &["ann"]);
    assert_refused(&bench.call(&only_reads, "GET", "/v1/memory", NONE).await, (403, "permission_denied"), "scope");
    assert_refused(&bench.call(&bench.admin, "GET", "/v1/memory", NONE).await, (403, "permission_denied"), "agent");
    bench.set(|workspace| workspace.limits = vec![(MEMORY_ENTRIES.code, Some(2)), (MEMORY_BYTES.code, Some(16_390))]);
    let full = bench.call_as("ann", "POST", "/v1/memory", json!({"text": "seven b"})).await;
    assert_eq!(full.1["oldest_seq"], json!(1));
    assert_refused(&full, (409, "memory_full"), "remove");
    assert_eq!(bench.call_as("ann", "POST", "/v1/memory", json!({"text": "sixby."})).await.0, 201);
    assert_eq!(bench.call_as("ann", "POST", "/v1/memory", json!({"text": ""})).await.0, 409);
    assert_eq!(bench.call_as("ann", "PUT", "/v1/memory/2", json!({"text": "seven b"})).await.0, 409);
    bench.set(|workspace| workspace.limits = vec![(MEMORY_BYTES.code, Some(5))]);
    let shorter = bench.call_as("ann", "PUT", "/v1/memory/2", json!({"text": "less"})).await;
    assert_eq!(shorter.0, 200, "what gets shorter has room, whatever the limit was lowered to");
}

#[tokio::test]
async fn an_encrypted_workspace_remembers_nothing_plain() {
    let bench = Bench::encrypted();
    bench.agent("ann");
    for body in [json!({"text": "x"}), json!({"text": "x", "sealed": true})] {
        assert_refused(&bench.call_as("ann", "POST", "/v1/memory", body).await, (422, "sealing_required"), "sealed");
    }
}

#[tokio::test]
async fn what_is_counted_wrongly_is_found() {
    let bench = Bench::new();
    let ann = bench.agent("ann");
    let (status, _) = bench.call_as("ann", "POST", "/v1/memory", json!({"text": "one"})).await;
    let found = || crate::verify(&bench.context.store.read()).unwrap().join("\n");
    assert_eq!((status, found()), (201, String::new()));
    bench
        .run(move |tx, _| Ok(tx.put(&MEMORY_COUNTS, &ann, &CountsRow { last_seq: 1, entries: 2, bytes: 3 })?))
        .unwrap();
    assert!(found().contains("remembers"), "{}", found());
    let gone = move |tx: &mut WriteTx<'_>, _| {
        tx.delete(&MEMORY_COUNTS, &ann);
        Ok(())
    };
    bench.run(gone).unwrap();
    assert!(found().contains("is not counted"), "{}", found());
}
