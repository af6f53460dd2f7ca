//! A mail as it is sent: until CR LF . CR LF and nothing else, with the dots taken off that were put before lines which
//! begin with one (RFC 5321, 4.5.2).
//!
//! A CR or LF by itself ends nothing here, and is not passed on either: what takes it for the end of a line, before this or
//! behind it, would see two mails where this sees one. A mail that has one is read to its end and refused.

use memchr::memchr2;

/// Where in a line the last byte stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Behind CR LF.
    Start,
    /// Behind the dot that a line begins with.
    Dot,
    /// Behind that and a CR.
    DotCr,
    /// Within a line.
    Within,
    /// Behind a CR.
    Cr,
}

/// A mail that is being read.
#[derive(Debug)]
pub(super) struct Body {
    place: Place,
    bytes: Vec<u8>,
    bytes_max: usize,
    /// How many bytes there were, also of what is not held.
    came: u64,
    is_bare: bool,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// All of it.
    Whole(Vec<u8>),
    /// It has a CR or an LF by itself; its beginning.
    Bare(Vec<u8>),
    /// It is larger than it may be; its beginning.
    TooLarge(Vec<u8>),
}

impl Body {
    /// One of so many bytes at most.
    pub(super) fn new(bytes_max: usize) -> Body {
        Body { place: Place::Start, bytes: Vec::new(), bytes_max, came: 0, is_bare: false }
    }

