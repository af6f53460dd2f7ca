//! Mail in and out against the real binary, durable, beside Postfix on the same machine in the same run.
//!
//! `cargo bench --bench mail [-- [MAILS] [in|out]]`, as root. In: Debian's `smtp-source` with 100 sessions from five addresses
//! (the appliance takes 20 of one), 4 KiB a mail; ours until the last is in the inbox, Postfix until it is in its Maildir.
//! Ours asks a name server of this machine about each sender, Postfix asks nobody: it has no verdicts.
//! Out: to `smtp-sink`, ours from the first send over HTTP until the last is taken, Postfix from its first of `smtp-source`.
//! Best of three rounds, taken in turn.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

#[path = "../appliance/mod.rs"]
mod appliance;
mod postfix;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use appliance::Appliance;
use postfix::{Postfix, free_port};

const ROUNDS: usize = 3;
const SOURCES: usize = 5;
const SESSIONS: usize = 100;
const MAIL_BYTES: usize = 4_096;
const SENDERS: usize = 32;
const TO: &str = "agentbus+bench.ann@mail.example";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let mails = arguments.iter().filter_map(|argument| argument.parse().ok()).next().unwrap_or(5_000);
    let wanted = |part: &str| {
        let parts = arguments.iter().filter(|argument| argument.parse::<usize>().is_err());
        parts.clone().count() == 0 || parts.into_iter().any(|argument| argument == part)
    };
    let _addresses = Addresses::add();
    println!("{mails} mails of {MAIL_BYTES} bytes, {SESSIONS} sessions, best of {ROUNDS}");
    if wanted("in") {
        let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            ours = ours.max(taken_in(mails));
            theirs = theirs.max(postfix_in(mails));
        }
        println!("in: {ours:.0} mails/s, Postfix {theirs:.0}, ours is {:.2} times", ours / theirs);
    }
    if wanted("out") {
        let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            ours = ours.max(handed_on(mails));
            theirs = theirs.max(postfix_out(mails));
        }
        println!("out: {ours:.0} mails/s, Postfix {theirs:.0}, ours is {:.2} times", ours / theirs);
    }
}

/// Addresses of this machine from which one connects to itself; they go with this.
struct Addresses;

impl Addresses {
    fn add() -> Addresses {
        for source in 1..=SOURCES {
            let address = format!("10.99.0.{source}/32");
            let _ = Command::new("ip").args(["address", "add", &address, "dev", "lo"]).output();
        }
        Addresses
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        for source in 1..=SOURCES {
            let address = format!("10.99.0.{source}/32");
            let _ = Command::new("ip").args(["address", "del", &address, "dev", "lo"]).output();
        }
    }
}

