//! What a node's shape is made of.

use super::kinds::Kind;
use crate::geometry::{Point, Rect, Size};
use crate::html::label::Label;
use crate::layout::Along;

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

/// One outline about the node's centre.
#[derive(Clone, Debug, PartialEq)]
pub enum Ring {
    /// The ellipse in a box of this size.
    Ellipse(Size),
    /// Corners, against the clock.
    Polygon(Vec<Point>),
}

/// A field of a record; the first of all is the record itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name of its port.
    pub port: Option<String>,
    /// What it says; `None` if it holds fields.
    pub label: Option<PlacedLabel>,
    /// The fields in it, by index, all larger than its own.
    pub children: Vec<usize>,
    /// Whether they stand side by side.
    pub is_row: bool,
    /// Its box, from the node's centre.
    pub rect: Rect,
    pub(super) size: Size,
}

impl Field {
    pub(super) fn new(is_row: bool) -> Field {
        Field { port: None, label: None, children: Vec::new(), is_row, rect: Rect::default(), size: Size::default() }
    }
}
