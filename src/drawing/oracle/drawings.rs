//! Drawings held against those of Graphviz: node boxes, area, edge crossings, time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::corpus::{Case, files};
use super::graphviz::Graphviz;
use super::{everything, installed};
use crate::dot::parse;
use crate::geometry::{Point, Size};
use crate::layout::{Output, layout};
use crate::limits::Limits;
use crate::plan::Plan;
use crate::work::{PAINTING_STEPS, Work};

/// How far a node's width or height may be off and count as the same, in points.
const SAME_POINTS: f64 = 0.5;

/// A drawing, whoever made it.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Nodes by name, with their sizes and middles.
    pub nodes: Vec<(String, Size, Point)>,
    /// Edges as chains of straight pieces.
    pub edges: Vec<Vec<Point>>,
    /// What it takes up.
    pub size: Size,
    /// How long it took.
    pub milliseconds: f64,
}

impl Drawing {
    /// Crossings of pieces of different edges.
    pub fn crossings(&self) -> usize {
        let mut pieces: Vec<(f64, f64, usize, Point, Point)> = Vec::new();
        for (edge, points) in self.edges.iter().enumerate() {
            for pair in points.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                pieces.push((a.x.min(b.x), a.x.max(b.x), edge, a, b));
            }
        }
        pieces.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut count = 0;
        for (index, (_, right, edge, a, b)) in pieces.iter().enumerate() {
            for (left, _, other, c, d) in &pieces[index + 1..] {
                if left > right {
                    break;
                }
                let side = |p: Point, q: Point, r: Point| (q - p).cross(r - p);
                let cross = other != edge
                    && side(*a, *b, *c) * side(*a, *b, *d) < 0.0
                    && side(*c, *d, *a) * side(*c, *d, *b) < 0.0;
                count += usize::from(cross);
            }
        }
        count
    }

    /// Width times height.
    pub fn area(&self) -> f64 {
        self.size.width * self.size.height
    }
}

/// Straight pieces of a curve of 3n + 1 control points.
fn straighten(controls: &[Point]) -> Vec<Point> {
    let mut points = vec![controls[0]];
    for part in controls[1..].chunks_exact(3) {
        let start = *points.last().unwrap();
        for step in 1..=8 {
            let t = f64::from(step) / 8.0;
            let u = 1.0 - t;
            points.push(
                start * (u * u * u) + part[0] * (3.0 * u * u * t) + part[1] * (3.0 * u * t * t) + part[2] * (t * t * t),
            );
        }
    }
    points
}

fn numbers(text: &str) -> Vec<f64> {
    text.split([',', ' ']).filter_map(|number| number.parse().ok()).collect()
}

fn theirs(json: &Value, milliseconds: f64) -> Option<Drawing> {
    let bounds = numbers(json["bb"].as_str()?);
    let none = Vec::new();
    let inches = |object: &Value, name: &str| object[name].as_str().and_then(|text| text.parse::<f64>().ok());
    let mut drawing = Drawing {
        size: Size::new(bounds.get(2)? - bounds[0], bounds.get(3)? - bounds[1]),
        milliseconds,
        ..Drawing::default()
    };
    for object in json["objects"].as_array().unwrap_or(&none) {
        if let (Some(width), Some(height)) = (inches(object, "width"), inches(object, "height"))
            && let [x, y] = *numbers(object["pos"].as_str().unwrap_or_default())
        {
            let name = object["name"].as_str()?.to_owned();
            drawing.nodes.push((name, Size::new(width * 72.0, height * 72.0), Point::new(x, y)));
        }
    }
    for edge in json["edges"].as_array().unwrap_or(&none) {
        for spline in edge["pos"].as_str().unwrap_or_default().split(';') {
            // Arrow tips stand before the curve: `s,x,y` and `e,x,y`.
            let curve: Vec<f64> =
                spline.split(' ').filter(|word| !word.starts_with(['s', 'e'])).flat_map(numbers).collect();
            let points: Vec<Point> = curve.chunks_exact(2).map(|pair| Point::new(pair[0], pair[1])).collect();
            if points.len() >= 4 {
                drawing.edges.push(straighten(&points));
            }
        }
    }
    Some(drawing)
}

