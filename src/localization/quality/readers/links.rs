//! Addresses in a text: http, https, ftp, mailto, tel, and e-mail addresses by themselves (localization, Q5).

use std::ops::Range;

use super::bytes::{at, find, skip, slice};

/// What an address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Something with a host: `https://example.com/x`.
    Web,
    /// `mailto:a@example.com`.
    Mailto,
    /// `tel:+49301234`.
    Telephone,
    /// `a@example.com`.
    Mail,
}

/// An address in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Where it is, in bytes.
    pub range: Range<usize>,
    /// As it is written, without the punctuation behind it.
    pub text: &'a str,
    /// What it is of.
    pub kind: LinkKind,
}

const SCHEMES: [(&str, &str, LinkKind); 5] = [
    ("https", "://", LinkKind::Web),
    ("http", "://", LinkKind::Web),
    ("ftp", "://", LinkKind::Web),
    ("mailto", ":", LinkKind::Mailto),
    ("tel", ":", LinkKind::Telephone),
];

/// The addresses of a text, in order, without overlaps.
#[must_use]
pub fn links(text: &str) -> Vec<Link<'_>> {
    let mut found: Vec<Link<'_>> = Vec::new();
    // Nothing before this place belongs to an address that is still to come.
    let mut done = 0;
    let mut place = 0;
    while let Some(mark) = find(text, place, |byte| matches!(byte, b':' | b'@')) {
        let read = if at(text, mark) == b':' { with_scheme(text, mark, done) } else { mail(text, mark, done) };
        place = match read {
            Ok(link) => {
                done = link.range.end;
                found.push(link);
                done
            }
            Err(next) => next,
        }
        .max(mark + 1);
    }
    found
}

/// The address whose scheme ends before a colon, or where to look on.
fn with_scheme(text: &str, colon: usize, done: usize) -> Result<Link<'_>, usize> {
    let before = slice(text, done, colon).as_bytes();
    let ends_with = |scheme: &&(&str, &str, LinkKind)| {
        let start = before.len().checked_sub(scheme.0.len());
        start.and_then(|start| before.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(scheme.0.as_bytes()))
    };
    let (scheme, joint, kind) = SCHEMES.iter().find(ends_with).ok_or(colon)?;
    let start = colon - scheme.len();
    let is_longer_word = start.checked_sub(1).is_some_and(|place| at(text, place).is_ascii_alphanumeric());
    let body = colon + joint.len();
    let is_number = *kind != LinkKind::Telephone || matches!(at(text, body), b'+' | b'0'..=b'9');
    if is_longer_word || text.get(colon..body) != Some(*joint) || !is_number {
        return Err(colon);
    }
    let latest = end_of(text, body);
    let end = trimmed(text, body, latest);
    let has_body = end > body && (*kind != LinkKind::Mailto || slice(text, body, end).contains('@'));
    // What was looked at in vain is not looked at again.
    if has_body { Ok(Link { range: start..end, text: slice(text, start, end), kind: *kind }) } else { Err(latest) }
}

/// Where an address ends at the latest.
fn end_of(text: &str, body: usize) -> usize {
    let mut open = Open::default();
    let mut last = ':';
    for (offset, character) in slice(text, body, text.len()).char_indices() {
        let ends = match character {
            '(' | '[' | '{' | ')' | ']' | '}' => !open.takes(character),
            '<' | '>' | '"' | '\'' | '`' | '|' | '\\' | '^' => true,
            _ if character.is_ascii() => character.is_ascii_whitespace() || character.is_ascii_control(),
            // Where words are not set apart, a word may follow at once.
            _ if is_unspaced(character) => last.is_ascii_alphanumeric() || last == '/',
            _ => character.is_whitespace() || character.is_control() || is_foreign_punctuation(character),
        };
        if ends {
            return body + offset;
        }
        last = character;
    }
    text.len()
}

/// Brackets that are open within an address.
#[derive(Default)]
struct Open([usize; 3]);

