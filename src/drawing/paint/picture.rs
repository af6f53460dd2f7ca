//! A graph with its parts and their places, made into a scene.

use super::cost::group_steps;
use super::order::{Object, order};
use super::pen::{LabelColors, Pen, Placed};
use super::scene::{Group, GroupKind, Item, Scene};
use super::{cluster, edge, link, node, page};
use crate::graph::Graph;
use crate::graph::values::Attributes;
use crate::layout::Output;
use crate::plan::{EdgePlan, Plan};
use crate::shapes::Family;
use crate::style::Style;
use crate::text::{Names, substitute};
use crate::warnings::Warnings;
use crate::work::{Exhausted, Work};

/// Paints a graph. The scene, and what the user should know.
///
/// # Errors
/// When painting takes more work than is left.
pub fn paint(graph: &Graph, plan: &Plan, layout: &Output, work: &mut Work) -> Result<(Scene, Warnings), Exhausted> {
    let mut pen = Pen { graph, warnings: Warnings::default() };
    let root = graph.root();
    let name = graph.name().map(|name| name.text.to_string());
    let graph_id = root.text("id").map(str::to_owned);
    let prefix = graph_id.as_ref().map_or_else(String::new, |id| format!("{id}_"));
    let names = Names { graph: Some(graph.title()), ..Names::default() };
    let mut scene = Scene {
        title: name.clone(),
        id: graph_id.unwrap_or_else(|| "graph0".to_owned()),
        class: root.text("class").map(str::to_owned),
        items: Vec::new(),
        link: link::of(&root, &names, "", link::label_text(&root, "label"), &mut pen.warnings),
        groups: Vec::new(),
        bounds: layout.bounds,
        pad: page::pad(&root),
        margin: page::margin(&root),
        zoom: 1.0,
        is_rotated: page::is_rotated(&root),
        dots_per_inch: page::dots_per_inch(&root),
        has_background: true,
    };
    scene.zoom = page::zoom(&root, &scene);
    page::background(&mut pen, &mut scene);
    if let (Some(label), Some(place)) = (&plan.label, layout.label) {
        let colors = LabelColors::new(&mut pen, &root, &scene.id);
        let items = Placed::at(label, place).paint(&mut pen, colors.look());
        scene.items.extend(items);
    }
    for (index, cluster) in plan.clusters.iter().enumerate() {
        let Some(place) = layout.clusters.get(index).filter(|place| !place.bounds.is_empty()) else { continue };
        let attributes = graph.subgraph(cluster.subgraph);
        let title = graph.subgraphs.get(cluster.subgraph).and_then(|subgraph| subgraph.name.as_ref());
        let title = title.map_or_else(String::new, |name| name.text.to_string());
        let own = Names { graph: Some(&title), ..Names::default() };
        let id = own_id(&attributes, &own).unwrap_or_else(|| format!("{prefix}clust{}", cluster.subgraph));
        let mut items = cluster::paint(&mut pen, &attributes, place.bounds);
        if let (Some(label), Some(at)) = (&cluster.label, place.label)
            && !is_invisible(&attributes)
        {
            let colors = LabelColors::new(&mut pen, &attributes, &id);
            items.extend(Placed::at(label, at).paint(&mut pen, colors.look()));
        }
        let text = link::label_text(&attributes, "label");
        let items = link::wrap(&id, link::of(&attributes, &own, "", text, &mut pen.warnings), items);
        let painted = group(GroupKind::Cluster, id, title.clone(), &attributes, items);
        work.spend(group_steps(&painted))?;
        scene.groups.push(painted);
    }
    for object in order(graph, root.text("outputorder")) {
        let painted = match object {
            Object::Node(index) => node_group(&mut pen, plan, layout, index, &prefix, &names),
            Object::Edge(index) => edge_group(&mut pen, plan, layout, index, &prefix, &names),
        };
        work.spend(painted.as_ref().map_or(0, group_steps))?;
        scene.groups.extend(painted);
    }
    Ok((scene, pen.warnings))
}

