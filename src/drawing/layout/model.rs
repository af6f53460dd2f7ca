//! What the layout is given, and what it gives.
//!
//! Nodes, edges, clusters are told apart by their index. Indices out of range are ignored, never fatal.

use crate::geometry::{Point, Rect, Size};

/// `rankdir`: which way ranks follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankDirection {
    /// Downwards.
    #[default]
    TopBottom,
    /// Upwards.
    BottomTop,
    /// To the right.
    LeftRight,
    /// To the left.
    RightLeft,
}

/// `splines`: how edges are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Splines {
    /// Smooth curves around nodes.
    #[default]
    Spline,
    /// Straight pieces around nodes.
    Polyline,
    /// Straight lines from node to node.
    Line,
    /// Horizontal and vertical pieces.
    Ortho,
    /// Arcs from node to node.
    Curved,
    /// No edges at all.
    None,
}

/// `clusterrank`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterRank {
    /// Clusters are drawn as boxes and ranked on their own.
    #[default]
    Local,
    /// No clusters.
    Global,
    /// No clusters.
    None,
}

/// `ordering`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ordering {
    /// Out-edges of a node keep their order from left to right.
    Out,
    /// In-edges of a node keep their order from left to right.
    In,
    /// Crossings decide alone.
    #[default]
    Free,
}

/// `ratio`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Ratio {
    /// As it comes.
    #[default]
    None,
    /// `fill`: stretched to fill `size`.
    Fill,
    /// `compress`: pressed towards `size`.
    Compress,
    /// `expand`: scaled up to `size`.
    Expand,
    /// `auto`.
    Auto,
    /// Height over width.
    Value(f64),
}

/// Where a label stands from side to side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Across {
    /// In the middle.
    #[default]
    Middle,
    /// On the left.
    Left,
    /// On the right.
    Right,
}

/// Where a label stands from top to bottom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Along {
    /// At the top.
    #[default]
    Top,
    /// At the bottom.
    Bottom,
}

/// The label of a cluster or of the whole graph.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoxLabel {
    /// Its size with the space around it.
    pub size: Size,
    /// `labelloc`.
    pub along: Along,
    /// `labeljust`.
    pub across: Across,
}

/// The shape an edge ends at.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Outline {
    /// The node's own box.
    #[default]
    Box,
    /// The ellipse that fills this box about the node's centre.
    Ellipse(Size),
    /// Corners about the node's centre, in order, outermost periphery.
    Polygon(Vec<Point>),
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// What it takes up.
    pub size: Size,
    /// Where edges end.
    pub outline: Outline,
    /// `group`: nodes with the same number are kept in line.
    pub group: Option<u32>,
    /// `ordering` of this node.
    pub ordering: Ordering,
    /// Its `xlabel`'s size.
    pub outer_label: Option<Size>,
}

/// The sides of a node, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// The upper side.
    pub top: bool,
    /// The lower side.
    pub bottom: bool,
    /// The left side.
    pub left: bool,
    /// The right side.
    pub right: bool,
}

/// Where on its node an edge ends, when it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Port {
    /// From the node's centre.
    pub point: Point,
    /// Whether the edge still ends at the node's outline on its way to `point` (else it ends at `point` itself).
    pub clip: bool,
    /// The sides it may leave from; none: any.
    pub sides: Sides,
    /// The box of the record field or table cell, from the node's centre.
    pub field: Option<Rect>,
    /// A compass point was given, not the port's middle: self loops and flat edges leave from its side.
    pub is_side: bool,
}

/// One end of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct End {
    /// The port named.
    pub port: Option<Port>,
    /// How long the arrow is that stands between the edge and the node; 0 for none.
    pub arrow_length: f64,
    /// `samehead`, `sametail`: edges with the same number at the same node end at one point.
    pub same: Option<u32>,
    /// `headclip`, `tailclip`: false lets the edge run to the node's centre.
    pub clip: bool,
    /// `lhead`, `ltail`: the cluster whose box it ends at.
    pub cluster: Option<usize>,
    /// `headlabel`, `taillabel`: its size.
    pub label: Option<Size>,
}

/// An edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The node it comes from.
    pub tail: usize,
    /// The node it goes to.
    pub head: usize,
    /// `minlen`, in ranks.
    pub min_length: u32,
    /// `weight`.
    pub weight: u32,
    /// `constraint`: whether it counts for ranks.
    pub constraint: bool,
    /// Its label's size.
    pub label: Option<Size>,
    /// Its `xlabel`'s size.
    pub outer_label: Option<Size>,
    /// Where it leaves.
    pub tail_end: End,
    /// Where it arrives.
    pub head_end: End,
    /// `penwidth`.
    pub pen_width: f64,
    /// `labelangle`, in degrees.
    pub label_angle: f64,
    /// `labeldistance`.
    pub label_distance: f64,
    /// Whether `labelangle` or `labeldistance` was given: else head and tail labels stand where there is room.
    pub label_is_placed: bool,
}

