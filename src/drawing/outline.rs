//! A diagram in words: its nodes and edges as lists, for those who do not see the picture.

use crate::dot;
use crate::graph::{ElementKind, Graph};
use crate::limits::Limits;

/// More of a kind are counted, not listed.
const LISTED_MAX: usize = 500;
/// A longer name or label is cut, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// A diagram in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many edges there are.
    pub edges: usize,
    /// The first nodes, one a line.
    pub node_lines: Vec<String>,
    /// The first edges, one a line.
    pub edge_lines: Vec<String>,
}

/// The outline of a source; `None` if it is no valid DOT. Takes processor time.
pub fn of(source: &str) -> Option<Outline> {
    let graph = dot::parse(source.as_bytes(), &Limits::default()).ok()?.graph;
    let arrow = if graph.directed { "\u{2192}" } else { "\u{2013}" };
    let name = |index: usize| graph.nodes.get(index).map_or(String::new(), |node| shortened(&node.name.text));
    let node_lines = (0..graph.nodes.len()).take(LISTED_MAX).map(|index| {
        let name = name(index);
        match label(&graph, ElementKind::Node, index) {
            Some(label) if label != name && label != "\\N" => format!("{name}: {label}"),
            _ => name,
        }
    });
    let edge_lines = graph.edges.iter().enumerate().take(LISTED_MAX).map(|(index, edge)| {
        let ends = format!("{} {arrow} {}", name(edge.tail), name(edge.head));
        match label(&graph, ElementKind::Edge, index) {
            Some(label) if !label.is_empty() => format!("{ends}: {label}"),
            _ => ends,
        }
    });
    Some(Outline {
        nodes: graph.nodes.len(),
        edges: graph.edges.len(),
        node_lines: node_lines.collect(),
        edge_lines: edge_lines.collect(),
    })
}

/// A plain label; what an HTML-like one says is in the picture alone.
fn label(graph: &Graph, kind: ElementKind, index: usize) -> Option<String> {
    let element = match kind {
        ElementKind::Node => graph.node(index),
        ElementKind::Edge => graph.edge(index),
        ElementKind::Graph => graph.root(),
    };
    let text = element.get("label").filter(|text| !text.html)?;
    Some(shortened(&text.text))
}

/// One line of a name or label, as it is read.
fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(NAME_BYTES_MAX);
    let head = text.get(..end).unwrap_or_default();
    head.replace("\\n", " ").replace("\\l", " ").replace("\\r", " ").replace(['\n', '\r'], " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_edges_are_told_in_words() {
        let outline =
            of("digraph { a [label=\"first\\nline\"]; a -> b [label=go]; b -> c; c [label=<<b>x</b>>] }").unwrap();
        assert_eq!((outline.nodes, outline.edges), (3, 2));
        assert_eq!(outline.node_lines, ["a: first line", "b", "c"]);
        assert_eq!(outline.edge_lines, ["a \u{2192} b: go", "b \u{2192} c"]);
        assert_eq!(of("graph { a -- b }").unwrap().edge_lines, ["a \u{2013} b"]);
        assert_eq!(of("digraph {"), None);
        let many = (0..600).map(|n| format!("n{n};")).collect::<String>();
        let outline = of(&format!("graph {{ {many} }}")).unwrap();
        assert_eq!((outline.nodes, outline.node_lines.len()), (600, LISTED_MAX));
    }
}
