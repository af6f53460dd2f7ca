//! Commands, as lines that CR LF ends and nothing else does.

use bytes::{Buf as _, BytesMut};
use memchr::memchr;

/// The longest command, in bytes: more than any that is understood has.
const COMMAND_BYTES_MAX: usize = 2_048;

/// A line of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// It has a CR without LF, or an LF without CR: nobody can know what was meant.
    Bare,
    /// It is longer than any command.
    TooLong,
}

/// Reads lines from what has come.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// What comes until the next LF belongs to a line that is too long.
    is_passing_over: bool,
}

impl Lines {
    /// The next line, which is taken out of what has come. `None`: it has not ended yet.
    pub(super) fn next(&mut self, came: &mut BytesMut) -> Option<Line> {
        let Some(end) = memchr(b'\n', came) else {
            if came.len() > COMMAND_BYTES_MAX {
                self.is_passing_over = true;
                // A CR at the end may be that of the line's own.
                let keep = usize::from(came.last() == Some(&b'\r'));
                came.advance(came.len() - keep);
            }
            return None;
        };
        let line = came.split_to(end + 1);
        if std::mem::take(&mut self.is_passing_over) || line.len() > COMMAND_BYTES_MAX {
            return Some(Line::TooLong);
        }
        match line.strip_suffix(b"\r\n") {
            Some(line) if memchr(b'\r', line).is_none() => Some(Line::Whole(line.to_vec())),
            _ => Some(Line::Bare),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<Line> {
        let (mut lines, mut came, mut all) = (Lines::default(), BytesMut::new(), Vec::new());
        for piece in pieces {
            came.extend_from_slice(piece);
            while let Some(line) = lines.next(&mut came) {
                all.push(line);
            }
        }
        all
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn only_cr_lf_ends_a_line() {
        assert_eq!(all(&[b"EHLO a\r\nNOOP\r\nQU"]), [whole("EHLO a"), whole("NOOP")]);
        assert_eq!(all(&[b"NO", b"OP\r", b"\nQUIT\r\n"]), [whole("NOOP"), whole("QUIT")]);
        assert_eq!(all(&[b"NOOP\nQUIT\r\n"]), [Line::Bare, whole("QUIT")]);
        assert_eq!(all(&[b"NO\rOP\r\n\r\n"]), [Line::Bare, whole("")]);
        assert_eq!(all(&[b"NOOP\r\r\n"]), [Line::Bare]);
    }

    #[test]
    fn what_is_too_long_is_passed_over() {
        let long = vec![b'x'; COMMAND_BYTES_MAX + 1];
        assert_eq!(all(&[&long, &long, b"\r", b"\nQUIT\r\n"]), [Line::TooLong, whole("QUIT")]);
        let (mut lines, mut came) = (Lines::default(), BytesMut::new());
        for _ in 0..1_000 {
            came.extend_from_slice(&long);
            assert_eq!(lines.next(&mut came), None);
            assert!(came.len() <= COMMAND_BYTES_MAX + 1, "nothing of it is held");
        }
    }

    proptest! {
        /// However it comes, the same lines are read.
        #[test]
        fn pieces_do_not_matter(bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), any::<u8>()], 0..300), cut in 1_usize..9) {
            let pieces: Vec<&[u8]> = bytes.chunks(cut).collect();
            prop_assert_eq!(all(&pieces), all(&[&bytes]));
        }
    }
}
