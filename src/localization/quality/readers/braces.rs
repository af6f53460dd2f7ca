//! Placeholders in braces and those of i18next: `{{x}}`, `$t(x)`, `${x}`, `{x}`.

use super::bytes::{at, find, is_name, skip, skip_blank, slice, without_blanks};
use super::enclosed::Enclosed;
use super::placeholder::{Dialect, Placeholder};

/// The types of arguments that hold no further text.
const SIMPLE_TYPES: [&str; 8] = ["number", "date", "time", "spellout", "ordinal", "duration", "list", "choice"];

fn named<'a>(text: &'a str, range: std::ops::Range<usize>, dialect: Dialect, name: (usize, usize)) -> Placeholder<'a> {
    let name = without_blanks(slice(text, name.0, name.1));
    Placeholder { range, dialect, name, number: 0, class: "" }
}

/// `{{x}}` or `{{{x}}}` whose first brace is at a place.
pub(super) fn mustache(text: &str, start: usize) -> Option<Placeholder<'_>> {
    let depth = if at(text, start + 2) == b'{' { 3 } else { 2 };
    let end = find(text, start + depth, |byte| matches!(byte, b'{' | b'}'))?;
    let closed = skip(text, end, |byte| byte == b'}').min(end + depth);
    (closed == end + depth).then(|| named(text, start..closed, Dialect::Mustache, (start + depth, end)))
}

/// `$t(x)` whose sign is at a place.
pub(super) fn nesting<'a>(text: &'a str, start: usize, enclosed: &Enclosed) -> Option<Placeholder<'a>> {
    let end = enclosed.end(start + 2)?;
    Some(named(text, start..end, Dialect::Nesting, (start + 3, end.saturating_sub(1))))
}

/// `${x}` whose sign is at a place.
pub(super) fn dollar(text: &str, start: usize) -> Option<Placeholder<'_>> {
    let end = find(text, start + 2, |byte| matches!(byte, b'{' | b'}' | b'\n'))?;
    let has_name = slice(text, start + 2, end).bytes().any(is_name);
    let is_closed = has_name && at(text, end) == b'}';
    is_closed.then(|| named(text, start..end + 1, Dialect::Dollar, (start + 2, end)))
}

/// `__x__` whose first line is at a place.
pub(super) fn underscores(text: &str, start: usize) -> Option<Placeholder<'_>> {
    // Letters beyond ASCII may follow at once: some languages set no words apart.
    let is_word = |place: usize| at(text, place).is_ascii_alphanumeric();
    let is_inside = start.checked_sub(1).is_some_and(is_word);
    let end = skip(text, start + 2, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    let is_closed = !is_inside && end > start + 2 && at(text, end) == b'_' && at(text, end + 1) == b'_';
    let range = start..end + 2;
    (is_closed && at(text, end + 2) != b'_' && !is_word(end + 2))
        .then(|| named(text, range, Dialect::Underscores, (start + 2, end)))
}

/// `{x}` whose brace is at a place: nothing, a number or a name, with a type or a format.
pub(super) fn brace<'a>(text: &'a str, start: usize, enclosed: &mut Option<Enclosed>) -> Option<Placeholder<'a>> {
    let name = skip_blank(text, start + 1);
    if is_command(text, start) {
        return None;
    }
    if at(text, start + 1) == b'}' {
        return Some(named(text, start..start + 2, Dialect::Brace, (name, name)));
    }
    let begins = is_name(at(text, name)) || matches!(at(text, name), b'$' | b'@');
    let is_inside = |byte: u8| is_name(byte) || matches!(byte, b'.' | b'-' | b'$' | b'@' | b'[' | b']');
    let name_end = skip(text, name, is_inside);
    let next = skip_blank(text, name_end);
    let (end, class) = match at(text, next) {
        _ if !begins => return None,
        b'}' => (next, ""),
        b',' => typed(text, start, next, enclosed)?,
        b':' | b'!' if next == name_end => (formatted(text, next)?, ""),
        _ => return None,
    };
    Some(Placeholder { class, ..named(text, start..end + 1, Dialect::Brace, (name, name_end)) })
}

/// Whether the brace belongs to a command of TeX: `\cite{key}`, perhaps with the mark of an access key. One letter behind a
/// backslash is a character, and so is that of a line end or a tab before a word.
fn is_command(text: &str, start: usize) -> bool {
    let before = text.as_bytes().get(..start).unwrap_or_default();
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || !byte.is_ascii() || byte == b'&';
    let letters = before.iter().rev().take_while(|byte| is_letter(**byte)).count();
    match before.get(start.saturating_sub(letters + 1)..) {
        Some([b'\\', b'n' | b'r' | b't', next, ..]) => next.is_ascii_lowercase(),
        Some([b'\\', _, _, ..]) => true,
        _ => false,
    }
}

/// The type behind a comma, and where the argument closes.
fn typed<'a>(text: &'a str, start: usize, comma: usize, enclosed: &mut Option<Enclosed>) -> Option<(usize, &'a str)> {
    let class = skip_blank(text, comma + 1);
    let class_end = skip(text, class, |byte| byte.is_ascii_alphabetic());
    let class = slice(text, class, class_end);
    let next = skip_blank(text, class_end);
    if !SIMPLE_TYPES.contains(&class) {
        return None;
    }
    match at(text, next) {
        b'}' => Some((next, class)),
        b',' => {
            let enclosed = enclosed.get_or_insert_with(|| Enclosed::of(text, b'{', b'}'));
            enclosed.end(start).map(|end| (end - 1, class))
        }
        _ => None,
    }
}

/// `:>10.2f`, `!r`: a format without blanks.
fn formatted(text: &str, start: usize) -> Option<usize> {
    let end = skip(text, start, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'{' | b'}'));
    (at(text, end) == b'}').then_some(end)
}
