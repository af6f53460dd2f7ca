//! What an HTML-like label is made of: tables, cells, lines of text.

use std::sync::Arc;

use crate::geometry::{Rect, Size};
use crate::text::{Font, line_width};

/// Where something stands from side to side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Across {
    #[default]
    Center,
    Left,
    Right,
}

/// Where something stands from top to bottom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Along {
    #[default]
    Middle,
    Top,
    Bottom,
}

/// A piece of text in one font.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub text: String,
    pub font: Font,
    /// `<FONT COLOR>`.
    pub color: Option<Arc<str>>,
    pub width: f64,
}

impl Span {
    pub fn new(text: String, font: Font, color: Option<Arc<str>>) -> Span {
        let width = line_width(&text, &font);
        Span { text, font, color, width }
    }
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub spans: Vec<Span>,
    /// Where the line stands, if `<BR ALIGN>` said so.
    pub across: Option<Across>,
    pub width: f64,
    /// The largest font in it.
    pub font_size: f64,
}

impl Line {
    pub fn new(spans: Vec<Span>, across: Option<Across>) -> Line {
        let width = spans.iter().map(|span| span.width).sum();
        let font_size = spans.iter().map(|span| span.font.size).fold(0.0, f64::max);
        Line { spans, across, width, font_size }
    }
}

/// What is in a cell, or in a label.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Content {
    #[default]
    Empty,
    Text(Vec<Line>),
    Table(Box<Table>),
}

/// What tables and cells have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    pub border: Option<f64>,
    pub padding: Option<f64>,
    pub spacing: Option<f64>,
    pub width: f64,
    pub height: f64,
    pub is_fixed: bool,
    pub across: Across,
    pub along: Along,
    pub background: Option<String>,
    pub color: Option<String>,
    pub angle: f64,
    pub style: FrameStyle,
    /// Bottom, right, top, left; all of them where `SIDES` says nothing.
    pub sides: Option<[bool; 4]>,
    pub port: Option<String>,
    pub href: Option<String>,
    pub target: Option<String>,
    pub title: Option<String>,
    pub id: Option<String>,
    /// Its box about the label's middle, once it is placed.
    pub rect: Rect,
}

/// `STYLE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameStyle {
    pub rounded: bool,
    pub invisible: bool,
    pub radial: bool,
    pub dashed: bool,
    pub dotted: bool,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub frame: Frame,
    pub content: Content,
    pub column_span: Option<usize>,
    pub row_span: Option<usize>,
    /// `BALIGN`: where its lines stand.
    pub line_across: Across,
    /// `ALIGN=TEXT`: lines are justified in the whole cell.
    pub is_text_wide: bool,
    /// `<VR/>` after it.
    pub has_rule: bool,
    /// Where it begins.
    pub column: usize,
    pub row: usize,
    /// The border it is drawn with.
    pub border: f64,
    pub padding: f64,
    /// What it needs.
    pub size: Size,
}

impl Cell {
    pub fn columns(&self) -> usize {
        self.column_span.unwrap_or(1)
    }

    pub fn rows(&self) -> usize {
        self.row_span.unwrap_or(1)
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub frame: Frame,
    pub rows: Vec<Vec<Cell>>,
    pub cell_border: Option<f64>,
    /// `ROWS="*"`: lines between all rows.
    pub has_row_rules: bool,
    /// `COLUMNS="*"`.
    pub has_column_rules: bool,
    /// Rows with an `<HR/>` after them.
    pub rules_below: Vec<usize>,
    /// What its columns and rows need.
    pub widths: Vec<f64>,
    pub heights: Vec<f64>,
    pub size: Size,
}

impl Table {
    pub fn border(&self) -> f64 {
        self.frame.border.unwrap_or(1.0)
    }

    pub fn spacing(&self) -> f64 {
        self.frame.spacing.unwrap_or(2.0)
    }
}
