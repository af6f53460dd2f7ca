//! Mail that comes in.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::{DOMAIN, Server, address, open, script, setup};
use crate::support::appliance::{Appliance, Setup, stdout};
use crate::support::messaging::{Agent, Workspace, refused};

/// Sends a mail with swaks; what it printed.
fn swaks(appliance: &Appliance, to: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("swaks");
    command.args(["--server", appliance.address("smtp"), "--ehlo", "client.example", "--from", "ben@example.com"]);
    command.args(["--to", to]).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Sends the bytes of a mail as they are, with Python's smtplib.
fn send(appliance: &Appliance, to: &str, mail: &[u8]) {
    let program = "import smtplib, sys\nhost, port = sys.argv[1].split(':')\nwith smtplib.SMTP(host, int(port), 'client.example') as s:\n \
                   s.sendmail('ben@example.com', [sys.argv[2]], sys.stdin.buffer.read())\n";
    let mut python = Command::new("python3")
        .args(["-c", program, appliance.address("smtp"), to])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(mail).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn delivery(agent: &Agent, row: &Value) -> Value {
    agent.client.get(&format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap())).expect(200)
}

fn verified(appliance: &Appliance) {
    let verified = appliance.cli(&["verify"]);
    assert!(verified.status.success(), "{}", stdout(&verified));
}

#[test]
fn a_mail_of_swaks_is_in_the_inbox() {
    let appliance = setup().start();
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    let file = appliance.data().with_extension("file");
    std::fs::write(&file, vec![200_u8; 100_000]).unwrap();
    let attach = format!("@{}", file.display());
    let header = "Subject: Hello from outside";
    let arguments = ["--header", header, "--body", "How are you?", "--attach-type", "image/png", "--attach", &attach];
    let sent = swaks(&appliance, &address(&workspace, "ann"), &arguments);
    assert!(sent.status.success(), "{}", stdout(&sent));
    let rows = ann.inbox(0);
    assert_eq!(
        (rows.len(), &rows[0]["subject"], &rows[0]["direction"]),
        (1, &json!("Hello from outside"), &json!("ingress"))
    );
    let shown = delivery(&ann, &rows[0]);
    assert!(shown["text_body"].as_str().unwrap().starts_with("How are you?"));
    assert_eq!(shown["attachments"][0]["size"], 100_000);
    let path = format!("/v1/deliveries/{}/attachments/0", rows[0]["delivery_id"].as_str().unwrap());
    assert_eq!(ann.client.get(&path).header("content-type"), "image/png");
    let raw = ann.client.get(&format!("/v1/messages/{}/raw", rows[0]["message_id"].as_str().unwrap()));
    assert_eq!(raw.header("content-type"), "message/rfc822");
    assert!(raw.text.starts_with("Return-Path: <ben@example.com>"), "{}", raw.text);
    let whoami = ann.client.get("/v1/whoami").expect(200);
    let external = json!({"accepts": "anyone", "refusal_reason": null, "refused_mail": null});
    assert_eq!(whoami["workspace"]["external_mail"], external);
    verified(&appliance);
}

/// 6-messaging.md, M2: each with its code, as swaks hears it.
#[test]
fn who_is_refused_hears_why() {
    let appliance = setup().start();
    let workspace = open(&appliance);
    workspace.agent("ann");
    let closed = Workspace::open(&appliance);
    closed.agent("ann");
    let ann = address(&workspace, "ann");
    for (to, expected) in [
        (address(&workspace, "nobody"), "550 5.1.1"),
        (format!("ann@{DOMAIN}"), "550 5.1.1"),
        ("ben@elsewhere.example".to_owned(), "550 5.1.1"),
        (address(&closed, "ann"), "550 5.7.1"),
        (format!("@relay.example:{ann}"), "550 5.1.3"),
        (ann.replace('@', "%elsewhere.example@"), "550 5.1.3"),
    ] {
        let sent = swaks(&appliance, &to, &[]);
        assert!(stdout(&sent).contains(expected), "{to}: {}", stdout(&sent));
    }
    workspace.limit("external_in_per_day=0");
    assert!(stdout(&swaks(&appliance, &ann, &[])).contains("452 4.2.2"));
    workspace.limit("external_in_per_day=default");
    let received = "Received: from a.example by b.example; Mon, 1 Jan 2024 00:00:00 +0000\\n".repeat(26);
    let data = format!("{received}Subject: round and round\\n\\nx\\n.\\n");
    let looping = swaks(&appliance, &ann, &["--data", &data]);
    assert!(stdout(&looping).contains("554 5.4.6"), "{}", stdout(&looping));
    let told = workspace.admin.get("/v1/admin/undeliverable").expect(200);
    assert_eq!(told["undeliverable"][0]["subject"], "round and round");
    let listed = appliance.cli_json(&["messaging", "undeliverable", "--workspace", &workspace.slug]);
    assert_eq!(listed["items"], told["undeliverable"]);
    refused(&workspace.client("admin", &["ann"]).get("/v1/admin/undeliverable"), 403, "permission_denied");
    verified(&appliance);
}

#[test]
fn where_nobody_listens_there_is_no_address() {
    let without_domain = Setup::new().env("QUINTET_MESSAGING__SMTP_LISTEN", "127.0.0.1:0").start();
    assert!(!without_domain.services().contains(&"smtp"));
    let workspace = open(&without_domain);
    let whoami = workspace.admin.get("/v1/whoami").expect(200);
    assert_eq!(whoami["workspace"]["external_mail"]["accepts"], "nobody");
    assert_eq!(whoami["workspace"]["ingress_policy"], "closed");
    let stranger = Workspace::open(&without_domain);
    let ann = stranger.agent("ann");
    refused(&ann.send_with(&["ben@example.com"], "x", json!({})), 422, "external_mail_unavailable");
}

#[test]
fn a_connection_is_encrypted_where_there_is_a_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let own = rcgen::generate_simple_self_signed([DOMAIN.to_owned()]).unwrap();
    let (cert, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    std::fs::write(&cert, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    let setup = setup().env("QUINTET_TLS__CERT", cert.to_str().unwrap()).env("QUINTET_TLS__KEY", key.to_str().unwrap());
    let appliance = setup.start();
    let output = Command::new("openssl")
        .args(["s_client", "-starttls", "smtp", "-crlf", "-quiet", "-connect", appliance.address("smtp")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .and_then(|mut client| {
            client.stdin.take().unwrap().write_all(b"EHLO c\nMAIL FROM:<a@b>\nQUIT\n")?;
            client.wait_with_output()
        })
        .unwrap();
    let said = stdout(&output);
    assert!(said.contains("250 2.1.0") && said.contains("221 2.0.0") && !said.contains("STARTTLS\r\n250 "), "{said}");
    // What was said before is nobody's: a client that went on without encryption is not heard.
    use std::io::Read as _;
    let mut bare = appliance.connect("smtp").unwrap();
    bare.write_all(b"EHLO c\r\nSTARTTLS\r\nMAIL FROM:<a@b>\r\nQUIT\r\n").unwrap();
    bare.set_read_timeout(Some(super::PATIENCE)).unwrap();
    bare.shutdown(std::net::Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    let _ = bare.read_to_end(&mut heard);
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.contains("220 2.0.0") && !heard.contains("250 2.1.0") && !heard.contains("221 2.0.0"), "{heard}");
}

/// The keys lie with a name server that the test runs, and so does what the domain says of itself.
#[test]
fn signed_mail_is_known_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("key.pem");
    let made = Command::new("openssl").args(["genrsa", "-traditional", "-out"]).arg(&key).arg("2048").output().unwrap();
    assert!(made.status.success());
    let public = Command::new("openssl").args(["rsa", "-pubout", "-outform", "DER", "-in"]).arg(&key).output().unwrap();
    let public = base64(&public.stdout);
    let names = Server::start(
        "names.py",
        &[
            "example.com TXT v=spf1 ip4:127.0.0.1 -all",
            "_dmarc.example.com TXT v=DMARC1; p=reject",
            &format!("s1._domainkey.example.com TXT v=DKIM1; k=rsa; p={public}"),
        ],
    );
    let appliance = setup().env("QUINTET_MESSAGING__SMTP_RESOLVER", &names.address()).start();
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    let to = address(&workspace, "ann");
    let verdicts = |agent: &Agent| {
        let rows = agent.inbox(0);
        let mut verdicts = delivery(agent, rows.last().unwrap())["auth_verdicts"].clone();
        assert_eq!(verdicts["source"].take(), "127.0.0.1");
        ["spf", "dkim", "dmarc"].map(|name| verdicts[name].as_str().unwrap().to_owned())
    };
    let mail = b"From: Ben <ben@example.com>\r\nSubject: signed\r\n\r\nPay 10.\r\n";
    let mut signing = script("sign.py", &["example.com", "s1", key.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    signing.stdin.take().unwrap().write_all(mail).unwrap();
    let signed = signing.wait_with_output().unwrap().stdout;
    send(&appliance, &to, &signed);
    assert_eq!(verdicts(&ann), ["pass", "pass", "pass"]);
    let changed = String::from_utf8(signed).unwrap().replace("Pay 10.", "Pay 99.");
    send(&appliance, &to, changed.as_bytes());
    assert_eq!(verdicts(&ann)[..2], ["pass", "neutral"]);
    let forged = b"From: boss@example.org\r\nSubject: forged\r\n\r\nPay 99.\r\n";
    send(&appliance, &to, forged);
    assert_eq!(verdicts(&ann), ["pass", "none", "none"], "nothing is said of that domain");
    drop(names);
    send(&appliance, &to, b"From: ben@unknown.example\r\nSubject: later\r\n\r\nx\r\n");
    assert_eq!(ann.inbox(0).len(), 4, "a name server that is gone costs no mail");
    verified(&appliance);
}

#[test]
fn a_name_server_that_cannot_answer_costs_no_mail() {
    let names = Server::start("names.py", &["silent"]);
    let appliance = setup().env("QUINTET_MESSAGING__SMTP_RESOLVER", &names.address()).start();
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    send(&appliance, &address(&workspace, "ann"), b"From: ben@example.com\r\nSubject: x\r\n\r\ny\r\n");
    let rows = ann.inbox(0);
    let verdicts = &delivery(&ann, &rows[0])["auth_verdicts"];
    assert_eq!((&verdicts["spf"], &verdicts["dmarc"]), (&json!("temperror"), &json!("temperror")));
}

fn base64(bytes: &[u8]) -> String {
    let mut encode = Command::new("base64").arg("-w0").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    encode.stdin.take().unwrap().write_all(bytes).unwrap();
    stdout(&encode.wait_with_output().unwrap()).trim().to_owned()
}

/// 6-messaging.md, M2: so many of one source, and of all.
#[test]
fn one_source_has_twenty_connections() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let appliance = setup().start();
    let connect = || {
        let mut reader = BufReader::new(appliance.connect("smtp").unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        (reader, line)
    };
    let mut held: Vec<_> = (0..20).map(|_| connect()).collect();
    assert!(held.iter().all(|(_, line)| line.starts_with("220 ")));
    assert!(connect().1.starts_with("421 4.7.0"));
    // Who leaves in order may come again as soon as he has our goodbye.
    for _ in 0..50 {
        let (mut reader, _) = held.pop().unwrap();
        reader.get_mut().write_all(b"QUIT\r\n").unwrap();
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("221 "), "{line}");
        held.push(connect());
        assert!(held.last().unwrap().1.starts_with("220 "));
    }
    held.pop();
    super::until("a place is given back", || connect().1.starts_with("220 "));
}
