//! Public keys, through the router.

use serde_json::{Value, json};

use super::model::{Algorithm, fingerprint};
use super::{bytes, valid};
use crate::identity::Scope;
use crate::testing::{Bench, assert_refused};
use crate::words::bech32::encode;

fn age(number: u8) -> String {
    encode("age", &[number; 32])
}

fn absig(number: u8) -> String {
    encode("absig", &[number; 32])
}

fn listed(answer: &Value) -> Vec<&str> {
    answer["keys"].as_array().unwrap().iter().map(|key| key["public_key"].as_str().unwrap()).collect()
}

async fn publish(bench: &Bench, body: Value) -> (u16, Value) {
    bench.call_as("a", "POST", "/v1/agents/a/pubkey", body).await
}

#[tokio::test]
async fn keys_are_published_listed_and_revoked() {
    let bench = Bench::new();
    let a = bench.agent("a");
    let read = bench.key(Scope::Read, &[]);
    let get = async |path: &str| bench.call(&read, "GET", path, Value::Null).await;
    let (status, none) = get("/v1/agents/a/pubkey").await;
    assert_eq!((status, &none["agent"], &none["keys"], &none["count"]), (200, &json!("a"), &json!([]), &json!(0)));
    let (status, key) = publish(&bench, json!({"public_key": age(1), "label": "laptop"})).await;
    assert_eq!(status, 201, "{key}");
    let print = fingerprint(&[1; 32]);
    assert_eq!(
        (&key["agent"], &key["algorithm"], &key["label"]),
        (&json!("a"), &json!("age-x25519"), &json!("laptop"))
    );
    assert_eq!(
        (&key["fingerprint"], &key["public_key"], &key["revoked_at"]),
        (&json!(print), &json!(age(1)), &Value::Null)
    );
    assert_eq!(print, "72cd6e8422c407fb", "as the public client has it");
    bench.advance(5).await;
    let (status, again) = publish(&bench, json!({"public_key": age(1).to_uppercase(), "algorithm": null})).await;
    assert_eq!((status, &again["created_at"], &again["label"]), (201, &key["created_at"], &json!("laptop")));
    assert_eq!(again["public_key"], age(1));
    publish(&bench, json!({"public_key": absig(2), "algorithm": "ed25519"})).await;
    bench.advance(5).await;
    publish(&bench, json!({"public_key": age(3)})).await;
    assert_eq!(listed(&get("/v1/agents/a/pubkey").await.1), [age(1), age(3)]);
    assert_eq!(listed(&get("/v1/agents/a/pubkey?algorithm=ed25519").await.1), [absig(2)]);
    assert_refused(&get("/v1/agents/a/pubkey?algorithm=rsa").await, (422, "validation_error"), "algorithm");
    let path = format!("/v1/agents/a/pubkey/{print}");
    let (status, revoked) = bench.call_as("a", "DELETE", &format!("{path}?reason=lost"), Value::Null).await;
    assert_eq!((status, &revoked["fingerprint"], &revoked["already"]), (200, &json!(print), &json!(false)));
    bench.advance(5).await;
    let (status, again) = bench.call_as("a", "DELETE", &path, Value::Null).await;
    assert_eq!((status, &again["already"], &again["revoked_at"]), (200, &json!(true), &revoked["revoked_at"]));
    assert_eq!(listed(&get("/v1/agents/a/pubkey").await.1), [age(3)]);
    let (_, all) = get("/v1/workspace/pubkeys").await;
    assert_eq!((&all["encrypted"], listed(&all).len()), (&json!(false), 3));
    let gone = all["keys"].as_array().unwrap().iter().find(|key| key["public_key"] == age(1)).unwrap();
    assert_eq!(gone["revoked_at"], revoked["revoked_at"]);
    assert_refused(&publish(&bench, json!({"public_key": age(1)})).await, (422, "validation_error"), "for good");
    let read = bench.context.store.read();
    assert_eq!(bytes(&read, a, Algorithm::Ed25519, &fingerprint(&[2; 32])).unwrap(), Some([2; 32]));
    assert_eq!(bytes(&read, a, Algorithm::AgeX25519, &print).unwrap(), None, "revoked");
    assert_eq!(valid(&read, a, Algorithm::AgeX25519).unwrap().len(), 1);
    assert!(crate::verify(&read).unwrap().is_empty());
}

