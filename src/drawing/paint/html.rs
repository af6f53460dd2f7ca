//! HTML-like labels, painted.

use std::cell;

use super::address;
use super::corners::{fit_gradient, rounded};
use super::scene::{Anchor, Item, Link, Text};
use crate::geometry::{Point, Rect};
use crate::html::Html;
use crate::html::model::{Across, Cell, Content, Frame, Line, Table};
use crate::html::size::{aligned, is_simple, text_size};
use crate::style::color::parse_or_black;
use crate::style::{Color, Dash, Fill, Stroke, colors, fill_of, solid};
use crate::text::LINE_SPACING;
use crate::warnings::Warnings;

/// What the object gives its label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    /// `fontcolor`.
    pub font_color: &'a Color,
    /// The colour of borders: `pencolor` or `color`.
    pub line_color: &'a Color,
    /// `colorscheme`.
    pub scheme: &'a str,
    /// The id of the object's element.
    pub id: &'a str,
    /// Elements with links that the object's labels have so far.
    pub links: &'a cell::Cell<usize>,
}

/// A label that is being painted.
struct Painter<'a, 'w> {
    look: Look<'a>,
    center: Point,
    warnings: &'w mut Warnings,
}

/// Paints a label about `center`.
pub(super) fn paint(label: &Html, center: Point, look: Look<'_>, warnings: &mut Warnings) -> Vec<Item> {
    let mut painter = Painter { look, center, warnings };
    let mut items = Vec::new();
    match &label.content {
        Content::Empty => {}
        Content::Text(lines) => {
            let rect = Rect::around(Point::default(), label.size);
            painter.text(lines, rect, Across::Center, &mut items);
        }
        Content::Table(table) => painter.table(table, look.line_color, &mut items),
    }
    items
}

impl Painter<'_, '_> {
    fn color(&mut self, text: &str) -> Color {
        parse_or_black(text, self.look.scheme, self.warnings)
    }

    fn table(&mut self, table: &Table, outer: &Color, items: &mut Vec<Item>) {
        let frame = &table.frame;
        if frame.style.invisible {
            return;
        }
        let line = match &frame.color {
            Some(color) => self.color(color),
            None => outer.clone(),
        };
        let number = self.number(frame);
        let mut own = Vec::new();
        self.background(frame, table.border(), &mut own);
        self.rules(table, &line, &mut own);
        self.border(frame, table.border(), &line, &mut own);
        for cell in table.rows.iter().flatten() {
            self.cell(cell, &line, &mut own);
        }
        self.link(frame, number, own, items);
    }

    fn cell(&mut self, cell: &Cell, outer: &Color, items: &mut Vec<Item>) {
        let frame = &cell.frame;
        if frame.style.invisible {
            return;
        }
        let line = match &frame.color {
            Some(color) => self.color(color),
            None => outer.clone(),
        };
        let number = self.number(frame);
        let mut own = Vec::new();
        self.background(frame, cell.border, &mut own);
        self.border(frame, cell.border, &line, &mut own);
        match &cell.content {
            Content::Empty => {}
            Content::Table(table) => self.table(table, &line, &mut own),
            Content::Text(lines) => {
                let inset = cell.border + cell.padding;
                let inset = Point::new(inset, inset);
                let inside = Rect::new(frame.rect.low + inset, frame.rect.high - inset);
                let size = text_size(lines);
                let mut rect = aligned(inside, size, frame.across, frame.along);
                if cell.is_text_wide {
                    (rect.low.x, rect.high.x) = (inside.low.x, inside.high.x);
                }
                self.text(lines, rect, cell.line_across, &mut own);
            }
        }
        self.link(frame, number, own, items);
    }

    /// The number of an element with a link: an outer one comes before those in it.
    fn number(&self, frame: &Frame) -> usize {
        let number = self.look.links.get();
        if frame.id.is_none() && (frame.href.is_some() || frame.title.is_some()) {
            self.look.links.set(number + 1);
        }
        number
    }

    /// Puts items under the link of a table or cell, if it has one.
    fn link(&mut self, frame: &Frame, number: usize, own: Vec<Item>, items: &mut Vec<Item>) {
        let href = frame.href.as_deref().and_then(|written| address::followed(written, self.warnings));
        if href.is_none() && frame.title.is_none() {
            items.extend(own);
            return;
        }
        let id = match &frame.id {
            Some(id) => format!("a_{id}"),
            None => format!("a_{}_{number}", self.look.id),
        };
        let title = frame.title.clone().or_else(|| Some("<TABLE>".to_owned()));
        items.push(Item::Linked { id, link: Link { href, title, target: frame.target.clone() }, items: own });
    }

    fn corners(&self, rect: Rect, inset: f64) -> [Point; 4] {
        let inset = Point::new(inset, inset);
        let (low, high) = (rect.low + self.center + inset, rect.high + self.center - inset);
        [low, Point::new(high.x, low.y), high, Point::new(low.x, high.y)]
    }

