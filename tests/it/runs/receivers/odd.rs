//! A receiver that does to each connection what it is told to: it may answer, or not, or half, or what is none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection, encrypted or not.
pub trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

/// What is done to a connection; it is closed afterwards. The number says which one it is, from 1 on.
pub type Behaviour = fn(&mut dyn Wire, usize) -> std::io::Result<()>;

/// The receiver. Its threads end with the process.
pub struct Odd {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Odd {
    /// One at this address, port 0 for any.
    pub fn start(at: &str, behaviour: Behaviour, tls: Option<Arc<ServerConfig>>) -> Odd {
        let listener = TcpListener::bind(at).unwrap();
        let address = listener.local_addr().unwrap();
        let connections: Arc<AtomicUsize> = Arc::default();
        let shared = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let number = shared.fetch_add(1, Ordering::SeqCst) + 1;
                let tls = tls.clone();
                std::thread::spawn(move || serve(stream, number, behaviour, tls));
            }
        });
        Odd { address, connections }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Connections that were made to it.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, number: usize, behaviour: Behaviour, tls: Option<Arc<ServerConfig>>) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // What the other side does not like to hear ends the connection; that is its right.
    let _ = match tls {
        None => behaviour(&mut stream, number),
        Some(config) => {
            let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
            let done = behaviour(&mut stream, number);
            stream.conn.send_close_notify();
            done.and_then(|()| stream.flush())
        }
    };
}

/// Reads a request to its end; its head in lower case.
pub fn read(wire: &mut dyn Wire) -> std::io::Result<String> {
    let head = read_head(wire)?;
    let length = field(&head, "content-length").parse().unwrap_or(0);
    wire.read_exact(&mut vec![0; length])?;
    Ok(head)
}

/// Reads the head of a request.
pub fn read_head(wire: &mut dyn Wire) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        wire.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).to_ascii_lowercase())
}

/// A field of a head; empty if there is none.
pub fn field<'a>(head: &'a str, name: &str) -> &'a str {
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.filter(|(known, _)| *known == name).map(|(_, value)| value).next().unwrap_or_default()
}

/// Answers with this status and this field.
pub fn answer(wire: &mut dyn Wire, status: u16, field: &str) -> std::io::Result<()> {
    let field = if field.is_empty() { String::new() } else { format!("{field}\r\n") };
    wire.write_all(format!("HTTP/1.1 {status} x\r\n{field}content-length: 0\r\nconnection: close\r\n\r\n").as_bytes())?;
    wire.flush()
}
