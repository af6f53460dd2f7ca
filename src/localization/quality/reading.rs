//! A text as the checks see it: what in it is no prose (placeholders, markup, links), read once for all of them.

use std::ops::Range;

use crate::content::Format;

use super::readers::{Link, Markup, Message, MessageFault, Part, Placeholder, links, markup, message, placeholders};

/// What a part of a text is that is no prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A placeholder, in whatever dialect, or what a message chooses its texts by.
    Placeholder,
    /// A tag, a comment or a character reference.
    Markup,
    /// An address.
    Link,
}

/// A part of a text that is no prose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where, in bytes.
    pub range: Range<usize>,
    /// What it is.
    pub kind: SpanKind,
}

/// A text, and what in it is no prose.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// The text as it is stored.
    pub text: &'a str,
    /// What is no prose, in order, without overlaps.
    pub spans: Vec<Span>,
    /// Every placeholder, in order; of a message those that its own grammar has, too.
    pub placeholders: Vec<Placeholder<'a>>,
    /// What opens and is never closed, of `{{`, `$t(` and `%{`.
    pub unclosed: Vec<&'static str>,
    /// The parts of an ICU message, if the text is meant as one that chooses a text.
    pub message: Option<Result<Message<'a>, MessageFault>>,
    /// Tags, comments and references.
    pub markup: Markup<'a>,
    /// Every address, those in tags too.
    pub links: Vec<Link<'a>>,
}

impl<'a> Reading<'a> {
    /// Reads a text; linear in its length. No reader asks of which kind its file is: what that decides, a check decides.
    #[must_use]
    pub fn of(text: &'a str, _format: Format) -> Reading<'a> {
        if !text.bytes().any(is_mark) && !text.contains("__") {
            return Reading::of_prose(text);
        }
        let links = links(text);
        let message = message(text);
        let parts = message.as_ref().and_then(|read| read.as_ref().ok());
        let read = placeholders(text, &links, parts);
        let markup = markup(text);
        let spans = spans(&read.found, parts, &markup, &links);
        Reading { text, spans, placeholders: read.found, unclosed: read.unclosed, message, markup, links }
    }

    /// A text in which there is nothing but prose.
    fn of_prose(text: &'a str) -> Reading<'a> {
        let markup = Markup::default();
        let (spans, placeholders, unclosed, links) = Default::default();
        Reading { text, spans, placeholders, unclosed, message: None, markup, links }
    }

    /// The prose: what lies between the spans, in order.
    pub fn prose(&self) -> impl Iterator<Item = &'a str> + '_ {
        let text = self.text;
        let ends = self.spans.iter().map(|span| span.range.end);
        let starts = self.spans.iter().map(|span| span.range.start).chain([text.len()]);
        std::iter::once(0).chain(ends).zip(starts).filter_map(|(from, to)| text.get(from..to))
    }

    /// What is no prose, in order.
    pub fn others(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.spans.iter().filter_map(|span| self.text.get(span.range.clone()))
    }

    /// The parts of the message, if the text is one without a fault.
    #[must_use]
    pub fn parts(&self) -> Option<&Message<'a>> {
        self.message.as_ref()?.as_ref().ok()
    }
}

/// Whether anything that is no prose has the byte in it, the first one if it is longer.
const fn is_mark(byte: u8) -> bool {
    matches!(byte, b'{' | b'%' | b'$' | b'<' | b'&' | b':' | b'@')
}

/// Everything that is no prose, in order. Where two things overlap they are one, of the kind of the first.
fn spans(
    placeholders: &[Placeholder<'_>],
    message: Option<&Message<'_>>,
    markup: &Markup<'_>,
    links: &[Link<'_>],
) -> Vec<Span> {
    let of = |kind: SpanKind| move |range: Range<usize>| Span { range, kind };
    let tags = markup.tags.iter().map(|tag| tag.range.clone()).chain(markup.others.iter().cloned());
    let mut all: Vec<Span> =
        placeholders.iter().map(|found| found.range.clone()).map(of(SpanKind::Placeholder)).collect();
    all.extend(message.map(choices).unwrap_or_default().into_iter().map(of(SpanKind::Placeholder)));
    all.extend(tags.map(of(SpanKind::Markup)));
    all.extend(links.iter().map(|link| link.range.clone()).map(of(SpanKind::Link)));
    all.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    all.dedup_by(|next, kept| {
        let overlaps = next.range.start < kept.range.end;
        if overlaps {
            kept.range.end = kept.range.end.max(next.range.end);
        }
        overlaps
    });
    all
}

/// What a message chooses its texts by: all that lies between one text and the next.
fn choices(message: &Message<'_>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = None;
    for piece in &message.pieces {
        match piece.part {
            Part::Argument { .. } | Part::Number { .. } => {}
            Part::Open { .. } | Part::EndBranch => start = Some(piece.range.start),
            Part::Branch { .. } | Part::Close => {
                ranges.push(start.take().unwrap_or(piece.range.start)..piece.range.end);
            }
        }
    }
    ranges
}
