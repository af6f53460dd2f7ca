//! What all parts of the painter share.

use std::cell::Cell;
use std::rc::Rc;

use super::html::Look;
use super::label;
use super::scene::Item;
use crate::geometry::{Point, Rect, Size};
use crate::graph::Graph;
use crate::graph::values::Attributes;
use crate::html::label::Label;
use crate::layout::Along;
use crate::shapes::Ring;
use crate::style::Color;
use crate::style::color::parse_or_black;
use crate::warnings::Warnings;

/// The graph that is painted, and what the user should know of it.
pub(super) struct Pen<'a> {
    pub(super) graph: &'a Graph,
    pub(super) warnings: Warnings,
}

impl Pen<'_> {
    /// The one colour of an attribute.
    pub(super) fn color(&mut self, attributes: &dyn Attributes, name: &str, default: &str) -> Color {
        let scheme = attributes.text("colorscheme").unwrap_or_default();
        // The default is no name of a scheme.
        let (text, scheme) = attributes.text(name).map_or((default, ""), |text| (text, scheme));
        let first = if text.contains(':') { text.split([':', ';']).next().unwrap_or_default() } else { text };
        parse_or_black(first, scheme, &mut self.warnings)
    }
}

/// A label to be painted.
pub(super) struct Placed<'a> {
    pub(super) label: &'a Label,
    pub(super) center: Point,
    pub(super) room: Size,
    pub(super) along: Option<Along>,
}

impl<'a> Placed<'a> {
    /// A label that stands alone.
    pub(super) fn at(label: &'a Label, center: Point) -> Placed<'a> {
        Placed { label, center, room: label.size(), along: None }
    }

    pub(super) fn paint(self, pen: &mut Pen<'_>, look: Look<'_>) -> Vec<Item> {
        label::label(self.label, self.center, self.room, self.along, look, &mut pen.warnings)
    }
}

/// The colours of an object's labels.
#[derive(Clone)]
pub(super) struct LabelColors<'a> {
    pub(super) font: Color,
    pub(super) line: Color,
    pub(super) scheme: &'a str,
    pub(super) id: &'a str,
    /// Shared by the colours of its other labels.
    pub(super) links: Rc<Cell<usize>>,
}

impl<'a> LabelColors<'a> {
    /// Reads them; `id` is that of the object's element.
    pub(super) fn new(pen: &mut Pen<'_>, attributes: &'a dyn Attributes, id: &'a str) -> LabelColors<'a> {
        let line = if attributes.text("pencolor").is_some() { "pencolor" } else { "color" };
        LabelColors {
            font: pen.color(attributes, "fontcolor", "black"),
            line: pen.color(attributes, line, "black"),
            scheme: attributes.text("colorscheme").unwrap_or_default(),
            id,
            links: Rc::default(),
        }
    }

    pub(super) fn look(&self) -> Look<'_> {
        Look { font_color: &self.font, line_color: &self.line, scheme: self.scheme, id: self.id, links: &self.links }
    }
}

/// The points of an outline about the origin, about `center`.
pub(super) fn moved(points: &[Point], center: Point) -> Vec<Point> {
    points.iter().map(|point| *point + center).collect()
}

/// The box of an outline about `center`.
pub(super) fn bounds_of(ring: &Ring, center: Point) -> Rect {
    match ring {
        Ring::Ellipse(size) => Rect::around(center, *size),
        Ring::Polygon(points) => {
            let mut bounds = Rect::EMPTY;
            points.iter().for_each(|point| bounds.include(*point + center));
            bounds
        }
    }
}
