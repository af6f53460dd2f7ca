//! Mail handed to relays that do what they like.

use std::sync::{Arc, Mutex};

use quintet_platform::egress::Place;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::context::{Mail, Relay, RelayEncryption};
use crate::outbox;
use crate::testing::Bench;

/// What a relay is told, and how it answers each command: by its beginning, in turn; the last answer goes on.
#[derive(Clone, Default)]
struct Script {
    answers: Vec<(&'static str, Vec<&'static str>)>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Script {
    fn new(answers: &[(&'static str, &[&'static str])]) -> Script {
        let answers = answers.iter().map(|(begin, all)| (*begin, all.to_vec())).collect();
        Script { answers, heard: Arc::default() }
    }

    fn answer(&mut self, command: &str) -> &'static str {
        for (begin, answers) in &mut self.answers {
            if command.starts_with(*begin) {
                return if answers.len() > 1 { answers.remove(0) } else { answers[0] };
            }
        }
        match command.get(..4).unwrap_or_default() {
            "EHLO" => "250-relay.example\r\n250 8BITMIME",
            "DATA" => "354 go on",
            "QUIT" => "221 bye",
            _ => "250 fine",
        }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// A relay with this script, on a port of its own; an answer of nothing cuts the connection.
async fn relay(script: Script) -> Relay {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = Arc::new(Mutex::new(script));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let script = Arc::clone(&script);
            tokio::spawn(async move {
                let _ = serve(stream, &script).await;
            });
        }
    });
    let place = Place { host: "127.0.0.1".to_owned(), port };
    Relay { place, encryption: RelayEncryption::Opportunistic, credentials: None }
}

async fn serve(stream: tokio::net::TcpStream, script: &Mutex<Script>) -> std::io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading).lines();
    writing.write_all(b"220 relay.example\r\n").await?;
    while let Some(line) = lines.next_line().await? {
        let (answer, heard) = {
            let mut script = script.lock().unwrap();
            (script.answer(&line), Arc::clone(&script.heard))
        };
        heard.lock().unwrap().push(line.clone());
        if answer.is_empty() {
            return Ok(());
        }
        writing.write_all(format!("{answer}\r\n").as_bytes()).await?;
        if answer.starts_with("354") {
            let mut mail = String::new();
            while let Some(line) = lines.next_line().await?.filter(|line| line != ".") {
                mail.push_str(&line);
                mail.push('\n');
            }
            let answer = script.lock().unwrap().answer("MAIL-ENDS");
            heard.lock().unwrap().push(mail);
            if answer.is_empty() {
                return Ok(());
            }
            writing.write_all(format!("{answer}\r\n").as_bytes()).await?;
        }
        if line == "QUIT" {
            return Ok(());
        }
    }
    Ok(())
}

async fn bench(script: &Script) -> Bench {
    let bench = Bench::with_mail(Mail { relay: Some(relay(script.clone()).await), ..Mail::none() });
    bench.agent("ann");
    bench
}

async fn send(bench: &Bench, to: &[&str]) -> Value {
    let body = json!({"to": to, "subject": "Lunch", "text": "At noon?"});
    let (status, sent) = bench.call_as("ann", "POST", "/v1/messages", body).await;
    assert_eq!(status, 202, "{sent}");
    sent
}

/// The platform writes a note with a secret in it.
fn note(bench: &Bench) {
    let workspace = bench.workspace.clone();
    let note = outbox::Note { to: "ben@example.com", subject: "Please decide", text: "https://…/approve/secret" };
    bench.run(move |tx, now| Ok(outbox::enqueue_note(tx, now, &workspace, note)?)).unwrap();
}

