//! A graph with everything measured: what the layout is asked, and what the painter needs besides its answer.

use std::collections::HashMap;

use crate::arrows::Arrow;
use crate::geometry::Size;
use crate::graph::{Element, Graph};
use crate::label::{self, Label};
use crate::layout::{
    Across, Along, BoxLabel, Cluster, ClusterRank, Edge, End, Input, Node, Ordering, Port, RankDirection, RankKind,
    RankSet, Ratio, Splines,
};
use crate::limits::{Limits, TooMuch};
use crate::shapes::NodeShape;
use crate::style::Style;
use crate::text::{Names, substituted_bytes};
use crate::values::{Attributes, Value, leading_number};
use crate::warnings::Warnings;

/// Points of an inch.
const POINTS_PER_INCH: f64 = 72.0;

/// Space around the label of a graph or cluster, both sides together.
const BOX_LABEL_PADDING: Size = Size::new(16.0, 8.0);

/// The smallest space between ranks, whatever `ranksep` says, in points.
const SMALLEST_RANK_SEPARATION: f64 = 8.0;

/// The largest `minlen` that counts: more ranks than that are no drawing.
const MOST_RANKS_OF_AN_EDGE: i64 = 1_000;

/// The largest `weight` that counts.
const LARGEST_WEIGHT: i64 = 1_000_000;

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

impl Plan {
    /// Measures everything in `graph`.
    ///
    /// # Errors
    /// Clusters that are nested too deep, or labels that are too long together.
    pub fn new(graph: &Graph, limits: &Limits) -> Result<Plan, TooMuch> {
        check_labels(graph, limits)?;
        let mut plan = Plan { input: of_graph(graph.root()), warnings: complaints(graph.root()), ..Plan::default() };
        plan.graph_label(graph);
        plan.clusters(graph, limits)?;
        plan.nodes(graph);
        plan.edges(graph);
        Ok(plan)
    }

    fn graph_label(&mut self, graph: &Graph) {
        let root = graph.root();
        let names = Names { graph: graph.name().map(|name| &*name.text), ..Names::default() };
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

    fn nodes(&mut self, graph: &Graph) {
        let is_flipped = matches!(self.input.rank_direction, RankDirection::LeftRight | RankDirection::RightLeft);
        let graph_name = graph.name().map(|name| &*name.text);
        let mut groups = Numbers::default();
        for (index, node) in graph.nodes.iter().enumerate() {
            let element = graph.node(index);
            let names = Names { graph: graph_name, node: Some(&node.name.text), ..Names::default() };
            let shape = NodeShape::new(&element, &names, is_flipped, &mut self.warnings);
            let outer_label = label(&element, "xlabel", "", &names, &mut self.warnings);
            self.input.nodes.push(Node {
                size: shape.size,
                outline: shape.outline(),
                group: element.text("group").map(|group| groups.of(group)),
                ordering: ordering(element),
                outer_label: outer_label.as_ref().map(Label::size),
            });
            self.shapes.push(shape);
            self.outer_labels.push(outer_label);
        }
    }

    fn edges(&mut self, graph: &Graph) {
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
            self.edges.push(plan);
        }
    }
}

/// What a bar counts for among the bytes of labels: in a record it makes a field, which is more than a letter.
const BYTES_PER_FIELD: usize = 8;

/// A default label, or one of names, is short in the source and long in memory, once for every object that has it.
fn check_labels(graph: &Graph, limits: &Limits) -> Result<(), TooMuch> {
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
    let of_graph = Names { graph: graph.name().map(|name| &*name.text), ..Names::default() };
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

/// Numbers for names, from 0.
#[derive(Debug, Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    fn of(&mut self, name: &str) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(name.to_owned()).or_insert(next)
    }
}

