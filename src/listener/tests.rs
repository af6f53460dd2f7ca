//! The listener with a service of a few words, plain and encrypted.

use std::time::Instant;

use axum::response::IntoResponse;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::*;
use crate::testing::{Authority, tls_of};

async fn break_down() -> Response {
    panic!("a bug")
}

/// Sends bytes to a site on one connection and reads what comes back until it is closed.
async fn exchange(request: &[u8]) -> String {
    let router =
        Router::new().route("/", axum::routing::get(async || "fine")).route("/bug", axum::routing::get(break_down));
    let refuse: Refuse = |_, extensions| {
        let request_id = extensions.get::<RequestId>().map_or("nobody", RequestId::as_str);
        (http::StatusCode::INTERNAL_SERVER_ERROR, format!("own words to {request_id}")).into_response()
    };
    let head_timeout = Duration::from_millis(200);
    let site = Site { head_timeout, ..Site::new("test", router, refuse) };
    let (mut client, server) = tokio::io::duplex(1 << 20);
    let permit = Connections::new(Capacity::USUAL, 1).enter().await.unwrap();
    let (_stop, stopping) = watch::channel(false);
    let activity = Activity::default();
    let server = Progressing::new(server, head_timeout, activity.clone());
    tokio::spawn(serve_connection(server, activity, site, None, permit, stopping));
    client.write_all(request).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_panic_answers_in_the_services_own_words_and_spares_the_connection() {
    let requests = [
        "GET /bug HTTP/1.1\r\nhost: x\r\nx-request-id: mine\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    ];
    let answer = exchange(requests.concat().as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(answer.contains("x-request-id: mine") && answer.contains("own words to mine"), "{answer}");
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

/// What a listener with so many places says on TLS, by an authority; its address.
async fn encrypted(authority: &Authority, places: u32) -> (SocketAddr, watch::Sender<bool>) {
    let router = Router::new()
        .route(
            "/",
            axum::routing::get(async |request: Request<Body>| {
                quintet_platform::http::origin::scheme(request.extensions()).to_owned()
            }),
        )
        .route("/bug", axum::routing::get(break_down));
    let refuse: Refuse = |_, _| (http::StatusCode::INTERNAL_SERVER_ERROR, "own words").into_response();
    let loopback = Network::parse("127.0.0.0/8").unwrap();
    let trusted_proxies = Arc::from([loopback]);
    let site = Site { trusted_proxies, head_timeout: Duration::from_secs(2), ..Site::new("test", router, refuse) };
    let directory = tempfile::tempdir().unwrap();
    let tls = tls_of(&authority.issue("localhost", 2099).put(directory.path())).unwrap();
    let (stop, stopping) = watch::channel(false);
    let address = "127.0.0.1:0".parse().unwrap();
    let listening = Listening::start(site, address, places, Some(tls), stopping).await.unwrap();
    assert!(listening.is_encrypted);
    (listening.address, stop)
}

/// Sends bytes over TLS and reads what comes back.
async fn exchange_encrypted(address: SocketAddr, config: rustls::ClientConfig, request: &[u8]) -> io::Result<String> {
    #[expect(clippy::disallowed_methods, reason = "a test's own connection to itself")]
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    stream.write_all(request).await?;
    let mut answer = String::new();
    // Also that the end is a proper one: without a close_notify this fails.
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

const CLOSING: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

#[expect(clippy::disallowed_methods, reason = "a test's own connection to itself")]
async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

#[tokio::test]
async fn answers_are_encrypted_and_say_so() {
    let authority = Authority::new();
    let (address, _stop) = encrypted(&authority, 8).await;
    let answer = exchange_encrypted(address, authority.client(), CLOSING).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");
    assert!(answer.ends_with("https"), "{answer}");
    let bug = b"GET /bug HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answer = exchange_encrypted(address, authority.client(), bug).await.unwrap();
    assert!(answer.contains("own words") && answer.contains("strict-transport-security"), "{answer}");
    // A request that the parser itself refuses.
    let answer = exchange_encrypted(address, authority.client(), b"NONSENSE\r\n\r\n").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let plain = exchange(CLOSING).await;
    assert!(!plain.contains("strict-transport-security"), "{plain}");
}

#[tokio::test]
async fn versions_and_protocols_are_agreed_on() {
    let authority = Authority::new();
    let (address, _stop) = encrypted(&authority, 8).await;
    let with = |versions: &[&'static rustls::SupportedProtocolVersion], protocols: &[&[u8]]| {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        config
    };
    for versions in [&[&rustls::version::TLS12], &[&rustls::version::TLS13]] {
        for protocols in [&[][..], &[b"http/1.1".as_slice()], &[b"h2", b"http/1.1"]] {
            let answer = exchange_encrypted(address, with(versions, protocols), CLOSING).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{versions:?} {protocols:?}: {answer}");
        }
    }
    let only_h2 = with(&[&rustls::version::TLS13], &[b"h2"]);
    let refused = exchange_encrypted(address, only_h2, CLOSING).await.unwrap_err();
    assert!(refused.to_string().contains("NoApplicationProtocol"), "{refused}");
    let stranger = Authority::new();
    assert!(exchange_encrypted(address, stranger.client(), CLOSING).await.is_err());
}

#[tokio::test]
async fn plain_http_on_an_encrypted_port_is_told_what_to_do() {
    let authority = Authority::new();
    let (address, _stop) = encrypted(&authority, 8).await;
    // More than fits into one read: the answer must survive what was not read.
    let long = [b"POST / HTTP/1.1\r\nhost: x\r\n\r\n".as_slice(), &vec![b'x'; 1 << 20]].concat();
    for request in [CLOSING, &long] {
        let mut stream = connect(address).await;
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        stream.shutdown().await.unwrap();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(answer.contains("use https://"), "{answer}");
    }
    for nonsense in [b"\x00\x01\x02".as_slice(), b"\x80\x2e\x01", b"get / HTTP/1.1\r\n\r\n", b""] {
        let mut stream = connect(address).await;
        stream.write_all(nonsense).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert_eq!(answer, b"", "{nonsense:?}");
    }
}

#[tokio::test]
async fn slow_handshakes_hold_no_place() {
    let authority = Authority::new();
    let (address, _stop) = encrypted(&authority, 4).await;
    let mut slow = Vec::new();
    for number in 0..100 {
        let mut stream = connect(address).await;
        // Some say nothing, some begin.
        if number % 2 == 0 {
            stream.write_all(b"\x16\x03\x01\x02\x00\x01").await.unwrap();
        }
        slow.push(stream);
    }
    let begun = Instant::now();
    for _ in 0..8 {
        let answer = exchange_encrypted(address, authority.client(), CLOSING).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // All but the newest were closed to make room.
    let mut closed = 0;
    for mut stream in slow {
        let read = tokio::time::timeout(Duration::from_millis(20), stream.read(&mut [0; 64])).await;
        closed += usize::from(read.is_ok());
    }
    assert!(closed >= 98, "{closed}");
}

#[tokio::test]
async fn handshakes_have_an_end() {
    let authority = Authority::new();
    let (address, stop) = encrypted(&authority, 8).await;
    let mut silent = connect(address).await;
    let mut begun = connect(address).await;
    begun.write_all(b"\x16\x03\x01\x02\x00\x01").await.unwrap();
    let answer = exchange_encrypted(address, authority.client(), CLOSING).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A stop does not wait for those that have not come to an end.
    stop.send_replace(true);
    for stream in [&mut silent, &mut begun] {
        let ended = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut [0; 64])).await;
        assert!(ended.is_ok(), "it is still open");
    }
}

#[tokio::test]
async fn an_encrypted_caller_who_never_reads_does_not_stay() {
    let authority = Authority::new();
    let (address, _stop) = encrypted(&authority, 1).await;
    let stream = connect(address).await;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(authority.client())).connect(name, stream).await.unwrap();
    // Requests whose answers nobody reads, until the connection takes no more.
    let request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_000);
    while let Ok(Ok(())) = tokio::time::timeout(Duration::from_millis(500), stream.write_all(&request)).await {}
    let begun = Instant::now();
    let answer = exchange_encrypted(address, authority.client(), CLOSING).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

/// A site whose one route tells whether a stream would learn what arrives.
fn watching(taking_timeout: Option<Duration>) -> Site {
    let told = async |request: Request<Body>| match request.extensions().get::<Outgoing>() {
        Some(outgoing) if outgoing.taken_at().elapsed() < Duration::from_secs(20) => "watched",
        Some(_) => "watched, and nothing arrives",
        None => "unwatched",
    };
    let refuse: Refuse = |_, _| http::StatusCode::INTERNAL_SERVER_ERROR.into_response();
    Site { taking_timeout, ..Site::new("test", Router::new().route("/", axum::routing::get(told)), refuse) }
}

#[tokio::test]
async fn sites_that_ask_learn_what_arrives_plain_and_encrypted() {
    let authority = Authority::new();
    let directory = tempfile::tempdir().unwrap();
    let tls = tls_of(&authority.issue("localhost", 2099).put(directory.path())).unwrap();
    let (_stop, stopping) = watch::channel(false);
    for (taking_timeout, told) in [(Some(Duration::from_secs(60)), "watched"), (None, "unwatched")] {
        let address = "127.0.0.1:0".parse().unwrap();
        let start = |tls| Listening::start(watching(taking_timeout), address, 8, tls, stopping.clone());
        let (plain, encrypted) = (start(None).await.unwrap(), start(Some(tls.clone())).await.unwrap());
        let mut stream = connect(plain.address).await;
        stream.write_all(CLOSING).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with(&format!("\r\n{told}")), "{answer}");
        let answer = exchange_encrypted(encrypted.address, authority.client(), CLOSING).await.unwrap();
        assert!(answer.ends_with(&format!("\r\n{told}")), "{answer}");
    }
}

/// Says when it is dropped.
struct Farewell(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// The kernel's own time: this cannot be rehearsed, so it is short here.
#[tokio::test]
async fn a_stream_to_a_caller_who_takes_nothing_ends_when_the_site_says() {
    let (sender, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let stream = move || {
        let farewell = Farewell(sender.clone());
        let pieces = futures_util::stream::unfold(farewell, |farewell| async move {
            Some((Ok::<_, Infallible>(bytes::Bytes::from_static(&[b'x'; 64 << 10])), farewell))
        });
        std::future::ready(Body::from_stream(pieces))
    };
    let refuse: Refuse = |_, _| http::StatusCode::INTERNAL_SERVER_ERROR.into_response();
    let router = Router::new().route("/", axum::routing::get(stream));
    let taking_timeout = Some(Duration::from_millis(300));
    let site = Site { taking_timeout, ..Site::new("test", router, refuse) };
    let (_stop, stopping) = watch::channel(false);
    let listening = Listening::start(site, "127.0.0.1:0".parse().unwrap(), 8, None, stopping).await.unwrap();
    let mut silent = connect(listening.address).await;
    silent.write_all(CLOSING).await.unwrap();
    // Long before the listener would give up a write by itself.
    tokio::time::timeout(HEAD_TIMEOUT / 2, ended.recv()).await.expect("it goes on").unwrap();
}

/// What a task holds for as long as its connection lasts, thousands of which may wait for something to be said.
#[tokio::test]
async fn what_lasts_as_long_as_a_connection_is_small() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let _client = connect(listener.local_addr().unwrap()).await;
    let (stream, address) = listener.accept().await.unwrap();
    let site = watching(Some(Duration::from_secs(60)));
    let (_stop, stopping) = watch::channel(false);
    let permit = Connections::new(Capacity::USUAL, 1).enter().await.unwrap();
    let stream = Accepted::new(stream, site.taking_timeout);
    let plain = serve_plain(stream, site.clone(), address, permit, stopping);
    assert!(size_of_val(&plain) < 2_048, "{}", size_of_val(&plain));
    assert!(size_of::<Encrypted>() < 64, "{}", size_of::<Encrypted>());
    let encrypted = |encrypted, stopping| serve_encrypted(encrypted, site.clone(), address, stopping);
    let bytes = size_of_result(&encrypted);
    assert!(bytes < 2_048, "{bytes}");
}

/// The size of what a function would make.
fn size_of_result<A, B, T>(_: &impl Fn(A, B) -> T) -> usize {
    size_of::<T>()
}

/// A connection from an address of this machine.
async fn connect_from(source: &str, address: SocketAddr) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(format!("{source}:0").parse().unwrap()).unwrap();
    socket.connect(address).await.unwrap()
}

/// Sends a request and reads the beginning of its answer; empty if the connection was closed.
async fn begin(stream: &mut TcpStream) -> String {
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut head = [0; 12];
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut head)).await.expect("not answered");
    String::from_utf8_lossy(&head[..read.unwrap_or_default()]).into_owned()
}

