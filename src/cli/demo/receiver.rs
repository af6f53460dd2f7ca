//! The demo's receiver of webhooks: another system in small. It takes what is sent to it, checks the signature over the
//! body as it came, knows what it has had before, and prints all of it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use quintet_platform::clock::Clock;
use quintet_platform::deliveries::hmac_sha256;
use quintet_platform::secrets::constant_time_eq;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::cli::CliError;
use crate::cli::output;

/// Where it listens: an address of this machine of its own, so that webhooks may call no other. Whatever listens on all
/// addresses is there too.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);

/// The largest body it takes: more than `max_webhook_payload_bytes` can be.
const BODY_BYTES_MAX: usize = 512 * 1024;
/// How much of a body is printed, in characters.
const PRINTED_CHARS_MAX: usize = 1_000;
/// Connections at a time, and how long one may last.
const CONNECTIONS_MAX: usize = 16;
const CONNECTION_TIME: Duration = Duration::from_secs(60);
/// How old what is signed may be, in seconds: what somebody has caught is not to be sent again later.
const AGE_SECONDS_MAX: u64 = 300;
/// Events it remembers.
const REMEMBERED: usize = 1_000;

/// The receiver. Clones share it.
#[derive(Clone)]
pub struct Receiver(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    clock: Clock,
    /// Whether what arrives is told on standard error, for standard output is one JSON value.
    is_aside: bool,
    /// What signs; none yet: nothing is believed.
    key: Mutex<Vec<u8>>,
    /// The events it has had, the last ones last.
    had: Mutex<VecDeque<String>>,
}

/// What came of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Right,
    Stale,
    Wrong,
}

impl Finding {
    fn says(self) -> &'static str {
        match self {
            Finding::Right => "its signature is right",
            Finding::Stale => "its signature is right, but too old: refused",
            Finding::Wrong => "its signature is WRONG: refused",
        }
    }
}

impl Receiver {
    /// Listens from now on.
    pub async fn start(clock: Clock, is_aside: bool) -> Result<Receiver, CliError> {
        let failed = |error: std::io::Error| CliError::failed(format!("cannot listen on {ADDRESS}: {error}"));
        let listener = TcpListener::bind((ADDRESS, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (key, had) = (Mutex::default(), Mutex::default());
        let receiver = Receiver(Arc::new(Inner { address, clock, is_aside, key, had }));
        tokio::spawn(receiver.clone().accept(listener));
        Ok(receiver)
    }

    /// Where it is sent to.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.0.address)
    }

    /// Believes what is signed with this secret, which is one that the service has generated.
    pub fn believe(&self, secret: &str) {
        let key = HEXLOWER.decode(secret.as_bytes()).unwrap_or_default();
        *self.0.key.lock().unwrap_or_else(PoisonError::into_inner) = key;
    }

    async fn accept(self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let receiver = self.clone();
            tokio::spawn(async move {
                let _ = tokio::time::timeout(CONNECTION_TIME, receiver.serve(stream)).await;
                drop(place);
            });
        }
    }

    async fn serve(&self, stream: TcpStream) {
        let take = |request: Request<Incoming>| async move {
            let status = self.take(request).await;
            let mut answer = Response::new(Empty::<Bytes>::new());
            *answer.status_mut() = status;
            Ok::<_, Infallible>(answer)
        };
        // Whoever breaks off sends it once more.
        let _ =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(take)).await;
    }

    async fn take(&self, request: Request<Incoming>) -> StatusCode {
        let (parts, body) = request.into_parts();
        if parts.method != http::Method::POST {
            return StatusCode::METHOD_NOT_ALLOWED;
        }
        let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await else { return StatusCode::PAYLOAD_TOO_LARGE };
        let body = body.to_bytes();
        let finding = self.check(&parts.headers, &body);
        let is_known = finding == Finding::Right && self.has_had(field(&parts.headers, "x-svc-event-id"));
        let line = told(&parts.headers, &body, finding, is_known);
        if self.0.is_aside {
            output::progress(&line)
        } else {
            output::say(&line)
        }
        if finding == Finding::Right { StatusCode::NO_CONTENT } else { StatusCode::UNAUTHORIZED }
    }

    /// HMAC-SHA256 over the timestamp, a dot and the body as it came, compared in constant time; then how old it is.
    fn check(&self, head: &HeaderMap, body: &[u8]) -> Finding {
        let timestamp = field(head, "x-svc-timestamp");
        let key = self.0.key.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mac = hmac_sha256(&key, &[timestamp.as_bytes(), b".", body]);
        let expected = format!("sha256={}", HEXLOWER.encode(&mac));
        if key.is_empty() || !constant_time_eq(expected.as_bytes(), field(head, "x-svc-signature").as_bytes()) {
            return Finding::Wrong;
        }
        let now_seconds = self.0.clock.now().as_micros() / 1_000_000;
        let is_fresh = timestamp.parse::<i64>().is_ok_and(|at| now_seconds.abs_diff(at) <= AGE_SECONDS_MAX);
        if is_fresh { Finding::Right } else { Finding::Stale }
    }

    /// Whether an event has been here before; from now on it has.
    fn has_had(&self, event_id: &str) -> bool {
        let mut had = self.0.had.lock().unwrap_or_else(PoisonError::into_inner);
        if had.iter().any(|known| known == event_id) {
            return true;
        }
        had.push_back(event_id.to_owned());
        if had.len() > REMEMBERED {
            had.pop_front();
        }
        false
    }
}

