//! Mail from outside over a real store, from its envelope to the inboxes.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::model::{Arrived, Envelope, Found, NotTaken, Recipient, SIZE_MAX};
use super::{content, find, refused, take};
use crate::context::Mail;
use crate::identity::{Priority, Scope};
use crate::mail::origins;
use crate::testing::{Bench, DOMAIN};

fn bench() -> Bench {
    Bench::with_mail(Mail { is_listening: true, ..Mail::none() })
}

fn address(agent: &str) -> String {
    format!("agentbus+acme.{agent}@{DOMAIN}")
}

fn recipient(bench: &Bench, address: &str) -> Recipient {
    match find(&bench.context, address) {
        Found::Here(recipient) => recipient,
        other => panic!("{address}: {other:?}"),
    }
}

fn arrived(bench: &Bench, sender: &str, to: &[&str], mail: &str) -> Arrived {
    arrived_for(sender, to.iter().map(|agent| recipient(bench, &address(agent))).collect(), mail)
}

fn arrived_for(sender: &str, recipients: Vec<Recipient>, mail: &str) -> Arrived {
    Arrived {
        envelope: Envelope { sender: sender.to_owned(), recipients },
        source: IpAddr::from([192, 0, 2, 1]),
        helo: "client.example".to_owned(),
        protocol: "ESMTP",
        bytes: mail.replace('\n', "\r\n").into_bytes(),
    }
}

async fn inbox(bench: &Bench, agent: &str) -> Vec<Value> {
    let (_, page) = bench.call_as(agent, "GET", "/v1/inbox", Value::Null).await;
    page["messages"].as_array().unwrap().clone()
}

async fn delivery(bench: &Bench, agent: &str, row: &Value) -> Value {
    let path = format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap());
    bench.call_as(agent, "GET", &path, Value::Null).await.1
}

fn verified(bench: &Bench) {
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

const PLAIN: &str = "From: \"Ben B.\" <ben@example.com>\nTo: agentbus+acme.ann@mail.example\n\
                     Cc: eve@example.com\nSubject: Hello =?utf-8?q?w=C3=B6rld?=\n\
                     Message-ID: <one@example.com>\n\nHow are you?\n";

/// 6-messaging.md, M3: what is kept of a mail, and what is said of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_a_message() {
    let bench = bench();
    bench.agent("ann");
    let id = take(&bench.context, arrived(&bench, "ben@example.com", &["ann"], PLAIN)).await.unwrap();
    let rows = inbox(&bench, "ann").await;
    let row = &rows[0];
    assert_eq!((&row["direction"], &row["inbound_source"]), (&json!("ingress"), &json!("mail")));
    assert_eq!((&row["subject"], &row["sender_display"]), (&json!("Hello wörld"), &json!("Ben B.")));
    assert_eq!((&row["sender_address"], &row["sender_agent_name"]), (&json!("ben@example.com"), &Value::Null));
    assert_eq!(row["labels"], json!([]));
    let shown = delivery(&bench, "ann", row).await;
    assert_eq!(shown["text_body"], "How are you?\n");
    assert_eq!(shown["provenance"]["level"], "external_unverified");
    let verdicts = json!({"spf": "none", "dkim": "none", "dmarc": "none", "source": "192.0.2.1"});
    assert_eq!(shown["auth_verdicts"], verdicts);
    let path = format!("/v1/messages/{}/raw", row["message_id"].as_str().unwrap());
    let request = http::Request::get(path).header("authorization", format!("Bearer {}", bench.admin));
    let request = request.header("x-agentbus-agent", "ann").body(axum::body::Body::empty()).unwrap();
    let raw = http_body_util::BodyExt::collect(bench.answer(request).await.into_body()).await.unwrap().to_bytes();
    let raw = String::from_utf8(raw.to_vec()).unwrap();
    assert!(raw.starts_with("Return-Path: <ben@example.com>\r\nReceived: from client.example ([192.0.2.1])"), "{raw}");
    assert!(raw.contains(&id) && raw.ends_with(&PLAIN.replace('\n', "\r\n")), "{raw}");
    verified(&bench);
}

