//! The one way out: requests of the appliance to other systems.
//!
//! Names and addresses of other systems come from configuration or from tenants, so they are vetted where the socket is
//! opened, after the name was resolved: an address that is not of the public internet is refused unless the operator
//! allows its network (`egress.allow_private`). Exactly the vetted address is connected to, redirects are not followed,
//! answers are bounded in size and in time.
//!
//! `https://` is for everybody: the certificate must be signed by an authority of the system's store, or of
//! `tls.extra_ca`. `http://` is for the networks that the operator allows, where he answers for the line.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HOST};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The address is no absolute `https://` or `http://` one.
    #[error("not an https:// or http:// address")]
    Unusable,
    /// The name does not resolve.
    #[error("the name does not resolve")]
    Unresolved,
    /// Every address of the name is outside the public internet and not allowed.
    #[error("the address is not of the public internet; egress.allow_private does not list it")]
    Forbidden,
    /// `http://`, and the address is not one the operator allows.
    #[error("not encrypted: http:// is for the networks of egress.allow_private alone")]
    Plain,
    /// What answers proves by no certificate that it is who was called.
    #[error("no trusted certificate for this name; tls.extra_ca adds an authority of your own")]
    Untrusted,
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
    authorities: Arc<Authorities>,
}

/// Who may sign certificates of those that are called.
#[derive(Default)]
struct Authorities {
    /// Besides the system's.
    extra: Vec<CertificateDer<'static>>,
    /// Made when it is needed first: the system's store is some hundred files.
    connector: OnceLock<TlsConnector>,
}

impl Authorities {
    fn connector(&self) -> TlsConnector {
        let make = || {
            let mut roots = RootCertStore::empty();
            let system = rustls_native_certs::load_native_certs();
            // One that cannot be read is trusted by nobody; the others count.
            roots.add_parsable_certificates(system.certs);
            roots.add_parsable_certificates(self.extra.iter().cloned());
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let config = versions.map(|versions| versions.with_root_certificates(roots).with_no_client_auth());
            config.map(|config| TlsConnector::from(Arc::new(config)))
        };
        #[expect(clippy::expect_used, reason = "ring has cipher suites for both versions of TLS")]
        self.connector.get_or_init(|| make().expect("ring serves the versions of TLS")).clone()
    }
}

/// A file of certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("no certificates in PEM form")]
pub struct NoCertificates;

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Egress")
    }
}

impl Egress {
    /// `allows` says which addresses outside the public internet may be called all the same.
    #[must_use]
    pub fn new(allows: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Egress {
        Egress { allows: Arc::new(allows), authorities: Arc::default() }
    }

    /// Whether this address may be connected to, with TLS or without.
    #[must_use]
    pub fn allows_address(&self, address: IpAddr, is_tls: bool) -> bool {
        (self.allows)(address.to_canonical()) || (is_tls && is_public(address))
    }

    /// Also trusts the authorities whose certificates are in this text (PEM).
    ///
    /// # Errors
    /// [`NoCertificates`] if there is none in it, or one that is not well-formed.
    pub fn trusting(self, pem: &[u8]) -> Result<Egress, NoCertificates> {
        let extra: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let extra = extra.map_err(|_| NoCertificates)?;
        let well_formed = extra.iter().all(|one| RootCertStore::empty().add(one.clone()).is_ok());
        if extra.is_empty() || !well_formed {
            return Err(NoCertificates);
        }
        Ok(Egress { authorities: Arc::new(Authorities { extra, connector: OnceLock::new() }), ..self })
    }

    /// Sends a request and reads the whole answer, all within `time`.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn send(&self, request: Request<Bytes>, time: Duration) -> Result<Response<Bytes>, EgressError> {
        let exchange = async {
            let (parts, mut body) = self.open(request).await?.into_parts();
            Ok(Response::from_parts(parts, body.whole(ANSWER_BYTES_MAX).await?))
        };
        within(time, exchange).await
    }

