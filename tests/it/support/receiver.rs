//! A receiver of webhooks: an HTTP server on loopback that answers with the status that the path begins with, and
//! remembers what it was sent.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data_encoding::{BASE64, HEXLOWER};
use quintet_platform::deliveries::hmac_sha256;
use serde_json::{Value, json};

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    pub path: String,
    head: Vec<(String, String)>,
    pub raw: Vec<u8>,
}

impl Arrived {
    /// A field of its head; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.head.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Its body.
    pub fn body(&self) -> Value {
        serde_json::from_slice(&self.raw).unwrap()
    }
}

/// Whether a request is signed with this key, in the contract's way and in that of Standard Webhooks.
pub fn is_signed(arrived: &Arrived, key: &[u8]) -> bool {
    let (timestamp, event_id) = (arrived.header("x-svc-timestamp"), arrived.header("x-svc-event-id"));
    let own = hmac_sha256(key, &[timestamp.as_bytes(), b".", &arrived.raw]);
    let parts: [&[u8]; 5] = [event_id.as_bytes(), b".", timestamp.as_bytes(), b".", &arrived.raw];
    let standard = format!("v1,{}", BASE64.encode(&hmac_sha256(key, &parts)));
    arrived.header("x-svc-signature") == format!("sha256={}", HEXLOWER.encode(&own))
        && arrived.header("webhook-signature") == standard
        && (arrived.header("webhook-id"), arrived.header("webhook-timestamp")) == (event_id, timestamp)
}

/// The receiver. Its threads end with the process.
pub struct Receiver {
    address: std::net::SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Receiver {
    pub fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let arrived: Arc<Mutex<Vec<Arrived>>> = Arc::default();
        let shared = Arc::clone(&arrived);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Receiver { address, arrived }
    }

    /// An address at which it answers with this status.
    pub fn url(&self, status: u16, name: &str) -> String {
        format!("http://{}/{status}/{name}", self.address)
    }

    /// What has arrived at addresses of this name.
    pub fn at(&self, name: &str) -> Vec<Arrived> {
        let end = format!("/{name}");
        self.arrived.lock().unwrap().iter().filter(|one| one.path.ends_with(&end)).cloned().collect()
    }

    /// Waits until so many have arrived there.
    #[track_caller]
    pub fn wait(&self, name: &str, count: usize) -> Vec<Arrived> {
        let began = Instant::now();
        while self.at(name).len() < count {
            assert!(began.elapsed() < Duration::from_secs(60), "{} of {count} arrived at {name}", self.at(name).len());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.at(name)
    }
}

fn serve(stream: TcpStream, all: &Mutex<Vec<Arrived>>) -> std::io::Result<()> {
    let (mut reader, mut stream) = (BufReader::new(stream.try_clone()?), stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            head.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length =
            head.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
        let mut raw = vec![0; length];
        reader.read_exact(&mut raw)?;
        let status = path.split('/').nth(1).unwrap_or("204").to_owned();
        all.lock().unwrap().push(Arrived { path, head, raw });
        stream.write_all(format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n").as_bytes())?;
    }
}

/// One request over plain HTTP: its head as it came, and its body. `None`: whoever asks has left in the middle.
pub fn heard(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Endpoints that no service takes, and the member that is wrong.
pub fn wrong_endpoints(url: &str) -> Vec<(Value, &'static str)> {
    vec![
        (json!({"events": ["*"]}), "url"),
        (json!({"url": 5, "events": ["*"]}), "url"),
        (json!({"url": url}), "events"),
        (json!({"url": url, "events": []}), "events"),
        (json!({"url": url, "events": null}), "events"),
        (json!({"url": url, "events": "*"}), "events"),
        (json!({"url": url, "events": vec!["*"; 65]}), "events"),
        (json!({"url": url, "events": ["webhook.test"]}), "events"),
        (json!({"url": url, "events": ["timer.fired"]}), "events"),
        (json!({"url": url, "events": [{"a": 1}]}), "events"),
        (json!({"url": url, "events": ["*"], "secret": ""}), "secret"),
        (json!({"url": url, "events": ["*"], "secret": "s".repeat(257)}), "secret"),
        (json!({"url": url, "events": ["*"], "description": "d".repeat(257)}), "description"),
        (json!({"url": url, "events": ["*"], "active": 1}), "active"),
    ]
}

/// Addresses that nothing is sent to, whoever wants it.
pub const WRONG_URLS: [&str; 12] = [
    "ftp://example.com/",
    "example.com",
    "https://user:pw@example.com/",
    "https://10.1.2.3/",
    "https://169.254.169.254/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://[::ffff:10.0.0.1]/",
    "https://ex\u{e4}mple.com/",
    "https://example.com:0/",
    "http://example.com/",
    "",
];
