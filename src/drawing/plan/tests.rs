//! What attributes ask of the layout, read off drawings of Graphviz 16.1.

use super::Plan;
use crate::bound::Bound;
use crate::dot::parse;
use crate::layout::{Across, Along, BoxLabel, RankKind};
use crate::limits::{Limits, TooMuch};
use crate::work::Work;

fn plan(source: &str) -> Plan {
    let limits = Limits::default();
    Plan::new(&parse(source.as_bytes(), &limits).unwrap().graph, &limits, &mut Work::default()).unwrap()
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
        assert_eq!((edge.constraint, edge.head_end.clip, edge.tail_end.clip), (expected, expected, true), "{value}");
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
    let plan = plan("graph{label=x subgraph cluster_a{label=y labeljust=r labelloc=b} subgraph cluster_b{label=z}}");
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
        Plan::new(&parse(source.as_bytes(), &limits).unwrap().graph, &limits, &mut Work::default())
            .map(|plan| plan.shapes.len())
    };
    assert_eq!(plan(10), Ok(10));
    assert_eq!(plan(11), Err(Bound::TooMuch(TooMuch::LabelsBytes(100))));
}
