//! Idempotency-Keys: one effect, one answer, whatever is repeated.

use std::collections::BTreeSet;

use serde_json::json;

use crate::ledger::{Books, refused, text, transfer};
use crate::support::appliance::{fresh_key, shared, unique};

#[test]
fn a_repeat_gets_the_first_answer_to_the_byte() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let key = fresh_key();
    let body = transfer(&source, &alice, "10.00");
    let first = books.client.post_under(&key, "/v1/transactions", &body);
    assert_eq!((first.status, first.header("idempotent-replayed")), (201, ""));
    books.post(&source, &alice, "1.00").expect(201);
    let again = books.client.post_under(&key, "/v1/transactions", &body);
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"));
    assert_eq!((again.text.as_str(), again.header("content-type")), (first.text.as_str(), "application/json"));
    assert_eq!(books.available(&alice), "11.00");

    // Any difference makes it another request.
    let other = transfer(&source, &alice, "10.01");
    refused(&books.client.post_under(&key, "/v1/transactions", &other), 422, "IDEMPOTENCY_KEY_MISMATCH");
    let spaced = format!("{body} ");
    let spaced = books.client.send("POST", "/v1/transactions", &[("idempotency-key", &key)], spaced.as_bytes());
    refused(&spaced, 422, "IDEMPOTENCY_KEY_MISMATCH");
    assert_eq!(books.available(&alice), "11.00");
}

#[test]
fn final_refusals_are_repeated_and_transient_ones_are_not() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let key = fresh_key();
    let body = transfer(&alice, &source, "10.00");
    let first = books.client.post_under(&key, "/v1/transactions", &body);
    refused(&first, 422, "INSUFFICIENT_AVAILABLE");
    books.post(&source, &alice, "50.00").expect(201);
    let again = books.client.post_under(&key, "/v1/transactions", &body);
    assert_eq!((again.status, &again.text, again.header("idempotent-replayed")), (422, &first.text, "true"));
    books.client.post("/v1/transactions", &body).expect(201);

    let hold = text(&books.hold(&alice, &source, "1.00").expect(201), "transaction_id");
    let key = fresh_key();
    let commit = format!("/v1/transactions/{hold}/commit");
    books.client.post_under(&key, &commit, &json!({})).expect(200);
    let again = books.client.post_under(&key, &commit, &json!({}));
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"));
    // Under a new key it is a new request, and the transaction is final.
    let final_key = fresh_key();
    refused(&books.client.post_under(&final_key, &commit, &json!({})), 409, "INVALID_TRANSACTION_STATE");
    let again = books.client.post_under(&final_key, &commit, &json!({}));
    refused(&again, 409, "INVALID_TRANSACTION_STATE");
    assert_eq!(again.header("idempotent-replayed"), "true");

    // Malformed JSON is the request's last word, too; a missing record is not.
    let key = fresh_key();
    let send = || books.client.send("POST", "/v1/accounts", &[("idempotency-key", &key)], b"{");
    refused(&send(), 422, "INVALID_REQUEST");
    assert_eq!(send().header("idempotent-replayed"), "true");
    let key = fresh_key();
    let nobody = json!({"asset_type_id": "01890000-0000-7000-8000-000000000000", "name": "n", "normal_side": "debit"});
    for _ in 0..2 {
        let answer = books.client.post_under(&key, "/v1/accounts", &nobody);
        refused(&answer, 404, "ASSET_TYPE_NOT_FOUND");
        assert_eq!(answer.header("idempotent-replayed"), "");
    }

    books.patch(&alice, &json!({"status": "frozen"})).expect(200);
    let key = fresh_key();
    let body = transfer(&source, &alice, "1.00");
    refused(&books.client.post_under(&key, "/v1/transactions", &body), 409, "ACCOUNT_NOT_ACTIVE");
    books.patch(&alice, &json!({"status": "active"})).expect(200);
    let posted = books.client.post_under(&key, "/v1/transactions", &body);
    assert_eq!((posted.status, posted.header("idempotent-replayed")), (201, ""));
}

