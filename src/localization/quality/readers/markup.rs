//! Markup: tags as HTML and XML write them, also those of text libraries (`<0>`, `<1/>`), comments and character references.
//!
//! A `<` that begins no tag is a sign of the text. So are words in angle brackets (`<file>`, `<not set>`) of which HTML does
//! not have the first, unless an attribute has a value or it is closed: people write what is to be filled in like that.

use std::collections::HashSet;
use std::ops::Range;

use super::bytes::{at, find, skip, skip_blank, slice};

/// What a tag does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagKind {
    /// `<b>`
    Open,
    /// `</b>`
    Close,
    /// `<1/>`
    Empty,
}

/// An attribute as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value without quotes, empty without one.
    pub value: &'a str,
}

impl Attribute<'_> {
    /// Whether its value is a program: `onclick`.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("on")) && self.name.len() > 2
    }
}

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    /// Where it is, in bytes.
    pub range: Range<usize>,
    /// What it does.
    pub kind: TagKind,
    /// Its name as it is written.
    pub name: &'a str,
    /// Its attributes in order.
    pub attributes: Vec<Attribute<'a>>,
}

/// What a text has of markup.
#[derive(Clone, Debug, Default)]
pub struct Markup<'a> {
    /// Tags, in order.
    pub tags: Vec<Tag<'a>>,
    /// Comments, declarations, instructions and character references, in order.
    pub others: Vec<Range<usize>>,
    /// Names of HTML's elements whose tag never ends, so that what follows would become a part of it; `!--` for a comment.
    pub cut: Vec<&'a str>,
}

/// The elements of HTML, old ones too.
const ELEMENTS: &[&str] = &[
    "a",
    "abbr",
    "acronym",
    "address",
    "applet",
    "area",
    "article",
    "aside",
    "audio",
    "b",
    "base",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "body",
    "br",
    "button",
    "canvas",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "data",
    "datalist",
    "dd",
    "del",
    "details",
    "dfn",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "fieldset",
    "figcaption",
    "figure",
    "font",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hgroup",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "input",
    "ins",
    "kbd",
    "label",
    "legend",
    "li",
    "link",
    "main",
    "map",
    "mark",
    "marquee",
    "math",
    "menu",
    "meta",
    "meter",
    "nav",
    "noscript",
    "object",
    "ol",
    "optgroup",
    "option",
    "output",
    "p",
    "param",
    "picture",
    "plaintext",
    "pre",
    "progress",
    "q",
    "s",
    "samp",
    "script",
    "section",
    "select",
    "slot",
    "small",
    "source",
    "span",
    "strike",
    "strong",
    "style",
    "sub",
    "summary",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "template",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "time",
    "title",
    "tr",
    "track",
    "tt",
    "u",
    "ul",
    "var",
    "video",
    "wbr",
];

/// The name of an element of HTML, in lower case; `None` if HTML has none of the name.
#[must_use]
pub fn known_element(name: &str) -> Option<&'static str> {
    ELEMENTS.iter().copied().find(|element| element.eq_ignore_ascii_case(name))
}

/// Whether the element has no content and so is never closed.
#[must_use]
pub fn is_void(name: &str) -> bool {
    const VOID: [&str; 14] =
        ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
    VOID.iter().any(|element| element.eq_ignore_ascii_case(name))
}

/// Finds the markup of a text.
#[must_use]
pub fn markup(text: &str) -> Markup<'_> {
    let mut read = Markup::default();
    let mut ends = Ends::default();
    // All that follows lies in a comment that never ends.
    let mut is_hidden = false;
    let mut place = 0;
    while let Some(mark) = find(text, place, |byte| matches!(byte, b'<' | b'&')) {
        let other = if at(text, mark) == b'&' { reference(text, mark) } else { ends.declaration(text, mark) };
        place = mark + 1;
        if let Some(end) = other {
            read.others.push(mark..end);
            place = end;
        } else if !is_hidden && text.get(mark..).is_some_and(|rest| rest.starts_with(COMMENT)) {
            is_hidden = true;
            read.cut.push("!--");
        } else if at(text, mark) == b'<' {
            match tag(text, mark) {
                Reading::Tag(tag) => {
                    place = tag.range.end;
                    read.tags.push(tag);
                }
                Reading::Cut(name) => read.cut.extend(known_element(name).map(|_| name)),
                Reading::Text => {}
            }
        }
    }
    drop_names(&mut read.tags);
    read
}

