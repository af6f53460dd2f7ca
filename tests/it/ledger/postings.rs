//! The ledger from outside: postings, holds, balances, statements, and the rehearsal clock.

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use serde_json::{Value, json};

use crate::ledger::{Books, refused, text, transfer};
use crate::support::appliance::{Setup, fresh_key, shared, unique};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn is_instant(value: &Value) -> bool {
    value.as_str().is_some_and(|text| parse_rfc3339(text).is_ok())
}

#[test]
fn asset_types_are_defined_and_listed() {
    let books = Books::open(shared());
    let made =
        books.client.post("/v1/asset-types", &json!({"code": "GOLD", "kind": "inventory", "scale": 12})).expect(201);
    assert_eq!(keys(&made), ["asset_type_id", "code", "kind", "scale"]);
    let listed = books.client.get("/v1/asset-types").expect(200);
    assert_eq!(keys(&listed), ["asset_types"]);
    let all = listed["asset_types"].as_array().unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(keys(&all[1]), ["asset_type_id", "code", "created_at", "kind", "scale"]);
    assert_eq!((&all[1]["code"], &all[1]["kind"], &all[1]["scale"]), (&json!("GOLD"), &json!("inventory"), &json!(12)));
    let again = books.client.post("/v1/asset-types", &json!({"code": "GOLD", "kind": "fiat", "scale": 0}));
    refused(&again, 422, "CONSTRAINT_VIOLATION");
}

#[test]
fn an_account_record_has_the_contracts_fields() {
    let books = Books::open(shared());
    let body = json!({
        "asset_type_id": books.asset_type_id, "name": "Zoë \"quoted\"", "normal_side": "credit",
        "balance_floor": "-12.5", "balance_tracking": "sync", "metadata": "(raw)",
    });
    // Numbers in metadata keep their text; whatever builds JSON here would change it.
    let raw = body.to_string().replace(r#""(raw)""#, r#"{"z": [1, 2.50, {"b": null}], "a": "ü"}"#);
    let made =
        books.client.send("POST", "/v1/accounts", &[("idempotency-key", &fresh_key())], raw.as_bytes()).expect(201);
    assert_eq!(keys(&made), ["account_id", "name", "normal_side"]);
    let path = format!("/v1/accounts/{}", text(&made, "account_id"));
    let answer = books.client.get(&path);
    let record = answer.expect(200);
    assert_eq!(
        keys(&record),
        [
            "account_id",
            "asset_type_id",
            "balance_floor",
            "balance_floor_minor",
            "balance_tracking",
            "created_at",
            "metadata",
            "name",
            "normal_side",
            "scale",
            "status",
        ]
    );
    assert_eq!((&record["balance_floor"], &record["balance_floor_minor"]), (&json!("-12.50"), &json!("-1250")));
    assert_eq!(
        (&record["status"], &record["balance_tracking"], &record["scale"]),
        (&json!("active"), &json!("sync"), &json!(2))
    );
    assert_eq!(record["name"], body["name"]);
    assert!(answer.text.contains(r#""metadata":{"a":"ü","z":[1,2.50,{"b":null}]}"#), "{}", answer.text);
    assert!(is_instant(&record["created_at"]));
    let head = books.client.send("HEAD", &path, &[], b"");
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), answer.text.len().to_string());
}

#[test]
fn a_posting_moves_balances_and_shows_everywhere() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let mut body = transfer(&source, &alice, "100");
    body["description"] = json!("opening");
    body["external_id"] = json!("order-1");
    body["metadata"] = json!({"k": "v"});
    body["effective_at"] = json!("2020-02-29T12:00:00+02:00");
    let posted = books.client.post("/v1/transactions", &body).expect(201);
    assert_eq!(keys(&posted), ["accounts", "created_at", "state", "transaction_id"]);
    assert_eq!(posted["state"], "committed");
    assert_eq!(
        posted["accounts"],
        json!([
            {"account_id": source, "available_after_minor": "10000", "available_after": "100.00"},
            {"account_id": alice, "available_after_minor": "10000", "available_after": "100.00"},
        ])
    );
    let balance = books.client.get(&format!("/v1/accounts/{alice}/balance")).expect(200);
    assert!(is_instant(&balance["as_of"]));
    let expected = json!({
        "account_id": alice, "as_of": balance["as_of"], "scale": 2, "version": 1,
        "posted": {"debits": "0.00", "credits": "100.00", "debits_minor": "0", "credits_minor": "10000"},
        "pending": {"debits": "0.00", "credits": "0.00", "debits_minor": "0", "credits_minor": "0"},
        "available": "100.00", "available_minor": "10000",
    });
    assert_eq!(balance, expected);

    let id = text(&posted, "transaction_id");
    let read = books.client.get(&format!("/v1/transactions/{id}")).expect(200);
    let entries = books.client.get(&format!("/v1/accounts/{alice}/entries")).expect(200);
    assert_eq!(keys(&entries), ["entries", "next_cursor"]);
    assert_eq!(entries["entries"][0], read["entries"][1]);
    assert_eq!(entries["next_cursor"], Value::Null);
    let created_at = &posted["created_at"];
    let entry = json!({
        "id": read["entries"][1]["id"], "transaction_id": id, "account_id": alice, "direction": "credit",
        "amount": "100.00", "amount_minor": "10000", "scale": 2, "line_no": 2, "created_at": created_at,
        "transaction_state": "committed", "finalized_at": created_at,
    });
    assert_eq!(read["entries"][1], entry);
    assert_eq!(text(&entry, "id").as_bytes()[14], b'7', "a UUID version 7");
    let expected = json!({
        "transaction_id": id, "state": "committed", "description": "opening", "external_id": "order-1",
        "metadata": {"k": "v"}, "created_at": created_at, "effective_at": "2020-02-29T10:00:00.000000Z",
        "expires_at": null, "finalized_at": created_at, "entries": read["entries"],
    });
    assert_eq!(read, expected);

    let again = refused(&books.client.post("/v1/transactions", &body), 409, "DUPLICATE_TRANSACTION");
    assert_eq!(again, json!({"transaction_id": id}));
    let more = refused(&books.post(&alice, &source, "100.01"), 422, "INSUFFICIENT_AVAILABLE");
    assert_eq!(more, json!({"account_id": alice}));
    books.post(&alice, &source, "100.00").expect(201);
    assert_eq!(books.available(&alice), "0.00");
}