    /// Sends a request and hands its answer on as soon as its head is there. How large the body may be and how long it
    /// may take is the caller's to bound; whoever drops it closes the connection.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn open(&self, request: Request<Bytes>) -> Result<Response<EgressBody>, EgressError> {
        let (mut parts, body) = request.into_parts();
        let Target { host, port, is_tls } = target(&parts.uri)?;
        let stream = self.connect(&host, port, is_tls).await?;
        let authority = parts.uri.authority().ok_or(EgressError::Unusable)?;
        // A user's name and password in the address are no part of the Host field.
        let named = authority.as_str().rsplit('@').next().unwrap_or_default();
        parts.headers.insert(HOST, HeaderValue::from_str(named).map_err(|_| EgressError::Unusable)?);
        parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = path.parse().map_err(|_| EgressError::Unusable)?;
        let request = Request::from_parts(parts, Full::new(body));
        if !is_tls {
            return converse(stream, request).await;
        }
        let name = ServerName::try_from(host).map_err(|_| EgressError::Unusable)?;
        match self.authorities.connector().connect(name, stream).await {
            Ok(stream) => converse(stream, request).await,
            // What rustls refuses, it hands on as invalid data; a connection that breaks has other kinds.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Err(EgressError::Untrusted),
            Err(_) => Err(EgressError::Broken),
        }
    }

    /// Connects to the first address of a host that passes and answers.
    #[expect(clippy::disallowed_methods, reason = "the one place that opens outbound connections")]
    async fn connect(&self, host: &str, port: u16, is_tls: bool) -> Result<TcpStream, EgressError> {
        let resolved: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => tokio::net::lookup_host((host, port)).await.map_err(|_| EgressError::Unresolved)?.collect(),
        };
        if resolved.is_empty() {
            return Err(EgressError::Unresolved);
        }
        let mut outcome = EgressError::Forbidden;
        for address in resolved {
            let is_public = is_public(address.ip());
            if !((self.allows)(address.ip().to_canonical()) || is_tls && is_public) {
                if is_public {
                    outcome = EgressError::Plain;
                }
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

/// The body of an answer, as it arrives.
pub struct EgressBody {
    body: Incoming,
    /// Moves the bytes; it lives exactly as long as the body, so that whoever gives up waiting closes it. None once it
    /// has nothing left to do.
    connection: Option<Connection>,
}

type Connection = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

impl fmt::Debug for EgressBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EgressBody")
    }
}

impl EgressBody {
    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// [`EgressError::Broken`] if the connection ends before the body does.
    pub async fn next(&mut self) -> Result<Option<Bytes>, EgressError> {
        loop {
            let mut frame = std::pin::pin!(self.body.frame());
            let frame = match self.connection.as_mut() {
                None => frame.await,
                Some(connection) => tokio::select! {
                    biased;
                    frame = &mut frame => frame,
                    _ = connection => {
                        self.connection = None;
                        frame.await
                    }
                },
            };
            match frame {
                None => return Ok(None),
                // Trailers say nothing that is asked for.
                Some(frame) => match frame.map_err(|_| EgressError::Broken)?.into_data() {
                    Ok(data) => return Ok(Some(data)),
                    Err(_) => continue,
                },
            }
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// [`EgressError::Broken`] also if there are more bytes than that.
    pub async fn whole(&mut self, bytes_max: usize) -> Result<Bytes, EgressError> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            if whole.len() + bytes.len() > bytes_max {
                return Err(EgressError::Broken);
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole.into())
    }
}

/// One request and the head of its answer.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<EgressBody>, EgressError> {
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|_| EgressError::Broken)?;
    let mut connection: Option<Connection> = Some(Box::pin(connection));
    let mut sent = std::pin::pin!(sender.send_request(request));
    let answer = match connection.as_mut() {
        None => sent.await,
        Some(running) => tokio::select! {
            biased;
            answer = &mut sent => answer,
            _ = running => {
                connection = None;
                sent.await
            }
        },
    };
    let (parts, body) = answer.map_err(|_| EgressError::Broken)?.into_parts();
    Ok(Response::from_parts(parts, EgressBody { body, connection }))
}

async fn within<T>(time: Duration, work: impl Future<Output = Result<T, EgressError>>) -> Result<T, EgressError> {
    tokio::time::timeout(time, work).await.unwrap_or(Err(EgressError::TimedOut))
}

