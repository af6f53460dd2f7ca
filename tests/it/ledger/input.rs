//! Bad input to the ledger: every one gets its code, none gets further.

use serde_json::{Value, json};

use crate::ledger::{Books, FUTURE, refused, transfer};
use crate::support::appliance::{fresh_key, shared};

fn nested(levels: usize) -> Vec<u8> {
    // The root object is level 1.
    let inner = levels - 1;
    format!("{{\"metadata\":{}{}}}", "[".repeat(inner), "]".repeat(inner)).into_bytes()
}

#[test]
fn malformed_bodies() {
    let books = Books::open(shared());
    let send = |body: &[u8]| {
        let key = fresh_key();
        books.client.send("POST", "/v1/transactions", &[("idempotency-key", &key)], body)
    };
    let malformed: [&[u8]; 14] = [
        b"",
        b"  ",
        b"{",
        b"nonsense",
        b"{\"entries\":[]} trailing",
        b"{\"entries\":[],}",
        b"{'entries':[]}",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"{\"description\":\"\xff\"}",
        b"{\"description\":\"\\ud800\"}",
        b"[]",
        b"null",
        b"\"text\"",
    ];
    for body in malformed {
        refused(&send(body), 422, "INVALID_REQUEST");
    }
    let details = refused(&send(br#"{"entries":[],"entries":[]}"#), 422, "INVALID_REQUEST");
    assert_eq!(details["fields"][0]["field"], "entries");
    let details = refused(&send(br#"{"entries":[{"amount":"1","amount":"1"}]}"#), 422, "INVALID_REQUEST");
    assert_eq!(details["fields"][0]["field"], "entries[0].amount");
    refused(&send(br#"{"a":1,"\u0061":2}"#), 422, "INVALID_REQUEST");

    refused(&send(&nested(65)), 422, "INVALID_JSON_DEPTH");
    refused(&send(&nested(64)), 422, "INVALID_REQUEST");
    refused(&send("[".repeat(60_000).as_bytes()), 422, "INVALID_JSON_DEPTH");
}

#[test]
fn bodies_have_a_largest_size() {
    let books = Books::open(shared());
    let sized = |bytes: usize| {
        let frame = r#"{"description":""}"#.len();
        format!(r#"{{"description":"{}"}}"#, "x".repeat(bytes - frame)).into_bytes()
    };
    let send = |body: &[u8]| {
        let key = fresh_key();
        books.client.send("POST", "/v1/transactions", &[("idempotency-key", &key)], body)
    };
    refused(&send(&sized(64 * 1024 + 1)), 413, "PAYLOAD_TOO_LARGE");
    refused(&send(&sized(64 * 1024)), 422, "INVALID_REQUEST");
    // However large, the refusal arrives; and so does one that had no need of the body.
    for _ in 0..20 {
        refused(&send(&sized(5_000_000)), 413, "PAYLOAD_TOO_LARGE");
        let stranger = shared().stranger("ledger");
        refused(&stranger.send("POST", "/v1/transactions", &[], &sized(1_000_000)), 401, "UNAUTHENTICATED");
        refused(&stranger.send("POST", "/v1/nothing", &[], &sized(1_000_000)), 404, "NOT_FOUND");
    }
}

#[test]
fn every_wrong_field_is_named() {
    let books = Books::open(shared());
    let body = json!({
        "description": 7, "pending": "yes", "surprise": true, "metadata": {"anything": "goes"},
        "entries": [{"account_id": 1, "direction": "left"}, 3],
    });
    let details = refused(&books.client.post("/v1/transactions", &body), 422, "INVALID_REQUEST");
    let mut fields: Vec<&str> =
        details["fields"].as_array().unwrap().iter().map(|problem| problem["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "description",
            "entries[0].account_id",
            "entries[0].amount",
            "entries[0].direction",
            "entries[1]",
            "pending",
            "surprise",
        ]
    );
    // However much is wrong, the answer stays small.
    let many = json!({"entries": vec![json!({}); 100]});
    let answer = books.client.post("/v1/transactions", &many);
    let details = refused(&answer, 422, "INVALID_REQUEST");
    assert_eq!(details["fields"].as_array().unwrap().len(), 20);
}

#[test]
fn amounts() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let strings = [
        "0",
        "0.00",
        "-1.00",
        "+1.00",
        "1e2",
        "1E2",
        "1.",
        ".5",
        "",
        " 1",
        "1 ",
        "1,00",
        "1_0",
        "0x1",
        "NaN",
        "inf",
        "\u{0661}",
        "\u{ff11}",
        "1\u{2009}0",
        "1\u{0}",
        "99999999999999999999999999999",
    ];
    let others = [json!(1), json!(1.5), json!(null), json!(true), json!(["1"]), json!({"value": "1"})];
    for amount in strings.iter().map(|text| json!(text)).chain(others) {
        let mut body = transfer(&source, &alice, "1.00");
        body["entries"][1]["amount"] = amount.clone();
        let details = refused(&books.client.post("/v1/transactions", &body), 422, "INVALID_AMOUNT");
        assert_eq!(details["field"], "entries[1].amount", "{amount}");
    }
    for amount in ["1.001", "1.000", "0.0000000000001"] {
        let details = refused(&books.post(&source, &alice, amount), 422, "INVALID_AMOUNT_SCALE");
        assert_eq!(details, json!({"field": "entries[0].amount", "scale": 2}));
    }
    let most = "99999999999999999999999999.99";
    books.post(&source, &alice, most).expect(201);
    assert_eq!(books.available(&alice), most);
    books.post(&source, &alice, "0000.01").expect(201);
    assert_eq!(books.available(&alice), "100000000000000000000000000.00");
}

#[test]
fn amounts_beyond_the_counters() {
    let books = Books::open(shared());
    let body = json!({"code": "HUGE", "kind": "inventory", "scale": 10});
    let asset_type_id = books.client.post("/v1/asset-types", &body).expect(201)["asset_type_id"].clone();
    let books = Books { asset_type_id: asset_type_id.as_str().unwrap().to_owned(), ..books };
    let (source, alice) = (books.source(), books.account("credit"));
    let details = refused(&books.post(&source, &alice, &"9".repeat(28)), 422, "CONSTRAINT_VIOLATION");
    assert!(details["reason"].as_str().unwrap().contains("counters"));
    refused(&books.post(&source, &alice, &"9".repeat(29)), 422, "INVALID_AMOUNT");
    books.post(&source, &alice, &format!("4{}", "0".repeat(27))).expect(201);
}

#[test]
fn a_page_of_large_accounts_ends_early() {
    let books = Books::open(shared());
    let metadata = json!({"k": "x".repeat(16_000)});
    for _ in 0..70 {
        let body = json!({
            "asset_type_id": books.asset_type_id, "name": "n", "normal_side": "credit", "metadata": metadata,
        });
        books.client.post("/v1/accounts", &body).expect(201);
    }
    let first = books.client.get("/v1/accounts?limit=1000");
    let about_a_mebibyte = (1 << 20) - 32 * 1024..(1 << 20) + 32 * 1024;
    assert!(about_a_mebibyte.contains(&first.text.len()), "{} bytes", first.text.len());
    let first = first.expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = books.client.get(&format!("/v1/accounts?limit=1000&cursor={cursor}")).expect(200);
    assert_eq!(rest["next_cursor"], Value::Null);
    let count = |page: &Value| page["accounts"].as_array().unwrap().len();
    assert_eq!(count(&first) + count(&rest), 70);
}

#[test]
fn transactions() {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    let with = |change: &dyn Fn(&mut Value)| {
        let mut body = transfer(&source, &alice, "1.00");
        change(&mut body);
        books.client.post("/v1/transactions", &body)
    };
    let set = |name: &'static str, value: Value| with(&move |body: &mut Value| body[name] = value.clone());

    refused(&with(&|body| drop(body.as_object_mut().unwrap().remove("entries"))), 422, "INVALID_REQUEST");
    refused(&set("entries", json!({})), 422, "INVALID_REQUEST");
    let details = refused(&set("entries", json!([])), 422, "ENTRY_COUNT_OUT_OF_RANGE");
    assert_eq!(details, json!({"entries": 0, "minimum": 2, "maximum": 100}));
    refused(&with(&|body| drop(body["entries"].as_array_mut().unwrap().pop())), 422, "ENTRY_COUNT_OUT_OF_RANGE");
    let one = json!({"account_id": source, "direction": "debit", "amount": "1.00"});
    refused(&set("entries", json!(vec![one; 101])), 422, "ENTRY_COUNT_OUT_OF_RANGE");
    refused(&with(&|body| body["entries"][0]["amount"] = json!("1.01")), 422, "UNBALANCED_TRANSACTION");
    refused(&with(&|body| body["entries"][0]["direction"] = json!("credit")), 422, "UNBALANCED_TRANSACTION");
    refused(&with(&|body| body["entries"][0]["direction"] = json!("DEBIT")), 422, "INVALID_REQUEST");
    let malformed = with(&|body| body["entries"][0]["account_id"] = json!("nonsense"));
    assert_eq!(refused(&malformed, 422, "INVALID_ACCOUNT_ID"), json!({"field": "entries[0].account_id"}));
    let nobody = "01890000-0000-7000-8000-000000000000";
    let unknown = with(&|body| body["entries"][1]["account_id"] = json!(nobody));
    let details = refused(&unknown, 422, "REFERENCE_NOT_FOUND");
    assert_eq!(details, json!({"field": "entries[1].account_id", "account_id": nobody}));

    set("description", json!("ü".repeat(1024))).expect(201);
    set("description", Value::Null).expect(201);
    refused(&set("description", json!("ü".repeat(1025))), 422, "INVALID_DESCRIPTION");
    set("external_id", json!("ü".repeat(255))).expect(201);
    refused(&set("external_id", json!("ü".repeat(256))), 422, "INVALID_EXTERNAL_ID");
    refused(&set("external_id", json!("")), 422, "INVALID_EXTERNAL_ID");
    refused(&set("metadata", json!([])), 422, "INVALID_METADATA");
    refused(&set("metadata", json!("text")), 422, "INVALID_METADATA");
    // {"k":"..."} is 8 bytes longer than its text.
    set("metadata", json!({"k": "x".repeat(16 * 1024 - 8)})).expect(201);
    refused(&set("metadata", json!({"k": "x".repeat(16 * 1024 - 7)})), 422, "INVALID_METADATA");
    refused(&set("effective_at", json!("2020-01-01T00:00:00")), 422, "INVALID_EFFECTIVE_AT");
    refused(&set("effective_at", json!("2020-01-01")), 422, "INVALID_EFFECTIVE_AT");
    refused(&set("effective_at", json!("2020-02-30T00:00:00Z")), 422, "INVALID_EFFECTIVE_AT");
    refused(&set("effective_at", json!(1_577_836_800)), 422, "INVALID_EFFECTIVE_AT");
    refused(&set("effective_at", json!(FUTURE)), 422, "INVALID_EFFECTIVE_AT");
    set("effective_at", json!("2020-01-01T00:00:00-05:30")).expect(201);
    refused(&set("expires_at", json!(FUTURE)), 422, "INVALID_EXPIRES_AT");
    refused(&set("pending", json!(true)), 422, "INVALID_EXPIRES_AT");
    for wrong in [json!("2999-01-01T00:00:00"), json!("soon"), json!(4e9), json!("2020-01-01T00:00:00Z"), Value::Null] {
        let answer = with(&|body| {
            body["pending"] = json!(true);
            body["expires_at"] = wrong.clone();
        });
        refused(&answer, 422, "INVALID_EXPIRES_AT");
    }
    refused(&set("pending", Value::Null), 422, "INVALID_REQUEST");
    refused(&set("tenant_id", json!("x")), 422, "INVALID_REQUEST");
    let ids = ["not-an-id", "01890000-0000-7000-8000-000000000000", "018900000000700080000000000000000", "%ff", "%41"];
    for id in ids {
        refused(&books.client.get(&format!("/v1/transactions/{id}")), 404, "TRANSACTION_NOT_FOUND");
    }
}

#[test]
fn asset_types_and_accounts() {
    let books = Books::open(shared());
    let asset = |body: Value| books.client.post("/v1/asset-types", &body);
    refused(&asset(json!({"code": "X", "kind": "crypto", "scale": 8})), 422, "INVALID_ASSET_TYPE");
    refused(&asset(json!({"code": "X", "kind": "fiat", "scale": 13})), 422, "INVALID_ASSET_TYPE");
    refused(&asset(json!({"code": "X", "kind": "fiat", "scale": -1})), 422, "INVALID_ASSET_TYPE");
    for scale in ["256", "9223372036854775808", "-99999999999999999999", &"9".repeat(500)] {
        let body = format!(r#"{{"code":"X","kind":"fiat","scale":{scale}}}"#);
        let answer =
            books.client.send("POST", "/v1/asset-types", &[("idempotency-key", &fresh_key())], body.as_bytes());
        refused(&answer, 422, "INVALID_ASSET_TYPE");
    }
    refused(&asset(json!({"code": "", "kind": "fiat", "scale": 2})), 422, "INVALID_ASSET_TYPE");
    for wrong in [
        json!({"kind": "fiat", "scale": 2}),
        json!({"code": "X", "scale": 2}),
        json!({"code": "X", "kind": "fiat"}),
        json!({"code": 5, "kind": "fiat", "scale": 2}),
        json!({"code": "X", "kind": "fiat", "scale": "2"}),
        json!({"code": "X", "kind": "fiat", "scale": 2.5}),
        json!({"code": "X", "kind": "fiat", "scale": 2, "tenant": "other"}),
    ] {
        refused(&asset(wrong), 422, "INVALID_REQUEST");
    }

    let with = |name: &str, value: Value| {
        let mut body = json!({"asset_type_id": books.asset_type_id, "name": "n", "normal_side": "credit"});
        match value {
            Value::String(text) if text == "(absent)" => drop(body.as_object_mut().unwrap().remove(name)),
            value => body[name] = value,
        }
        books.client.post("/v1/accounts", &body)
    };
    refused(&with("asset_type_id", json!("01890000-0000-7000-8000-000000000000")), 404, "ASSET_TYPE_NOT_FOUND");
    refused(&with("asset_type_id", json!("nonsense")), 422, "INVALID_REQUEST");
    refused(&with("asset_type_id", json!("(absent)")), 422, "INVALID_REQUEST");
    refused(&with("name", json!("(absent)")), 422, "INVALID_REQUEST");
    refused(&with("name", json!("")), 422, "INVALID_ACCOUNT");
    with("name", json!("ü".repeat(255))).expect(201);
    refused(&with("name", json!("ü".repeat(256))), 422, "INVALID_ACCOUNT");
    refused(&with("normal_side", json!("(absent)")), 422, "INVALID_REQUEST");
    refused(&with("normal_side", json!("left")), 422, "INVALID_REQUEST");
    refused(&with("balance_tracking", json!("lazy")), 422, "INVALID_REQUEST");
    refused(&with("status", json!("active")), 422, "INVALID_REQUEST");
    refused(&with("metadata", json!(7)), 422, "INVALID_METADATA");
    for wrong in [json!(1.5), json!(1e3), json!("1.005"), json!("x"), json!(""), json!("1e2"), json!(true), json!([1])]
    {
        refused(&with("balance_floor", wrong), 422, "INVALID_FLOOR");
    }
    // Minor units as an integer have as many digits as a decimal may have: 28.
    let floor = |integer: &str| {
        let body = json!({
            "asset_type_id": books.asset_type_id, "name": "n", "normal_side": "credit", "balance_floor": "(raw)",
        });
        let body = body.to_string().replace(r#""(raw)""#, integer);
        books.client.send("POST", "/v1/accounts", &[("idempotency-key", &fresh_key())], body.as_bytes())
    };
    floor(&format!("-{}", "9".repeat(28))).expect(201);
    refused(&floor(&format!("-{}", "9".repeat(29))), 422, "INVALID_FLOOR");
    refused(&floor(&"9".repeat(37)), 422, "INVALID_FLOOR");
    for (floor, decimal, minor) in [
        (json!("(absent)"), json!("0.00"), json!("0")),
        (json!(null), Value::Null, Value::Null),
        (json!("-7"), json!("-7.00"), json!("-700")),
        (json!("-0.10"), json!("-0.10"), json!("-10")),
        (json!(-250), json!("-2.50"), json!("-250")),
        (json!(0), json!("0.00"), json!("0")),
        (json!("5.00"), json!("5.00"), json!("500")),
    ] {
        let made = with("balance_floor", floor.clone()).expect(201);
        let path = format!("/v1/accounts/{}", made["account_id"].as_str().unwrap());
        let record = books.client.get(&path).expect(200);
        assert_eq!((&record["balance_floor"], &record["balance_floor_minor"]), (&decimal, &minor), "{floor}");
    }
}

#[test]
fn parameters_and_ids_in_paths() {
    let books = Books::open(shared());
    let alice = books.account("credit");
    let entries = format!("/v1/accounts/{alice}/entries");
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "limit=",
        "limit=1&limit=1",
        "page=2",
        "limit=%zz",
        "limit=1.0",
    ] {
        refused(&books.client.get(&format!("/v1/accounts?{query}")), 422, "INVALID_REQUEST");
        refused(&books.client.get(&format!("{entries}?{query}")), 422, "INVALID_REQUEST");
    }
    books.client.get("/v1/accounts?limit=1000").expect(200);
    for state in ["open", "", "COMMITTED", "committed,voided"] {
        refused(&books.client.get(&format!("{entries}?state={state}")), 422, "INVALID_STATE");
    }
    for path in [format!("/v1/accounts/{alice}"), format!("/v1/accounts/{alice}/balance"), "/v1/asset-types".to_owned()]
    {
        refused(&books.client.get(&format!("{path}?verbose=1")), 422, "INVALID_REQUEST");
    }
    let key = fresh_key();
    let answer = books.client.send("POST", "/v1/transactions?dry_run=1", &[("idempotency-key", &key)], b"{}");
    refused(&answer, 422, "INVALID_REQUEST");
    for (id, status, code) in [
        ("nonsense", 422, "INVALID_ACCOUNT_ID"),
        ("%ff", 422, "INVALID_ACCOUNT_ID"),
        ("01890000-0000-7000-8000-000000000000", 404, "ACCOUNT_NOT_FOUND"),
    ] {
        for below in ["", "/balance", "/entries"] {
            refused(&books.client.get(&format!("/v1/accounts/{id}{below}")), status, code);
        }
    }
}

#[test]
fn unknown_paths_and_methods_answer_in_the_envelope() {
    let books = Books::open(shared());
    for path in ["/", "/v1", "/v1/", "/v1/accounts/", "/v2/accounts", "/v1/transactions", "/v1/nothing/%ff"] {
        let answer = books.client.get(path);
        if path == "/v1/transactions" {
            refused(&answer, 405, "METHOD_NOT_ALLOWED");
            assert_eq!(answer.header("allow"), "POST");
        } else {
            refused(&answer, 404, "NOT_FOUND");
        }
    }
    let alice = books.account("credit");
    for (method, path, allow) in [
        ("DELETE", "/v1/accounts".to_owned(), "GET,HEAD,POST"),
        ("PUT", format!("/v1/accounts/{alice}"), "GET,HEAD,PATCH"),
        ("POST", format!("/v1/accounts/{alice}/balance"), "GET,HEAD"),
        ("GET", "/v1/transactions/x/commit".to_owned(), "POST"),
        ("POST", "/healthz".to_owned(), "GET,HEAD"),
        ("OPTIONS", "/v1/asset-types".to_owned(), "GET,HEAD,POST"),
    ] {
        let answer = books.client.send(method, &path, &[], b"");
        refused(&answer, 405, "METHOD_NOT_ALLOWED");
        let mut allowed: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
        allowed.sort_unstable();
        assert_eq!(allowed.join(","), allow, "{method} {path}");
    }
    let head = books.client.send("HEAD", "/v1/nothing", &[], b"");
    assert_eq!((head.status, head.text.as_str()), (404, ""));
}