#[test]
fn a_hold_is_placed_committed_and_voided() {
    let books = Books::open(shared());
    let (source, alice, bob) = (books.source(), books.account("credit"), books.account("credit"));
    books.post(&source, &alice, "100.00").expect(201);
    let held = books.hold(&alice, &bob, "30.00").expect(201);
    assert_eq!(held["state"], "pending");
    assert_eq!(held["accounts"][0]["available_after"], "70.00");
    assert_eq!(held["accounts"][1]["available_after"], "0.00");
    let id = text(&held, "transaction_id");
    let read = books.client.get(&format!("/v1/transactions/{id}")).expect(200);
    assert_eq!((&read["state"], &read["finalized_at"]), (&json!("pending"), &Value::Null));
    assert_eq!(read["expires_at"], "2999-12-31T23:59:59.000000Z");
    assert_eq!(read["entries"][0]["finalized_at"], Value::Null);

    let committed = books.settle(&id, "commit").expect(200);
    assert_eq!(keys(&committed), ["finalized_at", "state", "transaction_id"]);
    assert_eq!((&committed["state"], &committed["transaction_id"]), (&json!("committed"), &json!(id)));
    assert_eq!(books.available(&bob), "30.00");
    for how in ["commit", "void"] {
        let details = refused(&books.settle(&id, how), 409, "INVALID_TRANSACTION_STATE");
        assert_eq!(details, json!({"state": "committed"}));
    }

    let other = text(&books.hold(&alice, &bob, "70.00").expect(201), "transaction_id");
    refused(&books.hold(&alice, &bob, "0.01"), 422, "INSUFFICIENT_AVAILABLE");
    let voided = books.settle(&other, "void").expect(200);
    assert_eq!((&voided["state"], &voided["transaction_id"]), (&json!("voided"), &json!(other)));
    assert!(is_instant(&voided["finalized_at"]));
    assert_eq!(books.available(&alice), "70.00");
    for (state, count) in [("pending", 0), ("committed", 2), ("voided", 1), ("expired", 0)] {
        let page = books.client.get(&format!("/v1/accounts/{alice}/entries?state={state}")).expect(200);
        assert_eq!(page["entries"].as_array().unwrap().len(), count, "{state}");
    }
    for how in ["commit", "void"] {
        let nobody = books.settle("01890000-0000-7000-8000-000000000000", how);
        refused(&nobody, 404, "TRANSACTION_NOT_FOUND");
        refused(&books.settle("nonsense", how), 404, "TRANSACTION_NOT_FOUND");
    }
}

