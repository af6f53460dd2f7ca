//! Headers: words that are encoded where they must be (RFC 2047, RFC 2231), on lines that are folded (RFC 5322, 2.2.3).
//!
//! A value is a row of tokens; a line is folded between two of them and nowhere else. No token has a line break, and none
//! is longer than what is let in here: that is what keeps lines within 998 bytes and headers from being injected.

use std::borrow::Cow;
use std::fmt::Write as _;

use data_encoding::BASE64;

/// Where a line is folded, in bytes, if a token would go beyond.
const LINE_BYTES: usize = 78;

/// The longest word or name that is written as it is, in bytes.
const PLAIN_BYTES_MAX: usize = 70;

/// The bytes of an encoded word's text: with `=?utf-8?B?`, `?=` and base64 it has 72 of the 75 bytes it may have.
const ENCODED_BYTES_MAX: usize = 45;

/// The bytes of a piece of a parameter that is too long for a line.
const PIECE_BYTES_MAX: usize = 48;

/// Adds a header.
pub(super) fn write(out: &mut String, name: &str, tokens: &[String]) {
    out.extend([name, ":"]);
    let mut line_bytes = name.len() + 1;
    for (place, token) in tokens.iter().enumerate() {
        if place > 0 && line_bytes + 1 + token.len() > LINE_BYTES {
            out.push_str("\r\n");
            line_bytes = 0;
        }
        out.extend([" ", token]);
        line_bytes += 1 + token.len();
    }
    out.push_str("\r\n");
}

/// A text without a structure of its own, such as a subject.
pub(super) fn text(text: &str) -> Vec<String> {
    let text = one_line(text);
    if is_plain(&text) && text.split(' ').all(|word| !word.is_empty() && word.len() <= PLAIN_BYTES_MAX) {
        return text.split(' ').map(str::to_owned).collect();
    }
    encoded(&text)
}

/// A name before an address or of a group.
pub(super) fn phrase(name: &str) -> Vec<String> {
    let name = one_line(name);
    if is_plain(&name) && name.len() <= PLAIN_BYTES_MAX {
        return vec![format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))];
    }
    encoded(&name)
}

/// A parameter such as `filename`, with what it has before it behind a semicolon.
pub(super) fn parameter(name: &str, value: &str) -> Vec<String> {
    let value = one_line(value);
    if is_plain(&value) && value.len() <= PLAIN_BYTES_MAX && !value.contains(['"', '\\']) {
        return vec![format!("{name}=\"{value}\"")];
    }
    let mut pieces = vec![String::new()];
    // No piece ends within a character: some readers decode each by itself.
    for char in value.chars() {
        let mut written = String::new();
        if char.is_ascii_alphanumeric() || "-._".contains(char) {
            written.push(char);
        } else {
            for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(written, "%{byte:02X}");
            }
        }
        match pieces.last_mut() {
            Some(last) if last.len() + written.len() <= PIECE_BYTES_MAX => last.push_str(&written),
            _ => pieces.push(written),
        }
    }
    if let [only] = pieces.as_slice() {
        return vec![format!("{name}*=utf-8''{only}")];
    }
    let last = pieces.len() - 1;
    let numbered = pieces.iter().enumerate().map(|(place, piece)| {
        let (charset, more) = (if place == 0 { "utf-8''" } else { "" }, if place == last { "" } else { ";" });
        format!("{name}*{place}*={charset}{piece}{more}")
    });
    numbered.collect()
}

/// A text of one line: a blank for what ends lines or is not seen.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    // Some readers take the last two for ends of lines, after they were decoded.
    let is_hidden = |char: char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}');
    if text.chars().any(is_hidden) {
        Cow::Owned(text.chars().map(|char| if is_hidden(char) { ' ' } else { char }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a text may be written as it is: visible ASCII, without what looks like a word that was encoded.
fn is_plain(text: &str) -> bool {
    let is_visible = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    is_visible && !text.is_empty() && !text.starts_with(' ') && !text.ends_with(' ') && !text.contains("=?")
}

/// Encoded words. Readers leave out the blanks between them, so all of a text's own are in them.
fn encoded(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, more) = rest.split_at(rest.floor_char_boundary(ENCODED_BYTES_MAX));
        words.push(format!("=?utf-8?B?{}?=", BASE64.encode(word.as_bytes())));
        rest = more;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{parameter, phrase, text, write};

    #[test]
    fn texts() {
        let cases = [
            ("Build is green", "Build is green"),
            ("a\r\nBcc: b", "=?utf-8?B?YSAgQmNjOiBi?="),
            ("a\tb", "a b"),
            (" a", "=?utf-8?B?IGE=?="),
            ("", ""),
            ("é", "=?utf-8?B?w6k=?="),
            ("=?utf-8?B?w6k=?=", "=?utf-8?B?PT91dGYtOD9CP3c2az0/PQ==?="),
        ];
        for (given, expected) in cases {
            assert_eq!(text(given).join(" "), expected, "{given:?}");
        }
        let long = text(&"x".repeat(998));
        assert!(long.len() == 23 && long.iter().all(|word| word.len() <= 75), "{long:?}");
    }

    #[test]
    fn phrases() {
        assert_eq!(phrase("a \"b\" \\c"), ["\"a \\\"b\\\" \\\\c\""]);
        assert_eq!(phrase("a\nb"), ["\"a b\""]);
        assert_eq!(phrase("Zoë"), ["=?utf-8?B?Wm/Dqw==?="]);
        assert_eq!(phrase(""), [""; 0]);
    }

    #[test]
    fn parameters() {
        assert_eq!(parameter("filename", "a b.txt"), ["filename=\"a b.txt\""]);
        assert_eq!(parameter("filename", "a\"b"), ["filename*=utf-8''a%22b"]);
        assert_eq!(parameter("filename", "é"), ["filename*=utf-8''%C3%A9"]);
        assert_eq!(parameter("filename", ""), ["filename*=utf-8''"]);
        let long = parameter("filename", &"é".repeat(20));
        let (first, second) = ("%C3%A9".repeat(8), "%C3%A9".repeat(8));
        let expected = [
            format!("filename*0*=utf-8''{first};"),
            format!("filename*1*={second};"),
            format!("filename*2*={}", "%C3%A9".repeat(4)),
        ];
        assert_eq!(long, expected);
    }

    #[test]
    fn lines_are_folded_between_tokens() {
        let mut out = String::new();
        write(&mut out, "X", &["a".repeat(40), "b".repeat(40), "c".to_owned()]);
        assert_eq!(out, format!("X: {}\r\n {} c\r\n", "a".repeat(40), "b".repeat(40)));
    }
}
