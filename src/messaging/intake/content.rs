//! What stands in a mail: its header, its text, the files with it.

use mail_parser::{Address, HeaderName, HeaderValue, Message, MessageParser, MessagePart, MimeHeaders as _, PartType};

use super::bounds::is_within;
use super::model::{File, Read};
use super::report::report_of;
use crate::words::address::is_address;
use crate::words::subject::SUBJECT_BYTES_MAX;

/// The longest text that is kept apart, in bytes, as of messages; all of it is in the mail.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// The most files that are kept apart.
const FILES_MAX: usize = 100;
/// The most addresses of a header that are kept apart.
const ADDRESSES_MAX: usize = 50;
/// The most characters of a name.
const NAME_CHARS_MAX: usize = 255;
/// The most references that are looked at, the nearest.
const REFERENCES_MAX: usize = 20;
/// The longest message id that is taken for one, in bytes.
const ID_BYTES_MAX: usize = 250;
/// What stands at the end of a text that is cut.
const CUT: &str = "\n[cut: all of it is in the raw message]";
/// What is said where files are left out.
const LEFT_OUT: &str = "\n[further files are in the raw message]";
/// What is said of a mail that is not taken apart.
const WHOLE: &str = "[this mail has more parts or headers than are taken apart; what follows is its body as it came]\n";

/// Reads a mail.
pub(super) fn read(mail: &[u8]) -> Read {
    if is_within(mail)
        && let Some(message) = MessageParser::default().parse(mail)
    {
        return taken_apart(mail, &message);
    }
    as_a_whole(mail)
}

/// One that is not taken apart: of its header the beginning is read, and the body is its text.
fn as_a_whole(mail: &[u8]) -> Read {
    const HEADER_BYTES_MAX: usize = 64 << 10;
    let begin = mail.get(..HEADER_BYTES_MAX).unwrap_or(mail);
    let read = MessageParser::default().parse_headers(begin).map_or_else(Read::default, |message| header(&message));
    let Read { received, text, .. } = as_it_came(mail);
    Read { received, text, ..read }
}

/// One of which nothing is read but how many servers it passed: its body is its text.
pub(super) fn as_it_came(mail: &[u8]) -> Read {
    let body = memchr::memmem::find(mail, b"\r\n\r\n").and_then(|at| mail.get(at + 4..)).unwrap_or_default();
    let shown = body.get(..TEXT_BYTES_MAX).unwrap_or(body);
    let text = without_nul(cut(format!("{WHOLE}{}", String::from_utf8_lossy(shown))));
    Read { received: count_received(mail), text, ..Read::default() }
}

fn taken_apart(mail: &[u8], message: &Message<'_>) -> Read {
    let mut read = header(message);
    read.report = report_of(mail, message);
    read.received = count_received(mail);
    let mut text = texts(message, &message.text_body, |place| message.body_text(place).map(|text| text.into_owned()));
    let has_html = message.html_body.iter().any(|part| is_html(message, *part));
    let html = has_html
        .then(|| texts(message, &message.html_body, |place| message.body_html(place).map(|text| text.into_owned())));
    let html = html.filter(|html| html.len() <= TEXT_BYTES_MAX);
    if text.trim().is_empty() && html.is_none() && message.text_body.is_empty() {
        text.clear();
    }
    let mut files: Vec<File> = message.attachments().take(FILES_MAX).map(|part| file(mail, part)).collect();
    if message.attachment_count() > files.len() {
        text.push_str(LEFT_OUT);
    }
    if has_html && html.is_none() && files.len() < FILES_MAX {
        let whole = message.body_html(0).map(|html| html.into_owned()).unwrap_or_default();
        let (name, content_type) = ("message.html".to_owned(), "text/html".to_owned());
        files.push(File { name, content_type, bytes: whole.into_bytes() });
    }
    read.text = cut(without_nul(text.replace("\r\n", "\n")));
    read.html = html.map(without_nul);
    read.files = files;
    read
}

