//! Shapes: how large a node is, where edges end at it, and what its outline looks like.
//!
//! [`NodeShape::new`] is what the layout and the painter need. The rules were found by asking Graphviz 16.1 for the
//! sizes and corners of nodes with every shape and attribute.

mod kinds;
mod polygon;

pub use kinds::{Family, Kind, Ornament, kind_of};
pub use polygon::{Limits, Ring};

use crate::geometry::{Point, Size};
use crate::label::Label;
use crate::layout::Outline;
use crate::text::Names;
use crate::values::Attributes;

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
}

/// A label inside a node.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedLabel {
    /// What it says.
    pub label: Label,
    /// The room lines are justified in, about the centre; higher than the label where `labelloc` may move it.
    pub room: Size,
}

impl NodeShape {
    /// Sizes a node. `names` has the node's and the graph's name; warnings come in Graphviz's words.
    pub fn new(attributes: &dyn Attributes, names: &Names<'_>, warnings: &mut Vec<String>) -> NodeShape {
        let kind = kind_of(attributes, warnings);
        polygon::size(kind, attributes, names, warnings)
    }

    /// Where edges end.
    pub fn outline(&self) -> Outline {
        match self.rings.last() {
            None => Outline::Box,
            Some(Ring::Ellipse(size)) => Outline::Ellipse(*size),
            Some(Ring::Polygon(points)) => Outline::Polygon(points.clone()),
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
