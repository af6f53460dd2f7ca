//! What TLS costs: requests a second over plain and over encrypted connections, kept open and new for each request.
//!
//! `cargo bench --bench tls [-- SECONDS]`: SECONDS for each of the four. Callers and appliance share the machine.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

const CALLERS: usize = 16;
const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn main() {
    let seconds = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(5);
    let directory = tempfile::tempdir_in(".").unwrap();
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    std::fs::write(&cert, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let client = Arc::new(client.with_root_certificates(roots).with_no_client_auth());

    println!("{:<12} {:>22} {:>22}", "", "kept open, requests/s", "new each, requests/s");
    for (name, tls) in [("plain", None), ("TLS 1.3", Some(&client))] {
        let data = directory.path().join(if tls.is_some() { "encrypted" } else { "plain" });
        let mut server = start(&data, tls.map(|_| (cert.as_path(), key.as_path())));
        let address = address(&data);
        let kept = measure(&address, tls, true, Duration::from_secs(seconds));
        let new = measure(&address, tls, false, Duration::from_secs(seconds));
        println!("{name:<12} {kept:>22} {new:>22}");
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

/// Starts the appliance and waits until its listeners are bound.
fn start(data: &Path, pair: Option<(&Path, &Path)>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    for service in ["localization", "runs", "ledger", "messaging", "diagrams", "operations", "console"] {
        command.env(format!("QUINTET_LISTEN__{}", service.to_uppercase()), "127.0.0.1:0");
    }
    command.env("QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "0").env("QUINTET_RUNS__RUNNER_SOCKET", "off");
    if let Some((cert, key)) = pair {
        command.env("QUINTET_TLS__CERT", cert).env("QUINTET_TLS__KEY", key);
    }
    command.args(["serve", "--data", data.to_str().unwrap()]).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    while !data.join("addresses.json").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn address(data: &Path) -> String {
    let text = std::fs::read_to_string(data.join("addresses.json")).unwrap();
    let addresses: serde_json::Value = serde_json::from_str(&text).unwrap();
    addresses["ledger"].as_str().unwrap().to_owned()
}

/// Requests a second of all callers together.
fn measure(address: &str, tls: Option<&Arc<ClientConfig>>, is_kept: bool, time: Duration) -> u64 {
    let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered));
            let (address, tls) = (address.to_owned(), tls.cloned());
            std::thread::spawn(move || {
                let mut stream = connect(&address, tls.as_ref());
                while !is_over.load(Ordering::Relaxed) {
                    if !is_kept {
                        stream = connect(&address, tls.as_ref());
                    }
                    stream.write_all(REQUEST).unwrap();
                    let mut answer = [0; 4096];
                    let length = stream.read(&mut answer).unwrap();
                    assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let begun = Instant::now();
    std::thread::sleep(time);
    let count = answered.load(Ordering::Relaxed);
    let elapsed = begun.elapsed();
    is_over.store(true, Ordering::Relaxed);
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    u64::try_from(u128::from(count) * 1_000 / elapsed.as_millis().max(1)).unwrap()
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn connect(address: &str, tls: Option<&Arc<ClientConfig>>) -> Box<dyn Stream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    match tls {
        None => Box::new(stream),
        Some(config) => {
            let name = ServerName::try_from("localhost").unwrap();
            Box::new(StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), stream))
        }
    }
}
