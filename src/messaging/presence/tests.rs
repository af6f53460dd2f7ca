//! The tables of the design, over real requests: availability (A), presence and wake channels (W).

use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::identity::{Availability, Priority, Scope, keys, mailboxes};
use crate::testing::{Bench, assert_refused};

/// An open stream of an agent.
struct Open(axum::body::BodyDataStream);

impl Open {
    async fn of(bench: &Bench, key: &str, headers: &[(&str, &str)]) -> Open {
        let (status, response) = Open::asked(bench, key, headers).await;
        assert_eq!(status, 200);
        response
    }

    async fn asked(bench: &Bench, key: &str, headers: &[(&str, &str)]) -> (u16, Open) {
        let mut request = http::Request::get("/v1/stream").header("authorization", format!("Bearer {key}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = bench.answer(request.body(Body::empty()).unwrap()).await;
        (response.status().as_u16(), Open(response.into_body().into_data_stream()))
    }

    /// The next piece; none at the end.
    async fn next(&mut self) -> Option<String> {
        let piece = tokio::time::timeout(Duration::from_secs(30), self.0.next()).await.expect("a stream says nothing");
        piece.map(|piece| String::from_utf8(piece.unwrap().to_vec()).unwrap())
    }

    /// The id and the data of the next event.
    async fn event(&mut self) -> (u64, Value) {
        let text = self.next().await.unwrap();
        let lines: Vec<&str> = text.split('\n').collect();
        let [id, "event: message", data, "", ""] = lines.as_slice() else { panic!("{text:?}") };
        let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        (id.strip_prefix("id: ").unwrap().parse().unwrap(), data)
    }

    async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(50), self.0.next()).await.is_err()
    }
}

const SIGN: &str = ": keep-alive\n\n";
const CAPABLE: (&str, &str) = ("x-agentbus-wake-capable", "1");

fn shown(bench: &Bench, answer: &Value) -> Value {
    let until = answer["until"].as_str().map(|until| {
        let at = quintet_platform::clock::parse_rfc3339(until).unwrap();
        (at.as_micros() - bench.now().as_micros()) / 1_000_000
    });
    json!([answer["availability"], until, answer["reason"], answer["holds_from"], answer["held"]])
}

/// 6-messaging.md, A1 and A2.
#[tokio::test]
async fn what_an_agent_declares_is_what_is_shown() {
    let bench = Bench::new();
    bench.agent("ann");
    let path = "/v1/agents/ann/availability";
    for (declared, expected) in [
        (json!({"state": "dnd"}), json!(["dnd", 3600, null, "normal", 0])),
        (json!({"state": "dnd", "seconds": 90_000}), json!(["dnd", 86_400, null, "normal", 0])),
        (json!({"state": "busy", "seconds": 5, "reason": "deep"}), json!(["busy", 5, "deep", "normal", 0])),
        (json!({"state": "away", "hold_below": "urgent"}), json!(["away", 3600, null, "normal", 0])),
        (json!({"state": "away", "hold_below": "normal", "new": 1}), json!(["away", 3600, null, "background", 0])),
        (json!({"state": "away", "hold_below": "background"}), json!(["away", 3600, null, null, 0])),
        (json!({"state": "offline", "hold_below": "background"}), json!(["offline", 3600, null, "urgent", 0])),
        (json!({"state": "online", "seconds": 60, "reason": "x"}), json!(["online", null, null, null, 0])),
        (json!({"state": "dnd", "seconds": null, "reason": ""}), json!(["dnd", 3600, null, "normal", 0])),
    ] {
        let (status, answer) = bench.call_as("ann", "PUT", path, declared.clone()).await;
        assert_eq!((status, shown(&bench, &answer)), (200, expected.clone()), "{declared}");
        assert_eq!(answer["released"], 0);
        let (_, read) = bench.call_as("ann", "GET", path, Value::Null).await;
        assert_eq!(shown(&bench, &read), expected);
        assert!(read.get("released").is_none());
    }
    for (declared, member) in [
        (json!({}), "state"),
        (json!({"state": "asleep"}), "state"),
        (json!({"state": "dnd", "seconds": 0}), "seconds"),
        (json!({"state": "dnd", "seconds": -1}), "seconds"),
        (json!({"state": "dnd", "seconds": "5"}), "seconds"),
        (json!({"state": "dnd", "hold_below": "low"}), "hold_below"),
        (json!({"state": "dnd", "reason": "a\nb"}), "reason"),
    ] {
        let answer = bench.call_as("ann", "PUT", path, declared).await;
        assert_refused(&answer, (422, "validation_error"), member);
    }
    let gone = bench.call_as("ann", "GET", "/v1/agents/bob/availability", Value::Null).await;
    assert_refused(&gone, (404, "not_found"), "bob");
}

