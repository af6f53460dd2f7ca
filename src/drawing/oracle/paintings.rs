//! What is painted, held against Graphviz: its own places and routes go into our painter, and our SVG has to say what
//! its SVG says.
//!
//! To look at one source: `PAINT_CASE=file.gv` prints all lines that differ, and with `PAINT_OUT=file.png` it is painted.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use super::corpus::{Case, files};
use super::graphviz::Graphviz;
use super::{everything, installed};
use crate::dot::parse;
use crate::geometry::{Point, Rect};
use crate::layout::{ClusterBox, Output, Route};
use crate::limits::Limits;
use crate::paint::paint;
use crate::plan::Plan;
use crate::svg;
use crate::work::Work;

/// How far numbers may be apart and count as the same.
const SLACK: f64 = 0.06;

fn numbers(text: &str) -> Vec<f64> {
    text.split([',', ' ']).filter_map(|number| number.parse().ok()).collect()
}

fn point(value: &Value) -> Option<Point> {
    match numbers(value.as_str()?).as_slice() {
        [x, y] => Some(Point::new(*x, *y)),
        _ => None,
    }
}

fn rect(value: &Value) -> Option<Rect> {
    match numbers(value.as_str()?).as_slice() {
        [x, y, z, w] => Some(Rect::new(Point::new(*x, *y), Point::new(*z, *w))),
        _ => None,
    }
}

fn route(edge: &Value) -> Route {
    let mut route = Route {
        label: point(&edge["lp"]),
        outer_label: point(&edge["xlp"]),
        tail_label: point(&edge["tail_lp"]),
        head_label: point(&edge["head_lp"]),
        ..Route::default()
    };
    for spline in edge["pos"].as_str().unwrap_or_default().split(';') {
        let mut curve = Vec::new();
        for word in spline.split(' ') {
            let place = |text: &str| match numbers(text).as_slice() {
                [x, y] => Some(Point::new(*x, *y)),
                _ => None,
            };
            if let Some(tip) = word.strip_prefix("s,") {
                route.tail_arrow = place(tip);
            } else if let Some(tip) = word.strip_prefix("e,") {
                route.head_arrow = place(tip);
            } else {
                curve.extend(place(word));
            }
        }
        if !curve.is_empty() {
            route.beziers.push(curve);
        }
    }
    route
}

/// The layout that Graphviz made, for our indices.
fn layout_of(json: &Value, parsed: &crate::graph::Graph, plan: &Plan) -> Option<Output> {
    let objects = json["objects"].as_array()?;
    let by_name: HashMap<&str, &Value> =
        objects.iter().filter_map(|object| Some((object["name"].as_str()?, object))).collect();
    let mut output = Output { bounds: rect(&json["bb"])?, label: point(&json["lp"]), ..Output::default() };
    for node in &parsed.nodes {
        let object = by_name.get(&*node.name.text)?;
        output.nodes.push(point(&object["pos"])?);
        output.node_labels.push(point(&object["xlp"]));
    }
    for cluster in &plan.clusters {
        let name = parsed.subgraphs.get(cluster.subgraph)?.name.as_ref()?;
        let object = by_name.get(&*name.text);
        let bounds = object.and_then(|object| rect(&object["bb"])).unwrap_or(Rect::EMPTY);
        output.clusters.push(ClusterBox { bounds, label: object.and_then(|object| point(&object["lp"])) });
    }
    let none = Vec::new();
    let edges = json["edges"].as_array().unwrap_or(&none);
    if edges.len() != parsed.edges.len() {
        return None;
    }
    output.edges = edges.iter().map(route).collect();
    Some(output)
}

/// Lines of an SVG that say what is painted.
fn lines(svg: &str) -> Vec<&str> {
    let start = svg.find("<svg").unwrap_or_default();
    svg.get(start..).unwrap_or_default().lines().collect()
}

/// Text cut into words and numbers.
fn tokens(line: &str) -> Vec<Result<f64, &str>> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_number(c) != is_number(first)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        out.push(token.parse().map_err(|_| token));
        rest = after;
    }
    out
}