fn own_id(attributes: &dyn Attributes, names: &Names<'_>) -> Option<String> {
    attributes.text("id").map(|id| substitute(id, names))
}

fn group(kind: GroupKind, id: String, title: String, attributes: &dyn Attributes, items: Vec<Item>) -> Group {
    let text = |name: &str| attributes.text(name).map(str::to_owned);
    Group {
        kind,
        id,
        class: text("class"),
        name: title.clone(),
        title,
        comment: text("comment"),
        is_hidden: false,
        items,
    }
}

fn is_invisible(attributes: &dyn Attributes) -> bool {
    Style::new(attributes, &mut Warnings::default()).invisible
}

fn node_group(
    pen: &mut Pen<'_>,
    plan: &Plan,
    layout: &Output,
    index: usize,
    prefix: &str,
    names: &Names<'_>,
) -> Option<Group> {
    let graph = pen.graph;
    let node = graph.nodes.get(index)?;
    let (shape, center) = (plan.shapes.get(index)?, *layout.nodes.get(index)?);
    let attributes = graph.node(index);
    let names = Names { node: Some(&node.name.text), ..*names };
    let id = own_id(&attributes, &names).unwrap_or_else(|| format!("{prefix}node{}", index + 1));
    let mut items = node::paint(pen, &attributes, shape, center, &id);
    let is_hidden = is_invisible(&attributes);
    let label = link::node_label_text(&attributes, shape.kind.family == Family::Record);
    if !is_hidden {
        let outer = plan.outer_labels.get(index).and_then(Option::as_ref);
        if let (Some(label), Some(Some(place))) = (outer, layout.node_labels.get(index)) {
            let colors = LabelColors::new(pen, &attributes, &id);
            items.extend(Placed::at(label, *place).paint(pen, colors.look()));
        }
        items = link::wrap(&id, link::of(&attributes, &names, "", label, &mut pen.warnings), items);
    }
    let mut group = group(GroupKind::Node, id, node.name.text.to_string(), &attributes, items);
    group.is_hidden = is_hidden;
    Some(group)
}

fn edge_group(
    pen: &mut Pen<'_>,
    plan: &Plan,
    layout: &Output,
    index: usize,
    prefix: &str,
    names: &Names<'_>,
) -> Option<Group> {
    let graph = pen.graph;
    let edge = graph.edges.get(index)?;
    let (parts, route) = (plan.edges.get(index)?, layout.edges.get(index)?);
    let attributes = graph.edge(index);
    let plain = graph.edge_name(edge);
    let names = Names { graph: names.graph, ..graph.names_of_edge(edge, &plain) };
    let id = own_id(&attributes, &names).unwrap_or_else(|| format!("{prefix}edge{}", index + 1));
    let joined;
    let parts = match route.stands_for.and_then(|back| plan.edges.get(back)) {
        Some(back) => {
            let [[_, back], [_, head]] = [&back.arrows, &parts.arrows];
            joined = EdgePlan { arrows: [back.clone(), head.clone()], ..parts.clone() };
            &joined
        }
        None => parts,
    };
    let items = edge::paint(pen, &attributes, &names, parts, route, &id);
    let mut group = group(GroupKind::Edge, id, edge_title(graph, index), &attributes, items);
    group.is_hidden = is_invisible(&attributes) || route.beziers.is_empty();
    group.name = plain;
    Some(group)
}

/// The name of an edge: its ends with the ports they name.
fn edge_title(graph: &Graph, index: usize) -> String {
    let Some(edge) = graph.edges.get(index) else { return String::new() };
    let attributes = graph.edge(index);
    let end = |node: usize, port: &str| {
        let name = graph.node_name(node);
        match attributes.text(port) {
            // Of a port with a compass point, the point.
            Some(port) => format!("{name}:{}", port.rsplit(':').next().unwrap_or_default()),
            None => name.to_owned(),
        }
    };
    let arrow = if graph.directed { "->" } else { "--" };
    format!("{}{arrow}{}", end(edge.tail, "tailport"), end(edge.head, "headport"))
}