    /// How many bytes of it are held.
    pub(super) fn held(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes have come.
    pub(super) fn came(&self) -> u64 {
        self.came
    }

    /// Whether it will be refused: nothing more of it is held.
    pub(super) fn is_spoilt(&self) -> bool {
        self.is_bare || self.came > self.bytes_max as u64
    }

    /// Reads what has come; how much of it belongs to the mail if that is its end, and `None` if it goes on.
    pub(super) fn read(&mut self, came: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = came.get(at).copied() {
            if self.place == Place::Within && byte != b'\r' && byte != b'\n' {
                let rest = came.get(at..).unwrap_or_default();
                let (plain, _) = rest.split_at(memchr2(b'\r', b'\n', rest).unwrap_or(rest.len()));
                self.take(plain);
                at += plain.len();
                continue;
            }
            at += 1;
            if self.step(byte) {
                return Some(at);
            }
        }
        None
    }

    /// Takes one byte in. `true`: it was the last.
    fn step(&mut self, byte: u8) -> bool {
        self.place = match (self.place, byte) {
            (Place::Start, b'.') => Place::Dot,
            (Place::Dot, b'\r') => Place::DotCr,
            (Place::DotCr, b'\n') => return true,
            (Place::Cr, b'\n') => {
                self.take(b"\r\n");
                Place::Start
            }
            (Place::Cr | Place::DotCr, _) => {
                self.is_bare = true;
                if byte == b'\r' { Place::Cr } else { Place::Within }
            }
            (_, b'\r') => Place::Cr,
            (_, b'\n') => {
                self.is_bare = true;
                Place::Within
            }
            (_, byte) => {
                self.take(&[byte]);
                Place::Within
            }
        };
        false
    }

    fn take(&mut self, bytes: &[u8]) {
        self.came = self.came.saturating_add(bytes.len() as u64);
        if !self.is_spoilt() {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// What became of it, when it has come to its end.
    pub(super) fn end(self) -> Read {
        let is_too_large = self.came > self.bytes_max as u64;
        match (self.is_bare, is_too_large) {
            (true, _) => Read::Bare(self.bytes),
            (false, true) => Read::TooLarge(self.bytes),
            (false, false) => Read::Whole(self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What was read, and what of the bytes lies behind it.
    fn read(sent: &[u8], cut: usize, most: usize) -> (Option<Read>, Vec<u8>) {
        let mut body = Body::new(most);
        let mut rest = sent;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(cut.min(rest.len()));
            if let Some(used) = body.read(piece) {
                let left = [&piece[used..], behind].concat();
                return (Some(body.end()), left);
            }
            rest = behind;
        }
        (None, Vec::new())
    }

    /// What ends a mail, and what does not: smuggling lives on the difference.
    #[test]
    fn the_table_of_ends() {
        let whole = |text: &str| Some(Read::Whole(text.as_bytes().to_vec()));
        let bare = |text: &str| Some(Read::Bare(text.as_bytes().to_vec()));
        let cases: &[(&str, Option<Read>, &str)] = &[
            (".\r\n", whole(""), ""),
            ("a\r\n.\r\nQUIT\r\n", whole("a\r\n"), "QUIT\r\n"),
            ("..\r\n.a\r\n.\r\n", whole(".\r\na\r\n"), ""),
            ("...\r\n.\r\n", whole("..\r\n"), ""),
            ("a.\r\n.\r\n", whole("a.\r\n"), ""),
            (". \r\n.\r\n", whole(" \r\n"), ""),
            // Each of these ended a mail somewhere.
            ("a\n.\nMAIL FROM:<b>\r\n.\r\n", bare("a"), ""),
            ("a\n.\r\nMAIL FROM:<b>\r\n.\r\n", bare("a"), ""),
            ("a\r.\rMAIL FROM:<b>\r\n.\r\n", bare("a"), ""),
            ("a\r.\r\nMAIL FROM:<b>\r\n.\r\n", bare("a"), ""),
            ("a\r\n.\nMAIL FROM:<b>\r\n.\r\n", bare("a\r\n"), ""),
            ("a\r\n.\rMAIL FROM:<b>\r\n.\r\n", bare("a\r\n"), ""),
            ("a\r\n.\r\rMAIL FROM:<b>\r\n.\r\n", bare("a\r\n"), ""),
            ("a\r\r\n.\r\n", bare("a"), ""),
            ("a\n\r\n.\r\n", bare("a"), ""),
            ("\n.\r\n", None, ""),
            ("\r.\r\n", None, ""),
            ("a\r\n.\r", None, ""),
            ("a.\r\n", None, ""),
        ];
        for (sent, expected, left) in cases {
            for cut in [1, 2, 3, 100] {
                let (found, behind) = read(sent.as_bytes(), cut, 1_000);
                assert_eq!((&found, behind.as_slice()), (expected, left.as_bytes()), "{sent:?} by {cut}");
            }
        }
    }

    #[test]
    fn of_what_is_too_large_no_more_is_held_than_may_be() {
        let sent = [vec![b'x'; 5_000], b"\r\n.\r\n".to_vec()].concat();
        for cut in [1, 7, 10_000] {
            let Some(Read::TooLarge(held)) = read(&sent, cut, 99).0 else { panic!("it is too large") };
            assert!(held.len() <= 99);
        }
        assert_eq!(read(b"12345\r\n.\r\n", 3, 7).0, Some(Read::Whole(b"12345\r\n".to_vec())));
        assert!(matches!(read(b"123456\r\n.\r\n", 3, 7).0, Some(Read::TooLarge(_))));
    }

    /// As it is sent: dots doubled, and the end.
    fn stuffed(lines: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        for line in lines {
            if line.starts_with(b".") {
                out.push(b'.');
            }
            out.extend_from_slice(line);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b".\r\n");
        out
    }

    proptest! {
        /// Whatever is in its lines comes out as it went in, and what is behind it is left.
        #[test]
        fn what_is_sent_is_what_is_read(
            lines in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![Just(b'.'), any::<u8>()], 0..20), 0..20),
            cut in 1_usize..40,
        ) {
            let lines: Vec<Vec<u8>> = lines
                .into_iter()
                .map(|line| line.into_iter().filter(|byte| !b"\r\n".contains(byte)).collect())
                .collect();
            let mut sent = stuffed(&lines);
            sent.extend_from_slice(b"QUIT\r\n");
            let expected: Vec<u8> = lines.iter().flat_map(|line| [line.as_slice(), b"\r\n"].concat()).collect();
            prop_assert_eq!(read(&sent, cut, 10_000), (Some(Read::Whole(expected)), b"QUIT\r\n".to_vec()));
        }

        /// A mail ends at the first CR LF . CR LF, or at the beginning, whatever else it has.
        #[test]
        fn it_ends_where_the_standard_says(
            bytes in proptest::collection::vec(prop_oneof![Just(b'.'), Just(b'\r'), Just(b'\n'), Just(b'a')], 0..40),
            cut in 1_usize..9,
        ) {
            let sent = [bytes.as_slice(), b"\r\n.\r\nX"].concat();
            let end = b"\r\n.\r\n";
            let first = [b"\r\n".as_slice(), &sent].concat().windows(5).position(|five| five == end).unwrap() + 3;
            let (found, left) = read(&sent, cut, 1_000);
            prop_assert!(found.is_some());
            prop_assert_eq!(left, &sent[first..]);
        }
    }
}
