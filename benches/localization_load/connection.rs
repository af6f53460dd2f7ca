//! Connections with as little work as possible.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::server::Server;

/// A connection that is kept open.
pub struct Connection {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub async fn open(server: &Server) -> Connection {
        let stream = TcpStream::connect(&server.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let Server { tenant_id, api_key, .. } = server;
        let head = format!("Host: l10n\r\nAuthorization: Bearer {api_key}\r\nL10n-Tenant: {tenant_id}\r\n");
        Connection { stream, head, buffer: Vec::new() }
    }

    /// Sends something and expects to succeed; the body of the answer.
    pub async fn call(&mut self, method: &str, path: &str, media_type: &str, body: &str) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut request = format!("{method} {path} HTTP/1.1\r\n{}", self.head);
        if method != "GET" {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            write!(request, "Content-Type: {media_type}\r\nIdempotency-Key: client-{number}\r\n").unwrap();
            write!(request, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let (status, answer) = self.receive().await;
        assert!(status < 300, "{method} {path}: {answer}");
        answer
    }

    async fn receive(&mut self) -> (u16, String) {
        let end = loop {
            if let Some(place) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break place;
            }
            self.fill().await;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
        self.buffer.drain(..end + 4);
        let status = head[9..12].parse().unwrap();
        if head.contains("transfer-encoding: chunked") {
            return (status, self.chunks().await);
        }
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
        (status, self.take(length).await)
    }

    async fn chunks(&mut self) -> String {
        let mut body = String::new();
        loop {
            let end = loop {
                match self.buffer.windows(2).position(|two| two == b"\r\n") {
                    Some(place) => break place,
                    None => self.fill().await,
                }
            };
            let length = self.take(end + 2).await;
            let length = usize::from_str_radix(length.trim(), 16).unwrap();
            body.push_str(self.take(length + 2).await.strip_suffix("\r\n").unwrap());
            if length == 0 {
                return body;
            }
        }
    }

    async fn take(&mut self, length: usize) -> String {
        while self.buffer.len() < length {
            self.fill().await;
        }
        String::from_utf8(self.buffer.drain(..length).collect()).unwrap()
    }

    async fn fill(&mut self) {
        let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert!(count > 0, "the server closed the connection");
    }
}
