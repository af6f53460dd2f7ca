//! Signatures held against verifiers that are not ours: `standardwebhooks` of PyPI and of npm. They take what is delivered and
//! refuse what was tampered with; the contract's own signature is recomputed beside.

use std::sync::LazyLock;

use data_encoding::{BASE64, HEXLOWER};
use quintet_platform::deliveries::hmac_sha256;
use serde_json::{Value, json};

use crate::runs::Desk;
use crate::runs::webhooks::id_of;
use crate::support::appliance::{Appliance, Setup};
use crate::support::verifiers::{Verifier, taken_apart};

/// An appliance that may call this machine. Verifiers refuse what is five minutes old, so its clock is the real one.
static APPLIANCE: LazyLock<Appliance> =
    LazyLock::new(|| Setup::new().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.1/32").start());

/// What was delivered is genuine, in the contract's way as well; and once anything of it has changed, it is not.
fn judge_what_is_delivered(verifier: &mut Verifier, kind: &str, key: &[u8]) {
    let line = verifier.line();
    assert_eq!((&line["genuine"], &line["objection"]), (&json!(true), &Value::Null), "{kind}");
    let (head, body) = taken_apart(&line);
    let field = |name: &str| line["head"][name].as_str().unwrap();
    let own = HEXLOWER.encode(&hmac_sha256(key, &[field("x-svc-timestamp").as_bytes(), b".", &body]));
    assert_eq!(field("x-svc-signature"), format!("sha256={own}"), "{kind}");
    assert_eq!((field("x-svc-event-id"), field("x-svc-timestamp")), (field("webhook-id"), field("webhook-timestamp")));
    assert_eq!(verifier.judge(&head, &body)["genuine"], true, "{kind} takes it once more");
    for place in [0, body.len() / 2, body.len() - 1] {
        let mut tampered = body.clone();
        tampered[place] ^= 1;
        assert_eq!(verifier.judge(&head, &tampered)["genuine"], false, "{kind}: byte {place}");
    }
    let longer = [&body[..], b" "].concat();
    assert_eq!(verifier.judge(&head, &longer)["genuine"], false, "{kind}: a byte more");
    let seconds: i64 = head[1].1.parse().unwrap();
    for (place, value) in [
        (0, format!("{}0", head[0].1)),
        (1, (seconds + 1).to_string()),
        (1, (seconds - 3_600).to_string()),
        (2, head[2].1.replace("v1,", "v2,")),
        (2, format!("v1,{}", BASE64.encode(&hmac_sha256(b"another", &[&body])))),
        (2, format!("v1,{}", BASE64.encode(&hmac_sha256(key, &[&body])))),
    ] {
        let mut tampered = head.clone();
        tampered[place].1 = value;
        assert_eq!(verifier.judge(&tampered, &body)["genuine"], false, "{kind}: {tampered:?}");
    }
}

fn judged_by(kind: &str) {
    let desk = Desk::open(&APPLIANCE);
    // Nobody listens at the first address: the key is known before the verifier is.
    let made = desk.endpoint("http://127.0.0.1:9/", &["run.failed"]);
    let path = format!("/api/v1/webhooks/{}", id_of(&made));
    let key = HEXLOWER.decode(made["secret"].as_str().unwrap().as_bytes()).unwrap();
    let mut verifier = Verifier::start(kind, made["standard_webhooks_secret"].as_str().unwrap());
    let url = format!("http://{}/hook", verifier.address);
    desk.client.patch(&path, &json!({"url": url})).expect(200);
    desk.expired();
    judge_what_is_delivered(&mut verifier, kind, &key);
    // A rotated key signs from the next attempt on: who knows the old one alone takes nothing any more.
    let rotated = desk.client.post(&format!("{path}/rotate-secret"), &json!(null)).expect(200);
    desk.client.post(&format!("{path}/test"), &json!(null)).expect(202);
    assert_eq!(verifier.line()["genuine"], false, "{kind}");
    let mut verifier = Verifier::start(kind, rotated["standard_webhooks_secret"].as_str().unwrap());
    let key = HEXLOWER.decode(rotated["secret"].as_str().unwrap().as_bytes()).unwrap();
    desk.client.patch(&path, &json!({"url": format!("http://{}/hook", verifier.address)})).expect(200);
    desk.client.post(&format!("{path}/test"), &json!(null)).expect(202);
    judge_what_is_delivered(&mut verifier, kind, &key);
    // A supplied one is used as it stands, though it looks like a generated one.
    let supplied = made["secret"].as_str().unwrap();
    let mut verifier = Verifier::start(kind, &format!("whsec_{}", BASE64.encode(supplied.as_bytes())));
    let change = json!({"url": format!("http://{}/hook", verifier.address), "secret": supplied});
    assert_eq!(desk.client.patch(&path, &change).expect(200)["secret_origin"], "supplied");
    desk.client.post(&format!("{path}/test"), &json!(null)).expect(202);
    judge_what_is_delivered(&mut verifier, kind, supplied.as_bytes());
    // So is that of an inline webhook, whose text need not be ASCII.
    let secret = "Schlüssel ☃";
    let mut verifier = Verifier::start(kind, &format!("whsec_{}", BASE64.encode(secret.as_bytes())));
    let url = format!("http://{}/inline", verifier.address);
    let webhook = json!({"url": url, "events": ["run.failed"], "secret": secret});
    desk.id(&json!({"image": "a", "name": "Ünicode", "expires_at": "2020-01-01T00:00:00Z", "webhook": webhook}));
    judge_what_is_delivered(&mut verifier, kind, secret.as_bytes());
}

#[test]
fn the_verifier_of_pypi_takes_what_is_delivered_and_nothing_else() {
    judged_by("PyPI");
}

#[test]
fn the_verifier_of_npm_takes_what_is_delivered_and_nothing_else() {
    judged_by("npm");
}
