//! Markdown, read into blocks: headings, paragraphs, lists, tables, code. What a page may not contain (HTML, pictures,
//! quotations) is left out and named, so that a test can see that no page does.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// A page that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// What it consists of, in order.
    pub blocks: Vec<Block>,
    /// What was left out.
    pub left_out: Vec<String>,
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading; the page's own is of level 1.
    Heading {
        /// From 1 to 6.
        level: u8,
        /// Its words.
        text: Vec<Span>,
    },
    /// A paragraph.
    Paragraph(Vec<Span>),
    /// A list.
    List {
        /// What its first item is counted as, if items are counted.
        first_number: Option<u64>,
        /// What each item consists of.
        items: Vec<Vec<Block>>,
    },
    /// A table.
    Table {
        /// The headings of its columns.
        head: Cells,
        /// Its rows.
        rows: Vec<Cells>,
    },
    /// Code.
    Code {
        /// What stands behind the fence: the language, and what else is said of it.
        info: String,
        /// The code, with the end of its last line.
        text: String,
    },
}

/// A table's row: what stands in its cells.
pub type Cells = Vec<Vec<Span>>;

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Words.
    Text(String),
    /// Code.
    Code(String),
    /// Something that matters.
    Strong(Vec<Span>),
    /// Something stressed.
    Emphasis(Vec<Span>),
    /// A link.
    Link {
        /// Where it leads.
        target: String,
        /// What it says.
        text: Vec<Span>,
    },
}

impl Document {
    /// Reads a page.
    #[must_use]
    pub fn read(markdown: &str) -> Document {
        let mut reader = Reader { events: Parser::new_ext(markdown, Options::ENABLE_TABLES), left_out: Vec::new() };
        let blocks = reader.blocks();
        Document { blocks, left_out: reader.left_out }
    }
}

impl Block {
    /// The level and the words of a heading.
    #[must_use]
    pub fn as_heading(&self) -> Option<(u8, String)> {
        match self {
            Block::Heading { level, text } => Some((*level, plain(text))),
            _ => None,
        }
    }

    /// The words of a paragraph.
    #[must_use]
    pub fn as_paragraph(&self) -> Option<String> {
        match self {
            Block::Paragraph(text) => Some(plain(text)),
            _ => None,
        }
    }
}

/// The words alone.
#[must_use]
pub fn plain(spans: &[Span]) -> String {
    let text = |span: &Span| match span {
        Span::Text(text) | Span::Code(text) => text.clone(),
        Span::Strong(inner) | Span::Emphasis(inner) | Span::Link { text: inner, .. } => plain(inner),
    };
    spans.iter().map(text).collect()
}

/// How pages link to the chapter of the README that is a page here: who reads them in the tree finds it, too.
const TOUR: &str = "../../README.md#tour";

/// The page and the heading (the part behind `#`) that a link between pages leads to: `backup.md#salvage`. In the README,
/// which lies elsewhere, the same page is `assets/manual/backup.md`.
#[must_use]
pub fn page_of_link(target: &str) -> Option<(&str, Option<&str>)> {
    if target == TOUR {
        return Some(("tour", None));
    }
    let (file, heading) = target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let topic = file.strip_prefix("assets/manual/").unwrap_or(file).strip_suffix(".md")?;
    (!topic.contains([':', '/'])).then_some((topic, heading))
}

/// What a heading is called in an address: lower case, with hyphens for spaces, without punctuation.
#[must_use]
pub fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

struct Reader<'a> {
    events: Parser<'a>,
    left_out: Vec<String>,
}

/// What an event begins or is.
enum Piece {
    Block(Block),
    Span(Span),
}

impl Reader<'_> {
    /// What follows, up to the end of what is open.
    fn pieces(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while let Some(event) = self.next_inside() {
            pieces.extend(self.piece(event));
        }
        pieces
    }

    /// The next event, unless it ends what is open.
    fn next_inside(&mut self) -> Option<Event<'static>> {
        self.events.next().map(Event::into_static).filter(|event| !matches!(event, Event::End(_)))
    }

    fn piece(&mut self, event: Event<'static>) -> Option<Piece> {
        match event {
            Event::Text(text) => Some(Piece::Span(Span::Text(text.into_string()))),
            Event::Code(code) => Some(Piece::Span(Span::Code(code.into_string()))),
            Event::SoftBreak => Some(Piece::Span(Span::Text(" ".to_owned()))),
            Event::Start(tag) => self.begun(tag),
            other => {
                self.left_out.push(format!("{other:?}"));
                None
            }
        }
    }

    fn begun(&mut self, tag: Tag<'static>) -> Option<Piece> {
        let block = match tag {
            Tag::Paragraph => Block::Paragraph(self.spans()),
            Tag::Heading { level, .. } => Block::Heading { level: level as u8, text: self.spans() },
            Tag::List(first_number) => Block::List { first_number, items: self.each(Self::blocks) },
            Tag::Table(_) => {
                let mut rows = self.each(|reader| reader.each(Self::spans)).into_iter();
                Block::Table { head: rows.next().unwrap_or_default(), rows: rows.collect() }
            }
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                Block::Code { info, text: plain(&self.spans()) }
            }
            Tag::Strong => return Some(Piece::Span(Span::Strong(self.spans()))),
            Tag::Emphasis => return Some(Piece::Span(Span::Emphasis(self.spans()))),
            Tag::Link { dest_url, .. } => {
                let (target, text) = (dest_url.into_string(), self.spans());
                return Some(Piece::Span(Span::Link { target, text }));
            }
            other => {
                self.left_out.push(format!("{other:?}"));
                self.pieces();
                return None;
            }
        };
        Some(Piece::Block(block))
    }

    /// What each of the parts that follow (items, rows, cells) consists of.
    fn each<T>(&mut self, read: fn(&mut Self) -> T) -> Vec<T> {
        let mut parts = Vec::new();
        while self.next_inside().is_some() {
            parts.push(read(self));
        }
        parts
    }

    fn spans(&mut self) -> Vec<Span> {
        let span = |piece| match piece {
            Piece::Span(span) => Some(span),
            Piece::Block(_) => None,
        };
        self.pieces().into_iter().filter_map(span).collect()
    }

    /// Words without a paragraph of their own, as an item of a tight list has them, get one.
    fn blocks(&mut self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut is_loose = false;
        for piece in self.pieces() {
            match (piece, blocks.last_mut()) {
                (Piece::Span(span), Some(Block::Paragraph(spans))) if is_loose => spans.push(span),
                (Piece::Span(span), _) => {
                    blocks.push(Block::Paragraph(vec![span]));
                    is_loose = true;
                }
                (Piece::Block(block), _) => {
                    blocks.push(block);
                    is_loose = false;
                }
            }
        }
        blocks
    }
}
