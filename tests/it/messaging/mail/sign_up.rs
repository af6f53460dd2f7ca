//! Signing up, from the page of three fields over the mail to the first request with the key.

use serde_json::json;

use super::{DOMAIN, Server, until, with_relay};
use crate::support::appliance::{Answer, Appliance, Setup, stderr, stdout};

fn form(appliance: &Appliance, path: &str, origin: Option<&str>, body: &str) -> Answer {
    let mut fields = vec![("content-type", "application/x-www-form-urlencoded")];
    fields.extend(origin.map(|origin| ("origin", origin)));
    appliance.stranger("messaging").send("POST", path, &fields, body.as_bytes())
}

const BODY: &str = "address=ada%40example.com&name=Acme+%26+Sons&workspace=acme";

#[test]
fn who_reads_the_mail_of_an_address_makes_a_tenant() {
    let relay = Server::start("relay.py", &["fine"]);
    let appliance = with_relay(&relay).env("QUINTET_MESSAGING__SIGNUP", "open").env("RUST_LOG", "trace").start();
    let own = format!("http://{}", appliance.address("messaging"));
    let stranger = appliance.stranger("messaging");
    let page = stranger.get("/signup");
    assert!(page.status == 200 && page.text.contains("name=\"workspace\""), "{page:?}");
    for wrong in [None, Some("null"), Some("http://evil.example")] {
        assert_eq!(form(&appliance, "/signup", wrong, BODY).status, 403);
    }
    for (body, words) in [
        ("address=ada&name=x&workspace=acme", "address of mail"),
        ("address=ada%40example.com&name=x&workspace=A", "1 to 40"),
        (&format!("address=ada%40{DOMAIN}&name=x&workspace=a"), "agent"),
        ("address=ada%40example.com", "not the form"),
        ("%ff", "not the form"),
    ] {
        let again = form(&appliance, "/signup", Some(&own), body);
        assert!(again.status == 422 && again.text.contains(words), "{body}: {again:?}");
    }
    let large = format!("{BODY}&x={}", "x".repeat(9_000));
    assert_eq!(form(&appliance, "/signup", Some(&own), &large).status, 413);
    assert!(relay.mails().is_empty());
    let sent = form(&appliance, "/signup", Some(&own), BODY);
    assert!(sent.status == 200 && sent.text.contains("ada@example.com"), "{sent:?}");
    until("the mail is there", || !relay.mails().is_empty());
    let mail = relay.mails().remove(0);
    assert_eq!((&mail["to"], &mail["automatic"]), (&json!(["ada@example.com"]), &json!("auto-generated")));
    let text = mail["text"].as_str().unwrap();
    let url = text.split_whitespace().find(|word| word.contains("/signup/")).unwrap();
    let path = url.strip_prefix(&own).unwrap();
    // Programs that follow links make nothing, and neither do other pages.
    for _ in 0..3 {
        assert!(stranger.get(path).text.contains("Acme &amp; Sons"));
    }
    assert_eq!(form(&appliance, path, Some("http://evil.example"), "").status, 403);
    let tenants = || appliance.cli_json(&["tenant", "list"])["items"].as_array().unwrap().len();
    let before = tenants();
    let made = form(&appliance, path, Some(&own), "");
    assert_eq!((made.status, tenants()), (200, before + 1), "{made:?}");
    let key = made.text.split(['<', '>']).find(|text| text.starts_with("ab_sk_")).unwrap();
    let whoami = appliance.client("messaging", key).get("/v1/whoami").expect(200);
    assert_eq!((&whoami["workspace"]["slug"], &whoami["key"]["scope"]), (&json!("acme"), &json!("admin")), "{whoami}");
    for (method, status) in [("GET", 404), ("POST", 404)] {
        let fields = [("content-type", "application/x-www-form-urlencoded"), ("origin", own.as_str())];
        assert_eq!(stranger.send(method, path, &fields, b"").status, status);
    }
    assert_eq!(form(&appliance, "/signup", Some(&own), BODY).status, 422, "the name is given");
    let token = path.strip_prefix("/signup/").unwrap();
    assert!(!appliance.log().contains(token) && !appliance.log().contains(key));
    let verified = appliance.cli(&["verify"]);
    assert!(verified.status.success(), "{} {}", stdout(&verified), stderr(&verified));
}

#[test]
fn what_the_relay_does_not_take_waits_for_nobody() {
    let relay = Server::start("relay.py", &["refuse"]);
    let appliance = with_relay(&relay).env("QUINTET_MESSAGING__SIGNUP", "open").start();
    let own = format!("http://{}", appliance.address("messaging"));
    for _ in 0..5 {
        let refused = form(&appliance, "/signup", Some(&own), "address=nobody%40example.com&name=x&workspace=acme");
        assert!(refused.status == 503 && refused.text.contains("could not be sent"), "{refused:?}");
    }
    for number in 0..3 {
        let body = format!("address=ada%40example.com&name=x&workspace=w{number}");
        assert_eq!(form(&appliance, "/signup", Some(&own), &body).status, 200);
    }
    let more = form(&appliance, "/signup", Some(&own), "address=ada%40example.com&name=x&workspace=w");
    assert!(more.status == 429 && more.text.contains("Too many"), "{more:?}");
}

#[test]
fn nobody_signs_up_where_the_operator_has_not_said_so() {
    let relay = Server::start("relay.py", &["fine"]);
    for appliance in [with_relay(&relay).start(), Setup::new().env("QUINTET_MESSAGING__SIGNUP", "open").start()] {
        let own = format!("http://{}", appliance.address("messaging"));
        assert_eq!(appliance.stranger("messaging").get("/signup").status, 404);
        assert_eq!(form(&appliance, "/signup", Some(&own), BODY).status, 404);
        assert_eq!(appliance.stranger("messaging").get("/signup/abc").status, 404);
    }
}
