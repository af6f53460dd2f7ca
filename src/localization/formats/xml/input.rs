//! The characters of a document, from UTF-8 or UTF-16, as far as somebody wants to look at them at once, and how far they
//! have been read.

use std::io::{self, Read};

use super::fault::ReadError;
use super::place::Place;
use crate::formats::refusal::Code;

/// How many bytes are taken at a time, at least.
const TAKEN_BYTES: usize = 64 << 10;

/// How the bytes of a document stand for characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Utf8,
    Utf16 { is_big_endian: bool },
}

/// The characters of a document.
pub(super) struct Input<R> {
    inner: R,
    /// `None`: nothing has been read yet.
    coding: Option<Coding>,
    /// What can be looked at, from `start` on; before that, what has been passed.
    ready: String,
    start: usize,
    /// Bytes that are no characters yet: half of one.
    rest: Vec<u8>,
    /// Where what lies in `ready` begins.
    ready_place: Place,
    mark: Mark,
    /// Behind what is ready stand bytes that are no characters.
    is_ill_coded: bool,
}

/// A place that may be asked for: lines and characters are counted only once somebody does, or the characters go.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// At a byte of what is ready.
    Ready(usize),
    /// In what is not there any more.
    Gone(Place),
}

impl<R: Read> Input<R> {
    pub fn new(inner: R) -> Input<R> {
        Input {
            inner,
            coding: None,
            ready: String::new(),
            start: 0,
            rest: Vec::new(),
            ready_place: Place::START,
            mark: Mark::Ready(0),
            is_ill_coded: false,
        }
    }

    /// What can be looked at.
    pub fn window(&self) -> &str {
        self.ready.get(self.start..).unwrap_or_default()
    }

    /// Passes so many bytes of what can be looked at.
    pub fn consume(&mut self, bytes: usize) {
        self.start = self.start.saturating_add(bytes).min(self.ready.len());
    }

