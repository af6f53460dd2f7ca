//! Shapes: how large a node is, where edges end at it, and what its outline looks like.
//!
//! [`NodeShape::new`] is what the layout and the painter need. The rules were found by asking Graphviz 16.1 for the
//! sizes and corners of nodes with every shape and attribute.

mod kinds;
mod polygon;
mod port;
mod record;

pub use kinds::{Family, Kind, Ornament, kind_of};
pub use polygon::{Limits, Ring};
pub use record::Field;

use crate::geometry::{Point, Size};
use crate::label::Label;
use crate::layout::{Along, Outline};
use crate::text::Names;
use crate::values::Attributes;
use crate::warnings::Warnings;

/// A node's shape, sized to its label and attributes. Lengths in points, places from the node's centre.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeShape {
    /// What it is.
    pub kind: Kind,
    /// What it takes up in the layout, peripheries included.
    pub size: Size,
    /// The outlines, innermost first; none for a shape without a visible one.
    pub rings: Vec<Ring>,
    /// The label and the room it may move in.
    pub label: Option<PlacedLabel>,
    /// Whether the outline is a plain box.
    pub is_box: bool,
    /// Whether a line is drawn along the outline.
    pub has_line: bool,
    /// `penwidth`: edges end at the outer edge of the line.
    pub pen_width: f64,
    /// The fields of a record, the record itself first; empty for other shapes.
    pub fields: Vec<Field>,
}

/// A label inside a node.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedLabel {
    /// What it says.
    pub label: Label,
    /// The room lines are justified in, about the centre; higher than the label where `labelloc` may move it.
    pub room: Size,
    /// `labelloc`: at the top, the bottom, or (`None`) in the middle of the room.
    pub along: Option<Along>,
}

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

    /// The corners of the outermost outline, if it has corners.
    pub fn corners(&self) -> Option<&[Point]> {
        match self.rings.last() {
            Some(Ring::Polygon(points)) => Some(points),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
