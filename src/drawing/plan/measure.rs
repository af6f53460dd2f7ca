//! Measuring a graph.

use std::collections::HashMap;

use super::labels::{box_label, check_labels, label};
use super::model::{ClusterPlan, EdgePlan, Plan};
use super::settings::{complaints, of_graph, ordering};
use crate::bound::Bound;
use crate::graph::values::Attributes;
use crate::graph::{Element, Graph};
use crate::html::label::Label;
use crate::layout::{Along, Cluster, ClusterRank, Edge, End, Node, Port, RankDirection, RankKind, RankSet};
use crate::limits::{Limits, TooMuch};
use crate::shapes::NodeShape;
use crate::shapes::arrows::Arrow;
use crate::style::Style;
use crate::text::Names;
use crate::warnings::Warnings;
use crate::work::{Exhausted, Work};

/// Steps of work for a node or an edge, and for a corner, a field or a cell.
const STEPS_PER_OBJECT: u64 = 128;
const STEPS_PER_PART: u64 = 8;

/// The largest `minlen` that counts: more ranks than that are no drawing.
const MOST_RANKS_OF_AN_EDGE: i64 = 1_000;

/// The largest `weight` that counts.
const LARGEST_WEIGHT: i64 = 1_000_000;

impl Plan {
    /// Measures everything in `graph`.
    ///
    /// # Errors
    /// Clusters that are nested too deep, labels that are too long together, or too much work.
    pub fn new(graph: &Graph, limits: &Limits, work: &mut Work) -> Result<Plan, Bound> {
        check_labels(graph, limits)?;
        let mut plan = Plan { input: of_graph(graph.root()), warnings: complaints(graph.root()), ..Plan::default() };
        plan.graph_label(graph);
        plan.clusters(graph, limits)?;
        plan.nodes(graph, work)?;
        plan.edges(graph, work)?;
        work.look()?;
        Ok(plan)
    }

    fn graph_label(&mut self, graph: &Graph) {
        let root = graph.root();
        let names = Names { graph: Some(graph.title()), ..Names::default() };
        self.label = label(&root, "label", "", &names, &mut self.warnings);
        self.input.label = self.label.as_ref().map(|label| box_label(label, &root, Along::Bottom));
    }

    fn clusters(&mut self, graph: &Graph, limits: &Limits) -> Result<(), TooMuch> {
        // For each subgraph, the innermost cluster that it is or lies in, and how deep that lies.
        let mut innermost: Vec<Option<usize>> = vec![None; graph.subgraphs.len()];
        let mut depths: Vec<usize> = Vec::new();
        for (index, subgraph) in graph.subgraphs.iter().enumerate().skip(1) {
            let parent = subgraph.parent.and_then(|parent| innermost.get(parent).copied().flatten());
            let element = graph.subgraph(index);
            let mut own = parent;
            if self.input.cluster_rank == ClusterRank::Local && graph.is_cluster(index) {
                let depth = parent.and_then(|parent| depths.get(parent)).map_or(1, |depth| depth + 1);
                if depth > limits.cluster_depth {
                    return Err(TooMuch::ClusterDepth(limits.cluster_depth));
                }
                own = Some(self.clusters.len());
                depths.push(depth);
                let name = subgraph.name.as_ref().map(|name| &*name.text);
                let names = Names { graph: name, ..Names::default() };
                let label = label(&element, "label", "", &names, &mut self.warnings);
                self.input.clusters.push(Cluster {
                    parent,
                    nodes: subgraph.nodes.clone(),
                    label: label.as_ref().map(|label| box_label(label, &element, Along::Top)),
                    margin: element.number("margin", 8.0, 0.0).trunc(),
                });
                self.clusters.push(ClusterPlan { subgraph: index, label });
            } else if let Some(kind) = rank_kind(element) {
                let nodes = subgraph.nodes.clone();
                self.input.rank_sets.push(RankSet { kind, nodes, cluster: parent });
            }
            if let Some(slot) = innermost.get_mut(index) {
                *slot = own;
            }
        }
        Ok(())
    }

    fn nodes(&mut self, graph: &Graph, work: &mut Work) -> Result<(), Exhausted> {
        let is_flipped = matches!(self.input.rank_direction, RankDirection::LeftRight | RankDirection::RightLeft);
        let mut groups = Numbers::default();
        for (index, node) in graph.nodes.iter().enumerate() {
            let element = graph.node(index);
            let names = Names { graph: Some(graph.title()), node: Some(&node.name.text), ..Names::default() };
            let shape = NodeShape::new(&element, &names, is_flipped, &mut self.warnings);
            let outer_label = label(&element, "xlabel", "", &names, &mut self.warnings);
            self.input.nodes.push(Node {
                size: shape.size,
                outline: shape.outline(),
                group: element.text("group").map(|group| groups.of(group)),
                ordering: ordering(element),
                outer_label: outer_label.as_ref().map(Label::size),
            });
            work.spend(STEPS_PER_OBJECT + STEPS_PER_PART * shape.parts() as u64)?;
            self.shapes.push(shape);
            self.outer_labels.push(outer_label);
        }
        Ok(())
    }

