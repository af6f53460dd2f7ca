//! An HTML-like label, read and measured.

use super::model::{Content, Table};
use super::parse::read;
use super::size::{content_size, place_table};
use crate::geometry::{Point, Rect, Size};
use crate::text::{Font, Names};
use crate::warnings::Warnings;

/// An HTML-like label, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Html {
    /// What it takes up.
    pub size: Size,
    /// The font it starts with.
    pub font: Font,
    /// How many cells and pieces of text it has.
    pub parts: usize,
    pub(crate) content: Content,
}

/// The label cannot be read; the warnings say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtmlError;

impl Html {
    /// Reads and measures `source`; warnings come in Graphviz's words.
    ///
    /// # Errors
    /// When it is not well formed, or nested too deep.
    pub fn new(source: &str, names: &Names<'_>, font: Font, warnings: &mut Warnings) -> Result<Html, HtmlError> {
        let before = warnings.told();
        let outcome = read(source, names, font.clone(), warnings);
        let mut content = match outcome {
            Ok(content) => content,
            Err(problem) => {
                warnings.push(problem);
                warnings.push(place_of(names));
                return Err(HtmlError);
            }
        };
        let size = content_size(&mut content, warnings);
        if warnings.told() > before {
            warnings.push(place_of(names));
        }
        if let Content::Table(table) = &mut content {
            place_table(table, Rect::around(Point::default(), size));
        }
        let parts = parts(&content);
        Ok(Html { size, font, parts, content })
    }

    /// The box of the cell or table with this port, from the label's middle.
    pub fn port(&self, name: &str) -> Option<Rect> {
        let Content::Table(table) = &self.content else { return None };
        let mut open: Vec<&Table> = vec![table];
        while let Some(table) = open.pop() {
            if table.frame.port.as_deref() == Some(name) {
                return Some(table.frame.rect);
            }
            for cell in table.rows.iter().flatten() {
                if cell.frame.port.as_deref() == Some(name) {
                    return Some(cell.frame.rect);
                }
                if let Content::Table(inner) = &cell.content {
                    open.push(inner);
                }
            }
        }
        None
    }
}

#[cfg(test)]
impl Html {
    /// The lines of a label without tables.
    pub fn lines(&self) -> Vec<String> {
        let Content::Text(lines) = &self.content else { return Vec::new() };
        lines.iter().map(|line| line.spans.iter().map(|span| span.text.as_str()).collect()).collect()
    }
}

/// Cells and pieces of text.
fn parts(content: &Content) -> usize {
    let mut count = 0;
    let mut open = vec![content];
    while let Some(content) = open.pop() {
        count += 1;
        match content {
            Content::Empty => {}
            Content::Text(lines) => count += lines.iter().map(|line| line.spans.len()).sum::<usize>(),
            Content::Table(table) => open.extend(table.rows.iter().flatten().map(|cell| &cell.content)),
        }
    }
    count
}

/// Where a warning belongs.
fn place_of(names: &Names<'_>) -> String {
    match (names.node, names.edge, names.graph) {
        (Some(node), _, _) => format!("in label of node {node}"),
        (None, Some(edge), _) => format!("in label of edge {edge}"),
        (None, None, graph) => format!("in label of graph {}", graph.unwrap_or("%1")),
    }
}