/// A field of a head; empty if there is none.
fn field<'a>(head: &'a HeaderMap, name: &str) -> &'a str {
    head.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// What is printed of a delivery.
fn told(head: &HeaderMap, body: &[u8], finding: Finding, is_known: bool) -> String {
    let name = |name: &str| output::plain(field(head, name));
    let text = String::from_utf8_lossy(body);
    let mut printed: String = text.chars().take(PRINTED_CHARS_MAX).collect();
    if printed.len() < text.len() {
        printed.push_str(" ...");
    }
    let again = if is_known { ", has been here before" } else { "" };
    format!(
        "webhook received: {}, attempt {}{again}; {}\n{}",
        name("x-svc-event"),
        name("x-svc-attempt"),
        finding.says(),
        output::plain(&printed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn receiver(secret: &str) -> Receiver {
        let receiver = Receiver::start(Clock::system(), true).await.unwrap();
        receiver.believe(secret);
        receiver
    }

    fn signed(key: &[u8], timestamp: i64, body: &[u8]) -> HeaderMap {
        let timestamp = timestamp.to_string();
        let mac = HEXLOWER.encode(&hmac_sha256(key, &[timestamp.as_bytes(), b".", body]));
        let mut head = HeaderMap::new();
        head.insert("x-svc-timestamp", timestamp.parse().unwrap());
        head.insert("x-svc-signature", format!("sha256={mac}").parse().unwrap());
        head
    }

    #[tokio::test]
    async fn only_what_is_signed_and_fresh_is_believed() {
        let receiver = receiver(&"ab".repeat(32)).await;
        let now = Clock::system().now().as_micros() / 1_000_000;
        let head = signed(&[0xab; 32], now, b"{}");
        assert_eq!(receiver.check(&head, b"{}"), Finding::Right);
        assert_eq!(receiver.check(&head, b"{ }"), Finding::Wrong);
        assert_eq!(receiver.check(&HeaderMap::new(), b"{}"), Finding::Wrong);
        assert_eq!(receiver.check(&signed(&[0xac; 32], now, b"{}"), b"{}"), Finding::Wrong);
        for seconds in [-301, 301] {
            assert_eq!(receiver.check(&signed(&[0xab; 32], now + seconds, b"{}"), b"{}"), Finding::Stale);
        }
        receiver.believe("no hexadecimal");
        assert_eq!(receiver.check(&signed(b"", now, b"{}"), b"{}"), Finding::Wrong, "no secret is no proof");
    }

    #[tokio::test]
    async fn what_has_been_here_is_known_and_little_of_it_is_kept() {
        let receiver = receiver("").await;
        assert!(!receiver.has_had("a") && receiver.has_had("a"));
        for number in 0..REMEMBERED {
            receiver.has_had(&number.to_string());
        }
        assert_eq!(receiver.0.had.lock().unwrap().len(), REMEMBERED);
        assert!(!receiver.has_had("a"));
    }

    #[test]
    fn a_terminal_is_safe_from_what_is_sent() {
        let mut head = HeaderMap::new();
        head.insert("x-svc-event", "run.exited".parse().unwrap());
        head.insert("x-svc-attempt", "2".parse().unwrap());
        let line = told(&head, b"\x1b[31m\xff", Finding::Wrong, false);
        let expected = "webhook received: run.exited, attempt 2; its signature is WRONG: refused\n\\u{1b}[31m\u{fffd}";
        assert_eq!(line, expected);
        assert!(told(&head, &[b'a'; 2_000], Finding::Right, true).ends_with("aaa ..."));
    }
}