/// Who is called, and how.
struct Target {
    host: String,
    port: u16,
    is_tls: bool,
}

fn target(uri: &Uri) -> Result<Target, EgressError> {
    let is_tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(EgressError::Unusable),
    };
    let host = uri.host().ok_or(EgressError::Unusable)?.trim_start_matches('[').trim_end_matches(']');
    Ok(Target { host: host.to_owned(), port: uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 }), is_tls })
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

    /// Speaks TLS with a certificate for this name, to one caller; its port, and the certificate of its authority.
    async fn speaking_tls(name: &str) -> (u16, String) {
        let mut authority = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority_key = rcgen::KeyPair::generate().unwrap();
        let authority_certificate = authority.self_signed(&authority_key).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let issuer = rcgen::Issuer::new(authority, authority_key);
        let certificate = rcgen::CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = tokio_rustls::TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return };
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.write_all(&request[..length]).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        (port, authority_certificate.pem())
    }

    #[tokio::test]
    async fn tls_needs_a_certificate_for_the_name_by_a_trusted_authority() {
        let egress = || Egress::new(|address| address.is_loopback());
        let (port, authority) = speaking_tls("localhost").await;
        let trusting = egress().trusting(authority.as_bytes()).unwrap();
        let answer = trusting.send(get(&format!("https://localhost:{port}/a")), SOON).await.unwrap();
        let request = String::from_utf8(answer.body().to_vec()).unwrap();
        assert!(request.starts_with("GET /a HTTP/1.1\r\n") && request.contains(&format!("host: localhost:{port}")));

        let (port, _) = speaking_tls("localhost").await;
        let outcome = egress().send(get(&format!("https://localhost:{port}/")), SOON).await;
        assert_eq!(outcome.err(), Some(EgressError::Untrusted), "an authority nobody knows");
        let (port, authority) = speaking_tls("elsewhere.example").await;
        let trusting = egress().trusting(authority.as_bytes()).unwrap();
        let outcome = trusting.send(get(&format!("https://localhost:{port}/")), SOON).await;
        assert_eq!(outcome.err(), Some(EgressError::Untrusted), "another's certificate");
        let (address, _served) = answering(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()).await;
        let outcome = egress().send(get(&format!("https://{address}/")), SOON).await;
        assert_eq!(outcome.err(), Some(EgressError::Untrusted), "no TLS at all");
        let forbidding = Egress::new(|_| false);
        let outcome = forbidding.send(get(&format!("https://localhost:{port}/")), SOON).await;
        assert_eq!(outcome.err(), Some(EgressError::Forbidden));

        for nonsense in ["", "nothing", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"] {
            assert!(egress().trusting(nonsense.as_bytes()).is_err(), "{nonsense}");
        }
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
    async fn a_body_arrives_in_parts_and_its_end_is_told_from_a_cut() {
        let egress = Egress::new(|address| address.is_loopback());
        let all = |answer: &'static [u8]| async {
            let (address, _served) = answering(answer.to_vec()).await;
            let mut body = egress.open(get(&format!("http://{address}/"))).await.unwrap().into_body();
            let mut seen = Vec::new();
            loop {
                match body.next().await {
                    Ok(Some(bytes)) => seen.extend_from_slice(&bytes),
                    Ok(None) => return (seen, None),
                    Err(error) => return (seen, Some(error)),
                }
            }
        };
        let whole = all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
        assert_eq!(whole, (b"hello".to_vec(), None));
        let chunked =
            all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n").await;
        assert_eq!(chunked, (b"hello".to_vec(), None));
        let cut = all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe").await;
        assert_eq!(cut, (b"he".to_vec(), Some(EgressError::Broken)), "what had come is not lost");
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
        for uri in ["/relative", "ftp://127.0.0.1/"] {
            assert_eq!(egress.send(get(uri), SOON).await.err(), Some(EgressError::Unusable), "{uri}");
        }
        assert_eq!(egress.send(get("http://1.1.1.1/"), SOON).await.err(), Some(EgressError::Plain));
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
