//! U+FEFF within a file. At its start it is a byte order mark; in a scalar libyaml, and so Ruby, takes it for a character
//! like any other, whereas the parser here looks for the starts of documents. So the parser is given another character in
//! its place, of the same length, which the file has nowhere, and its texts get U+FEFF back. Where a line begins with one
//! outside of a scalar, readers differ: libyaml passes over it.

use std::borrow::Cow;

use crate::formats::refusal::{Code, Offence};

const MARK: char = '\u{feff}';
/// The characters that may stand in: private, and three bytes long.
const FIRST: u32 = 0xe000;
const COUNT: usize = 0x1900;

/// The character in the place of U+FEFF.
#[derive(Clone, Copy)]
pub struct StandIn(char);

impl StandIn {
    /// The text with another character in the place of each U+FEFF in what begins at `start`.
    ///
    /// # Errors
    /// [`Code::Malformed`] at the first one, in a file that has every private character.
    pub fn put_into(text: &str, start: usize) -> Result<(Cow<'_, str>, Option<StandIn>), Offence> {
        let (before, rest) = text.split_at_checked(start).unwrap_or((text, ""));
        let Some(first) = rest.find(MARK) else { return Ok((Cow::Borrowed(text), None)) };
        let stand_in = unused(text).ok_or(Offence::new(Code::Malformed, start + first))?;
        let written = format!("{before}{}", rest.replace(MARK, stand_in.encode_utf8(&mut [0; 4])));
        Ok((Cow::Owned(written), Some(StandIn(stand_in))))
    }

    /// Whether what begins with it as a scalar is a line that begins with U+FEFF, to others.
    pub fn begins_line(self, text: &str, column: usize) -> bool {
        column == 0 && text.starts_with(self.0)
    }

    /// What the file says.
    pub fn taken_out(self, text: Cow<'_, str>) -> Cow<'_, str> {
        if text.contains(self.0) { Cow::Owned(text.replace(self.0, "\u{feff}")) } else { text }
    }
}

/// A character that a text has neither as itself nor as an escape.
fn unused(text: &str) -> Option<char> {
    let mut used = vec![false; COUNT];
    let mut note = |code: u32| {
        let place = code.checked_sub(FIRST).and_then(|place| usize::try_from(place).ok());
        if let Some(flag) = place.and_then(|place| used.get_mut(place)) {
            *flag = true;
        }
    };
    let hex = |from: usize, digits: usize| u32::from_str_radix(text.get(from..from + digits)?, 16).ok();
    for (at, c) in text.char_indices() {
        note(u32::from(c));
        let escape = if c == '\\' { text.as_bytes().get(at + 1) } else { None };
        let escaped = match escape {
            Some(b'u') => hex(at + 2, 4),
            Some(b'U') => hex(at + 2, 8),
            _ => None,
        };
        escaped.into_iter().for_each(&mut note);
    }
    let place = used.iter().position(|flag| !flag)?;
    char::from_u32(FIRST + u32::try_from(place).ok()?)
}
