//! Reading YAML: the parser's events, with the bytes they come from.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, StructureStyle, Tag};

use super::blocks::{Block, line_breaks};
use super::breaks::{DisputedBreaks, is_readable};
use super::marks::StandIn;
use super::resolve::{is_string, is_symbol};
use crate::formats::budget::Budget;
use crate::formats::bytes::part;
use crate::formats::limits::{DEPTH_MAX, PATH_CHARACTERS_MAX};
use crate::formats::model::{Leaf, Path, Scan, Style, expected_values};
use crate::formats::refusal::{Code, Offence};
use crate::language::Category;

/// Reads a file whose text begins at byte `start`; with a root key (rails) or without (flat).
pub fn scan(text: &str, start: usize, root: Option<&str>, budget: &mut Budget) -> Result<Scan, Offence> {
    let forbidden = first_forbidden(text, start);
    let masked;
    let readable = match forbidden {
        None => text,
        Some(_) => {
            masked = mask_forbidden(text);
            masked.as_str()
        }
    };
    let (readable, stand_in) = StandIn::put_into(readable, start)?;
    let read = read(&readable, start, root, stand_in, budget);
    match (read, forbidden) {
        (Err(offence), Some(at)) if offence.at < at => Err(offence),
        (_, Some(at)) => Err(Offence::new(Code::Malformed, at)),
        (read, None) => read,
    }
}

/// Where the first character stands that YAML does not allow as it is.
fn first_forbidden(text: &str, start: usize) -> Option<usize> {
    // Most bytes need no look at the character they belong to.
    let suspicious = |byte: u8| matches!(byte, 0..0x20 | 0x7f | 0xc2 | 0xef) && !matches!(byte, b'\t' | b'\n' | b'\r');
    let bytes = part(text.as_bytes(), start..).iter().enumerate();
    let mut candidates = bytes.filter(|(_, byte)| suspicious(**byte)).map(|(at, _)| at + start);
    candidates.find(|at| text.get(*at..).and_then(|rest| rest.chars().next()).is_some_and(|c| !is_readable(c)))
}

/// The text with others of the same length in place of characters that YAML does not allow, so that what comes before
/// them can be judged.
fn mask_forbidden(text: &str) -> String {
    let mask = |c: char| std::iter::repeat_n('_', c.len_utf8());
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_readable(c) {
            true => out.push(c),
            false => out.extend(mask(c)),
        }
    }
    out
}

fn read(
    text: &str,
    start: usize,
    root: Option<&str>,
    stand_in: Option<StandIn>,
    budget: &mut Budget,
) -> Result<Scan, Offence> {
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        simple_key_max_lookahead: 8 * 1024,
    };
    let body = text.get(start..).unwrap_or_default();
    let expected = expected_values(body.len());
    let mut reader = Reader {
        bytes: text.as_bytes(),
        start,
        root,
        stand_in,
        parser: Parser::new_from_str_with_options(body, options),
        breaks: DisputedBreaks::of(text),
        frames: Vec::new(),
        path: Path::default(),
        names: HashSet::with_capacity(expected),
        mappings: 0,
        documents: 0,
        behind: start,
        found: Scan { leaves: Vec::with_capacity(expected), ..Scan::default() },
    };
    while reader.event(budget)? {}
    let Reader { mut breaks, mut found, documents, .. } = reader;
    breaks.none_before(text.len())?;
    // Well-formed, and nothing.
    if documents == 0 {
        return Err(Offence::new(Code::UnsupportedConstruct, text.len()));
    }
    found.plurals.sort_by_key(|members| members.first().map(|(_, leaf)| *leaf));
    Ok(found)
}

/// A mapping or sequence that is being read.
enum Frame<'t> {
    Mapping {
        /// Its number among all mappings.
        number: usize,
        flow: bool,
        /// How long the path is that leads here.
        base: usize,
        /// The key whose value comes next.
        key: Option<(Range<usize>, Cow<'t, str>)>,
        /// What it has of plural forms, as long as it may be a plural.
        forms: Option<Vec<(Category, usize)>>,
    },
    Sequence {
        flow: bool,
        base: usize,
        index: usize,
    },
}

struct Reader<'t> {
    bytes: &'t [u8],
    /// Where the parser's text begins.
    start: usize,
    root: Option<&'t str>,
    stand_in: Option<StandIn>,
    parser: Parser<'t, StrInput<'t>>,
    breaks: DisputedBreaks,
    frames: Vec<Frame<'t>>,
    path: Path,
    /// The keys of all mappings, each with its mapping's number.
    names: HashSet<(usize, Cow<'t, str>)>,
    mappings: usize,
    documents: usize,
    /// Where the last scalar or flow collection ended.
    behind: usize,
    found: Scan,
}

