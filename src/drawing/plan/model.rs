//! A graph with everything measured.

use crate::html::label::Label;
use crate::layout::Input;
use crate::shapes::NodeShape;
use crate::shapes::arrows::Arrow;
use crate::warnings::Warnings;

/// What is painted along an edge.
#[derive(Clone, Debug, Default)]
pub struct EdgePlan {
    /// The arrows at the tail and the head.
    pub arrows: [Option<Arrow>; 2],
    /// `label`.
    pub label: Option<Label>,
    /// `xlabel`.
    pub outer_label: Option<Label>,
    /// `taillabel`.
    pub tail_label: Option<Label>,
    /// `headlabel`.
    pub head_label: Option<Label>,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    /// Which subgraph of the graph it is.
    pub subgraph: usize,
    /// Its label.
    pub label: Option<Label>,
}

/// Everything measured. Nodes, edges and clusters have the same indices as in the layout's input, nodes and edges the
/// same as in the graph.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What the layout is asked.
    pub input: Input,
    /// The nodes' shapes.
    pub shapes: Vec<NodeShape>,
    /// The nodes' `xlabel`s.
    pub outer_labels: Vec<Option<Label>>,
    /// The edges.
    pub edges: Vec<EdgePlan>,
    /// The clusters, parents before children.
    pub clusters: Vec<ClusterPlan>,
    /// The graph's label.
    pub label: Option<Label>,
    /// What the user should know, in Graphviz's words.
    pub warnings: Warnings,
}
