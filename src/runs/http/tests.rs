//! What black-box tests cannot bring about: a store that has stopped or is damaged, bodies that break off, turns that do not
//! come; and that all that is said of the service fits together.

use std::sync::mpsc;
use std::time::Duration;

use axum::body::Body;
use futures_util::stream;
use http::{Extensions, HeaderMap};
use http_body_util::BodyExt as _;
use quintet_platform::Foundation;
use quintet_platform::access::{Authority, Service};
use quintet_platform::egress::Egress;
use quintet_platform::http::request_id::RequestId;
use quintet_platform::ids::parse_ulid;
use quintet_platform::service::{Dialect as _, Fault, ServiceRefusal as _, describe, refuse};
use quintet_storage::{Abort, Failure};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::allowances::Ceilings;
use crate::context::{LOOKERS, READERS, Settings};
use crate::model::{RunId, TenantId};
use crate::pictures::{NoPicture, SharedPainter};
use crate::refusal::{CODES, Refusal, ShiftFault};
use crate::workflows::run_ended;

struct Room {
    context: Context,
    tenant_id: TenantId,
    api_key: String,
    _directory: tempfile::TempDir,
}

impl Room {
    fn open() -> Room {
        Room::with(crate::testing::no_painter())
    }

    /// One whose pictures are drawn so.
    fn with(painter: SharedPainter) -> Room {
        let (directory, store, clock) = quintet_support::store_of_a_room(crate::TABLES);
        let permissions = [crate::PERMISSIONS, crate::SPECIAL_PERMISSIONS].concat();
        let (tenant_id, api_key) = quintet_support::tenant_and_key(&store, Service::Runs, &permissions);
        let settings = Settings {
            workers: 1,
            scratch_mb: 1,
            disk_reserve_bytes: 0,
            runner_socket: None,
            ceilings: Ceilings::default(),
            egress: Egress::new(|_| false),
            painter,
            pump: crate::testing::pump(&store, &clock),
            registries: Vec::new(),
        };
        let context = Context::new(Foundation::new(store, clock, Authority::Embedded), settings, run_ended).unwrap();
        Room { context, tenant_id: TenantId(tenant_id), api_key, _directory: directory }
    }

