//! A message as mail: RFC 5322 with MIME, the bytes that `GET /v1/messages/{id}/raw` shows and that mail servers are
//! given (M3, M4).
//!
//! Pure: the same message is the same bytes, boundaries too. Everything in a message may have been written by somebody
//! hostile, so nothing gets into a header that could end it: addresses and message ids are checked, and what is none is
//! left out or written as a name; all else is encoded (RFC 2047, RFC 2231). Lines have at most 998 bytes.
//!
//! Reading order: `header`, `body`, and here what a message is made of.

mod body;
mod header;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use self::body::{Encoding, write_base64, write_text};
use crate::words::address::is_address;

/// The most bytes of a message id of somebody else, so that its line stays within bounds.
const MESSAGE_ID_BYTES_MAX: usize = 250;

/// The most message ids that `References` names: the newest ones tell the thread.
const REFERENCES_MAX: usize = 20;

/// What a file is whose type is none, or one that mail reads as parts of its own.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// A message, as far as mail has it.
pub(crate) struct Mail<'a> {
    /// What stands before the `@` of its message id.
    pub(crate) id: &'a str,
    /// What stands behind it.
    pub(crate) domain: &'a str,
    /// Who wrote it.
    pub(crate) from: Addressee<'a>,
    /// When, in seconds since 1970.
    pub(crate) sent_at_seconds: i64,
    /// Whom it is to.
    pub(crate) to: &'a [Addressee<'a>],
    /// Who gets it as well.
    pub(crate) cc: &'a [Addressee<'a>],
    /// Its subject.
    pub(crate) subject: &'a str,
    /// The message ids of the thread before it, the oldest first, without brackets; it answers the last one.
    pub(crate) references: &'a [&'a str],
    /// Further headers: their names are the caller's own, their values plain ASCII of his, such as `Auto-Submitted`.
    pub(crate) further: &'a [(&'static str, &'static str)],
    /// Its text.
    pub(crate) text: Option<&'a str>,
    /// The same as HTML.
    pub(crate) html: Option<&'a str>,
    /// The files with it.
    pub(crate) attachments: &'a [Attachment<'a>],
}

/// Somebody a message is from or to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee<'a> {
    /// With a name, which may be empty, and an address.
    Mailbox {
        /// As people read it.
        name: &'a str,
        /// Where mail goes.
        address: &'a str,
    },
    /// A room or a tag, as it was typed: an address list has it as a group with nobody in it.
    Group(&'a str),
}

/// A file with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attachment<'a> {
    /// Its name.
    pub(crate) filename: &'a str,
    /// Its type, as whoever sent it said.
    pub(crate) content_type: &'a str,
    /// What is in it.
    pub(crate) bytes: &'a [u8],
}

/// Writes a message.
pub(crate) fn written(mail: &Mail<'_>) -> Vec<u8> {
    let mut out = String::new();
    let mut add = |name: &str, tokens: &[String]| header::write(&mut out, name, tokens);
    add("Date", &[date(mail.sent_at_seconds)]);
    add("From", &addressees(&[mail.from]));
    add("To", &addressees(mail.to));
    if !mail.cc.is_empty() {
        add("Cc", &addressees(mail.cc));
    }
    add("Subject", &header::text(mail.subject));
    add("Message-ID", &[format!("<{}@{}>", mail.id, mail.domain)]);
    let good = mail.references.iter().filter(|id| is_message_id(id)).map(|id| format!("<{id}>"));
    let good: Vec<String> = good.collect();
    if let Some(answered) = good.last() {
        add("In-Reply-To", std::slice::from_ref(answered));
        add("References", good.get(good.len().saturating_sub(REFERENCES_MAX)..).unwrap_or_default());
    }
    for (name, value) in mail.further {
        add(name, &[(*value).to_owned()]);
    }
    add("MIME-Version", &["1.0".to_owned()]);
    write_contents(&mut out, mail);
    out.into_bytes()
}

/// Text, or text and HTML as alternatives, or these and the files; with the headers that say so.
fn write_contents(out: &mut String, mail: &Mail<'_>) {
    if mail.attachments.is_empty() {
        return write_texts(out, mail);
    }
    let boundary = begin_multipart(out, "multipart/mixed", mail);
    out.extend(["--", &boundary, "\r\n"]);
    write_texts(out, mail);
    for file in mail.attachments {
        out.extend(["\r\n--", &boundary, "\r\n"]);
        write_file(out, file);
    }
    out.extend(["\r\n--", &boundary, "--\r\n"]);
}

