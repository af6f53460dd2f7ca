//! Records: boxes in boxes, laid out in turns from left to right and from top to bottom.

use std::iter::Peekable;
use std::str::Chars;

use super::kinds::Kind;
use super::model::{Field, NodeShape, PlacedLabel, Ring};
use super::polygon::{self, Fixed};
use crate::geometry::{Point, Rect, Size};
use crate::graph::values::{Attributes, Value};
use crate::html::label::{self, Label};
use crate::text::Names;
use crate::warnings::Warnings;

/// What stands between two bars, as far as it was read.
#[derive(Default)]
struct Pending {
    text: String,
    port: Option<String>,
    has_text: bool,
    table: Option<usize>,
    /// Text stood before the port; Graphviz then loses it, and what follows.
    lost: bool,
}

/// Braces that are open.
#[derive(Default)]
struct Table {
    index: usize,
    /// The field that is being read.
    pending: Pending,
    /// Whether a blank was escaped: from then on all count.
    keeps_blanks: bool,
}

/// A field as written: where it lies, its port and its text.
struct Written {
    fields: Vec<Field>,
    texts: Vec<Option<String>>,
}

/// How the text of a label is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    /// Plain text, in which `<` and `>` hold a port and blanks count once.
    Plain,
    /// HTML-like: `<` and `>` belong to the elements of a field, whose text keeps its blanks. Such fields have no ports.
    Html,
}

/// Reads a record label into fields, parents before children. `None` if it is none.
fn parse(source: &str, writing: Writing, is_row: bool) -> Option<Written> {
    let mut out = Written { fields: vec![Field::new(is_row)], texts: vec![None] };
    // The tables that are open, outermost first, each with the field being read in it.
    let mut open = vec![Table::default()];
    let mut chars = source.chars().peekable();
    loop {
        let c = chars.next();
        let table = open.last_mut()?;
        let index = table.index;
        let pending = &mut table.pending;
        match c {
            None | Some('|' | '}') => {
                let done = std::mem::take(pending);
                close_field(&mut out, index, done, writing, table.keeps_blanks)?;
                match c {
                    Some('|') => {}
                    Some('}') if open.len() > 1 => {
                        open.pop();
                    }
                    // What follows a closing brace too many is not read.
                    Some(_) => return Some(out),
                    None if open.len() > 1 => return None,
                    None => return Some(out),
                }
            }
            Some('{') => {
                if pending.has_text || pending.port.is_some() || pending.table.is_some() {
                    return None;
                }
                let is_row = !out.fields.get(index)?.is_row;
                let inner = out.fields.len();
                pending.table = Some(inner);
                out.fields.push(Field::new(is_row));
                out.texts.push(None);
                out.fields.get_mut(index)?.children.push(inner);
                open.push(Table { index: inner, ..Table::default() });
            }
            Some('<') if writing == Writing::Plain => {
                if pending.table.is_some() || pending.port.is_some() {
                    return None;
                }
                pending.lost = pending.has_text;
                pending.port = Some(read_port(&mut chars, &mut table.keeps_blanks)?);
            }
            Some('>') if writing == Writing::Plain => return None,
            Some(c) if c.is_control() => {}
            Some(' ') => table.blank(writing),
            Some(_) if pending.table.is_some() => return None,
            Some(c) => table.letter(c, &mut chars, writing),
        }
    }
}

/// Stands for a blank that was escaped.
const HARD_SPACE: char = '\u{f8ff}';

impl Table {
    /// Blanks count once, and only between words; after an escaped one in the same braces, all count.
    fn blank(&mut self, writing: Writing) {
        let text = &mut self.pending.text;
        let all_count = self.keeps_blanks || writing == Writing::Html;
        if !text.is_empty() && (all_count || !text.ends_with(' ')) {
            text.push(' ');
        }
    }

