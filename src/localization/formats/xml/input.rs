//! The bytes of a document as UTF-8, from UTF-8 or UTF-16, and how far they have been read.

use std::io::{self, BufRead, Read};

use super::place::Place;

/// How many bytes are taken at a time.
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
    /// UTF-8 that has not been consumed, from `start` on.
    ready: Vec<u8>,
    start: usize,
    /// Bytes of UTF-16 that have not been looked at: half a character.
    rest: Vec<u8>,
    /// Where what lies in `ready` begins.
    ready_place: Place,
    mark: Mark,
    is_ill_coded: bool,
}

/// A place that may be asked for: lines and characters are counted only once somebody does, or the bytes go.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// At a byte of what is ready.
    Ready(usize),
    /// In what is not there any more.
    Gone(Place),
}

impl<R: Read> Input<R> {
    pub fn new(inner: R) -> Input<R> {
        let (ready, rest, mark) = (Vec::new(), Vec::new(), Mark::Ready(0));
        let ready_place = Place::START;
        Input { inner, coding: None, ready, start: 0, rest, ready_place, mark, is_ill_coded: false }
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

    /// Behind what has been consumed.
    pub fn place(&self) -> Place {
        self.place_at(self.start)
    }

    fn place_at(&self, at: usize) -> Place {
        let mut place = self.ready_place;
        place.pass(self.ready.get(..at).unwrap_or_default());
        place
    }

    /// What was found at the beginning.
    pub fn coding(&self) -> Coding {
        self.coding.unwrap_or(Coding::Utf8)
    }

    /// Whether reading failed because the bytes stand for no characters.
    pub fn is_ill_coded(&self) -> bool {
        self.is_ill_coded
    }

    /// So many bytes, fewer at the end.
    fn take(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(most);
        self.inner.by_ref().take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn refuse(&mut self) -> io::Error {
        self.is_ill_coded = true;
        io::Error::from(io::ErrorKind::InvalidData)
    }

    /// UTF-16 has a byte order mark, as XML demands it (4.3.3); UTF-8 may have one.
    fn begin(&mut self) -> io::Result<()> {
        let bytes = self.take(TAKEN_BYTES)?;
        let (coding, marked) = match bytes.as_slice() {
            [0xFE, 0xFF, ..] => (Coding::Utf16 { is_big_endian: true }, 2),
            [0xFF, 0xFE, ..] => (Coding::Utf16 { is_big_endian: false }, 2),
            [0xEF, 0xBB, 0xBF, ..] => (Coding::Utf8, 3),
            [0, ..] | [_, 0, ..] => return Err(self.refuse()),
            _ => (Coding::Utf8, 0),
        };
        self.coding = Some(coding);
        let bytes = bytes.get(marked..).unwrap_or_default();
        self.decode(coding, bytes)
    }

    fn go_on(&mut self) -> io::Result<()> {
        self.mark = Mark::Gone(self.marked());
        self.ready_place = self.place();
        self.ready.clear();
        self.start = 0;
        let Some(coding) = self.coding else { return self.begin() };
        let bytes = self.take(TAKEN_BYTES)?;
        self.decode(coding, &bytes)
    }

    fn decode(&mut self, coding: Coding, bytes: &[u8]) -> io::Result<()> {
        match coding {
            Coding::Utf8 => self.ready.extend_from_slice(bytes),
            Coding::Utf16 { is_big_endian } => {
                let is_end = bytes.is_empty();
                self.rest.extend_from_slice(bytes);
                let mut units: Vec<u16> = Vec::with_capacity(self.rest.len() / 2);
                let (pairs, odd) = self.rest.as_chunks::<2>();
                units.extend(pairs.iter().map(|pair| match is_big_endian {
                    true => u16::from_be_bytes(*pair),
                    false => u16::from_le_bytes(*pair),
                }));
                let mut kept = odd.to_vec();
                // The second half of a pair of surrogates may be yet to come.
                if let Some(last) = units.pop_if(|last| !is_end && matches!(*last, 0xD800..=0xDBFF)) {
                    let half = if is_big_endian { last.to_be_bytes() } else { last.to_le_bytes() };
                    kept.splice(0..0, half);
                }
                self.rest = kept;
                if is_end && !self.rest.is_empty() {
                    return Err(self.refuse());
                }
                let mut text = String::with_capacity(units.len());
                for character in char::decode_utf16(units) {
                    match character {
                        Ok(character) => text.push(character),
                        Err(_) => return Err(self.refuse()),
                    }
                }
                self.ready = text.into_bytes();
                // Half a character alone is no end.
                if self.ready.is_empty() && !is_end {
                    return self.go_on();
                }
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start >= self.ready.len() {
            self.go_on()?;
        }
        Ok(self.ready.get(self.start..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.start = self.start.saturating_add(amount).min(self.ready.len());
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

    fn all(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        Input::new(Drops(bytes)).read_to_string(&mut text)?;
        Ok(text)
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
    fn what_stands_for_no_characters_is_refused() {
        let cut = utf16("a😀", b"\xFE\xFF", u16::to_be_bytes);
        for bad in [&cut[..cut.len() - 2], &cut[..cut.len() - 1], b"\xFE\xFF\xDC\x00\x00a", b"\0<\0a", b"<\0a\0"] {
            let mut input = Input::new(bad);
            assert!(input.read_to_string(&mut String::new()).is_err(), "{bad:?}");
            assert!(input.is_ill_coded());
        }
    }
}