#[tokio::test]
async fn busy_ends_by_itself_by_nothing_and_ends_nothing_else() {
    let bench = Bench::new();
    bench.agent("ann");
    let busy = async |body: Value| {
        let (status, answer) = bench.call_as("ann", "POST", "/v1/agents/ann/busy", body).await;
        assert_eq!(status, 200, "{answer}");
        json!([answer["busy"], answer["busy_until"].is_string(), answer["seconds"], answer["busy_reason"]])
    };
    let state = async || {
        let (_, answer) = bench.call_as("ann", "GET", "/v1/agents/ann/availability", Value::Null).await;
        answer["availability"].as_str().unwrap().to_owned()
    };
    assert_eq!(busy(json!({"seconds": 60, "reason": "tests"})).await, json!([true, true, 60, "tests"]));
    assert_eq!(busy(json!({"seconds": 0})).await, json!([false, false, 0, null]));
    assert_eq!(state().await, "online");
    assert_eq!(busy(Value::Null).await, json!([true, true, 3600, null]));
    bench.advance(3_599).await;
    assert_eq!(state().await, "busy");
    bench.advance(1).await;
    assert_eq!(state().await, "online");
    bench.call_as("ann", "PUT", "/v1/agents/ann/availability", json!({"state": "dnd"})).await;
    assert_eq!(busy(json!({"seconds": 0})).await, json!([false, false, 0, null]));
    assert_eq!(state().await, "dnd", "that is not for it to end");
    assert_eq!(busy(json!({"seconds": 5})).await, json!([true, true, 5, null]));
}

/// 6-messaging.md, C4, K1.
#[tokio::test]
async fn nobody_declares_for_another() {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("bob");
    let bound = bench.key(Scope::Send, &["bob"]);
    let reader = bench.key(Scope::Read, &["bob"]);
    let dnd = json!({"state": "dnd"});
    let path = "/v1/agents/ann/availability";
    assert_refused(&bench.call(&bound, "PUT", path, dnd.clone()).await, (403, "permission_denied"), "acts as");
    assert_refused(&bench.call(&reader, "PUT", path, dnd.clone()).await, (403, "permission_denied"), "scope");
    assert_refused(
        &bench.call_as("bob", "POST", "/v1/agents/ann/busy", Value::Null).await,
        (403, "permission_denied"),
        "acts as",
    );
    assert_eq!(bench.call(&bench.admin, "PUT", path, dnd).await.0, 200, "the operator may");
    assert_eq!(bench.call(&reader, "GET", path, Value::Null).await.0, 200, "all may see");
    assert_refused(
        &bench.call(&reader, "GET", "/v1/agents/ann/health", Value::Null).await,
        (403, "permission_denied"),
        "its own agent",
    );
    assert_eq!(bench.call(&reader, "GET", "/v1/agents/bob/health", Value::Null).await.0, 200);
    assert_eq!(bench.call(&bound, "GET", "/v1/agents/ann/health", Value::Null).await.0, 200);
}

