//! Inbound endpoints: the table of forged and replayed calls, rotation, sizes, and what a restart remembers.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Endpoint, Fields, advance, fields, seconds, told_seconds, with};
use crate::messaging::contract::described;
use crate::support::appliance::{Answer, Setup, shared};
use crate::support::messaging::{Agent, Workspace, refused};

const BODY: &[u8] = br#"{"build": 7, "result": "failed"}"#;

/// Accepted, and rejected for each reason.
fn counted(agent: &Agent) -> [u64; 4] {
    let told = agent.client.get(&format!("/v1/agents/{}/inbound", agent.name)).expect(200);
    ["accepted", "rejected_signature", "rejected_replay", "rejected_stale"].map(|name| told[name].as_u64().unwrap())
}

/// What nothing proves; all of it, but for the name of the request.
#[track_caller]
fn unproved(answer: &Answer) -> Vec<u8> {
    assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("invalid_signature")), "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/problem+json");
    answer.bytes.clone()
}

#[test]
fn whoever_has_no_secret_is_answered_alike_whatever_he_tries() {
    let workspace = Workspace::open(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let (of_ann, of_ben) = (Endpoint::make(&ann.client, "ann"), Endpoint::make(&ben.client, "ben"));
    let stranger = shared().stranger("messaging");
    let now = seconds();
    let good = of_ann.standard("first", now, BODY);
    let captured = of_ann.standard("captured", now, BODY);
    of_ann.call(&stranger, &captured, BODY).expect(202);
    let nowhere = |path: &str| Endpoint { path: path.to_owned(), ..of_ann.clone() };
    let forged = |secret: &str| Endpoint { secret: secret.to_owned(), ..of_ann.clone() };
    let zeros = forged("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    let (absent, no_id) = (nowhere("/in/01ARZ3NDEKTSV4RRFFQ69G5FAV"), nowhere("/in/ann"));
    let table: Vec<(&str, &Endpoint, Fields, &[u8])> = vec![
        ("no signature", &of_ann, fields(&[]), BODY),
        ("no id", &of_ann, with(&good, "webhook-id", None), BODY),
        ("no timestamp", &of_ann, with(&good, "webhook-timestamp", None), BODY),
        ("another id", &of_ann, with(&good, "webhook-id", Some("second")), BODY),
        ("another instant", &of_ann, with(&good, "webhook-timestamp", Some(&(now - 1).to_string())), BODY),
        ("an instant that is none", &of_ann, with(&good, "webhook-timestamp", Some("soon")), BODY),
        ("another body", &of_ann, good.clone(), b"{}"),
        ("no body", &of_ann, good.clone(), b""),
        ("a signature cut short", &of_ann, with(&good, "webhook-signature", Some("v1,AAAA")), BODY),
        ("another version", &of_ann, with(&good, "webhook-signature", Some(&good[2].1.replace("v1,", "v2,"))), BODY),
        ("a guessed secret", &of_ann, zeros.standard("x", now, BODY), BODY),
        ("the secret of another endpoint", &of_ann, of_ben.standard("x", now, BODY), BODY),
        ("to another endpoint", &of_ben, good.clone(), BODY),
        ("own form, guessed", &of_ann, zeros.own(now, BODY), BODY),
        ("own form, another body", &of_ann, of_ann.own(now, b"{}"), BODY),
        ("form of runs, guessed", &of_ann, zeros.service("x", now, BODY), BODY),
        (
            "form of runs, unsigned",
            &of_ann,
            with(&of_ann.service("x", now, BODY), "x-svc-signature", Some("none")),
            BODY,
        ),
        ("six minutes old", &of_ann, of_ann.standard("old", now - 360, BODY), BODY),
        ("six minutes ahead", &of_ann, of_ann.standard("ahead", now + 360, BODY), BODY),
        ("own form, six minutes old", &of_ann, of_ann.own(now - 360, BODY), BODY),
        ("form of runs, six minutes old", &of_ann, of_ann.service("old", now - 360, BODY), BODY),
        ("captured and sent again", &of_ann, captured.clone(), BODY),
        ("an endpoint that is not there", &absent, good.clone(), BODY),
        ("an endpoint that cannot be", &no_id, good.clone(), BODY),
        ("with a key of the workspace", &of_ann, fields(&[("authorization", &format!("Bearer {}", ann.key))]), BODY),
    ];
    let mut answers = BTreeSet::new();
    for (what, endpoint, fields, body) in &table {
        let answer = endpoint.call(&stranger, fields, body);
        println!("{what}: {} {}", answer.status, answer.json()["code"]);
        answers.insert(unproved(&answer));
    }
    assert_eq!(answers.len(), 1, "one answer for all of them");
    let told: Value = serde_json::from_slice(answers.first().unwrap()).unwrap();
    assert_eq!((&told["code"], &told["status"]), (&json!("invalid_signature"), &json!(401)));
    assert_eq!((counted(&ann), counted(&ben)), ([1, 17, 1, 4], [0, 1, 0, 0]));
    assert_eq!((ann.inbox(0).len(), ben.inbox(0).len()), (1, 0));
    of_ann.call(&stranger, &good, BODY).expect(202);
    let log = shared().log();
    for secret in [&of_ann.secret, &of_ben.secret] {
        assert!(!log.contains(secret.trim_start_matches("whsec_")), "a secret is in the log");
    }
}

#[test]
fn a_call_becomes_a_message_that_wakes() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    let endpoint = Endpoint::make(&ann.client, "ann");
    let stranger = shared().stranger("messaging");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| ann.client.get("/v1/inbox?wait=55").expect(200));
        let mut call = endpoint.own(seconds(), BODY);
        call.extend(fields(&[("x-agentbus-subject", "Build 7 failed")]));
        let accepted = endpoint.call(&stranger, &call, BODY).expect(202);
        let woken = waits.join().unwrap();
        let row = &woken["messages"][0];
        assert_eq!((&row["delivery_id"], &row["subject"]), (&accepted["delivery_id"], &json!("Build 7 failed")));
        assert_eq!((&row["direction"], &row["inbound_source"]), (&json!("ingress"), &json!("hook:ci")));
    });
    let document = stranger.get("/openapi.json").expect(200);
    let ask = |method: &str, template: &str, path: &str, body: &str| {
        described(&ann.client, &document, (method, template), path, body)
    };
    let told = ask("GET", "/v1/agents/{name}/inbound", "/v1/agents/ann/inbound", "");
    assert_eq!(told.as_object().unwrap().len(), 7, "exactly seven members");
    ask("POST", "/v1/agents/{name}/inbound", "/v1/agents/ann/inbound", "{}");
    let rotate = "/v1/agents/{name}/inbound/rotate-secret";
    ask("POST", rotate, "/v1/agents/ann/inbound/rotate-secret", r#"{"grace_seconds": 1}"#);
    ask("POST", rotate, "/v1/agents/ann/inbound/rotate-secret", "{}");
    described(&stranger, &document, ("POST", "/in/{endpoint_id}"), &endpoint.path, "{}");
    assert_eq!(ann.client.delete("/v1/agents/ann/inbound").status, 204);
    ask("DELETE", "/v1/agents/{name}/inbound", "/v1/agents/ann/inbound", "");
    ask("GET", "/v1/agents/{name}/inbound", "/v1/agents/ann/inbound", "");
    unproved(&endpoint.call(&stranger, &endpoint.own(seconds(), BODY), BODY));
}

