//! The engine against a scripted one on loopback.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quintet_platform::chat::ChatEngine;
use quintet_platform::egress::Egress;
use quintet_platform::json::Json;
use quintet_platform::secrets::Secret;
use quintet_storage::{Timestamp, Uuid};
use quintet_support::engine::{Asked, Reply, ScriptedEngine};
use serde_json::json;

use super::client::Waits;
use super::{Ask, Caller, Engine, Unavailable};

/// When everything happens.
const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
/// Who asks.
const TENANT: Uuid = Uuid::from_u128(1);
/// Somebody else.
const OTHER: Uuid = Uuid::from_u128(2);
/// A second before asking again.
const PAUSE: Duration = Duration::from_millis(20);

fn engine(url: &str) -> Engine {
    patient(url, Duration::from_secs(20))
}

/// One that waits so long for an answer.
fn patient(url: &str, answer: Duration) -> Engine {
    let egress = Egress::new(|address| address.is_loopback());
    let waits = Waits { answer, second: PAUSE };
    let engine = ChatEngine::new(egress, url, "scribe", &Secret::new("engine-secret".to_owned()));
    Engine::with_waits(engine.unwrap(), waits)
}

fn ask() -> Ask {
    let (system, user) = ("Be brief.".to_owned(), r#"{"items": []}"#.to_owned());
    Ask { system, user, shape: "answer", schema: json!({"type": "object"}) }
}

/// What an engine answers: the member `a` of its document.
async fn answer(engine: &Engine, now: Timestamp) -> Result<String, Unavailable> {
    answer_to(&engine.enter(TENANT).unwrap(), now).await
}

/// The same, for one caller.
async fn answer_to(caller: &Caller, now: Timestamp) -> Result<String, Unavailable> {
    caller.ask(&ask(), now, |document| Some(document.get("a")?.as_str()?.to_owned())).await
}

fn says(text: &str) -> Reply {
    Reply::says(&json!({"a": text}).to_string())
}

/// One script for the first request and another for those behind it.
fn first_then(first: Reply, then: Reply) -> impl Fn(&Asked) -> Reply + Send + Sync + 'static {
    let count = AtomicUsize::new(0);
    move |_| if count.fetch_add(1, Ordering::SeqCst) == 0 { first.clone() } else { then.clone() }
}

#[tokio::test]
async fn what_is_asked_is_what_the_interface_wants() {
    let scripted = ScriptedEngine::open(|_| says("hello"));
    assert_eq!(answer(&engine(scripted.url()), NOW).await.as_deref(), Ok("hello"));
    let asked = scripted.asked().remove(0);
    assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", asked.head);
    for field in ["authorization: Bearer engine-secret", "content-type: application/json", "accept-encoding: identity"]
    {
        assert!(asked.head.contains(&format!("{field}\r\n")), "{}", asked.head);
    }
    assert_eq!(
        asked.body,
        json!({
            "model": "scribe",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": r#"{"items": []}"#},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": true, "schema": {"type": "object"}},
            },
        })
    );
}

#[tokio::test]
async fn without_model_and_key_none_is_sent() {
    let scripted = ScriptedEngine::open(|_| says("hello"));
    let whole = format!("{}/chat/completions/", scripted.url());
    let engine = Engine::new(ChatEngine::new(Egress::new(|_| true), &whole, "", &Secret::default()).unwrap());
    assert_eq!(answer(&engine, NOW).await.as_deref(), Ok("hello"));
    let asked = scripted.asked().remove(0);
    assert!(asked.head.starts_with("POST /v1/chat/completions HTTP") && !asked.head.contains("authorization"));
    assert!(asked.body.get("model").is_none());
}

#[test]
fn its_key_is_not_shown() {
    let engine = ChatEngine::new(Egress::new(|_| true), "https://h/v1", "m", &Secret::new("sesame".to_owned()));
    let shown = format!("{:?}", Engine::new(engine.unwrap()));
    assert!(!shown.contains("sesame"), "{shown}");
}

