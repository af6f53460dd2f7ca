//! Writing YAML scalars, each in the style it had where that can hold the text, else in double quotes.

use std::fmt::Write as _;
use std::ops::Range;

use super::blocks::{has_strip_indicator, keeps_breaks, line_end};
use super::breaks::{is_disputed_break, is_printable};
use super::resolve::is_string;
use crate::formats::bytes::part;
use crate::formats::model::{Leaf, Style};

/// Writes a value in the style of `leaf`; all but ASCII as escapes if `ascii`.
pub fn write_value(out: &mut String, bytes: &[u8], leaf: &Leaf, text: &str, ascii: bool) {
    let raw = (!ascii || text.is_ascii()) && text.chars().all(|c| is_printable(c) && !is_disputed_break(c));
    match leaf.style {
        Style::Plain { flow } if raw && fits_plain(text, flow) => out.push_str(text),
        Style::Single { .. } if raw && fits_single(text) => write_single(out, text),
        Style::Block { folded, indent } if raw && write_block(out, bytes, leaf, text, folded, indent) => {}
        _ => write_double(out, text, ascii),
    }
}

/// Writes a value in the style of `leaf`, but never as a block.
pub fn write_beside(out: &mut String, bytes: &[u8], leaf: &Leaf, text: &str, ascii: bool) {
    match leaf.style {
        Style::Block { .. } => write_double(out, text, ascii),
        _ => write_value(out, bytes, leaf, text, ascii),
    }
}

/// A key in the quotes of the one that stands at `old`, if it has some or needs none.
pub fn write_key(bytes: &[u8], old: &Range<usize>, name: &str) -> String {
    let mut out = String::new();
    let plain = name.chars().all(|c| is_printable(c) && !is_disputed_break(c));
    match part(bytes, old.clone()).first() {
        Some(b'\'') if plain && fits_single(name) => write_single(&mut out, name),
        Some(b'"' | b'\'') => write_double(&mut out, name, false),
        _ if plain && fits_plain(name, true) => out.push_str(name),
        _ => write_double(&mut out, name, false),
    }
    out
}

/// Whether a text may stand without quotes in one line. Stricter than the grammar, since readers differ.
fn fits_plain(text: &str, flow: bool) -> bool {
    let begins = match text.chars().next() {
        None => false,
        // Ruby's numbers have commas; a letter that no number has makes it a text for all.
        Some('+' | '.' | '0'..='9') => text.chars().any(|c| c.is_alphabetic() && !"aAbBcCdDeEfFoxTtZz".contains(c)),
        Some(first) => !first.is_ascii_punctuation() || matches!(first, '(' | ')' | '/' | '_' | '$' | ';' | '^'),
    };
    let blank = |c: char| c == ' ' || c == '\t';
    let breaks_off = text.contains(['\n', '\r', '\t'])
        || text.starts_with(blank)
        || text.ends_with(blank)
        || text.contains(": ")
        || text.ends_with(':')
        || text.contains(" #")
        || (flow && text.contains([',', '[', ']', '{', '}', ':', '#', '?']));
    begins && !breaks_off && is_string(text)
}

fn fits_single(text: &str) -> bool {
    !text.contains(['\n', '\r'])
}

fn write_single(out: &mut String, text: &str) {
    out.push('\'');
    out.push_str(&text.replace('\'', "''"));
    out.push('\'');
}

fn write_double(out: &mut String, text: &str, ascii: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii() && is_printable(c) => out.push(c),
            c if !ascii && is_printable(c) && !is_disputed_break(c) => out.push(c),
            // Writing into a string cannot fail.
            c => {
                let _ = match u32::from(c) {
                    code @ ..=0xff => write!(out, "\\x{code:02X}"),
                    code @ ..=0xffff => write!(out, "\\u{code:04X}"),
                    code => write!(out, "\\U{code:08X}"),
                };
            }
        }
    }
    out.push('"');
}

/// Writes a block scalar with the header of the old one, if that can hold the text; whether it could.
fn write_block(out: &mut String, bytes: &[u8], leaf: &Leaf, text: &str, folded: bool, indent: usize) -> bool {
    let header_end = line_end(bytes, leaf.value.start);
    let header = part(bytes, leaf.value.start..header_end);
    let break_length = match part(bytes, header_end..) {
        [b'\r', b'\n', ..] => 2,
        [_, ..] => 1,
        [] => 0,
    };
    let line_break = part(bytes, header_end..header_end + break_length);
    // Without content there is no indentation to copy, and without a last line break none to keep.
    if indent == 0 || leaf.value.end == header_end || leaf.value.end >= bytes.len() {
        return false;
    }
    let keeps = keeps_breaks(bytes, leaf);
    let body = if has_strip_indicator(header) { text } else { text.strip_suffix('\n').unwrap_or_default() };
    let ends = keeps || !body.ends_with('\n');
    let begins = !body.starts_with([' ', '\t', '\n']);
    if body.trim().is_empty() || !ends || !begins || body.contains('\r') {
        return false;
    }
    let blank_ends = |line: &str| line.starts_with([' ', '\t']) || line.ends_with([' ', '\t']);
    if folded && body.split('\n').any(blank_ends) {
        return false;
    }
    let (Ok(header), Ok(line_break)) = (std::str::from_utf8(header), std::str::from_utf8(line_break)) else {
        return false;
    };
    out.push_str(header);
    let mut text_before = false;
    for line in body.split('\n') {
        out.push_str(line_break);
        if line.is_empty() {
            continue;
        }
        // Between two lines of a folded text, one line break is a space; a blank line more makes it one.
        if folded && text_before {
            out.push_str(line_break);
        }
        out.extend(std::iter::repeat_n(' ', indent));
        out.push_str(line);
        text_before = true;
    }
    true
}
