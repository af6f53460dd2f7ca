//! Balances as of a past instant over HTTP.

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use serde_json::{Value, json};

use crate::ledger::{Books, refused, text, transfer};
use crate::support::appliance::{Setup, shared};

#[test]
fn two_clocks_tell_two_stories() {
    let appliance = Setup::new().rehearsal().start();
    let books = Books::open(&appliance);
    let (source, alice) = (books.source(), books.account("credit"));
    let post = |amount: &str, effective_at: Option<&str>| {
        let mut body = transfer(&source, &alice, amount);
        body["effective_at"] = json!(effective_at);
        books.client.post("/v1/transactions", &body).expect(201)
    };
    let posted = post("10.00", None);
    let start = parse_rfc3339(&text(&posted, "created_at")).unwrap();
    let after = |seconds| rfc3339(start.plus_seconds(seconds));
    let hold = text(&books.hold(&source, &alice, "5.00").expect(201), "transaction_id");
    assert!(appliance.cli(&["clock", "advance", "100"]).status.success());
    post("2.50", Some("2001-02-03T04:05:06+02:00"));
    books.settle(&hold, "commit").expect(200);
    assert!(appliance.cli(&["clock", "advance", "100"]).status.success());
    let as_of = |at: &str, basis: &str| {
        let path = format!("/v1/accounts/{alice}/balance-as-of?at={}{basis}", at.replace('+', "%2B"));
        books.client.get(&path).expect(200)
    };
    let now = as_of(&after(200), "");
    let expected = json!({
        "account_id": alice, "as_of": after(200), "balance": "17.50", "balance_minor": "1750", "scale": 2,
        "posted": {"debits": "0.00", "credits": "17.50", "debits_minor": "0", "credits_minor": "1750"},
        "entry_count": 3, "balance_tracking": "sync", "derived_from": "journal",
    });
    assert_eq!(now, expected);
    let told = |at: &str| {
        let balance = |basis: &str| text(&as_of(at, basis), "balance");
        assert_eq!(balance(""), balance("&basis=effective"));
        (balance("&basis=effective"), balance("&basis=recorded"))
    };
    let pair = |effective: &str, recorded: &str| (effective.to_owned(), recorded.to_owned());
    assert_eq!(told("2001-02-03T02:05:05.999999Z"), pair("0.00", "0.00"));
    assert_eq!(told("2001-02-03T04:05:06+02:00"), pair("2.50", "0.00"));
    assert_eq!(told(&after(-1)), pair("2.50", "0.00"));
    assert_eq!(told(&after(0)), pair("17.50", "10.00"), "the hold took effect when it was placed");
    assert_eq!(told(&after(99)), pair("17.50", "10.00"));
    assert_eq!(told(&after(100)), pair("17.50", "17.50"));
}

#[test]
fn instants_that_are_none() {
    let books = Books::open(shared());
    let alice = books.account("credit");
    let ask = |query: &str| books.client.get(&format!("/v1/accounts/{alice}/balance-as-of{query}"));
    for query in [
        "",
        "?at=",
        "?at=yesterday",
        "?at=2020-01-01",
        "?at=2020-01-01T00:00:00",
        "?at=2020-01-01T00:00:00+02:00",
        "?at=2020-13-01T00:00:00Z",
        "?at=2999-01-01T00:00:00Z",
        "?at=1577836800",
    ] {
        refused(&ask(query), 422, "INVALID_AS_OF");
    }
    let plus = refused(&ask("?at=2020-01-01T00:00:00+02:00"), 422, "INVALID_AS_OF");
    assert!(text(&plus, "reason").contains("%2B"), "{plus}");
    refused(&ask("?at=2020-01-01T00:00:00Z&basis=posted"), 422, "INVALID_REQUEST");
    refused(&ask("?at=2020-01-01T00:00:00Z&limit=1"), 422, "INVALID_REQUEST");
    let early = ask("?at=0001-01-01T00:00:00Z").expect(200);
    assert_eq!((&early["balance"], &early["entry_count"]), (&json!("0.00"), &Value::from(0)));
    for (id, status, code) in
        [("nonsense", 422, "INVALID_ACCOUNT_ID"), ("01890000-0000-7000-8000-000000000000", 404, "ACCOUNT_NOT_FOUND")]
    {
        let path = format!("/v1/accounts/{id}/balance-as-of?at=2020-01-01T00:00:00Z");
        refused(&books.client.get(&path), status, code);
    }
}

#[test]
fn what_was_just_posted_is_in_the_present() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    for n in 1..20 {
        let posted = books.post(&source, &alice, "1.00").expect(201);
        let at = text(&posted, "created_at");
        for basis in ["effective", "recorded"] {
            let path = format!("/v1/accounts/{alice}/balance-as-of?at={at}&basis={basis}");
            assert_eq!(books.client.get(&path).expect(200)["entry_count"], n);
        }
    }
}