fn ours(source: &[u8], limits: &Limits) -> Result<(Drawing, Output), String> {
    let started = Instant::now();
    let parsed = parse(source, limits).map_err(|error| error.to_string())?;
    let mut work = Work::default();
    let plan = Plan::new(&parsed.graph, limits, &mut work).map_err(|error| error.to_string())?;
    work.keep(PAINTING_STEPS);
    let output = layout(&plan.input, &mut work).map_err(|error| error.to_string())?;
    let milliseconds = started.elapsed().as_secs_f64() * 1000.0;
    let names = parsed.graph.nodes.iter().map(|node| node.name.text.to_string());
    let drawing = Drawing {
        nodes: names
            .zip(plan.shapes.iter().zip(&output.nodes))
            .map(|(name, (shape, at))| (name, shape.size, *at))
            .collect(),
        edges: output
            .edges
            .iter()
            .flat_map(|route| &route.beziers)
            .filter(|bezier| bezier.len() >= 4)
            .map(|bezier| straighten(bezier))
            .collect(),
        size: Size::new(output.bounds.width(), output.bounds.height()),
        milliseconds,
    };
    Ok((drawing, output))
}

/// Of the pairs of nodes that stand on one rank in both drawings, the share that stand in the same order in both. Nothing
/// where there are no such pairs.
fn same_sides(ours: &Drawing, theirs: &Drawing, is_sideways: bool) -> Option<f64> {
    let turned = |at: Point| if is_sideways { Point::new(at.y, at.x) } else { at };
    let own: HashMap<&str, Point> = ours.nodes.iter().map(|(name, _, at)| (name.as_str(), turned(*at))).collect();
    let mut places: Vec<(Point, Point)> =
        theirs.nodes.iter().filter_map(|(name, _, at)| Some((turned(*at), *own.get(name.as_str())?))).collect();
    places.sort_by(|a, b| a.0.y.total_cmp(&b.0.y));
    let (mut pairs, mut same) = (0_usize, 0_usize);
    for (index, (there, here)) in places.iter().enumerate() {
        for (there_too, here_too) in &places[index + 1..] {
            if there_too.y - there.y > 1.0 {
                break;
            }
            if (here_too.y - here.y).abs() > 1.0 {
                continue;
            }
            pairs += 1;
            same += usize::from((there_too.x - there.x) * (here_too.x - here.x) > 0.0);
        }
    }
    (pairs > 0).then(|| same as f64 / pairs as f64)
}

/// Sums over a corpus.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Drawings that both made.
    pub drawings: usize,
    /// Sources that Graphviz drew and we did not, with the reason.
    pub missing: Vec<(String, String)>,
    /// Nodes compared.
    pub nodes: usize,
    /// Nodes of the same size.
    pub same_nodes: usize,
    /// Edge crossings here and there.
    pub crossings: (usize, usize),
    /// Our area by theirs, for each drawing.
    pub areas: Vec<f64>,
    /// The share of pairs of nodes in the same order on a rank, for each drawing that has such.
    pub sides: Vec<f64>,
    /// Our times in milliseconds.
    pub milliseconds: Vec<f64>,
}

/// The value in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl Comparison {
    /// The same nodes, in percent.
    pub fn same_nodes_percent(&self) -> f64 {
        100.0 * self.same_nodes as f64 / self.nodes.max(1) as f64
    }

    /// Our crossings by theirs.
    pub fn crossings_ratio(&self) -> f64 {
        self.crossings.0 as f64 / self.crossings.1.max(1) as f64
    }

    /// How many drawings have most of their pairs in the same order as theirs, in percent.
    pub fn same_sides_percent(&self) -> f64 {
        let most = self.sides.iter().filter(|share| **share > 0.5).count();
        100.0 * most as f64 / self.sides.len().max(1) as f64
    }

    /// The middle one of our areas by theirs.
    pub fn area_ratio(&self) -> f64 {
        median(&self.areas)
    }
}