/// Texts of several parts, one after the other.
fn texts(message: &Message<'_>, parts: &[u32], text: impl Fn(usize) -> Option<String>) -> String {
    let mut whole = String::new();
    for place in 0..parts.len() {
        if whole.len() > TEXT_BYTES_MAX {
            break;
        }
        let is_text = parts.get(place).is_some_and(|part| is_text(message, *part));
        if let Some(text) = is_text.then(|| text(place)).flatten() {
            if !whole.is_empty() && !whole.ends_with('\n') {
                whole.push('\n');
            }
            whole.push_str(&text);
        }
    }
    whole
}

fn part<'m, 'x>(message: &'m Message<'x>, id: u32) -> Option<&'m MessagePart<'x>> {
    message.parts.get(usize::try_from(id).unwrap_or(usize::MAX))
}

fn is_html(message: &Message<'_>, id: u32) -> bool {
    part(message, id).is_some_and(|part| matches!(part.body, PartType::Html(_)))
}

fn is_text(message: &Message<'_>, id: u32) -> bool {
    part(message, id).is_some_and(|part| matches!(part.body, PartType::Html(_) | PartType::Text(_)))
}

fn file(mail: &[u8], part: &MessagePart<'_>) -> File {
    let (usual, bytes): (&str, Vec<u8>) = match &part.body {
        PartType::Text(text) => ("text/plain", text.as_bytes().to_vec()),
        PartType::Html(text) => ("text/html", text.as_bytes().to_vec()),
        PartType::Binary(bytes) | PartType::InlineBinary(bytes) => ("application/octet-stream", bytes.to_vec()),
        PartType::Message(_) | PartType::Multipart(_) => {
            let (from, to) = (part.raw_body_offset(), part.raw_end_offset());
            let place = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
            ("message/rfc822", mail.get(place(from)..place(to)).unwrap_or_default().to_vec())
        }
    };
    let said = part.content_type().map(|said| match said.subtype() {
        Some(subtype) => format!("{}/{subtype}", said.ctype()),
        None => said.ctype().to_owned(),
    });
    let is_type = |text: &String| {
        let is_token = |part: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
            (1..=64).contains(&part.len()) && part.bytes().all(known)
        };
        text.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
    };
    let content_type = said.map(|said| said.to_ascii_lowercase()).filter(is_type).unwrap_or_else(|| usual.to_owned());
    let name = part.attachment_name().map(|name| line(name, NAME_CHARS_MAX)).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| if usual == "message/rfc822" { "message.eml" } else { "attachment" }.to_owned());
    File { name, content_type, bytes }
}

fn header(message: &Message<'_>) -> Read {
    let from = message.from().and_then(|from| from.first()).and_then(|first| {
        let address = first.address().unwrap_or_default().trim();
        let name = first.name().map(|name| line(name, NAME_CHARS_MAX)).unwrap_or_default();
        if is_address(address) { Some((name, address.to_owned())) } else { None }
    });
    let mut references = ids(message.header(HeaderName::InReplyTo));
    let mut earlier = ids(message.header(HeaderName::References));
    earlier.reverse();
    references.extend(earlier);
    references.dedup();
    references.truncate(REFERENCES_MAX);
    Read {
        from,
        to: addresses(message.to()),
        cc: addresses(message.cc()),
        subject: subject(message.subject().unwrap_or_default()),
        message_id: message.message_id().map(str::to_owned).filter(|id| is_id(id)),
        references,
        is_automatic: is_automatic(message),
        is_auto_reply: submitted(message).is_some_and(|said| said.eq_ignore_ascii_case("auto-replied")),
        ..Read::default()
    }
}

