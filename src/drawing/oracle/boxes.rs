//! Node boxes, held against Graphviz over the corpus: text, shapes, records, tables.

use std::time::Duration;

use serde_json::Value;

use super::corpus::files;
use super::graphviz::Graphviz;
use super::{everything, installed};
use crate::dot::parse;
use crate::limits::Limits;
use crate::plan::Plan;
use crate::work::Work;

/// How far a width or height may be off and count as the same, in points.
const SLACK: f64 = 0.5;

/// The share of nodes that have to have the same box.
const GOAL: f64 = 0.99;

/// Nodes of the same size, nodes, and what differs.
fn compare(graphviz: &mut Graphviz, source: &[u8]) -> Option<(usize, usize, Vec<String>)> {
    let json = graphviz.render(source, "dot", "json").output?;
    let json: Value = serde_json::from_str(&json).ok()?;
    let limits = Limits::default();
    let graph = parse(source, &limits).ok()?.graph;
    let plan = Plan::new(&graph, &limits, &mut Work::default()).ok()?;
    let (mut same, mut all, mut wrong) = (0, 0, Vec::new());
    for object in json["objects"].as_array()? {
        let points = |name: &str| Some(object[name].as_str()?.parse::<f64>().ok()? * 72.0);
        let (Some(width), Some(height), Some(name)) = (points("width"), points("height"), object["name"].as_str())
        else {
            continue;
        };
        let Some(at) = graph.nodes.iter().position(|node| &*node.name.text == name) else { continue };
        let Some(shape) = plan.shapes.get(at) else { continue };
        all += 1;
        let (own_width, own_height) = (shape.size.width, shape.size.height);
        // Five digits are all that is written.
        let slack = SLACK.max(width.max(height) * 1e-4);
        if (own_width - width).abs() <= slack && (own_height - height).abs() <= slack {
            same += 1;
        } else {
            let kind = shape.kind.name;
            wrong.push(format!("{name:?} ({kind}): {own_width:.1} x {own_height:.1}, not {width:.1} x {height:.1}"));
        }
    }
    Some((same, all, wrong))
}

#[test]
fn node_boxes_are_graphviz_s() {
    let Some(top) = installed() else { return };
    let mut graphviz = Graphviz::new(&top, Duration::from_secs(20));
    let mut cases = files(&top);
    if !everything() {
        cases = cases.into_iter().filter(|case| case.source.len() < 4_000).step_by(7).collect();
    }
    let (mut same, mut all) = (0, 0);
    for case in &cases {
        let Some((good, nodes, wrong)) = compare(&mut graphviz, &case.source) else { continue };
        same += good;
        all += nodes;
        if let Some(first) = wrong.first() {
            println!("{}: {} of {nodes} differ, first {first}", case.name, wrong.len());
        }
    }
    println!("{same} of {all} nodes of the same size");
    assert!(same as f64 >= GOAL * all as f64, "{same} of {all}");
}