    /// A letter of the field's text, or an escape and what it is of.
    fn letter(&mut self, c: char, chars: &mut Peekable<Chars<'_>>, writing: Writing) {
        self.pending.has_text = true;
        let text = &mut self.pending.text;
        match (c, chars.peek().copied()) {
            ('\\', Some(next @ ('{' | '}' | '|' | '<' | '>'))) => {
                chars.next();
                text.push(next);
            }
            // It becomes a blank once all others are counted.
            ('\\', Some(' ')) if writing == Writing::Plain => {
                chars.next();
                self.keeps_blanks = true;
                if !text.is_empty() {
                    text.push(HARD_SPACE);
                }
            }
            ('\\', Some(next)) => {
                chars.next();
                text.extend(['\\', next]);
            }
            _ => text.push(c),
        }
    }
}

fn close_field(out: &mut Written, table: usize, done: Pending, writing: Writing, keeps_blanks: bool) -> Option<()> {
    if done.table.is_some() {
        return Some(());
    }
    let text = match done.has_text {
        _ if done.lost => String::new(),
        // Observed: of several blanks at the end, HTML-like text loses one.
        true if writing == Writing::Html => done.text.strip_suffix(' ').unwrap_or(&done.text).to_owned(),
        true if keeps_blanks => done.text.replace(HARD_SPACE, " "),
        true => done.text.trim_end_matches(' ').to_owned(),
        false => " ".to_owned(),
    };
    let index = out.fields.len();
    out.fields.push(Field { port: done.port, ..Field::new(true) });
    out.texts.push(Some(text));
    out.fields.get_mut(table)?.children.push(index);
    Some(())
}

/// The name between `<` and `>`, with blanks counted once and none at the ends.
fn read_port(chars: &mut Peekable<Chars<'_>>, keeps_blanks: &mut bool) -> Option<String> {
    let mut port = String::new();
    loop {
        match chars.next()? {
            '>' => return Some(port.trim_end().to_owned()),
            '<' | '{' | '}' | '|' => return None,
            '\\' => match chars.next()? {
                ' ' => {
                    *keeps_blanks = true;
                    port.push(' ');
                }
                c @ ('{' | '}' | '|' | '<' | '>') => port.push(c),
                c => port.extend(['\\', c]),
            },
            c if c.is_control() => {}
            ' ' if port.is_empty() || port.ends_with(' ') => {}
            c => port.push(c),
        }
    }
}

/// Sizes a record.
pub(super) fn size(
    kind: Kind,
    attributes: &dyn Attributes,
    names: &Names<'_>,
    is_flipped: bool,
    warnings: &mut Warnings,
) -> NodeShape {
    let margin = polygon::margin(attributes).unwrap_or(polygon::DEFAULT_MARGIN);
    let (source, writing) = match attributes.value("label").unwrap_or(Value::Text("\\N")) {
        Value::Text(text) => (text, Writing::Plain),
        // Nothing is nothing, however it is written.
        Value::Html("") => ("", Writing::Plain),
        Value::Html(text) => (text, Writing::Html),
    };
    let mut written = parse(source, writing, !is_flipped).unwrap_or_else(|| {
        warnings.push(format!("bad label format {source}"));
        single("\\N", !is_flipped)
    });
    let font = label::font(attributes, "");
    let mut measure = |text: &Option<String>, has_children: bool| -> Option<Label> {
        let text = text.as_deref().filter(|_| !has_children)?;
        let value = if writing == Writing::Html { Value::Html(text) } else { Value::Text(text) };
        Some(Label::new(value, names, font.clone(), warnings))
    };
    let mut labels = Vec::with_capacity(written.fields.len());
    for (index, (field, text)) in written.fields.iter().zip(&written.texts).enumerate() {
        labels.push(measure(text, index == 0 || !field.children.is_empty()));
    }
    natural_sizes(&mut written.fields, &labels, margin);
    let asked = polygon::asked_size(attributes, false);
    let natural = written.fields.first().map_or_else(Size::default, |field| field.size);
    let size = match polygon::fixed(attributes) {
        Fixed::Yes => {
            if asked.width < natural.width || asked.height < natural.height {
                let (node, graph) = (names.node.unwrap_or_default(), names.graph.unwrap_or_default());
                warnings.push(format!("node '{node}', graph '{graph}' size too small for label"));
            }
            asked
        }
        Fixed::No | Fixed::Shape => Size::new(natural.width.max(asked.width), natural.height.max(asked.height)),
    };
    place(&mut written.fields, size);
    let is_justified = !attributes.flag("nojustify", false);
    for (field, label) in written.fields.iter_mut().zip(labels) {
        field.label = label.map(|label| {
            let text = label.size();
            let width = if is_justified { field.size.width - margin.width } else { text.width };
            PlacedLabel { room: Size::new(width, text.height), label, along: None }
        });
    }
    let (x, y) = (size.width / 2.0, size.height / 2.0);
    let corners = vec![Point::new(x, y), Point::new(-x, y), Point::new(-x, -y), Point::new(x, -y)];
    // Observed: a record takes a point more than its box, for its lines.
    let size = Size::new(size.width, size.height + 1.0);
    NodeShape {
        kind,
        size,
        has_line: true,
        is_box: true,
        pen_width: polygon::pen_width(attributes),
        rings: vec![Ring::Polygon(corners)],
        label: None,
        fields: written.fields,
    }
}

