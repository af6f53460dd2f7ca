//! Signatures held against `standardwebhooks` of PyPI and of npm, on both sides: what they sign is taken, and what is told to
//! them they take.

use std::sync::LazyLock;

use data_encoding::{BASE64, HEXLOWER};
use quintet_platform::deliveries::hmac_sha256;
use serde_json::json;

use super::{Endpoint, seconds};
use crate::support::appliance::{Appliance, Setup};
use crate::support::messaging::Workspace;
use crate::support::verifiers::{Verifier, signed_by, taken_apart};

/// An appliance that may call this machine, under the real clock: so are the verifiers.
static APPLIANCE: LazyLock<Appliance> =
    LazyLock::new(|| Setup::new().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.1/32").start());

fn judged_by(kind: &str) {
    let workspace = Workspace::open(&APPLIANCE);
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let endpoint = Endpoint::make(&ben.client, "ben");
    let stranger = APPLIANCE.stranger("messaging");
    let now = seconds();
    let long = "x".repeat(100_000);
    let bodies = ["", "{}", "words", r#"{"text": "Grüße ☃"}"#, &long];
    let calls: Vec<(String, i64, String)> =
        bodies.iter().enumerate().map(|(place, body)| (format!("msg_{place}"), now, (*body).to_owned())).collect();
    for (head, (_, _, body)) in signed_by(kind, &endpoint.secret, &calls).iter().zip(&calls) {
        endpoint.call(&stranger, head, body.as_bytes()).expect(202);
        assert_eq!(endpoint.call(&stranger, head, body.as_bytes()).status, 401, "{kind}: a replay");
    }
    let texts: Vec<String> = ben.inbox(0).iter().map(|row| row["delivery_id"].as_str().unwrap().to_owned()).collect();
    for (id, body) in texts.iter().zip(bodies) {
        assert_eq!(ben.client.get(&format!("/v1/deliveries/{id}")).expect(200)["text_body"], body, "{kind}");
    }
    // And what is told to others, by the same kind of secret.
    let secret = format!("whsec_{}", BASE64.encode(&[kind.len() as u8; 32]));
    let mut verifier = Verifier::start(kind, &secret);
    let body = json!({"url": format!("http://{}/hook", verifier.address), "agent": "ben", "secret": secret});
    let made = ben.client.post("/v1/webhooks", &body).expect(201);
    assert_eq!(made["secret"], secret.as_str());
    ann.send(&["ben"], "a");
    let line = verifier.line();
    assert_eq!((&line["genuine"], &line["objection"]), (&json!(true), &json!(null)), "{kind}");
    let (head, body) = taken_apart(&line);
    let field = |name: &str| line["head"][name].as_str().unwrap();
    let own = hmac_sha256(&[kind.len() as u8; 32], &[field("x-agentbus-timestamp").as_bytes(), b".", &body]);
    assert_eq!(field("x-agentbus-signature"), format!("v1={}", HEXLOWER.encode(&own)), "{kind}");
    let mut tampered = body.clone();
    tampered[10] ^= 1;
    assert_eq!(verifier.judge(&head, &tampered)["genuine"], false, "{kind}");
}

#[test]
fn the_package_of_pypi_signs_what_is_taken_and_takes_what_is_told() {
    judged_by("PyPI");
}

#[test]
fn the_package_of_npm_signs_what_is_taken_and_takes_what_is_told() {
    judged_by("npm");
}