impl<'t> Reader<'t> {
    /// Takes the next event; whether there was one.
    fn event(&mut self, budget: &mut Budget) -> Result<bool, Offence> {
        let Some(next) = self.parser.next_event() else { return Ok(false) };
        let (event, span) = next.map_err(|error| self.syntax(&error))?;
        let range = self.range(&span);
        budget.step(range.start)?;
        self.refuse_anchor_and_tag(&event, &span)?;
        match event {
            // Keys count as well; a mapping entry is two values here.
            Event::Scalar(..) | Event::MappingStart(..) | Event::SequenceStart(..) => budget.value(range.start)?,
            _ => {}
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Offence::new(Code::UnsupportedConstruct, range.start));
                }
            }
            Event::Scalar(text, style, _, tag) => {
                let text = match self.stand_in {
                    Some(stand_in) if stand_in.begins_line(&text, span.start.col()) => {
                        return Err(Offence::new(Code::Malformed, range.start));
                    }
                    Some(stand_in) => stand_in.taken_out(text),
                    None => text,
                };
                self.scalar(text, style, (range, &span), tag.is_some(), budget)?;
            }
            Event::MappingStart(style, ..) => self.begin_mapping(style, &range)?,
            Event::SequenceStart(style, ..) => self.begin_sequence(style, &range)?,
            Event::MappingEnd => self.end_mapping(range.end),
            Event::SequenceEnd => self.end_collection(range.end),
            Event::Alias(_) | Event::UnresolvedAlias(_) | Event::Anchor(..) => {
                return Err(Offence::new(Code::YamlAliasRefused, range.start));
            }
            _ => {}
        }
        Ok(true)
    }

    fn refuse_anchor_and_tag(&mut self, event: &Event<'_>, span: &Span) -> Result<(), Offence> {
        let tag = event.tag().filter(|tag| !is_non_specific(tag));
        let tag_at = tag.map(|_| span.tag_start().map_or(self.range(span).start, |mark| self.place(&mark)));
        if event.anchor_id().is_some() {
            // The anchor's own event follows that of its node.
            let anchor = self.parser.next_event().and_then(Result::ok);
            let anchor_at = anchor.map_or(self.range(span).start, |(_, span)| self.range(&span).start);
            if tag_at.is_none_or(|tag_at| anchor_at < tag_at) {
                return Err(Offence::new(Code::YamlAliasRefused, anchor_at));
            }
        }
        tag_at.map_or(Ok(()), |at| Err(Offence::new(Code::YamlTagRefused, at)))
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        (range, span): (Range<usize>, &Span),
        tagged: bool,
        budget: &mut Budget,
    ) -> Result<(), Offence> {
        let quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
        if quoted {
            self.breaks.quoted(self.bytes, range.start, range.end)?;
        } else {
            self.breaks.none_before(range.end)?;
        }
        let is_key = matches!(self.frames.last(), Some(Frame::Mapping { key: None, .. }));
        if style == ScalarStyle::DoubleQuoted
            && let Some(at) = half_pair(part(self.bytes, range.clone()))
        {
            let code = if is_key { Code::KeyInvalid } else { Code::ValueUnrepresentable };
            return Err(Offence::new(code, range.start + at));
        }
        if is_key {
            return self.key(text, style, range);
        }
        let flow = match self.frames.last() {
            // A scalar alone is no string file, and neither is a locale that is one.
            None => return self.root_scalar(&text, style, &range),
            Some(Frame::Mapping { flow, .. } | Frame::Sequence { flow, .. }) => *flow,
        };
        if self.root.is_some() && self.frames.len() == 1 {
            self.root_scalar(&text, style, &range)?;
            self.value_done(None);
            self.behind = range.end;
            return Ok(());
        }
        let style = match style {
            ScalarStyle::SingleQuoted => Style::Single { flow },
            ScalarStyle::DoubleQuoted => Style::Double { flow },
            ScalarStyle::Literal => Style::Block { folded: false, indent: span.start.col() },
            ScalarStyle::Folded => Style::Block { folded: true, indent: span.start.col() },
            _ => Style::Plain { flow },
        };
        let (text, value, style) = match style {
            Style::Block { folded, indent } => self.block(text, range, folded, indent)?,
            style => (text, range, style),
        };
        let is_unit = match style {
            Style::Plain { .. } => is_string(&text) && (tagged || !is_symbol(&text)),
            _ => true,
        };
        let leaf = if is_unit { Some(self.leaf(text, value.clone(), style, budget)?) } else { None };
        self.behind = value.end;
        self.value_done(leaf);
        Ok(())
    }

    /// What a block scalar says, its bytes and its style, from the text and the range that the parser gives.
    fn block(
        &self,
        text: Cow<'t, str>,
        content: Range<usize>,
        folded: bool,
        indent: usize,
    ) -> Result<(Cow<'t, str>, Range<usize>, Style), Offence> {
        let malformed = Offence::new(Code::Malformed, content.start);
        let block = Block::find(self.bytes, self.behind, content, indent).ok_or(malformed)?;
        if let Some(at) = block.tab_in_indentation(&text) {
            return Err(Offence::new(Code::Malformed, at));
        }
        let text = block.text(text);
        // Without content there is no column of it.
        let indent = if line_breaks(&text).is_some() { 0 } else { indent };
        let value = block.value(&text);
        Ok((text, value, Style::Block { folded, indent }))
    }

    /// What may stand in place of the root mapping or of a locale's: nothing but null, for a file without keys.
    fn root_scalar(&self, text: &str, style: ScalarStyle, range: &Range<usize>) -> Result<(), Offence> {
        let null = style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
        if null && !self.frames.is_empty() {
            return Ok(());
        }
        Err(Offence::new(Code::UnsupportedConstruct, range.start))
    }

    fn key(&mut self, text: Cow<'t, str>, style: ScalarStyle, range: Range<usize>) -> Result<(), Offence> {
        let offence = |code| Err(Offence::new(code, range.start));
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) || self.is_explicit_key(range.start) {
            return offence(Code::UnsupportedConstruct);
        }
        if style == ScalarStyle::Plain && range.is_empty() {
            return offence(Code::KeyInvalid);
        }
        if style == ScalarStyle::Plain && text == "<<" {
            return offence(Code::UnsupportedConstruct);
        }
        if text.contains('\0') {
            return offence(Code::KeyInvalid);
        }
        // The grammar's own limit for a key as it is written.
        let written = part(self.bytes, range.clone()).iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        if written > PATH_CHARACTERS_MAX {
            return offence(Code::KeyTooLong);
        }
        self.behind = range.end;
        let depth = self.frames.len();
        let Some(Frame::Mapping { number, base, key, .. }) = self.frames.last_mut() else { return Ok(()) };
        match self.root {
            Some(root) if depth == 1 => {
                if text != root {
                    return offence(Code::KeyInvalid);
                }
                self.found.root = Some(range.clone());
            }
            _ => self.path.set(*base, is_top(depth, self.root), &text),
        }
        if !self.names.insert((*number, text.clone())) {
            return offence(Code::DuplicateKey);
        }
        *key = Some((range, text));
        Ok(())
    }

    /// Whether a question mark stands before a key in its line.
    fn is_explicit_key(&self, start: usize) -> bool {
        let before = part(self.bytes, self.behind.min(start)..start);
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        blanks > 0 && before.len().checked_sub(blanks + 1).and_then(|at| before.get(at)) == Some(&b'?')
    }

    fn leaf(
        &mut self,
        text: Cow<'t, str>,
        value: Range<usize>,
        style: Style,
        budget: &mut Budget,
    ) -> Result<usize, Offence> {
        let key = match self.frames.last_mut() {
            Some(Frame::Mapping { key: Some((key, _)), .. }) => key.clone(),
            Some(Frame::Sequence { base, index, .. }) => {
                let (base, index) = (*base, index.to_string());
                self.path.set(base, false, &index);
                value.start..value.start
            }
            _ => value.start..value.start,
        };
        let path = self.path.checked().ok_or(Offence::new(Code::KeyTooLong, key.start))?.into_owned();
        if path.is_empty() {
            return Err(Offence::new(Code::KeyInvalid, key.start));
        }
        budget.unit(value.start, path.len())?;
        if text.contains('\0') {
            return Err(Offence::new(Code::ValueUnrepresentable, value.start));
        }
        self.found.leaves.push(Leaf { path, text: text.into_owned(), key, value, style });
        Ok(self.found.leaves.len() - 1)
    }

    /// A value is read; the leaf it became, if it is a string.
    fn value_done(&mut self, leaf: Option<usize>) {
        match self.frames.last_mut() {
            Some(Frame::Mapping { key, forms, .. }) => {
                let category = key.take().and_then(|(_, name)| Category::from_name(&name));
                match (forms.as_mut(), category, leaf) {
                    (Some(forms), Some(category), Some(leaf)) => forms.push((category, leaf)),
                    _ => *forms = None,
                }
            }
            Some(Frame::Sequence { index, .. }) => *index += 1,
            None => {}
        }
    }

    fn begin_mapping(&mut self, style: StructureStyle, range: &Range<usize>) -> Result<(), Offence> {
        let flow = style == StructureStyle::Flow;
        // `[a: b]` is a mapping without braces, to which nothing could be added.
        let bare = flow && self.bytes.get(range.start) != Some(&b'{');
        self.begin_collection(range, bare)?;
        let number = self.mappings;
        self.mappings += 1;
        let deep = self.frames.len() >= 2;
        let forms = (self.root.is_some() && deep).then(Vec::new);
        self.frames.push(Frame::Mapping { number, flow, base: self.path.len(), key: None, forms });
        Ok(())
    }

    fn begin_sequence(&mut self, style: StructureStyle, range: &Range<usize>) -> Result<(), Offence> {
        let no_mapping = self.frames.is_empty() || (self.root.is_some() && self.frames.len() == 1);
        self.begin_collection(range, no_mapping)?;
        let flow = style == StructureStyle::Flow;
        self.frames.push(Frame::Sequence { flow, base: self.path.len(), index: 0 });
        Ok(())
    }

    fn begin_collection(&mut self, range: &Range<usize>, unsupported: bool) -> Result<(), Offence> {
        // Where a block collection begins, nothing stands but its first entry.
        let complex_key = matches!(self.frames.last(), Some(Frame::Mapping { key: None, .. }));
        if unsupported || complex_key {
            return Err(Offence::new(Code::UnsupportedConstruct, range.start));
        }
        if self.frames.len() >= DEPTH_MAX {
            return Err(Offence::new(Code::NestingTooDeep, range.start));
        }
        if let Some(Frame::Sequence { base, index, .. }) = self.frames.last() {
            let (base, index) = (*base, index.to_string());
            self.path.set(base, false, &index);
        }
        self.behind = self.behind.max(range.end);
        Ok(())
    }

    fn end_mapping(&mut self, end: usize) {
        if let Some(Frame::Mapping { forms, .. }) = self.frames.last_mut()
            && let Some(forms) = forms.take()
            && forms.iter().any(|(category, _)| *category == Category::Other)
        {
            self.found.plurals.push(forms);
        }
        self.end_collection(end);
    }

    fn end_collection(&mut self, end: usize) {
        let flow = match self.frames.pop() {
            Some(Frame::Mapping { flow, .. } | Frame::Sequence { flow, .. }) => flow,
            None => false,
        };
        if flow {
            self.behind = self.behind.max(end);
        }
        self.value_done(None);
    }

    fn syntax(&self, error: &ScanError) -> Offence {
        let code = match error.kind() {
            ErrorKind::UndeclaredTagHandle => Code::YamlTagRefused,
            ErrorKind::DirectiveDisallowed => Code::UnsupportedConstruct,
            ErrorKind::RecursionLimitExceeded => Code::NestingTooDeep,
            ErrorKind::InvalidLowSurrogate | ErrorKind::MissingLowSurrogate | ErrorKind::UnpairedLowSurrogate => {
                match self.frames.last() {
                    Some(Frame::Mapping { key: None, .. }) => Code::KeyInvalid,
                    _ => Code::ValueUnrepresentable,
                }
            }
            _ => Code::Malformed,
        };
        Offence::new(code, self.place(error.marker()))
    }

    fn place(&self, mark: &Marker) -> usize {
        mark.byte_offset().unwrap_or_default() + self.start
    }

    fn range(&self, span: &Span) -> Range<usize> {
        self.place(&span.start)..self.place(&span.end)
    }
}

/// Whether keys of a mapping at that depth stand at the top of a path.
fn is_top(depth: usize, root: Option<&str>) -> bool {
    depth == if root.is_some() { 2 } else { 1 }
}

/// The tag `!` alone, which says that a scalar is a string.
fn is_non_specific(tag: &Tag) -> bool {
    tag.handle().is_empty() && tag.suffix() == "!"
}

/// Where an escape stands that is half a surrogate pair: some readers join two of them, some refuse them.
fn half_pair(written: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = part(written, at..).iter().position(|byte| *byte == b'\\') {
        at += next;
        if let [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..] = part(written, at..) {
            return Some(at);
        }
        at += 2;
    }
    None
}