#[test]
fn frozen_accounts_take_nothing_and_closed_ones_stay_closed() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    books.post(&source, &alice, "10.00").expect(201);
    let hold = text(&books.hold(&alice, &source, "4.00").expect(201), "transaction_id");
    let other = text(&books.hold(&alice, &source, "5.00").expect(201), "transaction_id");

    let frozen = books.patch(&alice, &json!({"status": "frozen"})).expect(200);
    assert_eq!((&frozen["status"], &frozen["account_id"]), (&json!("frozen"), &json!(alice)));
    assert_eq!(refused(&books.post(&source, &alice, "1.00"), 409, "ACCOUNT_NOT_ACTIVE"), json!({"account_id": alice}));
    // The same key succeeds once the account is active again.
    let key = format!("frozen-{}", unique());
    let path = format!("/v1/transactions/{hold}/commit");
    refused(&books.client.post_under(&key, &path, &json!({})), 409, "ACCOUNT_NOT_ACTIVE");
    books.settle(&other, "void").expect(200);
    books.patch(&alice, &json!({"status": "active"})).expect(200);
    let committed = books.client.post_under(&key, &path, &json!({}));
    assert_eq!(committed.header("idempotent-replayed"), "");
    assert_eq!(committed.expect(200)["state"], "committed");

    refused(&books.patch(&alice, &json!({"status": "closed"})), 409, "CLOSE_REQUIRES_ZERO_BALANCE");
    books.post(&alice, &source, "6.00").expect(201);
    books.patch(&alice, &json!({"status": "closed"})).expect(200);
    refused(&books.post(&source, &alice, "1.00"), 409, "ACCOUNT_NOT_ACTIVE");
    refused(&books.patch(&alice, &json!({"status": "active"})), 409, "IMMUTABLE_VIOLATION");
    assert_eq!(books.available(&alice), "0.00");
}

#[test]
fn patches_change_what_may_change() {
    let books = Books::open(shared());
    let alice = books.account("credit");
    let changed = books.patch(&alice, &json!({"name": "new", "metadata": {"a": 1}, "balance_floor": -500})).expect(200);
    assert_eq!((&changed["name"], &changed["metadata"]), (&json!("new"), &json!({"a": 1})));
    assert_eq!((&changed["balance_floor"], &changed["balance_floor_minor"]), (&json!("-5.00"), &json!("-500")));
    let cleared = books.patch(&alice, &json!({"metadata": {}, "balance_floor": null})).expect(200);
    assert_eq!((&cleared["name"], &cleared["metadata"]), (&json!("new"), &json!({})));
    assert_eq!((&cleared["balance_floor"], &cleared["balance_floor_minor"]), (&Value::Null, &Value::Null));
    refused(&books.patch(&alice, &json!({"balance_floor": "0.01"})), 422, "INVALID_FLOOR");
    books.patch(&alice, &json!({"balance_floor": "0.00"})).expect(200);
    books.patch(&alice, &json!({})).expect(200);
    for field in
        ["account_id", "asset_type_id", "normal_side", "balance_tracking", "scale", "created_at", "balance_floor_minor"]
    {
        let details = refused(&books.patch(&alice, &json!({field: "x"})), 409, "IMMUTABLE_VIOLATION");
        assert_eq!(details, json!({"field": field}));
    }
    refused(&books.patch(&alice, &json!({"normal_sides": "debit"})), 422, "INVALID_REQUEST");
    refused(&books.patch(&alice, &json!({"status": "open"})), 422, "INVALID_REQUEST");
    refused(&books.patch(&alice, &json!({"name": null})), 422, "INVALID_REQUEST");
    refused(&books.patch(&alice, &json!({"name": ""})), 422, "INVALID_ACCOUNT");
    refused(&books.patch(&alice, &json!({"metadata": null})), 422, "INVALID_METADATA");
    refused(&books.patch("01890000-0000-7000-8000-000000000000", &json!({})), 404, "ACCOUNT_NOT_FOUND");
    refused(&books.patch("nonsense", &json!({})), 422, "INVALID_ACCOUNT_ID");
}

