//! The one way out: requests of the appliance to other systems.
//!
//! Names and addresses of other systems come from configuration or from tenants, so they are vetted where the socket is
//! opened, after the name was resolved: an address that is not of the public internet is refused unless the operator
//! allows its network (`egress.allow_private`). Exactly the vetted address is connected to, redirects are not followed,
//! answers are bounded in size and in time.
//!
//! Only `http://` so far: a system that wants TLS is reached through a proxy on this machine.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HOST};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The address is no absolute `http://` one.
    #[error("not an http:// address this version can call")]
    Unusable,
    /// The name does not resolve.
    #[error("the name does not resolve")]
    Unresolved,
    /// Every address of the name is outside the public internet and not allowed.
    #[error("the address is not of the public internet; egress.allow_private does not list it")]
    Forbidden,
    /// It did not come in time.
    #[error("no answer in time")]
    TimedOut,
    /// The connection could not be made, or broke, or the answer is malformed or too large.
    #[error("no connection, or no proper answer")]
    Broken,
}

/// Opens outbound connections. Clones share it.
#[derive(Clone)]
pub struct Egress {
    allows: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Egress")
    }
}

impl Egress {
    /// `allows` says which addresses outside the public internet may be called all the same.
    #[must_use]
    pub fn new(allows: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Egress {
        Egress { allows: Arc::new(allows) }
    }

    /// Sends a request and reads the whole answer, all within `time`.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn send(&self, request: Request<Bytes>, time: Duration) -> Result<Response<Bytes>, EgressError> {
        within(time, self.exchange(request)).await
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, EgressError> {
        let (mut parts, body) = request.into_parts();
        let (host, port) = target(&parts.uri)?;
        let stream = self.connect(&host, port).await?;
        let authority = parts.uri.authority().ok_or(EgressError::Unusable)?;
        // A user's name and password in the address are no part of the Host field.
        let named = authority.as_str().rsplit('@').next().unwrap_or_default();
        parts.headers.insert(HOST, HeaderValue::from_str(named).map_err(|_| EgressError::Unusable)?);
        parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = path.parse().map_err(|_| EgressError::Unusable)?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|_| EgressError::Broken)?;
        let exchange = async {
            let request = Request::from_parts(parts, Full::new(body));
            let response = sender.send_request(request).await.map_err(|_| EgressError::Broken)?;
            let (parts, body) = response.into_parts();
            let whole = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(|_| EgressError::Broken)?;
            Ok(Response::from_parts(parts, whole.to_bytes()))
        };
        // The connection lives exactly as long as the exchange: whoever gives up waiting closes it.
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            answer = &mut exchange => answer,
            _ = connection => exchange.await,
        }
    }

    /// Connects to the first address of a host that passes and answers.
    #[expect(clippy::disallowed_methods, reason = "the one place that opens outbound connections")]
    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, EgressError> {
        let resolved: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => tokio::net::lookup_host((host, port)).await.map_err(|_| EgressError::Unresolved)?.collect(),
        };
        if resolved.is_empty() {
            return Err(EgressError::Unresolved);
        }
        let mut outcome = EgressError::Forbidden;
        for address in resolved {
            if !is_public(address.ip()) && !(self.allows)(address.ip().to_canonical()) {
                continue;
            }
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(_) => outcome = EgressError::Broken,
            }
        }
        Err(outcome)
    }
}

async fn within<T>(time: Duration, work: impl Future<Output = Result<T, EgressError>>) -> Result<T, EgressError> {
    tokio::time::timeout(time, work).await.unwrap_or(Err(EgressError::TimedOut))
}

fn target(uri: &Uri) -> Result<(String, u16), EgressError> {
    let host = uri.host().filter(|_| uri.scheme_str() == Some("http")).ok_or(EgressError::Unusable)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), uri.port_u16().unwrap_or(80)))
}

/// Whether an address belongs to the public internet (the special-purpose registries of RFC 6890 and its
/// successors say which do not). Addresses that stand for an IPv4 address count as that one.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || a == 10
        || a == 127
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 169 && b == 254)
        || (a == 172 && (16..32).contains(&b))
        || (a == 192 && b == 168)
        || (a == 192 && b == 0 && (c == 0 || c == 2))
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        // NAT64 (RFC 6052) and 6to4 (RFC 3056) carry an IPv4 address.
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => embedded(g, h),
        (0x2002, _) => embedded(b, c),
        // Teredo, benchmarking, ORCHID and the rest of 2001::/23; documentation.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        // Of the rest, global unicast is 2000::/3.
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    fn get(uri: &str) -> Request<Bytes> {
        Request::get(uri).body(Bytes::new()).unwrap()
    }

    /// Answers one connection with these bytes; its address, and what it was sent.
    async fn answering(answer: Vec<u8>) -> (SocketAddr, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            let _ = stream.write_all(&answer).await;
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        (address, served)
    }

    #[test]
    fn addresses_outside_the_public_internet() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "100::1",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[tokio::test]
    async fn answers_come_back_whole() {
        let (address, served) = answering(b"HTTP/1.1 418 x\r\ncontent-length: 5\r\n\r\nhello".to_vec()).await;
        let egress = Egress::new(|address| address.is_loopback());
        let answer = egress.send(get(&format!("http://user:pass@{address}/a?b=c")), SOON).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.body().as_ref()), (418, b"hello".as_slice()));
        let request = served.await.unwrap();
        assert!(request.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("host: {address}\r\n")) && !request.contains("pass"), "{request}");
    }

    #[tokio::test]
    async fn what_is_not_allowed_is_not_connected_to() {
        let egress = Egress::new(|_| false);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let outcome = egress.send(get(&format!("http://{host}:{port}/")), SOON).await;
            assert_eq!(outcome.err(), Some(EgressError::Forbidden), "{host}");
        }
        let accepted = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(accepted.is_err(), "nothing was connected to");
        for uri in ["https://127.0.0.1/", "/relative", "ftp://127.0.0.1/"] {
            assert_eq!(egress.send(get(uri), SOON).await.err(), Some(EgressError::Unusable), "{uri}");
        }
        let outcome = egress.send(get("http://no-such-name.invalid/"), SOON).await;
        assert_eq!(outcome.err(), Some(EgressError::Unresolved));
    }

    #[tokio::test]
    async fn answers_are_bounded() {
        let egress = Egress::new(|address| address.is_loopback());
        let mut large = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", ANSWER_BYTES_MAX + 1).into_bytes();
        large.resize(large.len() + ANSWER_BYTES_MAX + 1, b'x');
        for (answer, expected) in [
            (large, EgressError::Broken),
            (b"nonsense".to_vec(), EgressError::Broken),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe".to_vec(), EgressError::Broken),
        ] {
            let (address, _served) = answering(answer).await;
            assert_eq!(egress.send(get(&format!("http://{address}/")), SOON).await.err(), Some(expected));
        }
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", silent.local_addr().unwrap());
        let outcome = egress.send(get(&uri), Duration::from_millis(50)).await;
        assert_eq!(outcome.err(), Some(EgressError::TimedOut));
        drop(silent);
        assert_eq!(egress.send(get(&uri), SOON).await.err(), Some(EgressError::Broken), "nobody listens");
    }
}
