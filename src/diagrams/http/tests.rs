//! What black-box tests cannot bring about: a pool that is full, a drawing that panics or never ends, a store that has
//! stopped, pictures that warn.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use quintet_drawing::render::Format;
use quintet_drawing::work::Effort;
use quintet_platform::Foundation;
use quintet_platform::access::Authority;
use quintet_platform::service::{Fault, describe, refuse};
use quintet_storage::Store;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::dialect::PAGE;
use super::*;
use crate::context::{LARGE_BODIES_MAX, LARGE_BODIES_OF_A_SOURCE_MAX, SATURATED_TIME, Settings};
use crate::engine::{Drawing, DrawingError, Engine};
use crate::pool::{Pool, PoolLimits, PoolReading};

struct Room {
    context: Context,
    /// Lets drawings of `held` end, one for each.
    release: mpsc::Sender<()>,
    /// How many of them were begun among the large ones.
    held: Arc<AtomicUsize>,
    _directory: tempfile::TempDir,
}

/// An engine that does as its source says. What begins with `held` is large.
fn engine(begun: Arc<AtomicUsize>, held: mpsc::Receiver<()>) -> Engine {
    let held = Mutex::new(held);
    let draw = move |source: &[u8], _: Format, effort: Effort| match source {
        source if source.starts_with(b"held") && effort.given_up_after.is_some() => Ok(None),
        source if source.starts_with(b"held") => {
            begun.fetch_add(1, Ordering::SeqCst);
            let _ = held.lock().unwrap().recv();
            Err(DrawingError::without_place("released"))
        }
        b"panic" => panic!("on purpose"),
        source if source.starts_with(b"simplified") => Ok(Some(Drawing {
            bytes: b"<svg/>".to_vec(),
            warnings: vec!["layout=neato\r\nis drawn with dot".to_owned(), "caf\u{e9}".to_owned()],
            is_degraded: true,
        })),
        _ => Err(DrawingError::without_place("the graph has more than 5000 nodes")),
    };
    Engine { identity: "test".to_owned(), draw: Arc::new(draw) }
}

impl Room {
    fn open(saturated_time: Duration) -> Room {
        Room::with_queue(saturated_time, 1)
    }

    fn with_queue(saturated_time: Duration, queue: usize) -> Room {
        let (directory, store, clock) = quintet_support::store_of_a_room(crate::TABLES);
        let (release, held) = mpsc::channel();
        let begun = Arc::new(AtomicUsize::new(0));
        let limits =
            PoolLimits { width: 1, queue, queue_time: Duration::from_secs(20), run_time: Duration::from_secs(20) };
        let settings = Settings {
            engine: engine(Arc::clone(&begun), held),
            generator: None,
            pool: Pool::start(limits).unwrap(),
            requires_key: false,
            cache_mb: 64,
        };
        let context = Context::new(Foundation::new(store, clock, Authority::Embedded), settings);
        let mut parts = Arc::into_inner(context.0).unwrap();
        parts.saturated_time = saturated_time;
        Room { context: Context(Arc::new(parts)), release, held: begun, _directory: directory }
    }

