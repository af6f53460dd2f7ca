//! What black-box tests cannot bring about: a store that has stopped or is damaged, bodies that break off.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use futures_util::stream;
use http_body_util::BodyExt as _;
use quintet_platform::access::{
    AccessRefusal, Authority, CreateTenant, IssueKey, PreparedSecret, Service, Services, create_tenant, issue_key,
};
use quintet_platform::clock::Clock;
use quintet_storage::{Abort, Store, StoreOptions, TimeSource, Timestamp, WriteTx};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::permissions::KEY_PERMISSIONS;
use crate::tables::{WORKSPACE_SLUGS, WORKSPACES, WorkspaceSlugRow};

struct Room {
    context: Context,
    tenant_id: Uuid,
    api_key: String,
    _directory: tempfile::TempDir,
}

impl Room {
    fn open() -> Room {
        let directory = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let options = StoreOptions::new(directory.path(), Arc::new(clock.clone()) as Arc<dyn TimeSource>);
        let groups =
            [quintet_storage::seal::TABLES, quintet_storage::large::TABLES, quintet_platform::TABLES, crate::TABLES];
        let store = Store::open(options, &groups).unwrap();
        let secret = PreparedSecret::draw();
        let issued = write(&store, move |tx, now| {
            let services = Services::from(Service::Localization);
            let tenant = create_tenant(tx, now, CreateTenant { id: None, name: "t".into(), services, parent: None })?;
            let permissions = KEY_PERMISSIONS.iter().map(|text| (*text).to_owned()).collect();
            let key = IssueKey {
                tenant_id: tenant.tenant_id,
                principal_id: None,
                label: String::new(),
                permissions,
                ttl_days: None,
                secret,
            };
            issue_key(tx, now, key)
        });
        let context = Context::new(Foundation::new(store, clock, Authority::Embedded));
        let api_key = issued.api_key.expose().clone();
        Room { context, tenant_id: issued.tenant_id, api_key, _directory: directory }
    }

    async fn send(&self, method: &str, path: &str, body: Body) -> (u16, Value) {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", self.tenant_id.to_string())
            .header("idempotency-key", "k")
            .header("content-type", "application/json")
            .body(body)
            .unwrap();
        let mut response = routes(self.context.clone()).oneshot(request).await.unwrap();
        let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
        (response.status().as_u16(), serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn post(&self, slug: &str) -> (u16, Value) {
        self.send("POST", "/v1/workspaces", Body::from(json!({"slug": slug, "name": "n"}).to_string())).await
    }
}

fn write<T: Send + 'static>(
    store: &Store,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<AccessRefusal>> + Send + 'static,
) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    store.write_blocking(deadline, verb).unwrap_or_else(|_| panic!("the set-up was refused"))
}

#[tokio::test]
async fn every_route_is_served_and_asks_for_a_key() {
    let room = Room::open();
    for route in ROUTES {
        let path: Vec<&str> =
            route.path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
        let request = http::Request::builder().method(route.method).uri(path.join("/")).body(Body::empty()).unwrap();
        let response = routes(room.context.clone()).oneshot(request).await.unwrap();
        let expected = if route.permission.is_empty() { 200 } else { 401 };
        assert_eq!(response.status().as_u16(), expected, "{}", route.template);
    }
    room.context.store.shutdown();
}

#[tokio::test]
async fn a_store_that_has_stopped_still_reads() {
    let room = Room::open();
    assert_eq!(room.post("first").await.0, 201);
    room.context.store.shutdown();
    let (status, problem) = room.post("second").await;
    // The key was used for another request, which the snapshot tells.
    assert_eq!((status, &problem["code"]), (422, &json!("idempotency_key_reused")));
    assert_eq!(room.post("first").await.0, 201, "a repeat is answered");
    assert_eq!(room.send("GET", "/v1/workspaces", Body::empty()).await.0, 200);
    let body = Body::from(json!({"tag": "de"}).to_string());
    assert_eq!(room.send("POST", "/v1/locales/validate", body).await.0, 200);
    let path = "/v1/projects";
    let wish = json!({"workspace_id": Uuid::nil().to_string(), "slug": "ab", "name": "n", "source_locale": "en"});
    let (status, _) = room.send("POST", path, Body::from(wish.to_string())).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_store_that_has_stopped_takes_nothing() {
    let room = Room::open();
    room.context.store.shutdown();
    let (status, problem) = room.post("first").await;
    assert_eq!((status, &problem["code"]), (503, &json!("writing_stopped")));
}

#[tokio::test]
async fn damaged_data_is_an_internal_error_without_detail() {
    let room = Room::open();
    let tenant_id = TenantId(room.tenant_id);
    let (_, workspace) = room.post("first").await;
    let workspace_id = WorkspaceId(workspace["id"].as_str().unwrap().parse().unwrap());
    let wish = json!({"workspace_id": workspace["id"], "slug": "ab", "name": "n", "source_locale": "en"});
    let (status, project) = room.send("POST", "/v1/projects", Body::from(wish.to_string())).await;
    assert_eq!(status, 201, "{project}");
    write(&room.context.store, move |tx, _| {
        tx.delete(&WORKSPACES, &(tenant_id, workspace_id));
        tx.put(&WORKSPACE_SLUGS, &(tenant_id, "x".into()), &WorkspaceSlugRow { workspace_id })?;
        Ok(())
    });
    let path = format!("/v1/projects/{}", project["id"].as_str().unwrap());
    let (status, problem) = room.send("GET", &path, Body::empty()).await;
    assert_eq!((status, &problem["code"]), (500, &json!("internal_error")));
    assert!(problem.get("detail").is_none(), "{problem}");
    room.context.store.shutdown();
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_timeout() {
    let room = Room::open();
    let broken = Body::from_stream(stream::iter([Ok("{"), Err(std::io::Error::other("gone"))]));
    let (status, problem) = room.send("POST", "/v1/workspaces", broken).await;
    assert_eq!((status, &problem["code"]), (408, &json!("request_timeout")));
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
        assert_eq!(Refusal::of_failure(&failure).problem().code(), code);
    }
    assert_eq!(panic_answer().status(), 500);
}

#[test]
fn a_file_that_takes_too_long_is_refused() {
    let refusal = crate::files::read(crate::files::Kind::Json, b"{}", Instant::now()).unwrap_err();
    assert_eq!(refusal.code.as_str(), "parse_timeout");
    for code in crate::files::Code::ALL {
        assert!(crate::refusal::READER_CODES.contains(&code.as_str()), "{code}");
    }
}
