//! Sending over the whole way: the order of checks, what is refused, what is held and told.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use data_encoding::BASE64;
use serde_json::{Value, json};

use super::payload::Judged;
use crate::agents::{Registration, register};
use crate::attendance::Line;
use crate::blocks::{self, Block};
use crate::identity::keys;
use crate::limits::{ATTACHMENT_BYTES, Limit, MESSAGE_BYTES, MESSAGES_PER_DAY};
use crate::refusal::Refusal;
use crate::rooms;
use crate::testing::{Bench, DOMAIN, assert_refused, nobody};
use crate::words::agent_name::AgentName;
use crate::words::sealed::tests::sealed_text;

/// A bench with these agents.
fn bench_of(names: &[&str]) -> Bench {
    with_agents(Bench::new(), names)
}

fn with_agents(bench: Bench, names: &[&str]) -> Bench {
    for name in names {
        bench.agent(name);
    }
    bench
}

async fn send(bench: &Bench, from: &str, body: Value) -> (u16, Value) {
    bench.call_as(from, "POST", "/v1/messages", body).await
}

async fn sent(bench: &Bench, from: &str, body: Value) -> Value {
    let (status, answer) = send(bench, from, body).await;
    assert_eq!(status, 202, "{answer}");
    answer
}

async fn reply(bench: &Bench, from: &str, to: &Value, body: Value) -> (u16, Value) {
    let path = format!("/v1/messages/{}/reply", to["id"].as_str().unwrap());
    bench.call_as(from, "POST", &path, body).await
}

async fn inbox(bench: &Bench, agent: &str) -> Vec<Value> {
    let (status, page) = bench.call_as(agent, "GET", "/v1/inbox?limit=200", Value::Null).await;
    assert_eq!(status, 200, "{page}");
    page["messages"].as_array().unwrap().clone()
}

async fn declare(bench: &Bench, agent: &str, body: Value) {
    let (status, answer) = bench.call_as(agent, "PUT", &format!("/v1/agents/{agent}/availability"), body).await;
    assert_eq!(status, 200, "{answer}");
}

fn join(bench: &Bench, room: &'static str, names: &[&str]) {
    for name in names {
        let agent = bench.named(name);
        bench.run(move |tx, _| rooms::join(tx, agent, room)).unwrap();
    }
}

fn block(bench: &Bench, blocker: &str, blocked: &str) {
    let (blocker, blocked) = (bench.named(blocker), bench.named(blocked).1);
    let block = Block { reason: None, expires_at: None, created_at: bench.now(), suppressed_count: 0 };
    bench.run(move |tx, _| Ok(blocks::put(tx, blocker, blocked, block)?)).unwrap();
}

fn suppressed(bench: &Bench, blocker: &str, blocked: &str) -> u64 {
    let (blocker, blocked) = (bench.named(blocker), bench.named(blocked).1);
    blocks::find(&bench.context.store.read(), blocker, blocked).unwrap().unwrap().suppressed_count
}

fn limit(bench: &mut Bench, limit: Limit, max: u64) {
    bench.set(|workspace| {
        workspace.limits.retain(|(code, _)| *code != limit.code);
        workspace.limits.push((limit.code, Some(max)));
    });
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_an_agent_is_in_its_inbox() {
    let bench = bench_of(&["alice", "bob"]);
    let answer = sent(&bench, "alice", json!({"to": ["bob"], "subject": "Hi", "text": "there"})).await;
    assert_eq!((&answer["recipients"], &answer["delivery_count"]), (&json!(["bob"]), &json!(1)));
    assert_eq!(answer["thread_id"], answer["id"]);
    assert_eq!((&answer["cc"], &answer["held"], &answer["thread_paused"]), (&json!([]), &json!([]), &json!(false)));
    assert_eq!((&answer["external_count"], &answer["thread_resumes_at"]), (&json!(0), &Value::Null));
    let reach = &answer["reachability"];
    assert_eq!((&reach["not_responsive"], &reach["no_wake_channel"]), (&json!(["bob"]), &json!(["bob"])));
    assert_eq!(reach["busy"], json!([]));
    assert!(answer["liveness_challenge"].is_string());
    let row = &inbox(&bench, "bob").await[0];
    assert_eq!((&row["message_id"], &row["subject"], &row["agent_seq"]), (&answer["id"], &json!("Hi"), &json!(1)));
    let (_, delivery) = bench
        .call_as("bob", "GET", &format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap()), Value::Null)
        .await;
    assert_eq!(delivery["text_body"], "there");
}