/// A record of one field.
fn single(text: &str, is_row: bool) -> Written {
    let root = Field { children: vec![1], ..Field::new(is_row) };
    Written { fields: vec![root, Field::new(true)], texts: vec![None, Some(text.to_owned())] }
}

/// What each field needs, innermost first.
fn natural_sizes(fields: &mut [Field], labels: &[Option<Label>], margin: Size) {
    for index in (0..fields.len()).rev() {
        let size = match labels.get(index).and_then(Option::as_ref).map(Label::size) {
            Some(text) if text.width > 0.0 || text.height > 0.0 => {
                Size::new(text.width + margin.width, text.height + margin.height)
            }
            Some(text) => text,
            None => {
                let Some(field) = fields.get(index) else { continue };
                let sizes = field.children.iter().filter_map(|child| fields.get(*child)).map(|child| child.size);
                sizes.fold(Size::default(), |sum, size| match field.is_row {
                    true => Size::new(sum.width + size.width, sum.height.max(size.height)),
                    false => Size::new(sum.width.max(size.width), sum.height + size.height),
                })
            }
        };
        if let Some(field) = fields.get_mut(index) {
            field.size = size;
        }
    }
}

/// Gives each field its share of what is left, in whole points, and its place.
fn place(fields: &mut [Field], size: Size) {
    let half = Point::new(size.width / 2.0, size.height / 2.0);
    let natural: Vec<Size> = fields.iter().map(|field| field.size).collect();
    if let Some(root) = fields.first_mut() {
        root.rect = Rect::new(Point::default() - half, half);
        root.size = size;
    }
    for index in 0..fields.len() {
        let Some(field) = fields.get(index) else { continue };
        let (size, rect, is_row) = (field.size, field.rect, field.is_row);
        let children = field.children.clone();
        let own = natural.get(index).copied().unwrap_or_default();
        let spare = if is_row { size.width - own.width } else { size.height - own.height };
        let share = spare / children.len().max(1) as f64;
        let mut at = Point::new(rect.low.x, rect.high.y);
        for (i, child) in children.iter().enumerate() {
            let Some(needs) = natural.get(*child) else { continue };
            let extra = (share * (i + 1) as f64).trunc() - (share * i as f64).trunc();
            let given = match is_row {
                true => Size::new(needs.width + extra, size.height),
                false => Size::new(size.width, needs.height + extra),
            };
            let low = Point::new(at.x, at.y - given.height);
            if let Some(child) = fields.get_mut(*child) {
                child.size = given;
                child.rect = Rect::new(low, Point::new(at.x + given.width, at.y));
            }
            match is_row {
                true => at.x += given.width,
                false => at.y -= given.height,
            }
        }
    }
}
