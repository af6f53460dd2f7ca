//! One HTTP listener: accepts connections up to a limit, serves HTTP/1.1 with time-outs on the way in,
//! turns a panic into the service's own answer, and drains when told.

mod activity;
mod connections;
mod sources;
mod stall;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::Response;
use futures_util::FutureExt;
use http::{HeaderMap, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tower::ServiceExt;

use crate::config::value::Network;
use activity::Activity;
pub use connections::Connections;
use sources::Sources;
use stall::Progressing;

/// The usual [`Site::head_timeout`].
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest request head, in bytes; beyond it the answer is 431.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// How long a connection on which no request is under way may go on once the listener drains.
const IDLE_GRACE: Duration = Duration::from_millis(500);
/// How long, and for how many bytes, a connection is kept after an answer that did not wait for the body.
const LINGER: Duration = Duration::from_secs(5);
const LINGER_BYTES_MAX: usize = 64 << 20;
/// What is read ahead of one connection, in bytes.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// What a service answers when one of its handlers panicked.
pub type PanicAnswer = fn() -> Response;

/// What hangs on a listener: one service's routes.
#[derive(Clone)]
pub struct Site {
    /// The service's name, as in the configuration and in `addresses.json`.
    pub name: &'static str,
    /// Its routes.
    pub router: Router,
    /// What it answers when one of its handlers panicked.
    pub panic_answer: PanicAnswer,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Arc<[Network]>,
    /// How long a connection may take over the head of a request, stay idle between two requests, or leave an answer
    /// unread.
    pub head_timeout: Duration,
}

/// A running listener.
#[derive(Debug)]
pub struct Listening {
    /// The service's name.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    connections: Connections,
}

impl Listening {
    /// Binds and starts to serve until `stop` turns true.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn start(
        site: Site,
        address: SocketAddr,
        connections: Connections,
        stop: watch::Receiver<bool>,
    ) -> io::Result<Listening> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let name = site.name;
        tokio::spawn(accept(listener, site, connections.clone(), stop));
        Ok(Listening { name, address, connections })
    }

    /// Waits until every connection has ended.
    pub async fn drained(&self) {
        self.connections.drained().await;
    }
}

