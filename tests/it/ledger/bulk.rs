//! Many transactions in one call.

use serde_json::{Value, json};

use crate::ledger::{Books, FUTURE, refused, text, transfer};
use crate::support::appliance::{Answer, shared, unique};

const PATH: &str = "/v1/transactions/bulk";

fn statuses(answer: &Answer) -> Vec<u64> {
    answer.expect(200)["results"].as_array().unwrap().iter().map(|one| one["status"].as_u64().unwrap()).collect()
}

#[test]
fn each_for_itself() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let mut hold = transfer(&alice, &source, "3.00");
    hold["pending"] = json!(true);
    hold["expires_at"] = json!(FUTURE);
    let body = json!({"transactions": [
        transfer(&source, &alice, "10.00"),
        transfer(&alice, &source, "11.00"),
        {"entries": []},
        7,
        hold,
        transfer(&alice, &source, "7.00"),
        transfer(&alice, &source, "0.01"),
    ]});
    let answer = books.client.post_under("bulk", PATH, &body);
    assert_eq!(statuses(&answer), [201, 422, 422, 422, 201, 201, 422]);
    let results = answer.json()["results"].clone();
    let code = |index: usize| results[index]["body"]["error"]["code"].as_str().unwrap().to_owned();
    assert_eq!(
        [code(1), code(2), code(3), code(6)],
        ["INSUFFICIENT_AVAILABLE", "ENTRY_COUNT_OUT_OF_RANGE", "INVALID_REQUEST", "INSUFFICIENT_AVAILABLE"]
    );
    assert_eq!(results[4]["body"]["state"], "pending");
    assert_eq!(books.available(&alice), "0.00");
    let id = text(&results[0]["body"], "transaction_id");
    assert_eq!(books.client.get(&format!("/v1/transactions/{id}")).expect(200)["state"], "committed");
    let again = books.client.post_under("bulk", PATH, &body);
    assert_eq!((again.text.as_str(), again.header("idempotent-replayed")), (answer.text.as_str(), "true"));
    refused(&books.client.post_under("bulk", PATH, &json!({"transactions": [{}]})), 422, "IDEMPOTENCY_KEY_MISMATCH");
}

#[test]
fn all_or_none() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let all = |amounts: &[&str]| {
        let items: Vec<Value> = amounts.iter().map(|amount| transfer(&source, &alice, amount)).collect();
        json!({"atomic": true, "transactions": items})
    };
    let mut broken = all(&["1.00", "2.00"]);
    broken["transactions"].as_array_mut().unwrap().push(transfer(&alice, &source, "3.01"));
    let key = format!("atomic-{}", unique());
    let answer = books.client.post_under(&key, PATH, &broken);
    assert_eq!(refused(&answer, 422, "INSUFFICIENT_AVAILABLE"), json!({"account_id": alice, "index": 2}));
    assert_eq!(books.available(&alice), "0.00");
    let again = books.client.post_under(&key, PATH, &broken);
    assert_eq!((again.text.as_str(), again.header("idempotent-replayed")), (answer.text.as_str(), "true"));
    let malformed = json!({"atomic": true, "transactions": [transfer(&source, &alice, "1.00"), {"entries": 1}]});
    let details = refused(&books.client.post(PATH, &malformed), 422, "INVALID_REQUEST");
    assert_eq!((&details["index"], &details["fields"][0]["field"]), (&json!(1), &json!("entries")));
    assert_eq!(books.available(&alice), "0.00");
    // A transient refusal is not its last word.
    books.patch(&alice, &json!({"status": "frozen"})).expect(200);
    let good = all(&["1.00", "2.00"]);
    let key = format!("atomic-{}", unique());
    let details = refused(&books.client.post_under(&key, PATH, &good), 409, "ACCOUNT_NOT_ACTIVE");
    assert_eq!(details["index"], 0);
    books.patch(&alice, &json!({"status": "active"})).expect(200);
    let answer = books.client.post_under(&key, PATH, &good);
    assert_eq!(statuses(&answer), [201, 201]);
    assert_eq!(books.available(&alice), "3.00");
}

