//! Requests whose bodies are late.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::appliance::{Appliance, Client};

/// A request that was let in by its head, and waits for its body.
pub struct Late {
    stream: TcpStream,
    body: Vec<u8>,
}

impl Late {
    /// Sends the head, and waits until the body is asked for: whoever asks was let in.
    pub fn begin(
        appliance: &Appliance,
        service: &str,
        client: &Client,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Late {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             expect: 100-continue\r\ncontent-length: {}\r\n",
            client.api_key(),
            body.len()
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let mut stream = appliance.connect(service).unwrap();
        stream.write_all((head + "\r\n").as_bytes()).unwrap();
        let mut goes_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
        stream.read_exact(&mut goes_on).unwrap();
        assert!(goes_on.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&goes_on));
        Late { stream, body: body.to_vec() }
    }

    /// Sends the body; what was answered: the status, and all of it as text.
    pub fn end(mut self) -> (u16, String) {
        self.stream.write_all(&self.body).unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        (status, answer)
    }
}
