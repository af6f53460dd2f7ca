//! Connections over pipes, with a real store behind them.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::connection::{Served, serve};
use crate::context::Mail;
use crate::testing::Bench;

struct Client(DuplexStream);

impl Client {
    fn connect(bench: &Bench) -> Client {
        let (client, server) = tokio::io::duplex(1 << 16);
        let served = Served { context: bench.context.clone(), acceptor: None, source: IpAddr::from([192, 0, 2, 1]) };
        tokio::spawn(serve(Box::new(server), served, None));
        Client(client)
    }

    async fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// The codes of the next replies, with their statuses; fewer if it is left before.
    async fn hear(&mut self, count: usize) -> Vec<String> {
        let (mut heard, mut line) = (Vec::new(), Vec::new());
        while heard.len() < count {
            let mut byte = [0];
            if self.0.read(&mut byte).await.unwrap() == 0 {
                break;
            }
            line.push(byte[0]);
            if line.ends_with(b"\r\n") {
                let text = String::from_utf8(std::mem::take(&mut line)).unwrap();
                if text.as_bytes()[3] == b' ' {
                    let status = text.split(' ').nth(1).filter(|word| word.matches('.').count() == 2);
                    heard.push(format!("{} {}", &text[..3], status.unwrap_or_default()).trim_end().to_owned());
                }
            }
        }
        heard
    }

    /// Whether nothing more comes.
    async fn is_left(&mut self) -> bool {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).await.is_ok()
    }
}

fn bench() -> Bench {
    let bench = Bench::with_mail(Mail { is_listening: true, ..Mail::none() });
    bench.agent("ann");
    bench
}

const TO: &str = "RCPT TO:<agentbus+acme.ann@mail.example>\r\n";

