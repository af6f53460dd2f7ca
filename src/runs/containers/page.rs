//! What an answer says of lines: as the text that is sent, for hundreds of thousands of them would be there twice else.

use std::io::Write as _;

use quintet_platform::clock::rfc3339;
use quintet_runtime::Stream;

use super::lines::Entry;

/// What an answer holds at most, in bytes; or one line, if that is longer.
pub(crate) const PAGE_BYTES: usize = 32 << 20;
/// What an entry takes besides its line, with what the same line takes besides among the lines.
const ENTRY_BYTES: usize = r#"{"ts":"2026-01-31T09:00:00.000000Z","stream":"stdout","line":},,"#.len();

/// Lines as they are sent.
#[derive(Default)]
pub(crate) struct Page {
    lines: Vec<u8>,
    entries: Vec<u8>,
}

impl Page {
    /// How many bytes a line would take.
    pub(super) fn bytes_of(entry: &Entry) -> usize {
        ENTRY_BYTES + 2 * text_bytes(&entry.text)
    }

    /// How many bytes are taken.
    pub(super) fn bytes(&self) -> usize {
        self.lines.len() + self.entries.len()
    }

    /// Takes a line in.
    pub(super) fn push(&mut self, entry: &Entry) {
        if !self.lines.is_empty() {
            self.lines.push(b',');
            self.entries.push(b',');
        }
        let begins = self.lines.len();
        // Neither a text nor a vector can refuse.
        let _ = serde_json::to_writer(&mut self.lines, &entry.text);
        let (ts, stream) = (rfc3339(entry.at), stream_name(entry.stream));
        let _ = write!(self.entries, r#"{{"ts":"{ts}","stream":"{stream}","line":"#);
        self.entries.extend_from_slice(self.lines.get(begins..).unwrap_or_default());
        self.entries.push(b'}');
    }

    /// The lines alone, as an array; and the same with their times and streams.
    pub(crate) fn into_arrays(self) -> (Vec<u8>, Vec<u8>) {
        (self.lines, self.entries)
    }
}

/// What a stream is called.
pub(crate) const fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// How many bytes a text takes in JSON.
fn text_bytes(text: &str) -> usize {
    let byte_bytes = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    2 + text.bytes().map(byte_bytes).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use quintet_storage::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_page_is_json_and_as_long_as_was_said() {
        let mut page = Page::default();
        let (mut expected, mut bytes) = (Vec::new(), 0);
        let all: String = (0..0x250).filter_map(char::from_u32).collect();
        for (at, text) in [(0, ""), (1_700_000_000_000_001, "a \"line\""), (9, all.as_str()), (-5, "\u{fffd}\u{1f600}")]
        {
            let at = Timestamp::from_micros(at);
            let entry = Entry { at, stream: Stream::Stderr, text: text.to_owned(), next_line: 1 };
            page.push(&entry);
            bytes += Page::bytes_of(&entry);
            assert!((bytes - 2..=bytes).contains(&page.bytes()), "{bytes} {}", page.bytes());
            expected.push(json!({"ts": rfc3339(at), "stream": "stderr", "line": text}));
        }
        let (lines, entries) = page.into_arrays();
        let read =
            |array: Vec<u8>| -> Value { serde_json::from_slice(&[b"[".as_slice(), &array, b"]"].concat()).unwrap() };
        assert_eq!(read(entries), Value::from(expected.clone()));
        assert_eq!(read(lines), expected.iter().map(|entry| entry["line"].clone()).collect::<Value>());
    }
}
