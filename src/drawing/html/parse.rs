//! Reads HTML-like labels: tags, attributes, entities, and the grammar of tables and text.

use std::sync::Arc;

use super::model::{Across, Cell, Content, Line, Span, Table};
use crate::graph::values::leading_whole;
use crate::text::{Font, Names, decode_entity, font_name, substitute};
use crate::warnings::Warnings;

/// Elements inside one another.
const DEEPEST: usize = 96;

/// The most rows or columns of a table.
pub(super) const LARGEST_GRID: usize = 2_000;

/// Why a label cannot be read, in Graphviz's words.
pub(super) type Problem = String;

/// A tag as it was read.
#[derive(Debug)]
enum Token {
    Open { name: String, attributes: Vec<(String, String)>, is_empty: bool },
    Close(String),
    Text(String),
}

/// Cuts a label into tags and text.
struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn syntax(&self) -> Problem {
        format!("syntax error in line {}", self.line)
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn next(&mut self) -> Result<Option<Token>, Problem> {
        loop {
            if self.rest.is_empty() {
                return Ok(None);
            }
            if self.rest.starts_with("<!--") {
                let end = self.rest.find("-->").ok_or_else(|| self.syntax())?;
                self.take(end + 3);
                continue;
            }
            if !self.rest.starts_with('<') {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let line = self.line;
                let text = self.take(end);
                return Ok(Some(Token::Text(self.decode(text, line)?)));
            }
            let end = self.tag_end().ok_or_else(|| self.syntax())?;
            let tag = self.take(end + 1);
            let body = tag.get(1..end).unwrap_or_default();
            return self.tag(body).map(Some);
        }
    }

    /// The bracket that ends the tag the rest begins with, quoted values aside.
    fn tag_end(&self) -> Option<usize> {
        let mut quote = None;
        for (at, c) in self.rest.char_indices() {
            match (quote, c) {
                (None, '>') => return Some(at),
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), c) if c == open => quote = None,
                _ => {}
            }
        }
        None
    }

    fn tag(&self, body: &str) -> Result<Token, Problem> {
        if let Some(name) = body.strip_prefix('/') {
            return Ok(Token::Close(name.trim_end().to_ascii_uppercase()));
        }
        let (body, is_empty) = match body.strip_suffix('/') {
            Some(body) => (body, true),
            None => (body, false),
        };
        let end = body.find(|c: char| c.is_ascii_whitespace()).unwrap_or(body.len());
        let (name, mut rest) = body.split_at(end);
        if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(format!("not well-formed (invalid token) in line {}", self.line));
        }
        let bad = || format!("not well-formed (invalid token) in line {}", self.line);
        let mut attributes: Vec<(String, String)> = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            let (key, after) = rest.split_once('=').ok_or_else(bad)?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or_else(bad)?;
            let value = after.get(1..).unwrap_or_default();
            let (value, after) = value.split_once(quote).ok_or_else(bad)?;
            let key = key.trim_end().to_ascii_uppercase();
            // Attributes need a blank between them.
            let is_apart = after.is_empty() || after.starts_with(|c: char| c.is_ascii_whitespace());
            if !is_apart || key.is_empty() || attributes.iter().any(|(other, _)| *other == key) {
                return Err(bad());
            }
            attributes.push((key, self.decode(value, self.line)?));
            rest = after;
        }
        Ok(Token::Open { name: name.to_ascii_uppercase(), attributes, is_empty })
    }

    /// Entities decoded; an unknown one is an error here.
    fn decode(&self, text: &str, line: usize) -> Result<String, Problem> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('&') {
            let (before, entity) = rest.split_at(at);
            out.push_str(before);
            match decode_entity(entity) {
                Some((c, after)) => {
                    out.push(c);
                    rest = after;
                }
                None => {
                    // A name that is no entity's is an error; an ampersand that begins none is text.
                    let name = entity.get(1..).unwrap_or_default();
                    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '#').unwrap_or(name.len());
                    if end > 0 && name.get(end..).is_some_and(|after| after.starts_with(';')) {
                        return Err(format!("undefined entity in line {line}"));
                    }
                    out.push('&');
                    rest = name;
                }
            }
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// An element that is open.
enum Open {
    /// `<FONT>`, `<B>` and their like: the name, and the font before.
    Style {
        name: String,
        before: (Font, Option<Arc<str>>),
        had_content: bool,
    },
    Table(Table),
    Row(Vec<Cell>),
    Cell(Cell),
}

