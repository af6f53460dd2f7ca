//! The way from the appliance to its own listeners, by which the decision desk tells its decisions: over the network where
//! they speak plain HTTP, past TLS where they speak that, for nobody issues a certificate for the address they listen on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use quintet_localization::OwnListener;
use quintet_platform::clock::BoxFuture;
use quintet_platform::egress::Egress;
use tokio::sync::{Semaphore, watch};

use crate::app::App;
use crate::listener::{self, Activity, Listening, Progressing, Site};
use crate::router;
use crate::sites::reachable;

/// Where the decision service tells its decisions.
const WEBHOOK: &str = "/v1/decision/webhook";
/// What is on its way within the process.
const PIPE_BYTES: usize = 64 << 10;
/// How many requests are made within the process at a time.
const REQUESTS_AT_ONCE: usize = 16;

/// The way to a listener.
#[must_use]
pub fn way_to(app: &App, own: &Listening, stopping: watch::Receiver<bool>) -> Arc<dyn OwnListener> {
    let site = router::sites(app).into_iter().find(|site| site.name == own.name);
    match site {
        Some(site) if own.is_encrypted => {
            Arc::new(Within { site, stopping, free: Arc::new(Semaphore::new(REQUESTS_AT_ONCE)) })
        }
        _ => Arc::new(Network::to(reachable(own.address))),
    }
}

/// Over the network.
struct Network {
    /// One that may call this address, and no other.
    egress: Egress,
    url: String,
}

impl Network {
    fn to(address: SocketAddr) -> Network {
        let own = address.ip().to_canonical();
        Network { egress: Egress::new(move |ip| ip == own), url: format!("http://{address}{WEBHOOK}") }
    }
}

impl OwnListener for Network {
    fn send(&self, mut request: Request<Bytes>, time: Duration) -> BoxFuture<'_, Option<u16>> {
        Box::pin(async move {
            *request.uri_mut() = self.url.parse().ok()?;
            let answer = self.egress.send(request, time).await;
            match answer {
                Ok(answer) => Some(answer.status().as_u16()),
                Err(error) => {
                    tracing::warn!(%error, "a decision could not be told");
                    None
                }
            }
        })
    }
}

/// Past TLS: to the same site, on a connection within the process.
struct Within {
    site: Site,
    stopping: watch::Receiver<bool>,
    free: Arc<Semaphore>,
}

impl Within {
    async fn exchange(&self, request: Request<Bytes>) -> Option<u16> {
        let permit = Arc::clone(&self.free).acquire_owned().await.ok()?;
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let activity = Activity::default();
        let far = Progressing::new(far, self.site.head_timeout, activity.clone());
        tokio::spawn(listener::serve_connection(far, activity, self.site.clone(), None, permit, self.stopping.clone()));
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(near)).await.ok()?;
        let moving = tokio::spawn(connection);
        let (mut parts, body) = request.into_parts();
        parts.uri = WEBHOOK.parse().ok()?;
        parts.headers.insert(HOST, HeaderValue::from_static("localhost"));
        let answer = sender.send_request(Request::from_parts(parts, Full::new(body))).await;
        moving.abort();
        Some(answer.ok()?.status().as_u16())
    }
}

impl OwnListener for Within {
    fn send(&self, request: Request<Bytes>, time: Duration) -> BoxFuture<'_, Option<u16>> {
        Box::pin(async move { tokio::time::timeout(time, self.exchange(request)).await.ok().flatten() })
    }
}
