//! Block scalars: which bytes they have, and what they say where the file ends without a line break.

use std::borrow::Cow;
use std::ops::Range;

use crate::formats::bytes::part;
use crate::formats::model::{Leaf, Style};

/// A block scalar as the parser found it.
pub struct Block<'b> {
    bytes: &'b [u8],
    /// Where its `|` or `>` stands.
    header: usize,
    /// Where the line of that ends.
    header_end: usize,
    /// From its first content to where the next line's begins.
    content: Range<usize>,
    /// The column of its content.
    indent: usize,
}

impl<'b> Block<'b> {
    /// The block scalar whose content the parser found there; `behind` is where what stands before it ended.
    pub fn find(bytes: &'b [u8], behind: usize, content: Range<usize>, indent: usize) -> Option<Block<'b>> {
        let header = header_before(bytes, behind, content.start)?;
        Some(Block { bytes, header, header_end: line_end(bytes, header), content, indent })
    }

    fn written_header(&self) -> &'b [u8] {
        part(self.bytes, self.header..self.header_end)
    }

    /// Whether the file ends with it, and without a line break.
    fn is_unbroken(&self) -> bool {
        self.content.end >= self.bytes.len() && !matches!(self.bytes.last(), Some(b'\n' | b'\r'))
    }

    /// Whether the last line has content; fewer blanks are no line at all.
    fn ends_in_content(&self) -> bool {
        let start = self.bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
        start > self.header && self.bytes.len() - start > self.indent
    }

    /// What it says, from what the parser says it does. The two differ where the file ends without a line break: to
    /// libyaml, which Ruby and others read with, a text then has no line break that is not there.
    pub fn text<'t>(&self, read: Cow<'t, str>) -> Cow<'t, str> {
        let header = self.written_header();
        if !self.is_unbroken() || has_strip_indicator(header) {
            return read;
        }
        if line_breaks(&read).is_some() {
            let count = if has_keep_indicator(header) { self.breaks_behind_header() } else { 0 };
            return Cow::Owned("\n".repeat(count));
        }
        match read.strip_suffix('\n') {
            Some(shorter) if self.ends_in_content() => Cow::Owned(shorter.to_owned()),
            _ => read,
        }
    }

    /// How many lines without content stand below its header.
    fn breaks_behind_header(&self) -> usize {
        let mut at = self.header_end + break_length(self.bytes, self.header_end);
        let mut count = 0;
        while at < self.bytes.len() {
            at = line_end(self.bytes, at);
            let length = break_length(self.bytes, at);
            count += usize::from(length > 0);
            at += length;
        }
        count
    }

    /// Where a line below its header begins with a tab, perhaps behind blanks, though the tab is none of its content: in
    /// the scalar itself, or before what comes next. The parser passes over some of these, libyaml refuses each.
    /// `read` is what the parser says it says.
    pub fn tab_in_indentation(&self, read: &str) -> Option<usize> {
        let has_content = line_breaks(read).is_none();
        let mut is_indent_known = has_content && has_indentation_indicator(self.written_header());
        let mut is_within = true;
        let mut at = self.header_end + break_length(self.bytes, self.header_end);
        while at < self.bytes.len() {
            let end = line_end(self.bytes, at);
            let line = part(self.bytes, at..end);
            let blanks = line.iter().take_while(|byte| **byte == b' ').count();
            let is_content = is_within && is_indent_known && blanks >= self.indent;
            match line.get(blanks) {
                _ if is_content => {}
                Some(b'\t') => return Some(at + blanks),
                None => {}
                // The first line of its content says how far it is indented.
                Some(_) if is_within && has_content && !is_indent_known => is_indent_known = true,
                Some(b'#') => is_within = false,
                Some(_) => return None,
            }
            at = end + break_length(self.bytes, end);
        }
        None
    }

    /// Its bytes: from its `|` or `>` up to the last line break that is not its own. `text` is what it says.
    pub fn value(&self, text: &str) -> Range<usize> {
        let Block { bytes, header, header_end, indent, .. } = *self;
        // Without content, further line breaks may as well be anybody's.
        if let Some(count) = line_breaks(text) {
            let next = |end| line_end(bytes, end + break_length(bytes, end));
            return header..(0..count).fold(header_end, |end, _| next(end));
        }
        if self.is_unbroken() && self.ends_in_content() {
            return header..bytes.len();
        }
        let mut end = self.content.end;
        // The next line's indentation.
        let blanks = part(bytes, self.content.start..end).iter().rev().take_while(|byte| **byte == b' ').count();
        if matches!(part(bytes, ..end - blanks).last(), Some(b'\n' | b'\r')) {
            end -= blanks;
        }
        end = before_break(bytes, end);
        let keep = has_keep_indicator(self.written_header());
        while !keep && end > header_end {
            let line = part(bytes, header_end..end);
            let length = line.iter().rev().take_while(|byte| **byte == b' ').count();
            let start = end - length;
            if length > indent || !matches!(part(bytes, ..start).last(), Some(b'\n' | b'\r')) {
                break;
            }
            end = before_break(bytes, start);
        }
        header..end.max(header_end)
    }
}

