//! What black-box tests cannot bring about: a store that has stopped or is damaged, bodies that break off.

use std::sync::Arc;

use axum::body::Body;
use futures_util::stream;
use http_body_util::BodyExt as _;
use quintet_platform::Foundation;
use quintet_platform::access::{Authority, Service};
use quintet_platform::egress::Egress;
use quintet_platform::ids::parse_ulid;
use quintet_storage::{Abort, Failure};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::*;
use crate::allowances::Ceilings;
use crate::context::Settings;

struct Room {
    context: Context,
    tenant_id: TenantId,
    api_key: String,
    _directory: tempfile::TempDir,
}

impl Room {
    fn open() -> Room {
        let (directory, store, clock) = quintet_support::store_of_a_room(crate::TABLES);
        let permissions = [crate::PERMISSIONS, crate::SPECIAL_PERMISSIONS].concat();
        let (tenant_id, api_key) = quintet_support::tenant_and_key(&store, Service::Runs, &permissions);
        let settings = Settings {
            workers: 1,
            scratch_mb: 1,
            runner_socket: None,
            ceilings: Ceilings::default(),
            egress: Egress::new(|_| false),
            registries: Vec::new(),
        };
        let context = Context::new(Foundation::new(store, clock, Authority::Embedded), settings).unwrap();
        Room { context, tenant_id: TenantId(tenant_id), api_key, _directory: directory }
    }

    async fn send(&self, method: &str, path: &str, body: Body) -> (u16, Value) {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("content-type", "application/json")
            .header("x-request-id", "the-request")
            .body(body)
            .unwrap();
        let mut response = routes(self.context.clone()).oneshot(request).await.unwrap();
        let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
        (response.status().as_u16(), serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn submit(&self) -> (u16, Value) {
        self.send("POST", "/api/v1/runs", Body::from(r#"{"image":"a"}"#)).await
    }
}

#[tokio::test]
async fn every_route_is_served_and_asks_for_a_key() {
    let room = Room::open();
    for route in ROUTES {
        let path = route.path.replace("{track_id}", "x");
        let request = http::Request::builder().method(route.method).uri(path).body(Body::empty()).unwrap();
        let response = routes(room.context.clone()).oneshot(request).await.unwrap();
        let expected = if route.permission.is_empty() { 200 } else { 401 };
        assert_eq!(response.status().as_u16(), expected, "{} {}", route.method, route.path);
    }
    room.context.store.shutdown();
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
async fn damaged_data_is_an_internal_error_without_detail() {
    let room = Room::open();
    let tenant_id = room.tenant_id;
    let (_, submitted) = room.submit().await;
    let run_id = RunId(parse_ulid(submitted["track_id"].as_str().unwrap()).unwrap());
    let verb = move |tx: &mut WriteTx<'_>, _: Timestamp| {
        crate::containers::tests::spoil_archive(tx, (tenant_id, run_id));
        Ok::<_, Abort<Refusal>>(())
    };
    write(&room.context, verb).await.unwrap();
    let path = format!("/api/v1/runs/{}/logs", submitted["track_id"].as_str().unwrap());
    let (status, problem) = room.send("GET", &path, Body::empty()).await;
    assert_eq!((status, &problem["code"]), (500, &json!("internal_error")));
    assert!(problem.get("detail").is_none(), "{problem}");
    room.context.store.shutdown();
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_timeout() {
    let room = Room::open();
    let broken = Body::from_stream(stream::iter([Ok("{"), Err(std::io::Error::other("gone"))]));
    let (status, problem) = room.send("POST", "/api/v1/runs", broken).await;
    assert_eq!((status, &problem["code"]), (408, &json!("request_timeout")));
    room.context.store.shutdown();
}

#[tokio::test]
async fn followers_have_a_bound() {
    let room = Room::open();
    let (_, submitted) = room.submit().await;
    let all = room.context.followers.available_permits();
    let _taken = room.context.followers.acquire_many(u32::try_from(all).unwrap()).await.unwrap();
    let path = format!("/api/v1/runs/{}/logs?follow=true", submitted["track_id"].as_str().unwrap());
    let (status, problem) = room.send("GET", &path, Body::empty()).await;
    assert_eq!((status, &problem["code"]), (503, &json!("busy")));
    room.context.store.shutdown();
}

/// Sends a request while nobody gets a turn: it waits for one, and others are served meanwhile; then it is answered.
async fn waits_for_a_turn(room: &Room, turns: &Arc<Semaphore>, method: &str, path: &str, body: Body, status: u16) {
    let all = u32::try_from(turns.available_permits()).unwrap();
    let taken = turns.acquire_many(all).await.unwrap();
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
    assert_eq!(heavy.await.0, status, "{method} {path}");
}

#[tokio::test]
async fn what_grows_with_data_waits_for_a_turn_and_holds_nobody_up() {
    let room = Room::open();
    let (_, submitted) = room.submit().await;
    let run = format!("/api/v1/runs/{}", submitted["track_id"].as_str().unwrap());
    let long = json!({"image": "x".repeat(100_000)}).to_string();
    let (lookers, readers) = (&room.context.lookers, &room.context.readers);
    for (turns, method, path, body, status) in [
        (lookers, "GET", "/api/v1/runs?state=exited".to_owned(), String::new(), 200),
        (lookers, "GET", run.clone(), String::new(), 200),
        (lookers, "POST", "/api/v1/runs".to_owned(), long.clone(), 422),
        (lookers, "PUT", "/api/v1/tenant/quotas".to_owned(), long, 422),
        (readers, "GET", format!("{run}/logs"), String::new(), 200),
        (readers, "GET", format!("{run}/utilization"), String::new(), 200),
    ] {
        waits_for_a_turn(&room, turns, method, &path, Body::from(body), status).await;
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
        assert_eq!(Refusal::of_failure(&failure).problem("").code(), code);
    }
    assert_eq!(panic_answer().status(), 500);
}