#[tokio::test]
async fn whose_keys_are_whose() {
    let bench = Bench::encrypted();
    bench.agent("a");
    bench.agent("b");
    let send = bench.key(Scope::Send, &["b"]);
    let body = json!({"public_key": age(1)});
    assert_refused(
        &bench.call(&send, "POST", "/v1/agents/a/pubkey", body.clone()).await,
        (403, "permission_denied"),
        "no other",
    );
    assert_eq!(bench.call(&bench.admin, "POST", "/v1/agents/a/pubkey", body.clone()).await.0, 201, "an operator");
    assert_refused(&bench.call(&send, "POST", "/v1/agents/c/pubkey", body).await, (404, "not_found"), "agent c");
    let path = format!("/v1/agents/a/pubkey/{}", fingerprint(&[1; 32]));
    assert_refused(&bench.call(&send, "DELETE", &path, Value::Null).await, (403, "permission_denied"), "");
    let unknown = bench.call(&bench.admin, "DELETE", "/v1/agents/a/pubkey/0000", Value::Null).await;
    assert_refused(&unknown, (404, "not_found"), "public key");
    assert_refused(&bench.call(&send, "GET", "/v1/agents/c/pubkey", Value::Null).await, (404, "not_found"), "agent c");
    assert_eq!(bench.call(&send, "GET", "/v1/workspace/pubkeys", Value::Null).await.1["encrypted"], true);
    let other = bench.another("other");
    let stranger = bench.key_of(other.no, Scope::Admin, &[]);
    assert_eq!(bench.call(&stranger, "GET", "/v1/workspace/pubkeys", Value::Null).await.1["keys"], json!([]));
    // Those of one that is retired can be looked at still: what it has signed can be checked.
    bench.call(&bench.admin, "POST", "/v1/agents/a/retire", Value::Null).await;
    assert_eq!(bench.call(&send, "GET", "/v1/agents/a/pubkey", Value::Null).await.1["count"], 1);
}

#[tokio::test]
async fn what_is_no_key() {
    let bench = Bench::new();
    bench.agent("a");
    let mut broken = age(1);
    broken.pop();
    for (body, field) in [
        (json!({}), "public_key"),
        (json!({"public_key": 1}), "public_key"),
        (json!({"public_key": ""}), "public_key"),
        (json!({"public_key": broken}), "public_key"),
        (json!({"public_key": encode("age", &[1; 31])}), "public_key"),
        (json!({"public_key": encode("age", &[1; 33])}), "public_key"),
        (json!({"public_key": absig(1)}), "public_key"),
        (json!({"public_key": age(1), "algorithm": "ed25519"}), "public_key"),
        (json!({"public_key": age(1), "algorithm": "rsa"}), "algorithm"),
        (json!({"public_key": age(1), "label": "a\nb"}), "label"),
        (json!({"public_key": age(1), "label": "x".repeat(201)}), "label"),
    ] {
        let answer = publish(&bench, body.clone()).await;
        assert_refused(&answer, (422, "validation_error"), "");
        assert_eq!(answer.1["errors"][0]["field"], field, "{body}");
    }
    assert_refused(&publish(&bench, Value::Null).await, (422, "validation_error"), "public_key");
}

#[tokio::test]
async fn an_agent_has_sixteen_and_the_oldest_revoked_ones_go() {
    let bench = Bench::new();
    let a = bench.agent("a");
    for number in 0..16 {
        assert_eq!(publish(&bench, json!({"public_key": age(number)})).await.0, 201);
    }
    let full = publish(&bench, json!({"public_key": age(16)})).await;
    assert_refused(&full, (409, "limit_reached"), "16");
    assert_eq!(full.1["limit"], "public_keys");
    assert_refused(
        &publish(&bench, json!({"public_key": absig(1), "algorithm": "ed25519"})).await,
        (409, "limit_reached"),
        "",
    );
    assert_eq!(publish(&bench, json!({"public_key": age(3), "label": "again"})).await.0, 201);
    for number in 0..200 {
        let path = format!("/v1/agents/a/pubkey/{}", fingerprint(&[number; 32]));
        assert_eq!(bench.call_as("a", "DELETE", &path, Value::Null).await.0, 200);
        bench.advance(1).await;
        assert_eq!(publish(&bench, json!({"public_key": age(number + 16)})).await.0, 201);
    }
    let all = super::rows::of_agent(&bench.context.store.read(), a).unwrap();
    assert_eq!(
        (all.len(), all.iter().filter(|key| key.revoked_at.is_none()).count()),
        (16 + super::model::REVOKED_MAX, 16)
    );
}

#[test]
fn what_contradicts_itself_is_found() {
    let bench = Bench::new();
    let a = bench.agent("a");
    let key = |fingerprint: String| super::model::Pubkey {
        algorithm: Algorithm::AgeX25519,
        fingerprint,
        text: age(1),
        label: None,
        created_at: bench.now(),
        revoked_at: None,
        reason: None,
    };
    let (good, bad) = (key(fingerprint(&[1; 32])), key(fingerprint(&[2; 32])));
    bench.run(move |tx, _| Ok(super::rows::put(tx, a, &good)?)).unwrap();
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), Vec::<String>::new());
    let ghost = (a.0, crate::model::AgentNo(9));
    bench
        .run(move |tx, _| {
            super::rows::put(tx, a, &bad)?;
            Ok(super::rows::put(tx, ghost, &bad)?)
        })
        .unwrap();
    let found = crate::verify(&bench.context.store.read()).unwrap();
    assert_eq!(found.iter().filter(|line| line.contains("public key")).count(), 3, "{found:?}");
}