    async fn send(&self, method: &str, path: &str, body: Body) -> (u16, Value) {
        let mut response = self.answer(method, path, body).await;
        let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
        (response.status().as_u16(), serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn answer(&self, method: &str, path: &str, body: Body) -> axum::response::Response {
        let mut request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("content-type", "application/json")
            .header("x-request-id", "the-request")
            .body(body)
            .unwrap();
        // As the listener does.
        let id = RequestId::of(request.headers());
        request.extensions_mut().insert(id);
        routes(self.context.clone()).oneshot(request).await.unwrap()
    }

    async fn submit(&self) -> (u16, Value) {
        self.send("POST", "/api/v1/runs", Body::from(r#"{"image":"a"}"#)).await
    }
}

#[test]
fn nothing_that_is_said_of_it_is_loose() {
    assert_eq!(describe::loose_ends::<Runs>(ENDPOINTS), Vec::<String>::new());
}

#[test]
fn what_is_submitted_leads_to_all_that_can_be_done_with_it() {
    let document = describe::document::<Runs>(ENDPOINTS);
    for (path, status, name) in [("/api/v1/runs", "202", "track_id"), ("/api/v1/webhooks", "201", "endpoint_id")] {
        let links = document["paths"][path]["post"]["responses"][status]["links"].as_object().unwrap();
        let further = crate::served().filter(|route| route.path.contains(&format!("{{{name}}}")));
        let further: Vec<&str> = further.map(|route| route.name).collect();
        assert!(further.len() > 3, "{name}");
        for route in further {
            assert_eq!(links[route]["parameters"], json!({name: format!("$response.body#/{name}")}), "{route}");
        }
    }
}

#[test]
fn whatever_launches_a_workflow_tells_of_all_that_a_submission_may_be_refused_for() {
    let codes = |name: &str| crate::served().find(|route| route.name == name).unwrap().codes;
    for name in ["run_template", "run_trigger"] {
        for code in codes("submit_workflow").iter().chain(&["busy", "invalid_params"]) {
            // A trigger's webhook was read when it was made.
            let is_over = name == "run_trigger" && *code == "unknown_webhook_key";
            assert!(is_over || codes(name).contains(code), "{name}: {code}");
        }
    }
}

#[tokio::test]
async fn every_route_is_served_and_asks_for_a_key() {
    let room = Room::open();
    for route in crate::served() {
        let path = ["{track_id}", "{endpoint_id}", "{delivery_id}"];
        let path = path.iter().fold(route.path.to_owned(), |path, name| path.replace(name, "x"));
        let request = http::Request::builder().method(route.method.as_str()).uri(path).body(Body::empty()).unwrap();
        let response = routes(room.context.clone()).oneshot(request).await.unwrap();
        let expected = if route.wants_key() { 401 } else { 200 };
        assert_eq!(response.status().as_u16(), expected, "{}", route.template());
    }
    room.context.store.shutdown();
}

#[tokio::test]
async fn of_several_credentials_none_counts() {
    let room = Room::open();
    let credential = format!("Bearer {}", room.api_key);
    for (credentials, status) in
        [(vec![credential.as_str()], 200), (vec![&credential, &credential], 401), (vec![&credential, "Bearer x"], 401)]
    {
        let mut request = http::Request::builder().uri("/api/v1/usage");
        for credential in &credentials {
            request = request.header("authorization", *credential);
        }
        let response = routes(room.context.clone()).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{} fields", credentials.len());
        assert_eq!(response.headers().contains_key("www-authenticate"), status == 401);
    }
    room.context.store.shutdown();
}

/// The problem that a refusal is answered with.
fn problem_of(refusal: &Refusal) -> Value {
    let (_, body) = Runs::write(&refusal.verdict(), "the-request");
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn every_problem_has_a_detail_and_names_its_request() {
    let shift = ShiftFault { line: 1, column: 2, found: "x".into(), expected: "y".into(), detail: "z".into() };
    let own = [
        Refusal::ImageNotAllowed,
        Refusal::NotFound,
        Refusal::NotTerminal,
        Refusal::InvalidState("paused"),
        Refusal::RunActive,
        Refusal::AboveCeiling("max_cpu", "2".into()),
        Refusal::InvalidWorkingHours(shift),
        Refusal::UnknownWebhookKey("webhook.a".into()),
        Refusal::UrlNotAllowed("webhook.url", "must not name a user"),
        Refusal::NoSuch("no such delivery in this tenant"),
        Refusal::NotNow("the delivery has not ended"),
        Refusal::LimitReached("max_webhook_endpoints", 20),
        Refusal::DailyQuota(1),
        Refusal::MeteredQuota(1, 2),
        Refusal::EngineUnavailable,
        Refusal::field("", "must be an object"),
    ];
    let shared = Fault::one_of_each().into_iter().map(|(_, fault)| Refusal::Fault(fault));
    for refusal in own.into_iter().chain(shared) {
        let problem = problem_of(&refusal);
        let told = |name: &str| problem[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(["type", "title", "code", "detail"].into_iter().all(told), "{refusal:?}: {problem}");
        assert_eq!(problem["request_id"], "the-request", "{refusal:?}");
        assert!(CODES.iter().any(|known| problem["title"] == known.title), "{refusal:?}: {problem}");
        assert!(problem.get("field").is_none_or(|field| field != ""), "{refusal:?}: {problem}");
    }
    assert_eq!(problem_of(&Refusal::ImageNotAllowed)["field"], "image");
}

#[tokio::test]
async fn what_no_handler_answers_has_the_form_too() {
    for (fault, status, code) in [(Fault::HostMissing, 400, "host_missing"), (Fault::Internal, 500, "internal_error")] {
        let id = RequestId::of(&HeaderMap::new());
        let mut extensions = Extensions::new();
        extensions.insert(id.clone());
        let response = refuse::<Runs>(fault, &extensions);
        assert_eq!(response.status().as_u16(), status);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&problem["code"], &problem["request_id"]), (&json!(code), &json!(id.as_str())));
    }
    assert_eq!(refuse::<Runs>(Fault::Internal, &Extensions::new()).status(), 500);
}

#[tokio::test]
async fn a_store_that_has_stopped_takes_nothing_and_still_reads() {
    let room = Room::open();
    let (status, submitted) = room.submit().await;
    assert_eq!(status, 202);
    room.context.store.shutdown();
    let (status, problem) = room.submit().await;
    assert_eq!(
        (status, &problem["code"], &problem["request_id"]),
        (503, &json!("writing_stopped"), &json!("the-request"))
    );
    let path = format!("/api/v1/runs/{}", submitted["track_id"].as_str().unwrap());
    assert_eq!(room.send("GET", &path, Body::empty()).await.0, 200);
}

#[tokio::test]
async fn damaged_data_is_an_internal_error_that_tells_nothing_of_it() {
    let room = Room::open();
    let tenant_id = room.tenant_id;
    let (_, submitted) = room.submit().await;
    let run_id = RunId(parse_ulid(submitted["track_id"].as_str().unwrap()).unwrap());
    let verb = move |tx: &mut quintet_storage::WriteTx<'_>, _| {
        crate::containers::tests::spoil_archive(tx, (tenant_id, run_id));
        Ok::<_, Abort<Refusal>>(())
    };
    room.context.write(Duration::from_secs(60), verb).await.unwrap();
    let path = format!("/api/v1/runs/{}/logs", submitted["track_id"].as_str().unwrap());
    let (status, problem) = room.send("GET", &path, Body::empty()).await;
    assert_eq!((status, &problem["code"]), (500, &json!("internal_error")));
    assert_eq!(problem["detail"], problem["title"]);
    room.context.store.shutdown();
}

#[tokio::test]
async fn why_there_is_no_picture_is_told() {
    for (why, status, code, comes_again) in [
        (NoPicture::Busy, 503, "busy", true),
        (NoPicture::TooLarge, 409, "invalid_state", false),
        (NoPicture::Failed, 500, "internal_error", false),
    ] {
        let room = Room::with(crate::testing::no_picture(why));
        let gate = json!({"nodes": [{"ref": "g", "type": "approval"}]});
        let (_, made) = room.send("POST", "/api/v1/workflows", Body::from(gate.to_string())).await;
        let workflow = format!("/api/v1/workflows/{}/graph.svg", made["workflow_id"].as_str().unwrap());
        let named = json!({"name": "gates", "definition": gate}).to_string();
        assert_eq!(room.send("POST", "/api/v1/templates", Body::from(named)).await.0, 201);
        for path in [workflow.as_str(), "/api/v1/templates/gates/graph.svg"] {
            let mut answer = room.answer("GET", path, Body::empty()).await;
            assert_eq!(answer.status().as_u16(), status, "{path}: {why:?}");
            assert_eq!(answer.headers().contains_key("retry-after"), comes_again, "{path}: {why:?}");
            assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}: {why:?}");
            let body = std::mem::take(answer.body_mut()).collect().await.unwrap().to_bytes();
            let problem: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(problem["code"], code, "{path}: {why:?}");
            let is_told = problem["detail"].as_str().unwrap().contains("too large for a picture");
            assert_eq!(is_told, why == NoPicture::TooLarge, "{path}: {problem}");
        }
        room.context.store.shutdown();
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_malformed() {
    let room = Room::open();
    let broken = Body::from_stream(stream::iter([Ok("{"), Err(std::io::Error::other("gone"))]));
    let (status, problem) = room.send("POST", "/api/v1/runs", broken).await;
    assert_eq!((status, &problem["code"]), (400, &json!("malformed_json")));
    room.context.store.shutdown();
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_a_timeout() {
    let room = Room::open();
    let never = Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let (status, problem) = room.send("POST", "/api/v1/runs", never).await;
    assert_eq!((status, &problem["code"]), (408, &json!("request_timeout")));
    room.context.store.shutdown();
}

#[tokio::test]
async fn followers_have_a_share_each() {
    let room = Room::open();
    let (_, submitted) = room.submit().await;
    let path = format!("/api/v1/runs/{}/logs?follow=true", submitted["track_id"].as_str().unwrap());
    let enter = |tenant_id| std::iter::from_fn(|| room.context.followers.enter(tenant_id)).collect::<Vec<_>>();
    let others = |number: u128| TenantId(quintet_storage::Uuid::from_u128(number));
    // A few others hold all there are; the tenant still follows its run.
    let taken: Vec<_> = (1..=4).flat_map(|number| enter(others(number))).collect();
    let answer = room.answer("GET", &path, Body::empty()).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(taken.iter().filter(|place| place.is_given_up()).count(), 1, "one of them gave way");
    drop(taken);
    // Its own share is bounded.
    let own = enter(room.tenant_id);
    let (status, problem) = room.send("GET", &path, Body::empty()).await;
    assert_eq!((status, &problem["code"]), (503, &json!("busy")));
    drop((own, answer));
    assert_eq!(enter(others(1)).len(), enter(room.tenant_id).len(), "what is over is given back");
    room.context.store.shutdown();
}

/// Sends a request while nobody gets a turn: it waits for one, and others are served meanwhile; then it is answered.
async fn waits_for_a_turn(room: &Room, taken: Vec<mpsc::Sender<()>>, (method, path): (&str, &str), body: Body) -> u16 {
    let mut heavy = std::pin::pin!(room.send(method, path, body));
    for _ in 0..20 {
        let light = tokio::select! {
            biased;
            answer = &mut heavy => panic!("{method} {path} was answered without a turn: {answer:?}"),
            answer = room.send("GET", "/api/v1/usage", Body::empty()) => answer,
        };
        assert_eq!(light.0, 200);
    }
    drop(taken);
    heavy.await.0
}

#[tokio::test]
async fn what_grows_with_data_waits_for_a_turn_and_holds_nobody_up() {
    let room = Room::open();
    let (_, submitted) = room.submit().await;
    let run = format!("/api/v1/runs/{}", submitted["track_id"].as_str().unwrap());
    let long = json!({"image": "x".repeat(100_000)}).to_string();
    let template = json!({"name": "nightly", "definition": {"nodes": [{"ref": "g", "type": "approval"}]}}).to_string();
    assert_eq!(room.send("POST", "/api/v1/templates", Body::from(template)).await.0, 201);
    let triggers = "/api/v1/templates/nightly/triggers";
    let (_, made) = room.send("POST", triggers, Body::from(r#"{"cron":"@daily"}"#)).await;
    let trigger = format!("{triggers}/{}", made["trigger_id"].as_str().unwrap());
    let (lookers, readers) = ((&room.context.lookers, LOOKERS), (&room.context.readers, READERS));
    for ((turns, at_once), method, path, body, status) in [
        (lookers, "GET", "/api/v1/runs?state=exited".to_owned(), String::new(), 200),
        (lookers, "GET", run.clone(), String::new(), 200),
        (lookers, "GET", trigger, String::new(), 200),
        (lookers, "POST", "/api/v1/runs".to_owned(), long.clone(), 422),
        (lookers, "PUT", "/api/v1/tenant/quotas".to_owned(), long, 422),
        (readers, "GET", format!("{run}/logs"), String::new(), 200),
        (readers, "GET", format!("{run}/utilization"), String::new(), 200),
    ] {
        let taken = quintet_support::take_all(turns, at_once).await;
        let answered = waits_for_a_turn(&room, taken, (method, &path), Body::from(body)).await;
        assert_eq!(answered, status, "{method} {path}");
    }
    room.context.store.shutdown();
}

#[test]
fn failures_of_the_store_have_codes_of_their_own() {
    for (failure, code) in [
        (Failure::Busy, "busy"),
        (Failure::OutcomeUnknown, "outcome_unknown"),
        (Failure::StorageFull, "storage_full"),
        (Failure::Panicked, "internal_error"),
    ] {
        assert_eq!(Refusal::Fault(Fault::of_failure(&failure)).verdict().code, code);
    }
}
