//! The inbox as callers see it: pages, filters, waiting, what marks read and what does not, labels, attachments, and that
//! nobody sees what is not for him.

use axum::body::Body;
use http_body_util::BodyExt as _;
use quintet_platform::ids::ulid;
use quintet_storage::WriteTx;
use quintet_storage::large::{CHUNK_BYTES, Upload};
use quintet_storage::seal::KeyOwner;
use serde_json::{Value, json};
use std::time::Duration;

use crate::acks::{self, Owed};
use crate::identity::{Availability, Priority, Scope, Standing};
use crate::limits::MAIL_LABELS;
use crate::mail::deliver::{Parcel, declare, deliver};
use crate::mail::model::{Attachment, Role, Sender};
use crate::testing::{Bench, assert_refused};

const NONE: Value = Value::Null;

fn inbox_of_three() -> Bench {
    let bench = Bench::new();
    for name in ["ann", "ben", "cid"] {
        bench.agent(name);
    }
    bench
}

async fn inbox(bench: &Bench, agent: &str, query: &str) -> Value {
    let (status, body) = bench.call_as(agent, "GET", &format!("/v1/inbox{query}"), NONE).await;
    assert_eq!(status, 200, "{body}");
    body
}

fn seqs(page: &Value) -> Vec<u64> {
    page["messages"].as_array().unwrap().iter().map(|row| row["agent_seq"].as_u64().unwrap()).collect()
}