/// Takes out what is no tag but a name to be filled in.
fn drop_names(tags: &mut Vec<Tag<'_>>) {
    let is_bare =
        |tag: &Tag<'_>| tag.attributes.iter().all(|attribute| attribute.value.is_empty() && !attribute.runs());
    let is_doubtful = |tag: &Tag<'_>| tag.kind == TagKind::Open && is_bare(tag) && known_element(tag.name).is_none();
    if !tags.iter().any(is_doubtful) {
        return;
    }
    let closed: HashSet<&str> = tags.iter().filter(|tag| tag.kind == TagKind::Close).map(|tag| tag.name).collect();
    tags.retain(|tag| !is_doubtful(tag) || closed.contains(tag.name));
}

/// `&amp;`, `&#160;`, `&#xA0;`: where it ends.
fn reference(text: &str, start: usize) -> Option<usize> {
    let is_number = at(text, start + 1) == b'#';
    let name = start + 1 + usize::from(is_number);
    let end = skip(text, name, |byte| byte.is_ascii_alphanumeric());
    let length = end - name;
    let digits = slice(text, name, end);
    let is_right = if is_number {
        let hex = digits.strip_prefix(['x', 'X']);
        let is_digit = |byte: u8| if hex.is_some() { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
        let digits = hex.unwrap_or(digits);
        (1..=8).contains(&digits.len()) && digits.bytes().all(is_digit)
    } else {
        (2..=32).contains(&length) && at(text, name).is_ascii_alphabetic()
    };
    (is_right && at(text, end) == b';').then_some(end + 1)
}

/// Comments, declarations and instructions, as far as a browser goes: what it would show behind them is read as markup,
/// whatever XML says. What was looked for in vain is not looked for again.
#[derive(Default)]
struct Ends {
    no_comment: bool,
    no_instruction: bool,
}

/// What a comment begins with.
const COMMENT: &str = "<!--";
/// What a section begins with, whose text XML takes as it is. A browser takes it for a comment that ends at the next `>`.
const SECTION: &str = "<![CDATA[";

impl Ends {
    fn declaration(&mut self, text: &str, start: usize) -> Option<usize> {
        let rest = text.get(start..)?;
        if rest.starts_with(COMMENT) {
            let end = if self.no_comment { None } else { comment_end(rest) };
            self.no_comment |= end.is_none();
            end.map(|end| start + end)
        } else if rest.starts_with(SECTION) {
            Some(start + SECTION.len())
        } else if rest.starts_with("<?") {
            let end = if self.no_instruction { None } else { find(text, start + 2, |byte| byte == b'>') };
            self.no_instruction |= end.is_none();
            end.map(|end| end + 1)
        } else if at(rest, 1) == b'!' && at(rest, 2).is_ascii_alphabetic() {
            let end = find(text, start + 1, |byte| matches!(byte, b'<' | b'>'))?;
            (at(text, end) == b'>').then_some(end + 1)
        } else {
            None
        }
    }
}

/// Where the comment ends that a text begins with (HTML, 13.2.5.43 and those behind): `<!-->` and `<!--->` are whole ones,
/// and `--!>` ends one as well.
fn comment_end(text: &str) -> Option<usize> {
    let inside = text.get(COMMENT.len()..)?;
    if let Some(dashes) = [">", "->"].into_iter().find(|end| inside.starts_with(end)) {
        return Some(COMMENT.len() + dashes.len());
    }
    let ends = inside.match_indices('>').map(|(sign, _)| sign);
    let is_end =
        |sign: &usize| inside.get(..*sign).is_some_and(|before| before.ends_with("--") || before.ends_with("--!"));
    ends.into_iter().find(is_end).map(|sign| COMMENT.len() + sign + 1)
}

/// What a `<` turned out to be.
enum Reading<'a> {
    Tag(Tag<'a>),
    /// A tag of the name that never ends.
    Cut(&'a str),
    Text,
}

/// Reads the tag at a place. It ends before the next `<` outside quotes. Of all places from which tags could be read, no
/// more than three are within quotes or outside at any other, so that all of them together take linear time.
fn tag(text: &str, start: usize) -> Reading<'_> {
    let is_close = at(text, start + 1) == b'/';
    let name_start = start + 1 + usize::from(is_close);
    if !at(text, name_start).is_ascii_alphanumeric() {
        return Reading::Text;
    }
    let name_end = skip(text, name_start, |byte| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'<' | b'"' | b'\'')
    });
    let name = slice(text, name_start, name_end);
    if !matches!(at(text, name_end), b'>' | b'/') && !at(text, name_end).is_ascii_whitespace() {
        return if name_end == text.len() { Reading::Cut(name) } else { Reading::Text };
    }
    let mut attributes = Vec::new();
    let mut place = name_end;
    while let Some(next) = attribute(text, place, &mut attributes) {
        place = next;
    }
    if at(text, place) != b'>' {
        return Reading::Cut(name);
    }
    let is_digits = name.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'.' | b'_' | b'-');
    let is_name = is_digits || at(name, 0).is_ascii_alphabetic() && name.bytes().all(is_word) && !name.ends_with(':');
    // `<someone@example.com>` is an address; but a browser takes `<x@y onclick=…>` for a tag.
    if !is_name && !attributes.iter().any(Attribute::runs) {
        return Reading::Text;
    }
    let kind = match at(text, place - 1) {
        _ if is_close => TagKind::Close,
        b'/' if !attributes.last().is_some_and(|last| ends_unquoted(text, place, last)) => TagKind::Empty,
        _ => TagKind::Open,
    };
    Reading::Tag(Tag { range: start..place + 1, kind, name, attributes })
}