/// Draws every case with both.
pub fn compare(graphviz: &mut Graphviz, cases: &[Case]) -> Comparison {
    let limits = Limits::default();
    let mut sums = Comparison::default();
    for case in cases {
        let source = case.source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&case.source);
        let answer = graphviz.render(source, "dot", "json");
        let Some(output) = answer.output else { continue };
        let Ok(json) = serde_json::from_str(&output) else { continue };
        let Some(theirs) = theirs(&json, answer.milliseconds) else { continue };
        if json["layout"].as_str().is_some_and(|engine| engine != "dot") {
            continue;
        }
        let (ours, _) = match ours(source, &limits) {
            Ok(drawn) => drawn,
            Err(error) => {
                sums.missing.push((case.name.clone(), error));
                continue;
            }
        };
        sums.drawings += 1;
        let mut wrong = Vec::new();
        for (name, size, _) in &theirs.nodes {
            let Some((_, own, _)) = ours.nodes.iter().find(|(other, ..)| other == name) else { continue };
            sums.nodes += 1;
            let same = (own.width - size.width).abs() <= SAME_POINTS && (own.height - size.height).abs() <= SAME_POINTS;
            sums.same_nodes += usize::from(same);
            if !same {
                wrong.push(format!(
                    "{name:.20} {:.1}x{:.1}/{:.1}x{:.1}",
                    own.width, own.height, size.width, size.height
                ));
            }
        }
        let crossings = if ours.edges.len() < 3_000 { (ours.crossings(), theirs.crossings()) } else { (0, 0) };
        sums.crossings.0 += crossings.0;
        sums.crossings.1 += crossings.1;
        let area = ours.area() / theirs.area();
        sums.areas.push(area);
        let is_sideways = matches!(json["rankdir"].as_str(), Some("LR" | "RL"));
        let sides = same_sides(&ours, &theirs, is_sideways);
        sums.sides.extend(sides);
        sums.milliseconds.push(ours.milliseconds);
        eprintln!(
            "{:60.60} nodes {:5} wrong {:4} | crossings {:6} / {:6} | area {:6.3} | sides {:4.2} | {:8.1} ms / {:8.1} ms {}",
            case.name,
            theirs.nodes.len(),
            wrong.len(),
            crossings.0,
            crossings.1,
            area,
            sides.unwrap_or(1.0),
            ours.milliseconds,
            theirs.milliseconds,
            wrong.first().map(String::as_str).unwrap_or_default(),
        );
    }
    sums
}

#[test]
fn drawings_are_like_those_of_graphviz() {
    let Some(top) = installed() else { return };
    let mut graphviz = Graphviz::new(&top, Duration::from_secs(20));
    let mut cases = files(&top);
    if !everything() {
        cases.retain(|case| case.source.len() < 1_500);
    }
    let sums = compare(&mut graphviz, &cases);
    for (name, error) in &sums.missing {
        eprintln!("{name}: {error}");
    }
    eprintln!(
        "{} drawings, {} missing; {} of {} nodes of the same size; crossings {} / {}; area median {:.3}; left and right \
         alike in {:.1} %, {:.3} on the average; {:.2} ms median",
        sums.drawings,
        sums.missing.len(),
        sums.same_nodes,
        sums.nodes,
        sums.crossings.0,
        sums.crossings.1,
        sums.area_ratio(),
        sums.same_sides_percent(),
        sums.sides.iter().sum::<f64>() / sums.sides.len().max(1) as f64,
        median(&sums.milliseconds),
    );
    assert!(sums.missing.is_empty(), "{:?}", sums.missing);
    assert!(sums.drawings >= 280, "only {} drawings were compared", sums.drawings);
    assert!(sums.same_nodes_percent() >= 99.0, "{:.2} %", sums.same_nodes_percent());
    assert!((0.9..1.1).contains(&sums.area_ratio()), "{}", sums.area_ratio());
    // A handful of crossings more or less is chance on graphs as small as these.
    assert!(sums.crossings_ratio() <= 1.1, "{:?}", sums.crossings);
}