async fn subjects(bench: &Bench) -> Vec<String> {
    let (_, page) = bench.call_as("ann", "GET", "/v1/inbox", Value::Null).await;
    page["messages"].as_array().unwrap().iter().map(|row| row["subject"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_come_at_once_are_answered_at_once() {
    let bench = bench();
    let mut client = Client::connect(&bench);
    client.say(format!("EHLO c\r\nMAIL FROM:<a@b>\r\n{TO}DATA\r\n").as_bytes()).await;
    assert_eq!(client.hear(5).await, ["220", "250", "250 2.1.0", "250 2.1.5", "354"]);
    client.say(b"Subject: one\r\n\r\nx\r\n.\r\nMAIL FROM:<a@b>\r\n").await;
    client.say(format!("{TO}DATA\r\n").as_bytes()).await;
    assert_eq!(client.hear(4).await, ["250 2.0.0", "250 2.1.0", "250 2.1.5", "354"]);
    client.say(b"Subject: two\r\n\r\n..\r\n.\r\nQUIT\r\n").await;
    assert_eq!(client.hear(2).await, ["250 2.0.0", "221 2.0.0"]);
    assert!(client.is_left().await);
    assert_eq!(subjects(&bench).await, ["one", "two"]);
}

/// What another server takes for the end of a mail: here it is none, and the mail is refused as a whole.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_smuggled() {
    let bench = bench();
    for end in ["\n.\n", "\n.\r\n", "\r.\r", "\r\n.\n", "\r\n.\r", "\r.\r\n", "\r\n\0.\r\n\n"] {
        let mut client = Client::connect(&bench);
        client.say(format!("EHLO c\r\nMAIL FROM:<a@b>\r\n{TO}DATA\r\n").as_bytes()).await;
        client.hear(5).await;
        let smuggled = format!(
            "Subject: outer\r\n\r\nx{end}MAIL FROM:<admin@mail.example>\r\n{TO}DATA\r\nSubject: inner\r\n\r\ny\r\n.\r\nQUIT\r\n"
        );
        client.say(smuggled.as_bytes()).await;
        assert_eq!(client.hear(3).await, ["550 5.6.0", "221 2.0.0"], "{end:?}");
    }
    let mut client = Client::connect(&bench);
    client.say(b"EHLO c\nMAIL FROM:<a@b>\r\nNOOP\r\n").await;
    assert_eq!(client.hear(4).await, ["220", "550 5.6.0", "503 5.5.1", "250 2.0.0"]);
    assert!(subjects(&bench).await.is_empty());
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

/// Whoever sends nothing but what is refused is left, and fills nobody's list.
#[tokio::test(flavor = "multi_thread")]
async fn refused_mails_are_errors_and_are_told_within_bounds() {
    let bench = bench();
    for _ in 0..8 {
        let mut client = Client::connect(&bench);
        client.say(b"EHLO c\r\n").await;
        client.hear(2).await;
        for mail in 1..=10 {
            client.say(format!("MAIL FROM:<a@b>\r\n{TO}DATA\r\nSubject: x\r\n\r\na\nb\r\n.\r\n").as_bytes()).await;
            let last = client.hear(4).await.pop().unwrap();
            assert_eq!(last, if mail < 10 { "550 5.6.0" } else { "421 4.7.0" });
        }
        assert!(client.is_left().await);
    }
    let (_, told) = bench.call(&bench.admin, "GET", "/v1/admin/undeliverable?limit=200", Value::Null).await;
    assert_eq!(told["undeliverable"].as_array().unwrap().len(), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_as_large_as_may_be_and_one_byte_more() {
    let bench = bench();
    for (extra, answer) in [(0, "250 2.0.0"), (1, "552 5.3.4")] {
        let mut client = Client::connect(&bench);
        client.say(format!("EHLO c\r\nMAIL FROM:<a@b>\r\n{TO}DATA\r\n").as_bytes()).await;
        client.hear(5).await;
        let head = "Subject: large\r\n\r\n";
        client.say(head.as_bytes()).await;
        let line = [vec![b'x'; 998], b"\r\n".to_vec()].concat();
        let mut left = 26_214_400 - head.len() + extra;
        while left > 1_000 {
            client.say(&line).await;
            left -= line.len();
        }
        client.say(&[vec![b'y'; left - 2], b"\r\n.\r\n".to_vec()].concat()).await;
        assert_eq!(client.hear(1).await, [answer]);
    }
    assert_eq!(subjects(&bench).await, ["large"]);
}

/// Large mails have their turn: so many are held at a time, and no source has all of them.
#[tokio::test(flavor = "multi_thread")]
async fn large_mails_take_turns() {
    let bench = bench();
    let large = vec![b'x'; 400_000];
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(&bench);
        client.say(format!("EHLO c\r\nMAIL FROM:<a@b>\r\n{TO}DATA\r\n").as_bytes()).await;
        client.hear(5).await;
        clients.push(client);
    }
    for client in &mut clients[..2] {
        client.say(&large).await;
    }
    // The third is read as far as it may be without a turn, and no further.
    let third = tokio::time::timeout(Duration::from_millis(300), clients[2].say(&large)).await;
    assert!(third.is_err());
    let mut first = clients.remove(0);
    first.say(b"\r\n.\r\n").await;
    assert_eq!(first.hear(1).await, ["250 2.0.0"]);
    drop(first);
    let mut third = clients.pop().unwrap();
    let rest = tokio::time::timeout(Duration::from_secs(30), third.say(b"\r\n.\r\n")).await;
    assert!(rest.is_ok(), "it has its turn now");
}

#[tokio::test(start_paused = true)]
async fn who_is_silent_or_trickles_is_left() {
    let bench = bench();
    let mut silent = Client::connect(&bench);
    silent.hear(1).await;
    let begun = tokio::time::Instant::now();
    assert!(silent.is_left().await);
    assert_eq!(begun.elapsed().as_secs(), 300);
    let mut slow = Client::connect(&bench);
    slow.say(format!("EHLO c\r\nMAIL FROM:<a@b>\r\n{TO}DATA\r\n").as_bytes()).await;
    slow.hear(5).await;
    let begun = tokio::time::Instant::now();
    while slow.0.write_all(b"x").await.is_ok() {
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(begun.elapsed() < Duration::from_secs(3_600), "it trickles on and on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_appliance_stops_clients_are_told() {
    let bench = bench();
    let mut client = Client::connect(&bench);
    client.hear(1).await;
    bench.context.stopping.stop();
    assert_eq!(client.hear(1).await, ["421 4.3.2"]);
    assert!(client.is_left().await);
}
