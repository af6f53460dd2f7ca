//! Calls to the appliance: connections with as little work as possible for what is measured, commands for the rest.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::appliance::Appliance;
use super::sink::micros_now;

/// How many connections submit at once.
const CONNECTIONS: usize = 16;

/// A tenant that submits runs which nobody starts.
#[derive(Clone)]
pub struct Tenant {
    address: String,
    api_key: String,
}

impl Tenant {
    /// A new one, that may do as much as it likes.
    pub fn new(appliance: &Appliance, name: &str) -> Tenant {
        let id = appliance.command(&["tenant", "create", name])["tenant_id"].as_str().unwrap().to_owned();
        appliance.command(&["tenant", "quota", &id, "--service", "runs", "--max-daily-runs", "1000000"]);
        let api_key = appliance.command(&["key", "issue", "--tenant", &id])["api_key"].as_str().unwrap().to_owned();
        Tenant { address: appliance.address("runs").to_owned(), api_key }
    }

    /// The same, at an appliance that was started anew.
    pub fn moved(self, appliance: &Appliance) -> Tenant {
        Tenant { address: appliance.address("runs").to_owned(), ..self }
    }

    /// An endpoint that hears of every run that is submitted.
    pub fn endpoint(&self, url: &str) {
        let body = json!({"url": url, "events": ["run.scheduled"]}).to_string();
        runtime().block_on(async { Connection::open(self).await.post("/api/v1/webhooks", &body).await });
    }

    /// Submits so many runs as fast as they are answered.
    pub fn submit(&self, count: usize) {
        self.submit_paced(count, None);
    }

    /// Submits so many runs, each when it is due: so many a second. Their ids, and when they were answered.
    pub fn submit_paced(&self, count: usize, per_second: Option<f64>) -> Vec<(String, i64)> {
        let (next, begun) = (Arc::new(AtomicUsize::new(0)), Instant::now());
        runtime().block_on(async {
            let mut all = tokio::task::JoinSet::new();
            for _ in 0..CONNECTIONS {
                let (tenant, next) = (self.clone(), Arc::clone(&next));
                all.spawn(async move {
                    let mut connection = Connection::open(&tenant).await;
                    let mut answered = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return answered;
                        }
                        if let Some(rate) = per_second {
                            let due = begun + Duration::from_secs_f64(number as f64 / rate);
                            tokio::time::sleep_until(due.into()).await;
                        }
                        let answer = connection.post("/api/v1/runs", RUN).await;
                        answered.push((answer["track_id"].as_str().unwrap().to_owned(), micros_now()));
                    }
                });
            }
            let all: Vec<Vec<(String, i64)>> = all.join_all().await;
            all.concat()
        })
    }
}

/// A run whose time has not come, which is an event without a container.
const RUN: &str = r#"{"image":"busybox","command":["true"],"name":"nightly report","tags":["bench","deliveries"],"env":{"TOKEN":"t"},"scheduled_start":"2099-01-01T00:00:00Z"}"#;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A connection that is kept open.
struct Connection {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(tenant: &Tenant) -> Connection {
        let stream = TcpStream::connect(&tenant.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!("Host: runs\r\nAuthorization: Bearer {}\r\n", tenant.api_key);
        Connection { stream, head, buffer: Vec::with_capacity(8192) }
    }

    /// Posts something and expects to succeed.
    async fn post(&mut self, path: &str, body: &str) -> Value {
        let mut request = format!("POST {path} HTTP/1.1\r\n{}Content-Type: application/json\r\n", self.head);
        write!(request, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.buffer.clear();
        loop {
            let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(count > 0, "the server closed the connection");
            let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap().trim();
            let body = &self.buffer[end + 4..];
            if body.len() == length.parse::<usize>().unwrap() {
                assert!(head.starts_with("http/1.1 20"), "{head}\n{}", String::from_utf8_lossy(body));
                return serde_json::from_slice(body).unwrap();
            }
        }
    }
}
