//! Calls to the appliance over connections that are kept open, with as little work as possible for what is measured.

use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::appliance::Appliance;

/// A tenant that may do as much as it likes.
#[derive(Clone)]
pub struct Tenant {
    id: String,
    address: String,
    api_key: String,
}

/// Something that is done over a connection; how long it took, in seconds.
pub type Done<'c, T = f64> = Pin<Box<dyn Future<Output = T> + Send + 'c>>;

impl Tenant {
    /// A new one.
    pub fn new(appliance: &Appliance, name: &str) -> Tenant {
        let id = appliance.command(&["tenant", "create", name])["tenant_id"].as_str().unwrap().to_owned();
        let quotas = ["--max-daily-runs", "1000000", "--max-concurrent-workflows", "1000"];
        let command = [&["tenant", "quota", id.as_str(), "--service", "runs"][..], &quotas].concat();
        appliance.command(&command);
        let api_key = appliance.command(&["key", "issue", "--tenant", &id])["api_key"].as_str().unwrap().to_owned();
        Tenant { id, address: appliance.address("runs").to_owned(), api_key }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Does something so many times, so many at once; how long each took.
    pub fn at_once<T: Clone + Send + 'static>(
        &self,
        count: usize,
        at_once: usize,
        once: impl for<'c> Fn(&'c mut Connection) -> Done<'c, T> + Send + Sync + 'static,
    ) -> Vec<T> {
        let (next, once) = (Arc::new(AtomicUsize::new(0)), Arc::new(once));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut all = tokio::task::JoinSet::new();
            for _ in 0..at_once {
                let (tenant, next, once) = (self.clone(), Arc::clone(&next), Arc::clone(&once));
                all.spawn(async move {
                    let mut connection = Connection::open(&tenant).await;
                    let mut took = Vec::new();
                    while next.fetch_add(1, Ordering::Relaxed) < count {
                        took.push(once(&mut connection).await);
                    }
                    took
                });
            }
            all.join_all().await.concat()
        })
    }
}

/// A connection that is kept open.
pub struct Connection {
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

    /// Posts something, or nothing, and expects to succeed.
    pub async fn post(&mut self, path: &str, body: &str) -> Value {
        let mut request = format!("POST {path} HTTP/1.1\r\n{}", self.head);
        if !body.is_empty() {
            request.push_str("Content-Type: application/json\r\n");
        }
        write!(request, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.call(&request).await
    }

    /// Gets something.
    pub async fn get(&mut self, path: &str) -> Value {
        let request = format!("GET {path} HTTP/1.1\r\n{}\r\n", self.head);
        self.call(&request).await
    }

    async fn call(&mut self, request: &str) -> Value {
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