/// 6-messaging.md, A3: in order, at once, with one event.
#[tokio::test]
async fn what_was_held_comes_in_order_as_one_event() {
    let bench = Bench::new();
    let key = bench.agent("ann");
    bench.agent("bob");
    let bound = bench.key(Scope::Send, &["ann"]);
    let mut stream = Open::of(&bench, &bound, &[]).await;
    assert_eq!(stream.next().await.unwrap(), SIGN);
    bench.call_as("ann", "PUT", "/v1/agents/ann/availability", json!({"state": "busy", "seconds": 600})).await;
    for text in ["one", "two", "three"] {
        assert_eq!(bench.post("bob", &["ann"], text, |_| {}).held.len(), 1);
    }
    assert!(stream.is_silent().await);
    bench.post("bob", &["ann"], "now", |letter| letter.priority = crate::identity::Priority::Urgent);
    let (id, data) = stream.event().await;
    assert_eq!((id, &data["agent_seq"], &data["priority"]), (1, &json!(1), &json!("urgent")));
    assert!(data.get("released").is_none());
    bench.advance(600).await;
    let (id, data) = stream.event().await;
    assert_eq!(
        (id, &data["agent_seq"], &data["priority"], &data["released"]),
        (4, &json!(4), &json!("normal"), &json!(3))
    );
    assert!(stream.is_silent().await);
    let read = bench.context.store.read();
    let inbox = crate::mail::deliver::after(&read, key, 0, 10).unwrap();
    let released: Vec<u32> = inbox.iter().map(|(_, delivery)| delivery.released).collect();
    assert_eq!(released, [0, 3, 3, 3]);
    let texts: Vec<String> = inbox
        .iter()
        .map(|(_, delivery)| crate::mail::messages::get(&read, (key.0, delivery.message)).unwrap().subject)
        .collect();
    assert_eq!(texts, ["About now", "About one", "About two", "About three"]);
    let (_, answer) = bench.call_as("ann", "PUT", "/v1/agents/ann/availability", json!({"state": "online"})).await;
    assert_eq!((answer["released"].clone(), answer["held"].clone()), (json!(0), json!(0)));
}

/// 6-messaging.md, W3.
#[tokio::test]
async fn a_stream_begins_where_its_reader_is() {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("bob");
    let bound = bench.key(Scope::Read, &["ann"]);
    for text in ["one", "two", "three"] {
        bench.post("bob", &["ann"], text, |_| {});
    }
    for (last, first) in [("0", Some(3)), ("", Some(3)), ("x", Some(3)), ("2", Some(3)), ("3", None), ("99", None)] {
        let mut stream = Open::of(&bench, &bound, &[("last-event-id", last)]).await;
        match first {
            Some(seq) => assert_eq!(stream.event().await.0, seq, "{last}"),
            None => assert_eq!(stream.next().await.unwrap(), SIGN, "{last}"),
        }
        assert!(stream.is_silent().await);
    }
    let mut stream = Open::of(&bench, &bound, &[("last-event-id", "99")]).await;
    stream.next().await;
    bench.post("bob", &["ann"], "four", |_| {});
    bench.post("bob", &["ann"], "five", |_| {});
    let text = stream.next().await.unwrap();
    assert!(text.starts_with("id: 4\nevent: message\ndata: {") && text.contains("\n\nid: 5\n"), "{text}");
    let nobody = Open::asked(&bench, &bench.admin, &[]).await;
    assert_eq!(nobody.0, 403, "it is an agent's");
}

#[tokio::test]
async fn a_key_that_is_revoked_ends_its_streams_at_once() {
    let bench = Bench::new();
    bench.agent("ann");
    let (bound, other) = (bench.key(Scope::Send, &["ann"]), bench.key(Scope::Send, &["ann"]));
    let mut revoked = Open::of(&bench, &bound, &[]).await;
    let mut stays = Open::of(&bench, &other, &[]).await;
    assert_eq!((revoked.next().await.unwrap(), stays.next().await.unwrap()), (SIGN.to_owned(), SIGN.to_owned()));
    let id = bound.split('_').nth(2).unwrap().to_owned();
    bench
        .run(move |tx, now| {
            let mut key = keys::find(tx, &id)?.unwrap();
            key.revoked_at = Some(now);
            Ok(keys::put(tx, &key)?)
        })
        .unwrap();
    assert_eq!(revoked.next().await.unwrap(), "event: unauthorized\ndata: {}\n\n");
    assert_eq!(revoked.next().await, None);
    assert!(stays.is_silent().await);
}

