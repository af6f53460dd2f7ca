//! Trusted proxies: whose word on a request's origin counts, and what strangers make of it.

use crate::support::appliance::{Appliance, Client, Setup};

/// An appliance whose ledger takes two requests of a source at once, and one a second from then on.
fn limited(proxies: &str) -> Appliance {
    let setup = Setup::new().env("QUINTET_HTTP__TRUSTED_PROXIES", proxies);
    setup.env("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "1").env("QUINTET_LEDGER__EDGE_BURST", "2").start()
}

fn ask(client: &Client, fields: &[(&str, &str)]) -> u16 {
    client.send("GET", "/v1/accounts", fields, b"").status
}

/// Whether requests that say this of themselves come to the limit. A slow machine earns a token now and then.
fn is_limited(client: &Client, fields: &[(&str, &str)]) -> bool {
    (0..10).any(|_| ask(client, fields) == 429)
}

#[test]
fn the_address_that_a_trusted_proxy_tells_is_the_source() {
    let appliance = limited("127.0.0.0/8");
    let client = appliance.stranger("ledger");
    assert!(is_limited(&client, &[("x-forwarded-for", "198.51.100.1")]));
    // Others have buckets of their own, and so has the proxy itself.
    assert_eq!(ask(&client, &[("x-forwarded-for", "198.51.100.2")]), 401);
    assert_eq!(ask(&client, &[("x-forwarded-for", "[2001:db8::7]:4711")]), 401);
    assert_eq!(ask(&client, &[]), 401);
    // Health is never limited.
    for _ in 0..10 {
        client.send("GET", "/healthz", &[("x-forwarded-for", "198.51.100.1")], b"").expect(200);
    }
}

#[test]
fn whatever_a_caller_writes_before_the_proxys_word_changes_nothing() {
    let appliance = limited("127.0.0.0/8");
    let client = appliance.stranger("ledger");
    let mut number = 0;
    let mut invented = || {
        number += 1;
        format!("203.0.113.{number}, 10.0.0.{number}, 198.51.100.1")
    };
    assert!((0..10).any(|_| ask(&client, &[("x-forwarded-for", &invented())]) == 429));
    let mut split = || {
        number += 1;
        format!("203.0.113.{number}")
    };
    assert!((0..10).any(|_| {
        let theirs = split();
        ask(&client, &[("x-forwarded-for", &theirs), ("x-forwarded-for", "198.51.100.3")]) == 429
    }));
    // What is no address makes the proxy the source, whatever stands before it.
    for nonsense in ["unknown", "", "999.1.1.1", "198.51.100.7:99999", "_hidden", "198.51.100.7 198.51.100.8"] {
        assert!((0..10).any(|_| ask(&client, &[("x-forwarded-for", &format!("{}, {nonsense}", split()))]) == 429));
    }
    assert!(is_limited(&client, &[]), "they were the proxy's requests");
    // Fields that are not read.
    assert!(is_limited(&client, &[("forwarded", "for=203.0.113.99;proto=https"), ("x-real-ip", "203.0.113.98")]));
}

#[test]
fn nobody_is_believed_who_is_not_trusted() {
    let appliance = limited("10.0.0.0/8, fd00::/8");
    let client = appliance.stranger("ledger");
    let mut number = 0;
    assert!((0..10).any(|_| {
        number += 1;
        ask(&client, &[("x-forwarded-for", &format!("203.0.113.{number}"))]) == 429
    }));
    assert_eq!(scheme_of_a_picture(&appliance, &[("x-forwarded-proto", "https")]), "http");
}

/// The scheme of the address that a picture gets.
fn scheme_of_a_picture(appliance: &Appliance, fields: &[(&str, &str)]) -> String {
    let fields = [&[("content-type", "application/json")], fields].concat();
    let body = br#"{"dotfile": "digraph { a -> b }"}"#;
    let answer = appliance.stranger("diagrams").send("POST", "/graphs", &fields, body);
    assert!(answer.text.contains("://"), "{answer:?}");
    let before = answer.text.split("://").next().unwrap();
    before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap().to_owned()
}

#[test]
fn addresses_in_answers_have_the_scheme_of_the_caller() {
    let appliance = Setup::new().env("QUINTET_HTTP__TRUSTED_PROXIES", "127.0.0.1").start();
    assert_eq!(scheme_of_a_picture(&appliance, &[]), "http");
    assert_eq!(scheme_of_a_picture(&appliance, &[("x-forwarded-proto", "https")]), "https");
    assert_eq!(scheme_of_a_picture(&appliance, &[("x-forwarded-proto", "javascript")]), "http");
    assert_eq!(scheme_of_a_picture(&appliance, &[("forwarded", "proto=https")]), "http");
}
