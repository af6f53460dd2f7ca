//! The appliance's side of the administration socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{StatusCode, header};
use quintet_platform::http::query::Query;
use quintet_platform::service::Fault;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use super::backups::{self, Holds};
use super::protocol::{AdvanceWish, BackupWish, KeyWish, ServiceView, TenantWish};
use super::socket;
use super::status;
use super::tasks::{self, TaskError};
use crate::app::App;
use crate::listener::{self, Activity, Connections, HEAD_TIMEOUT, Progressing, Site, Unsent};

/// The largest request body, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Commands that run at a time; further ones wait in the kernel's queue.
const CONNECTIONS_MAX: u32 = 64;

/// The running server.
#[derive(Debug)]
pub struct Serving {
    connections: Connections,
}

impl Serving {
    /// Waits until every connection has ended.
    pub async fn drained(&self) {
        self.connections.drained().await;
    }
}

/// What the handlers work with.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) app: App,
    services: Arc<[ServiceView]>,
    holds: Holds,
}

/// Binds the socket and serves until `stop` turns true.
///
/// # Errors
/// The socket cannot be bound.
pub fn start(app: App, mut services: Vec<ServiceView>, stop: watch::Receiver<bool>) -> io::Result<Serving> {
    let listener = UnixListener::from_std(socket::bind(app.store.directory())?)?;
    services.sort_by(|a, b| a.name.cmp(&b.name));
    let context = Context { app, services: services.into(), holds: Holds::default() };
    let site = Site {
        name: "admin",
        router: routes(context),
        refuse,
        unsent: Unsent::default(),
        trusted_proxies: Arc::from([]),
        head_timeout: HEAD_TIMEOUT,
    };
    let connections = Connections::new(CONNECTIONS_MAX);
    tokio::spawn(accept(listener, site, connections.clone(), stop));
    Ok(Serving { connections })
}