#[tokio::test]
async fn a_stream_ends_with_its_agent_and_with_the_appliance() {
    let bench = Bench::new();
    let ann = bench.agent("ann");
    bench.agent("bob");
    let (bound, other) = (bench.key(Scope::Send, &["ann"]), bench.key(Scope::Send, &["bob"]));
    let (mut retires, mut stops) = (Open::of(&bench, &bound, &[]).await, Open::of(&bench, &other, &[]).await);
    retires.next().await;
    stops.next().await;
    bench.post("bob", &["ann"], "last", |_| {});
    bench.run(move |tx, now| Ok(crate::agents::retire(tx, now, ann)?)).unwrap();
    assert_eq!(retires.next().await.unwrap(), "event: unauthorized\ndata: {}\n\n");
    assert_eq!(retires.next().await, None);
    bench.context.stopping.stop();
    assert_eq!(stops.next().await, None);
    let mut late = Open::of(&bench, &other, &[]).await;
    assert_eq!(late.next().await, None);
}

#[tokio::test]
async fn sixteen_streams_and_what_is_told_reaches_all() {
    let bench = Bench::new();
    let ann = bench.agent("ann");
    let bound = bench.key(Scope::Send, &["ann"]);
    let mut streams = Vec::new();
    for _ in 0..16 {
        let mut stream = Open::of(&bench, &bound, &[]).await;
        stream.next().await;
        streams.push(stream);
    }
    let refused = Open::asked(&bench, &bound, &[]).await;
    assert_eq!(refused.0, 409);
    let event = "event: ephemeral\ndata: {}\n\n".to_owned();
    assert_eq!(bench.context.attendance.streams().tell(&[ann], event).streams, 16);
    for stream in &mut streams {
        assert_eq!(stream.next().await.unwrap(), "event: ephemeral\ndata: {}\n\n");
    }
    streams.truncate(3);
    assert_eq!(bench.context.attendance.streams().count(ann), 3);
    assert_eq!(Open::asked(&bench, &bound, &[]).await.0, 200);
}

/// However much is held and however often one declares something: it is looked through when less is to be held than before.
#[tokio::test]
async fn what_is_held_is_looked_through_when_less_is_held() {
    let bench = Bench::new();
    let ann = bench.agent("ann");
    bench.agent("ben");
    let declare = |state: &'static str| {
        let put = bench.call_as("ann", "PUT", "/v1/agents/ann/availability", json!({"state": state, "seconds": 600}));
        async { put.await.1["held"].clone() }
    };
    assert_eq!(declare("offline").await, 0);
    bench.post("ben", &["ann"], "x", |letter| letter.priority = Priority::Urgent);
    assert_eq!(declare("offline").await, 1);
    // What nothing holds shows whether somebody looks.
    bench
        .run(move |tx, _| {
            let mut mailbox = mailboxes::get(tx, ann)?;
            mailbox.standing.availability = Availability::Dnd;
            Ok(mailboxes::put(tx, ann, &mailbox)?)
        })
        .unwrap();
    for (state, held) in [("dnd", 1), ("away", 1), ("offline", 1), ("offline", 1), ("busy", 0)] {
        assert_eq!(declare(state).await, held, "{state}");
    }
}

async fn health(bench: &Bench) -> Value {
    let (status, answer) = bench.call(&bench.admin, "GET", "/v1/agents/ann/health", Value::Null).await;
    assert_eq!(status, 200);
    let members: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = [
        "agent",
        "wake_channel_state",
        "subscriber_count",
        "last_seen_at",
        "last_pong_at",
        "last_stream_attached_at",
        "last_stream_detached_at",
        "keepalive_age_seconds",
        "watcher_alive",
        "capabilities",
    ];
    expected.sort_unstable();
    let mut members = members;
    members.sort_unstable();
    assert_eq!(members, expected, "exactly these ten");
    answer
}

