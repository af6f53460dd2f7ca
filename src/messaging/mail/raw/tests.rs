//! Messages as mail, by hand-made cases, and hostile ones as two other readers take them: Python's email and mail-parser.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use data_encoding::BASE64;
use fastrand::Rng;
use mail_parser::{MessageParser, MimeHeaders};
use quintet_platform::json::{Json, Limits, parse};

use super::{Addressee, Attachment, Mail, file_type, is_message_id, written};

const ADDRESS: &str = "agentbus+acme.builder-c8239c@mail.example";

fn simple() -> Mail<'static> {
    Mail {
        id: "01KAJ5V0T1ZXCVBNM23456789A",
        domain: "mail.example",
        from: Addressee::Mailbox { name: "builder-c8239c", address: ADDRESS },
        sent_at_seconds: 1_790_000_000,
        to: &[Addressee::Mailbox { name: "", address: "bob@example.com" }],
        cc: &[],
        subject: "Build is green",
        references: &[],
        further: &[],
        text: Some("It is.\n"),
        html: None,
        attachments: &[],
    }
}

fn text(mail: &Mail<'_>) -> String {
    String::from_utf8(written(mail)).unwrap()
}

#[test]
fn a_simple_one() {
    let expected = "Date: Mon, 21 Sep 2026 14:13:20 +0000\r\n\
        From: \"builder-c8239c\" <agentbus+acme.builder-c8239c@mail.example>\r\n\
        To: <bob@example.com>\r\n\
        Subject: Build is green\r\n\
        Message-ID: <01KAJ5V0T1ZXCVBNM23456789A@mail.example>\r\n\
        MIME-Version: 1.0\r\n\
        Content-Type: text/plain; charset=utf-8\r\n\
        Content-Transfer-Encoding: 7bit\r\n\r\n\
        It is.\r\n";
    assert_eq!(text(&simple()), expected);
}

#[test]
fn a_full_one() {
    let mail = Mail {
        to: &[
            Addressee::Group("room:repo:f60ecdb16e5e"),
            Addressee::Mailbox { name: "Bob", address: "bob@example.com" },
        ],
        cc: &[Addressee::Group("tag:skill=playwright")],
        references: &["1@a.example", "bad id", "2@a.example"],
        further: &[("Auto-Submitted", "no")],
        html: Some("<p>It is.</p>"),
        attachments: &[Attachment { filename: "log.txt", content_type: "text/plain", bytes: b"ok\n" }],
        ..simple()
    };
    let text = text(&mail);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    for line in [
        "To: \"room:repo:f60ecdb16e5e\":;, \"Bob\" <bob@example.com>",
        "Cc: \"tag:skill=playwright\":;",
        "In-Reply-To: <2@a.example>",
        "References: <1@a.example> <2@a.example>",
        "Auto-Submitted: no",
    ] {
        assert!(head.split("\r\n").any(|known| known == line), "{line}\n{head}");
    }
    let mixed = head.split_once("boundary=\"").unwrap().1.split_once('"').unwrap().0;
    assert!(mixed.starts_with("=_") && mixed.len() == 34, "{mixed}");
    assert!(body.contains("Content-Type: multipart/alternative;") && body.contains("attachment; filename=\"log.txt\""));
    assert!(body.contains("\r\n\r\nb2sK\r\n"), "{body}");
    assert_eq!(text.as_bytes(), written(&mail), "the same message is the same bytes");
}

#[test]
fn nobody_at_all() {
    let mail = Mail { to: &[], text: None, ..simple() };
    assert!(text(&mail).contains("To: undisclosed-recipients:;\r\n"), "{}", text(&mail));
}

#[test]
fn what_is_no_address_is_a_name() {
    let hostile = "bob@example.com>\r\nBcc: <eve@example.com";
    let mail = Mail { to: &[Addressee::Mailbox { name: "x", address: hostile }], ..simple() };
    let text = text(&mail);
    assert!(text.contains("To: \"bob@example.com>  Bcc: <eve@example.com\":;\r\n"), "{text}");
}

#[test]
fn message_ids() {
    for good in ["1@a", "01KAJ5V0T1ZXCVBNM23456789A@mail.example", "a+b/c=d@e", &format!("{}@b", "a".repeat(248))] {
        assert!(is_message_id(good), "{good}");
    }
    for bad in ["", "a", "a b@c", "<a@b>", "a@b>", "a@b\r\nX: y", "ä@b", "a@b,c@d", &format!("{}@b", "a".repeat(249))]
    {
        assert!(!is_message_id(bad), "{bad:?}");
    }
}