#[test]
fn async_accounts_carry_no_floor_and_follow_at_once() {
    let books = Books::open(shared());
    let body = json!({
        "asset_type_id": books.asset_type_id, "name": "pool", "normal_side": "credit", "balance_tracking": "async",
    });
    let pool = text(&books.client.post("/v1/accounts", &body).expect(201), "account_id");
    let record = books.client.get(&format!("/v1/accounts/{pool}")).expect(200);
    assert_eq!((&record["balance_tracking"], &record["balance_floor"]), (&json!("async"), &Value::Null));
    let alice = books.account("credit");
    let posted = books.post(&pool, &alice, "5.00").expect(201);
    assert_eq!(posted["accounts"].as_array().unwrap().len(), 1, "sync accounts only");
    assert_eq!(posted["accounts"][0]["account_id"], json!(alice));
    assert_eq!(books.available(&pool), "-5.00");
    refused(&books.patch(&pool, &json!({"balance_floor": "-10.00"})), 422, "INVALID_FLOOR");
    let mut floored = body;
    floored["balance_floor"] = json!("0.00");
    refused(&books.client.post("/v1/accounts", &floored), 422, "INVALID_FLOOR");
    floored["balance_floor"] = Value::Null;
    books.client.post("/v1/accounts", &floored).expect(201);
}

