//! The finished picture: what is painted, in order, in points with y upwards.
//!
//! Both writers, SVG and PNG, read this and nothing else.

use crate::geometry::{POINTS_PER_INCH, Point, Rect};
use crate::style::{Color, Fill, Stroke};
use crate::text::Font;

/// A place to go to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// `URL` or `href`, safe to follow: http, https, mailto, or relative. None: only a tooltip.
    pub href: Option<String>,
    /// `tooltip`.
    pub title: Option<String>,
    /// `target`.
    pub target: Option<String>,
}

/// Which point of a line of text is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    #[default]
    Middle,
    /// Its right end.
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// What it says.
    pub text: String,
    /// Where on the baseline the anchor lies.
    pub at: Point,
    /// What is anchored.
    pub anchor: Anchor,
    /// The font.
    pub font: Font,
    /// The width it was given in the layout, in points.
    pub width: f64,
    /// Its colour.
    pub color: Color,
}

/// Something that is painted.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A closed outline of straight sides.
    Polygon {
        /// The corners.
        points: Vec<Point>,
        /// What fills it.
        fill: Fill,
        /// Its border.
        stroke: Stroke,
    },
    /// Straight pieces.
    Polyline {
        /// The corners.
        points: Vec<Point>,
        /// How they are drawn.
        stroke: Stroke,
    },
    /// Curves one after the other: 3n + 1 control points.
    Path {
        /// The control points.
        points: Vec<Point>,
        /// What fills the area between the curve and the line from end to start.
        fill: Fill,
        /// The line.
        stroke: Stroke,
    },
    /// An ellipse along the axes.
    Ellipse {
        /// Its middle.
        center: Point,
        /// Half its width and height.
        radii: Point,
        /// What fills it.
        fill: Fill,
        /// Its border.
        stroke: Stroke,
    },
    /// A line of text.
    Text(Text),
    /// Items with a link or a tooltip of their own.
    Linked {
        /// The element's id.
        id: String,
        /// Where it leads.
        link: Link,
        /// What is in it.
        items: Vec<Item>,
    },
}

/// What a group stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// A cluster.
    Cluster,
    /// A node.
    Node,
    /// An edge.
    Edge,
}

impl GroupKind {
    /// The class of its element.
    pub fn class(self) -> &'static str {
        match self {
            GroupKind::Cluster => "cluster",
            GroupKind::Node => "node",
            GroupKind::Edge => "edge",
        }
    }
}

/// All that is painted of a cluster, a node or an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What it stands for.
    pub kind: GroupKind,
    /// The element's id: `node1`, or the `id` attribute.
    pub id: String,
    /// `class`: more classes.
    pub class: Option<String>,
    /// The name: `a`, `a->b`, `cluster_0`.
    pub name: String,
    /// The name with the ports of an edge: `a:p->b`.
    pub title: String,
    /// `comment`.
    pub comment: Option<String>,
    /// Whether it leaves no trace but a comment: nodes and edges that are `invis`.
    pub is_hidden: bool,
    /// What is painted.
    pub items: Vec<Item>,
}

/// The whole picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The graph's name, if it has one.
    pub title: Option<String>,
    /// The element's id: `graph0`, or the `id` attribute.
    pub id: String,
    /// `class` of the graph.
    pub class: Option<String>,
    /// What is drawn of the graph itself, behind all groups: background, label.
    pub items: Vec<Item>,
    /// The graph's own link or tooltip, around its items.
    pub link: Option<Link>,
    /// Clusters, nodes and edges, in the order of painting.
    pub groups: Vec<Group>,
    /// What the layout takes up, without the padding.
    pub bounds: Rect,
    /// `pad` in points, left and right, above and below.
    pub pad: Point,
    /// `margin` in points: left empty around the picture, whichever way that lies, and as wide whatever its zoom.
    pub margin: Point,
    /// What `size` and its like make of the picture: 1 leaves it as large as it is.
    pub zoom: f64,
    /// `rotate=90` or `landscape`: the picture lies on its side.
    pub is_rotated: bool,
    /// `dpi`, if the source sets it.
    pub dots_per_inch: Option<f64>,
    /// Whether a background is painted at all.
    pub has_background: bool,
}

impl Scene {
    /// How far the coordinates are to be moved before they are turned and scaled: `x` to the right, `y` downwards.
    pub fn shift(&self) -> Point {
        let (low, high, pad) = (self.bounds.low, self.bounds.high, self.pad);
        let margin = self.margin * (1.0 / self.zoom);
        match self.is_rotated {
            false => Point::new(pad.x - low.x + margin.x, high.y + pad.y + margin.y),
            true => Point::new(-(high.x + pad.x + margin.y), high.y + pad.y + margin.x),
        }
    }

    /// The size of the finished picture in dots, and the scale that the drawing has in it.
    pub fn canvas(&self, dots_per_inch: f64) -> (f64, f64, f64) {
        let scale = self.zoom * dots_per_inch / POINTS_PER_INCH;
        let width = (self.bounds.width() + 2.0 * self.pad.x) * scale;
        let height = (self.bounds.height() + 2.0 * self.pad.y) * scale;
        let (width, height) = if self.is_rotated { (height, width) } else { (width, height) };
        let around = self.margin * (2.0 * dots_per_inch / POINTS_PER_INCH);
        ((width + around.x).round(), (height + around.y).round(), scale)
    }
}