impl Open {
    /// Whether the bracket belongs to the address: it opens, or closes what the address opened.
    const fn takes(&mut self, bracket: char) -> bool {
        let [round, square, curly] = &mut self.0;
        let (count, opens) = match bracket {
            '(' => (round, true),
            ')' => (round, false),
            '[' => (square, true),
            ']' => (square, false),
            '{' => (curly, true),
            _ => (curly, false),
        };
        let belongs = opens || *count > 0;
        *count = if opens { *count + 1 } else { count.saturating_sub(1) };
        belongs
    }
}

/// Punctuation that is in no address as people write them, and invisible marks.
const fn is_foreign_punctuation(character: char) -> bool {
    matches!(character,
        '\u{00ab}' | '\u{00bb}' | '\u{060c}' | '\u{061b}' | '\u{061f}' | '\u{066a}'..='\u{066d}' | '\u{06d4}'
        | '\u{0964}' | '\u{0965}' | '\u{200b}'..='\u{206f}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}'
        | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}')
}

/// Whether it is of a script that joins words, or particles to names: Thai, Lao, Myanmar, Khmer, Kana, Han, Hangul.
const fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The end without the punctuation of the sentence.
fn trimmed(text: &str, body: usize, end: usize) -> usize {
    let address = slice(text, body, end);
    body + address.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '~', '…', '&']).len()
}

/// The e-mail address around an `@`, or where to look on.
fn mail(text: &str, sign: usize, done: usize) -> Result<Link<'_>, usize> {
    let is_local = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-');
    let before = slice(text, done, sign).as_bytes();
    let local = before.iter().rev().take_while(|byte| is_local(**byte)).count();
    let start = skip(text, sign - local, |byte| byte == b'.');
    let after = skip(text, sign + 1, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    let host = slice(text, sign + 1, after).trim_end_matches(['.', '-']);
    let (_, top) = host.rsplit_once('.').ok_or(after)?;
    let is_top = top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_top || start >= sign || host.starts_with('.') {
        return Err(after);
    }
    let end = sign + 1 + host.len();
    Ok(Link { range: start..end, text: slice(text, start, end), kind: LinkKind::Mail })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        links(text).into_iter().map(|link| link.text).collect()
    }

    #[test]
    fn addresses_end_where_the_sentence_goes_on() {
        for (text, found) in [
            ("See https://example.com/a?b=c#d.", &["https://example.com/a?b=c#d"][..]),
            ("(HTTP://Example.com/x_(y)), ftp://h/f", &["HTTP://Example.com/x_(y)", "ftp://h/f"]),
            ("<a href='https://example.com'>x</a>", &["https://example.com"]),
            ("https://example.com/{id}/b}", &["https://example.com/{id}/b"]),
            ("詳細はhttps://example.com/doc。次", &["https://example.com/doc"]),
            ("https://example.comをご覧ください", &["https://example.com"]),
            ("https://example.com에서", &["https://example.com"]),
            ("https://ru.wikipedia.org/wiki/Москва!", &["https://ru.wikipedia.org/wiki/Москва"]),
            ("https://münchen.de, https://日本語.jp/", &["https://münchen.de", "https://日本語.jp/"]),
            ("„https://example.com“ «http://a.b»", &["https://example.com", "http://a.b"]),
            ("mailto:a@b.org?subject=x tel:+49-30-1 tel:no mailto:no", &["mailto:a@b.org?subject=x", "tel:+49-30-1"]),
            ("Mail Max.Muster+x@example.co.uk.", &["Max.Muster+x@example.co.uk"]),
            ("@node-red/nodes a@b pkg@1.2.3 %{user}@example.com x@-", &[]),
            ("xhttp://a.b note: http:// https:x", &[]),
            ("a@b.de@c.de", &["a@b.de"]),
        ] {
            assert_eq!(texts(text), found, "{text}");
        }
    }
}
