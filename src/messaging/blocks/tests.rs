//! Blocks as callers see them.

use serde_json::{Value, json};

use crate::identity::Scope;
use crate::testing::{Bench, assert_refused};

const NONE: Value = Value::Null;

#[tokio::test]
async fn an_agent_blocks_another_until_it_says_so_or_the_time_is_over() {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("ben");
    let until = quintet_platform::clock::rfc3339(bench.now().plus_seconds(60));
    let (status, block) = bench
        .call_as("ann", "POST", "/v1/blocks", json!({"agent": "ben", "reason": "noise", "expires_at": until}))
        .await;
    assert_eq!(status, 201, "{block}");
    for (member, expected) in [
        ("agent", json!("ben")),
        ("reason", json!("noise")),
        ("expires_at", json!(until)),
        ("suppressed_count", json!(0)),
        ("active", json!(true)),
    ] {
        assert_eq!(block[member], expected, "{member}");
    }
    let letter = json!({"to": ["ann"], "subject": "s", "text": "t"});
    assert_refused(
        &bench.call_as("ben", "POST", "/v1/messages", letter.clone()).await,
        (422, "blocked_by_recipient"),
        "ann",
    );
    let (_, listed) = bench.call_as("ann", "GET", "/v1/blocks", NONE).await;
    assert_eq!((&listed["blocks"][0]["suppressed_count"], &listed["count"]), (&json!(1), &json!(1)));
    bench.advance(60).await;
    assert_eq!(bench.call_as("ben", "POST", "/v1/messages", letter).await.0, 202);
    let (_, listed) = bench.call_as("ann", "GET", "/v1/blocks", NONE).await;
    assert_eq!(listed["blocks"][0]["active"], json!(false), "lapsed ones are listed, too");
    let (_, again) = bench.call_as("ann", "POST", "/v1/blocks", json!({"agent": "ben"})).await;
    let members = [&again["suppressed_count"], &again["reason"], &again["expires_at"], &again["active"]];
    assert_eq!(members, [&json!(1), &NONE, &NONE, &json!(true)]);
    let (status, ended) = bench.call_as("ann", "DELETE", "/v1/blocks/ben", NONE).await;
    assert_eq!((status, &ended["agent"], &ended["suppressed_count"]), (200, &json!("ben"), &json!(1)));
    let (status, ended) = bench.call_as("ann", "DELETE", "/v1/blocks/ben", NONE).await;
    assert_eq!((status, &ended["suppressed_count"]), (200, &json!(0)), "again");
    let (_, listed) = bench.call_as("ann", "GET", "/v1/blocks", NONE).await;
    assert_eq!(listed["blocks"], json!([]));
}

#[tokio::test]
async fn what_cannot_be_blocked() {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("ben");
    for (body, words) in [
        (json!({}), "agent"),
        (json!({"agent": "ann"}), "itself"),
        (json!({"agent": "nobody"}), "no agent"),
        (json!({"agent": "ben", "reason": "a\nb"}), "reason"),
        (json!({"agent": "ben", "expires_at": "soon"}), "expires_at"),
        (json!({"agent": "ben", "expires_at": "2001-01-01T00:00:00Z"}), "future"),
    ] {
        assert_refused(&bench.call_as("ann", "POST", "/v1/blocks", body).await, (422, "validation_error"), words);
    }
    assert_refused(&bench.call_as("ann", "DELETE", "/v1/blocks/nobody", NONE).await, (404, "not_found"), "nobody");
    let only_reads = bench.key(Scope::Read, &["ann"]);
    assert_refused(&bench.call(&only_reads, "GET", "/v1/blocks", NONE).await, (403, "permission_denied"), "scope");
}
