//! What black-box tests cannot bring about: a pool that is full, a drawing that panics or never ends, a store that has
//! stopped, pictures that warn.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use futures_util::StreamExt as _;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use quintet_drawing::render::Format;
use quintet_platform::Foundation;
use quintet_platform::access::Authority;
use quintet_platform::clock::Clock;
use quintet_storage::{Store, StoreOptions, TimeSource};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::routes;
use crate::context::{BODY_TIME, Context, LARGE_BODIES_MAX, SATURATED_TIME, Settings};
use crate::engine::{Drawing, DrawingError, Engine};
use crate::pool::{Pool, PoolLimits, PoolReading};

struct Room {
    context: Context,
    /// Lets drawings of `held` end.
    release: mpsc::Sender<()>,
    _directory: tempfile::TempDir,
}

/// An engine that does as its source says.
fn engine(held: mpsc::Receiver<()>) -> Engine {
    let held = std::sync::Mutex::new(held);
    let draw = move |source: &[u8], _: Format| match source {
        b"held" => {
            let _ = held.lock().unwrap().recv();
            Err(DrawingError::without_place("released"))
        }
        b"panic" => panic!("on purpose"),
        source if source.starts_with(b"simplified") => Ok(Drawing {
            bytes: b"<svg/>".to_vec(),
            warnings: vec!["layout=neato\r\nis drawn with dot".to_owned(), "caf\u{e9}".to_owned()],
            is_degraded: true,
        }),
        _ => Err(DrawingError::without_place("the graph has more than 5000 nodes")),
    };
    Engine { identity: "test".to_owned(), draw: Arc::new(draw) }
}

impl Room {
    fn open(saturated_time: Duration) -> Room {
        Room::with_times(saturated_time, BODY_TIME)
    }

    fn with_times(saturated_time: Duration, body_time: Duration) -> Room {
        let directory = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let options = StoreOptions::new(directory.path(), Arc::new(clock.clone()) as Arc<dyn TimeSource>);
        let tables = &[quintet_storage::large::TABLES, quintet_platform::TABLES, crate::TABLES];
        let store = Store::open(options, tables).unwrap();
        let (release, held) = mpsc::channel();
        let limits =
            PoolLimits { width: 1, queue: 1, queue_time: Duration::from_secs(20), run_time: Duration::from_secs(20) };
        let settings = Settings {
            engine: engine(held),
            generator: None,
            pool: Pool::start(limits).unwrap(),
            requires_key: false,
            cache_mb: 64,
        };
        let context = Context::new(Foundation::new(store, clock, Authority::Embedded), settings);
        let mut parts = Arc::into_inner(context.0).unwrap();
        (parts.saturated_time, parts.body_time) = (saturated_time, body_time);
        Room { context: Context(Arc::new(parts)), release, _directory: directory }
    }

    async fn call(&self, method: Method, path: &str, body: &str) -> (StatusCode, http::HeaderMap, Value) {
        call(self.context.clone(), method, path.to_owned(), body.to_owned()).await
    }

    async fn draw(&self, source: &str) -> (StatusCode, http::HeaderMap, Value) {
        self.call(Method::POST, "/graphs?format=svg", &json!({ "dotfile": source }).to_string()).await
    }

    fn draw_beside(&self, source: &str) -> tokio::task::JoinHandle<(StatusCode, http::HeaderMap, Value)> {
        let body = json!({ "dotfile": source }).to_string();
        tokio::spawn(call(self.context.clone(), Method::POST, "/graphs?format=svg".to_owned(), body))
    }

