//! Whole sources through everything but the writers: where lines and labels come to lie, beside what Graphviz 16.1 gives
//! for the same sources, read off its drawings once.

use crate::dot::parse;
use crate::geometry::{Point, Rect};
use crate::graph::Graph;
use crate::layout::{Output, layout};
use crate::limits::Limits;
use crate::plan::Plan;
use crate::work::Work;

fn drawn(source: &str) -> (Graph, Output) {
    let limits = Limits::default();
    let graph = parse(source.as_bytes(), &limits).unwrap().graph;
    let plan = Plan::new(&graph, &limits, &mut Work::default()).unwrap();
    let output = layout(&plan.input, &mut Work::default()).unwrap();
    (graph, output)
}

/// The lengths of all edges, along their control points, arrows left out.
fn lengths(output: &Output) -> Vec<f64> {
    let length = |points: &Vec<Point>| points.windows(2).map(|pair| pair[0].distance(pair[1])).sum::<f64>();
    output.edges.iter().map(|route| route.beziers.iter().map(length).sum()).collect()
}

const ROWS: &str = "<TR><TD>t</TD></TR><TR><TD PORT=\"i\">id</TD></TR><TR><TD PORT=\"o\">org</TD></TR>";

#[test]
fn edges_between_tables_side_by_side_take_the_short_way() {
    for (shape, table, most) in [
        ("plain", "BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\"", 46.0),
        ("none", "BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\"", 64.0),
        ("plaintext", "BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\"", 64.0),
        ("plaintext", "", 60.0),
        ("box", "BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\"", 64.0),
    ] {
        for direction in ["LR", "RL"] {
            let (_, output) = drawn(&format!(
                "digraph {{ rankdir={direction} node [shape={shape} label=<<TABLE {table}>{ROWS}</TABLE>>] \
                 a:o -> b:i c:o -> a:i a:i -> b:o }}"
            ));
            let lengths = lengths(&output);
            assert!(lengths.iter().all(|length| *length < most), "{direction} {shape} {table}: {lengths:?}");
        }
    }
}

/// Which edges are drawn, by their number, each with a `t` for an arrow at the tail and an `h` for one at the head.
fn arrows(output: &Output) -> String {
    let mut all = Vec::new();
    for (index, route) in output.edges.iter().enumerate().filter(|(_, route)| !route.beziers.is_empty()) {
        let tip = |at: Option<Point>, letter| if at.is_some() { letter } else { "" };
        all.push(format!("{index}{}{}", tip(route.tail_arrow, "t"), tip(route.head_arrow, "h")));
    }
    all.join(" ")
}

#[test]
fn concentrated_edges_between_two_nodes_are_one_line() {
    for (edges, expected) in [
        ("a->b a->b", "0h"),
        ("a->b b->a", "0th"),
        ("a->b a->b b->a b->a", "0th"),
        ("b->a[dir=none] a->b", "0t"),
        ("a->b[dir=both] b->a", "0th"),
        ("a->b b->a[dir=back]", "0h"),
        ("a->b[label=x] a->b a->b", "0h 1h"),
        ("a->b->c a->c c->a", "0h 1h 2th"),
        ("a:w->b a:e->b", "0h 1h"),
        ("a->a a->a", "0h 1h"),
    ] {
        let (_, output) = drawn(&format!("digraph {{ concentrate=true {edges} }}"));
        assert_eq!(arrows(&output), expected, "{edges}");
    }
    let (_, output) = drawn("digraph { a->b a->b b->a }");
    assert_eq!(arrows(&output), "0h 1h 2h");
}

#[test]
fn a_drawing_has_the_ratio_it_is_asked_for() {
    let three = "a -> b; a -> c";
    for (source, width, height, first) in [
        (format!("ratio=0.5 {three}"), 216.0, 108.0, (108.0, 90.0)),
        (format!("ratio=3 {three}"), 126.0, 378.0, (63.0, 315.0)),
        (format!("ratio=0.5 rankdir=LR {three}"), 180.0, 90.0, (34.0, 45.0)),
        (format!("ratio=fill size=\"8,8\" {three}"), 576.0, 576.0, (288.0, 480.0)),
        (format!("ratio=fill size=\"2,1\" {three}"), 216.0, 108.0, (108.0, 90.0)),
        ("ratio=0.5 label=hello a -> b -> c -> d".to_owned(), 504.0, 276.8, (252.0, 258.8)),
        ("ratio=2 rankdir=BT a -> b".to_owned(), 54.0, 108.0, (27.0, 18.0)),
        ("ratio=1 a b".to_owned(), 126.0, 36.0, (27.0, 18.0)),
    ] {
        let (_, output) = drawn(&format!("digraph {{ {source} }}"));
        let at = output.nodes[0];
        let found = [output.bounds.width(), output.bounds.height(), at.x, at.y];
        let expected = [width, height, first.0, first.1];
        let is_same = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 2.0);
        assert!(is_same, "{source}: {found:?}, not {expected:?}");
    }
}

