//! Whether a mail can be taken apart within bounds: what its reader makes of some bytes is a hundred times as large, and
//! messages within messages go as deep as there are bytes.
//!
//! Looked at without taking it apart, and carefully: every line that could begin a part is taken for one that does, and all
//! lines behind it, up to an empty one, for headers. What a mail that people send has is far below these bounds; what is
//! beyond them is kept as it came, with its text as one piece.

use memchr::memchr;
use memchr::memmem::find_iter;

/// Bytes of all headers together, of parts as well.
const HEADER_BYTES_MAX: usize = 1 << 20;
/// Lines of all headers together.
const HEADER_LINES_MAX: usize = 20_000;
/// Places at which a part could begin.
const PARTS_MAX: usize = 10_000;
/// Words that make a part one with parts of its own.
const NESTED_MAX: usize = 100;
/// The words.
const NESTING: [&[u8]; 4] = [b"multipart", b"rfc822", b"global", b"digest"];

/// Whether a mail can be taken apart.
pub(super) fn is_within(mail: &[u8]) -> bool {
    let lower = mail.to_ascii_lowercase();
    let nested: usize = NESTING.iter().map(|word| find_iter(&lower, word).take(NESTED_MAX + 1).count()).sum();
    if nested > NESTED_MAX {
        return false;
    }
    let has_digest = find_iter(&lower, b"digest").next().is_some();
    let mut sections = Sections { has_digest, ..Sections::default() };
    let mut rest = lower.as_slice();
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(memchr(b'\n', rest).map_or(rest.len(), |end| end + 1));
        if !sections.take(line) {
            return false;
        }
        rest = behind;
    }
    sections.is_good()
}

/// What was seen of headers, and of what could be some.
struct Sections {
    is_within: bool,
    /// The header that is being read, without white space.
    header: Vec<u8>,
    bytes: usize,
    lines: usize,
    parts: usize,
    has_digest: bool,
    has_encoding: bool,
}

impl Default for Sections {
    fn default() -> Sections {
        Sections {
            is_within: true,
            header: Vec::new(),
            bytes: 0,
            lines: 0,
            parts: 0,
            has_digest: false,
            has_encoding: false,
        }
    }
}

impl Sections {
    /// Takes a line in; `false`: that is too much.
    fn take(&mut self, line: &[u8]) -> bool {
        let is_empty = matches!(line, b"\r\n" | b"\n");
        if find_iter(line, b"--").next().is_some() {
            // A reader looks for a boundary wherever two hyphens stand.
            self.parts += dashes(line);
            if !self.is_within {
                self.is_within = true;
                self.header.clear();
            }
        }
        if self.is_within {
            self.bytes += line.len();
            self.lines += 1;
            if is_empty {
                return self.header_ends();
            }
            self.header.extend(line.iter().filter(|byte| !byte.is_ascii_whitespace()));
        }
        self.bytes <= HEADER_BYTES_MAX && self.lines <= HEADER_LINES_MAX && self.parts <= PARTS_MAX
    }

    /// At the end of a header: a message within the mail goes on with its own. One that is encoded would be taken apart
    /// where it cannot be looked at, which the standard has for no message (RFC 2046, 5.2.1).
    fn header_ends(&mut self) -> bool {
        let header = std::mem::take(&mut self.header);
        let has = |word: &[u8]| find_iter(&header, word).next().is_some();
        let is_message = has(b"rfc822") || has(b"global");
        let is_encoded = encodings(&header)
            .any(|value| ![b"7bit".as_slice(), b"8bit", b"binary"].iter().any(|plain| value.starts_with(plain)));
        self.has_encoding |= is_encoded;
        self.is_within = is_message || self.has_digest;
        !(is_message && is_encoded)
    }

    /// Whether all of it together is good.
    fn is_good(&self) -> bool {
        let is_small = self.bytes <= HEADER_BYTES_MAX && self.lines <= HEADER_LINES_MAX && self.parts <= PARTS_MAX;
        is_small && !(self.has_digest && self.has_encoding)
    }
}

/// What stands behind each name of an encoding in a header without white space.
fn encodings(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    const NAME: &[u8] = b"transfer-encoding:";
    find_iter(header, NAME).map(|at| header.get(at + NAME.len()..).unwrap_or_default())
}

/// Runs of two hyphens or more.
fn dashes(line: &[u8]) -> usize {
    let mut runs = 0;
    let mut hyphens = 0;
    for byte in line {
        hyphens = if *byte == b'-' { hyphens + 1 } else { 0 };
        runs += usize::from(hyphens == 2);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_send_is_within_bounds() {
        let mail = "From: a@b\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\
                    Content-Transfer-Encoding: quoted-printable\r\n\r\n-- \r\nA signature=20\r\n--x\r\n\
                    Content-Type: message/rfc822\r\n\r\nSubject: within\r\n\r\nText\r\n--x--\r\n";
        assert!(is_within(mail.as_bytes()));
        assert!(is_within(b""));
        assert!(is_within(b"no header at all"));
        let lines = "a line of text, of 70 characters or so, as people write them, you know\r\n".repeat(300_000);
        assert!(is_within(format!("Subject: long\r\n\r\n{lines}").as_bytes()));
    }

    #[test]
    fn bombs_are_not() {
        let headers = |line: &str, count: usize| format!("Subject: x\r\n{}\r\n", line.repeat(count));
        let nested = "Content-Type: message/rfc822\r\n\r\n".repeat(1_000);
        let within = format!("Content-Type: message/rfc822\r\n\r\n{}\r\n", "a:\r\n".repeat(30_000));
        let encoded = |encoding: &str| {
            format!("Content-Type: message/rfc822\r\nContent-Transfer-Encoding:{encoding}\r\n\r\nYTpiCg==\r\n")
        };
        for (name, bomb) in [
            ("headers", headers("a:\r\n", 30_000)),
            ("one header", headers(&format!("To: {}\r\n", "a,".repeat(600_000)), 1)),
            ("parts", format!("Subject: x\r\n\r\n{}", "--x\r\n\r\n".repeat(11_000))),
            ("parts in one line", format!("Subject: x\r\n\r\n{}", "--x ".repeat(11_000))),
            ("messages in messages", nested),
            ("headers of a message within", within),
            ("an encoded message", encoded(" base64")),
            ("an encoding that is a word", encoded(" =?utf-8?q?base64?=")),
            ("a folded one", "Content-Type: message/\r\n rfc822\r\nContent-Transfer-Encoding:\r\n\tbase64\r\n\r\nx".to_owned()),
            ("digests", "Content-Type: multipart/digest; boundary=x\r\n\r\n".repeat(200)),
            (
                "an encoded part of a digest",
                "Content-Type: multipart/digest; boundary=x\r\n\r\n--x\r\nContent-Transfer-Encoding: base64\r\n\r\nYQ==\r\n"
                    .to_owned(),
            ),
        ] {
            assert!(!is_within(bomb.as_bytes()), "{name}");
        }
        assert!(is_within(encoded(" 7bit").as_bytes()) && is_within(encoded("8bit").as_bytes()));
    }
}