/// What a mail says to be for whom is read as one would type it, so that an answer to all goes to all.
#[tokio::test(flavor = "multi_thread")]
async fn one_transaction_for_all_and_an_answer_to_all() {
    let bench = Bench::with_mail(Mail { is_listening: true, ..crate::testing::mail_with_relay() });
    for agent in ["ann", "bea", "cid"] {
        bench.agent(agent);
    }
    let mail = PLAIN.replace("Cc: eve@example.com", &format!("Cc: {}, eve@example.com", address("bea")));
    take(&bench.context, arrived(&bench, "ben@example.com", &["ann", "bea", "cid"], &mail)).await.unwrap();
    let rows = inbox(&bench, "bea").await;
    assert_eq!(rows[0]["your_role"], "cc");
    assert_eq!(inbox(&bench, "cid").await[0]["your_role"], "to");
    let path = format!("/v1/messages/{}/reply", rows[0]["message_id"].as_str().unwrap());
    let (status, sent) = bench.call_as("bea", "POST", &path, json!({"text": "Fine", "reply_all": true})).await;
    assert_eq!(status, 202, "{sent}");
    assert_eq!(sent["recipients"], json!(["ann", "cid", "ben@example.com", "eve@example.com"]));
    assert_eq!(sent["external_count"], 2);
    verified(&bench);
}

/// M2: who is written to.
#[tokio::test(flavor = "multi_thread")]
async fn addresses() {
    let mut bench = bench();
    bench.agent("ann");
    bench.agent("old");
    bench.call_as("old", "POST", "/v1/agents/old/retire", Value::Null).await;
    assert!(matches!(find(&bench.context, &address("ann")), Found::Here(_)));
    assert!(matches!(find(&bench.context, "AgentBus+ACME.Ann@Mail.Example"), Found::Here(_)));
    for nobody in [
        address("old"),
        address("nobody"),
        address("system"),
        "agentbus+other.ann@mail.example".to_owned(),
        "agentbus+acme.ann@elsewhere.example".to_owned(),
        "agentbus+acme.ann+b.01KAJ5V0T1ZXCVBNM23456789A@mail.example".to_owned(),
        "ann@mail.example".to_owned(),
    ] {
        assert_eq!(find(&bench.context, &nobody), Found::Nobody, "{nobody}");
    }
    bench.set(|workspace| workspace.limits = vec![(crate::limits::EXTERNAL_IN_PER_DAY.code, Some(0))]);
    assert_eq!(find(&bench.context, &address("ann")), Found::DayIsFull);
    bench.set(|workspace| workspace.is_ingress_open = false);
    assert_eq!(find(&bench.context, &address("ann")), Found::Closed);
    bench.set(|workspace| workspace.is_ingress_open = true);
    bench.set(|workspace| workspace.is_encrypted = true);
    assert_eq!(find(&bench.context, &address("ann")), Found::Closed);
    bench.suspend_tenant();
    assert_eq!(find(&bench.context, &address("ann")), Found::Nobody);
}