#[tokio::test]
async fn an_engine_that_does_not_take_response_format_is_spared_it_for_an_hour() {
    let script = |asked: &Asked| match asked.body.get("response_format") {
        Some(_) => Reply::status(400, r#"{"error": "response_format is not supported"}"#),
        None => says("fine"),
    };
    let scripted = ScriptedEngine::open(script);
    let engine = engine(scripted.url());
    let formats =
        || scripted.asked().iter().map(|asked| asked.body.get("response_format").is_some()).collect::<Vec<_>>();
    assert_eq!(answer(&engine, NOW).await.as_deref(), Ok("fine"));
    assert_eq!(formats(), [true, false]);
    assert_eq!(answer(&engine, NOW.plus_seconds(3599)).await.as_deref(), Ok("fine"));
    assert_eq!(formats(), [true, false, false]);
    assert_eq!(answer(&engine, NOW.plus_seconds(3600)).await.as_deref(), Ok("fine"));
    assert_eq!(formats(), [true, false, false, true, false]);
}

#[tokio::test]
async fn a_request_refused_for_another_reason_says_nothing_of_response_format() {
    let scripted = ScriptedEngine::open(|_| Reply::status(400, "no"));
    let engine = engine(scripted.url());
    assert_eq!(answer(&engine, NOW).await, Err(Unavailable));
    scripted.follow(|_| says("fine"));
    assert_eq!(answer(&engine, NOW).await.as_deref(), Ok("fine"));
    assert!(scripted.asked()[0].body.get("response_format").is_some());
}

#[tokio::test]
async fn what_may_pass_is_tried_once_more_and_no_more() {
    let gibberish = Reply::says("I would rather not.");
    let passing = [
        Reply::status(429, ""),
        Reply::status(500, "{}"),
        Reply::status(503, ""),
        Reply::status(599, ""),
        Reply::status(200, "{}"),
        Reply::status(200, "no JSON"),
        Reply::Answers(200, Vec::new(), vec![0xff; 10]),
        Reply::status(200, &"x".repeat(2 << 20)),
        says("compressed").with("content-encoding", "gzip"),
        Reply::says(r#"{"b": "another shape"}"#),
        Reply::says(r#"{"a": 7}"#),
        gibberish.clone(),
        Reply::Gone,
    ];
    for passing in passing {
        let scripted = ScriptedEngine::open(first_then(passing.clone(), says("fine")));
        assert_eq!(answer(&engine(scripted.url()), NOW).await.as_deref(), Ok("fine"), "{passing:.200?}");
        assert_eq!(scripted.asked().len(), 2);
        let told = passing.clone();
        scripted.follow(move |_| told.clone());
        assert_eq!(answer(&engine(scripted.url()), NOW).await, Err(Unavailable), "{passing:.200?}");
        assert_eq!(scripted.asked().len(), 2);
    }
    let scripted = ScriptedEngine::open(first_then(Reply::status(500, ""), gibberish));
    assert_eq!(answer(&engine(scripted.url()), NOW).await, Err(Unavailable), "another fault is not another try");
    assert_eq!(scripted.asked().len(), 2);
}

#[tokio::test]
async fn what_does_not_pass_is_not_tried_again() {
    let location = "http://127.0.0.1:1/elsewhere";
    for lasting in [
        Reply::status(401, ""),
        Reply::status(403, ""),
        Reply::status(404, ""),
        Reply::status(422, ""),
        Reply::status(204, ""),
        Reply::status(302, "").with("location", location),
    ] {
        let (scripted, told) = (ScriptedEngine::open(|_| Reply::Gone), lasting.clone());
        scripted.follow(move |_| told.clone());
        assert_eq!(answer(&engine(scripted.url()), NOW).await, Err(Unavailable), "{lasting:?}");
        assert_eq!(scripted.asked().len(), 1, "{lasting:?}");
    }
    let forbidding = ChatEngine::new(Egress::new(|_| false), "http://127.0.0.1:9/v1", "", &Secret::default());
    let forbidding = Engine::new(forbidding.unwrap());
    assert_eq!(answer(&forbidding, NOW).await, Err(Unavailable));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert_eq!(answer(&engine(&format!("http://127.0.0.1:{port}/v1")), NOW).await, Err(Unavailable), "nobody listens");
}

#[tokio::test]
async fn the_engine_says_how_long_to_wait_within_reason() {
    for (asked, least, most) in [("3", 3, 9), ("100000", 10, 30), ("18446744073709551616", 1, 8), ("Mon, 01 Jan", 1, 8)]
    {
        let busy = Reply::status(429, "").with("retry-after", asked);
        let scripted = ScriptedEngine::open(first_then(busy, says("fine")));
        let begun = Instant::now();
        assert_eq!(answer(&engine(scripted.url()), NOW).await.as_deref(), Ok("fine"));
        let waited = begun.elapsed();
        assert!(waited >= PAUSE * least && waited < PAUSE * most + Duration::from_secs(1), "{asked}: {waited:?}");
    }
}

#[tokio::test]
async fn four_requests_are_under_way_at_a_time() {
    let scripted = ScriptedEngine::open(|_| Reply::Late(Duration::from_millis(50), Box::new(says("fine"))));
    let caller = engine(scripted.url()).enter(TENANT).unwrap();
    let all: Vec<_> = (0..12)
        .map(|_| {
            tokio::spawn({
                let caller = caller.clone();
                async move { answer_to(&caller, NOW).await }
            })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap().as_deref(), Ok("fine"));
    }
    assert_eq!((scripted.asked().len(), scripted.at_once()), (12, 4));
}

#[tokio::test]
async fn an_answer_that_does_not_come_or_does_not_end_is_waited_for_once() {
    for endless in [Reply::Endless, Reply::Silent] {
        let scripted = ScriptedEngine::open(move |_| endless.clone());
        assert_eq!(answer(&patient(scripted.url(), Duration::from_millis(60)), NOW).await, Err(Unavailable));
        assert_eq!(scripted.asked().len(), 1);
    }
}

#[tokio::test]
async fn who_gives_up_frees_the_place() {
    for endless in [Reply::Endless, Reply::Silent] {
        let scripted = ScriptedEngine::open(move |_| endless.clone());
        let engine = engine(scripted.url());
        for _ in 0..6 {
            let patience = Duration::from_millis(30);
            assert!(tokio::time::timeout(patience, answer(&engine, NOW)).await.is_err());
        }
        scripted.follow(|_| says("fine"));
        assert_eq!(answer(&engine, NOW).await.as_deref(), Ok("fine"));
    }
}

#[tokio::test]
async fn a_reader_may_look_at_everything_in_a_document() {
    let scripted = ScriptedEngine::open(|_| Reply::says("```json\n{\"a\": [1, 2]}\n```"));
    let count = |document: Json| match document.get("a") {
        Some(Json::Array(items)) => Some(items.len()),
        _ => None,
    };
    let caller = engine(scripted.url()).enter(TENANT).unwrap();
    assert_eq!(caller.ask(&ask(), NOW, count).await, Ok(2));
}

#[tokio::test]
async fn nobody_keeps_the_others_out() {
    let scripted = ScriptedEngine::open(|_| Reply::Silent);
    let engine = engine(scripted.url());
    let mut own: Vec<Caller> = (0..4).map(|_| engine.enter(TENANT).unwrap()).collect();
    assert!(engine.enter(TENANT).is_none(), "a tenant has four callers");
    let other = engine.enter(OTHER).unwrap();
    own.pop();
    own.push(engine.enter(TENANT).unwrap());
    // Four of the tenant's requests are under way, and forty wait.
    let waiting: Vec<_> = (0..44)
        .map(|number| {
            let caller = own[number % 4].clone();
            tokio::spawn(async move { answer_to(&caller, NOW).await })
        })
        .collect();
    while scripted.asked().len() < 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let others = tokio::spawn(async move { answer_to(&other, NOW).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    scripted.follow(|_| says("fine"));
    waiting[0].abort();
    assert_eq!(others.await.unwrap().as_deref(), Ok("fine"));
    assert!(scripted.asked().len() < 30, "the other one's turn comes next, not behind all of them");
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    for one in waiting {
        drop(one.await);
    }
    drop(own);
    let full: Vec<Caller> = (0..16).map(|number| engine.enter(Uuid::from_u128(number / 4)).unwrap()).collect();
    assert!(engine.enter(Uuid::from_u128(99)).is_none(), "sixteen callers in all");
    drop(full);
    assert!(engine.enter(Uuid::from_u128(99)).is_some());
}