#[test]
fn an_agent_has_one_endpoint() {
    let workspace = Workspace::open(shared());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let path = "/v1/agents/ann/inbound";
    ann.client.post(path, &json!({})).expect(201);
    refused(&ann.client.post(path, &json!({})), 409, "inbound_exists");
    refused(&ben.client.post(path, &json!({})), 403, "permission_denied");
    refused(&ben.client.get(path), 403, "permission_denied");
    let other = Workspace::open(shared());
    refused(&other.admin.get(path), 404, "not_found");
    let first = ben.client.post_under("once", "/v1/agents/ben/inbound", &json!({})).expect(201);
    assert_eq!(ben.client.post_under("once", "/v1/agents/ben/inbound", &json!({})).expect(201), first);
}

#[test]
fn what_is_larger_than_a_mebibyte_is_not_read() {
    let workspace = Workspace::open(shared());
    let ann = workspace.agent("ann");
    let endpoint = Endpoint::make(&ann.client, "ann");
    let largest = vec![b'x'; 1 << 20];
    let stranger = shared().stranger("messaging");
    let accepted = endpoint.call(&stranger, &endpoint.own(seconds(), &largest), &largest).expect(202);
    let path = format!("/v1/deliveries/{}", accepted["delivery_id"].as_str().unwrap());
    assert_eq!(ann.client.get(&path).expect(200)["text_body"].as_str().unwrap().len(), 1 << 20);
    for path in [endpoint.path.as_str(), "/in/01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        let mut socket = shared().connect("messaging").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let length = (1 << 20) + 1;
        write!(socket, "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n").unwrap();
        let mut head = [0; 12];
        socket.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 413", "before a byte of it has come");
    }
    assert_eq!(counted(&ann), [1, 0, 0, 0]);
}