#[test]
fn types_of_files() {
    let cases = [
        ("text/plain", "text/plain"),
        ("Text/HTML; charset=utf-8", "text/html"),
        ("application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.manifest.v1+json"),
        ("application/age", "application/age"),
        ("multipart/mixed; boundary=x", "application/octet-stream"),
        ("message/rfc822", "application/octet-stream"),
        ("", "application/octet-stream"),
        ("text", "application/octet-stream"),
        ("text/", "application/octet-stream"),
        ("text/a b", "application/octet-stream"),
        ("text/plain\r\nX: y", "application/octet-stream"),
        ("text/é", "application/octet-stream"),
        ("a/b/c", "application/octet-stream"),
    ];
    for (said, expected) in cases {
        assert_eq!(file_type(said), expected, "{said:?}");
    }
}

/// Texts that have broken writers and readers of mail.
const HOSTILE: [&str; 40] = [
    "",
    " ",
    "a",
    "Build is green",
    " leading and trailing ",
    "two  blanks",
    "\ttab\t",
    "a\r\nBcc: eve@example.com",
    "a\nX-Injected: yes\n\nbody",
    "a\r\rb",
    "\u{0}\u{1}\u{7f}\u{85}",
    "line\u{2028}separator\u{2029}",
    "é",
    "Grüße aus Köln — schön",
    "日本語の件名はとても長くて、一行には収まりません。とても長くて、一行には収まりません。",
    "🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲🐲",
    "e\u{301}\u{301}\u{301}",
    "\u{202e}gnp.exe",
    "=?utf-8?q?already_encoded?=",
    "=?utf-8?B?w6k=?= and =?x?",
    "=",
    "?=",
    "\"quoted\"",
    "back\\slash",
    "a, b; c: d <e@f> (g) [h] @i .j",
    "(comment",
    "<",
    "name@example.com",
    "%0d%0aBcc: x",
    "utf-8''x",
    "'",
    "../../etc/passwd",
    "file.tar.gz",
    "filename*0*=x; y=\"z",
    ".",
    "..",
    "From here",
    "--=_0123456789abcdef",
    "\u{feff}bom",
    "ı İ ß ﬃ",
];