async fn delivery_ids(bench: &Bench, agent: &str) -> Vec<String> {
    let page = inbox(bench, agent, "?limit=200").await;
    page["messages"].as_array().unwrap().iter().map(|row| row["delivery_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps() {
    let bench = inbox_of_three();
    for number in 0..7 {
        bench.post("ann", &["ben"], &number.to_string(), |_| {});
    }
    let first = inbox(&bench, "ben", "?limit=3").await;
    assert_eq!(
        (seqs(&first), &first["count"], &first["cursor"], &first["next_cursor"]),
        (vec![1, 2, 3], &json!(3), &json!(0), &json!(3))
    );
    assert_eq!(seqs(&inbox(&bench, "ben", "?limit=3&cursor=3").await), [4, 5, 6]);
    assert_eq!(seqs(&inbox(&bench, "ben", "?limit=3&cursor=6").await), [7]);
    let behind = inbox(&bench, "ben", "?cursor=7").await;
    assert_eq!((seqs(&behind), &behind["next_cursor"]), (vec![], &json!(7)));
    assert_eq!(seqs(&inbox(&bench, "ann", "").await), [0_u64; 0], "what one sends is not in one's inbox");
    let row = &first["messages"][0];
    for (member, expected) in [
        ("subject", json!("About 0")),
        ("sender_display", json!("ann")),
        ("sender_agent_name", json!("ann")),
        ("sender_address", json!("agentbus+acme.ann@mail.example")),
        ("state", json!("delivered")),
        ("labels", json!([])),
        ("attachment_count", json!(0)),
        ("priority", json!("normal")),
        ("direction", json!("bus")),
        ("inbound_source", NONE),
        ("signature_state", NONE),
        ("sealed", json!(false)),
        ("read_at", NONE),
        ("your_role", json!("to")),
        ("lane", NONE),
    ] {
        assert_eq!(row[member], expected, "{member}");
    }
}

#[tokio::test]
async fn what_cannot_be_asked() {
    let bench = inbox_of_three();
    for query in ["?limit=0", "?limit=201", "?limit=x", "?cursor=-1", "?unread=yes", "?wait=-1", "?label=", "?other=1"]
    {
        let answer = bench.call_as("ben", "GET", &format!("/v1/inbox{query}"), NONE).await;
        assert_refused(&answer, (422, "validation_error"), "");
    }
    assert_refused(&bench.call(&bench.admin, "GET", "/v1/inbox", NONE).await, (403, "permission_denied"), "an agent");
}

#[tokio::test]
async fn reading_marks_read_and_looking_does_not() {
    let bench = inbox_of_three();
    for number in 0..4 {
        bench.post("ann", &["ben"], &number.to_string(), |_| {});
    }
    let ids = delivery_ids(&bench, "ben").await;
    assert_eq!(seqs(&inbox(&bench, "ben", "?unread=true").await), [1, 2, 3, 4]);
    let only_reads = bench.key(Scope::Read, &["ben"]);
    let path = format!("/v1/deliveries/{}", ids[1]);
    let (status, seen) = bench.call(&only_reads, "GET", &path, NONE).await;
    assert_eq!(
        (status, &seen["state"], &seen["read_at"]),
        (200, &json!("delivered"), &NONE),
        "a key that may only read"
    );
    let (status, read) = bench.call_as("ben", "GET", &path, NONE).await;
    assert_eq!((status, &read["state"], read["read_at"].is_string()), (200, &json!("read"), true));
    assert_eq!(seqs(&inbox(&bench, "ben", "?unread=true").await), [1, 3, 4]);
    assert_eq!(seqs(&inbox(&bench, "ben", "?unread=true&cursor=1&limit=1").await), [3]);
    bench.advance(60).await;
    let (_, again) = bench.call_as("ben", "GET", &path, NONE).await;
    assert_eq!(again["read_at"], read["read_at"], "it was read once");
    for (member, expected) in [
        ("text_body", json!("1")),
        ("html_body", NONE),
        ("payload", NONE),
        ("attachments", json!([])),
        ("recipients", json!([{"recipient": "ben", "kind": "to"}])),
        ("auth_verdicts", NONE),
        ("body_sha256", json!("6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b")),
        ("lineage", NONE),
        ("thread_message_count", json!(1)),
    ] {
        assert_eq!(again[member], expected, "{member}");
    }
    let provenance = &again["provenance"];
    assert_eq!(
        (&provenance["level"], &provenance["signature"]["state"]),
        (&json!("platform_attested"), &json!("unsigned"))
    );
    assert_eq!(provenance["signature"]["signed"], json!(false));
}

#[tokio::test]
async fn a_message_is_found_by_its_own_id_by_those_it_concerns() {
    let bench = inbox_of_three();
    let mut posted = Vec::new();
    for number in 0..300 {
        let to: &[&str] = if number % 3 == 0 { &["cid"] } else { &["ben", "cid"] };
        posted.push(bench.post("ann", to, &number.to_string(), |_| {}));
        if number % 50 == 0 {
            bench.advance(1).await;
        }
    }
    for number in [0, 1, 2, 149, 150, 151, 298, 299] {
        let path = format!("/v1/deliveries/{}", ulid(posted[number].message.0));
        let (status, found) = bench.call_as("ben", "GET", &path, NONE).await;
        if number % 3 == 0 {
            assert_refused(&(status, found), (404, "not_found"), "for this agent");
        } else {
            assert_eq!(
                (status, &found["text_body"], &found["your_role"]),
                (200, &json!(number.to_string()), &json!("to"))
            );
        }
        let (_, own) = bench.call_as("ann", "GET", &path, NONE).await;
        let members = [&own["your_role"], &own["delivery_id"], &own["text_body"], &own["state"]];
        assert_eq!(members, [&json!("sender"), &NONE, &json!(number.to_string()), &json!("read")]);
    }
    let to_self = bench.post("ann", &["ann"], "note", |_| {});
    let (_, own) = bench.call_as("ann", "GET", &format!("/v1/deliveries/{}", ulid(to_self.message.0)), NONE).await;
    assert_eq!((&own["your_role"], own["delivery_id"].is_string()), (&json!("to"), true));
}

#[tokio::test]
async fn what_was_held_is_found_by_its_message_once_it_is_there() {
    let bench = inbox_of_three();
    let ben = bench.named("ben");
    let until = bench.now().plus_seconds(600);
    let dnd =
        Standing { availability: Availability::Dnd, until: Some(until), reason: None, hold_below: Priority::Urgent };
    bench.run(move |tx, now| Ok(declare(tx, now, ben, dnd)?)).unwrap();
    let held = bench.post("ann", &["ben"], "later", |_| {});
    bench.post("ann", &["ben"], "now", |letter| letter.priority = Priority::Urgent);
    let path = format!("/v1/deliveries/{}", ulid(held.message.0));
    let (thread, message) = (format!("/v1/threads/{}", ulid(held.thread.0)), ulid(held.message.0));
    let others = [format!("/v1/messages/{message}/raw"), format!("/v1/messages/{message}/claim")];
    for path in others.iter().chain([&path, &thread]) {
        assert_refused(&bench.call_as("ben", "GET", path, NONE).await, (404, "not_found"), "");
    }
    bench.advance(600).await;
    let page = inbox(&bench, "ben", "").await;
    assert_eq!(page["messages"][1]["subject"], json!("About later"));
    assert_eq!(text(&bench, "ben", &others[0]).await.0, 200);
    assert_eq!(bench.call_as("ben", "GET", &thread, NONE).await.1["count"], json!(1));
    let (status, found) = bench.call_as("ben", "GET", &path, NONE).await;
    assert_eq!((status, &found["agent_seq"], &found["text_body"]), (200, &json!(2), &json!("later")));
}

#[tokio::test]
async fn what_is_not_for_one_is_not_there() {
    let bench = inbox_of_three();
    bench.post("ann", &["ben"], "secret", |_| {});
    let id = delivery_ids(&bench, "ben").await.remove(0);
    let other = bench.another("other");
    let strange = bench.key_of(other.no, Scope::Admin, &[]);
    for path in [format!("/v1/deliveries/{id}"), format!("/v1/deliveries/{id}/attachments/0")] {
        for agent in ["ann", "cid"] {
            assert_refused(&bench.call_as(agent, "GET", &path, NONE).await, (404, "not_found"), "");
        }
        assert_eq!(bench.call(&strange, "GET", &path, NONE).await.0, 403, "no agent acts");
    }
    for path in [format!("/v1/deliveries/{id}/ack"), format!("/v1/deliveries/{id}/labels")] {
        assert_refused(&bench.call_as("cid", "POST", &path, NONE).await, (404, "not_found"), "");
    }
    for id in ["x", "01ARZ3NDEKTSV4RRFFQ69G5FAV", &"7".repeat(26), &"0".repeat(26)] {
        let path = format!("/v1/deliveries/{id}");
        assert_refused(&bench.call_as("ben", "GET", &path, NONE).await, (404, "not_found"), "");
    }
    // The right place at another instant is none.
    let moved = format!("{}0{}", &id[..9], &id[10..]);
    if moved != id {
        let path = format!("/v1/deliveries/{moved}");
        assert_refused(&bench.call_as("ben", "GET", &path, NONE).await, (404, "not_found"), "");
    }
}

#[tokio::test]
async fn acknowledging_is_repeatable_and_reads() {
    let bench = inbox_of_three();
    let posted = bench.post("ann", &["ben"], "x", |_| {});
    let id = delivery_ids(&bench, "ben").await.remove(0);
    let (status, acked) = bench.call_as("ben", "POST", &format!("/v1/deliveries/{id}/ack"), NONE).await;
    assert_eq!((status, &acked["delivery_id"], &acked["state"]), (200, &json!(id), &json!("acked")));
    bench.advance(5).await;
    let by_message = format!("/v1/deliveries/{}/ack", ulid(posted.message.0));
    let (_, again) = bench.call_as("ben", "POST", &by_message, json!({})).await;
    assert_eq!(again["acked_at"], acked["acked_at"]);
    assert!(seqs(&inbox(&bench, "ben", "?unread=true").await).is_empty());
    assert_refused(&bench.call_as("ann", "POST", &by_message, NONE).await, (404, "not_found"), "for this agent");
    let only_reads = bench.key(Scope::Read, &["ben"]);
    let refused = bench.call(&only_reads, "POST", &by_message, NONE).await;
    assert_refused(&refused, (403, "permission_denied"), "scope");
}

#[tokio::test]
async fn who_acknowledges_owes_no_acknowledgement() {
    let bench = inbox_of_three();
    let (ann, ben) = (bench.named("ann").1, bench.named("ben"));
    let posted = bench.post("ann", &["ben"], "x", |_| {});
    bench.run(move |tx, now| Ok(acks::owe(tx, ben, posted.message, Owed::new(ann, now, 600))?)).unwrap();
    let path = format!("/v1/deliveries/{}/ack", ulid(posted.message.0));
    assert_eq!(bench.call_as("ben", "POST", &path, NONE).await.0, 200);
    assert_eq!(acks::find(&bench.context.store.read(), ben, posted.message).unwrap(), None);
}

#[tokio::test]
async fn labels_are_made_by_use_and_a_workspace_has_so_many() {
    let mut bench = inbox_of_three();
    for number in 0..3 {
        bench.post("ann", &["ben", "cid"], &number.to_string(), |_| {});
    }
    bench.set(|workspace| workspace.limits.push((MAIL_LABELS.code, Some(2))));
    let ids = delivery_ids(&bench, "ben").await;
    let paths: Vec<String> = ids.iter().map(|id| format!("/v1/deliveries/{id}/labels")).collect();
    let (status, labelled) = bench.call_as("ben", "POST", &paths[0], json!({"add": ["todo", "b:1", "todo"]})).await;
    assert_eq!(
        (status, &labelled),
        (
            200,
            &json!({"delivery_id": ids[0], "labels": ["todo", "b:1"], "liveness_challenge": labelled["liveness_challenge"]})
        )
    );
    let (status, body) = bench.call_as("ben", "POST", &paths[1], json!({"add": ["third"]})).await;
    assert_eq!((&body["limit"], &body["max"]), (&json!("mail_labels"), &json!(2)));
    assert_refused(&(status, body), (409, "limit_reached"), "mail_labels");
    assert_eq!(bench.call_as("ben", "POST", &paths[1], json!({"add": ["todo"]})).await.0, 200);
    let moved = json!({"remove": ["b:1", "unknown"], "add": ["third"]});
    let (_, labelled) = bench.call_as("ben", "POST", &paths[0], moved).await;
    assert_eq!(labelled["labels"], json!(["todo", "third"]), "its last use is its end");
    assert_eq!(seqs(&inbox(&bench, "ben", "?label=todo").await), [1, 2]);
    assert_eq!(seqs(&inbox(&bench, "ben", "?label=todo&cursor=1").await), [2]);
    assert_eq!(seqs(&inbox(&bench, "ben", "?label=third").await), [1]);
    assert_eq!(seqs(&inbox(&bench, "ben", "?label=b:1").await), [0_u64; 0]);
    assert_eq!(seqs(&inbox(&bench, "cid", "?label=todo").await), [0_u64; 0], "they are the agent's own");
    bench.call_as("ben", "GET", &format!("/v1/deliveries/{}", ids[0]), NONE).await;
    let unread = inbox(&bench, "ben", "?label=todo&unread=true&limit=1").await;
    assert_eq!((seqs(&unread), &unread["next_cursor"]), (vec![2], &json!(2)));
    let both = json!({"add": ["todo", "fourth"], "remove": ["todo", "fourth"]});
    let (_, labelled) = bench.call_as("ben", "POST", &paths[0], both).await;
    assert_eq!(labelled["labels"], json!(["third"]), "what is in both lists stays off");
    bench.set(|workspace| workspace.limits = vec![(MAIL_LABELS.code, None)]);
    let many = |from: usize| (from..from + 49).map(|number| format!("l{number}")).collect::<Vec<_>>();
    assert_eq!(bench.call_as("ben", "POST", &paths[0], json!({"add": many(0)})).await.0, 200);
    let (status, body) = bench.call_as("ben", "POST", &paths[0], json!({"add": many(1)})).await;
    assert_eq!((status, &body["limit"], &body["max"]), (409, &json!("labels_per_delivery"), &json!(50)));
    for (body, member) in
        [(json!({"add": ["Bad"]}), "add[0]"), (json!({"add": "todo"}), "add"), (json!({"add": vec!["x"; 51]}), "add")]
    {
        assert_refused(&bench.call_as("ben", "POST", &paths[0], body).await, (422, "validation_error"), member);
    }
}

#[tokio::test]
async fn attachments_come_in_pieces_as_they_were() {
    let bench = inbox_of_three();
    let bytes: Vec<u8> = (0..2 * CHUNK_BYTES + 7).map(|place| u8::try_from(place % 251).unwrap()).collect();
    let owner = KeyOwner::Tenant(bench.workspace.tenant_id);
    let mut upload = Upload::begin_sealed(&bench.context.store, owner, 600, Duration::from_secs(9)).await.unwrap();
    upload.push(&bytes).await.unwrap();
    let value = upload.finish().await.unwrap();
    bench.post("ann", &["ben"], "file", |letter| {
        letter.attachments.push(Attachment {
            filename: "d\u{e9}tails.bin".to_owned(),
            content_type: "text/html".to_owned(),
            value,
        });
    });
    let id = delivery_ids(&bench, "ben").await.remove(0);
    let get = |agent: &str, path: String| {
        let request = http::Request::builder().uri(path).header("authorization", format!("Bearer {}", bench.admin));
        bench.answer(request.header("x-agentbus-agent", agent).body(Body::empty()).unwrap())
    };
    for agent in ["ben", "ann"] {
        let page = inbox(&bench, "ben", "").await;
        let id =
            if agent == "ben" { id.clone() } else { page["messages"][0]["message_id"].as_str().unwrap().to_owned() };
        let mut response = get(agent, format!("/v1/deliveries/{id}/attachments/0")).await;
        let headers = response.headers().clone();
        assert_eq!(headers["content-type"], "text/html");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(
            headers["content-disposition"],
            "attachment; filename=\"d_tails.bin\"; filename*=UTF-8''d%C3%A9tails.bin"
        );
        assert_eq!(headers["content-length"], bytes.len().to_string());
        let got = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
        assert!(got == bytes, "{agent} gets other bytes");
    }
    for number in ["1", "-1", "x", "99999999999999999999"] {
        let path = format!("/v1/deliveries/{id}/attachments/{number}");
        assert_refused(&bench.call_as("ben", "GET", &path, NONE).await, (404, "not_found"), "attachment");
    }
    assert_eq!(seqs(&inbox(&bench, "ben", "?unread=true").await), [1], "it is not read by that");
}

/// The whole of an answer that is no JSON.
async fn text(bench: &Bench, agent: &str, path: &str) -> (u16, String) {
    let request = http::Request::builder().uri(path).header("authorization", format!("Bearer {}", bench.admin));
    let mut response = bench.answer(request.header("x-agentbus-agent", agent).body(Body::empty()).unwrap()).await;
    let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
    (response.status().as_u16(), String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn a_message_is_shown_as_mail_to_those_it_concerns() {
    let bench = inbox_of_three();
    let parent = bench.post("ann", &["ben"], "first", |_| {});
    let posted = bench.post("ben", &["ann"], "second", |letter| {
        letter.thread = Some(parent.thread);
        letter.in_reply_to = Some(parent.message);
        letter.to.push("room:build".to_owned());
    });
    let path = format!("/v1/messages/{}/raw", ulid(posted.message.0));
    let (status, mail) = text(&bench, "ann", &path).await;
    assert_eq!(status, 200, "{mail}");
    let parent_id = ulid(parent.message.0);
    for line in [
        "Subject: About second".to_owned(),
        "agentbus+acme.ben@mail.example".to_owned(),
        "agentbus+acme.ann@mail.example".to_owned(),
        format!("In-Reply-To: <{parent_id}@mail.example>"),
        "second".to_owned(),
    ] {
        assert!(mail.contains(&line), "{line}: {mail}");
    }
    for path in [&path, "/v1/messages/x/raw"] {
        assert_refused(&bench.call_as("cid", "GET", path, NONE).await, (404, "not_found"), "for this agent");
    }
}

/// A page costs what is on it, however full the inbox is.
#[tokio::test]
async fn a_page_is_as_quick_behind_a_hundred_thousand_as_behind_ten() {
    let bench = inbox_of_three();
    let ben = bench.named("ben");
    let posted = bench.post("ann", &["ben"], "x", |_| {});
    for _ in 0..50 {
        let deliveries = move |tx: &mut WriteTx<'_>, now| {
            for _ in 0..2_000 {
                let (message, thread) = (posted.message, posted.thread);
                let parcel = Parcel { message, thread, role: Role::To, priority: Priority::Normal, is_late: false };
                deliver(tx, now, ben, parcel)?;
            }
            Ok(())
        };
        bench.run(deliveries).unwrap();
    }
    let mut quickest = Duration::MAX;
    for query in ["?cursor=99900", "?cursor=99900&unread=true", "?unread=true", "?cursor=0"] {
        for _ in 0..5 {
            let begun = std::time::Instant::now();
            assert_eq!(seqs(&inbox(&bench, "ben", query).await).len(), 50);
            quickest = quickest.min(begun.elapsed());
        }
        assert!(quickest < Duration::from_millis(200), "{query} takes {quickest:?}");
    }
}

#[tokio::test]
async fn a_wait_ends_with_mail_or_with_the_appliance() {
    let bench = inbox_of_three();
    let waits = inbox(&bench, "ben", "?wait=55");
    let sends = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        bench.post("ann", &["ben"], "x", |_| {});
    };
    let (page, ()) = tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(waits, sends) }).await.unwrap();
    assert_eq!(seqs(&page), [1]);
    assert_eq!(seqs(&inbox(&bench, "ben", "?wait=55&unread=true").await), [1], "at once, where something is unread");
    let stops = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        bench.context.stopping.stop();
    };
    let waits = inbox(&bench, "ben", "?wait=55&cursor=1");
    let (page, ()) = tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(waits, stops) }).await.unwrap();
    assert_eq!((seqs(&page), &page["next_cursor"]), (vec![], &json!(1)));
}