async fn undeliverable(bench: &Bench) -> Vec<(String, String)> {
    let (_, told) = bench.call(&bench.admin, "GET", "/v1/admin/undeliverable", Value::Null).await;
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    told["undeliverable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (text(line, "recipient"), text(line, "reason")))
        .collect()
}

async fn inbox(bench: &Bench) -> Vec<Value> {
    bench.call_as("ann", "GET", "/v1/inbox", Value::Null).await.1["messages"].as_array().unwrap().clone()
}

fn verified(bench: &Bench) {
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

fn waiting(bench: &Bench) -> usize {
    outbox::counted(&bench.context.store.read(), 99).unwrap()
}

/// 6-messaging.md, M4: one mail for all recipients, from an address that reports find back from.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_leaves_as_one_mail() {
    let script = Script::new(&[]);
    let bench = bench(&script).await;
    bench.agent("bea");
    let sent = send(&bench, &["ben@example.com", "bea", "eve@example.com"]).await;
    let id = sent["id"].as_str().unwrap();
    assert_eq!((&sent["external_count"], &sent["delivery_count"]), (&json!(2), &json!(3)));
    bench.advance(1).await;
    let heard = script.heard();
    assert_eq!(heard[0], "EHLO mail.example");
    assert_eq!(heard[1], format!("MAIL FROM:<agentbus+acme.ann+b.{id}@mail.example>"));
    assert_eq!(heard[2..5], ["RCPT TO:<ben@example.com>", "RCPT TO:<eve@example.com>", "DATA"]);
    for header in [
        "From: \"ann\" <agentbus+acme.ann@mail.example>\n",
        "To: <ben@example.com>, \"bea\" <agentbus+acme.bea@mail.example>,\n <eve@example.com>\n",
        "Subject: Lunch\n",
        "Auto-Submitted: no\n",
    ] {
        assert!(heard[5].contains(header), "{header}: {}", heard[5]);
    }
    assert!(heard[5].contains(&format!("Message-ID: <{id}@mail.example>\n")) && heard[5].ends_with("\nAt noon?\n"));
    assert_eq!((waiting(&bench), inbox(&bench).await.len()), (0, 0));
    verified(&bench);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_refused_for_good_is_told_of_and_the_others_have_it() {
    let script = Script::new(&[("RCPT TO:<no@", &["550 5.1.1 no such user\r"])]);
    let bench = bench(&script).await;
    let sent = send(&bench, &["no@example.com", "yes@example.com"]).await;
    bench.advance(1).await;
    assert_eq!(undeliverable(&bench).await, [("no@example.com".to_owned(), "550 5.1.1 no such user".to_owned())]);
    let rows = inbox(&bench).await;
    assert_eq!((rows.len(), &rows[0]["subject"]), (1, &json!("Not delivered: Lunch")));
    assert_eq!((&rows[0]["thread_id"], &rows[0]["direction"]), (&sent["thread_id"], &json!("system")));
    assert_eq!(script.heard().iter().filter(|line| *line == "DATA").count(), 1);
    bench.advance(100_000).await;
    assert_eq!(script.heard().iter().filter(|line| *line == "DATA").count(), 1, "nobody gets it twice");
    verified(&bench);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_goes_wrong_once_goes_right_later() {
    for (command, answers) in [
        ("RCPT TO:<ben@", ["450 4.2.0 greylisted", "250 fine"]),
        ("MAIL FROM", ["421 4.3.2 not now", "250 fine"]),
        ("MAIL FROM", ["", "250 fine"]),
        ("MAIL FROM", ["503 5.5.1 nested MAIL command", "250 fine"]),
        ("EHLO", ["500 what?", "250 relay.example"]),
        ("DATA", ["451 4.3.0 later", "354 go on"]),
        ("MAIL-ENDS", ["452 4.3.1 full", "250 fine"]),
        ("MAIL-ENDS", ["", "250 fine"]),
    ] {
        let script = Script::new(&[(command, &answers)]);
        let bench = bench(&script).await;
        send(&bench, &["ben@example.com"]).await;
        bench.advance(1).await;
        assert_eq!(waiting(&bench), 1, "{command} {answers:?}: {:?}", script.heard());
        verified(&bench);
        bench.advance(10).await;
        assert_eq!(waiting(&bench), 0, "{command} {answers:?}: {:?}", script.heard());
        let mails: Vec<String> = script.heard().into_iter().filter(|line| line.contains("Message-ID")).collect();
        assert!(mails.iter().all(|mail| mail == &mails[0]), "the same mail each time");
        assert!(undeliverable(&bench).await.is_empty() && inbox(&bench).await.is_empty());
        verified(&bench);
    }
}

/// The next mail of the connection, which may be anybody's, is not taken for a part of the one that was refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_is_refused_is_forgotten_before_the_next_one() {
    for (command, answers) in [
        ("MAIL FROM", ["450 4.3.0 later", "250 fine"]),
        ("RCPT", ["450 4.3.0 later", "250 fine"]),
        ("DATA", ["451 4.3.0 later", "354 go on"]),
        ("MAIL-ENDS", ["452 4.3.1 full", "250 fine"]),
    ] {
        let script = Script::new(&[(command, &answers)]);
        let bench = bench(&script).await;
        send(&bench, &["ben@example.com"]).await;
        bench.advance(1).await;
        assert_eq!(script.heard().last().map(String::as_str), Some("RSET"), "{command}");
    }
}

/// However much is due for one workspace, what is due for another one is found, and has its turn.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_behind_all_mail_of_somebody_else() {
    let bench = Bench::new();
    let many = bench.workspace.clone();
    let few = crate::identity::Workspace { no: crate::model::WorkspaceNo(many.no.0 + 1), ..many.clone() };
    let (no_of_many, no_of_few) = (many.no, few.no);
    bench
        .run(move |tx, now| {
            let note = outbox::Note { to: "ben@example.com", subject: "x", text: "x" };
            for workspace in std::iter::repeat_n(&many, 1_500).chain([&few]) {
                outbox::enqueue_note(tx, now, workspace, note)?;
            }
            Ok(())
        })
        .unwrap();
    let read = bench.context.store.read();
    let mut ahead = super::ahead::Ahead::default();
    let has_few = |ahead: &super::ahead::Ahead| ahead.queues.has_startable(|no| no == no_of_few);
    ahead.read(&read, bench.now(), |_| false).unwrap();
    assert_eq!((has_few(&ahead), ahead.rest().0), (false, true));
    ahead.read(&read, bench.now(), |_| false).unwrap();
    assert_eq!((has_few(&ahead), ahead.rest()), (true, (false, None)));
    let taken: Vec<_> = (0..3).map(|_| ahead.queues.take(|_| true).unwrap().0).collect();
    assert_eq!(taken, [no_of_many, no_of_few, no_of_many]);
    assert!(ahead.queues.take(|no| no == no_of_few).is_none());
}

/// As many large mails as may be are under way, and the others come after them, behind nobody's small one.
#[tokio::test(flavor = "multi_thread")]
async fn large_mails_wait_for_one_another_and_all_leave() {
    let script = Script::new(&[]);
    let bench = bench(&script).await;
    let large = "A".repeat((1 << 21) / 4 * 4);
    let files = json!([{"filename": "large", "content_base64": large}]);
    for subject in 0..6 {
        let body =
            json!({"to": ["ben@example.com"], "subject": subject.to_string(), "text": "x", "attachments": files});
        let (status, sent) = bench.call_as("ann", "POST", "/v1/messages", body).await;
        assert_eq!(status, 202, "{sent}");
    }
    send(&bench, &["eve@example.com"]).await;
    bench.advance(1).await;
    assert_eq!(script.heard().iter().filter(|line| *line == "DATA").count(), 7);
    assert_eq!(waiting(&bench), 0);
    verified(&bench);
}

/// M4: after a day it is over, and whoever wrote it is told once.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_day_it_is_given_up() {
    let script = Script::new(&[("RCPT", &["450 4.2.0 come back"])]);
    let bench = bench(&script).await;
    send(&bench, &["ben@example.com", "eve@example.com"]).await;
    bench.advance(86_399).await;
    assert_eq!((waiting(&bench), undeliverable(&bench).await.len()), (1, 0));
    bench.advance(2).await;
    assert_eq!(waiting(&bench), 0);
    let told = undeliverable(&bench).await;
    assert_eq!(told.len(), 2);
    assert!(told[0].1.contains("after a day") && told[0].1.contains("450 4.2.0 come back"), "{told:?}");
    assert_eq!(inbox(&bench).await.len(), 1);
    // At once, after 10 s, 60 s, 5 min, 30 min, each hour, and at the end.
    assert_eq!(script.heard().iter().filter(|line| line.starts_with("MAIL")).count(), 29);
    verified(&bench);
    bench.advance(31 * 86_400).await;
    assert!(undeliverable(&bench).await.is_empty());
    verified(&bench);
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_of_the_platform_leave_as_well_and_are_forgotten() {
    let script = Script::new(&[]);
    let bench = bench(&script).await;
    note(&bench);
    bench.advance(1).await;
    let heard = script.heard();
    assert_eq!(heard[1..4], ["MAIL FROM:<no-reply@mail.example>", "RCPT TO:<ben@example.com>", "DATA"]);
    assert!(heard[4].contains("From: \"Acme\" <no-reply@mail.example>\n"), "{}", heard[4]);
    assert!(heard[4].contains("Auto-Submitted: auto-generated\n"), "{}", heard[4]);
    assert_eq!(waiting(&bench), 0);
    verified(&bench);
}

/// A note may have a secret in it, and a relay's refusal may repeat it: what others are told of it is a number.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_notes_is_a_number() {
    let script = Script::new(&[("MAIL-ENDS", &["550 5.7.1 https://\u{2026}/approve/secret is not wanted\r"])]);
    let bench = bench(&script).await;
    note(&bench);
    bench.advance(1).await;
    assert_eq!(undeliverable(&bench).await, [("ben@example.com".to_owned(), "550 5.7.1".to_owned())]);
    verified(&bench);
}