/// 6-messaging.md, W2: health over the life of streams; and what is left of it after a restart.
#[tokio::test(start_paused = false)]
async fn health_is_what_streams_are() {
    let bench = Bench::new();
    bench.agent("ann");
    let bound = bench.key(Scope::Send, &["ann"]);
    let brief =
        |answer: &Value| json!([answer["wake_channel_state"], answer["subscriber_count"], answer["watcher_alive"]]);
    assert_eq!(brief(&health(&bench).await), json!(["none", 0, false]));
    assert_eq!(health(&bench).await["last_seen_at"], Value::Null);
    let plain = Open::of(&bench, &bound, &[("x-agentbus-wake-capable", "0")]).await;
    assert_eq!(brief(&health(&bench).await), json!(["none", 1, true]));
    let capable = Open::of(&bench, &bound, &[CAPABLE]).await;
    let found = health(&bench).await;
    assert_eq!((brief(&found), found["keepalive_age_seconds"].clone()), (json!(["live", 2, true]), json!(0)));
    assert!(found["last_stream_attached_at"].is_string() && found["last_stream_detached_at"].is_null());
    drop(capable);
    let found = health(&bench).await;
    assert_eq!(brief(&found), json!(["none", 1, true]));
    assert!(found["last_stream_detached_at"].is_string());
    // What is seen is stored a minute later; a reader that has memory of nothing finds it.
    bench.advance(61).await;
    let read = bench.context.store.read();
    let fresh = crate::attendance::Attendance::default().attended(&read, bench.named("ann")).unwrap();
    assert!(fresh.sighting.attached_at.is_some() && fresh.sighting.detached_at.is_some());
    assert!(!fresh.has_stream());
    drop(plain);
}

/// 6-messaging.md, I4: as long as a stream is open, nobody is idle.
#[tokio::test]
async fn who_has_a_stream_open_does_not_retire() {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("bob");
    let bound = bench.key(Scope::Send, &["ann"]);
    let stream = Open::of(&bench, &bound, &[CAPABLE]).await;
    bench.advance(15 * 86_400).await;
    let is_retired = |name: &str| {
        crate::identity::mailboxes::get(&bench.context.store.read(), bench.named(name)).unwrap().is_retired
    };
    assert_eq!((is_retired("ann"), is_retired("bob")), (false, true));
    drop(stream);
    bench.advance(13 * 86_400).await;
    assert!(!is_retired("ann"), "it was there until then");
    bench.advance(2 * 86_400).await;
    assert!(is_retired("ann"));
}

/// 6-messaging.md, W1 and W4, over requests: a key of its own, a shared one, an unbound one.
#[tokio::test]
async fn an_echo_by_a_key_of_its_own_makes_responsive() {
    let bench = Bench::new();
    let ann = bench.agent("ann");
    bench.agent("bob");
    let own = bench.key(Scope::Send, &["ann"]);
    let shared = bench.key(Scope::Send, &["ann", "bob"]);
    let presence = || {
        let attended = bench.context.attendance.attended(&bench.context.store.read(), ann).unwrap();
        attended.presence(false, bench.now()).name()
    };
    let asked = async |key: &str, pong: Option<&str>| {
        let mut request = http::Request::get("/v1/agents/ann/availability")
            .header("authorization", format!("Bearer {key}"))
            .header("x-agentbus-agent", "ann");
        if let Some(pong) = pong {
            request = request.header("x-agentbus-pong", pong);
        }
        let response = bench.answer(request.body(Body::empty()).unwrap()).await;
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        answer["liveness_challenge"].as_str().map(str::to_owned)
    };
    assert_eq!(presence(), "idle");
    for key in [&bench.admin, &shared] {
        let challenge = asked(key, None).await.unwrap();
        asked(key, Some(&challenge)).await;
        assert_eq!(presence(), "reachable");
    }
    let challenge = asked(&own, None).await.unwrap();
    assert_eq!(asked(&own, None).await.as_ref(), Some(&challenge), "repeated until echoed");
    assert_eq!(presence(), "reachable");
    bench.advance(2).await;
    assert_eq!(asked(&own, Some(&challenge)).await, None, "it has echoed just now");
    assert_eq!(presence(), "responsive");
    let (_, answer) = bench.call_as("ann", "GET", "/v1/agents/ann/health", Value::Null).await;
    assert!(answer.get("liveness_challenge").is_none() && answer["last_pong_at"].is_string());
    bench.advance(46).await;
    assert!(asked(&own, None).await.is_some(), "the next one is due");
    bench.advance(180 - 46).await;
    assert_eq!(presence(), "responsive");
    bench.advance(1).await;
    assert_eq!(presence(), "reachable");
    bench.advance(900).await;
    assert_eq!(presence(), "idle");
}
