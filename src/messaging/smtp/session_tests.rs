//! Conversations, as tables.

use quintet_storage::Uuid;

use super::session::{Directory, Session, Step};
use crate::intake::{Found, Recipient};
use crate::model::{AgentNo, WorkspaceNo};

/// A directory in which names say what they stand for: `one-…`, `two-…` for agents of workspaces.
struct Names;

impl Directory for Names {
    fn find(&self, address: &str) -> Found {
        let name = address.split('@').next().unwrap();
        let number = |text: &str| text.split_once('.').and_then(|(w, a)| Some((w.parse().ok()?, a.parse().ok()?)));
        match name {
            "closed" => Found::Closed,
            "full" => Found::DayIsFull,
            "unknown" => Found::Unknown,
            name => match number(name) {
                Some((workspace, agent)) => Found::Here(Recipient {
                    workspace: WorkspaceNo(workspace),
                    tenant_id: Uuid::nil(),
                    agent: AgentNo(agent),
                    name: name.to_owned(),
                    address: address.to_owned(),
                    bounce_of: None,
                }),
                None => Found::Nobody,
            },
        }
    }
}

fn said(step: &Step) -> String {
    let (kind, reply) = match step {
        Step::Say(reply) => ("", reply),
        Step::Encrypt(reply) => ("encrypt ", reply),
        Step::Read(reply) => ("read ", reply),
        Step::Leave(reply) => ("leave ", reply),
    };
    format!("{kind}{} {}", reply.code, reply.status).trim_end().to_owned()
}

/// What is answered to each command of a session.
fn converse(offers_tls: bool, commands: &[&str]) -> Vec<String> {
    let mut session = Session::new("mail.example", offers_tls);
    let mut all = Vec::new();
    for command in commands {
        let step = session.command(command.as_bytes(), &Names);
        if matches!(step, Step::Encrypt(_)) {
            session.encrypted();
        }
        if matches!(step, Step::Read(_)) {
            assert!(session.take_envelope().is_some_and(|envelope| !envelope.recipients.is_empty()));
        }
        all.push(said(&step));
    }
    all
}

#[track_caller]
fn check(offers_tls: bool, table: &[(&str, &str)]) {
    let commands: Vec<&str> = table.iter().map(|(command, _)| *command).collect();
    let expected: Vec<&str> = table.iter().map(|(_, answer)| *answer).collect();
    assert_eq!(converse(offers_tls, &commands), expected);
}

#[test]
fn mails_one_after_the_other() {
    check(
        false,
        &[
            ("EHLO client.example", "250"),
            ("MAIL FROM:<a@b.example> SIZE=100 BODY=8BITMIME", "250 2.1.0"),
            ("RCPT TO:<1.1@mail.example>", "250 2.1.5"),
            ("RCPT TO:<1.1@mail.example>", "250 2.1.5"),
            ("RCPT TO:<1.2@mail.example>", "250 2.1.5"),
            ("DATA", "read 354"),
            ("mail from:<>", "250 2.1.0"),
            ("rcpt to:<2.1@mail.example>", "250 2.1.5"),
            ("data", "read 354"),
            ("QUIT", "leave 221 2.0.0"),
        ],
    );
}

#[test]
fn what_is_out_of_turn() {
    check(
        false,
        &[
            ("MAIL FROM:<a@b>", "503 5.5.1"),
            ("RCPT TO:<1.1@mail.example>", "503 5.5.1"),
            ("DATA", "503 5.5.1"),
            ("HELO client", "250"),
            ("DATA", "503 5.5.1"),
            ("MAIL FROM:<a@b>", "250 2.1.0"),
            ("MAIL FROM:<a@b>", "503 5.5.1"),
            ("DATA", "503 5.5.1"),
            ("RSET", "250 2.0.0"),
            ("RCPT TO:<1.1@mail.example>", "503 5.5.1"),
            ("MAIL FROM:<a@b>", "250 2.1.0"),
            ("EHLO client", "250"),
            ("RCPT TO:<1.1@mail.example>", "503 5.5.1"),
        ],
    );
}

/// 6-messaging.md, M2: who is written to, and what everybody else is answered.
#[test]
fn recipients() {
    let before = [("EHLO client", "250"), ("MAIL FROM:<a@b>", "250 2.1.0")];
    for (recipient, answer) in [
        ("<1.1@mail.example>", "250 2.1.5"),
        ("<nobody@mail.example>", "550 5.1.1"),
        ("<postmaster>", "550 5.1.1"),
        ("<closed@mail.example>", "550 5.7.1"),
        ("<full@mail.example>", "452 4.2.2"),
        ("<unknown@mail.example>", "451 4.3.0"),
        ("<@relay.example:1.1@mail.example>", "550 5.1.3"),
        ("<1.1%elsewhere.example@mail.example>", "550 5.1.3"),
        ("<\"1.1\"@mail.example>", "550 5.1.3"),
        ("<elsewhere!1.1@mail.example>", "550 5.1.3"),
        ("<1.1@mail.example@elsewhere.example>", "550 5.1.3"),
        ("<1.1@mail.example> NOTIFY=NEVER", "555 5.5.4"),
        ("1.1@mail.example", "501 5.5.4"),
        ("<1.1@mail.example", "501 5.5.4"),
        ("", "501 5.5.4"),
    ] {
        let command = format!("RCPT TO:{recipient}");
        check(false, &[before[0], before[1], (&command, answer)]);
    }
}