async fn accept(listener: UnixListener, site: Site, connections: Connections, mut stop: watch::Receiver<bool>) {
    loop {
        let Some(permit) = connections.enter().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        match accepted {
            Ok((stream, _)) if is_allowed(&stream) => {
                let activity = Activity::default();
                let stream = Progressing::new(stream, site.head_timeout, activity.clone());
                tokio::spawn(listener::serve_connection(stream, activity, site.clone(), None, permit, stop.clone()));
            }
            Ok(_) => tracing::warn!("a connection to the administration socket by another user was closed"),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection to the administration socket");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// The socket's mode keeps others out already; this holds even if somebody changed it.
fn is_allowed(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == 0 || peer.uid() == own)
}

fn routes(context: Context) -> Router {
    Router::new()
        .route("/status", get(show_status))
        .route("/tenants", get(list_tenants).post(create_tenant))
        .route("/tenants/{tenant}", get(show_tenant))
        .route("/tenants/{tenant}/suspend", post(suspend_tenant))
        .route("/tenants/{tenant}/activate", post(activate_tenant))
        .route("/keys", get(list_keys).post(issue_key))
        .route("/keys/{key_id}", get(show_key))
        .route("/keys/{key_id}/revoke", post(revoke_key))
        .route("/root-key", get(show_root_key))
        .route("/root-key/rotate", post(rotate_root_key))
        .merge(super::quotas::routes())
        .nest("/ledger", super::ledger::routes())
        .nest("/core", super::localization::routes())
        .route("/clock", get(show_clock))
        .route("/clock/advance", post(advance_clock))
        .route("/checkpoints", post(hold_checkpoint))
        .route("/checkpoints/{hold}/extend", post(extend_hold))
        .route("/checkpoints/{hold}/release", post(end_hold))
        .route("/backups", get(list_backups).post(record_backup))
        .fallback(async || TaskError::NotFound("this appliance does not know that request".into()))
        .with_state(context)
}

async fn show_status(State(context): State<Context>) -> Result<Response, TaskError> {
    answer(&status::show_status(&context.app, &context.services)?)
}

async fn list_tenants(State(context): State<Context>) -> Result<Response, TaskError> {
    answer(&tasks::list_tenants(&context.app)?)
}

async fn create_tenant(State(context): State<Context>, body: Body) -> Result<Response, TaskError> {
    let wish: TenantWish = read(body).await?;
    answer(&tasks::create_tenant(&context.app, wish).await?)
}

async fn show_tenant(State(context): State<Context>, Path(tenant): Path<String>) -> Result<Response, TaskError> {
    answer(&tasks::show_tenant(&context.app, &tenant)?)
}

async fn suspend_tenant(State(context): State<Context>, Path(tenant): Path<String>) -> Result<Response, TaskError> {
    answer(&tasks::suspend_tenant(&context.app, &tenant).await?)
}

async fn activate_tenant(State(context): State<Context>, Path(tenant): Path<String>) -> Result<Response, TaskError> {
    answer(&tasks::activate_tenant(&context.app, &tenant).await?)
}

async fn list_keys(State(context): State<Context>, RawQuery(query): RawQuery) -> Result<Response, TaskError> {
    let unusable = |_| TaskError::Unusable("the query makes no sense".into());
    let mut query = Query::parse(query.as_deref()).map_err(unusable)?;
    let tenant = query.take("tenant");
    answer(&tasks::list_keys(&context.app, tenant.as_deref())?)
}

async fn issue_key(State(context): State<Context>, body: Body) -> Result<Response, TaskError> {
    let wish: KeyWish = read(body).await?;
    answer(&tasks::issue_key(&context.app, wish).await?)
}

async fn show_key(State(context): State<Context>, Path(key_id): Path<String>) -> Result<Response, TaskError> {
    answer(&tasks::show_key(&context.app, &key_id)?)
}

async fn revoke_key(State(context): State<Context>, Path(key_id): Path<String>) -> Result<Response, TaskError> {
    answer(&tasks::revoke_key(&context.app, &key_id).await?)
}

async fn show_root_key(State(context): State<Context>) -> Result<Response, TaskError> {
    answer(&tasks::show_root_key(&context.app)?)
}

async fn rotate_root_key(State(context): State<Context>) -> Result<Response, TaskError> {
    answer(&tasks::rotate_root_key(&context.app).await?)
}

async fn show_clock(State(context): State<Context>) -> Result<Response, TaskError> {
    answer(&tasks::show_clock(&context.app))
}

async fn advance_clock(State(context): State<Context>, body: Body) -> Result<Response, TaskError> {
    let wish: AdvanceWish = read(body).await?;
    answer(&tasks::advance_clock(&context.app, wish.seconds).await?)
}

async fn hold_checkpoint(State(context): State<Context>) -> Result<Response, TaskError> {
    answer(&backups::hold_checkpoint(&context.app, &context.holds).await?)
}

async fn extend_hold(State(context): State<Context>, Path(hold): Path<u64>) -> Result<Response, TaskError> {
    answer(&backups::extend_hold(&context.app, &context.holds, hold).await?)
}

async fn end_hold(State(context): State<Context>, Path(hold): Path<u64>) -> Result<Response, TaskError> {
    backups::end_hold(&context.app, &context.holds, hold);
    answer(&())
}

async fn list_backups(State(context): State<Context>) -> Result<Response, TaskError> {
    answer(&backups::list_backups(&context.app)?)
}

async fn record_backup(State(context): State<Context>, body: Body) -> Result<Response, TaskError> {
    let wish: BackupWish = read(body).await?;
    answer(&backups::record_backup(&context.app, wish).await?)
}

/// Reads a request's body.
pub(super) async fn read<T: DeserializeOwned>(body: Body) -> Result<T, TaskError> {
    let bytes: Bytes = axum::body::to_bytes(body, BODY_BYTES_MAX)
        .await
        .map_err(|_| TaskError::Unusable("the request's body is too large or broke off".into()))?;
    serde_json::from_slice(&bytes).map_err(|error| TaskError::Unusable(format!("the request makes no sense: {error}")))
}

/// An answer in JSON.
pub(super) fn answer(view: &impl Serialize) -> Result<Response, TaskError> {
    let text = serde_json::to_string(view).map_err(|error| TaskError::Failed(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

impl IntoResponse for TaskError {
    fn into_response(self) -> Response {
        let status = match &self {
            TaskError::Unusable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            TaskError::NotFound(_) => StatusCode::NOT_FOUND,
            TaskError::Conflict(_) => StatusCode::CONFLICT,
            TaskError::Store(_) | TaskError::Failed(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let text = serde_json::to_string(&self.problem()).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
    }
}

fn refuse(fault: Fault, _: &http::Extensions) -> Response {
    match fault {
        Fault::HostMissing => TaskError::Unusable("HTTP/1.1 needs one Host header".into()).into_response(),
        _ => TaskError::Failed("the appliance made a mistake; see its log".into()).into_response(),
    }
}