/// The attributes of the whole graph.
fn of_graph(root: Element<'_>) -> Input {
    let default = Input::default();
    // Whole points, as the documentation does not say but every drawing shows.
    let inches = |name: &str, default: f64| (root.number(name, default, 0.02) * POINTS_PER_INCH).round();
    let rank_separation = root.text("ranksep").unwrap_or_default();
    Input {
        rank_direction: match root.text("rankdir") {
            Some("LR") => RankDirection::LeftRight,
            Some("RL") => RankDirection::RightLeft,
            Some("BT") => RankDirection::BottomTop,
            _ => RankDirection::TopBottom,
        },
        node_separation: inches("nodesep", 0.25),
        rank_separation: inches("ranksep", 0.5).max(SMALLEST_RANK_SEPARATION),
        equal_ranks: rank_separation.contains("equally"),
        splines: splines(root),
        concentrate: root.flag("concentrate", false),
        compound: root.flag("compound", false),
        new_rank: root.flag("newrank", false),
        cluster_rank: match root.text("clusterrank") {
            Some("global") => ClusterRank::Global,
            Some("none") => ClusterRank::None,
            _ => ClusterRank::Local,
        },
        ordering: ordering(root),
        remincross: root.flag("remincross", true),
        mclimit: root.number("mclimit", default.mclimit, 0.0),
        nslimit: root.text("nslimit").and_then(leading_number).map(|(number, _)| number.max(0.0)),
        nslimit1: root.text("nslimit1").and_then(leading_number).map(|(number, _)| number.max(0.0)),
        search_size: usize::try_from(root.whole("searchsize", 30, 0)).unwrap_or(30).min(1_000),
        ratio: ratio(root),
        size: size(root),
        force_labels: root.flag("forcelabels", true),
        ..default
    }
}

fn splines(root: Element<'_>) -> Splines {
    let Some(text) = root.get("splines") else { return Splines::Spline };
    match &*text.text.to_ascii_lowercase() {
        "" | "none" => Splines::None,
        "line" | "false" | "no" | "0" => Splines::Line,
        "polyline" => Splines::Polyline,
        "ortho" => Splines::Ortho,
        "curved" => Splines::Curved,
        _ => Splines::Spline,
    }
}

fn ordering(element: Element<'_>) -> Ordering {
    match element.text("ordering") {
        Some("out") => Ordering::Out,
        Some("in") => Ordering::In,
        _ => Ordering::Free,
    }
}

fn ratio(root: Element<'_>) -> Ratio {
    match root.text("ratio") {
        None => Ratio::None,
        Some("auto") => Ratio::Auto,
        Some("compress") => Ratio::Compress,
        Some("expand") => Ratio::Expand,
        Some("fill") => Ratio::Fill,
        Some(text) => match leading_number(text) {
            Some((number, _)) if number > 0.0 => Ratio::Value(number.clamp(0.001, 1_000.0)),
            _ => Ratio::None,
        },
    }
}

/// `size`: one or two numbers of inches, and perhaps `!`.
fn size(root: Element<'_>) -> Option<(Size, bool)> {
    let text = root.text("size")?;
    let (width, rest) = leading_number(text)?;
    let height = rest.trim_start().strip_prefix(',').and_then(leading_number).map_or(width, |(height, _)| height);
    let is_size = width > 0.0 && height > 0.0;
    is_size.then_some((Size::new(width * POINTS_PER_INCH, height * POINTS_PER_INCH), text.contains('!')))
}

/// A yes or no that is yes where nothing is said, and no where nonsense is.
fn says_yes(element: Element<'_>, name: &str) -> bool {
    element.text(name).is_none() || element.flag(name, false)
}