#[test]
fn senders_and_parameters() {
    for (sender, answer) in [
        ("<> BODY=7BIT", "250 2.1.0"),
        ("<a@b> SIZE=26214400", "250 2.1.0"),
        ("<a@b> SIZE=26214401", "552 5.3.4"),
        ("<a@b> SIZE=99999999999999999999", "501 5.5.4"),
        ("<a@b> SIZE=-1", "501 5.5.4"),
        ("<a@b> BODY=BINARYMIME", "501 5.5.4"),
        ("<a@b> SMTPUTF8", "555 5.5.4"),
        ("<a@b> AUTH=<>", "555 5.5.4"),
        ("<a>", "553 5.1.7"),
        ("<a@>", "553 5.1.7"),
        ("a@b", "501 5.5.4"),
        ("<a@b", "501 5.5.4"),
    ] {
        let command = format!("MAIL FROM:{sender}");
        check(false, &[("EHLO client", "250"), (&command, answer)]);
    }
}

#[test]
fn as_many_recipients_as_there_may_be() {
    let mut commands = vec!["EHLO client".to_owned(), "MAIL FROM:<a@b>".to_owned()];
    commands.extend((0..101).map(|agent| format!("RCPT TO:<1.{agent}@mail.example>")));
    commands.push("DATA".to_owned());
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let answers = converse(false, &commands);
    assert!(answers[2..102].iter().all(|answer| answer == "250 2.1.5"));
    assert_eq!(answers[102..], ["452 4.5.3", "read 354"]);
    let mut commands = vec!["EHLO client".to_owned(), "MAIL FROM:<a@b>".to_owned()];
    commands.extend((1..6).map(|workspace| format!("RCPT TO:<{workspace}.1@mail.example>")));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    assert_eq!(converse(false, &commands)[5..], ["250 2.1.5", "452 4.5.3"], "each workspace keeps it for itself");
}

#[test]
fn encrypting_forgets_what_was_said() {
    check(
        true,
        &[
            ("EHLO client", "250"),
            ("MAIL FROM:<a@b>", "250 2.1.0"),
            ("STARTTLS now", "501 5.5.4"),
            ("STARTTLS", "encrypt 220 2.0.0"),
            ("RCPT TO:<1.1@mail.example>", "503 5.5.1"),
            ("MAIL FROM:<a@b>", "503 5.5.1"),
            ("STARTTLS", "503 5.5.1"),
            ("EHLO client", "250"),
        ],
    );
    check(false, &[("EHLO client", "250"), ("STARTTLS", "502 5.5.1")]);
}

#[test]
fn what_is_offered() {
    let mut session = Session::new("mail.example", true);
    let lines = |step: Step| match step {
        Step::Say(reply) => reply.lines,
        other => panic!("{other:?}"),
    };
    let expected = ["mail.example", "SIZE 26214400", "8BITMIME", "PIPELINING", "ENHANCEDSTATUSCODES", "STARTTLS"]
        .map(str::to_owned);
    assert_eq!(lines(session.command(b"EHLO client", &Names)), expected);
    session.encrypted();
    assert_eq!(lines(session.command(b"EHLO client", &Names)), expected[..5]);
    assert_eq!(lines(session.command(b"HELO client", &Names)), ["mail.example"]);
    assert_eq!(session.greeted(), Some(("client", false)));
}

#[test]
fn what_is_no_command() {
    for (line, answer) in [
        ("", "500 5.5.1"),
        ("HTTP/1.1 GET /", "500 5.5.1"),
        ("EHLO", "501 5.5.4"),
        ("EHLO a b", "501 5.5.4"),
        ("QUIT now", "501 5.5.4"),
        ("AUTH PLAIN AGEAYg==", "502 5.5.1"),
        ("BDAT 5 LAST", "502 5.5.1"),
        ("EXPN staff", "502 5.5.1"),
        ("VRFY ben", "252 2.5.0"),
        ("NOOP whatever", "250 2.0.0"),
        ("HELP", "214 2.0.0"),
        ("EHLO caf\u{e9}", "500 5.5.2"),
        ("EHLO a\0b", "500 5.5.2"),
        ("EHLO a\tb", "500 5.5.2"),
    ] {
        check(false, &[(line, answer)]);
    }
    let long = format!("EHLO {}", "a".repeat(256));
    check(false, &[(&long, "501 5.5.4")]);
}

#[test]
fn who_makes_ten_errors_is_left() {
    let mut commands = vec!["EHLO client", "MAIL FROM:<a@b>"];
    commands.extend(["RCPT TO:<nobody@mail.example>"; 10]);
    let answers = converse(false, &commands);
    assert_eq!(answers[10..], ["550 5.1.1", "leave 421 4.7.0"]);
}