    fn store(&self) -> &Store {
        &self.context.store
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

    async fn until(&self, condition: impl Fn(&Room, PoolReading) -> bool) {
        for _ in 0..2_000 {
            if condition(self, self.context.pool.reading()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it did not come about");
    }

    fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.store().shutdown();
    }
}

async fn call(context: Context, method: Method, path: String, body: String) -> (StatusCode, http::HeaderMap, Value) {
    let request = Request::builder().method(method).uri(path).header("host", "diagrams.example");
    let request = request.header("content-length", body.len()).body(Body::from(body)).unwrap();
    let (parts, body) = routes(context).oneshot(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (parts.status, parts.headers, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

#[test]
fn nothing_that_is_said_of_it_is_loose() {
    assert_eq!(describe::loose_ends::<Diagrams>(ENDPOINTS), Vec::<String>::new());
}

#[tokio::test]
async fn every_route_is_told_everywhere() {
    let room = Room::open(SATURATED_TIME);
    let (_, _, docs) = room.call(Method::GET, "/api/docs", "").await;
    let (_, _, openapi) = room.call(Method::GET, "/openapi.json", "").await;
    assert_eq!((&docs["title"], &docs["version"]), (&json!("Diagrams"), &json!("1.0.0")));
    let told: Vec<(&str, &str)> = docs["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|endpoint| (endpoint["method"].as_str().unwrap(), endpoint["path"].as_str().unwrap()))
        .collect();
    assert_eq!(told, crate::served().map(|route| (route.method.as_str(), route.path)).collect::<Vec<_>>());
    let of = |method: &str, path: &str| {
        let endpoints = docs["endpoints"].as_array().unwrap();
        endpoints.iter().find(|endpoint| endpoint["method"] == method && endpoint["path"] == path).unwrap().clone()
    };
    let drawing = of("POST", "/graphs");
    let parameter = |name: &str| drawing["parameters"].as_array().unwrap().iter().find(|one| one["name"] == name);
    let format = parameter("format").unwrap();
    assert_eq!((&format["in"], &format["enum"]), (&json!("query"), &json!(["png", "svg"])));
    let dotfile = parameter("dotfile").unwrap();
    assert_eq!((&dotfile["in"], &dotfile["required"]), (&json!("body"), &json!(true)));
    assert_eq!(drawing["permission"], PERMISSION);
    assert_eq!(drawing["responses"]["422"], "the source cannot be drawn");
    assert_eq!(of("GET", "/graphs/{filename}")["parameters"][0]["in"], "path");
    let link = &openapi["paths"]["/graphs"]["post"]["responses"]["200"]["links"]["get_graph"];
    assert_eq!(link["description"], "filename is the last segment of the address at /url");
    let of_assets = &openapi["paths"]["/assets/{name}"]["get"]["parameters"][0]["schema"]["enum"];
    for name in of_assets.as_array().unwrap() {
        let path = format!("/assets/{}", name.as_str().unwrap());
        assert_eq!(room.call(Method::GET, &path, "").await.0, 200, "{path}");
    }
    let shown = of("POST", "/graphviz/{format}");
    assert_eq!(
        (&shown["parameters"][1]["name"], &shown["permission"]),
        (&json!("diagram_options"), &json!(PERMISSION))
    );
    assert_eq!(openapi["paths"]["/mcp"]["post"]["security"], json!([{}, {"key": []}]));
    // What is wrong with a link stands on the page; a parameter that the page does not know is an error as anywhere.
    let wrong = &openapi["paths"]["/"]["get"]["responses"]["400"]["content"];
    assert!(wrong["text/html"].is_object() && wrong["application/json"].is_object(), "{wrong}");
    assert!(crate::served().filter(|route| route.has_mark(PAGE)).all(|route| route.path == "/"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_is_told_at_once_and_when_to_come_back() {
    let room = Room::open(Duration::from_millis(1));
    assert_eq!(room.call(Method::GET, "/health", "").await.2["status"], "healthy");
    let first = room.draw_beside("held 1");
    room.until(|room, _| room.held() == 1).await;
    let second = room.draw_beside("held 2");
    room.until(|_, pool| pool.begun == 2 && pool.waiting == 1).await;
    let (status, headers, body) = room.draw("held 3").await;
    assert_eq!((status.as_u16(), headers["retry-after"].to_str().unwrap()), (503, "1"), "{body}");
    assert!(body["error"].is_string());
    tokio::time::sleep(Duration::from_millis(5)).await;
    let (status, _, body) = room.call(Method::GET, "/health", "").await;
    assert_eq!((status.as_u16(), &body["status"]), (503, &json!("degraded")), "{body}");
    assert!(body["reason"].as_str().unwrap().contains("waiting"), "{body}");
    let (pool, _) = room.context.reading();
    assert_eq!((pool.waiting, pool.begun, pool.turned_away), (1, 3, 1));
    for _ in 0..2 {
        room.release.send(()).unwrap();
    }
    assert_eq!(first.await.unwrap().0, 422);
    assert_eq!(second.await.unwrap().0, 422);
    assert_eq!(room.call(Method::GET, "/health", "").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_small_goes_past_eight_large_drawings() {
    let room = Room::with_queue(SATURATED_TIME, 8);
    let mut heavy = Vec::new();
    for number in 1..=8 {
        heavy.push(room.draw_beside(&format!("held {number}")));
        room.until(|room, pool| room.held() == 1 && pool.begun == number && pool.waiting == number as usize - 1).await;
    }
    // None of them ends before all of this was answered: whatever waited for one of them would wait for ever.
    for number in 0..10 {
        assert_eq!(room.draw(&format!("simplified {number}")).await.0, 200);
        let (status, _, body) = room.call(Method::POST, "/validate", r#"{"dotfile": "graph { a }"}"#).await;
        assert_eq!((status.as_u16(), body), (200, json!({ "valid": true })));
    }
    assert!(heavy.iter().all(|drawing| !drawing.is_finished()) && room.held() == 1);
    // All are let go before any is waited for: nobody knows which of them runs.
    for _ in &heavy {
        room.release.send(()).unwrap();
    }
    for drawing in heavy {
        assert_eq!(drawing.await.unwrap().0, 422);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_an_internal_error_that_says_nothing() {
    let room = Room::open(SATURATED_TIME);
    let (status, _, body) = room.draw("panic").await;
    assert_eq!((status.as_u16(), body), (500, json!({ "error": "the request could not be answered" })));
    assert_eq!(room.draw("more").await.0, 422);
    let answer = refuse::<Diagrams>(Fault::Internal, &http::Extensions::new());
    assert_eq!((answer.status().as_u16(), answer.headers()["cache-control"].to_str().unwrap()), (500, "no-store"));
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
    room.store().shutdown();
    let (status, headers, body) = room.draw("simplified otherwise").await;
    assert_eq!((status.as_u16(), headers["retry-after"].to_str().unwrap()), (503, "30"), "{body}");
    assert_eq!(room.draw("simplified").await.0, 200, "it is there already");
    assert_eq!(room.call(Method::GET, &path, "").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_so_many_large_bodies_are_held_at_once() {
    let room = Room::open(SATURATED_TIME);
    let sources = (0..=u8::MAX).map(|last| Some(IpAddr::from([192, 0, 2, last])));
    let places: Vec<_> = sources.filter_map(|source| room.context.large_bodies.enter(source)).collect();
    assert_eq!(places.len(), LARGE_BODIES_MAX);
    let large = format!("{{\"dotfile\": \"{}\"}}", " ".repeat(70_000));
    assert_eq!(room.call(Method::POST, "/graphs", &large).await.0, 503);
    assert_eq!(room.draw("small").await.0, 422);
    drop(places);
    assert_eq!(room.call(Method::POST, "/graphs", &large).await.0, 422);
}

/// A picture for those who speak as to Kroki, in its text.
async fn show(room: &Room, path: &str, fields: &[(&str, &str)], body: &str) -> (StatusCode, http::HeaderMap, String) {
    let mut request = Request::builder().method(Method::POST).uri(path).header("host", "diagrams.example");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let (parts, body) = routes(room.context.clone()).oneshot(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (parts.status, parts.headers, String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_that_is_shown_is_there_before_it_is_kept_and_kept_all_the_same() {
    let room = Room::open(SATURATED_TIME);
    let (status, headers, text) = show(&room, "/graphviz/svg", &[], "simplified").await;
    assert_eq!((status.as_u16(), text.as_str()), (200, "<svg/>"));
    assert_eq!(headers["x-render-warning"], "layout=neato??is drawn with dot; caf?");
    room.until(|room, _| room.context.results.totals().unwrap().results == 1).await;
    // From the store now, with the same beside it.
    let json = r#"{"diagram_source": "simplified", "diagram_type": "dot", "diagram_options": {"scale": 2}}"#;
    let (status, headers, text) = show(&room, "/", &[("content-type", "application/json")], json).await;
    assert_eq!((status.as_u16(), text.as_str()), (200, "<svg/>"));
    assert_eq!(headers["x-render-warning"], "layout=neato??is drawn with dot; caf?; the option scale is passed over");
    assert_eq!(
        (&headers["x-render-degraded"], &headers["content-length"]),
        (&"true".parse().unwrap(), &"6".parse().unwrap())
    );
    assert_eq!(room.context.pool.reading().begun, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_is_refused_as_what_is_kept() {
    let room = Room::open(SATURATED_TIME);
    let (status, _, text) = show(&room, "/dot/png", &[], "more").await;
    assert_eq!((status.as_u16(), text.as_str()), (422, r#"{"error":"the graph has more than 5000 nodes"}"#));
    assert_eq!(show(&room, "/dot/png", &[], "panic").await.0, 500);
    let first = room.draw_beside("held 1");
    room.until(|room, _| room.held() == 1).await;
    let second = room.draw_beside("held 2");
    room.until(|_, pool| pool.begun == 4 && pool.waiting == 1).await;
    let (status, headers, _) = show(&room, "/graphviz/svg", &[], "held 3").await;
    assert_eq!((status.as_u16(), &headers["retry-after"]), (503, &"1".parse().unwrap()));
    for _ in 0..2 {
        room.release.send(()).unwrap();
    }
    assert_eq!(
        (first.await.unwrap().0, second.await.unwrap().0),
        (StatusCode::UNPROCESSABLE_ENTITY, StatusCode::UNPROCESSABLE_ENTITY)
    );
    room.store().shutdown();
    // It is only after the answer that it turns out not to be kept.
    assert_eq!(show(&room, "/graphviz/svg", &[], "simplified").await.0, 200);
}

/// More than there are places, from one address: what only says that it will be large keeps nobody out.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_never_come_keep_no_others_out() {
    let room = Room::open(SATURATED_TIME);
    let send = |first: usize, rest: futures_util::stream::BoxStream<'static, Result<Bytes, std::io::Error>>| {
        let first = futures_util::stream::iter([Ok(Bytes::from(vec![b' '; first]))]);
        let body = Body::from_stream(first.chain(rest));
        let request = Request::builder().method(Method::POST).uri("/validate").header("host", "diagrams.example");
        tokio::spawn(routes(room.context.clone()).oneshot(request.body(body).unwrap()))
    };
    let never = || futures_util::stream::pending().boxed();
    let announced: Vec<_> = (0..2 * LARGE_BODIES_MAX).map(|_| send(1, never())).collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let large = format!("{{\"dotfile\": \"graph {{{}}}\"}}", " ".repeat(70_000));
    assert_eq!(room.call(Method::POST, "/validate", &large).await.0, 200);
    // Those that did begin to be large lose their places when they stop, and the address has a share alone.
    let stopped: Vec<_> = (0..LARGE_BODIES_MAX).map(|_| send(100_000, never())).collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(room.call(Method::POST, "/validate", &large).await.0, 503);
    assert!(room.context.large_bodies.enter(Some(IpAddr::from([192, 0, 2, 1]))).is_some());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(room.call(Method::POST, "/validate", &large).await.0, 200);
    assert!(announced.iter().all(|call| !call.is_finished()), "they have their time");
    let mut statuses = Vec::new();
    for call in stopped {
        statuses.push(call.await.unwrap().unwrap().status().as_u16());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 408).count(), LARGE_BODIES_OF_A_SOURCE_MAX);
    assert_eq!(
        statuses.iter().filter(|status| **status == 503).count(),
        LARGE_BODIES_MAX - LARGE_BODIES_OF_A_SOURCE_MAX
    );
    // One that goes on at the pace that is asked for is read.
    let piece = |_| async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok(Bytes::from(vec![b' '; 40_000]))
    };
    let slow = send(100_000, futures_util::stream::iter(0..12).then(piece).boxed());
    assert_eq!(
        slow.await.unwrap().unwrap().status(),
        StatusCode::BAD_REQUEST,
        "it is no JSON, and was read to its end"
    );
}

/// Time passes at once where nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_in_time_is_408() {
    let room = Room::open(SATURATED_TIME);
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
