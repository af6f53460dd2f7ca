//! The labels of everything: bounded together, then measured.

use crate::geometry::Size;
use crate::graph::values::{Attributes, Value};
use crate::graph::{Element, Graph};
use crate::html::label::{Label, font};
use crate::layout::{Across, Along, BoxLabel};
use crate::limits::{Limits, TooMuch};
use crate::text::{Names, substituted_bytes};
use crate::warnings::Warnings;

/// Space around the label of a graph or cluster, both sides together.
const BOX_LABEL_PADDING: Size = Size::new(16.0, 8.0);

/// What a bar counts for among the bytes of labels: in a record it makes a field, which is more than a letter.
const BYTES_PER_FIELD: usize = 8;

/// A default label, or one of names, is short in the source and long in memory, once for every object that has it.
pub(super) fn check_labels(graph: &Graph, limits: &Limits) -> Result<(), TooMuch> {
    let mut all = 0;
    let mut check = |element: Element<'_>, names: &Names<'_>| {
        for name in ["label", "xlabel", "headlabel", "taillabel"] {
            let Some(text) = element.text(name) else { continue };
            let bytes = substituted_bytes(text, names);
            if bytes > limits.label_bytes {
                return Err(TooMuch::LabelBytes(limits.label_bytes));
            }
            all += bytes + BYTES_PER_FIELD * text.matches('|').count();
        }
        if all > limits.labels_bytes { Err(TooMuch::LabelsBytes(limits.labels_bytes)) } else { Ok(()) }
    };
    let of_graph = Names { graph: Some(graph.title()), ..Names::default() };
    for (index, node) in graph.nodes.iter().enumerate() {
        check(graph.node(index), &Names { node: Some(&node.name.text), ..of_graph })?;
    }
    for (index, edge) in graph.edges.iter().enumerate() {
        let name = graph.edge_name(edge);
        check(graph.edge(index), &graph.names_of_edge(edge, &name))?;
    }
    for (index, subgraph) in graph.subgraphs.iter().enumerate() {
        check(graph.subgraph(index), &Names { graph: subgraph.name.as_ref().map(|name| &*name.text), ..of_graph })?;
    }
    Ok(())
}

/// The label of an attribute, in the object's font; `prefix` is that of the font's attributes, which stand before those
/// without one.
pub(super) fn label(
    element: &Element<'_>,
    attribute: &str,
    prefix: &str,
    names: &Names<'_>,
    warnings: &mut Warnings,
) -> Option<Label> {
    let value = element.value(attribute)?;
    if value.as_str().is_empty() && !matches!(value, Value::Html(_)) {
        return None;
    }
    let mut base = font(element, "");
    if !prefix.is_empty() {
        let own = font(element, prefix);
        if element.text(&format!("{prefix}fontname")).is_some() {
            base.name = own.name;
        }
        if element.text(&format!("{prefix}fontsize")).is_some() {
            base.size = own.size;
        }
    }
    Some(Label::new(value, names, base, warnings))
}

pub(super) fn box_label(label: &Label, element: &Element<'_>, default: Along) -> BoxLabel {
    let size = label.size();
    BoxLabel {
        size: Size::new(size.width + BOX_LABEL_PADDING.width, size.height + BOX_LABEL_PADDING.height),
        along: match element.text("labelloc").and_then(|text| text.chars().next()) {
            Some('t') => Along::Top,
            Some('b') => Along::Bottom,
            _ => default,
        },
        across: match element.text("labeljust").and_then(|text| text.chars().next()) {
            Some('l') => Across::Left,
            Some('r') => Across::Right,
            _ => Across::Middle,
        },
    }
}