impl Open {
    fn name(&self) -> &str {
        match self {
            Open::Style { name, .. } => name,
            Open::Table(_) => "TABLE",
            Open::Row(_) => "TR",
            Open::Cell(_) => "TD",
        }
    }
}

/// What a label, or a cell, has in it so far.
#[derive(Default)]
struct Inside {
    lines: Vec<Line>,
    spans: Vec<Span>,
    has_text: bool,
    table: Option<Table>,
    has_image: bool,
}

impl Inside {
    fn end_line(&mut self, across: Option<Across>, font: &Font, color: &Option<Arc<str>>) {
        let mut spans = std::mem::take(&mut self.spans);
        if spans.is_empty() {
            spans.push(Span::new(String::new(), font.clone(), color.clone()));
        }
        self.lines.push(Line::new(spans, across));
    }

    fn finish(mut self, font: &Font, color: &Option<Arc<str>>) -> Content {
        if let Some(table) = self.table {
            return Content::Table(Box::new(table));
        }
        if !self.spans.is_empty() {
            self.end_line(None, font, color);
        }
        if self.lines.is_empty() { Content::Empty } else { Content::Text(self.lines) }
    }
}

/// The reader, with the font that holds where it is.
struct Reader<'a, 'w> {
    lexer: Lexer<'a>,
    /// What `\N` and its like stand for.
    names: Names<'a>,
    open: Vec<Open>,
    /// What the label and each open cell hold; the last is being filled.
    inside: Vec<Inside>,
    font: Font,
    color: Option<Arc<str>>,
    warnings: &'w mut Warnings,
}

/// Reads a label.
pub(super) fn read(source: &str, names: &Names<'_>, font: Font, warnings: &mut Warnings) -> Result<Content, Problem> {
    let mut reader = Reader {
        lexer: Lexer { rest: source, line: 1 },
        names: *names,
        open: Vec::new(),
        inside: vec![Inside::default()],
        font,
        color: None,
        warnings,
    };
    while let Some(token) = reader.lexer.next()? {
        match token {
            Token::Text(text) => reader.text(&text)?,
            Token::Open { name, attributes, is_empty } => {
                reader.start(&name, named(attributes, names))?;
                if is_empty {
                    reader.end(&name)?;
                }
            }
            Token::Close(name) => reader.end(&name)?,
        }
    }
    if !reader.open.is_empty() {
        return Err(format!("mismatched tag in line {}", reader.lexer.line));
    }
    let (font, color) = (reader.font, reader.color);
    Ok(reader.inside.pop().unwrap_or_default().finish(&font, &color))
}

/// Attributes with names where the ones that may hold names have `\N` and its like.
fn named(mut attributes: Vec<(String, String)>, names: &Names<'_>) -> Vec<(String, String)> {
    for (key, value) in &mut attributes {
        if matches!(key.as_str(), "HREF" | "ID" | "TARGET" | "TITLE" | "TOOLTIP") {
            *value = substitute(value, names);
        }
    }
    attributes
}

impl Reader<'_, '_> {
    fn syntax(&self) -> Problem {
        self.lexer.syntax()
    }

    /// Whether text may stand here, and where it goes.
    fn holder(&mut self) -> Option<&mut Inside> {
        let is_text = !matches!(
            self.open.iter().rev().find(|o| !matches!(o, Open::Style { .. })),
            Some(Open::Table(_) | Open::Row(_))
        );
        if is_text { self.inside.last_mut() } else { None }
    }

