//! The appliance's side of the administration socket.

use std::io;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use quintet_platform::service::Fault;
use tokio::net::UnixListener;
use tokio::sync::watch;

use super::asker::Asker;
use super::task::TaskError;
use super::{
    approvals, backups, clock, console, decisions, keys, ledger, localization, members, messaging, quotas, root_key,
    schedules, socket, status, tenants, webhooks, workflows,
};
use crate::app::App;
use crate::listener::{self, Activity, Connections, Progressing, Site};

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

/// Binds the socket and serves until `stop` turns true.
///
/// # Errors
/// The socket cannot be bound.
pub fn start(app: App, stop: watch::Receiver<bool>) -> io::Result<Serving> {
    let listener = UnixListener::from_std(socket::bind(app.store.directory())?)?;
    let site = Site::new("admin", routes(&app), refuse);
    let connections = Connections::new(site.capacity, CONNECTIONS_MAX);
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
            Ok((stream, _)) => {
                // The socket's mode keeps others out already; this holds even if somebody changed it.
                let Some(asker) = Asker::of(&stream).ok().filter(|asker| asker.is_allowed()) else {
                    tracing::warn!("a connection to the administration socket by another user was closed");
                    continue;
                };
                let (activity, mut site) = (Activity::default(), site.clone());
                site.router = site.router.layer(Extension(asker));
                let stream = Progressing::new(stream, site.head_timeout, activity.clone());
                tokio::spawn(listener::serve_connection(stream, activity, site, None, permit, stop.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection to the administration socket");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

fn routes(app: &App) -> Router {
    Router::new()
        .merge(status::routes(app.clone()))
        .merge(tenants::routes(app.clone()))
        .merge(keys::routes(app.clone()))
        .merge(quotas::routes(app.clone()))
        .merge(root_key::routes(app.clone()))
        .merge(clock::routes(app.clone()))
        .merge(console::routes(app.clone()))
        .merge(members::routes(app.clone()))
        .merge(backups::routes(app.clone()))
        .merge(ledger::routes(app.clone()))
        .merge(localization::routes(app.clone()))
        .merge(decisions::routes(app.clone()))
        .merge(messaging::routes(app.clone()))
        .merge(approvals::routes(app.clone()))
        .merge(schedules::routes(app.clone()))
        .merge(webhooks::routes(app.clone()))
        .merge(workflows::routes(app.clone()))
        .fallback(async || TaskError::NotFound("this appliance does not know that request".into()))
}

fn refuse(fault: Fault, _: &http::Extensions) -> Response {
    match fault {
        Fault::HostMissing => TaskError::Unusable("HTTP/1.1 needs one Host header".into()).into_response(),
        _ => TaskError::Failed("the appliance made a mistake; see its log".into()).into_response(),
    }
}
