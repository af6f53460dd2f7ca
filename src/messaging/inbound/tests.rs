//! Calls of inbound endpoints: what proves one, what does not, and what becomes of it (6-messaging.md, H).

use std::collections::BTreeMap;

use axum::body::Body;
use bytes::Bytes;
use data_encoding::{BASE64, HEXLOWER};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body_util::BodyExt as _;
use quintet_platform::deliveries::hmac_sha256;
use quintet_platform::egress::Inside as _;
use quintet_platform::ids::ulid;
use quintet_storage::Uuid;
use serde_json::{Value, json};

use super::Door;
use crate::identity::Scope;
use crate::limits::EXTERNAL_IN_PER_DAY;
use crate::testing::{Bench, assert_refused};
use crate::words::sealed::tests::sealed_text;

const NONE: Value = Value::Null;
const BODY: &str = r#"{"build": 7}"#;

/// An endpoint, as its caller knows it.
#[derive(Clone)]
struct Known {
    path: String,
    url: String,
    secret: String,
}

impl Known {
    fn key(&self) -> Vec<u8> {
        BASE64.decode(self.secret.strip_prefix("whsec_").unwrap().as_bytes()).unwrap()
    }
}

async fn made(bench: &Bench, agent: &str, body: Value) -> Known {
    let (status, told) = bench.call_as(agent, "POST", &format!("/v1/agents/{agent}/inbound"), body).await;
    assert_eq!(status, 201, "{told}");
    let url = told["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix("https://messages.example").unwrap().to_owned();
    Known { path, url, secret: told["secret"].as_str().unwrap().to_owned() }
}

async fn counters(bench: &Bench, agent: &str) -> Value {
    bench.call_as(agent, "GET", &format!("/v1/agents/{agent}/inbound"), NONE).await.1
}

/// Accepted, and rejected for each reason.
async fn counted(bench: &Bench, agent: &str) -> [u64; 4] {
    let told = counters(bench, agent).await;
    ["accepted", "rejected_signature", "rejected_replay", "rejected_stale"].map(|name| told[name].as_u64().unwrap())
}

type Fields = Vec<(&'static str, String)>;

fn standard(key: &[u8], id: &str, at: i64, body: &[u8]) -> Fields {
    let at = at.to_string();
    let signature = hmac_sha256(key, &[id.as_bytes(), b".", at.as_bytes(), b".", body]);
    let signature = format!("v1,{}", BASE64.encode(&signature));
    vec![("webhook-id", id.to_owned()), ("webhook-timestamp", at), ("webhook-signature", signature)]
}

fn own(key: &[u8], at: i64, body: &[u8]) -> Fields {
    let at = at.to_string();
    let signature = format!("v1={}", HEXLOWER.encode(&hmac_sha256(key, &[at.as_bytes(), b".", body])));
    vec![("x-agentbus-timestamp", at), ("x-agentbus-signature", signature)]
}

fn service(secret: &str, id: &str, at: i64, body: &[u8]) -> Fields {
    let at = at.to_string();
    let signature = hmac_sha256(secret.as_bytes(), &[at.as_bytes(), b".", body]);
    let signature = format!("sha256={}", HEXLOWER.encode(&signature));
    let mut fields = vec![("x-svc-timestamp", at), ("x-svc-signature", signature)];
    if !id.is_empty() {
        fields.extend([("x-svc-event-id", id.to_owned()), ("x-svc-event", "run.exited".to_owned())]);
    }
    fields
}

async fn call(bench: &Bench, path: &str, fields: &[(&'static str, String)], body: &[u8]) -> (u16, Bytes) {
    let mut request = Request::builder().method("POST").uri(path);
    for (name, value) in fields {
        request = request.header(*name, value);
    }
    let mut response = bench.answer(request.body(Body::from(body.to_vec())).unwrap()).await;
    let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
    (response.status().as_u16(), bytes)
}

/// The delivery that a call has become.
#[track_caller]
fn delivery((status, bytes): (u16, Bytes)) -> String {
    let told: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(status, 202, "{told}");
    told["delivery_id"].as_str().unwrap().to_owned()
}

fn seconds(bench: &Bench) -> i64 {
    bench.now().as_micros() / 1_000_000
}

fn verify(bench: &Bench) {
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), Vec::<String>::new());
}

async fn bench_of(is_encrypted: bool) -> (Bench, Known) {
    let bench = if is_encrypted { Bench::encrypted() } else { Bench::new() };
    bench.agent("ann");
    let known = made(&bench, "ann", json!({"label": "ci"})).await;
    (bench, known)
}

#[tokio::test]
async fn each_form_proves_a_call_which_becomes_a_message() {
    let (bench, known) = bench_of(false).await;
    let now = seconds(&bench);
    let subject = vec![("x-agentbus-subject", "Build 7".to_owned())];
    for (fields, subject) in [
        (standard(&known.key(), "one", now, BODY.as_bytes()), "Inbound call"),
        (own(&known.key(), now, BODY.as_bytes()), "Inbound call"),
        (service(&known.secret, "two", now, BODY.as_bytes()), "run.exited"),
        (service(&known.secret, "", now - 1, BODY.as_bytes()), "Inbound call"),
        ([standard(&known.key(), "three", now, BODY.as_bytes()), subject.clone()].concat(), "Build 7"),
        ([service(&known.secret, "four", now - 2, BODY.as_bytes()), subject].concat(), "Build 7"),
    ] {
        let id = delivery(call(&bench, &known.path, &fields, BODY.as_bytes()).await);
        let (status, told) = bench.call_as("ann", "GET", &format!("/v1/deliveries/{id}"), NONE).await;
        assert_eq!((status, &told["delivery_id"], &told["subject"]), (200, &json!(id), &json!(subject)), "{told}");
        assert_eq!((&told["text_body"], &told["payload"]), (&json!(BODY), &json!({"build": 7})));
        assert_eq!((&told["direction"], &told["inbound_source"]), (&json!("ingress"), &json!("hook:ci")));
        assert_eq!((&told["priority"], &told["sender_agent_name"]), (&json!("normal"), &NONE));
        assert_eq!(told["provenance"]["level"], "external_unverified");
    }
    let told = counters(&bench, "ann").await;
    let members: Vec<&String> = told.as_object().unwrap().keys().collect();
    let seven = [
        "accepted",
        "last_accepted_at",
        "previous_secret_valid_until",
        "rejected_replay",
        "rejected_signature",
        "rejected_stale",
        "url",
    ];
    let mut sorted = members.clone();
    sorted.sort();
    assert_eq!(sorted, seven.iter().collect::<Vec<_>>(), "exactly these");
    assert_eq!((&told["accepted"], &told["url"]), (&json!(6), &json!(known.url)));
    assert!(told["last_accepted_at"].is_string() && told["previous_secret_valid_until"].is_null());
    verify(&bench);
}

#[tokio::test]
async fn what_a_body_becomes() {
    let (bench, known) = bench_of(false).await;
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let large = format!("{{\"x\": \"{}\"}}", "y".repeat(200_000));
    for (number, (body, text, payload)) in [
        (&b""[..], "", NONE),
        (b"plain words", "plain words", NONE),
        (b"null", "null", NONE),
        (b"[1, 2]", "[1, 2]", json!([1, 2])),
        (br#"{"a": 1, "a": 2}"#, r#"{"a": 1, "a": 2}"#, NONE),
        (deep.as_bytes(), deep.as_str(), NONE),
        (large.as_bytes(), large.as_str(), json!({"x": "y".repeat(200_000)})),
        (b"\xff\x00", "The body is no UTF-8 text. In base64:\n/wA=", NONE),
    ]
    .into_iter()
    .enumerate()
    {
        let fields = standard(&known.key(), &number.to_string(), seconds(&bench), body);
        let id = delivery(call(&bench, &known.path, &fields, body).await);
        let told = bench.call_as("ann", "GET", &format!("/v1/deliveries/{id}"), NONE).await.1;
        assert_eq!((&told["text_body"], &told["payload"]), (&json!(text), &payload), "{number}");
    }
    let mut fields = own(&known.key(), seconds(&bench), b"x");
    fields.push(("x-agentbus-subject", format!("\u{e9}{}", "z".repeat(2_000))));
    let id = delivery(call(&bench, &known.path, &fields, b"x").await);
    let told = bench.call_as("ann", "GET", &format!("/v1/deliveries/{id}"), NONE).await.1;
    assert_eq!(told["subject"].as_str().unwrap().len(), 998, "it is cut as others are");
    verify(&bench);
}

/// Whoever has no secret gets the same bytes, whatever he tries, and nothing is written down.
#[tokio::test]
async fn what_nothing_proves_is_answered_alike() {
    let (bench, known) = bench_of(false).await;
    bench.agent("ben");
    let other = made(&bench, "ben", json!({})).await;
    let (now, key, body) = (seconds(&bench), known.key(), BODY.as_bytes());
    let with = |mut fields: Fields, name: &'static str, value: &str| {
        fields.retain(|(known, _)| *known != name);
        fields.push((name, value.to_owned()));
        fields
    };
    let without = |mut fields: Fields, name: &str| {
        fields.retain(|(known, _)| *known != name);
        fields
    };
    let good = || standard(&key, "id", now, body);
    let unknown = format!("/in/{}", ulid(Uuid::from_u128(0x0190_a1b2_c3d4_7e5f_8a9b_0c1d_2e3f_4a5b)));
    let signature = |fields: &Fields, name: &str| fields.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    let forged: Vec<(&str, Fields)> = vec![
        (&known.path, vec![]),
        (&known.path, without(good(), "webhook-id")),
        (&known.path, without(good(), "webhook-timestamp")),
        (&known.path, without(good(), "webhook-signature")),
        (&known.path, with(good(), "webhook-id", "ie")),
        (&known.path, with(good(), "webhook-id", &"i".repeat(257))),
        (&known.path, with(good(), "webhook-timestamp", &(now + 1).to_string())),
        (&known.path, with(good(), "webhook-timestamp", &format!("+{now}"))),
        (&known.path, with(good(), "webhook-timestamp", &format!("{now}.0"))),
        (&known.path, with(good(), "webhook-timestamp", "99999999999999999999")),
        (&known.path, with(good(), "webhook-signature", "")),
        (&known.path, with(good(), "webhook-signature", "v1,")),
        (&known.path, with(good(), "webhook-signature", "v1,AAAA")),
        (
            &known.path,
            with(good(), "webhook-signature", &signature(&good(), "webhook-signature").replace("v1,", "v2,")),
        ),
        (&known.path, [good(), vec![("webhook-id", "id".to_owned())]].concat()),
        (&known.path, standard(&other.key(), "id", now, body)),
        (&known.path, standard(known.secret.as_bytes(), "id", now, body)),
        (&known.path, standard(&key, "id", now, b"another body")),
        (&known.path, standard(b"", "id", now, body)),
        (&known.path, standard(&[0; 32], "id", now, body)),
        (&known.path, own(&other.key(), now, body)),
        (&known.path, own(&key, now, b"another body")),
        (&known.path, with(own(&key, now, body), "x-agentbus-timestamp", &(now - 1).to_string())),
        (&known.path, service(&other.secret, "id", now, body)),
        (&known.path, service(&BASE64.encode(&key), "id", now, body)),
        (&known.path, with(service(&known.secret, "id", now, body), "x-svc-signature", "none")),
        (&other.path, good()),
        (&unknown, good()),
        (&unknown, standard(&[0; 32], "id", now, body)),
        ("/in/nothing", good()),
        ("/in/%20", good()),
        ("/in/00000000000000000000000000", good()),
    ];
    let (count, lsn) = (forged.len(), bench.context.store.read().lsn());
    let mut answers = Vec::new();
    for (path, fields) in forged {
        let answer = call(&bench, path, &fields, body).await;
        assert_eq!(answer.0, 401, "{path} {fields:?} {answer:?}");
        answers.push(answer.1);
    }
    assert_eq!(bench.context.store.read().lsn(), lsn, "nothing was written");
    // What is signed and not for now is told by nothing but the count.
    for at in [now - 301, now + 301] {
        answers.push(call(&bench, &known.path, &standard(&key, "late", at, body), body).await.1);
    }
    delivery(call(&bench, &known.path, &good(), body).await);
    answers.push(call(&bench, &known.path, &good(), body).await.1);
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let told: Value = serde_json::from_slice(&answers[0]).unwrap();
    assert_eq!((&told["code"], &told["status"]), (&json!("invalid_signature"), &json!(401)));
    let elsewhere = 6;
    assert_eq!(counted(&bench, "ann").await, [1, count as u64 - elsewhere, 1, 2]);
    assert_eq!(counted(&bench, "ben").await, [0, 1, 0, 0]);
    bench.advance(61).await;
    assert_eq!(counted(&bench, "ann").await, [1, count as u64 - elsewhere, 1, 2], "and now they are stored");
    assert_eq!(bench.context.rejections.due(), None);
    verify(&bench);
}

#[tokio::test]
async fn one_good_signature_of_several_is_enough() {
    let (bench, known) = bench_of(false).await;
    let (now, key, body) = (seconds(&bench), known.key(), BODY.as_bytes());
    let wrong = format!("v1,{}", BASE64.encode(&[9; 32]));
    let several = |fields: Fields, name: &str, before: &str, after: &str| -> Fields {
        let join = |value: String| format!("{before}{value}{after}");
        fields.into_iter().map(|(known, value)| (known, if known == name { join(value) } else { value })).collect()
    };
    let mut second = standard(&key, "b", now, body);
    second.insert(0, ("webhook-signature", wrong.clone()));
    for fields in [
        several(standard(&key, "a", now, body), "webhook-signature", &format!("{wrong} v1a,x  "), ""),
        second,
        several(own(&key, now, body), "x-agentbus-signature", "v1=00,", " v0=1"),
        several(service(&known.secret, "c", now, body), "x-svc-signature", "sha256=00, ", ""),
        // As this appliance's services sign: their own form is good, and that of Standard Webhooks under another key.
        [standard(known.secret.as_bytes(), "d", now - 1, body), service(&known.secret, "d", now - 1, body)].concat(),
    ] {
        delivery(call(&bench, &known.path, &fields, body).await);
    }
    assert_eq!(counted(&bench, "ann").await, [5, 0, 0, 0]);
}

#[tokio::test]
async fn the_window_is_five_minutes_either_way() {
    let (bench, known) = bench_of(false).await;
    let (now, key, body) = (seconds(&bench), known.key(), BODY.as_bytes());
    for (number, (at, is_good)) in [(-301, false), (-300, true), (300, true), (301, false)].into_iter().enumerate() {
        let fields = standard(&key, &number.to_string(), now + at, body);
        assert_eq!(call(&bench, &known.path, &fields, body).await.0 == 202, is_good, "{at}");
        let fields = own(&key, now + at, body);
        assert_eq!(call(&bench, &known.path, &fields, body).await.0 == 202, is_good, "{at}");
    }
    assert_eq!(counted(&bench, "ann").await, [4, 0, 0, 4]);
}

/// 6-messaging.md, H3.
#[tokio::test]
async fn a_retry_is_told_from_a_replay() {
    let (bench, known) = bench_of(false).await;
    let (now, key, body) = (seconds(&bench), known.key(), BODY.as_bytes());
    let at = |after: i64| standard(&key, "event", now + after, body);
    let first = delivery(call(&bench, &known.path, &at(0), body).await);
    assert_eq!(call(&bench, &known.path, &at(0), body).await.0, 401);
    bench.advance(10).await;
    assert_eq!(delivery(call(&bench, &known.path, &at(10), body).await), first);
    for replayed in [0, 10, 9] {
        assert_eq!(call(&bench, &known.path, &at(replayed), body).await.0, 401, "{replayed}");
    }
    // In the form of runs the id is not signed: the same signature under another id is the same call.
    let fields = service(&known.secret, "run", now + 10, body);
    let run = delivery(call(&bench, &known.path, &fields, body).await);
    let renamed = service(&known.secret, "other", now + 10, body);
    assert_eq!(call(&bench, &known.path, &renamed, body).await.0, 401);
    assert_eq!(delivery(call(&bench, &known.path, &service(&known.secret, "run", now + 20, body), body).await), run);
    // Without an id it is the signature that is remembered.
    delivery(call(&bench, &known.path, &own(&key, now + 5, body), body).await);
    assert_eq!(call(&bench, &known.path, &own(&key, now + 5, body), body).await.0, 401);
    assert_eq!(counted(&bench, "ann").await, [3, 0, 6, 0], "a retry makes no message");
    // As long as it is remembered it is the same call, and then another.
    bench.advance(600).await;
    assert_eq!(delivery(call(&bench, &known.path, &at(610), body).await), first);
    bench.advance(601).await;
    assert_ne!(delivery(call(&bench, &known.path, &at(1_211), body).await), first);
    assert_eq!(counted(&bench, "ann").await[0], 4);
    verify(&bench);
    bench.advance(3_600).await;
    let left = bench.context.store.read();
    use quintet_storage::Read as _;
    assert!(left.scan(&super::tables::REPLAYS, quintet_storage::Scan::all()).unwrap().is_empty(), "all of it goes");
}

#[tokio::test]
async fn a_secret_is_renewed_with_grace() {
    let (bench, known) = bench_of(false).await;
    let body = BODY.as_bytes();
    let rotate = async |grace: i64| {
        let body = json!({"grace_seconds": grace});
        let (status, told) = bench.call_as("ann", "POST", "/v1/agents/ann/inbound/rotate-secret", body).await;
        assert_eq!(status, 200, "{told}");
        (
            Known { secret: told["secret"].as_str().unwrap().to_owned(), ..known.clone() },
            told["previous_valid_until"].clone(),
        )
    };
    let number = std::cell::Cell::new(0);
    let is_good = async |known: &Known| {
        number.set(number.get() + 1);
        let fields = standard(&known.key(), &number.get().to_string(), seconds(&bench), body);
        call(&bench, &known.path, &fields, body).await.0 == 202
    };
    let (second, until) = rotate(60).await;
    assert_eq!(counters(&bench, "ann").await["previous_secret_valid_until"], until);
    assert_eq!((is_good(&known).await, is_good(&second).await), (true, true));
    bench.advance(59).await;
    assert!(is_good(&known).await);
    bench.advance(1).await;
    assert_eq!((is_good(&known).await, is_good(&second).await), (false, true), "its grace is over");
    assert_eq!(counters(&bench, "ann").await["previous_secret_valid_until"], NONE);
    let (third, _) = rotate(604_800).await;
    let (fourth, _) = rotate(604_800).await;
    let good = (is_good(&second).await, is_good(&third).await, is_good(&fourth).await);
    assert_eq!(good, (false, true, true), "one before is good, and no earlier one");
    let (fifth, until) = rotate(0).await;
    assert_eq!((until, is_good(&fourth).await, is_good(&fifth).await), (NONE, false, true));
    for wrong in
        [json!({}), json!({"grace_seconds": -1}), json!({"grace_seconds": 604_801}), json!({"grace_seconds": "1"})]
    {
        let told = bench.call_as("ann", "POST", "/v1/agents/ann/inbound/rotate-secret", wrong).await;
        assert_refused(&told, (422, "validation_error"), "grace_seconds");
    }
    verify(&bench);
}

#[tokio::test]
async fn an_agent_has_one_and_it_is_its_own() {
    let (bench, known) = bench_of(false).await;
    bench.agent("ben");
    let path = "/v1/agents/ann/inbound";
    assert_refused(&bench.call_as("ann", "POST", path, json!({})).await, (409, "inbound_exists"), "");
    for (method, path) in [
        ("GET", path.to_owned()),
        ("DELETE", path.to_owned()),
        ("POST", path.to_owned()),
        ("POST", format!("{path}/rotate-secret")),
    ] {
        let told = bench.call_as("ben", method, &path, json!({"grace_seconds": 0})).await;
        assert_refused(&told, (403, "permission_denied"), "");
    }
    assert_refused(&bench.call_as("ben", "GET", "/v1/agents/ben/inbound", NONE).await, (404, "not_found"), "inbound");
    for wrong in ["", "Upper", "a_b", &"x".repeat(33)] {
        let told = bench.call_as("ben", "POST", "/v1/agents/ben/inbound", json!({"label": wrong})).await;
        assert_refused(&told, (422, "validation_error"), "label");
    }
    // The operator's key may for any.
    let admin = bench.admin.clone();
    assert_eq!(bench.call(&admin, "DELETE", path, NONE).await.0, 204);
    assert_refused(&bench.call(&admin, "DELETE", path, NONE).await, (404, "not_found"), "inbound");
    let body = BODY.as_bytes();
    let fields = standard(&known.key(), "x", seconds(&bench), body);
    assert_eq!(call(&bench, &known.path, &fields, body).await.0, 401);
    let again = made(&bench, "ann", json!({})).await;
    assert_ne!((again.url.as_str(), again.secret.as_str()), (known.url.as_str(), known.secret.as_str()));
    assert_eq!(counted(&bench, "ann").await, [0; 4]);
    let fields = standard(&again.key(), "x", seconds(&bench), body);
    delivery(call(&bench, &again.path, &fields, body).await);
    let read = bench.key(Scope::Read, &["ann"]);
    assert_refused(&bench.call(&read, "GET", path, NONE).await, (403, "permission_denied"), "scope");
    verify(&bench);
}

#[tokio::test]
async fn a_call_is_held_like_other_mail_and_ends_with_its_agent() {
    let (mut bench, known) = bench_of(false).await;
    let body = BODY.as_bytes();
    let path = "/v1/agents/ann/availability";
    assert_eq!(bench.call_as("ann", "PUT", path, json!({"state": "dnd", "seconds": 100})).await.0, 200);
    let fields = standard(&known.key(), "held", seconds(&bench), body);
    let id = delivery(call(&bench, &known.path, &fields, body).await);
    assert_eq!(bench.call_as("ann", "GET", "/v1/inbox", NONE).await.1["count"], 0);
    bench.advance(100).await;
    let (status, told) = bench.call_as("ann", "GET", &format!("/v1/deliveries/{id}"), NONE).await;
    assert_eq!((status, &told["text_body"]), (200, &json!(BODY)), "{told}");
    // Whoever has the secret is told what keeps it from arriving.
    bench.set(|workspace| workspace.limits = vec![(EXTERNAL_IN_PER_DAY.code, Some(1))]);
    let call_again = async |bench: &Bench, id: &str| {
        let fields = standard(&known.key(), id, seconds(bench), body);
        let (status, bytes) = call(bench, &known.path, &fields, body).await;
        let told: Value = serde_json::from_slice(&bytes).unwrap();
        (status, told["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(call_again(&bench, "a").await, (429, "quota_exceeded".to_owned()));
    bench.set(|workspace| workspace.limits.clear());
    assert_eq!(bench.call_as("ann", "POST", "/v1/agents/ann/retire", NONE).await.0, 200);
    assert_eq!(call_again(&bench, "a").await, (410, "agent_retired".to_owned()));
    let status = crate::identity::Status::Suspended;
    bench.set(|workspace| workspace.status = status);
    assert_eq!(call_again(&bench, "a").await, (403, "workspace_suspended".to_owned()));
    bench.set(|workspace| workspace.status = crate::identity::Status::Active);
    bench.suspend_tenant();
    assert_eq!(call_again(&bench, "a").await.0, 403);
    bench.activate_tenant();
    bench.agent("ann");
    assert_eq!(call_again(&bench, "a").await.0, 202, "what was refused is not remembered");
    verify(&bench);
}

/// 6-messaging.md, E3.
#[tokio::test]
async fn an_encrypted_workspace_takes_what_is_sealed() {
    let (bench, known) = bench_of(true).await;
    let (now, key) = (seconds(&bench), known.key());
    for plain in ["words", ""] {
        let (status, bytes) =
            call(&bench, &known.path, &standard(&key, "a", now, plain.as_bytes()), plain.as_bytes()).await;
        let told: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((status, &told["code"]), (422, &json!("sealing_required")));
    }
    assert_eq!(
        call(&bench, &known.path, &standard(b"x", "a", now, b"words"), b"words").await.0,
        401,
        "that comes first"
    );
    let armor = sealed_text();
    let id = delivery(call(&bench, &known.path, &standard(&key, "a", now, armor.as_bytes()), armor.as_bytes()).await);
    let told = bench.call_as("ann", "GET", &format!("/v1/deliveries/{id}"), NONE).await.1;
    assert_eq!((&told["text_body"], &told["sealed"], &told["payload"]), (&json!(armor), &json!(true), &NONE));
    // What this appliance says itself is plain, and says nothing of what came out.
    let event = json!({
        "event_id": "e", "event_type": "run.exited", "occurred_at": "2026-01-01T00:00:00Z", "tenant_id": "t",
        "resource": {"type": "run", "id": "r"},
        "data": {"track_id": "r", "state": "exited", "name": "SECRET", "payload": "SECRET", "env": {"SECRET": "***"},
            "result": {"exit_code": 0, "result_summary": "SECRET"}},
        "truncated": false,
    });
    let body = event.to_string();
    let answer = within(&bench, &known, service(&known.secret, "e", now, body.as_bytes()), body.as_bytes()).await;
    assert_eq!(answer, 202);
    let inbox = bench.call_as("ann", "GET", "/v1/inbox?cursor=1", NONE).await.1;
    let id = inbox["messages"][0]["delivery_id"].as_str().unwrap();
    let told = bench.call_as("ann", "GET", &format!("/v1/deliveries/{id}"), NONE).await.1;
    let text: Value = serde_json::from_str(told["text_body"].as_str().unwrap()).unwrap();
    assert_eq!(text["data"], json!({"track_id": "r", "state": "exited", "result": {"exit_code": 0}}));
    assert_eq!((&told["sealed"], &told["subject"], &told["payload"]), (&json!(false), &json!("run.exited"), &NONE));
    assert!(!told.to_string().contains("SECRET"));
    verify(&bench);
}

/// A call of this appliance itself.
async fn within(bench: &Bench, known: &Known, fields: Fields, body: &[u8]) -> u16 {
    let mut request = Request::new(Bytes::copy_from_slice(body));
    *request.uri_mut() = known.url.parse().unwrap();
    for (name, value) in fields {
        request.headers_mut().append(HeaderName::from_static(name), HeaderValue::try_from(value).unwrap());
    }
    let door = Door::new(&bench.context);
    assert!(door.takes(request.uri()));
    door.answer(request).await.status().as_u16()
}

#[tokio::test]
async fn calls_from_within_are_checked_as_others() {
    let (bench, known) = bench_of(false).await;
    let (now, body) = (seconds(&bench), BODY.as_bytes());
    let good = || service(&known.secret, "e", now, body);
    assert_eq!(within(&bench, &known, good(), body).await, 202);
    assert_eq!(within(&bench, &known, good(), body).await, 503, "a replay: the next attempt has a newer timestamp");
    assert_eq!(within(&bench, &known, service(&known.secret, "e", now + 1, body), body).await, 202);
    assert_eq!(within(&bench, &known, service("wrong", "f", now, body), body).await, 401);
    assert_eq!(within(&bench, &known, service(&known.secret, "g", now - 301, body), body).await, 401);
    assert_eq!(within(&bench, &known, good(), &vec![b'x'; (1 << 20) + 1]).await, 413);
    assert_eq!(counted(&bench, "ann").await, [1, 1, 1, 1]);
    let door = Door::new(&bench.context);
    assert!(!door.takes(&"https://elsewhere.example/in/x".parse().unwrap()));
}

/// Calls at random, of several ids and keys, under a clock that moves, against the naive memory of all there ever was.
#[tokio::test]
async fn what_is_remembered_agrees_with_a_memory_of_everything() {
    let seed = std::env::var("QUINTET_MESSAGING_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("QUINTET_MESSAGING_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut bench, mut known) = bench_of(false).await;
    bench.set(|workspace| workspace.limits = vec![(EXTERNAL_IN_PER_DAY.code, None)]);
    // By id: the newest timestamp, when it came, the answer; and the secrets that are good until when.
    let mut memory: BTreeMap<String, (i64, i64, String)> = BTreeMap::new();
    let mut before: Option<(Known, i64)> = None;
    let mut expected = [0_u64; 4];
    for step in 0..250 {
        match random.u32(0..20) {
            0 => {
                let grace = random.i64(0..300);
                let body = json!({"grace_seconds": grace});
                let told = bench.call_as("ann", "POST", "/v1/agents/ann/inbound/rotate-secret", body).await.1;
                let until = seconds(&bench) + grace;
                let new = Known { secret: told["secret"].as_str().unwrap().to_owned(), ..known.clone() };
                before = Some((std::mem::replace(&mut known, new), until));
            }
            1..=4 => bench.advance(random.u64(1..400)).await,
            _ => {
                let now = seconds(&bench);
                let (by, is_good) = match &before {
                    Some((older, until)) if random.u32(0..3) == 0 => (older.clone(), now < *until),
                    _ => (known.clone(), true),
                };
                let (id, at) = (random.u32(0..6).to_string(), now + random.i64(-310..310));
                let fields = standard(&by.key(), &id, at, BODY.as_bytes());
                let (status, bytes) = call(&bench, &known.path, &fields, BODY.as_bytes()).await;
                let remembered = memory.get(&id).filter(|(_, came, _)| now - came <= 600).cloned();
                let is_now = (now - at).abs() <= 300;
                let place = match &remembered {
                    _ if !is_good => 1,
                    _ if !is_now => 3,
                    Some((newest, ..)) if at <= *newest => 2,
                    Some(_) => 4,
                    None => 0,
                };
                assert_eq!(status == 202, matches!(place, 0 | 4), "step {step}: {id} at {at}, {remembered:?}");
                if let Some(count) = expected.get_mut(place) {
                    *count += 1;
                }
                if status == 202 {
                    let delivery = delivery((status, bytes));
                    if let Some((.., first)) = remembered {
                        assert_eq!(delivery, first, "step {step}");
                    }
                    memory.insert(id, (at, now, delivery));
                }
            }
        }
    }
    assert_eq!(counted(&bench, "ann").await, expected);
    verify(&bench);
}

/// Whatever stands in the fields of a call, it is refused and nothing breaks.
#[tokio::test]
async fn fields_at_random_prove_nothing() {
    let seed = std::env::var("QUINTET_MESSAGING_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("QUINTET_MESSAGING_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let secrets = super::receive::nobody();
    let names = [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "x-agentbus-timestamp",
        "x-agentbus-signature",
        "x-svc-timestamp",
        "x-svc-signature",
        "x-svc-event-id",
    ];
    let pieces: [&[u8]; 16] = [
        b"v1,",
        b"v1=",
        b"sha256=",
        b" ",
        b",",
        b"=",
        b"-",
        b"1764160200",
        b"9999999999999999",
        b"\xff",
        b"\xc3\xa9",
        b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        b"0000000000000000000000000000000000000000000000000000000000000000",
        b"id",
        b"+1",
        b"\t",
    ];
    for _ in 0..20_000 {
        let mut headers = HeaderMap::new();
        for _ in 0..random.usize(0..10) {
            let count = random.usize(0..6);
            let value: Vec<u8> = (0..count).flat_map(|_| pieces[random.usize(..pieces.len())].to_vec()).collect();
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(HeaderName::from_static(names[random.usize(..names.len())]), value);
            }
        }
        assert_eq!(super::signature::prove(&headers, b"body", &secrets), None, "{headers:?}");
    }
}

/// A call may be signed in several forms. It is accepted once, by whichever of them it comes again; and two calls of one
/// second that say the same are two, where what they call themselves is signed.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_several_forms_is_one() {
    let (bench, known) = bench_of(false).await;
    let (key, at, body) = (known.key(), seconds(&bench), BODY.as_bytes());
    let fields =
        |id: &str| [standard(&key, id, at, body), own(&key, at, body), service(&known.secret, "", at, body)].concat();
    let first = delivery(call(&bench, &known.path, &fields("one"), body).await);
    let renamed = [vec![("webhook-id", "another".to_owned())], fields("one")[1..].to_vec()].concat();
    for again in [fields("one"), own(&key, at, body), service(&known.secret, "evt", at, body), renamed] {
        assert_eq!(call(&bench, &known.path, &again, body).await.0, 401, "{again:?}");
    }
    assert_ne!(delivery(call(&bench, &known.path, &fields("two"), body).await), first);
    assert_eq!(counted(&bench, "ann").await[..3], [2, 0, 4]);
    verify(&bench);
}