/// Passwords go over encrypted connections alone, and what must be encrypted does not go otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_encrypted_waits() {
    for (encryption, credentials, words) in [
        (RelayEncryption::Required, None, "requires it"),
        (RelayEncryption::Opportunistic, Some("user"), "a password is not sent without"),
    ] {
        let script = Script::new(&[]);
        let credentials = credentials
            .map(|user: &str| (user.to_owned(), quintet_platform::secrets::Secret::new("hunter2".to_owned())));
        let relay = Relay { encryption, credentials, ..relay(script.clone()).await };
        let bench = Bench::with_mail(Mail { relay: Some(relay), ..Mail::none() });
        bench.agent("ann");
        send(&bench, &["ben@example.com"]).await;
        bench.advance(90_000).await;
        let told = undeliverable(&bench).await;
        assert!(told[0].1.contains(words), "{told:?}");
        assert!(script.heard().iter().all(|line| !line.starts_with("MAIL") && !line.starts_with("AUTH")));
    }
    let script = Script::new(&[("EHLO", &["250-relay.example\r\n250 AUTH PLAIN"]), ("AUTH", &["235 2.7.0 welcome"])]);
    let credentials = Some(("user".to_owned(), quintet_platform::secrets::Secret::new("hunter2".to_owned())));
    let relay = Relay { encryption: RelayEncryption::Off, credentials, ..relay(script.clone()).await };
    let bench = Bench::with_mail(Mail { relay: Some(relay), ..Mail::none() });
    bench.agent("ann");
    send(&bench, &["ben@example.com"]).await;
    bench.advance(1).await;
    assert_eq!(script.heard()[1], "AUTH PLAIN AHVzZXIAaHVudGVyMg==");
    assert_eq!(waiting(&bench), 0);
}

