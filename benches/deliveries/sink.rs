//! Where everything is delivered to: an HTTP server with as little work as possible, which counts, tells the time, and can
//! keep everybody waiting for an answer.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How long the slowest of all may take to deliver what it was given.
const PATIENCE: Duration = Duration::from_secs(300);

/// The sink. Everything that begins with 127 is its address.
pub struct Sink {
    /// Its port.
    pub port: u16,
    gate: watch::Sender<bool>,
    shared: Arc<Shared>,
}

/// Bodies, each with the instant of its arrival in microseconds.
type Kept = Vec<(i64, Vec<u8>)>;

#[derive(Default)]
struct Shared {
    count: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
    arrivals: Mutex<Vec<Instant>>,
    /// When the first byte of each came, in microseconds since 1970, and what came.
    kept: Mutex<Option<Kept>>,
}

impl Sink {
    /// Starts it, on a thread of its own.
    pub fn start() -> Sink {
        let (gate, shared) = (watch::Sender::new(true), Arc::new(Shared::default()));
        let listener = std::net::TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], 0))).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (opened, all) = (gate.subscribe(), Arc::clone(&shared));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    tokio::spawn(serve(stream, opened.clone(), Arc::clone(&all)));
                }
            });
        });
        Sink { port, gate, shared }
    }

    /// Forgets everything and answers, or keeps whoever comes waiting.
    pub fn begin(&self, answers: bool) {
        self.shared.count.store(0, Ordering::SeqCst);
        self.shared.most.store(0, Ordering::SeqCst);
        self.shared.arrivals.lock().unwrap().clear();
        self.gate.send_replace(answers);
    }

    /// From now on it answers.
    pub fn open(&self) {
        self.gate.send_replace(true);
    }

    /// Keeps what comes, from now on.
    pub fn keep(&self) {
        *self.shared.kept.lock().unwrap() = Some(Vec::new());
    }

    /// What has come since.
    pub fn take(&self) -> Vec<(i64, Vec<u8>)> {
        self.shared.kept.lock().unwrap().take().unwrap_or_default()
    }

    /// How many have come.
    pub fn count(&self) -> usize {
        self.shared.count.load(Ordering::SeqCst)
    }

    /// How many were waiting for their answer at the same time, at most.
    pub fn at_once(&self) -> usize {
        self.shared.most.load(Ordering::SeqCst)
    }

    /// Waits until so many have come.
    pub fn wait(&self, count: usize) {
        let begun = Instant::now();
        while self.count() < count {
            assert!(begun.elapsed() < PATIENCE, "{} of {count} have come", self.count());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// How many came a second, from the first to the last of them.
    pub fn rate(&self) -> f64 {
        let arrivals = self.shared.arrivals.lock().unwrap();
        let (first, last) = (arrivals.first().unwrap(), arrivals.last().unwrap());
        (arrivals.len() - 1) as f64 / last.duration_since(*first).as_secs_f64()
    }
}

async fn serve(mut stream: TcpStream, mut opened: watch::Receiver<bool>, shared: Arc<Shared>) {
    let mut buffer = Vec::with_capacity(8192);
    let mut begun = 0;
    loop {
        let end = loop {
            if let Some(end) = whole(&buffer) {
                break end;
            }
            let is_new = buffer.is_empty();
            match stream.read_buf(&mut buffer).await {
                Ok(1..) if is_new => begun = micros_now(),
                Ok(1..) => {}
                _ => return,
            }
        };
        let now = shared.now.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most.fetch_max(now, Ordering::SeqCst);
        let is_open = opened.wait_for(|is_open| *is_open).await.is_ok();
        if let Some(kept) = shared.kept.lock().unwrap().as_mut() {
            kept.push((begun, buffer[..end].to_vec()));
        }
        buffer.drain(..end);
        shared.now.fetch_sub(1, Ordering::SeqCst);
        // Who has hung up meanwhile comes again.
        if !is_open || stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.is_err() {
            return;
        }
        shared.arrivals.lock().unwrap().push(Instant::now());
        shared.count.fetch_add(1, Ordering::SeqCst);
    }
}

/// Where the first request ends, once it is there as a whole.
fn whole(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&buffer[..head]).unwrap().to_ascii_lowercase();
    let length = text.split("content-length:").nth(1).unwrap().lines().next().unwrap().trim();
    let end = head + 4 + length.parse::<usize>().unwrap();
    (buffer.len() >= end).then_some(end)
}

/// Microseconds since 1970.
pub fn micros_now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_micros()).unwrap()
}