    fn text(&mut self, text: &str) -> Result<(), Problem> {
        let is_blank = text.chars().all(|c| c.is_ascii_whitespace());
        let kept: String = text.chars().filter(|c| !c.is_control()).collect();
        // Only now, so that a name is text whatever stands in it.
        let kept = substitute(&kept, &self.names);
        let (font, color) = (self.font.clone(), self.color.clone());
        let syntax = self.syntax();
        let line = self.lexer.line;
        match self.holder() {
            None if is_blank => return Ok(()),
            None => return Err(syntax),
            Some(inside) if inside.table.is_some() || inside.has_image => {
                return if is_blank {
                    Ok(())
                } else {
                    Err(format!("Syntax error: non-space string used after </TABLE> in line {line}"))
                };
            }
            Some(inside) => {
                if kept.is_empty() {
                    return Ok(());
                }
                inside.has_text |= !is_blank;
                inside.spans.push(Span::new(kept, font, color));
            }
        }
        self.mark_content();
        Ok(())
    }

    fn mark_content(&mut self) {
        if let Some(Open::Style { had_content, .. }) = self.open.last_mut() {
            *had_content = true;
        }
    }

    fn start(&mut self, name: &str, attributes: Vec<(String, String)>) -> Result<(), Problem> {
        if self.open.len() >= DEEPEST {
            return Err(format!("label is nested deeper than {DEEPEST} elements"));
        }
        match name {
            "B" | "I" | "U" | "O" | "S" | "SUB" | "SUP" | "FONT" => {
                if self.holder().is_none() {
                    return Err(self.syntax());
                }
                self.mark_content();
                let before = (self.font.clone(), self.color.clone());
                self.change_font(name, attributes);
                self.open.push(Open::Style { name: name.to_owned(), before, had_content: false });
            }
            "BR" => {
                let mut across = None;
                for (key, value) in attributes {
                    match (key.as_str(), value.to_ascii_uppercase().as_str()) {
                        ("ALIGN", "LEFT") => across = Some(Across::Left),
                        ("ALIGN", "RIGHT") => across = Some(Across::Right),
                        ("ALIGN", "CENTER") => across = Some(Across::Center),
                        ("ALIGN", _) => self.warnings.push(format!("Illegal value {value} for ALIGN - ignored")),
                        _ => self.warnings.push(format!("Illegal attribute {} in <BR> - ignored", key.to_lowercase())),
                    }
                }
                let (font, color) = (self.font.clone(), self.color.clone());
                let syntax = self.syntax();
                let Some(inside) = self.holder().filter(|inside| inside.table.is_none()) else { return Err(syntax) };
                inside.end_line(across, &font, &color);
                inside.has_text = true;
                self.mark_content();
            }
            "TABLE" => {
                let syntax = self.syntax();
                let line = self.lexer.line;
                let Some(inside) = self.holder() else { return Err(syntax) };
                if inside.has_text || inside.table.is_some() {
                    return Err(format!("Syntax error: non-space string used before <TABLE> in line {line}"));
                }
                inside.spans.clear();
                inside.lines.clear();
                self.mark_content();
                let mut table = Table::default();
                super::attributes::table(&mut table, attributes, self.warnings);
                self.open.push(Open::Table(table));
            }
            "TR" => match self.open.last() {
                Some(Open::Table(_)) => self.open.push(Open::Row(Vec::new())),
                _ => return Err(self.syntax()),
            },
            "TD" => {
                if !matches!(self.open.last(), Some(Open::Row(_))) {
                    return Err(self.syntax());
                }
                let mut cell = Cell::default();
                super::attributes::cell(&mut cell, attributes, self.warnings);
                self.open.push(Open::Cell(cell));
                self.inside.push(Inside::default());
            }
            "HR" => match self.open.last_mut() {
                Some(Open::Table(table)) if !table.rows.is_empty() => {
                    let row = table.rows.len() - 1;
                    table.rules_below.push(row);
                }
                _ => return Err(self.syntax()),
            },
            "VR" => match self.open.last_mut() {
                Some(Open::Row(cells)) if !cells.is_empty() => {
                    if let Some(cell) = cells.last_mut() {
                        cell.has_rule = true;
                    }
                }
                _ => return Err(self.syntax()),
            },
            "IMG" => {
                let syntax = self.syntax();
                if !matches!(self.open.last(), Some(Open::Cell(_))) {
                    return Err(syntax);
                }
                let source = attributes.iter().find(|(key, _)| key == "SRC").map_or("", |(_, value)| value);
                // No file is ever read for a picture.
                self.warnings.push(format!("No or improper image file=\"{source}\""));
                let Some(inside) = self.inside.last_mut() else { return Err(syntax) };
                if inside.has_text || inside.table.is_some() || inside.has_image {
                    return Err(syntax);
                }
                inside.has_image = true;
            }
            _ => return Err(format!("Unknown HTML element <{}> on line {}", name.to_lowercase(), self.lexer.line)),
        }
        Ok(())
    }