/// One of them, or several in a row, or a long one without or with blanks.
fn hostile(random: &mut Rng, bytes_max: usize) -> String {
    let mut text = String::new();
    match random.usize(..10) {
        0 => text = "x".repeat(random.usize(..bytes_max)),
        1 => text = "é".repeat(random.usize(..bytes_max / 2)),
        2 => text = "word ".repeat(random.usize(..bytes_max / 5)),
        3 => text = "wörter ".repeat(random.usize(..bytes_max / 8)),
        _ => {
            for _ in 0..random.usize(..4) {
                text.push_str(HOSTILE[random.usize(..HOSTILE.len())]);
            }
        }
    }
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

/// A message with everything hostile, which it owns.
struct Made {
    names: Vec<String>,
    subject: String,
    references: Vec<String>,
    text: Option<String>,
    html: Option<String>,
    files: Vec<(String, String, Vec<u8>)>,
}

fn body(random: &mut Rng) -> String {
    let mut body = String::new();
    for _ in 0..random.usize(..6) {
        body.push_str(&hostile(random, 4000));
        body.push_str(["\n", "\r\n", "\n\n", "", " \n", "\n.\n"][random.usize(..6)]);
    }
    body
}

fn made(random: &mut Rng) -> Made {
    let types = ["text/plain", "image/png", "text/html", "message/rfc822", "multipart/mixed", "", "x\r\ny/z"];
    let mut files = Vec::new();
    for _ in 0..random.usize(..3) {
        let bytes = match random.bool() {
            true => body(random).into_bytes(),
            false => (0..random.usize(..3000)).map(|_| random.u8(..)).collect(),
        };
        files.push((hostile(random, 255), types[random.usize(..types.len())].to_owned(), bytes));
    }
    Made {
        names: (0..4).map(|_| hostile(random, 300)).collect(),
        subject: hostile(random, 998),
        references: (0..random.usize(..30)).map(|_| hostile(random, 200) + "@x.example").collect(),
        text: (random.usize(..5) > 0).then(|| body(random)),
        html: (random.usize(..3) == 0).then(|| body(random)),
        files,
    }
}

impl Made {
    fn written(&self) -> Vec<u8> {
        let references: Vec<&str> = self.references.iter().map(String::as_str).collect();
        let attachments: Vec<Attachment<'_>> = self
            .files
            .iter()
            .map(|(filename, content_type, bytes)| Attachment { filename, content_type, bytes })
            .collect();
        written(&Mail {
            from: Addressee::Mailbox { name: &self.names[0], address: ADDRESS },
            to: &[
                Addressee::Mailbox { name: &self.names[1], address: "bob@example.com" },
                Addressee::Group(&self.names[2]),
            ],
            cc: &[Addressee::Mailbox { name: "carol", address: &self.names[3] }],
            subject: &self.subject,
            references: &references,
            text: self.text.as_deref(),
            html: self.html.as_deref(),
            attachments: &attachments,
            ..simple()
        })
    }

    /// The contents that readers must find, in their order: a text's line ends are those of mail.
    fn contents(&self) -> Vec<Vec<u8>> {
        let lines = |text: &String| text.replace("\r\n", "\n").replace('\r', "\n").into_bytes();
        let mut contents: Vec<Vec<u8>> = self.text.iter().chain(&self.html).map(lines).collect();
        if contents.is_empty() {
            contents.push(Vec::new());
        }
        contents.extend(self.files.iter().map(|(_, _, bytes)| bytes.clone()));
        contents
    }
}

/// As it comes through a header: blanks may be lost at its ends and are one in the middle, and nothing else.
fn through_a_header(text: &str) -> String {
    let blank = |char: char| char.is_control() || char.is_whitespace() || matches!(char, '\u{2028}' | '\u{2029}');
    text.split(blank).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// As it comes through the name of an address: Python puts blanks between the words of an encoded one.
fn through_a_name(text: &str) -> String {
    through_a_header(text).replace(' ', "")
}

/// A last line that was not ended is ended in mail.
fn same_text(found: &[u8], expected: &[u8]) -> bool {
    let found: Vec<u8> = String::from_utf8_lossy(found).replace("\r\n", "\n").into_bytes();
    found == expected || found.strip_suffix(b"\n") == Some(expected)
}

fn assert_lines(bytes: &[u8], seed: u64) {
    for line in bytes.split(|byte| *byte == b'\n') {
        assert!(line.len() <= 998, "a line of {} bytes (QUINTET_MAIL_SEED={seed})", line.len());
        let inner = line.strip_suffix(b"\r").unwrap_or(line);
        assert!(
            !inner.contains(&b'\r') && !inner.contains(&0),
            "{:?} (QUINTET_MAIL_SEED={seed})",
            inner.escape_ascii().to_string()
        );
        assert!(inner.is_ascii(), "{:?} (QUINTET_MAIL_SEED={seed})", inner.escape_ascii().to_string());
    }
    let bare = bytes.windows(2).any(|pair| pair[1] == b'\n' && pair[0] != b'\r');
    assert!(!bare && bytes.first() != Some(&b'\n'), "a bare line feed (QUINTET_MAIL_SEED={seed})");
}

const HEADERS: [&str; 6] = ["Date", "From", "To", "Cc", "Subject", "Message-ID"];
const FURTHER: [&str; 5] = ["In-Reply-To", "References", "MIME-Version", "Content-Type", "Content-Transfer-Encoding"];

#[test]
fn hostile_ones_as_mail_parser_reads_them() {
    let seed =
        std::env::var("QUINTET_MAIL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let mut random = Rng::with_seed(seed);
    for _ in 0..3_000 {
        let made = made(&mut random);
        let bytes = made.written();
        assert_lines(&bytes, seed);
        let shown = String::from_utf8_lossy(&bytes).chars().take(3000).collect::<String>();
        let read = MessageParser::default().parse(&bytes).unwrap();
        for header in read.headers() {
            assert!(
                HEADERS.contains(&header.name()) || FURTHER.contains(&header.name()),
                "{shown} (QUINTET_MAIL_SEED={seed})"
            );
        }
        let subject = through_a_header(read.subject().unwrap_or_default());
        assert_eq!(subject, through_a_header(&made.subject), "{shown} (QUINTET_MAIL_SEED={seed})");
        let from = read.from().unwrap().first().unwrap();
        assert_eq!(from.address(), Some(ADDRESS), "{shown} (QUINTET_MAIL_SEED={seed})");
        assert_eq!(read.message_id(), Some("01KAJ5V0T1ZXCVBNM23456789A@mail.example"));
        let parts: Vec<_> = read.parts.iter().filter(|part| !part.is_multipart()).collect();
        let contents = made.contents();
        assert_eq!(parts.len(), contents.len(), "{shown} (QUINTET_MAIL_SEED={seed})");
        let texts = contents.len() - made.files.len();
        for (place, (part, expected)) in parts.iter().zip(&contents).enumerate() {
            let is_text = part.content_type().is_some_and(|kind| kind.ctype() == "text");
            let is_same = match place < texts {
                true => same_text(part.contents(), expected),
                // It takes every text file for text in some character set.
                false => part.contents() == expected || (is_text && !expected.is_ascii()),
            };
            assert!(
                is_same,
                "{:?} {:?} {shown} (QUINTET_MAIL_SEED={seed})",
                String::from_utf8_lossy(part.contents()),
                String::from_utf8_lossy(expected)
            );
        }
        for (part, (filename, ..)) in parts.iter().skip(texts).zip(&made.files) {
            let found = through_a_header(part.attachment_name().unwrap_or_default());
            assert_eq!(found, through_a_header(filename), "{shown} (QUINTET_MAIL_SEED={seed})");
        }
    }
}

/// What Python's email reads in each message.
fn judged(messages: &[Vec<u8>]) -> Vec<Json> {
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mails/judge.py");
    let mut python = Command::new("python3").arg(judge).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = messages.iter().map(|message| BASE64.encode(message) + "\n").collect();
    // It reads everything before it answers.
    python.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| parse(line.as_bytes(), Limits::default()).unwrap()).collect()
}

fn member<'j>(value: &'j Json, name: &str) -> &'j Json {
    value.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn items(value: &Json) -> &[Json] {
    match value {
        Json::Array(items) => items,
        other => panic!("{other:?}"),
    }
}

#[test]
fn hostile_ones_as_python_reads_them() {
    let seed =
        std::env::var("QUINTET_MAIL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let mut random = Rng::with_seed(seed);
    let all: Vec<Made> = (0..150).map(|_| made(&mut random)).collect();
    let messages: Vec<Vec<u8>> = all.iter().map(Made::written).collect();
    for ((made, bytes), read) in all.iter().zip(&messages).zip(judged(&messages)) {
        let shown = format!(
            "{} (QUINTET_MAIL_SEED={seed})",
            String::from_utf8_lossy(bytes).chars().take(3000).collect::<String>()
        );
        for name in items(member(&read, "names")) {
            let name = name.as_str().unwrap();
            assert!(HEADERS.contains(&name) || FURTHER.contains(&name), "{name} {shown}");
        }
        let subject = through_a_header(member(&read, "subject").as_str().unwrap());
        assert_eq!(subject, through_a_header(&made.subject), "{shown}");
        assert_eq!(member(&read, "date").as_str(), Some("2026-09-21T14:13:20+00:00"));
        assert_eq!(member(&read, "id").as_str(), Some("<01KAJ5V0T1ZXCVBNM23456789A@mail.example>"));
        let from = items(&items(&items(member(&read, "from"))[0])[1]);
        assert_eq!(from.len(), 1, "{shown}");
        let from = items(&from[0]);
        assert_eq!(from[1].as_str(), Some(ADDRESS), "{shown}");
        assert_eq!(through_a_name(from[0].as_str().unwrap()), through_a_name(&made.names[0]), "{shown}");
        let to = items(member(&read, "to"));
        assert_eq!(to.len(), 2, "{shown}");
        let group = items(&to[1])[0].as_str().unwrap_or_default();
        let expected = through_a_name(&made.names[2]);
        assert_eq!(through_a_name(group), if expected.is_empty() { "?" } else { &expected }, "{shown}");
        let parts: Vec<&Json> =
            items(member(&read, "parts")).iter().filter(|part| part.get("content").is_some()).collect();
        let contents = made.contents();
        assert_eq!(parts.len(), contents.len(), "{shown}");
        let texts = contents.len() - made.files.len();
        for (place, (part, expected)) in parts.iter().zip(&contents).enumerate() {
            let found = BASE64.decode(member(part, "content").as_str().unwrap().as_bytes()).unwrap();
            let is_same = if place < texts { same_text(&found, expected) } else { found == *expected };
            assert!(is_same, "{:?} {:?} {shown}", String::from_utf8_lossy(&found), String::from_utf8_lossy(expected));
            if place >= texts {
                let file = member(part, "file").as_str().unwrap_or_default();
                // It takes quotes around a name for those of the header, encoded ones too.
                let unquoted = |name: &str| through_a_header(name).trim_matches('"').to_owned();
                assert_eq!(unquoted(file), unquoted(&made.files[place - texts].0), "{shown}");
            }
        }
    }
}
