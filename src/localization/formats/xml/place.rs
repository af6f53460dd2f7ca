//! Where in a document something stands: lines and characters, counted as it is read.

use crate::formats::refusal::{Code, ReaderRefusal};

/// A place in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    line: usize,
    column: usize,
    is_behind_cr: bool,
}

impl Place {
    /// Before its first character.
    pub const START: Place = Place { line: 1, column: 1, is_behind_cr: false };

    /// The place behind so much more, in UTF-8. Parts of characters count when their first byte comes.
    pub fn pass(&mut self, bytes: &[u8]) {
        let is_first = |byte: u8| byte & 0xC0 != 0x80;
        if !self.is_behind_cr && !bytes.contains(&b'\r') {
            let last = bytes.iter().rposition(|byte| *byte == b'\n');
            if let Some(last) = last {
                self.line += bytes.iter().filter(|byte| **byte == b'\n').count();
                self.column = 1;
                return self.pass(bytes.get(last + 1..).unwrap_or_default());
            }
            self.column += bytes.iter().filter(|byte| is_first(**byte)).count();
            return;
        }
        for &byte in bytes {
            match byte {
                b'\n' if self.is_behind_cr => {}
                b'\n' | b'\r' => {
                    self.line += 1;
                    self.column = 1;
                }
                _ => self.column += usize::from(is_first(byte)),
            }
            self.is_behind_cr = byte == b'\r';
        }
    }

    /// A refusal there.
    pub fn refuses(self, code: Code) -> ReaderRefusal {
        ReaderRefusal { code, line: self.line, column: self.column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_three_ways() {
        let mut place = Place::START;
        for part in ["a\r", "\nb", "é", "\r\rc\n", "x"] {
            place.pass(part.as_bytes());
        }
        assert_eq!((place.line, place.column), (5, 2));
        place.pass(b"y\nz");
        assert_eq!(place.refuses(Code::Malformed), ReaderRefusal { code: Code::Malformed, line: 6, column: 2 });
    }
}