fn write_texts(out: &mut String, mail: &Mail<'_>) {
    match (mail.text, mail.html) {
        (Some(text), Some(html)) => {
            let boundary = begin_multipart(out, "multipart/alternative", mail);
            out.extend(["--", &boundary, "\r\n"]);
            write_text_part(out, "text/plain", text);
            out.extend(["\r\n--", &boundary, "\r\n"]);
            write_text_part(out, "text/html", html);
            out.extend(["\r\n--", &boundary, "--\r\n"]);
        }
        (None, Some(html)) => write_text_part(out, "text/html", html),
        (text, None) => write_text_part(out, "text/plain", text.unwrap_or_default()),
    }
}

/// The header of parts between boundaries. A boundary cannot occur in a part: it is a digest of the texts themselves, and
/// files are in base64, which has no `_`.
fn begin_multipart(out: &mut String, kind: &str, mail: &Mail<'_>) -> String {
    let mut digest = Sha256::new();
    for text in [kind, mail.id, mail.text.unwrap_or_default(), mail.html.unwrap_or_default()] {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    }
    let digest = HEXLOWER.encode(&digest.finalize());
    let boundary = format!("=_{}", digest.get(..32).unwrap_or_default());
    header::write(out, "Content-Type", &[format!("{kind};"), format!("boundary=\"{boundary}\"")]);
    out.push_str("\r\n");
    boundary
}

/// A part with a text, whose lines may end as they like.
fn write_text_part(out: &mut String, kind: &str, text: &str) {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let encoding = Encoding::of(&text);
    header::write(out, "Content-Type", &[format!("{kind};"), "charset=utf-8".to_owned()]);
    header::write(out, "Content-Transfer-Encoding", &[encoding.name().to_owned()]);
    out.push_str("\r\n");
    write_text(out, &text, encoding);
}

fn write_file(out: &mut String, file: &Attachment<'_>) {
    header::write(out, "Content-Type", &[file_type(file.content_type)]);
    header::write(out, "Content-Transfer-Encoding", &[Encoding::Base64.name().to_owned()]);
    let mut disposition = vec!["attachment;".to_owned()];
    disposition.extend(header::parameter("filename", file.filename));
    header::write(out, "Content-Disposition", &disposition);
    out.push_str("\r\n");
    write_base64(out, file.bytes);
}

/// The type of a file: `type/subtype` alone. Types whose parts a reader would look for are not passed on: what is in the
/// file is nothing of this message's.
fn file_type(said: &str) -> String {
    let bare = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_name = |text: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        (1..=64).contains(&text.len()) && text.bytes().all(known)
    };
    let is_good = bare
        .split_once('/')
        .is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype) && !matches!(kind, "multipart" | "message"));
    if is_good { bare } else { UNKNOWN_TYPE.to_owned() }
}

/// `Mon, 21 Sep 2026 14:13:20 +0000`; what is beyond all dates is the first one of the computer's.
fn date(seconds: i64) -> String {
    let instant = Timestamp::from_second(seconds).unwrap_or_default();
    instant.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

fn addressees(all: &[Addressee<'_>]) -> Vec<String> {
    if all.is_empty() {
        return vec!["undisclosed-recipients:;".to_owned()];
    }
    let mut tokens = Vec::new();
    for (place, one) in all.iter().enumerate() {
        tokens.extend(addressee(*one));
        if let Some(last) = tokens.last_mut().filter(|_| place + 1 < all.len()) {
            last.push(',');
        }
    }
    tokens
}

fn addressee(one: Addressee<'_>) -> Vec<String> {
    match one {
        Addressee::Mailbox { name, address } if is_address(address) => {
            let mut tokens = header::phrase(name);
            tokens.push(format!("<{address}>"));
            tokens
        }
        Addressee::Mailbox { address: name, .. } | Addressee::Group(name) => {
            let mut tokens = header::phrase(if header::one_line(name).trim().is_empty() { "?" } else { name });
            if let Some(last) = tokens.last_mut() {
                last.push_str(":;");
            }
            tokens
        }
    }
}

/// Whether a text can stand between the brackets of a message id: visible ASCII with an `@`, and no brackets.
fn is_message_id(text: &str) -> bool {
    text.len() <= MESSAGE_ID_BYTES_MAX
        && text.contains('@')
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>()[]\\,;:\"".contains(&byte))
}

#[cfg(test)]
mod tests;