#[tokio::test]
async fn the_platforms_own_messages_say_so() {
    let bench = inbox_of_three();
    bench.post("ann", &["ben"], "told", |letter| {
        letter.from.sender = Sender::System;
        letter.from.name = "system".to_owned();
        letter.from.address = String::new();
        letter.from.attestation = crate::identity::Attestation::System;
    });
    bench.post("ann", &["ben"], "called", |letter| letter.from.sender = Sender::Ingress("hook:ci".to_owned()));
    let page = inbox(&bench, "ben", "").await;
    let row = &page["messages"][0];
    assert_eq!(
        (&row["direction"], &row["sender_display"], &row["sender_address"]),
        (&json!("system"), &json!("system"), &NONE)
    );
    let row = &page["messages"][1];
    assert_eq!(
        (&row["direction"], &row["inbound_source"], &row["sender_agent_name"]),
        (&json!("ingress"), &json!("hook:ci"), &NONE)
    );
}

/// HEAD asks whether something is there: it reads nothing, and opens no stream.
#[tokio::test]
async fn who_only_asks_whether_it_is_there_changes_nothing() {
    let bench = inbox_of_three();
    bench.post("ann", &["ben"], "one", |_| {});
    let id = delivery_ids(&bench, "ben").await[0].clone();
    for path in ["/v1/inbox", &format!("/v1/deliveries/{id}"), "/v1/stream"] {
        let (status, body) = bench.call_as("ben", "HEAD", path, NONE).await;
        assert_eq!((status, body), (200, NONE), "{path}");
    }
    assert_eq!(inbox(&bench, "ben", "").await["messages"][0]["state"], "delivered");
    let (_, health) = bench.call_as("ben", "GET", "/v1/agents/ben/health", NONE).await;
    assert!(health["last_stream_attached_at"].is_null(), "{health}");
    bench.call_as("ben", "GET", &format!("/v1/deliveries/{id}"), NONE).await;
    assert_eq!(inbox(&bench, "ben", "").await["messages"][0]["state"], "read");
}