/// G1: what is for outside waits with all else of a paused thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_thread_holds_what_is_for_outside() {
    let script = Script::new(&[]);
    let mut bench = bench(&script).await;
    bench.set(|workspace| workspace.limits = vec![(crate::limits::EXTERNAL_OUT_PER_DAY.code, None)]);
    let first = send(&bench, &["ben@example.com"]).await;
    let body = json!({"to": ["ben@example.com"], "subject": "more", "text": "x", "thread_id": first["thread_id"]});
    for _ in 0..60 {
        bench.call_as("ann", "POST", "/v1/messages", body.clone()).await;
    }
    let (_, paused) = bench.call_as("ann", "POST", "/v1/messages", body).await;
    assert_eq!(paused["thread_paused"], true);
    bench.advance(1).await;
    let mails = || script.heard().iter().filter(|line| *line == "DATA").count();
    assert_eq!(mails(), 60);
    verified(&bench);
    let path = format!("/v1/threads/{}/resume", first["thread_id"].as_str().unwrap());
    assert_eq!(bench.call(&bench.admin, "POST", &path, Value::Null).await.0, 200);
    bench.advance(1).await;
    assert_eq!(mails(), 62);
    verified(&bench);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_leave_and_what_may_not() {
    use crate::testing::assert_refused;
    let body = json!({"to": ["ben@example.com"], "text": "x"});
    let without = Bench::new();
    without.agent("ann");
    let refused = without.call_as("ann", "POST", "/v1/messages", body.clone()).await;
    assert_refused(&refused, (422, "external_mail_unavailable"), "no way out");
    let script = Script::new(&[]);
    let mut bench = bench(&script).await;
    let told = json!({"to": ["ben@example.com"], "text": "x", "guarantee": "fire_and_forget"});
    let refused = bench.call_as("ann", "POST", "/v1/messages", told).await;
    assert_refused(&refused, (422, "validation_error"), "fire_and_forget");
    bench.set(|workspace| workspace.limits = vec![(crate::limits::EXTERNAL_OUT_PER_DAY.code, Some(2))]);
    send(&bench, &["ben@example.com", "eve@example.com"]).await;
    let refused = bench.call_as("ann", "POST", "/v1/messages", body).await;
    assert_refused(&refused, (429, "quota_exceeded"), "external_out_per_day");
    let (_, usage) = bench.call(&bench.admin, "GET", "/v1/usage", Value::Null).await;
    assert_eq!((&usage["policies"][0]["used"], &usage["policies"][1]["used"]), (&json!(1), &json!(2)));
}