    fn change_font(&mut self, name: &str, attributes: Vec<(String, String)>) {
        let style = &mut self.font.style;
        match name {
            "B" => style.bold = true,
            "I" => style.italic = true,
            "U" => style.underline = true,
            "O" => style.overline = true,
            "S" => style.strike = true,
            "SUB" => style.subscript = true,
            "SUP" => style.superscript = true,
            _ => {
                for (key, value) in attributes {
                    match key.as_str() {
                        "FACE" => self.font.name = font_name(&value),
                        "COLOR" => self.color = Some(value.into()),
                        "POINT-SIZE" => match leading_whole(&value) {
                            None => self.warnings.push(format!("Improper POINT-SIZE value {value} - ignored")),
                            Some(size) if size < 0 => {
                                self.warnings.push(format!("POINT-SIZE value {size} < 0 - too small - ignored"));
                            }
                            Some(size) if size > 255 => {
                                self.warnings.push(format!("POINT-SIZE value {size} > 255 - too large - ignored"));
                            }
                            Some(size) => self.font.size = size as f64,
                        },
                        _ => {
                            let key = key.to_lowercase();
                            self.warnings.push(format!("Illegal attribute {key} in <FONT> - ignored"));
                        }
                    }
                }
            }
        }
    }

    fn end(&mut self, name: &str) -> Result<(), Problem> {
        if matches!(name, "BR" | "HR" | "VR" | "IMG") {
            return Ok(());
        }
        let is_open = self.open.last().is_some_and(|open| open.name() == name);
        if !is_open {
            return Err(format!("mismatched tag in line {}", self.lexer.line));
        }
        match self.open.pop() {
            Some(Open::Style { before, had_content, .. }) => {
                if !had_content {
                    return Err(self.syntax());
                }
                (self.font, self.color) = before;
            }
            Some(Open::Cell(mut cell)) => {
                let inside = self.inside.pop().unwrap_or_default();
                cell.content = inside.finish(&self.font, &self.color);
                if let Some(Open::Row(cells)) = self.open.last_mut()
                    && cells.len() < LARGEST_GRID
                {
                    cells.push(cell);
                }
            }
            Some(Open::Row(cells)) => {
                if cells.is_empty() {
                    return Err(self.syntax());
                }
                if let Some(Open::Table(table)) = self.open.last_mut()
                    && table.rows.len() < LARGEST_GRID
                {
                    table.rows.push(cells);
                }
            }
            Some(Open::Table(table)) => {
                if table.rows.is_empty() {
                    return Err(self.syntax());
                }
                if let Some(inside) = self.inside.last_mut() {
                    inside.table = Some(table);
                }
            }
            None => {}
        }
        Ok(())
    }
}