/// Whether the slash before the end belongs to a value without quotes: `<a href=x/>`.
fn ends_unquoted(text: &str, end: usize, last: &Attribute<'_>) -> bool {
    last.value.ends_with('/') && slice(text, end - last.value.len(), end) == last.value
}

/// Reads an attribute, or goes past a slash; where to look on. `None`: there is no more.
fn attribute<'a>(text: &'a str, from: usize, attributes: &mut Vec<Attribute<'a>>) -> Option<usize> {
    let start = skip(text, from, |byte| byte.is_ascii_whitespace() || byte == b'/');
    let ends_name = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'<' | b'=' | b'"' | b'\'');
    let name_end = skip(text, start, |byte| !ends_name(byte));
    let name = slice(text, start, name_end);
    if name.is_empty() {
        return (start > from).then_some(start);
    }
    let equals = skip_blank(text, name_end);
    if at(text, equals) != b'=' {
        attributes.push(Attribute { name, value: "" });
        return Some(name_end);
    }
    let value = skip_blank(text, equals + 1);
    let quote = at(text, value);
    let (from, end, next) = if matches!(quote, b'"' | b'\'') {
        let end = find(text, value + 1, |byte| byte == quote)?;
        (value + 1, end, end + 1)
    } else {
        // A quote within would be inside for one tag and outside for another: the tag ends in nothing.
        let end = skip(text, value, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'>' | b'<' | b'"' | b'\''));
        (value, end, end)
    };
    attributes.push(Attribute { name, value: slice(text, from, end) });
    Some(next)
}
