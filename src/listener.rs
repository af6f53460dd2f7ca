//! One HTTP listener: accepts connections up to a limit, encrypted or not, serves HTTP/1.1 with time-outs on the way in,
//! turns a panic into the service's own answer, and drains when told.

mod accepted;
mod activity;
mod closing;
mod connections;
mod handshakes;
mod host;
mod origin;
mod sources;
mod stall;
#[cfg(test)]
mod tests;
mod unacknowledged;
mod unsent;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::Response;
use futures_util::FutureExt;
use http::header::STRICT_TRANSPORT_SECURITY;
use http::{HeaderValue, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tower::ServiceExt;
use tracing::Instrument as _;

use quintet_platform::http::Outgoing;
use quintet_platform::http::origin::ReachedByHttps;
use quintet_platform::http::request_id::{RequestId, X_REQUEST_ID};
use quintet_platform::service::Fault;

use crate::config::value::Network;
use crate::tls::Tls;
use accepted::Accepted;
pub use activity::Activity;
use closing::close;
pub use connections::{Capacity, Connections};
use handshakes::{Encrypted, Handshakes};
pub use origin::Peer;
use origin::{is_trusted, origin_of};
use sources::Sources;
pub use stall::Progressing;
use unsent::NoRoom;
pub use unsent::Unsent;

/// The usual [`Site::head_timeout`].
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest request head, in bytes; beyond it the answer is 431.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// How long a connection on which no request is under way may go on once the listener drains.
const IDLE_GRACE: Duration = Duration::from_millis(500);
/// What is read ahead of one connection, in bytes.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// What an encrypted answer tells browsers (RFC 6797): this host speaks TLS, and will for a year to come.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// How a service answers what the listener has to refuse, in its own form: a panic, a request without Host.
pub type Refuse = fn(Fault, &http::Extensions) -> Response;

/// What hangs on a listener: one service's routes.
#[derive(Clone)]
pub struct Site {
    /// The service's name, as in the configuration and in `addresses.json`.
    pub name: &'static str,
    /// Its routes.
    pub router: Router,
    /// How it refuses what the listener has to.
    pub refuse: Refuse,
    /// Where large answers wait to be read; all sites share it.
    pub unsent: Unsent,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Arc<[Network]>,
    /// How long a connection may take over the head of a request, stay idle between two requests, or leave an answer
    /// unread.
    pub head_timeout: Duration,
    /// How many connections it would serve.
    pub capacity: Capacity,
    /// How long what was written may lie unacknowledged before the kernel gives a connection up, for sites whose streams
    /// must not stand for callers who are gone: their requests carry an [`Outgoing`], too. `None`: as long as the kernel
    /// does by itself, a quarter of an hour or so.
    pub taking_timeout: Option<Duration>,
}

impl Site {
    /// One with its own place for large answers, behind no proxies, and the usual bounds.
    #[must_use]
    pub fn new(name: &'static str, router: Router, refuse: Refuse) -> Site {
        Site {
            name,
            router,
            refuse,
            unsent: Unsent::default(),
            trusted_proxies: Arc::from([]),
            head_timeout: HEAD_TIMEOUT,
            capacity: Capacity::USUAL,
            taking_timeout: None,
        }
    }
}

/// A running listener.
#[derive(Debug)]
pub struct Listening {
    /// The service's name.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    /// Whether it speaks TLS.
    pub is_encrypted: bool,
    connections: Connections,
}

impl Listening {
    /// Binds and starts to serve until `stop` turns true, so many connections at most as are `granted` to the site and it
    /// would serve; over TLS, if there is any.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn start(
        site: Site,
        address: SocketAddr,
        granted: u32,
        tls: Option<Tls>,
        stop: watch::Receiver<bool>,
    ) -> io::Result<Listening> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (name, is_encrypted) = (site.name, tls.is_some());
        let connections = Connections::new(site.capacity, granted);
        tokio::spawn(accept(listener, site, connections.clone(), tls, stop));
        Ok(Listening { name, address, is_encrypted, connections })
    }

    /// Waits until every connection has ended.
    pub async fn drained(&self) {
        self.connections.drained().await;
    }
}

