//! Labels: plain lines or HTML-like text, measured.

use super::measured::Html;
use crate::geometry::Size;
use crate::graph::values::{Attributes, Value};
use crate::text::{
    DEFAULT_FONT, DEFAULT_FONT_SIZE, Font, FontStyle, LARGEST_FONT_SIZE, Names, SMALLEST_FONT_SIZE, TextBlock, expand,
    font_name,
};
use crate::warnings::Warnings;

/// A label with what it takes up.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// Lines of text.
    Text(TextBlock),
    /// An HTML-like label.
    Html(Html),
}

impl Label {
    /// Measures `value`. Names in escapes are `names`; the warnings are Graphviz's.
    pub fn new(value: Value<'_>, names: &Names<'_>, font: Font, warnings: &mut Warnings) -> Label {
        match value {
            Value::Text(text) => Label::Text(TextBlock::new(expand(text, names), font)),
            Value::Html(source) => match Html::new(source, names, font.clone(), warnings) {
                Ok(label) => Label::Html(label),
                // Graphviz draws nothing in place of a label it cannot read.
                Err(_) => Label::Text(TextBlock::new(Vec::new(), font)),
            },
        }
    }

    /// What it takes up, without a margin.
    pub fn size(&self) -> Size {
        match self {
            Label::Text(block) => block.size,
            Label::Html(label) => label.size,
        }
    }

    /// The HTML-like label, if it is one.
    pub fn as_html(&self) -> Option<&Html> {
        match self {
            Label::Text(_) => None,
            Label::Html(label) => Some(label),
        }
    }

    /// The base font.
    pub fn font(&self) -> &Font {
        match self {
            Label::Text(block) => &block.font,
            Label::Html(label) => &label.font,
        }
    }
}

/// The font that `fontname` and `fontsize` say. `prefix` is `label` for the labels at an edge's ends, whose font is the
/// edge's where `labelfontname` and `labelfontsize` say nothing; else it is empty.
pub fn font(attributes: &dyn Attributes, prefix: &str) -> Font {
    let prefixed = |name: &str| format!("{prefix}{name}");
    let own = attributes.text(&prefixed("fontname"));
    let name = font_name(own.or_else(|| attributes.text("fontname")).unwrap_or(DEFAULT_FONT));
    let size = attributes.number("fontsize", DEFAULT_FONT_SIZE, SMALLEST_FONT_SIZE);
    let size = attributes.number(&prefixed("fontsize"), size, SMALLEST_FONT_SIZE).min(LARGEST_FONT_SIZE);
    Font { name, size, style: FontStyle::default() }
}