/// Everything is wrong with the request; each refusal is mended, and the next one comes.
#[tokio::test(flavor = "multi_thread")]
async fn checks_come_in_their_order() {
    let mut bench = bench_of(&["alice", "bob", "carol"]);
    block(&bench, "carol", "alice");
    declare(&bench, "bob", json!({"state": "dnd", "reason": "deep"})).await;
    let foreign = sent(&bench, "carol", json!({"to": ["carol"], "text": "mine"})).await;
    limit(&mut bench, ATTACHMENT_BYTES, 10);
    limit(&mut bench, MESSAGES_PER_DAY, 1);
    let many: Vec<String> = (0..24).map(|number| format!("nobody-{number}")).collect();
    let mut body = json!({
        "to": ["bob", "carol", "nobody", "tag:none", "room:none", ""],
        "cc": many,
        "subject": "two\nlines",
        "text": "words",
        "thread_id": foreign["thread_id"],
        "require_available": true,
        "require_responsive": true,
        "attachments": [{"filename": "a.txt", "content_base64": BASE64.encode(b"eleven byte")}],
        "claim": {"assert_text": "it works", "repro": "true", "expect": {"exit": 256}},
    });
    let steps: [(u16, &str, &str, &str, Value); 12] = [
        (422, "validation_error", "subject", "subject", json!("one line")),
        (422, "validation_error", "to[5]", "to", json!(["bob", "carol", "nobody", "tag:none", "room:none"])),
        (422, "too_many_recipients", "25", "cc", json!([])),
        (422, "unknown_recipient", "nobody", "to", json!(["bob", "carol", "tag:none"])),
        (422, "unmatched_capability", "tag:none", "to", json!(["bob", "carol"])),
        (422, "blocked_by_recipient", "carol", "to", json!(["bob"])),
        (404, "not_found", "thread", "thread_id", Value::Null),
        (409, "recipient_unavailable", "bob", "require_available", json!(false)),
        (409, "recipient_not_responsive", "bob", "require_responsive", Value::Null),
        (413, "payload_too_large", "10 bytes", "attachments", json!([])),
        (422, "validation_error", "claim.expect.exit", "claim", Value::Null),
        (429, "quota_exceeded", "messages_per_day", "none", Value::Null),
    ];
    for (status, code, words, member, mended) in steps {
        let answer = send(&bench, "alice", body.clone()).await;
        assert_refused(&answer, (status, code), words);
        match code {
            "unknown_recipient" => {
                let bad: Vec<&Value> =
                    answer.1["errors"].as_array().unwrap().iter().map(|bad| &bad["recipient"]).collect();
                assert_eq!(bad, ["nobody", "tag:none", "room:none"], "every bad one, unmatched tags too");
            }
            "recipient_unavailable" => {
                let withholding = &answer.1["withholding"][0];
                assert_eq!((&withholding["agent"], &withholding["availability"]), (&json!("bob"), &json!("dnd")));
                assert!(withholding["until"].is_string());
            }
            "recipient_not_responsive" => assert_eq!(answer.1["not_responsive"], json!(["bob"])),
            "quota_exceeded" => assert_eq!(answer.1["blocking_policy"]["used"], 1),
            _ => {}
        }
        body[member] = mended;
    }
    assert_eq!(suppressed(&bench, "carol", "alice"), 1);
    assert!(inbox(&bench, "bob").await.is_empty(), "nothing of it was done");
    limit(&mut bench, MESSAGES_PER_DAY, 2);
    let answer = sent(&bench, "alice", body).await;
    assert_eq!(answer["held"][0]["reason"], "deep");
}

