//! Calls to servers on this machine, which count their connections.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

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

#[tokio::test]
async fn answers_come_back_whole() {
    let (address, served) = answering(b"HTTP/1.1 418 x\r\ncontent-length: 5\r\n\r\nhello".to_vec()).await;
    let egress = Egress::new(|address| address.is_loopback());
    let answer = egress.send(get(&format!("http://{address}/a?b=c")), SOON).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.body().as_ref()), (418, b"hello".as_slice()));
    let request = served.await.unwrap();
    assert!(request.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("host: {address}\r\n")), "{request}");
    let outcome = egress.send(get(&format!("http://user:pass@{address}/")), SOON).await;
    assert_eq!(outcome.err(), Some(EgressError::Unusable), "names and passwords are for header fields");
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
    let chunked = all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n").await;
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

/// Answers any number of requests on any number of connections, and closes each after so many; its address, and the number
/// of the connection on which each request came.
async fn answering_many(requests_each: usize) -> (SocketAddr, Arc<Mutex<Vec<usize>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    tokio::spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                for _ in 0..requests_each {
                    let mut request = vec![0; 4096];
                    if stream.read(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                    noted.lock().unwrap().push(number);
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
                }
            });
        }
    });
    (address, seen)
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request_to_the_same_place() {
    let egress = Egress::new(|address| address.is_loopback());
    let (address, seen) = answering_many(usize::MAX).await;
    for _ in 0..5 {
        let answer = egress.send(get(&format!("http://{address}/")), SOON).await.unwrap();
        assert_eq!(answer.body().as_ref(), b"ok");
    }
    assert_eq!(*seen.lock().unwrap(), [0; 5]);
    // Another name of it is another place, though the address is the same.
    egress.send(get(&format!("http://localhost:{}/", address.port())), SOON).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [0, 0, 0, 0, 0, 1]);
    // An answer that nobody reads to its end is the connection's last.
    let unread = egress.open(get(&format!("http://{address}/"))).await.unwrap();
    drop(unread);
    egress.send(get(&format!("http://{address}/")), SOON).await.unwrap();
    assert_eq!(seen.lock().unwrap().last(), Some(&2));
}

#[tokio::test]
async fn a_kept_connection_is_of_no_use_once_its_peer_is_not_allowed() {
    let is_allowed = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&is_allowed);
    let egress = Egress::new(move |_| asked.load(Ordering::Relaxed));
    let (address, seen) = answering_many(usize::MAX).await;
    egress.send(get(&format!("http://{address}/")), SOON).await.unwrap();
    is_allowed.store(false, Ordering::Relaxed);
    let outcome = egress.send(get(&format!("http://{address}/")), SOON).await;
    assert_eq!(outcome.err(), Some(EgressError::Forbidden));
    assert_eq!(seen.lock().unwrap().len(), 1, "each request is vetted anew");
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_replaced() {
    let egress = Egress::new(|address| address.is_loopback());
    let (address, seen) = answering_many(1).await;
    for _ in 0..20 {
        egress.send(get(&format!("http://{address}/")), SOON).await.unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

/// One that is there and answers nonsense has read the request: it does not get it once more on another connection.
#[tokio::test]
async fn a_kept_connection_that_is_answered_badly_is_not_replaced() {
    let egress = Egress::new(|address| address.is_loopback());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    tokio::spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answer in ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "NONSENSE\r\n\r\n"] {
                let mut request = vec![0; 4096];
                if stream.read(&mut request).await.unwrap_or(0) == 0 {
                    break;
                }
                noted.lock().unwrap().push(number);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    });
    egress.send(get(&uri), SOON).await.unwrap();
    assert_eq!(egress.send(get(&uri), SOON).await.err(), Some(EgressError::Broken));
    assert_eq!(*seen.lock().unwrap(), [0, 0], "once");
}

#[tokio::test]
async fn what_must_not_be_sent_twice_has_a_connection_of_its_own() {
    let egress = Egress::new(|address| address.is_loopback());
    let (address, seen) = answering_many(usize::MAX).await;
    let uri = format!("http://{address}/");
    let post = || Request::post(&uri).body(Bytes::new()).unwrap();
    egress.send(get(&uri), SOON).await.unwrap();
    egress.send(post(), SOON).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [0, 1], "the kept one may be about to close");
    let mut repeatable = post();
    repeatable.extensions_mut().insert(Repeatable);
    egress.send(repeatable, SOON).await.unwrap();
    assert_eq!(seen.lock().unwrap().len(), 3);
    assert!(*seen.lock().unwrap().last().unwrap() < 2);
}