#[test]
fn a_key_counts_within_its_tenant_and_endpoint() {
    let (ours, theirs) = (Books::open(shared()), Books::open(shared()));
    let key = format!("common-{}", unique());
    for books in [&ours, &theirs] {
        let (source, alice) = (books.source(), books.account("credit"));
        let posted = books.client.post_under(&key, "/v1/transactions", &transfer(&source, &alice, "2.00"));
        assert_eq!((posted.status, posted.header("idempotent-replayed")), (201, ""));
        let asset = json!({"code": "OTHER", "kind": "credit", "scale": 0});
        books.client.post_under(&key, "/v1/asset-types", &asset).expect(201);
        // Within one endpoint the id in the path belongs to the request.
        let holds: Vec<String> =
            (0..2).map(|_| text(&books.hold(&source, &alice, "1.00").expect(201), "transaction_id")).collect();
        books.client.post_under(&key, &format!("/v1/transactions/{}/void", holds[0]), &json!({})).expect(200);
        let other = books.client.post_under(&key, &format!("/v1/transactions/{}/void", holds[1]), &json!({}));
        refused(&other, 422, "IDEMPOTENCY_KEY_MISMATCH");
        books.client.post_under(&key, &format!("/v1/transactions/{}/commit", holds[1]), &json!({})).expect(200);
    }
}

#[test]
fn one_resource_is_one_request_however_its_path_is_spelt() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let hold = text(&books.hold(&source, &alice, "1.00").expect(201), "transaction_id");
    let key = fresh_key();
    let first = books.client.post_under(&key, &format!("/v1/transactions/{hold}/void"), &json!({}));
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, ""));
    for spelt in [hold.to_uppercase(), format!("%3{}{}", &hold[..1], &hold[1..]), hold.replace('-', "%2D")] {
        let again = books.client.post_under(&key, &format!("/v1/transactions/{spelt}/void"), &json!({}));
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"), "{spelt}");
        assert_eq!(again.text, first.text);
    }
    let key = fresh_key();
    let body = json!({"name": "renamed"}).to_string();
    let patch = |id: &str| {
        let path = format!("/v1/accounts/{id}");
        books.client.send("PATCH", &path, &[("idempotency-key", &key)], body.as_bytes())
    };
    patch(&alice).expect(200);
    assert_eq!(patch(&alice.to_uppercase()).header("idempotent-replayed"), "true");
    refused(&patch(&source), 422, "IDEMPOTENCY_KEY_MISMATCH");
}

#[test]
fn keys_have_one_to_255_characters() {
    let books = Books::open(shared());
    let body = json!({"code": "C", "kind": "credit", "scale": 0}).to_string();
    let send = |headers: &[(&str, &str)]| books.client.send("POST", "/v1/asset-types", headers, body.as_bytes());
    refused(&send(&[]), 400, "MISSING_IDEMPOTENCY_KEY");
    refused(&send(&[("idempotency-key", "")]), 400, "MISSING_IDEMPOTENCY_KEY");
    refused(&send(&[("idempotency-key", &"k".repeat(256))]), 422, "INVALID_KEY");
    refused(&send(&[("idempotency-key", &"ü".repeat(256))]), 422, "INVALID_KEY");
    refused(&send(&[("idempotency-key", "a"), ("idempotency-key", "b")]), 422, "INVALID_KEY");
    refused(&send(&[("idempotency-key", ""), ("idempotency-key", "b")]), 422, "INVALID_KEY");
    send(&[("idempotency-key", &"k".repeat(255))]).expect(201);
    // Characters are counted, not bytes.
    let body = json!({"code": "U", "kind": "credit", "scale": 0}).to_string();
    let key = "ü".repeat(255);
    let send = || books.client.send("POST", "/v1/asset-types", &[("idempotency-key", &key)], body.as_bytes());
    send().expect(201);
    assert_eq!(send().header("idempotent-replayed"), "true");
    for path in ["/v1/transactions", "/v1/accounts", "/v1/transactions/x/commit", "/v1/transactions/x/void"] {
        refused(&books.client.send("POST", path, &[], b"{}"), 400, "MISSING_IDEMPOTENCY_KEY");
    }
    refused(&books.client.send("PATCH", "/v1/accounts/x", &[], b"{}"), 400, "MISSING_IDEMPOTENCY_KEY");
}

#[test]
fn many_at_once_under_one_key_are_one() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let key = fresh_key();
    let body = transfer(&source, &alice, "3.00");
    let answers: Vec<(u16, String, bool)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let answer = books.client.post_under(&key, "/v1/transactions", &body);
                    let replayed = answer.header("idempotent-replayed") == "true";
                    (answer.status, answer.text, replayed)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|(status, _, _)| *status == 201));
    assert_eq!(answers.iter().map(|(_, text, _)| text).collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(answers.iter().filter(|(_, _, replayed)| !replayed).count(), 1);
    assert_eq!(books.available(&alice), "3.00");
}

#[test]
fn many_at_once_on_one_account_all_count() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    books.post(&source, &alice, "100.00").expect(201);
    // 160 callers want 1.00 each; 100 get it.
    let paid: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| (0..10).filter(|_| books.post(&alice, &source, "1.00").status == 201).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(paid, 100);
    assert_eq!(books.available(&alice), "0.00");
}
