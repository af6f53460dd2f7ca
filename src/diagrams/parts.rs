//! All of a graph that has a size, measured once: shapes, labels, arrows. The layout's input is made of this, and the
//! painter paints it.

use crate::arrows::Arrow;
use crate::graph::{Element, Graph};
use crate::label::{self, Label};
use crate::shapes::NodeShape;
use crate::style::Style;
use crate::text::Names;
use crate::values::{Attributes, Value};

/// An edge's labels and arrows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeParts {
    /// `label`.
    pub label: Option<Label>,
    /// `xlabel`.
    pub outer_label: Option<Label>,
    /// `taillabel`.
    pub tail_label: Option<Label>,
    /// `headlabel`.
    pub head_label: Option<Label>,
    /// The arrow at the tail.
    pub tail_arrow: Option<Arrow>,
    /// The arrow at the head.
    pub head_arrow: Option<Arrow>,
    /// The pen's width in points.
    pub pen_width: f64,
    /// Its name: `a->b`, with ports.
    pub title: String,
}

/// A cluster that may be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterParts {
    /// The subgraph, as an index of [`Graph::subgraphs`].
    pub subgraph: usize,
    /// The cluster it lies in, as an index of [`Parts::clusters`]; always a smaller one.
    pub parent: Option<usize>,
    /// `label`.
    pub label: Option<Label>,
}

/// All of a graph that has a size. Sizes of labels are without any space around them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// The nodes' shapes.
    pub shapes: Vec<NodeShape>,
    /// The nodes' `xlabel`s.
    pub node_labels: Vec<Option<Label>>,
    /// The edges'.
    pub edges: Vec<EdgeParts>,
    /// The clusters, parents before children, in the order of painting.
    pub clusters: Vec<ClusterParts>,
    /// The graph's `label`.
    pub label: Option<Label>,
    /// What the user should know, in Graphviz's words.
    pub warnings: Vec<String>,
}

/// The name of an edge: its ends with the ports they name.
pub fn edge_title(graph: &Graph, index: usize) -> String {
    let Some(edge) = graph.edges.get(index) else { return String::new() };
    let attributes = graph.edge(index);
    let end = |node: usize, port: &str| {
        let name = graph.nodes.get(node).map_or("", |node| &node.name.text);
        match attributes.text(port) {
            Some(port) => format!("{name}:{port}"),
            None => name.to_owned(),
        }
    };
    let arrow = if graph.directed { "->" } else { "--" };
    format!("{}{arrow}{}", end(edge.tail, "tailport"), end(edge.head, "headport"))
}

/// The name a graph without one goes by.
const ANONYMOUS: &str = "%1";

impl Parts {
    /// Measures all of `graph`. `is_flipped` is true for `rankdir` LR and RL.
    pub fn new(graph: &Graph, is_flipped: bool) -> Parts {
        let mut warnings = Vec::new();
        let graph_name = graph.name().map_or(ANONYMOUS, |name| &name.text);
        let of_graph = Names { graph: Some(graph_name), ..Names::default() };
        let mut parts =
            Parts { label: label_of(graph.root(), "label", "", &of_graph, &mut warnings), ..Parts::default() };
        for (index, node) in graph.nodes.iter().enumerate() {
            let names = Names { node: Some(&node.name.text), ..of_graph };
            let attributes = graph.node(index);
            parts.shapes.push(NodeShape::new(&attributes, &names, is_flipped, &mut warnings));
            parts.node_labels.push(label_of(attributes, "xlabel", "", &names, &mut warnings));
        }
        for index in 0..graph.edges.len() {
            parts.edges.push(edge_parts(graph, index, &of_graph, &mut warnings));
        }
        // Parents come before children in the list of subgraphs already.
        let mut cluster_of = vec![None; graph.subgraphs.len()];
        for (index, subgraph) in graph.subgraphs.iter().enumerate() {
            let parent = subgraph.parent.and_then(|parent| cluster_of.get(parent).copied().flatten());
            let own = if graph.is_cluster(index) {
                let name = subgraph.name.as_ref().map(|name| &*name.text);
                let names = Names { graph: name.or(of_graph.graph), ..Names::default() };
                let label = label_of(graph.subgraph(index), "label", "", &names, &mut warnings);
                parts.clusters.push(ClusterParts { subgraph: index, parent, label });
                Some(parts.clusters.len() - 1)
            } else {
                parent
            };
            if let Some(slot) = cluster_of.get_mut(index) {
                *slot = own;
            }
        }
        warnings.dedup();
        parts.warnings = warnings;
        parts
    }
}

/// The label an attribute describes, unless that is empty.
fn label_of(
    attributes: Element<'_>,
    name: &str,
    font: &str,
    names: &Names<'_>,
    warnings: &mut Vec<String>,
) -> Option<Label> {
    let value = attributes.value(name).filter(|value| *value != Value::Text(""))?;
    Some(Label::new(value, names, label::font(&attributes, font), warnings))
}

fn edge_parts(graph: &Graph, index: usize, of_graph: &Names<'_>, warnings: &mut Vec<String>) -> EdgeParts {
    let attributes = graph.edge(index);
    let name_of = |node: Option<usize>| node.and_then(|node| graph.nodes.get(node)).map(|node| &*node.name.text);
    let edge = graph.edges.get(index);
    let (tail, head) = (name_of(edge.map(|edge| edge.tail)), name_of(edge.map(|edge| edge.head)));
    let arrow = if graph.directed { "->" } else { "--" };
    let plain = format!("{}{arrow}{}", tail.unwrap_or_default(), head.unwrap_or_default());
    let names = Names { edge: Some(&plain), tail, head, ..*of_graph };
    let pen_width = Style::new(&attributes, &mut Vec::new()).pen_width();
    let [tail_arrow, head_arrow] = Arrow::of_edge(&attributes, graph.directed, pen_width, warnings);
    let mut label = |name: &str, font: &str| label_of(attributes, name, font, &names, warnings);
    EdgeParts {
        label: label("label", ""),
        outer_label: label("xlabel", ""),
        tail_label: label("taillabel", "label"),
        head_label: label("headlabel", "label"),
        tail_arrow,
        head_arrow,
        pen_width,
        title: edge_title(graph, index),
    }
}