    fn edges(&mut self, graph: &Graph, work: &mut Work) -> Result<(), Exhausted> {
        let clusters: HashMap<&str, usize> = self
            .clusters
            .iter()
            .enumerate()
            .filter_map(|(index, cluster)| {
                let name = graph.subgraphs.get(cluster.subgraph)?.name.as_ref()?;
                Some((&*name.text, index))
            })
            .collect();
        let mut sames = Numbers::default();
        for (index, edge) in graph.edges.iter().enumerate() {
            let element = graph.edge(index);
            let name = graph.edge_name(edge);
            let names = graph.names_of_edge(edge, &name);
            let pen_width = Style::new(&element, &mut Warnings::default()).pen_width();
            let warnings = &mut self.warnings;
            let plan = EdgePlan {
                arrows: Arrow::of_edge(&element, graph.directed, pen_width, warnings),
                label: label(&element, "label", "", &names, warnings),
                outer_label: label(&element, "xlabel", "", &names, warnings),
                tail_label: label(&element, "taillabel", "label", &names, warnings),
                head_label: label(&element, "headlabel", "label", &names, warnings),
            };
            let mut end = |side: &str, node: usize, label: &Option<Label>, arrow: &Option<Arrow>| End {
                port: self.shapes.get(node).and_then(|shape| {
                    port(shape, graph.node_name(node), element.text(&format!("{side}port")), &mut *warnings)
                }),
                arrow_length: arrow.as_ref().map_or(0.0, Arrow::length),
                same: element.text(&format!("same{side}")).map(|same| sames.of(same)),
                clip: says_yes(element, &format!("{side}clip")),
                cluster: element.text(&format!("l{side}")).and_then(|name| clusters.get(name).copied()),
                label: label.as_ref().map(Label::size),
            };
            let [tail_arrow, head_arrow] = &plan.arrows;
            let tail_end = end("tail", edge.tail, &plan.tail_label, tail_arrow);
            let head_end = end("head", edge.head, &plan.head_label, head_arrow);
            self.input.edges.push(Edge {
                tail: edge.tail,
                head: edge.head,
                min_length: bounded(element, "minlen", MOST_RANKS_OF_AN_EDGE),
                weight: bounded(element, "weight", LARGEST_WEIGHT),
                constraint: says_yes(element, "constraint"),
                label: plan.label.as_ref().map(Label::size),
                outer_label: plan.outer_label.as_ref().map(Label::size),
                tail_end,
                head_end,
                pen_width,
                label_angle: element.number("labelangle", -25.0, -180.0),
                label_distance: element.number("labeldistance", 1.0, 0.0),
                label_is_placed: element.text("labelangle").is_some() || element.text("labeldistance").is_some(),
            });
            // A port is looked for among all parts of its node.
            let parts = |node: usize| self.shapes.get(node).map_or(0, NodeShape::parts) as u64;
            work.spend(STEPS_PER_OBJECT + (parts(edge.tail) + parts(edge.head)) / 2)?;
            self.edges.push(plan);
        }
        Ok(())
    }
}

/// Numbers for names, from 0.
#[derive(Debug, Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    fn of(&mut self, name: &str) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(name.to_owned()).or_insert(next)
    }
}

/// A yes or no that is yes where nothing is said, and no where nonsense is.
fn says_yes(element: Element<'_>, name: &str) -> bool {
    element.text(name).is_none() || element.flag(name, false)
}

fn rank_kind(element: Element<'_>) -> Option<RankKind> {
    match element.text("rank")? {
        "same" => Some(RankKind::Same),
        "min" => Some(RankKind::Min),
        "max" => Some(RankKind::Max),
        "source" => Some(RankKind::Source),
        "sink" => Some(RankKind::Sink),
        _ => None,
    }
}

fn bounded(element: Element<'_>, name: &str, most: i64) -> u32 {
    u32::try_from(element.whole(name, 1, 0).min(most)).unwrap_or(1)
}

/// A port as the parser keeps it: `name`, `name:compass`, or a compass point alone.
fn port(shape: &NodeShape, node: &str, text: Option<&str>, warnings: &mut Warnings) -> Option<Port> {
    let text = text?;
    match text.split_once(':') {
        Some((name, point)) => shape.port(node, Some(name), Some(point), warnings),
        None => shape.port(node, Some(text), None, warnings),
    }
}