/// M3: an answer belongs where what it answers does, if whoever sends or gets it has a part there.
#[tokio::test(flavor = "multi_thread")]
async fn answers_find_their_thread() {
    let bench = bench();
    for agent in ["ann", "bea", "cid"] {
        bench.agent(agent);
    }
    let posted = bench.post("ann", &["bea"], "a plan", |letter| {
        letter.outside = vec![("ben@example.com".to_owned(), crate::mail::model::Role::To)];
    });
    let thread = quintet_platform::ids::ulid(posted.thread.0);
    let answer = |from: &str, header: &str| format!("From: {from}\nSubject: Re: a plan\n{header}\n\nYes.\n");
    let own = format!("<{}@{DOMAIN}>", quintet_platform::ids::ulid(posted.message.0));
    let in_thread = async |from: &str, to: &str, header: &str| {
        take(&bench.context, arrived(&bench, from, &[to], &answer(from, header))).await.unwrap();
        inbox(&bench, to).await.last().unwrap()["thread_id"] == json!(thread)
    };
    assert!(in_thread("ben@example.com", "cid", &format!("In-Reply-To: {own}")).await, "he got it");
    assert!(in_thread("eve@example.com", "bea", &format!("References: <x@y> {own}")).await, "bea takes part");
    assert!(!in_thread("eve@example.com", "cid", "In-Reply-To: <x@y>").await, "that is nothing known");
    let other = bench.post("ann", &["bea"], "a secret", |_| {});
    let secret = format!("<{}@{DOMAIN}>", quintet_platform::ids::ulid(other.message.0));
    assert!(!in_thread("eve@example.com", "cid", &format!("In-Reply-To: {secret}")).await, "neither has a part");
    let header = "Message-ID: <first@example.com>";
    take(&bench.context, arrived(&bench, "ben@example.com", &["cid"], &answer("ben@example.com", header)))
        .await
        .unwrap();
    let first = inbox(&bench, "cid").await.last().unwrap()["thread_id"].clone();
    let header = "In-Reply-To: <first@example.com>";
    take(&bench.context, arrived(&bench, "ben@example.com", &["cid"], &answer("ben@example.com", header)))
        .await
        .unwrap();
    assert_eq!(inbox(&bench, "cid").await.last().unwrap()["thread_id"], first, "by what others call it");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_wrote_is_labelled_also_when_it_was_held() {
    let bench = bench();
    bench.agent("ann");
    let mail = |header: &str| format!("From: bot@example.com\nSubject: x\n{header}\n\ny\n");
    let labels = async |sender: &str, header: &str| {
        take(&bench.context, arrived(&bench, sender, &["ann"], &mail(header))).await.unwrap();
        inbox(&bench, "ann").await.last().unwrap()["labels"].clone()
    };
    assert_eq!(labels("bot@example.com", "Auto-Submitted: auto-generated").await, json!(["auto"]));
    assert_eq!(labels("bot@example.com", "Auto-Submitted: no").await, json!([]));
    assert_eq!(labels("bot@example.com", "X-Other: 1").await, json!([]));
    assert_eq!(labels("", "X-Other: 1").await, json!(["auto"]), "reports come from nobody");
    let dnd = json!({"state": "dnd", "seconds": 60});
    bench.call_as("ann", "PUT", "/v1/agents/ann/availability", dnd).await;
    let held = arrived(&bench, "bot@example.com", &["ann"], &mail("Auto-Submitted: auto-replied"));
    take(&bench.context, held).await.unwrap();
    assert_eq!(inbox(&bench, "ann").await.len(), 4, "it is held like others");
    verified(&bench);
    bench.advance(61).await;
    let rows = inbox(&bench, "ann").await;
    assert_eq!((rows.len(), &rows[4]["labels"]), (5, &json!(["auto"])));
    let (_, found) = bench.call_as("ann", "GET", "/v1/inbox?label=auto", Value::Null).await;
    assert_eq!(found["count"], 3);
    verified(&bench);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_with_it() {
    let bench = bench();
    bench.agent("ann");
    let large = data_encoding::BASE64.encode(&vec![7_u8; 300_000]);
    let lines: String =
        large.as_bytes().chunks(76).map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect();
    let mail = format!(
        "From: ben@example.com\nSubject: files\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\
         Content-Type: multipart/alternative; boundary=y\n\n--y\nContent-Type: text/plain; charset=iso-8859-1\n\
         Content-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe\n--y\nContent-Type: text/html\n\n<p>Gr&uuml;&szlig;e</p>\n\
         --y--\n--x\nContent-Type: application/pdf; name=\"../a b.pdf\"\nContent-Disposition: attachment; \
         filename=\"../a b.pdf\"\nContent-Transfer-Encoding: base64\n\n{lines}--x\nContent-Type: message/rfc822\n\n\
         Subject: within\n\nInner\n--x--\n"
    );
    take(&bench.context, arrived(&bench, "ben@example.com", &["ann"], &mail)).await.unwrap();
    let rows = inbox(&bench, "ann").await;
    assert_eq!(rows[0]["attachment_count"], 2);
    let shown = delivery(&bench, "ann", &rows[0]).await;
    assert_eq!(shown["text_body"], "Grüße");
    assert_eq!(shown["html_body"], "<p>Gr&uuml;&szlig;e</p>");
    let names: Vec<&Value> = shown["attachments"].as_array().unwrap().iter().map(|file| &file["filename"]).collect();
    assert_eq!(names, [&json!("../a b.pdf"), &json!("message.eml")]);
    assert_eq!(shown["attachments"][0]["size"], 300_000);
    assert_eq!(shown["attachments"][1]["content_type"], "message/rfc822");
    verified(&bench);
}

/// M5: what was refused after its recipients had been accepted is known to the operator; what comes again is not.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_leaves_a_line_and_nothing_else() {
    let mut bench = bench();
    bench.agent("ann");
    bench.agent("bea");
    let looping = format!("{}{PLAIN}", "Received: from a by b; now\n".repeat(26));
    let loops = take(&bench.context, arrived(&bench, "ben@example.com", &["ann", "bea"], &looping)).await;
    assert_eq!(loops, Err(NotTaken::Loops));
    assert!(
        take(&bench.context, arrived(&bench, "ben@example.com", &["ann"], &looping[27..])).await.is_ok(),
        "25 are good"
    );
    refused(&bench.context, &arrived(&bench, "ben@example.com", &["ann"], PLAIN), NotTaken::BareEnds).await;
    let late = arrived(&bench, "ben@example.com", &["ann"], PLAIN);
    bench.set(|workspace| workspace.limits = vec![(crate::limits::EXTERNAL_IN_PER_DAY.code, Some(1))]);
    assert_eq!(take(&bench.context, late.clone()).await, Err(NotTaken::DayIsFull));
    bench.set(|workspace| workspace.limits.clear());
    bench.call_as("ann", "POST", "/v1/agents/ann/retire", Value::Null).await;
    assert_eq!(take(&bench.context, late).await, Err(NotTaken::Nobody));
    let (_, told) = bench.call(&bench.admin, "GET", "/v1/admin/undeliverable", Value::Null).await;
    let lines = told["undeliverable"].as_array().unwrap();
    let reasons: Vec<&str> = lines.iter().map(|line| line["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(
        reasons[0].contains("5.1.1") && reasons[1].contains("5.6.0") && reasons[2].contains("5.4.6"),
        "{reasons:?}"
    );
    assert!(lines[2]["recipient"].as_str().unwrap().ends_with(" and 1 more"));
    assert_eq!(lines[2]["subject"], "Hello wörld");
    verified(&bench);
}

/// A report of what did not arrive is told once in the thread, and is no message.
#[tokio::test(flavor = "multi_thread")]
async fn reports_are_recorded_and_never_answered() {
    let bench = Bench::with_mail(Mail { is_listening: true, ..crate::testing::mail_with_relay() });
    bench.agent("ann");
    let body = json!({"to": ["ben@example.com"], "subject": "Lunch", "text": "?"});
    let (status, sent) = bench.call_as("ann", "POST", "/v1/messages", body).await;
    assert_eq!(status, 202, "{sent}");
    let envelope = format!("agentbus+acme.ann+b.{}@{DOMAIN}", sent["id"].as_str().unwrap().to_lowercase());
    let mail = "From: MAILER-DAEMON@relay.example\nSubject: Undelivered Mail\n\nNo such user.\n";
    let report = arrived_for("", vec![recipient(&bench, &envelope)], mail);
    for _ in 0..2 {
        take(&bench.context, report.clone()).await.unwrap();
    }
    let rows = inbox(&bench, "ann").await;
    assert_eq!((rows.len(), &rows[0]["direction"], &rows[0]["thread_id"]), (1, &json!("system"), &sent["thread_id"]));
    assert_eq!(rows[0]["subject"], "Not delivered: Lunch");
    let (_, told) = bench.call(&bench.admin, "GET", "/v1/admin/undeliverable", Value::Null).await;
    assert_eq!(told["undeliverable"].as_array().unwrap().len(), 2);
    assert_eq!(told["undeliverable"][0]["recipient"], "ben@example.com");
    verified(&bench);
}

/// Answers of programs and of people, and reports of a delay, go to the address that a message was sent from as well: they
/// are mail, and keep nobody from hearing that the message did not arrive.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_report_is_mail_in_the_thread() {
    let bench = Bench::with_mail(Mail { is_listening: true, ..crate::testing::mail_with_relay() });
    bench.agent("ann");
    let body = json!({"to": ["ben@example.com"], "subject": "Lunch", "text": "?"});
    let (_, sent) = bench.call_as("ann", "POST", "/v1/messages", body).await;
    let envelope = format!("agentbus+acme.ann+b.{}@{DOMAIN}", sent["id"].as_str().unwrap().to_lowercase());
    let status = |action: &str| {
        format!(
            "Content-Type: multipart/report; report-type=delivery-status; boundary=x\n\n--x\n\
             Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\nFinal-Recipient: rfc822; ben@example.com\n\
             Action: {action}\nStatus: 5.1.1\n\n--x--\n"
        )
    };
    for (sender, subject, rest, direction) in [
        ("", "away", "Auto-Submitted: auto-replied (vacation)\n\nAsk zoe.\n".to_owned(), "ingress"),
        ("ben@example.com", "away too", "Auto-Submitted: auto-replied\n\nAsk zoe.\n".to_owned(), "ingress"),
        ("ben@example.com", "Re: Lunch", "\nYes.\n".to_owned(), "ingress"),
        ("", "delayed", status("delayed"), "ingress"),
        ("", "failed", status("failed"), "system"),
    ] {
        let mail = format!("From: ben@example.com\nSubject: {subject}\n{rest}");
        take(&bench.context, arrived_for(sender, vec![recipient(&bench, &envelope)], &mail)).await.unwrap();
        let rows = inbox(&bench, "ann").await;
        let row = rows.last().unwrap();
        assert_eq!((&row["direction"], &row["thread_id"]), (&json!(direction), &sent["thread_id"]), "{subject}");
        let shown = delivery(&bench, "ann", row).await;
        match direction {
            "system" => assert!(shown["text_body"].as_str().unwrap().ends_with("\nben@example.com 5.1.1"), "{shown}"),
            _ => assert_eq!(row["subject"], *subject),
        }
    }
    let (_, told) = bench.call(&bench.admin, "GET", "/v1/admin/undeliverable", Value::Null).await;
    assert_eq!(told["undeliverable"].as_array().unwrap().len(), 1);
    verified(&bench);
}

/// All who were accepted get a mail, or nobody does.
#[tokio::test(flavor = "multi_thread")]
async fn who_goes_while_mail_comes_takes_it_from_all() {
    let bench = bench();
    bench.agent("ann");
    bench.agent("zed");
    let mail = arrived(&bench, "ben@example.com", &["ann", "zed"], PLAIN);
    let (status, answer) = bench.call_as("zed", "POST", "/v1/agents/zed/retire", Value::Null).await;
    assert!(status < 300, "{answer}");
    assert_eq!(take(&bench.context, mail).await, Err(NotTaken::Nobody));
    assert!(inbox(&bench, "ann").await.is_empty());
}

/// Whatever comes, its reader neither panics nor makes more of it than it is.
#[test]
fn whatever_comes_is_read() {
    let seed = std::env::var("QUINTET_MAIL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(11);
    println!("QUINTET_MAIL_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let words: &[&str] = &[
        "From: a@b\r\n",
        "Subject: x\r\n",
        "Content-Type: multipart/mixed; boundary=\"b\"\r\n",
        "Content-Type: message/rfc822\r\n",
        "Content-Type: text/html; charset=utf-7\r\n",
        "Content-Transfer-Encoding: base64\r\n",
        "Content-Transfer-Encoding: quoted-printable\r\n",
        "Content-Disposition: attachment; filename*0*=utf-8''%FF\r\n",
        "References: <a@b> <c@d>\r\n",
        "To: a:b@c,d@e;,\"x\" <y@z>\r\n",
        "\r\n",
        "--b\r\n",
        "--b--\r\n",
        "=FF=00=\r\n",
        "AAAA\r\n",
        "\0",
        "\u{e9}",
        "=?utf-8?q?=FF?=",
        "Received: x\r\n",
        " folded\r\n",
        ":",
        "(((",
        "\"",
        "multipart/digest",
        "Message-ID: <",
        "Auto-Submitted: ",
        "Content-Type: message/delivery-status\r\n",
        "Action: failed\r\n",
        "Final-Recipient: rfc822; ",
    ];
    for _ in 0..20_000 {
        let mut mail = Vec::new();
        for _ in 0..random.usize(1..30) {
            if random.u8(..8) == 0 {
                mail.push(random.u8(..));
            } else {
                mail.extend_from_slice(words[random.usize(..words.len())].as_bytes());
            }
        }
        let read = content::read(&mail);
        assert!(read.text.len() <= 4 * mail.len() + 200, "{:?}", String::from_utf8_lossy(&mail));
        assert!(!read.subject.chars().any(char::is_control));
        assert!(read.files.iter().map(|file| file.bytes.len()).sum::<usize>() <= 8 * mail.len() + 8);
    }
}

/// A bomb is kept as it came, in about its own size and time.
#[tokio::test(flavor = "multi_thread")]
async fn bombs_are_mail_like_others() {
    let bench = bench();
    bench.agent("ann");
    let nested = "Content-Type: message/rfc822\n\n".repeat(50_000);
    let parts = format!("Content-Type: multipart/mixed; boundary=x\n\n{}", "--x\n\n".repeat(100_000));
    let header = format!("To: {}\n\nhi\n", "a@b,".repeat(500_000));
    for (name, bomb) in [("nested", nested), ("parts", parts), ("header", header)] {
        let mail = format!("From: ben@example.com\nSubject: {name}\n{bomb}");
        assert!(mail.len() < SIZE_MAX);
        take(&bench.context, arrived(&bench, "ben@example.com", &["ann"], &mail)).await.unwrap();
        let rows = inbox(&bench, "ann").await;
        let row = rows.last().unwrap();
        assert_eq!((&row["subject"], &row["attachment_count"]), (&json!(name), &json!(0)));
        let shown = delivery(&bench, "ann", row).await;
        assert!(shown["text_body"].as_str().unwrap().starts_with("[this mail has more parts"), "{name}");
    }
    verified(&bench);
}

/// M2 and Q3: a signature of mail is no signature of the bus, and priority is nobody's to say from outside.
#[tokio::test(flavor = "multi_thread")]
async fn from_outside_nothing_is_urgent() {
    let bench = bench();
    let ann = bench.agent("ann");
    let mail = PLAIN.replace("Cc:", "X-Priority: 1\nPriority: urgent\nImportance: high\nCc:");
    take(&bench.context, arrived(&bench, "ben@example.com", &["ann"], &mail)).await.unwrap();
    let row = &inbox(&bench, "ann").await[0];
    assert_eq!((&row["priority"], &row["signature_state"]), (&json!(Priority::Normal.name()), &Value::Null));
    let read = bench.context.store.read();
    let called = origins::called(&read, ann.0, "one@example.com", 9).unwrap();
    assert_eq!(called.len(), 1);
    let key = bench.key(Scope::Read, &["ann"]);
    assert_eq!(bench.asked(&key, None, "GET", "/v1/inbox", Value::Null).await.0, 200);
}