/// How many line breaks a text has that has nothing else.
pub fn line_breaks(text: &str) -> Option<usize> {
    text.bytes().all(|byte| byte == b'\n').then_some(text.len())
}

/// Where the indicator of the block scalar stands whose content begins at `content`.
fn header_before(bytes: &[u8], behind: usize, content: usize) -> Option<usize> {
    let mut at = behind;
    while at <= content {
        match bytes.get(at)? {
            b'|' | b'>' => return Some(at),
            b'#' => at = line_end(bytes, at),
            _ => at += 1,
        }
    }
    None
}

/// Whether a value is a block scalar that says what it does only because nothing stands behind it: the file ends with
/// it, without the line break that would be part of the text.
pub fn lacks_break(bytes: &[u8], leaf: &Leaf) -> bool {
    let is_block = matches!(leaf.style, Style::Block { .. });
    is_block && leaf.value.end >= bytes.len() && !has_strip_indicator(part(bytes, leaf.value.clone()))
}

/// Whether a value is a block scalar to which all line breaks behind it belong.
pub fn keeps_breaks(bytes: &[u8], leaf: &Leaf) -> bool {
    matches!(leaf.style, Style::Block { .. }) && has_keep_indicator(part(bytes, leaf.value.clone()))
}

/// Whether a block scalar's header says `+`, which stands behind `|` or `>` and perhaps a digit.
fn has_keep_indicator(header: &[u8]) -> bool {
    matches!(header, [_, b'+', ..] | [_, b'0'..=b'9', b'+', ..])
}

/// Whether a block scalar's header says how far its content is indented, before or behind `+` or `-`.
fn has_indentation_indicator(header: &[u8]) -> bool {
    matches!(header, [_, b'0'..=b'9', ..] | [_, b'+' | b'-', b'0'..=b'9', ..])
}

/// Whether a block scalar's header says `-`.
pub fn has_strip_indicator(header: &[u8]) -> bool {
    matches!(header, [_, b'-', ..] | [_, b'0'..=b'9', b'-', ..])
}

/// Where the line ends in which `at` stands.
pub fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = part(bytes, at..);
    at + rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len())
}

/// How many bytes the line break at `at` has; 0 if there is none.
pub fn break_length(bytes: &[u8], at: usize) -> usize {
    match part(bytes, at..) {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// `end` without the line break that stands before it, if one does.
fn before_break(bytes: &[u8], end: usize) -> usize {
    match part(bytes, ..end) {
        [.., b'\r', b'\n'] => end - 2,
        [.., b'\r' | b'\n'] => end - 1,
        _ => end,
    }
}