/// One that nobody has used for ten seconds goes, whether or not somebody asks for it.
#[tokio::test]
async fn a_connection_that_is_idle_too_long_is_closed() {
    let egress = Egress::new(|address| address.is_loopback());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    // What became of each connection once its request was answered.
    let (closed, mut ends) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let closed = closed.clone();
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                while stream.read(&mut request).await.unwrap_or(0) > 0 {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
                }
                closed.send(number).unwrap();
            });
        }
    });
    egress.send(get(&uri), SOON).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(kept::IDLE_TIME - Duration::from_secs(1)).await;
    tokio::time::resume();
    egress.send(get(&uri), SOON).await.unwrap();
    assert!(ends.try_recv().is_err(), "it was there still, and its time begins anew");
    tokio::time::pause();
    tokio::time::advance(kept::IDLE_TIME - Duration::from_secs(1)).await;
    assert_eq!(egress.kept.count(), 1, "it is kept for all of its time");
    // Nobody asks for it any more.
    assert_eq!(ends.recv().await, Some(0));
    assert_eq!(egress.kept.count(), 0);
    tokio::time::resume();
    egress.send(get(&uri), SOON).await.unwrap();
    assert_eq!(egress.kept.count(), 1, "another is kept in its place");
}

#[tokio::test]
async fn few_connections_are_kept() {
    let egress = Egress::new(|address| address.is_loopback());
    let (address, seen) = answering_many(usize::MAX).await;
    let uri = format!("http://{address}/");
    let mut answers = Vec::new();
    for _ in 0..9 {
        answers.push(egress.open(get(&uri)).await.unwrap());
    }
    for answer in answers {
        assert_eq!(answer.into_body().whole(9).await.unwrap().as_ref(), b"ok");
    }
    let mut answers = Vec::new();
    for _ in 0..9 {
        answers.push(egress.open(get(&uri)).await.unwrap());
    }
    let numbers: std::collections::BTreeSet<usize> = seen.lock().unwrap().iter().copied().collect();
    assert_eq!(numbers.len(), 9 + 5, "four of the nine were kept");
}

#[tokio::test]
async fn on_the_public_internet_one_port_may_be_all_there_is() {
    let egress = Egress::new(|address| address.is_loopback());
    let port = Some(PublicPort(443));
    let party = Party::OPERATOR;
    let vetted = async |uri: &str, port| egress.vet_at(&uri.parse().unwrap(), party, port).await;
    assert_eq!(vetted("https://1.1.1.1/", port).await, Ok(()));
    assert_eq!(vetted("https://1.1.1.1:8443/", None).await, Ok(()));
    assert_eq!(vetted("https://1.1.1.1:8443/", port).await, Err(EgressError::WrongPort));
    assert_eq!(vetted("https://127.0.0.1:8443/", port).await, Ok(()), "an allowed network has all of its ports");
    assert_eq!(vetted("https://nowhere.invalid/", port).await, Ok(()), "it is vetted again when it resolves");
    assert_eq!(vetted("https://nowhere.invalid:8443/", port).await, Err(EgressError::WrongPort));
    let mut request = get("https://1.1.1.1:8443/");
    request.extensions_mut().insert(PublicPort(443));
    assert_eq!(egress.tell(request, SOON, SOON).await.err(), Some(EgressError::WrongPort), "at each attempt");
}

/// Answers for one host, and says what it was asked.
struct House;

impl Inside for House {
    fn takes(&self, uri: &Uri) -> bool {
        uri.host() == Some("house.invalid")
    }

    fn answer(&self, request: Request<Bytes>) -> crate::clock::BoxFuture<'static, Response<()>> {
        Box::pin(async move {
            if request.body().is_empty() {
                std::future::pending::<()>().await;
            }
            Response::builder().status(202).body(()).unwrap()
        })
    }
}

#[tokio::test]
async fn what_is_told_within_needs_no_socket_and_no_leave() {
    let egress = Egress::new(|_| false);
    let before = egress.clone();
    let uri: Uri = "http://house.invalid/in/x".parse().unwrap();
    assert_eq!(egress.vet(&uri, Party::OPERATOR).await, Err(EgressError::Plain));
    egress.tie(Arc::new(House));
    assert!(before.is_inside(&uri) && !before.is_inside(&"http://elsewhere.invalid/".parse().unwrap()));
    assert_eq!(before.vet(&uri, Party::OPERATOR).await, Ok(()));
    let tell = |body: &'static str, time| {
        let request = Request::post("http://house.invalid/in/x").body(Bytes::from(body)).unwrap();
        before.tell(request, time, time)
    };
    assert_eq!(tell("x", SOON).await.unwrap().status().as_u16(), 202);
    let slow = tell("", Duration::from_millis(20)).await;
    assert_eq!(slow.err(), Some(EgressError::TimedOut), "it has as long as others");
    assert_eq!(before.send(get("http://house.invalid/"), SOON).await.err(), Some(EgressError::Unresolved));
}

#[tokio::test]
async fn a_place_of_the_operator_is_reached_in_any_network() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let egress = Egress::new(|_| false);
    let port = listener.local_addr().unwrap().port();
    let time = Duration::from_secs(20);
    assert!(egress.dial(&Place { host: "localhost".to_owned(), port }, time).await.is_ok());
    let nobody = egress.dial(&Place { host: "127.0.0.9".to_owned(), port }, time).await;
    assert_eq!(nobody.unwrap_err(), EgressError::Broken);
    let unknown = egress.dial(&Place { host: "no-such-name.invalid".to_owned(), port }, time).await;
    assert_eq!(unknown.unwrap_err(), EgressError::Unresolved);
}
