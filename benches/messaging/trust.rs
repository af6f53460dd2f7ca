//! What trust costs: a signed send beside a plain one; a send with 10 MiB of sealed attachments beside writing and syncing as
//! many bytes; from a verdict to the answer of whoever waits for it.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::{BASE64, BASE64_NOPAD};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::appliance::Appliance;
use super::load::{Connection, Make, Request, Round, Workspace, millis};
use super::{CONNECTIONS, ROUNDS, TEXT_BYTES, heading, messages, name, prepared, row};

/// As large as attachments may be, with what stands before them.
const SEALED_BYTES: usize = (10 << 20) - 4_096;
const SEALED_SENDS: usize = 20;
const VERDICTS: usize = 200;

/// Signed sends beside plain ones: the server keeps a signature and judges it when it is read.
pub async fn signed(parent: &Path, length: Duration) {
    let (appliance, workspace) = prepared(parent).await;
    let (text, signature) = ("x".repeat(TEXT_BYTES), BASE64.encode(&[7; 64]));
    let with_signature: Make = Arc::new(move |number| {
        let to = name(number.wrapping_mul(7_919) + 1);
        let body = format!(
            r#"{{"to":["{to}"],"subject":"bench","text":"{text}","signature":"{signature}","signing_key_fingerprint":"{}"}}"#,
            "f".repeat(64)
        );
        Request {
            agent: name(number.wrapping_mul(104_729)),
            path: "/v1/messages".to_owned(),
            body,
            head: String::new(),
        }
    });
    let (mut plain, mut signed): (Option<Round>, Option<Round>) = (None, None);
    for _ in 0..ROUNDS {
        plain = Some(workspace.run(appliance.id(), CONNECTIONS, length, messages(None)).await.best(plain));
        let make = Arc::clone(&with_signature);
        signed = Some(workspace.run(appliance.id(), CONNECTIONS, length, make).await.best(signed));
    }
    let (plain, signed) = (plain.unwrap(), signed.unwrap());
    heading("signed sends, 64 connections");
    row("plain", &plain);
    row("signed", &signed);
    println!("CPU of a signed send to that of a plain one: {:.2} (at most 1.3)", signed.cpu_micros / plain.cpu_micros);
}

/// A file that has the form of age's, which is all that the server looks at.
fn age_file(bytes: usize) -> Vec<u8> {
    let key = BASE64_NOPAD.encode(&[1; 32]);
    let mut file = format!("age-encryption.org/v1\n-> X25519 {key}\n{key}\n--- {key}\n").into_bytes();
    file.resize(file.len() + bytes, 7);
    file
}

/// One send after the other into an encrypted workspace, each with an attachment of 10 MiB.
pub async fn sealed(parent: &Path) {
    let appliance = Appliance::start(parent, &[]);
    let workspace = Workspace::encrypted(&appliance, "sealed");
    workspace.register(["ann".to_owned(), "ben".to_owned()]).await;
    let file = BASE64.encode(&age_file(SEALED_BYTES));
    let body = format!(
        r#"{{"to":["ben"],"subject":"bench","attachments":[{{"filename":"a.age","content_type":"application/octet-stream","content_base64":"{file}"}}]}}"#
    );
    let bytes = vec![7; SEALED_BYTES];
    let mut connection = Connection::open(&workspace).await;
    let (mut sends, mut writes) = (Vec::new(), Vec::new());
    for number in 0..SEALED_SENDS {
        let begun = Instant::now();
        connection.call("ann", "/v1/messages", &format!("sealed-{number}"), &body).await;
        sends.push(u64::try_from(begun.elapsed().as_micros()).unwrap());
        let begun = Instant::now();
        let mut written = std::fs::File::create(parent.join("written")).unwrap();
        written.write_all(&bytes).unwrap();
        written.sync_all().unwrap();
        writes.push(u64::try_from(begun.elapsed().as_micros()).unwrap());
    }
    sends.sort_unstable();
    writes.sort_unstable();
    let (sent, wrote) = (millis(&sends, 50.0), millis(&writes, 50.0));
    println!(
        "\na send with 10 MiB of sealed attachments: {sent:.1} ms (p50 of {SEALED_SENDS}); writing and syncing as much: {wrote:.1} ms"
    );
    println!("a send to that: {:.2} (at most 2)", sent / wrote);
}

/// Somebody waits for each verdict; a person presses a button on the page.
pub async fn verdicts(parent: &Path) {
    let appliance = Appliance::start(parent, &[]);
    let workspace = Workspace::new(&appliance, "asking");
    workspace.register(["ann".to_owned()]).await;
    appliance.command(&["messaging", "workspace", "limits", "asking", "approvals_per_day=unlimited"]);
    let origin = format!("http://{}", appliance.address("messaging"));
    let (mut asking, mut waiting) = (Connection::open(&workspace).await, Connection::open(&workspace).await);
    let mut page = tokio::net::TcpStream::connect(appliance.address("messaging")).await.unwrap();
    let mut delays = Vec::new();
    for number in 0..VERDICTS {
        let raised = asking.call("ann", "/v1/approvals", &format!("ask-{number}"), r#"{"title":"Deploy"}"#).await;
        let id = raised["id"].as_str().unwrap();
        let link = appliance.command(&["messaging", "approval", "link", id]);
        let path = link["url"].as_str().unwrap().strip_prefix(&origin).unwrap().to_owned();
        waiting.send("ann", &format!("/v1/approvals/{id}?wait=30"), "", "").await;
        // It waits by then.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let body = "verdict=approved";
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: bus\r\nOrigin: {origin}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        page.write_all(request.as_bytes()).await.unwrap();
        let mut buffer = vec![0; 64 << 10];
        let recorded = async {
            let count = page.read(&mut buffer).await.unwrap();
            assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..count]));
            Instant::now()
        };
        let told = async {
            let (status, answer) = waiting.receive().await;
            assert!(status == 200 && answer.contains("\"approved\""), "{answer}");
            Instant::now()
        };
        let (recorded, told) = tokio::join!(recorded, told);
        delays.push(u64::try_from(told.saturating_duration_since(recorded).as_micros()).unwrap());
    }
    delays.sort_unstable();
    let (half, most, all) = (millis(&delays, 50.0), millis(&delays, 99.0), millis(&delays, 100.0));
    println!(
        "\nfrom the page that says a verdict was recorded to the answer of who waits: p50 {half:.2}, p99 {most:.2}, max {all:.2} ms (at most 20)"
    );
}