#[test]
fn secrets_are_renewed_under_the_clock() {
    let appliance = Setup::new().rehearsal().start();
    let workspace = Workspace::open(&appliance);
    let ann = workspace.agent("ann");
    let first = Endpoint::make(&ann.client, "ann");
    let stranger = appliance.stranger("messaging");
    let rotated =
        ann.client.post("/v1/agents/ann/inbound/rotate-secret", &json!({"grace_seconds": 604_800})).expect(200);
    let second = Endpoint { secret: rotated["secret"].as_str().unwrap().to_owned(), ..first.clone() };
    let told = ann.client.get("/v1/agents/ann/inbound").expect(200);
    assert_eq!(told["previous_secret_valid_until"], rotated["previous_valid_until"]);
    let is_good = |endpoint: &Endpoint| {
        let at = told_seconds(&appliance);
        endpoint.call(&stranger, &endpoint.standard(&format!("{at} {}", endpoint.secret), at, BODY), BODY).status == 202
    };
    assert!(is_good(&first) && is_good(&second));
    advance(&appliance, 604_799);
    assert!(is_good(&first) && is_good(&second));
    advance(&appliance, 1);
    assert!(!is_good(&first) && is_good(&second), "its grace is over");
    assert_eq!(appliance.stop(), Some(0));
}

/// The memory of replays is on disk: neither a kill nor a restart forgets it.
#[test]
fn a_replay_is_known_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let start =
        |data: &Path| Setup::new().on(data).env("QUINTET_MESSAGING__PUBLIC_URL", "https://agents.example").start();
    let appliance = start(&data);
    let workspace = Workspace::open(&appliance);
    let ann = workspace.agent("ann");
    let endpoint = Endpoint::make(&ann.client, "ann");
    assert!(endpoint.url.starts_with("https://agents.example/in/"));
    let now = seconds();
    let calls = [endpoint.standard("event", now, BODY), endpoint.own(now, BODY), endpoint.service("run", now, BODY)];
    let first: Vec<Value> =
        calls.iter().map(|call| endpoint.call(&appliance.stranger("messaging"), call, BODY).expect(202)).collect();
    let key = ann.key.clone();
    appliance.kill();
    let appliance = start(&data);
    let stranger = appliance.stranger("messaging");
    for call in &calls {
        unproved(&endpoint.call(&stranger, call, BODY));
    }
    let retried = endpoint.call(&stranger, &endpoint.standard("event", now + 1, BODY), BODY).expect(202);
    assert_eq!(retried, first[0], "its sender has not heard of it");
    let inbox = appliance.client("messaging", &key).get("/v1/inbox").expect(200);
    assert_eq!(inbox["count"], 3);
    assert_eq!(appliance.stop(), Some(0));
    let verified = crate::support::appliance::run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", crate::support::appliance::stdout(&verified));
}