#[test]
fn lists_are_paged_newest_first() {
    let books = Books::open(shared());
    let made: Vec<String> = (0..5).map(|_| books.account("credit")).collect();
    let mut seen = Vec::new();
    let mut path = "/v1/accounts?limit=2".to_owned();
    loop {
        let page = books.client.get(&path).expect(200);
        assert_eq!(keys(&page), ["accounts", "next_cursor"]);
        seen.extend(page["accounts"].as_array().unwrap().iter().map(|account| text(account, "account_id")));
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/accounts?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(books.client.get("/v1/accounts").expect(200)["accounts"].as_array().unwrap().len(), 5);
    let newest_first: Vec<String> = made.iter().rev().cloned().collect();
    assert_eq!(seen, newest_first);

    let source = books.source();
    let held = text(&books.hold(&source, &made[0], "9.00").expect(201), "transaction_id");
    for amount in ["1.00", "2.00", "3.00", "4.00"] {
        books.post(&source, &made[0], amount).expect(201);
    }
    books.settle(&held, "commit").expect(200);
    books.hold(&source, &made[0], "5.00").expect(201);
    let amounts = |filter: &str| {
        let mut amounts = Vec::new();
        let base = format!("/v1/accounts/{}/entries?limit=2{filter}", made[0]);
        let mut path = base.clone();
        loop {
            let page = books.client.get(&path).expect(200);
            amounts.extend(page["entries"].as_array().unwrap().iter().map(|entry| text(entry, "amount")));
            match page["next_cursor"].as_str() {
                Some(cursor) => path = format!("{base}&cursor={cursor}"),
                None => return amounts.join(" "),
            }
        }
    };
    assert_eq!(amounts(""), "5.00 4.00 3.00 2.00 1.00 9.00", "the order of posting, whatever became of it");
    assert_eq!(amounts("&state=committed"), "4.00 3.00 2.00 1.00 9.00");
    assert_eq!(amounts("&state=pending"), "5.00");

    // A cursor belongs to its list.
    let page = books.client.get(&format!("/v1/accounts/{}/entries?limit=2", made[0])).expect(200);
    let cursor = text(&page, "next_cursor");
    let elsewhere = [
        format!("/v1/accounts/{}/entries?limit=2&state=committed&cursor={cursor}", made[0]),
        format!("/v1/accounts/{}/entries?limit=2&cursor={cursor}", made[1]),
        format!("/v1/accounts?cursor={cursor}"),
        "/v1/accounts?cursor=nonsense".to_owned(),
    ];
    for path in elsewhere {
        refused(&books.client.get(&path), 422, "INVALID_REQUEST");
    }
}

#[test]
fn holds_lapse_by_the_rehearsal_clock() {
    let appliance = Setup::new().rehearsal().start();
    let books = Books::open(&appliance);
    let (source, alice) = (books.source(), books.account("credit"));
    let posted = books.post(&source, &alice, "100.00").expect(201);
    let now = parse_rfc3339(posted["created_at"].as_str().unwrap()).unwrap();
    let hold = |seconds: i64| {
        let mut body = transfer(&alice, &source, "30.00");
        body["pending"] = json!(true);
        body["expires_at"] = json!(rfc3339(now.plus_seconds(seconds)));
        text(&books.client.post("/v1/transactions", &body).expect(201), "transaction_id")
    };
    let (first, second, third) = (hold(3600), hold(7200), hold(86_400));
    assert_eq!(books.available(&alice), "10.00");

    let advanced = appliance.cli(&["clock", "advance", "3599"]);
    assert!(advanced.status.success());
    assert_eq!(books.available(&alice), "10.00");
    books.settle(&third, "commit").expect(200);
    assert!(appliance.cli(&["clock", "advance", "3601"]).status.success());
    assert_eq!(books.available(&alice), "70.00");
    for (id, at) in [(&first, 3600), (&second, 7200)] {
        let read = books.client.get(&format!("/v1/transactions/{id}")).expect(200);
        assert_eq!((&read["state"], &read["finalized_at"]), (&json!("expired"), &json!(rfc3339(now.plus_seconds(at)))));
        refused(&books.settle(id, "commit"), 410, "HOLD_EXPIRED");
        refused(&books.settle(id, "void"), 409, "INVALID_TRANSACTION_STATE");
    }
    let page = books.client.get(&format!("/v1/accounts/{alice}/entries?state=expired")).expect(200);
    assert_eq!(page["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn holds_lapse_in_real_time() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    // The later one first: the earlier one must still be noticed.
    books.hold(&source, &alice, "1.00").expect(201);
    let posted = books.post(&source, &alice, "5.00").expect(201);
    let now = parse_rfc3339(posted["created_at"].as_str().unwrap()).unwrap();
    let mut body = transfer(&alice, &source, "5.00");
    body["pending"] = json!(true);
    body["expires_at"] = json!(rfc3339(now.plus_micros(1_500_000)));
    let held = text(&books.client.post("/v1/transactions", &body).expect(201), "transaction_id");
    assert_eq!(books.available(&alice), "0.00");
    let begun = std::time::Instant::now();
    while books.available(&alice) == "0.00" {
        assert!(begun.elapsed().as_secs() < 10, "the hold was not released");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let read = books.client.get(&format!("/v1/transactions/{held}")).expect(200);
    assert_eq!(read["state"], "expired");
    let finalized = parse_rfc3339(read["finalized_at"].as_str().unwrap()).unwrap();
    assert!(finalized >= now.plus_micros(1_500_000));
}

#[test]
fn what_was_answered_survives_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let books = Books::open(&appliance);
    let (source, alice) = (books.source(), books.account("credit"));
    let (_, api_key) = appliance.key(&books.tenant_id, &[]);
    let body = transfer(&source, &alice, "12.34");
    let first = books.client.post_under("survivor", "/v1/transactions", &body);
    let hold = text(&books.hold(&alice, &source, "2.34").expect(201), "transaction_id");
    appliance.kill();

    let appliance = Setup::new().on(&data).start();
    let client = appliance.client("ledger", &api_key);
    let again = client.post_under("survivor", "/v1/transactions", &body);
    assert_eq!(
        (again.status, again.text, again.headers["idempotent-replayed"].to_str().unwrap()),
        (201, first.text, "true")
    );
    let books = Books { client, ..books };
    assert_eq!(books.available(&alice), "10.00");
    books.settle(&hold, "commit").expect(200);
    assert_eq!(appliance.stop(), Some(0));
}