/// Values that Graphviz complains of.
fn complaints(root: Element<'_>) -> Warnings {
    const SPLINES: &[&str] =
        &["", "none", "line", "false", "no", "polyline", "ortho", "curved", "spline", "true", "yes", "compound"];
    let mut complaints = Warnings::default();
    if let Some(text) = root.text("splines")
        && !SPLINES.contains(&&*text.to_ascii_lowercase())
        && !text.starts_with(|c: char| c.is_ascii_digit())
    {
        complaints.push(format!("Unknown \"splines\" value: \"{text}\" - ignored"));
    }
    if let Some(text) = root.text("ordering")
        && !matches!(text, "in" | "out")
    {
        complaints.push(format!("ordering '{text}' not recognized."));
    }
    complaints
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

/// The label of an attribute, in the object's font; `prefix` is that of the font's attributes, which stand before those
/// without one.
fn label(
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
    let mut font = label::font(element, "");
    if !prefix.is_empty() {
        let own = label::font(element, prefix);
        if element.text(&format!("{prefix}fontname")).is_some() {
            font.name = own.name;
        }
        if element.text(&format!("{prefix}fontsize")).is_some() {
            font.size = own.size;
        }
    }
    Some(Label::new(value, names, font, warnings))
}

fn box_label(label: &Label, element: &Element<'_>, default: Along) -> BoxLabel {
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

/// A port as the parser keeps it: `name`, `name:compass`, or a compass point alone.
fn port(shape: &NodeShape, node: &str, text: Option<&str>, warnings: &mut Warnings) -> Option<Port> {
    let text = text?;
    match text.split_once(':') {
        Some((name, point)) => shape.port(node, Some(name), Some(point), warnings),
        None => shape.port(node, Some(text), None, warnings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot::parse;

    fn plan(source: &str) -> Plan {
        let limits = Limits::default();
        Plan::new(&parse(source.as_bytes(), &limits).unwrap().graph, &limits).unwrap()
    }

    /// Each expectation was read off a drawing of Graphviz 16.1.
    #[test]
    fn separations_are_whole_points() {
        for (source, nodes, ranks) in [
            ("graph{}", 18.0, 36.0),
            ("graph{nodesep=0.3 ranksep=0.31}", 22.0, 22.0),
            ("graph{nodesep=0 ranksep=0}", 1.0, 8.0),
            ("graph{nodesep=-1 ranksep=-1}", 1.0, 8.0),
            ("graph{nodesep=x ranksep=\"1.5 equally\"}", 18.0, 108.0),
        ] {
            let input = plan(source).input;
            assert_eq!((input.node_separation, input.rank_separation), (nodes, ranks), "{source}");
        }
        assert!(plan("graph{ranksep=\"1.5 equally\"}").input.equal_ranks);
    }

    #[test]
    fn nonsense_says_no_to_what_is_yes_by_default() {
        for (value, expected) in [("nope", false), ("0", false), ("2", true), ("YES", true), ("\"\"", true)] {
            let edge = plan(&format!("digraph{{a->b[constraint={value} headclip={value}]}}")).input.edges.remove(0);
            assert_eq!(
                (edge.constraint, edge.head_end.clip, edge.tail_end.clip),
                (expected, expected, true),
                "{value}"
            );
        }
    }

    #[test]
    fn numbers_of_edges_are_bounded() {
        for (value, min_length, weight) in [("-1", 0, 0), ("2.9", 2, 2), ("x", 1, 1), ("99999999", 1_000, 1_000_000)] {
            let edge = plan(&format!("digraph{{a->b[minlen=\"{value}\" weight=\"{value}\"]}}")).input.edges.remove(0);
            assert_eq!((edge.min_length, edge.weight), (min_length, weight), "{value}");
        }
    }

    #[test]
    fn clusters_and_rank_sets_nest() {
        let plan = plan(
            "digraph{compound=1 subgraph cluster_a{a {rank=same b c} subgraph x{subgraph cluster_b{d}}} \
             {rank=sink e} a->d[lhead=cluster_b ltail=nosuch]}",
        );
        let parents: Vec<Option<usize>> = plan.input.clusters.iter().map(|cluster| cluster.parent).collect();
        assert_eq!(parents, [None, Some(0)]);
        let sets: Vec<_> = plan.input.rank_sets.iter().map(|set| (set.kind, set.nodes.len(), set.cluster)).collect();
        assert_eq!(sets, [(RankKind::Same, 2, Some(0)), (RankKind::Sink, 1, None)]);
        let edge = &plan.input.edges[0];
        assert_eq!((edge.head_end.cluster, edge.tail_end.cluster), (Some(1), None));
        assert!(plan.input.compound);
    }

    #[test]
    fn labels_of_boxes_stand_where_they_are_told() {
        let plan =
            plan("graph{label=x subgraph cluster_a{label=y labeljust=r labelloc=b} subgraph cluster_b{label=z}}");
        let label = |label: Option<BoxLabel>| label.map(|label| (label.along, label.across)).unwrap();
        assert_eq!(label(plan.input.label), (Along::Bottom, Across::Middle));
        assert_eq!(label(plan.input.clusters[0].label), (Along::Bottom, Across::Right));
        assert_eq!(label(plan.input.clusters[1].label), (Along::Top, Across::Middle));
    }

    #[test]
    fn labels_are_bounded_together() {
        let limits = Limits { labels_bytes: 100, ..Limits::default() };
        let plan = |nodes: usize| {
            let names: String = (0..nodes).map(|node| format!("n{node};")).collect();
            let source = format!("graph {{ node [label=aaaaaaaaaa] {names} }}");
            Plan::new(&parse(source.as_bytes(), &limits).unwrap().graph, &limits).map(|plan| plan.shapes.len())
        };
        assert_eq!(plan(10), Ok(10));
        assert_eq!(plan(11), Err(TooMuch::LabelsBytes(100)));
    }
}
