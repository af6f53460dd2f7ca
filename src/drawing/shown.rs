//! Whole sources through everything but the writers: where lines and labels come to lie, beside what Graphviz 16.1 gives
//! for the same sources, read off its drawings once.

use crate::dot::parse;
use crate::geometry::Point;
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