/// Points along all curves of an edge.
fn along(output: &Output, edge: usize) -> Vec<Point> {
    let mut points = Vec::new();
    for bezier in &output.edges[edge].beziers {
        for part in bezier.windows(4).step_by(3) {
            points.extend((0..=20).map(|step| {
                let (t, s) = (f64::from(step) / 20.0, 1.0 - f64::from(step) / 20.0);
                part[0] * (s * s * s)
                    + part[1] * (3.0 * s * s * t)
                    + part[2] * (3.0 * s * t * t)
                    + part[3] * (t * t * t)
            }));
        }
    }
    points
}

#[test]
fn edges_keep_out_of_clusters_that_are_not_theirs() {
    for source in [
        "subgraph cluster0 { a b } subgraph cluster1 { c d } subgraph cluster2 { e f } a -> f; a -> c; b -> d [label=x] \
         c -> e; d -> g; g -> a",
        "subgraph cluster1 { label=one c d } a -> f; a -> c; a -> d; c -> e; d -> e; a -> f2; f -> g; f2 -> g; e -> g",
    ] {
        let (graph, output) = drawn(&format!("digraph {{ {source} }}"));
        for (index, edge) in graph.edges.iter().enumerate() {
            let holds = |bounds: Rect, node: usize| bounds.holds(output.nodes[node], 0.0);
            let others = output.clusters.iter().map(|cluster| cluster.bounds);
            for bounds in others.filter(|bounds| !holds(*bounds, edge.tail) && !holds(*bounds, edge.head)) {
                let inner = Rect::new(bounds.low + Point::new(0.1, 0.1), bounds.high - Point::new(0.1, 0.1));
                let cut = along(&output, index).into_iter().find(|at| inner.holds(*at, 0.0));
                assert_eq!(cut, None, "edge {index} of {source} in {bounds:?}");
            }
        }
    }
}

/// How often the way of an edge changes from one bend to the other, and the sharpest of its bends in degrees over
/// `reach` points.
fn bends(points: &[Point], reach: f64) -> (usize, f64) {
    let mut kept: Vec<Point> = Vec::new();
    for point in points {
        if kept.last().is_none_or(|last| last.distance(*point) > reach / 2.0) {
            kept.push(*point);
        }
    }
    let turns = kept.windows(3).map(|part| {
        let (a, b) = (part[1] - part[0], part[2] - part[1]);
        a.cross(b).atan2(a.dot(b)).to_degrees()
    });
    let turns: Vec<f64> = turns.filter(|turn| turn.abs() > 1.0).collect();
    let changes = turns.windows(2).filter(|pair| pair[0] * pair[1] < 0.0).count();
    (changes, turns.iter().fold(0.0, |most, turn| turn.abs().max(most)))
}

#[test]
fn edges_with_labels_to_many_leaves_are_sweeps() {
    for direction in ["TB", "LR", "BT"] {
        let leaves: String = (1..=12).map(|leaf| format!("a -> l{leaf} [label=\"edge {leaf}\"] ")).collect();
        let (_, output) = drawn(&format!("digraph {{ rankdir={direction} {leaves} }}"));
        for edge in 0..12 {
            let (changes, sharpest) = bends(&along(&output, edge), 12.0);
            assert!(changes <= 1 && sharpest < 40.0, "{direction} {edge}: {changes} {sharpest:.0} degrees");
        }
    }
}

#[test]
fn labels_stand_by_their_lines() {
    for source in [
        "a -> b [label=to]; b -> a [label=fro]; a -> c [label=yes]; c -> a [label=no]; b -> d -> a [label=zz]",
        "rankdir=LR a -> b [label=to]; b -> a [label=fro]; a -> c [label=yes]; c -> a [label=no]",
        "a -> b -> c -> d; d -> a [label=again]; a -> d [label=far]; a -> c [label=skip]",
    ] {
        let (graph, output) = drawn(&format!("digraph {{ {source} }}"));
        let plan = Plan::new(&graph, &Limits::default(), &mut Work::default()).unwrap();
        for (index, edge) in plan.input.edges.iter().enumerate() {
            let (Some(at), Some(size)) = (output.edges[index].label, edge.label) else { continue };
            let bounds = Rect::around(at, size);
            let aside = |at: f64, low: f64, high: f64| (low - at).max(at - high).max(0.0);
            let gap = |point: Point| {
                aside(point.x, bounds.low.x, bounds.high.x).hypot(aside(point.y, bounds.low.y, bounds.high.y))
            };
            let near = along(&output, index).into_iter().map(gap).fold(f64::INFINITY, f64::min);
            assert!((0.5..6.0).contains(&near), "{} to {} of {source}: {near:.1}", edge.tail, edge.head);
        }
    }
}