/// Sends so many mails from all sources, and waits until they are taken.
fn smtp_source(mails: usize, port: u16, to: &str) {
    let sending = |source: usize| {
        Command::new("smtp-source")
            .args(["-s", &(SESSIONS / SOURCES).to_string(), "-l", &MAIL_BYTES.to_string()])
            .args(["-m", &(mails / SOURCES).to_string(), "-f", "ben@example.com", "-t", to])
            .arg(format!("10.99.0.{source}:{port}"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    };
    let all: Vec<Child> = (1..=SOURCES).map(sending).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
}

fn rate(mails: usize, begun: Instant) -> f64 {
    f64::from(u32::try_from(mails).unwrap()) / begun.elapsed().as_secs_f64()
}

/// A name server that has something to say of the sender.
struct Names {
    child: Child,
    address: String,
}

impl Names {
    fn start() -> Names {
        let fetched = Command::new("tests/mails/fetch.sh").output().unwrap();
        assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
        let directory = String::from_utf8(fetched.stdout).unwrap();
        let mut child = Command::new(format!("{}/python/bin/python3", directory.trim()))
            .args(["tests/mails/names.py", "example.com TXT v=spf1 ip4:10.99.0.0/24 -all"])
            .arg("_dmarc.example.com TXT v=DMARC1; p=reject")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut port).unwrap();
        Names { child, address: format!("127.0.0.1:{}", port.trim()) }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An appliance with a workspace and an agent, and the key that acts as it.
fn prepared(relay: &str, names: &str) -> (Appliance, tempfile::TempDir, String) {
    let parent = tempfile::tempdir().unwrap();
    let environment = [
        ("QUINTET_MESSAGING__DOMAIN", "mail.example"),
        ("QUINTET_MESSAGING__SMTP_LISTEN", "0.0.0.0:0"),
        ("QUINTET_MESSAGING__SMTP_RELAY", relay),
        ("QUINTET_MESSAGING__SMTP_RESOLVER", names),
    ];
    let appliance = Appliance::start(parent.path(), &environment);
    appliance.command(&["messaging", "workspace", "create", "bench"]);
    appliance.command(&["messaging", "workspace", "ingress", "bench", "open"]);
    for limit in ["external_in_per_day", "external_out_per_day", "messages_per_day"] {
        appliance.command(&["messaging", "workspace", "limits", "bench", &format!("{limit}=unlimited")]);
    }
    let issued = appliance.command(&["messaging", "key", "issue", "--workspace", "bench", "--scope", "admin"]);
    let key = issued["api_key"].as_str().unwrap().to_owned();
    ask(&appliance, &key, "/v1/agents/register", r#"{"name":"ann"}"#);
    (appliance, parent, key)
}

fn ask(appliance: &Appliance, key: &str, path: &str, body: &str) {
    let url = format!("http://{}{path}", appliance.address("messaging"));
    let request = ureq::post(&url).header("authorization", format!("Bearer {key}")).header("x-agentbus-agent", "ann");
    request.header("content-type", "application/json").send(body).unwrap();
}

fn taken_in(mails: usize) -> f64 {
    let names = Names::start();
    let (appliance, _parent, _key) = prepared("", &names.address);
    let port = appliance.address("smtp").rsplit(':').next().unwrap().parse().unwrap();
    let begun = Instant::now();
    smtp_source(mails, port, TO);
    rate(mails, begun)
}

fn postfix_in(mails: usize) -> f64 {
    let postfix = Postfix::start(None);
    let begun = Instant::now();
    smtp_source(mails, postfix.port, TO);
    postfix.wait_delivered(mails / SOURCES * SOURCES);
    rate(mails, begun)
}

/// A server that takes mail and forgets it.
struct Sink {
    child: Child,
    address: String,
    counted: Arc<AtomicUsize>,
}

impl Sink {
    /// Counts mails by the ends that it prints, one a line.
    fn start() -> Sink {
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new("smtp-sink");
        command.args(["-u", "nobody", "-c", &address, "1000"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let counted = Arc::new(AtomicUsize::new(0));
        let (heard, mut said) = (Arc::clone(&counted), child.stdout.take().unwrap());
        std::thread::spawn(move || {
            use std::io::Read as _;
            // It writes `sess=1 quit=1 mesg=7`, each over the last one.
            let (mut buffer, mut text) = ([0; 4_096], String::new());
            while let Ok(count) = said.read(&mut buffer) {
                if count == 0 {
                    return;
                }
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
                let last = text.rsplit("mesg=").next().unwrap_or_default();
                let number: String = last.chars().take_while(char::is_ascii_digit).collect();
                if let Ok(number) = number.parse::<usize>() {
                    heard.fetch_max(number, Ordering::SeqCst);
                }
                text = text.split_off(text.len().saturating_sub(64));
            }
        });
        std::thread::sleep(Duration::from_millis(300));
        Sink { child, address, counted }
    }

    fn wait(&self, mails: usize) {
        let begun = Instant::now();
        while self.counted.load(Ordering::SeqCst) < mails {
            assert!(begun.elapsed() < Duration::from_secs(300), "the sink has not got all of it");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn handed_on(mails: usize) -> f64 {
    let sink = Sink::start();
    let names = Names::start();
    let (appliance, _parent, key) = prepared(&sink.address, &names.address);
    let body = format!(r#"{{"to":["ben@example.com"],"subject":"bench","text":"{}"}}"#, "x".repeat(3_000));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                for _ in 0..mails / SENDERS {
                    ask(&appliance, &key, "/v1/messages", &body);
                }
            });
        }
    });
    sink.wait(mails / SENDERS * SENDERS);
    rate(mails, begun)
}

fn postfix_out(mails: usize) -> f64 {
    let sink = Sink::start();
    let postfix = Postfix::start(Some(&sink.address));
    let begun = Instant::now();
    smtp_source(mails, postfix.port, "ben@example.com");
    sink.wait(mails / SOURCES * SOURCES);
    rate(mails, begun)
}
