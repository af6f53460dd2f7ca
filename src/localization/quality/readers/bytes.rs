//! Looking at a text byte by byte. All that readers look for is ASCII, so that what they cut out is text again.

/// The byte at a place, 0 behind the end.
pub(super) fn at(text: &str, place: usize) -> u8 {
    text.as_bytes().get(place).copied().unwrap_or(0)
}

/// The first place from `from` on whose byte is another; the end if there is none.
pub(super) fn skip(text: &str, from: usize, like: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    rest.iter().position(|byte| !like(*byte)).map_or(text.len(), |length| from + length)
}

/// The first place from `from` on that is not ASCII white space.
pub(super) fn skip_blank(text: &str, from: usize) -> usize {
    skip(text, from, |byte| byte.is_ascii_whitespace())
}

/// The next place from `from` on with such a byte.
pub(super) fn find(text: &str, from: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    rest.iter().position(|byte| wanted(*byte)).map(|length| from + length)
}

/// The text between two places; nothing if there is none.
pub(super) fn slice(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

/// Whether a byte may be part of a name; every character beyond ASCII may.
pub(super) const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The text without ASCII white space, borrowed where it has none.
pub(super) fn without_blanks(text: &str) -> std::borrow::Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return text.chars().filter(|character| !character.is_ascii_whitespace()).collect::<String>().into();
    }
    text.into()
}