    async fn until(&self, condition: impl Fn(PoolReading) -> bool) {
        for _ in 0..2_000 {
            if condition(self.context.pool.reading()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it did not come about");
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.context.store.shutdown();
    }
}

async fn call(context: Context, method: Method, path: String, body: String) -> (StatusCode, http::HeaderMap, Value) {
    let request = Request::builder().method(method).uri(path).header("host", "diagrams.example");
    let request = request.header("content-length", body.len()).body(Body::from(body)).unwrap();
    let (parts, body) = routes(context).oneshot(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (parts.status, parts.headers, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_is_told_at_once_and_when_to_come_back() {
    let room = Room::open(Duration::from_millis(1));
    assert_eq!(room.call(Method::GET, "/health", "").await.2["status"], "healthy");
    let first = room.draw_beside("held");
    room.until(|pool| pool.begun == 1).await;
    let second = room.draw_beside("anything");
    room.until(|pool| pool.waiting == 1).await;
    let (status, headers, body) = room.draw("anything").await;
    assert_eq!((status.as_u16(), headers["retry-after"].to_str().unwrap()), (503, "1"), "{body}");
    assert!(body["error"].is_string());
    let (status, _, body) = room.call(Method::POST, "/validate", r#"{"dotfile": "graph {}"}"#).await;
    assert_eq!(status, 503, "{body}");
    tokio::time::sleep(Duration::from_millis(5)).await;
    let (status, _, body) = room.call(Method::GET, "/health", "").await;
    assert_eq!((status.as_u16(), &body["status"]), (503, &json!("degraded")), "{body}");
    assert!(body["reason"].as_str().unwrap().contains("waiting"), "{body}");
    let (pool, _) = room.context.reading();
    assert_eq!((pool.waiting, pool.begun, pool.turned_away), (1, 1, 2));
    room.release.send(()).unwrap();
    assert_eq!(first.await.unwrap().0, 422);
    assert_eq!(second.await.unwrap().0, 422);
    assert_eq!(room.call(Method::GET, "/health", "").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_an_internal_error_that_says_nothing() {
    let room = Room::open(SATURATED_TIME);
    let (status, _, body) = room.draw("panic").await;
    assert_eq!((status.as_u16(), body), (500, json!({ "error": "the request could not be answered" })));
    assert_eq!(room.draw("more").await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_named_and_has_no_place() {
    let room = Room::open(SATURATED_TIME);
    let (status, _, body) = room.draw("more").await;
    assert_eq!((status.as_u16(), body), (422, json!({ "error": "the graph has more than 5000 nodes" })));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_honoured_is_said_each_time() {
    let room = Room::open(SATURATED_TIME);
    let mut address = String::new();
    // The second time it comes from storage.
    for _ in 0..2 {
        let (status, headers, body) = room.draw("simplified").await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(headers["x-render-warning"], "layout=neato??is drawn with dot; caf?");
        assert_eq!(headers["x-render-degraded"], "true");
        address = body["url"].as_str().unwrap().to_owned();
    }
    assert!(address.starts_with("http://diagrams.example/graphs/"), "{address}");
    assert_eq!(room.context.pool.reading().begun, 1);
    let (status, headers, _) = room.call(Method::GET, address.trim_start_matches("http://diagrams.example"), "").await;
    assert_eq!((status.as_u16(), headers["x-render-degraded"].to_str().unwrap()), (200, "true"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_storage_what_is_there_can_still_be_read() {
    let room = Room::open(SATURATED_TIME);
    let (_, _, body) = room.draw("simplified").await;
    let path = body["url"].as_str().unwrap().trim_start_matches("http://diagrams.example").to_owned();
    room.context.store.shutdown();
    let (status, headers, body) = room.draw("simplified otherwise").await;
    assert_eq!((status.as_u16(), headers["retry-after"].to_str().unwrap()), (503, "30"), "{body}");
    assert_eq!(room.draw("simplified").await.0, 200, "it is there already");
    assert_eq!(room.call(Method::GET, &path, "").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_so_many_large_bodies_are_held_at_once() {
    let room = Room::open(SATURATED_TIME);
    let places = room.context.large_bodies.acquire_many(u32::try_from(LARGE_BODIES_MAX).unwrap()).await.unwrap();
    let large = format!("{{\"dotfile\": \"{}\"}}", " ".repeat(70_000));
    assert_eq!(room.call(Method::POST, "/graphs", &large).await.0, 503);
    assert_eq!(room.draw("small").await.0, 422);
    drop(places);
    assert_eq!(room.call(Method::POST, "/graphs", &large).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_arrive_in_time_is_408() {
    let room = Room::with_times(SATURATED_TIME, Duration::from_millis(20));
    for path in ["/graphs", "/validate"] {
        // The beginning comes, and the rest never.
        let beginning = futures_util::stream::iter([Ok::<_, std::io::Error>("{\"dotfile\": ")]);
        let body = Body::from_stream(beginning.chain(futures_util::stream::pending()));
        let request = Request::builder().method(Method::POST).uri(path).header("host", "diagrams.example");
        let answer = routes(room.context.clone()).oneshot(request.body(body).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT, "{path}");
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body, json!({ "error": "the body did not arrive in time" }));
    }
}