    fn background(&mut self, frame: &Frame, border: f64, items: &mut Vec<Item>) {
        let Some(text) = &frame.background else { return };
        let list = colors(text, self.look.scheme, self.warnings);
        let [low, right, high, left] = self.corners(frame.rect, 0.0);
        let bounds = Rect::new(low, high);
        let fill = fill_of(&list, frame.style.radial, frame.angle, bounds, self.warnings);
        let stroke = Stroke::default();
        let inset = self.corners(frame.rect, if border > 1.0 { border / 2.0 } else { 0.0 });
        let mut item = match frame.style.rounded {
            true => Item::Path { points: rounded(&inset), fill, stroke },
            false => Item::Polygon { points: vec![low, left, high, right], fill, stroke },
        };
        fit_gradient(&mut item);
        items.push(item);
    }

    fn border(&mut self, frame: &Frame, width: f64, color: &Color, items: &mut Vec<Item>) {
        if width <= 0.0 {
            return;
        }
        let dash = match (frame.style.dashed, frame.style.dotted) {
            (true, _) => Dash::Dashed,
            (_, true) => Dash::Dotted,
            _ => Dash::Solid,
        };
        let color = (!color.is_transparent()).then(|| color.clone());
        let stroke = Stroke { color, width: (width != 1.0).then_some(width), dash };
        // A line of one point lies on the box, a wider one inside.
        let corners = self.corners(frame.rect, if width > 1.0 { width / 2.0 } else { 0.0 });
        let [low, right, high, left] = corners;
        match frame.sides {
            None if frame.style.rounded => {
                items.push(Item::Path { points: rounded(&corners), fill: Fill::None, stroke });
            }
            None => items.push(Item::Polygon { points: vec![low, left, high, right], fill: Fill::None, stroke }),
            Some(sides) => items.extend(open_sides(corners, sides, &stroke)),
        }
    }

    /// The lines between rows and columns.
    fn rules(&mut self, table: &Table, color: &Color, items: &mut Vec<Item>) {
        let half = table.spacing() / 2.0;
        let rect = table.frame.rect;
        let (columns, rows) = (table.widths.len(), table.heights.len());
        let stroke = Stroke { color: (!color.is_transparent()).then(|| color.clone()), ..Stroke::default() };
        let is_last = |cells: &[Cell], i: usize| i + 1 == cells.len();
        let cells =
            table.rows.iter().flat_map(|cells| cells.iter().enumerate().map(move |(i, c)| (c, is_last(cells, i))));
        for (cell, is_last) in cells {
            let own = cell.frame.rect;
            let (last_column, last_row) = (cell.column + cell.columns(), cell.row + cell.rows());
            let left = if cell.column == 0 { rect.low.x } else { own.low.x - half };
            let right = if last_column >= columns || is_last { rect.high.x } else { own.high.x + half };
            let top = if cell.row == 0 { rect.high.y } else { own.high.y + half };
            let bottom = if last_row >= rows { rect.low.y } else { own.low.y - half };
            let mut line = |from: Point, to: Point, corner: [Point; 2]| {
                let points = [from, corner[0], to, corner[1]].map(|point| point + self.center).to_vec();
                items.push(Item::Polygon { points, fill: solid(color), stroke: stroke.clone() });
            };
            if last_column < columns && (table.has_column_rules || cell.has_rule) {
                let x = own.high.x + half;
                let (low, high) = (Point::new(x, bottom), Point::new(x, top));
                line(low, high, [high, low]);
            }
            if last_row < rows && (table.has_row_rules || table.rules_below.contains(&(last_row - 1))) {
                let (from, to) = (Point::new(left, bottom), Point::new(right, bottom));
                line(from, to, [from, to]);
            }
        }
    }

    fn text(&mut self, lines: &[Line], rect: Rect, default: Across, items: &mut Vec<Item>) {
        let is_simple = is_simple(lines);
        let mut top = rect.high.y;
        for line in lines {
            // Observed: lines in several fonts hang a point lower than nine tenths of their size.
            let drop = if is_simple { line.font_size } else { 0.9 * line.font_size - 1.0 };
            let y = top - drop;
            let mut x = match line.across.unwrap_or(default) {
                Across::Left => rect.low.x,
                Across::Right => rect.high.x - line.width,
                Across::Center => (rect.low.x + rect.high.x - line.width) / 2.0,
            };
            for span in line.spans.iter().filter(|span| !span.text.is_empty()) {
                let color = match &span.color {
                    Some(color) => self.color(color),
                    None => self.look.font_color.clone(),
                };
                items.push(Item::Text(Text {
                    text: span.text.clone(),
                    at: Point::new(x, y) + self.center,
                    anchor: Anchor::Start,
                    font: span.font.clone(),
                    width: span.width,
                    color,
                }));
                x += span.width;
            }
            top -= if is_simple { line.font_size * LINE_SPACING } else { line.font_size };
        }
    }
}

/// Some sides of a box: one line for each run of neighbours.
fn open_sides(corners: [Point; 4], sides: [bool; 4], stroke: &Stroke) -> Vec<Item> {
    let mut items = Vec::new();
    let has = |side: usize| sides.get(side % 4).copied().unwrap_or_default();
    let corner = |i: usize| corners.get(i % 4).copied().unwrap_or_default();
    for first in 0..4 {
        if !has(first) || has(first + 3) {
            continue;
        }
        let length = (0..4).take_while(|i| has(first + i)).count();
        let points = (first..=first + length).map(corner).collect();
        items.push(Item::Polyline { points, stroke: stroke.clone() });
    }
    items
}
