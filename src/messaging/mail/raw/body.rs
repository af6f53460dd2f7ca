//! Bodies of parts, as mail carries them: lines of 76 bytes at most, in ASCII, ended by CR LF (RFC 2045, 6).

use std::fmt::Write as _;

use data_encoding::BASE64;

/// The longest line, in bytes, without its end.
const LINE_BYTES: usize = 76;

/// Bytes that make a line of base64.
const BASE64_LINE_BYTES: usize = 57;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As it is.
    SevenBit,
    /// With most characters as they are.
    QuotedPrintable,
    /// With none.
    Base64,
}

impl Encoding {
    /// As the header says it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Encoding::SevenBit => "7bit",
            Encoding::QuotedPrintable => "quoted-printable",
            Encoding::Base64 => "base64",
        }
    }

    /// That which keeps most of a text, with its lines ended by a line feed, readable.
    pub(super) fn of(text: &str) -> Encoding {
        let escaped = text.bytes().filter(|byte| !is_plain(*byte) && !b" \t\n".contains(byte)).count();
        if escaped * 2 > text.len() {
            return Encoding::Base64;
        }
        let is_short = |line: &str| line.len() <= LINE_BYTES && !line.ends_with([' ', '\t']);
        let is_ascii = text.bytes().all(|byte| byte.is_ascii_graphic() || b" \t\n".contains(&byte));
        if is_ascii && text.split('\n').all(is_short) { Encoding::SevenBit } else { Encoding::QuotedPrintable }
    }
}

/// Adds a text, with its lines ended by a line feed. Its last line gets an end if it has none, as all lines of mail have.
pub(super) fn write_text(out: &mut String, text: &str, encoding: Encoding) {
    match encoding {
        Encoding::Base64 => write_base64(out, text.replace('\n', "\r\n").as_bytes()),
        Encoding::SevenBit => {
            for line in text.lines() {
                out.extend([line, "\r\n"]);
            }
        }
        Encoding::QuotedPrintable => {
            for line in text.lines() {
                write_quoted(out, line.as_bytes());
                out.push_str("\r\n");
            }
        }
    }
}

/// Adds what is in a file.
pub(super) fn write_base64(out: &mut String, bytes: &[u8]) {
    out.reserve(bytes.len() / BASE64_LINE_BYTES * 78 + 78);
    for line in bytes.chunks(BASE64_LINE_BYTES) {
        BASE64.encode_append(line, out);
        out.push_str("\r\n");
    }
}

/// A line; a longer one goes on behind a `=` that readers take away with the line's end.
fn write_quoted(out: &mut String, line: &[u8]) {
    let mut column = 0;
    for (place, byte) in line.iter().enumerate() {
        let is_last = place + 1 == line.len();
        // Blanks at the end of a line are lost on the way.
        let is_kept = is_plain(*byte) || (matches!(*byte, b' ' | b'\t') && !is_last);
        let bytes = if is_kept { 1 } else { 3 };
        if column + bytes + usize::from(!is_last) > LINE_BYTES {
            out.push_str("=\r\n");
            column = 0;
        }
        if is_kept {
            out.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "={byte:02X}");
        }
        column += bytes;
    }
}

/// Whether quoted-printable leaves a byte as it is, wherever it stands.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'='
}

#[cfg(test)]
mod tests {
    use super::{Encoding, write_base64, write_text};

    #[test]
    fn encodings() {
        let long = "x".repeat(77);
        let cases = [
            ("", Encoding::SevenBit),
            ("a\nb\n", Encoding::SevenBit),
            ("a=b\t.", Encoding::SevenBit),
            ("a \nb", Encoding::QuotedPrintable),
            (&long, Encoding::QuotedPrintable),
            ("Grüße aus Köln", Encoding::QuotedPrintable),
            ("escape \u{1b}[0m here", Encoding::QuotedPrintable),
            ("日本語", Encoding::Base64),
            ("\0\0", Encoding::Base64),
        ];
        for (text, expected) in cases {
            assert_eq!(Encoding::of(text), expected, "{text:?}");
        }
    }

    fn quoted(text: &str) -> String {
        let mut out = String::new();
        write_text(&mut out, text, Encoding::QuotedPrintable);
        out
    }

    #[test]
    fn quoted_printable() {
        assert_eq!(quoted("a=b é \t"), "a=3Db =C3=A9 =09\r\n");
        assert_eq!(quoted("a\n\nb\n"), "a\r\n\r\nb\r\n");
        let x = |count: usize| "x".repeat(count);
        assert_eq!(quoted(&x(76)), format!("{}\r\n", x(76)));
        assert_eq!(quoted(&x(77)), format!("{}=\r\n{}\r\n", x(75), x(2)));
        assert_eq!(quoted(&format!("{}é", x(74))), format!("{}=\r\n=C3=A9\r\n", x(74)));
        assert_eq!(quoted(&format!("{} ", x(75))), format!("{}=\r\n=20\r\n", x(75)));
    }

    #[test]
    fn base64() {
        let mut out = String::new();
        write_base64(&mut out, &[0; 58]);
        assert_eq!(out, format!("{}\r\nAA==\r\n", "A".repeat(76)));
        out.clear();
        write_base64(&mut out, &[]);
        assert_eq!(out, "");
    }
}
