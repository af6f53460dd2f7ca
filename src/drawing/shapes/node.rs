//! A node's shape, sized to its label and attributes.

use super::kinds::{Family, kind_of};
use super::model::{NodeShape, Ring};
use super::{polygon, record};
use crate::geometry::{Point, Size};
use crate::graph::values::Attributes;
use crate::layout::Outline;
use crate::text::Names;
use crate::warnings::Warnings;

impl NodeShape {
    /// Sizes a node. `names` has the node's and the graph's name; `is_flipped` is true for `rankdir` LR and RL;
    /// warnings come in Graphviz's words.
    pub fn new(attributes: &dyn Attributes, names: &Names<'_>, is_flipped: bool, warnings: &mut Warnings) -> NodeShape {
        let kind = kind_of(attributes, warnings);
        match kind.family {
            Family::Record => record::size(kind, attributes, names, is_flipped, warnings),
            _ => polygon::size(kind, attributes, names, warnings),
        }
    }

    /// Where edges end: at the outer edge of the outermost line.
    pub fn outline(&self) -> Outline {
        let pen = if self.has_line { self.pen_width } else { 0.0 };
        match self.rings.last() {
            None => Outline::Box,
            Some(Ring::Ellipse(size)) => Outline::Ellipse(Size::new(size.width + pen, size.height + pen)),
            Some(Ring::Polygon(points)) => Outline::Polygon(polygon::offset(points, pen / 2.0)),
        }
    }

    /// Of how many parts it is made: corners, fields of a record, cells and lines of an HTML-like label.
    pub fn parts(&self) -> usize {
        let corners = |ring: &Ring| match ring {
            Ring::Ellipse(_) => 1,
            Ring::Polygon(points) => points.len(),
        };
        let html = self.label.as_ref().and_then(|placed| placed.label.as_html());
        self.rings.iter().map(corners).sum::<usize>() + self.fields.len() + html.map_or(0, |label| label.parts)
    }

    /// The corners of the outermost outline, if it has corners.
    pub fn corners(&self) -> Option<&[Point]> {
        match self.rings.last() {
            Some(Ring::Polygon(points)) => Some(points),
            _ => None,
        }
    }
}