#[tokio::test(flavor = "multi_thread")]
async fn shapes_that_are_none() {
    let bench = bench_of(&["alice", "bob"]);
    let long = "x".repeat((1 << 20) + 1);
    let cases = [
        (json!({}), 422, "to"),
        (json!({"to": "bob"}), 422, "to"),
        (json!({"to": []}), 422, "at least one"),
        (json!({"to": [7]}), 422, "to[0]"),
        (json!({"to": ["bob"], "priority": "high"}), 422, "priority"),
        (json!({"to": ["bob"], "subject": "x".repeat(999)}), 422, "subject"),
        (json!({"to": ["bob"], "text": long}), 413, "text"),
        (json!({"to": ["bob"], "html": long}), 413, "html"),
        (json!({"to": ["bob"], "guarantee": "maybe"}), 422, "guarantee"),
        (json!({"to": ["bob"], "guarantee": "fire_and_forget", "require_ack": true}), 422, "require_ack"),
        (
            json!({"to": ["bob"], "guarantee": "fire_and_forget", "attachments": [{"filename": "a", "content_base64": ""}]}),
            422,
            "attachments",
        ),
        (json!({"to": ["bob"], "guarantee": "fire_and_forget", "claim": {}}), 422, "claim"),
        (json!({"to": ["bob"], "guarantee": "fire_and_forget", "derived_from": ["x"]}), 422, "derived_from"),
        (json!({"to": ["bob"], "guarantee": "fire_and_forget", "handoff_from": "ann"}), 422, "handoff_from"),
        (json!({"to": ["bob"], "guarantee": "fire_and_forget", "text": "x".repeat(262_000)}), 413, "262144 bytes"),
        (
            json!({"to": ["bob"], "guarantee": "fire_and_forget", "payload": "\u{1}".repeat(50_000)}),
            413,
            "262144 bytes",
        ),
        (json!({"to": ["bob"], "require_ack": true, "ack_window_seconds": 59}), 422, "ack_window_seconds"),
        (json!({"to": ["bob"], "derived_from": vec!["x"; 26]}), 422, "derived_from"),
        (json!({"to": ["bob"], "handoff_from": "x".repeat(33)}), 422, "handoff_from"),
        (json!({"to": ["bob"], "attachments": [{"filename": "a"}]}), 422, "attachments[0].content_base64"),
        (json!({"to": ["bob"], "attachments": [{"filename": "a", "content_base64": "a"}]}), 422, "base64"),
        (json!({"to": ["bob"], "attachments": [{"filename": "a\nb", "content_base64": ""}]}), 422, "filename"),
        (
            json!({"to": ["bob"], "attachments": [{"filename": "a", "content_base64": "", "content_type": "text\r\nx: y/z"}]}),
            422,
            "content_type",
        ),
        (json!({"to": ["bob"], "text": "plain", "sealed": true}), 422, "text"),
        (json!({"to": ["bob"], "thread_id": "x"}), 404, "thread"),
        (json!({"to": ["bob@example.com"]}), 422, "way out"),
    ];
    for (body, status, words) in cases {
        let answer = send(&bench, "alice", body).await;
        assert_eq!(answer.0, status, "{words}: {}", answer.1);
        assert!(answer.1["detail"].as_str().unwrap().contains(words), "{words}: {}", answer.1);
    }
    let newer = json!({"to": ["bob"], "cc": null, "subject": null, "text": null, "html": null, "payload": null,
        "guarantee": null, "derived_from": null, "attachments": [], "thread_id": null, "priority": null, "new": 1});
    sent(&bench, "alice", newer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_agent_gets_one_delivery() {
    let bench = bench_of(&["alice", "bob", "carol", "dave", "gone"]);
    bench.wearer("eve", &["skill=rust", "skill:playwright"]);
    bench.wearer("frank", &["skill=go"]);
    join(&bench, "den", &["alice", "bob", "carol", "gone", "dave"]);
    join(&bench, "mine", &["alice"]);
    block(&bench, "dave", "alice");
    bench.call_as("gone", "POST", "/v1/agents/gone/retire", Value::Null).await;
    let cases = [
        (json!({"to": ["room:den"], "cc": ["bob"]}), vec!["bob", "carol"]),
        (json!({"to": ["bob", "bob"], "cc": ["alice"]}), vec!["bob", "alice"]),
        (json!({"to": ["tag:skill"]}), vec!["eve", "frank"]),
        (json!({"to": ["tag:skill=rust"], "cc": ["room:den"]}), vec!["eve", "bob", "carol"]),
        (json!({"to": ["tag:skill:playwright", "eve"]}), vec!["eve"]),
        (json!({"to": ["room:mine"]}), vec![]),
        (json!({"to": [format!("agentbus+acme.bob@{DOMAIN}")]}), vec!["bob"]),
        (json!({"to": [null]}), vec!["alice"]),
    ];
    for (body, expected) in cases {
        let answer = sent(&bench, "alice", body.clone()).await;
        assert_eq!(names(&answer["recipients"]), expected, "{body}");
        assert_eq!(answer["delivery_count"], expected.len(), "{body}");
    }
    let row = &inbox(&bench, "bob").await[0];
    assert_eq!(row["your_role"], "to", "a recipient before one who is to know");
    for bad in [
        "gone".to_owned(),
        "Bob".to_owned(),
        format!("agentbus+acme.gone@{DOMAIN}"),
        format!("agentbus+other.bob@{DOMAIN}"),
        format!("postmaster@{DOMAIN}"),
    ] {
        assert_refused(&send(&bench, "alice", json!({"to": [bad]})).await, (422, "unknown_recipient"), &bad);
    }
    // Nothing takes mail from outside: who is in other workspaces is not told.
    let other = bench.another("other");
    let key = bench.admin.split('_').nth(2).unwrap().to_owned();
    let bob = Registration { name: Some(AgentName::parse("bob").unwrap()), ..nobody() };
    let admin = keys::find(&bench.context.store.read(), &key).unwrap().unwrap();
    bench.run(move |tx, now| register(tx, now, &other, &admin, &bob)).unwrap();
    for name in ["bob", "nobody"] {
        let foreign = format!("agentbus+other.{name}@{DOMAIN}");
        let unknown = send(&bench, "alice", json!({"to": [foreign]})).await;
        assert_refused(&unknown, (422, "unknown_recipient"), "nobody has this address");
    }
}

/// Each is named, as long as there are no more than there may be; of more than that it is no help.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_recipient_is_named_and_not_without_end() {
    let bench = bench_of(&["alice"]);
    for (count, expected) in [(25, 25), (26, 26), (101, 100), (50_000, 100)] {
        let (status, answer) = send(&bench, "alice", json!({"to": vec![""; count]})).await;
        assert_eq!((status, answer["errors"].as_array().unwrap().len()), (422, expected), "{count}");
    }
    let mut to = vec!["alice"; 200];
    to[150] = "";
    assert_refused(&send(&bench, "alice", json!({"to": to})).await, (422, "validation_error"), "to[150] is empty");
}

/// 6-messaging.md, T2: whatever agents wear, block and are, as many get a message as the phonebook shows.
#[tokio::test(flavor = "multi_thread")]
async fn as_many_get_it_as_the_phonebook_shows() {
    let bench = bench_of(&["alice"]);
    let mut random = fastrand::Rng::with_seed(11);
    for number in 0..30 {
        let tags: Vec<String> =
            (0..random.usize(0..4)).map(|_| format!("k{}=v{}", random.u8(0..3), random.u8(0..3))).collect();
        let mut tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        tags.sort_unstable();
        tags.dedup_by_key(|tag| tag.split('=').next().map(str::to_owned));
        let name = format!("agent-{number}");
        bench.wearer(&name, &tags);
        if random.u8(0..5) == 0 {
            block(&bench, &name, "alice");
        }
        if random.u8(0..5) == 0 {
            bench.call_as(&name, "POST", &format!("/v1/agents/{name}/retire"), Value::Null).await;
        }
    }
    for expression in ["k0", "k1", "k2", "k0=v0", "k0=v1", "k1=v2", "k2=v2"] {
        let label = expression.replace('=', "%3D");
        let (_, shown) = bench.call_as("alice", "GET", &format!("/v1/agents?label={label}"), Value::Null).await;
        let shown: Vec<&Value> = shown["agents"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
        let (status, answer) = send(&bench, "alice", json!({"to": [format!("tag:{expression}")]})).await;
        match shown.is_empty() {
            true => assert_eq!((status, &answer["code"]), (422, &json!("unmatched_capability"))),
            false => {
                assert_eq!(answer["recipients"].as_array().unwrap().iter().collect::<Vec<_>>(), shown, "{expression}")
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_is_told() {
    let bench = bench_of(&["alice", "bob", "carol"]);
    declare(&bench, "bob", json!({"state": "away", "seconds": 600, "reason": "lunch"})).await;
    let answer = sent(&bench, "alice", json!({"to": ["bob", "carol"], "text": "x"})).await;
    let held = &answer["held"];
    assert_eq!(held.as_array().unwrap().len(), 1);
    assert_eq!(
        (&held[0]["agent"], &held[0]["availability"], &held[0]["reason"]),
        (&json!("bob"), &json!("away"), &json!("lunch"))
    );
    let until = bench.now().plus_seconds(600);
    assert_eq!(held[0]["held_until"], quintet_platform::clock::rfc3339(until));
    assert_eq!((&answer["delivery_count"], &answer["reachability"]["busy"]), (&json!(2), &json!(["bob"])));
    let urgent = sent(&bench, "alice", json!({"to": ["bob"], "text": "y", "priority": "urgent"})).await;
    assert_eq!(urgent["held"], json!([]));
    assert_eq!(inbox(&bench, "bob").await.len(), 1);
    bench.advance(600).await;
    let rows = inbox(&bench, "bob").await;
    assert_eq!(rows.iter().map(|row| &row["message_id"]).collect::<Vec<_>>(), [&urgent["id"], &answer["id"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn message_61_of_an_hour_pauses_its_thread() {
    let bench = bench_of(&["alice", "bob"]);
    let first = sent(&bench, "alice", json!({"to": ["bob"], "text": "1"})).await;
    let body = json!({"to": ["bob"], "text": "more", "thread_id": first["thread_id"]});
    for _ in 0..59 {
        assert_eq!(sent(&bench, "alice", body.clone()).await["thread_paused"], false);
    }
    for _ in 0..2 {
        let answer = sent(&bench, "alice", body.clone()).await;
        assert_eq!((&answer["thread_paused"], &answer["thread_id"]), (&json!(true), &first["thread_id"]));
        let held = &answer["held"][0];
        assert_eq!(
            (&held["agent"], &held["reason"], &held["held_until"]),
            (&json!("bob"), &json!("thread_paused"), &Value::Null)
        );
        assert!(answer["thread_resumes_at"].is_string());
    }
    let rows = inbox(&bench, "bob").await;
    assert_eq!((rows.len(), &rows[60]["direction"]), (61, &json!("system")));
    assert_eq!(inbox(&bench, "alice").await.len(), 1, "both participants are told once");
    bench.advance(7_300).await;
    assert_eq!(inbox(&bench, "bob").await.len(), 63);
    for number in 1..=62 {
        let answer = sent(&bench, "alice", body.clone()).await;
        assert_eq!(answer["thread_paused"], number > 60, "it is counted anew: {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_where_its_parent_came_from() {
    let bench = bench_of(&["alice", "bob", "carol", "gone"]);
    bench.wearer("eve", &["skill"]);
    join(&bench, "den", &["alice", "bob", "carol"]);
    let parent =
        json!({"to": ["bob", "tag:skill", "gone", "room:den"], "cc": ["carol"], "subject": "Plan", "text": "?"});
    let parent = sent(&bench, "alice", parent).await;
    bench.call_as("gone", "POST", "/v1/agents/gone/retire", Value::Null).await;
    bench.wearer("late", &["skill"]);

    let (status, plain) = reply(&bench, "bob", &parent, json!({"text": "yes"})).await;
    assert_eq!(status, 202, "{plain}");
    assert_eq!(
        (&plain["recipients"], &plain["cc"], &plain["skipped_retired"]),
        (&json!(["alice"]), &json!([]), &json!([]))
    );
    assert_eq!(plain["thread_id"], parent["thread_id"]);
    assert_eq!(inbox(&bench, "alice").await[0]["subject"], "Re: Plan");

    let resolve = json!({"message_id": parent["id"], "reply_all": true, "to": null, "cc": null, "subject": null});
    let (_, resolved) = bench.call_as("bob", "POST", "/v1/recipients/resolve-reply", resolve).await;
    let (_, all) = reply(&bench, "bob", &parent, json!({"text": "yes", "reply_all": true})).await;
    // As typed there, the tag replaced by who got it, oneself and the retired left out.
    assert_eq!(names(&resolved["to"])[..1], ["alice"]);
    assert!(names(&resolved["to"]).contains(&"eve") && names(&resolved["to"]).contains(&"room:den"));
    assert!(!names(&resolved["to"]).contains(&"late") && !names(&resolved["to"]).contains(&"bob"));
    assert_eq!((&resolved["cc"], &resolved["subject"]), (&json!(["carol"]), &json!("Re: Plan")));
    assert_eq!(resolved["skipped_retired"], json!(["gone"]));
    assert_eq!(all["skipped_retired"], json!(["gone"]));
    assert_eq!((&all["recipients"], &all["cc"]), (&resolved["recipients"], &resolved["cc"]));

    let (_, own) = reply(&bench, "alice", &parent, json!({"text": "also"})).await;
    assert_eq!(own["recipients"], json!(["alice"]), "one's own message is answered to oneself");
    let (_, given) = reply(&bench, "bob", &parent, json!({"text": "x", "cc": ["eve"], "subject": "Other"})).await;
    assert_eq!((&given["recipients"], &given["cc"]), (&json!(["alice", "eve"]), &json!(["eve"])));
    assert_refused(&reply(&bench, "late", &parent, json!({"text": "x"})).await, (404, "not_found"), "message");
    assert_refused(
        &reply(&bench, "late", &json!({"id": "x"}), json!({"text": "x"})).await,
        (404, "not_found"),
        "message",
    );

    bench.call_as("alice", "POST", "/v1/agents/alice/retire", Value::Null).await;
    assert_refused(&reply(&bench, "bob", &parent, json!({"text": "x"})).await, (422, "unknown_recipient"), "retired");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_answered_like_its_message() {
    let bench = bench_of(&["alice", "bob"]);
    sent(&bench, "alice", json!({"to": ["bob"], "text": "x"})).await;
    let delivery = inbox(&bench, "bob").await[0]["delivery_id"].clone();
    let (status, answer) = reply(&bench, "bob", &json!({"id": delivery}), json!({"text": "y"})).await;
    assert_eq!((status, &answer["recipients"]), (202, &json!(["alice"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn resolving_says_what_a_send_would_do() {
    let bench = bench_of(&["alice", "bob", "carol"]);
    block(&bench, "carol", "alice");
    let resolve = |body: Value| bench.call_as("alice", "POST", "/v1/recipients/resolve", body);
    let (status, resolved) =
        resolve(json!({"to": [null, "bob"], "cc": ["bob@example.com"], "text": "x", "subject": "y"})).await;
    assert_eq!(status, 200, "{resolved}");
    assert_eq!((&resolved["to"], &resolved["cc"]), (&json!(["alice", "bob"]), &json!(["bob@example.com"])));
    assert_eq!(resolved["recipients"], json!(["alice", "bob", "bob@example.com"]));
    assert_eq!((&resolved["external"], &resolved["encrypted"]), (&json!(["bob@example.com"]), &json!(false)));
    assert_eq!((&resolved["keys"], &resolved["missing_keys"]), (&json!({}), &json!([])));
    assert_refused(&resolve(json!({"to": ["nobody"]})).await, (422, "unknown_recipient"), "nobody");
    assert_refused(&resolve(json!({"to": ["tag:none"]})).await, (422, "unmatched_capability"), "none");
    assert_refused(&resolve(json!({"to": ["carol"]})).await, (422, "blocked_by_recipient"), "carol");
    assert_eq!(suppressed(&bench, "carol", "alice"), 1, "clients send nothing after that");
    let nobody = bench.call(&bench.admin, "POST", "/v1/recipients/resolve", json!({"to": ["bob"]})).await;
    assert_eq!(nobody.1["recipients"], json!(["bob"]), "no agent has to act");
    assert!(inbox(&bench, "bob").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_workspace_takes_what_is_sealed() {
    let bench = with_agents(Bench::encrypted(), &["alice", "bob"]);
    let armor = sealed_text();
    let attached = |content: &[u8]| json!([{"filename": "a", "content_base64": BASE64.encode(content)}]);
    let cases = [
        (json!({"to": ["bob"], "text": "plain"}), "text"),
        (json!({"to": ["bob"], "text": armor}), "text"),
        (json!({"to": ["bob"], "text": "plain", "sealed": true}), "text"),
        (json!({"to": ["bob"], "text": armor, "sealed": true, "html": "<p>"}), "html"),
        (json!({"to": ["bob"], "text": armor, "sealed": true, "payload": {}}), "payload"),
        (json!({"to": ["bob"], "text": armor, "sealed": true, "claim": {}}), "claim"),
        (json!({"to": ["bob"], "text": armor, "sealed": true, "attachments": attached(b"plain")}), "attachments"),
    ];
    for (body, member) in cases {
        assert_refused(&send(&bench, "alice", body).await, (422, "sealing_required"), member);
    }
    let outside = json!({"to": ["bob@example.com"], "text": "plain"});
    assert_refused(&send(&bench, "alice", outside).await, (422, "external_mail_refused"), "encrypted");
    sent(&bench, "alice", json!({"to": ["bob"]})).await;
    let body = json!({"to": ["bob"], "text": armor, "sealed": true, "attachments": attached(armor.as_bytes())});
    sent(&bench, "alice", body).await;
    let row = &inbox(&bench, "bob").await[1];
    assert_eq!((&row["sealed"], &row["attachment_count"]), (&json!(true), &json!(1)));
    let (_, resolved) =
        bench.call_as("alice", "POST", "/v1/recipients/resolve", json!({"to": ["bob"], "text": "plain"})).await;
    assert_eq!((&resolved["encrypted"], &resolved["missing_keys"]), (&json!(true), &json!(["bob"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_large_is_stored_before_and_read_as_it_was() {
    let mut bench = bench_of(&["alice", "bob"]);
    let (text, bytes) = ("ä\u{2028}\"".repeat(10_000), vec![7_u8; 700_000]);
    let body = json!({"to": ["bob"], "text": text, "payload": {"a": [1, 2.50]}, "attachments": [
        {"filename": "a.bin", "content_base64": BASE64.encode(&bytes)},
        {"filename": "b.txt", "content_base64": BASE64.encode(b"b"), "content_type": "text/plain"},
    ]});
    sent(&bench, "alice", body.clone()).await;
    let id = inbox(&bench, "bob").await[0]["delivery_id"].as_str().unwrap().to_owned();
    let (_, delivery) = bench.call_as("bob", "GET", &format!("/v1/deliveries/{id}"), Value::Null).await;
    assert_eq!((delivery["text_body"].as_str(), &delivery["payload"]), (Some(text.as_str()), &json!({"a": [1, 2.5]})));
    assert_eq!(delivery["attachments"][0]["size"], 700_000);
    assert_eq!(delivery["attachments"][1]["content_type"], "text/plain");
    // What is refused is refused before anything is stored.
    limit(&mut bench, MESSAGE_BYTES, 699_999);
    assert_refused(&send(&bench, "alice", body).await, (413, "payload_too_large"), "attachments");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_gets_the_same_answer_and_sends_nothing() {
    let bench = bench_of(&["alice", "bob"]);
    let ask = |body: Value| {
        let request = http::Request::builder().method("POST").uri("/v1/messages");
        let request = request.header("authorization", format!("Bearer {}", bench.admin));
        let request = request.header("x-agentbus-agent", "alice").header("idempotency-key", "once");
        bench.answer(request.body(Body::from(body.to_string())).unwrap())
    };
    let body = json!({"to": ["bob"], "text": "x"});
    assert_eq!(ask(body.clone()).await.status(), 202);
    assert_eq!(ask(body.clone()).await.status(), 202);
    assert_eq!(ask(json!({"to": ["bob"], "text": "y"})).await.status(), 422);
    assert_eq!(inbox(&bench, "bob").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_fired_and_forgotten_reaches_open_streams_alone() {
    let mut bench = bench_of(&["alice", "bob", "carol"]);
    let line = Arc::new(Line::new("k".to_owned(), true, None, Instant::now()));
    assert!(bench.context.attendance.streams().open(bench.named("bob"), &line, 16));
    let body = json!({"to": ["bob", "carol"], "text": "now", "subject": "s", "guarantee": "fire_and_forget"});
    let answer = sent(&bench, "alice", body.clone()).await;
    assert_eq!((&answer["status"], &answer["guarantee"]), (&json!("accepted"), &json!("fire_and_forget")));
    assert_eq!((&answer["reached"], &answer["live_subscribers"]), (&json!(1), &json!(1)));
    let told = String::from_utf8(line.take_told().unwrap().to_vec()).unwrap();
    assert!(told.starts_with("event: ephemeral\ndata: {") && told.ends_with("}\n\n"), "{told}");
    assert!(told.contains("\"text_body\":\"now\"") && told.contains("\"sender_agent_name\":\"alice\""), "{told}");
    assert!(told.contains("\"lane\":null,\"created_at\":\""), "{told}");
    assert!(inbox(&bench, "bob").await.is_empty());
    limit(&mut bench, MESSAGES_PER_DAY, 1);
    assert_refused(&send(&bench, "alice", body).await, (429, "quota_exceeded"), "messages_per_day");
    assert_eq!(line.take_told(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_fired_and_forgotten_wakes_nobody_who_withholds_it() {
    let bench = bench_of(&["alice", "bob", "carol"]);
    let line = Arc::new(Line::new("k".to_owned(), true, None, Instant::now()));
    assert!(bench.context.attendance.streams().open(bench.named("bob"), &line, 16));
    let sent = |priority: &'static str| {
        let body = json!({"to": ["bob", "carol"], "text": "now", "priority": priority, "guarantee": "fire_and_forget"});
        sent(&bench, "alice", body)
    };
    for (state, priority, withheld) in [
        ("dnd", "normal", 1),
        ("dnd", "urgent", 0),
        ("away", "background", 1),
        ("offline", "urgent", 1),
        ("online", "background", 0),
    ] {
        declare(&bench, "bob", json!({"state": state})).await;
        let answer = sent(priority).await;
        assert_eq!((&answer["withheld"], &answer["reached"]), (&json!(withheld), &json!(1 - withheld)), "{state}");
        assert_eq!(line.take_told().is_some(), withheld == 0, "{state} {priority}");
    }
    // Who reads nothing is not reached, as open as his stream is.
    for _ in 0..64 {
        assert_eq!(sent("normal").await["live_subscribers"], 1);
    }
    let answer = sent("normal").await;
    assert_eq!((&answer["reached"], &answer["live_subscribers"]), (&json!(0), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_owes_an_acknowledgement_is_reminded_until_he_gives_it() {
    let bench = bench_of(&["alice", "bob", "carol", "dave"]);
    let body = json!({"to": ["bob", "dave"], "cc": ["carol"], "subject": "Do it", "text": "x",
        "require_ack": true, "ack_window_seconds": 3_600});
    let message = sent(&bench, "alice", body).await;
    let list = |agent: &'static str, name: &'static str| {
        let bench = &bench;
        async move {
            let (status, list) = bench.call_as(agent, "GET", &format!("/v1/reminders/{name}"), Value::Null).await;
            assert_eq!((status, &list["count"]), (200, &json!(list[name].as_array().unwrap().len())));
            list[name].as_array().unwrap().clone()
        }
    };
    let owed = list("bob", "owed").await;
    assert_eq!((&owed[0]["sender_name"], &owed[0]["attempts_so_far"]), (&json!("alice"), &json!(0)));
    assert_eq!((&owed[0]["thread_id"], &owed[0]["subject"]), (&message["thread_id"], &json!("Do it")));
    assert_eq!(owed[0]["delivery_id"], inbox(&bench, "bob").await[0]["delivery_id"]);
    assert_eq!(list("alice", "owing").await.len(), 2);
    assert!(list("carol", "owed").await.is_empty(), "who is only to know owes nothing");

    bench.advance(601).await;
    let rows = inbox(&bench, "bob").await;
    assert_eq!(
        (rows.len(), &rows[1]["direction"], &rows[1]["thread_id"]),
        (2, &json!("system"), &message["thread_id"])
    );
    assert_eq!(list("bob", "owed").await[0]["attempts_so_far"], 1);

    let (status, _) = reply(&bench, "bob", &message, json!({"text": "done"})).await;
    assert_eq!((status, list("bob", "owed").await.len()), (202, 0));
    let owing = list("alice", "owing").await;
    assert_eq!((owing.len(), &owing[0]["recipient_name"]), (1, &json!("dave")));
    bench.advance(1_300).await;
    assert_eq!(inbox(&bench, "bob").await.len(), 2, "he has answered");
    assert_eq!(inbox(&bench, "dave").await.len(), 3);

    let delivery = inbox(&bench, "dave").await[0]["delivery_id"].as_str().unwrap().to_owned();
    let again = json!({"to": ["bob"], "text": "x", "require_ack": true, "ack_window_seconds": 60});
    bench.call_as("dave", "POST", &format!("/v1/deliveries/{delivery}/ack"), Value::Null).await;
    assert!(list("alice", "owing").await.is_empty());
    sent(&bench, "carol", again).await;
    bench.advance(61).await;
    let told = inbox(&bench, "carol").await;
    assert_eq!((told.len(), told[1]["subject"].as_str().unwrap()), (2, "Not acknowledged: "));
    assert!(list("carol", "owing").await.is_empty());
    bench.advance(86_400 * 3).await;
    assert_eq!(inbox(&bench, "carol").await.len(), 2);
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_reminded_of_what_he_cannot_see() {
    let bench = bench_of(&["alice", "bob"]);
    declare(&bench, "bob", json!({"state": "dnd", "seconds": 1_000})).await;
    sent(&bench, "alice", json!({"to": ["bob"], "text": "x", "require_ack": true})).await;
    bench.advance(700).await;
    assert!(inbox(&bench, "bob").await.is_empty());
    bench.advance(1_200).await;
    assert_eq!(inbox(&bench, "bob").await.len(), 2, "the message, and the reminder after half an hour");
}

/// A block ends what is owed: neither is told of it, and nobody is urged on by somebody he takes nothing from.
#[tokio::test(flavor = "multi_thread")]
async fn who_has_blocked_the_sender_is_not_reminded() {
    let bench = bench_of(&["alice", "bob"]);
    sent(&bench, "alice", json!({"to": ["bob"], "text": "x", "require_ack": true, "ack_window_seconds": 3_600})).await;
    let (status, _) = bench.call_as("bob", "POST", "/v1/blocks", json!({"agent": "alice"})).await;
    assert_eq!(status, 201);
    bench.advance(601).await;
    assert_eq!(inbox(&bench, "bob").await.len(), 1);
    let (_, owing) = bench.call_as("alice", "GET", "/v1/reminders/owing", Value::Null).await;
    assert_eq!(owing["count"], 0);
    bench.advance(86_400).await;
    assert_eq!((inbox(&bench, "bob").await.len(), inbox(&bench, "alice").await.len()), (1, 0));
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_is_as_urgent_as_its_message() {
    let bench = bench_of(&["alice", "bob"]);
    for priority in ["background", "normal", "urgent"] {
        sent(&bench, "alice", json!({"to": ["bob"], "text": "x", "require_ack": true, "priority": priority})).await;
    }
    bench.advance(601).await;
    let rows = inbox(&bench, "bob").await;
    let mut told: Vec<&Value> = rows[3..].iter().map(|row| &row["priority"]).collect();
    told.sort_by_key(|priority| priority.as_str());
    assert_eq!(told, ["background", "normal", "urgent"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_message_comes_from_is_told_again() {
    let bench = bench_of(&["alice", "bob"]);
    let seen = sent(&bench, "alice", json!({"to": ["alice"], "text": "x"})).await;
    let body = json!({"to": ["bob"], "text": "y", "derived_from": [seen["id"], "unknown"], "handoff_from": "carol",
        "signature": "absigv1x", "signing_key_fingerprint": "00"});
    sent(&bench, "alice", body).await;
    let row = inbox(&bench, "bob").await[0].clone();
    let (_, delivery) = bench
        .call_as("bob", "GET", &format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap()), Value::Null)
        .await;
    let derived = &delivery["lineage"]["derived_from"];
    assert_eq!((&derived[0]["message_id"], &derived[0]["sender_could_read"]), (&seen["id"], &json!(true)));
    assert_eq!((&derived[1]["message_id"], &derived[1]["sender_could_read"]), (&json!("unknown"), &json!(false)));
    assert_eq!(delivery["handoff_from"], "carol");
    assert!(!delivery["signature_state"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_fits_what_the_rooms_want() {
    let bench = bench_of(&["alice", "bob"]);
    join(&bench, "den", &["alice", "bob"]);
    let schema = json!({"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}});
    let set = |schema: Value| bench.call_as("alice", "PUT", "/v1/rooms/den/schema", json!({"schema": schema}));
    let (status, answer) = set(schema).await;
    assert_eq!(status, 200, "{answer}");
    let body = |payload: Value| json!({"to": ["room:den"], "text": "x", "payload": payload});
    let refused = send(&bench, "alice", body(json!({"kind": 7}))).await;
    assert_refused(&refused, (422, "payload_invalid"), "kind");
    assert_eq!(refused.1["errors"][0]["path"], "/kind");
    sent(&bench, "alice", body(json!({"kind": "a"}))).await;
    sent(&bench, "alice", json!({"to": ["room:den"], "text": "none at all"})).await;
    sent(&bench, "alice", json!({"to": ["bob"], "text": "x", "payload": 7})).await;
    let row = inbox(&bench, "bob").await[0].clone();
    let path = format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap());
    let (_, delivery) = bench.call_as("bob", "GET", &path, Value::Null).await;
    assert_eq!((&delivery["payload"]["kind"], &delivery["payload_schema_ref"]), (&json!("a"), &json!("room:den@1")));
    set(Value::Null).await;
    sent(&bench, "alice", body(json!({"kind": 7}))).await;
}

/// What is in the way of everybody is short: rooms that were not asked before the transaction are not asked in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_payload_is_judged_outside_the_transaction() {
    let bench = bench_of(&["alice"]);
    join(&bench, "den", &["alice"]);
    let set = |schema: Value| bench.call_as("alice", "PUT", "/v1/rooms/den/schema", json!({"schema": schema}));
    let (workspace, rooms) = (bench.workspace.no, ["den".to_owned()]);
    let payload = quintet_platform::json::parse(b"7", quintet_platform::json::Limits { max_depth: 9 }).unwrap();
    let mut judged = Judged::new(payload);
    let check = |judged: &Judged| match judged.check(&bench.context.store.read(), workspace, &rooms) {
        Ok(()) => None,
        Err(abort) => Some(quintet_platform::service::refusal_of::<Refusal>(abort)),
    };
    assert_eq!(check(&judged), None, "a room without a schema wants nothing");
    for type_of in ["string", "boolean"] {
        set(json!({"type": type_of})).await;
        let unjudged = check(&judged).unwrap();
        let verdict = quintet_platform::service::ServiceRefusal::verdict(&unjudged);
        assert_eq!((unjudged, verdict.status, verdict.code), (Refusal::PayloadUnjudged, 503, "busy"), "{type_of}");
        judged.ask(&bench.context.store.read(), workspace, &rooms).unwrap();
        assert!(matches!(check(&judged), Some(Refusal::PayloadInvalid(_))), "{type_of}");
    }
    set(Value::Null).await;
    assert_eq!(check(&judged), None);
}

#[tokio::test]
async fn a_schema_set_meanwhile_is_the_one_that_counts() {
    let bench = bench_of(&["alice", "bob"]);
    join(&bench, "den", &["alice", "bob"]);
    let (status, _) =
        bench.call_as("alice", "PUT", "/v1/rooms/den/schema", json!({"schema": {"type": "object"}})).await;
    assert_eq!(status, 200);
    let store = bench.context.store.clone();
    let (workspace, tenant_id) = (bench.workspace.no, bench.workspace.tenant_id);
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (began, begun) = tokio::sync::oneshot::channel();
    let writer = std::thread::spawn(move || {
        let verb = move |tx: &mut quintet_storage::WriteTx<'_>, _| -> Result<u64, quintet_storage::Abort<Refusal>> {
            began.send(()).unwrap();
            wait.recv().unwrap();
            Ok(rooms::set_schema(tx, workspace, "den", Some("{\"required\": [\"kind\"]}".to_owned()))?)
        };
        store.write_blocking(Instant::now() + std::time::Duration::from_secs(30), verb)
    });
    begun.await.unwrap();
    let sending = sent(&bench, "alice", json!({"to": ["room:den"], "text": "x", "payload": {"kind": 1}}));
    let setting = async {
        // The message was judged by what the room wanted before, and waits for the writer.
        drop(bench.context.lookers.hold(tenant_id, 8, std::time::Duration::from_secs(30)).await.unwrap());
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        go.send(()).unwrap();
    };
    tokio::join!(sending, setting);
    assert!(matches!(writer.join().unwrap(), Ok(2)));
    let row = inbox(&bench, "bob").await[0].clone();
    let path = format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap());
    let (_, delivery) = bench.call_as("bob", "GET", &path, Value::Null).await;
    assert_eq!(delivery["payload_schema_ref"], "room:den@2");
}

/// Of what is held nobody is told before it is released: not by what he owes for it either.
#[tokio::test]
async fn what_is_held_is_not_among_what_its_recipient_owes() {
    let bench = bench_of(&["alice", "bob"]);
    declare(&bench, "bob", json!({"state": "dnd", "seconds": 3_600})).await;
    let asks = |priority: &'static str| json!({"to": ["bob"], "text": "x", "require_ack": true, "priority": priority});
    for _ in 0..210 {
        sent(&bench, "alice", asks("normal")).await;
    }
    let urgent = sent(&bench, "alice", asks("urgent")).await;
    let (status, owed) = bench.call_as("bob", "GET", "/v1/reminders/owed", Value::Null).await;
    assert_eq!((status, &owed["count"], owed["owed"].as_array().unwrap().len()), (200, &json!(1), 1));
    assert_eq!(owed["owed"][0]["message_id"], urgent["id"], "what is held hides nothing that has come");
    let (_, owing) = bench.call_as("alice", "GET", "/v1/reminders/owing", Value::Null).await;
    assert_eq!((&owing["count"], &owing["owing"][0]["delivery_id"]), (&json!(200), &Value::Null));
    declare(&bench, "bob", json!({"state": "online"})).await;
    let (_, owed) = bench.call_as("bob", "GET", "/v1/reminders/owed", Value::Null).await;
    assert_eq!(owed["count"], json!(200), "the oldest");
    assert!(owed["owed"].as_array().unwrap().iter().all(|row| row["delivery_id"].is_string()), "{owed}");
}

/// Looking through what is owed takes a turn, whichever way one asks: where all are taken it waits, and keeps no thread that
/// serves everybody.
#[tokio::test(start_paused = true)]
async fn what_is_owed_is_looked_through_in_turn() {
    let bench = bench_of(&["alice"]);
    let turns =
        bench.context.lookers.hold(bench.workspace.tenant_id, usize::MAX, std::time::Duration::ZERO).await.unwrap();
    for name in ["owing", "owed"] {
        let path = format!("/v1/reminders/{name}");
        assert_refused(&bench.call_as("alice", "GET", &path, Value::Null).await, (503, "busy"), "");
    }
    drop(turns);
}