async fn accept(listener: TcpListener, site: Site, connections: Connections, mut stop: watch::Receiver<bool>) {
    let sources = Sources::new(connections.of_a_source_max());
    loop {
        let Some(permit) = connections.enter().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Answers are small and whole: waiting to fill a segment only adds latency.
                let _ = stream.set_nodelay(true);
                let place = sources.enter(peer.ip());
                // One address that has taken its share is not answered; the others still are.
                if place.is_none() && !is_trusted(&site.trusted_proxies, peer.ip()) {
                    continue;
                }
                let served = serve_connection(stream, site.clone(), Some(peer), permit, stop.clone());
                tokio::spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Err(error) => {
                // Out of file descriptors, or a connection that was gone before it was accepted.
                tracing::warn!(service = site.name, %error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// Serves one connection to its end. `peer` is absent on the unix socket.
pub async fn serve_connection<S>(
    stream: S,
    site: Site,
    peer: Option<SocketAddr>,
    permit: OwnedSemaphorePermit,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head_timeout = site.head_timeout;
    let activity = Activity::default();
    let watched = activity.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (request, watched) = (watched.begin(request), watched.clone());
        let answering = answer(site.clone(), peer, request);
        // Boxed because taking the stream back afterwards needs a future that can be moved.
        Box::pin(answering.map(move |answered| answered.map(|answer| watched.end(answer))))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .half_close(false)
        .serve_connection(TokioIo::new(Progressing::new(stream, head_timeout, activity.clone())), service);
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
    let mut stream = connection.into_parts().io.into_inner().into_inner();
    let farewell = close(&mut stream, activity.is_body_unread());
    let _ = tokio::time::timeout(LINGER, farewell).await;
    drop(permit);
}

/// Ends a connection. If the answer came before the request's body was read (it was too large, say), what still
/// arrives is read and dropped for a while: closed at once, the kernel would answer it with a reset, and the client
/// might never see the answer.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, is_body_unread: bool) {
    let is_shut = stream.shutdown().await.is_ok();
    if !(is_shut && is_body_unread) {
        return;
    }
    let mut scrap = vec![0; BUFFER_BYTES_MAX];
    let mut left = LINGER_BYTES_MAX;
    while left > 0 {
        match stream.read(&mut scrap).await {
            Ok(length) if length > 0 => left = left.saturating_sub(length),
            _ => return,
        }
    }
}

async fn answer(site: Site, peer: Option<SocketAddr>, mut request: Request<Body>) -> Result<Response, Infallible> {
    if let Some(peer) = peer {
        let source = SocketAddr::new(source_of(peer.ip(), request.headers(), &site.trusted_proxies), peer.port());
        request.extensions_mut().insert(ConnectInfo(source));
    }
    match AssertUnwindSafe(site.router.oneshot(request)).catch_unwind().await {
        Ok(answered) => answered,
        Err(_) => {
            tracing::error!(service = site.name, "a handler panicked; the request was answered with a failure");
            Ok((site.panic_answer)())
        }
    }
}

/// The address a request came from: behind trusted proxies, the last address in `X-Forwarded-For` that is
/// not one of theirs. Whatever stands further left was written by strangers.
fn source_of(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let mut source = peer;
    if !is_trusted(trusted, source) {
        return source;
    }
    let fields: Vec<&str> = headers.get_all("x-forwarded-for").iter().filter_map(|v| v.to_str().ok()).collect();
    for hop in fields.iter().rev().flat_map(|field| field.rsplit(',')) {
        let Ok(address) = hop.trim().parse::<IpAddr>() else { return source };
        source = address;
        if !is_trusted(trusted, source) {
            return source;
        }
    }
    source
}

fn is_trusted(proxies: &[Network], address: IpAddr) -> bool {
    proxies.iter().any(|network| network.contains(address))
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    async fn break_down() -> Response {
        panic!("a bug")
    }

    /// Sends bytes to a site on one connection and reads what comes back until it is closed.
    async fn exchange(request: &[u8]) -> String {
        let router =
            Router::new().route("/", axum::routing::get(async || "fine")).route("/bug", axum::routing::get(break_down));
        let panic_answer: PanicAnswer = || (http::StatusCode::INTERNAL_SERVER_ERROR, "own words").into_response();
        let head_timeout = Duration::from_millis(200);
        let site = Site { name: "test", router, panic_answer, trusted_proxies: Arc::from([]), head_timeout };
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let permit = Connections::new(1).enter().await.unwrap();
        let (_stop, stopping) = watch::channel(false);
        tokio::spawn(serve_connection(server, site, None, permit, stopping));
        client.write_all(request).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_panic_answers_in_the_services_own_words_and_spares_the_connection() {
        let requests =
            ["GET /bug HTTP/1.1\r\nhost: x\r\n\r\n", "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"];
        let answer = exchange(requests.concat().as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
        assert!(answer.contains("own words"), "{answer}");
        assert!(answer.ends_with("fine"), "{answer}");
    }

    #[tokio::test]
    async fn heads_have_bounds() {
        let long = [b"GET / HTTP/1.1\r\nx: ".as_slice(), &vec![b'a'; HEAD_BYTES_MAX], b"\r\n\r\n"].concat();
        let answer = exchange(&long).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
        // A hundred fields is the parser's own bound.
        let many = [b"GET / HTTP/1.1\r\n".as_slice(), &b"x: y\r\n".repeat(101), b"\r\n"].concat();
        assert!(exchange(&many).await.starts_with("HTTP/1.1 431"));
        assert!(exchange(b"NONSENSE\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    }

    #[tokio::test]
    async fn a_silent_connection_is_closed() {
        assert_eq!(exchange(b"GET / HT").await, "");
        let answer = exchange(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(answer.ends_with("fine"), "closed when idle, after the answer: {answer}");
    }

    fn source(peer: &str, forwarded: &[&str]) -> String {
        let trusted = [Network::parse("10.0.0.0/8").unwrap(), Network::parse("fd00::/8").unwrap()];
        let mut headers = HeaderMap::new();
        for field in forwarded {
            headers.append("x-forwarded-for", field.parse().unwrap());
        }
        source_of(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(source("192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(source("10.1.1.1", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(source("10.1.1.1", &["203.0.113.9, 198.51.100.7, 10.2.2.2"]), "198.51.100.7");
        assert_eq!(source("10.1.1.1", &["203.0.113.9", "198.51.100.7"]), "198.51.100.7");
        assert_eq!(source("10.1.1.1", &["203.0.113.9, nonsense"]), "10.1.1.1");
        assert_eq!(source("10.1.1.1", &[]), "10.1.1.1");
        assert_eq!(source("fd00::1", &["2001:db8::1"]), "2001:db8::1");
    }
}