#[tokio::test]
async fn streams_of_one_host_have_the_part_that_the_site_says_and_others_the_rest() {
    let stream = async || Body::from_stream(futures_util::stream::pending::<Result<bytes::Bytes, Infallible>>());
    let refuse: Refuse = |_, _| http::StatusCode::INTERNAL_SERVER_ERROR.into_response();
    let capacity = Capacity { ceiling: 100, ..Capacity::STREAMS };
    let site = Site { capacity, ..Site::new("test", Router::new().route("/", axum::routing::get(stream)), refuse) };
    let (_stop, stopping) = watch::channel(false);
    let started = Listening::start(site, "127.0.0.1:0".parse().unwrap(), 16_384, None, stopping);
    let address = started.await.unwrap().address;
    let mut open = Vec::new();
    for _ in 0..50 {
        let mut stream = connect_from("127.0.0.2", address).await;
        assert_eq!(begin(&mut stream).await, "HTTP/1.1 200");
        open.push(stream);
    }
    assert_eq!(begin(&mut connect_from("127.0.0.2", address).await).await, "", "one more of them");
    let mut other = connect_from("127.0.0.3", address).await;
    assert_eq!(begin(&mut other).await, "HTTP/1.1 200");
    // Whose streams end may open others.
    open.truncate(10);
    let begun = Instant::now();
    while begin(&mut connect_from("127.0.0.2", address).await).await.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing was given back");
    }
}