    /// Makes more ready to be looked at, as much again at least; whether there is more.
    ///
    /// # Errors
    /// [`Code::EncodingInvalid`] where the bytes stand for no characters; the source's.
    pub fn more(&mut self) -> Result<bool, ReadError> {
        self.drop_consumed();
        let before = self.ready.len();
        while self.ready.len() == before {
            if self.is_ill_coded {
                return Err(self.place_at(before).refuses(Code::EncodingInvalid).into());
            }
            let most = self.ready.len().max(TAKEN_BYTES);
            let taken = self.inner.by_ref().take(most as u64).read_to_end(&mut self.rest);
            let is_end = taken.map_err(|error| ReadError::Failed(io::Error::new(error.kind(), error)))? == 0;
            self.decode(is_end);
            if is_end && !self.is_ill_coded {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Marks the place behind what has been consumed.
    pub fn mark(&mut self) {
        self.mark = Mark::Ready(self.start);
    }

    /// The place that was marked last.
    pub fn marked(&self) -> Place {
        match self.mark {
            Mark::Ready(at) => self.place_at(at),
            Mark::Gone(place) => place,
        }
    }

    /// Where a byte of what can be looked at stands.
    pub fn place(&self, at: usize) -> Place {
        self.place_at(self.start + at)
    }

    fn place_at(&self, at: usize) -> Place {
        let mut place = self.ready_place;
        place.pass(self.ready.as_bytes().get(..at).unwrap_or_default());
        place
    }

    /// What was found at the beginning.
    pub fn coding(&self) -> Coding {
        self.coding.unwrap_or(Coding::Utf8)
    }

    fn drop_consumed(&mut self) {
        if let Mark::Ready(at) = self.mark {
            self.mark = if at == self.start { Mark::Ready(0) } else { Mark::Gone(self.place_at(at)) };
        }
        self.ready_place = self.place_at(self.start);
        self.ready.drain(..self.start);
        self.start = 0;
    }

    /// UTF-16 has a byte order mark, as XML demands it (4.3.3); UTF-8 may have one.
    fn begin(&mut self) -> Coding {
        let (coding, marked) = match self.rest.as_slice() {
            [0xFE, 0xFF, ..] => (Coding::Utf16 { is_big_endian: true }, 2),
            [0xFF, 0xFE, ..] => (Coding::Utf16 { is_big_endian: false }, 2),
            [0xEF, 0xBB, 0xBF, ..] => (Coding::Utf8, 3),
            // UTF-16 without a mark.
            [0, ..] | [_, 0, ..] => {
                self.is_ill_coded = true;
                (Coding::Utf8, self.rest.len())
            }
            _ => (Coding::Utf8, 0),
        };
        self.rest.drain(..marked);
        self.coding = Some(coding);
        coding
    }

    /// Makes characters of bytes, up to those that stand for none.
    fn decode(&mut self, is_end: bool) {
        let coding = match self.coding {
            Some(coding) => coding,
            None => self.begin(),
        };
        let (bytes, is_broken) = match coding {
            Coding::Utf8 => self.decode_utf8(),
            Coding::Utf16 { is_big_endian } => self.decode_utf16(is_big_endian),
        };
        self.rest.drain(..bytes);
        self.is_ill_coded |= is_broken || is_end && !self.rest.is_empty();
    }

    /// How many bytes became characters, and whether those behind them never will.
    fn decode_utf8(&mut self) -> (usize, bool) {
        match std::str::from_utf8(&self.rest) {
            Ok(text) => {
                self.ready.push_str(text);
                (text.len(), false)
            }
            Err(error) => {
                let valid = self.rest.get(..error.valid_up_to()).unwrap_or_default();
                self.ready.push_str(std::str::from_utf8(valid).unwrap_or_default());
                (valid.len(), error.error_len().is_some())
            }
        }
    }

    /// As [`Input::decode_utf8`].
    fn decode_utf16(&mut self, is_big_endian: bool) -> (usize, bool) {
        let (pairs, _) = self.rest.as_chunks::<2>();
        let units = pairs.iter().map(|pair| match is_big_endian {
            true => u16::from_be_bytes(*pair),
            false => u16::from_le_bytes(*pair),
        });
        let mut bytes = 0;
        for character in char::decode_utf16(units) {
            match character {
                Ok(character) => {
                    self.ready.push(character);
                    bytes += 2 * character.len_utf16();
                }
                // The second half of a pair of surrogates may be yet to come.
                Err(error) => {
                    let is_first_half = matches!(error.unpaired_surrogate(), 0xD800..=0xDBFF);
                    return (bytes, !is_first_half || bytes + 4 <= self.rest.len());
                }
            }
        }
        (bytes, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Drops<'b>(&'b [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(3);
            self.0.read(&mut into[..most])
        }
    }

    /// All characters, of which some are passed before more are asked for.
    fn all(bytes: &[u8]) -> Result<String, ReadError> {
        let mut input = Input::new(Drops(bytes));
        let mut text = String::new();
        while input.more()? {
            let passed = input.window().floor_char_boundary(50_000);
            text.push_str(&input.window()[..passed]);
            input.consume(passed);
        }
        Ok(text + input.window())
    }

    fn utf16(text: &str, mark: &[u8], to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        mark.iter().copied().chain(text.encode_utf16().flat_map(to_bytes)).collect()
    }

    #[test]
    fn both_orders_of_utf_16_and_both_sorts_of_utf_8() {
        let text = "a😀é\u{10ffff}".repeat(20_000);
        assert_eq!(all(text.as_bytes()).unwrap(), text);
        assert_eq!(all(format!("\u{feff}{text}").as_bytes()).unwrap(), text);
        assert_eq!(all(&utf16(&text, b"\xFE\xFF", u16::to_be_bytes)).unwrap(), text);
        assert_eq!(all(&utf16(&text, b"\xFF\xFE", u16::to_le_bytes)).unwrap(), text);
        assert_eq!(all(b"").unwrap(), "");
        assert_eq!(all(b"\xFF\xFE").unwrap(), "");
    }

    #[test]
    fn what_stands_for_no_characters_is_refused_where_it_stands() {
        let cut = utf16("a😀", b"\xFE\xFF", u16::to_be_bytes);
        for (bad, column) in [
            (&cut[..cut.len() - 2], 2),
            (&cut[..cut.len() - 1], 2),
            (b"\xFE\xFF\xDC\x00\x00a", 1),
            (b"\xFE\xFF\x00a\xD8\x3D\x00a", 2),
            (b"\0<\0a", 1),
            (b"<\0a\0", 1),
            (b"a\xC3\xA9\xC3", 3),
            (b"a\xC3b", 2),
        ] {
            let error = all(bad).unwrap_err();
            let ReadError::Refused(refusal) = error else { panic!("{error}") };
            assert_eq!((refusal.code, refusal.line, refusal.column), (Code::EncodingInvalid, 1, column), "{bad:?}");
        }
    }

    fn behind(text: &str) -> Place {
        let mut place = Place::START;
        place.pass(text.as_bytes());
        place
    }

    #[test]
    fn places_are_those_of_the_whole() {
        let text = "ab\ncdé\r\n".repeat(20_000);
        let mut input = Input::new(text.as_bytes());
        let mut passed = 0;
        while input.more().unwrap() {
            let half = input.window().floor_char_boundary(input.window().len() / 2 + 1);
            input.consume(half);
            passed += half;
            input.mark();
            assert_eq!(input.marked(), behind(&text[..passed]));
            input.consume(1);
            passed += 1;
            if !text.is_char_boundary(passed) {
                input.consume(1);
                passed += 1;
            }
        }
        assert!(passed > 60_000);
        assert_eq!(input.place(0), behind(&text[..passed]));
    }
}