impl Default for Edge {
    fn default() -> Edge {
        let end = End { clip: true, ..End::default() };
        Edge {
            tail: 0,
            head: 0,
            min_length: 1,
            weight: 1,
            constraint: true,
            label: None,
            outer_label: None,
            tail_end: end,
            head_end: end,
            pen_width: 1.0,
            label_angle: -25.0,
            label_distance: 1.0,
            label_is_placed: false,
        }
    }
}

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// The cluster it lies in; always one with a smaller index.
    pub parent: Option<usize>,
    /// Its nodes, those of clusters inside it included or not.
    pub nodes: Vec<usize>,
    /// Its label.
    pub label: Option<BoxLabel>,
    /// `margin`: the space between its border and what it holds.
    pub margin: f64,
}

/// What `rank` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKind {
    /// All on one rank.
    Same,
    /// On the first rank.
    Min,
    /// On the last rank.
    Max,
    /// Alone on the first rank.
    Source,
    /// Alone on the last rank.
    Sink,
}

/// A subgraph with `rank`.
#[derive(Clone, Debug, PartialEq)]
pub struct RankSet {
    /// What it says.
    pub kind: RankKind,
    /// Of which nodes.
    pub nodes: Vec<usize>,
    /// The innermost cluster it was written in.
    pub cluster: Option<usize>,
}

/// All of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// `rankdir`.
    pub rank_direction: RankDirection,
    /// `nodesep`, in points.
    pub node_separation: f64,
    /// `ranksep`, in points.
    pub rank_separation: f64,
    /// `ranksep=equally`.
    pub equal_ranks: bool,
    /// `splines`.
    pub splines: Splines,
    /// `concentrate`.
    pub concentrate: bool,
    /// `compound`: whether `lhead` and `ltail` count.
    pub compound: bool,
    /// `newrank`.
    pub new_rank: bool,
    /// `clusterrank`.
    pub cluster_rank: ClusterRank,
    /// `ordering` of the graph.
    pub ordering: Ordering,
    /// `remincross`.
    pub remincross: bool,
    /// `mclimit`.
    pub mclimit: f64,
    /// `nslimit`.
    pub nslimit: Option<f64>,
    /// `nslimit1`.
    pub nslimit1: Option<f64>,
    /// `searchsize`.
    pub search_size: usize,
    /// `ratio`.
    pub ratio: Ratio,
    /// `size`, in points, and whether it also enlarges (`!`).
    pub size: Option<(Size, bool)>,
    /// `forcelabels`.
    pub force_labels: bool,
    /// The graph's label.
    pub label: Option<BoxLabel>,
    /// The nodes, in order of creation.
    pub nodes: Vec<Node>,
    /// The edges, in order of creation.
    pub edges: Vec<Edge>,
    /// The clusters, parents before children.
    pub clusters: Vec<Cluster>,
    /// The subgraphs with `rank`.
    pub rank_sets: Vec<RankSet>,
}

impl Input {
    /// Whether ranks stand side by side in the finished drawing.
    pub fn is_sideways(&self) -> bool {
        matches!(self.rank_direction, RankDirection::LeftRight | RankDirection::RightLeft)
    }
}

impl Default for Input {
    fn default() -> Input {
        Input {
            rank_direction: RankDirection::TopBottom,
            node_separation: 18.0,
            rank_separation: 36.0,
            equal_ranks: false,
            splines: Splines::Spline,
            concentrate: false,
            compound: false,
            new_rank: false,
            cluster_rank: ClusterRank::Local,
            ordering: Ordering::Free,
            remincross: true,
            mclimit: 1.0,
            nslimit: None,
            nslimit1: None,
            search_size: 30,
            ratio: Ratio::None,
            size: None,
            force_labels: true,
            label: None,
            nodes: Vec::new(),
            edges: Vec::new(),
            clusters: Vec::new(),
            rank_sets: Vec::new(),
        }
    }
}

/// How an edge runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// Curves one after the other, from tail to head: 3n + 1 control points each. Empty: not drawn.
    pub beziers: Vec<Vec<Point>>,
    /// The tip of the arrow at the tail, if there is one; its other end is the first control point.
    pub tail_arrow: Option<Point>,
    /// `concentrate`: the edge from head to tail that this one stands for, whose head the arrow at the tail is.
    pub stands_for: Option<usize>,
    /// The tip of the arrow at the head, if there is one; its other end is the last control point.
    pub head_arrow: Option<Point>,
    /// The middle of the label.
    pub label: Option<Point>,
    /// The middle of the `xlabel`.
    pub outer_label: Option<Point>,
    /// The middle of the `taillabel`.
    pub tail_label: Option<Point>,
    /// The middle of the `headlabel`.
    pub head_label: Option<Point>,
}

/// Where a cluster lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterBox {
    /// Its border; empty if the cluster is not drawn.
    pub bounds: Rect,
    /// The middle of its label.
    pub label: Option<Point>,
}

/// All of the output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The nodes' centres.
    pub nodes: Vec<Point>,
    /// The nodes' sizes, as they came.
    pub sizes: Vec<Size>,
    /// The middles of the nodes' `xlabel`s.
    pub node_labels: Vec<Option<Point>>,
    /// The edges.
    pub edges: Vec<Route>,
    /// The clusters.
    pub clusters: Vec<ClusterBox>,
    /// What the drawing takes up; its lower left corner is the origin.
    pub bounds: Rect,
    /// The middle of the graph's label.
    pub label: Option<Point>,
    /// The rank of each node, from 0.
    pub ranks: Vec<u32>,
}