#[test]
fn items_with_keys_of_their_own_are_done_once() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let item = |key: &str, amount: &str| {
        let mut item = transfer(&source, &alice, amount);
        item["idempotency_key"] = json!(key);
        item
    };
    let call =
        |items: &[Value], atomic: bool| books.client.post(PATH, &json!({"atomic": atomic, "transactions": items}));
    let first = call(&[item("a", "1.00"), item("b", "2.00"), item("a", "1.00")], false);
    assert_eq!(statuses(&first), [201, 201, 201]);
    let results = first.json()["results"].clone();
    assert_eq!(results[0], results[2]);
    assert_eq!(books.available(&alice), "3.00");
    let second = call(&[item("b", "2.00"), item("c", "4.00"), item("a", "9.00")], false);
    assert_eq!(statuses(&second), [201, 201, 422]);
    let again = second.json()["results"].clone();
    assert_eq!(again[0], results[1]);
    assert_eq!(again[2]["body"]["error"]["code"], "IDEMPOTENCY_KEY_MISMATCH");
    assert_eq!(books.available(&alice), "7.00");
    assert_eq!(statuses(&call(&[item("a", "1.00"), item("d", "1.00")], true)), [201, 201]);
    assert_eq!(books.available(&alice), "8.00");
    // A refusal is an item's last word as well, alone or among others.
    let mut floor = transfer(&alice, &source, "100.00");
    floor["idempotency_key"] = json!("e");
    assert_eq!(statuses(&call(&[floor.clone()], false)), [422]);
    books.post(&source, &alice, "200.00").expect(201);
    assert_eq!(statuses(&call(&[floor.clone()], false)), [422]);
    let details = refused(&call(&[item("f", "1.00"), floor], true), 422, "CONSTRAINT_VIOLATION");
    assert_eq!(details["index"], 1);
    for wrong in [json!(""), json!(1), json!(null), json!("x".repeat(256)), json!("a\nb")] {
        let mut item = transfer(&source, &alice, "1.00");
        item["idempotency_key"] = wrong;
        let answer = call(&[item], false);
        assert_eq!(answer.expect(200)["results"][0]["body"]["error"]["code"], "INVALID_KEY");
    }
}

#[test]
fn a_thousand_and_no_more() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    for atomic in [false, true] {
        let items = vec![transfer(&source, &alice, "1.00"); 1000];
        let body = json!({"atomic": atomic, "transactions": items});
        let key = format!("thousand-{atomic}");
        let answer = books.client.post_under(&key, PATH, &body);
        assert_eq!(statuses(&answer), vec![201; 1000]);
        let again = books.client.post_under(&key, PATH, &body);
        assert_eq!((again.text == answer.text, again.header("idempotent-replayed")), (true, "true"));
    }
    assert_eq!(books.available(&alice), "2000.00");
    for count in [0, 1001] {
        let body = json!({"transactions": vec![json!({}); count]});
        let details = refused(&books.client.post(PATH, &body), 422, "INVALID_REQUEST");
        assert_eq!(details["fields"][0]["field"], "transactions");
    }
    for body in [json!({}), json!({"transactions": 1}), json!({"transactions": [{}], "atomic": 1}), json!([])] {
        refused(&books.client.post(PATH, &body), 422, "INVALID_REQUEST");
    }
    let padded = |bytes: usize| {
        let frame = r#"{"transactions":[7],"x":""}"#.len();
        format!(r#"{{"transactions":[7],"x":"{}"}}"#, "x".repeat(bytes - frame)).into_bytes()
    };
    let send = |body: &[u8]| {
        let key = crate::support::appliance::fresh_key();
        books.client.send("POST", PATH, &[("idempotency-key", &key)], body)
    };
    refused(&send(&padded(1024 * 1024)), 422, "INVALID_REQUEST");
    refused(&send(&padded(1024 * 1024 + 1)), 413, "PAYLOAD_TOO_LARGE");
}