async fn accept(
    listener: TcpListener,
    site: Site,
    connections: Connections,
    tls: Option<Tls>,
    mut stop: watch::Receiver<bool>,
) {
    let sources = Sources::new(connections.of_a_source_max());
    let tls = tls.map(|tls| (tls, Handshakes::new(connections.handshakes_max())));
    loop {
        // Where connections are to be encrypted, they take their place once they are.
        let permit = match &tls {
            None => connections.enter().await,
            Some(_) => None,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        match accepted {
            Ok((stream, address)) => {
                let place = sources.enter(address.ip());
                // One address that has taken its share is not answered; the others still are.
                if place.is_none() && !is_trusted(&site.trusted_proxies, address.ip()) {
                    continue;
                }
                let stream = Accepted::new(stream, site.taking_timeout);
                let (site, stop) = (site.clone(), stop.clone());
                match (permit, &tls) {
                    (Some(permit), _) => {
                        let served = serve_plain(stream, site, address, permit, stop);
                        tokio::spawn(async move {
                            served.await;
                            drop(place);
                        });
                    }
                    (None, Some((tls, handshakes))) => {
                        let turn = handshakes.enter();
                        let (tls, connections) = (tls.clone(), connections.clone());
                        tokio::spawn(async move {
                            let (patience, stopping) = (site.head_timeout, stop.clone());
                            let admitted = handshakes::admit(stream, &tls, turn, &connections, patience, stopping);
                            // Boxed: what a handshake takes is gone with it, long before the connection is.
                            let admitted = Box::pin(admitted);
                            if let Some(encrypted) = admitted.await {
                                serve_encrypted(encrypted, site, address, stop).await;
                            }
                            drop(place);
                        });
                    }
                    // Nobody closes the count of connections.
                    (None, None) => return,
                }
            }
            Err(error) => {
                // Out of file descriptors, or a connection that was gone before it was accepted.
                tracing::warn!(service = site.name, %error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

async fn serve_plain(
    stream: Accepted,
    site: Site,
    address: SocketAddr,
    permit: OwnedSemaphorePermit,
    stop: watch::Receiver<bool>,
) {
    let activity = Activity::default();
    let peer = Peer { address, is_encrypted: false, outgoing: stream.outgoing() };
    let stream = Progressing::new(stream, site.head_timeout, activity.clone());
    serve_connection(stream, activity, site, Some(peer), permit, stop).await;
}

async fn serve_encrypted(encrypted: Encrypted, site: Site, address: SocketAddr, stop: watch::Receiver<bool>) {
    let Encrypted { stream, activity, outgoing, permit } = encrypted;
    let peer = Peer { address, is_encrypted: true, outgoing };
    serve_connection(stream, activity, site, Some(peer), permit, stop).await;
}

/// Serves one connection to its end; `activity` is that of its [`Progressing`] stream, and `peer` is absent on the unix
/// socket.
pub async fn serve_connection<S>(
    stream: S,
    activity: Activity,
    site: Site,
    peer: Option<Peer>,
    permit: OwnedSemaphorePermit,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head_timeout = site.head_timeout;
    let site = Arc::new(site);
    let watched = activity.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (request, watched) = (watched.begin(request), watched.clone());
        let answering = answer(Arc::clone(&site), peer.clone(), request);
        // Boxed because taking the stream back afterwards needs a future that can be moved.
        Box::pin(answering.map(move |answered| answered.map(|answer| watched.end(answer))))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .half_close(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut is_draining = false;
    loop {
        tokio::select! {
            // A client that breaks off or talks nonsense is its own affair.
            _ = poll_fn(|context| connection.poll_without_shutdown(context)) => break,
            _ = stop.wait_for(|stop| *stop), if !is_draining => {
                is_draining = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
            // Half a request's head would otherwise be waited for as long as heads may take.
            () = tokio::time::sleep(IDLE_GRACE), if is_draining => {
                if activity.is_idle() {
                    break;
                }
            }
        }
    }
    let mut stream = connection.into_parts().io.into_inner();
    close(&mut stream, activity.is_body_unread()).await;
    drop(permit);
}

async fn answer(site: Arc<Site>, peer: Option<Peer>, mut request: Request<Body>) -> Result<Response, Infallible> {
    let is_encrypted = peer.as_ref().is_some_and(|peer| peer.is_encrypted);
    if let Some(peer) = peer {
        let origin = origin_of(&peer, request.headers(), &site.trusted_proxies);
        let source = SocketAddr::new(origin.source, peer.address.port());
        request.extensions_mut().insert(ConnectInfo(source));
        if origin.is_https {
            request.extensions_mut().insert(ReachedByHttps);
        }
        if let Some(outgoing) = peer.outgoing {
            request.extensions_mut().insert::<Outgoing>(outgoing);
        }
    }
    let id = RequestId::of(request.headers());
    let span = id.span(request.method());
    request.extensions_mut().insert(id.clone());
    let mut answer = serve(&site, &id, request).instrument(span).await;
    answer.headers_mut().insert(X_REQUEST_ID, id.into_header());
    if is_encrypted {
        answer.headers_mut().insert(STRICT_TRANSPORT_SECURITY, HSTS);
    }
    Ok(answer)
}

/// What the site answers, or what is said for it.
async fn serve(site: &Site, id: &RequestId, request: Request<Body>) -> Response {
    let refused = |fault| {
        let mut extensions = http::Extensions::new();
        extensions.insert(id.clone());
        (site.refuse)(fault, &extensions)
    };
    if host::is_missing(&request) {
        return refused(Fault::HostMissing);
    }
    let source = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|source| source.0.ip());
    // The unix socket has one.
    let source = source.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    let answer = match AssertUnwindSafe(site.router.clone().oneshot(request)).catch_unwind().await {
        Ok(Ok(answer)) => answer,
        Err(_) => {
            tracing::error!(service = site.name, "a handler panicked; the request was answered with a failure");
            refused(Fault::Internal)
        }
    };
    match unsent::is_small(&answer) {
        true => answer,
        // Boxed, so that the many small answers need not carry the room for it.
        false => Box::pin(site.unsent.hold(answer, source)).await.unwrap_or_else(|NoRoom| refused(Fault::Busy)),
    }
}