/// RFC 3834, 5: whatever is not `no` was made by a program; reports and lists say so in other words.
fn is_automatic(message: &Message<'_>) -> bool {
    let says = submitted(message).is_some_and(|said| !said.eq_ignore_ascii_case("no"));
    let is_report = message.content_type().is_some_and(|said| said.subtype() == Some("report"));
    says || is_report
}

/// How a mail says that it was made, but for what stands behind that.
fn submitted<'m>(message: &'m Message<'_>) -> Option<&'m str> {
    let said = message.header(HeaderName::AutoSubmitted).and_then(HeaderValue::as_text)?;
    said.split([';', '(']).next().map(str::trim)
}

fn addresses(of: Option<&Address<'_>>) -> Vec<String> {
    let all = of.into_iter().flat_map(|all| all.iter());
    let mut found: Vec<String> = Vec::new();
    for address in all.filter_map(|one| one.address()).map(str::trim) {
        if found.len() == ADDRESSES_MAX {
            break;
        }
        if is_address(address) && !found.iter().any(|known| known == address) {
            found.push(address.to_owned());
        }
    }
    found
}

/// Message ids of a header, in its order.
fn ids(value: Option<&HeaderValue<'_>>) -> Vec<String> {
    let all: Vec<&str> = match value {
        Some(HeaderValue::Text(one)) => vec![one],
        Some(HeaderValue::TextList(all)) => all.iter().map(AsRef::as_ref).collect(),
        _ => Vec::new(),
    };
    let newest = all.len().saturating_sub(REFERENCES_MAX);
    all.into_iter().skip(newest).filter(|id| is_id(id)).map(str::to_owned).collect()
}

fn is_id(text: &str) -> bool {
    text.len() <= ID_BYTES_MAX && text.contains('@') && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// How many servers a mail has passed, as far as it says (6-messaging.md, M2).
pub(super) fn count_received(mail: &[u8]) -> usize {
    let end = memchr::memmem::find(mail, b"\r\n\r\n").map_or(mail.len(), |end| end + 2);
    let header = mail.get(..end).unwrap_or(mail);
    let is_it = |line: &&[u8]| line.get(..9).is_some_and(|begin| begin.eq_ignore_ascii_case(b"Received:"));
    header.split(|byte| *byte == b'\n').filter(is_it).take(1_000).count()
}

/// What a mail says it is about, however it looks else: for what is told of one that is refused.
pub(super) fn subject_of(mail: &[u8]) -> String {
    let begin = mail.get(..64 << 10).unwrap_or(mail);
    let message = MessageParser::default().parse_headers(begin);
    subject(message.as_ref().and_then(|message| message.subject()).unwrap_or_default())
}

/// A subject: without control characters, and no longer than one may be (6-messaging.md, M3).
fn subject(text: &str) -> String {
    let mut subject: String = text.chars().filter(|char| !char.is_control()).collect();
    subject.truncate(subject.floor_char_boundary(SUBJECT_BYTES_MAX));
    subject
}

/// A text of one line.
fn line(text: &str, chars_max: usize) -> String {
    let visible: String = text.chars().filter(|char| !char.is_control()).take(chars_max).collect();
    visible.trim().to_owned()
}

fn cut(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX - CUT.len()));
        text.push_str(CUT);
    }
    text
}

fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(header: &str) -> Read {
        read(format!("{header}\r\n\r\nText\r\n").as_bytes())
    }

    #[test]
    fn who_wrote_it() {
        let from = |header: &str| with(header).from;
        let some = |name: &str, address: &str| Some((name.to_owned(), address.to_owned()));
        for (header, expected) in [
            ("From: ben@example.com", some("", "ben@example.com")),
            ("From: \"Ben, B.\" <ben@example.com>", some("Ben, B.", "ben@example.com")),
            ("From: =?utf-8?q?B=0D=0ABcc=3A_x?= <ben@example.com>", some("BBcc: x", "ben@example.com")),
            ("From: a@example.com, b@example.com", some("", "a@example.com")),
            ("From: team: a@example.com;", some("", "a@example.com")),
            ("From: Ben <>", None),
            ("From: Ben <not an address>", None),
            ("From: <a@b@c>", None),
            ("From:", None),
            ("Subject: none", None),
        ] {
            assert_eq!(from(header), expected, "{header}");
        }
        let long = format!("From: {} <ben@example.com>", "n".repeat(5_000));
        assert_eq!(from(&long).unwrap().0.len(), NAME_CHARS_MAX);
    }

    #[test]
    fn subjects_are_a_line() {
        for (header, expected) in [
            ("Subject: Hello\r\n there", "Hello there"),
            ("Subject: =?utf-8?q?a=0D=0ABcc=3A_b=00c?=", "aBcc: bc"),
            ("Subject: =?iso-8859-1?q?Gr=FC=DFe?=", "Grüße"),
            ("Subject:", ""),
            ("X: y", ""),
        ] {
            assert_eq!(with(header).subject, expected, "{header}");
        }
        assert_eq!(with(&format!("Subject: {}", "é".repeat(900))).subject.len(), SUBJECT_BYTES_MAX);
    }

    #[test]
    fn what_is_answered() {
        let references = |header: &str| with(header).references;
        assert_eq!(references("References: <a@b> <c@d>\r\n <e@f>\r\nIn-Reply-To: <e@f>"), ["e@f", "c@d", "a@b"]);
        assert_eq!(references("References: none, <two words@x> <a@b>"), ["a@b"]);
        let many: String = (0..500).map(|number| format!("<{number}@x>\r\n ")).collect();
        let found = references(&format!("References: {many}"));
        assert_eq!((found.len(), found[0].as_str()), (REFERENCES_MAX, "499@x"));
        assert_eq!(with("Message-ID: <one@example.com>").message_id.as_deref(), Some("one@example.com"));
        assert_eq!(with(&format!("Message-ID: <{}@x>", "a".repeat(300))).message_id, None);
    }

    #[test]
    fn what_nobody_wrote() {
        for (header, expected) in [
            ("Auto-Submitted: auto-replied (vacation)", true),
            ("AUTO-SUBMITTED: auto-generated; x=y", true),
            ("Auto-Submitted: no", false),
            ("Auto-Submitted: No ; x", false),
            ("Content-Type: multipart/report; report-type=delivery-status; boundary=x", true),
            ("Precedence: bulk", false),
        ] {
            assert_eq!(with(header).is_automatic, expected, "{header}");
        }
    }

    #[test]
    fn servers_that_it_passed_are_those_of_its_own_header() {
        let lines = "Received: a\r\nreceived: b\r\nX-Received: c\r\n Received: d\r\n\r\nReceived: e\r\n";
        assert_eq!(count_received(lines.as_bytes()), 2);
    }

    #[test]
    fn texts_are_cut_and_the_rest_is_in_the_mail() {
        let read = with(&format!("Subject: x\r\n\r\n{}", "é".repeat(TEXT_BYTES_MAX)));
        assert!(read.text.len() <= TEXT_BYTES_MAX && read.text.ends_with(CUT));
        let html = format!("Content-Type: text/html\r\n\r\n<p>{}", "x".repeat(TEXT_BYTES_MAX));
        let read = with(&html);
        assert_eq!((read.html, read.files.len()), (None, 1));
        assert_eq!(read.files[0].content_type, "text/html");
        assert!(read.text.starts_with("xxx"), "a text is made of it");
    }

    #[test]
    fn eight_bits_without_a_word_about_them() {
        assert_eq!(read(b"From: a@b\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n").text, "Grüße\n");
        assert!(read(b"From: a@b\r\n\r\nGr\xfc\xdfe\r\n").text.starts_with("Gr\u{fffd}\u{fffd}e"));
        assert_eq!(read(b"From: a@b\r\n\r\na\0b\r\n").text, "ab\n");
    }
}