/// In tables, Graphviz names gradients by their number alone.
fn without_gradient_names(line: &str) -> String {
    match line.find("id=\"").or_else(|| line.find("url(#")) {
        Some(at) if line.contains("Gradient") || line.contains("url(#") => {
            let (before, after) = line.split_at(at);
            let end = after.find(['"', ')']).map_or(after.len(), |quote| quote + 1);
            let end = after.get(end..).and_then(|rest| rest.find(['"', ' '])).map_or(after.len(), |more| end + more);
            format!("{before}{}", after.get(end..).unwrap_or_default())
        }
        _ => line.to_owned(),
    }
}

fn is_same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (a, b) = (without_gradient_names(a), without_gradient_names(b));
    let (a, b) = (tokens(&a), tokens(&b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|pair| match pair {
            (Ok(a), Ok(b)) => (a - b).abs() <= SLACK.max(a.abs() * 1e-4),
            (a, b) => a == b,
        })
}

/// The share of Graphviz's lines that ours has at the same place, and the first differences.
fn compare(graphviz: &mut Graphviz, source: &[u8]) -> Option<(usize, usize, Vec<String>)> {
    let json = graphviz.render(source, "dot", "json").output?;
    let json: Value = serde_json::from_str(&json).ok()?;
    let theirs = graphviz.render(source, "dot", "svg").output?;
    let limits = Limits::default();
    let parsed = parse(source, &limits).ok()?.graph;
    let plan = Plan::new(&parsed, &limits, &mut Work::default()).ok()?;
    let layout = layout_of(&json, &parsed, &plan)?;
    let (scene, _) = paint(&parsed, &plan, &layout, &mut Work::default()).ok()?;
    if let Some(path) = std::env::var_os("PAINT_OUT") {
        let png = crate::png::write(&scene, 1.0, &Default::default(), &limits, &mut Work::default());
        std::fs::write(path, png.unwrap()).unwrap();
    }
    let ours = svg::write(&scene, 64 << 20).ok()?;
    let (theirs, ours) = (lines(&theirs), lines(&ours));
    let mut wrong = Vec::new();
    let mut same = 0;
    let mut at = 0;
    for line in &theirs {
        // The next line of ours that is the same, not far away.
        let found = ours.iter().skip(at).take(30).position(|own| is_same(line, own));
        match found {
            Some(skipped) => {
                same += 1;
                at += skipped + 1;
            }
            None => wrong.push(format!("{line}\n      {}", ours.get(at).copied().unwrap_or_default())),
        }
    }
    Some((same, theirs.len(), wrong))
}

/// Compares all cases; the share of lines that are the same.
fn compare_all(graphviz: &mut Graphviz, cases: &[Case]) -> f64 {
    let (mut same, mut all) = (0, 0);
    for case in cases {
        let Some((good, lines, wrong)) = compare(graphviz, &case.source) else { continue };
        same += good;
        all += lines;
        if let Some(first) = wrong.first() {
            println!("{}: {} of {lines} lines differ; first:\n  {first}", case.name, wrong.len());
        }
    }
    println!("{same} of {all} lines of SVG as Graphviz writes them");
    same as f64 / all.max(1) as f64
}

#[test]
fn svg_says_what_graphviz_s_does() {
    let Some(top) = installed() else { return };
    let mut graphviz = Graphviz::new(&top, Duration::from_secs(20));
    if let Ok(path) = std::env::var("PAINT_CASE") {
        let source = std::fs::read(path).unwrap();
        let (same, all, wrong) = compare(&mut graphviz, &source).unwrap();
        println!("{same} of {all}\n  {}", wrong.join("\n  "));
        return;
    }
    let mut cases = files(&top);
    if !everything() {
        cases = cases.into_iter().filter(|case| case.source.len() < 4_000).step_by(8).collect();
    }
    let share = compare_all(&mut graphviz, &cases);
    assert!(share > 0.97, "{share}");
}
