//! Hostile sources: made by grammar with values that hurt, and mutations of them, through the whole pipeline. Nothing may
//! panic, overflow the stack, or go on for longer than its budget.
//!
//! `make diagrams-fuzz CASES=N` runs more of them; a failure names its seed, and `QUINTET_DIAGRAMS_SEED` runs it again.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fastrand::Rng;

use crate::dot::{parse, validate};
use crate::fonts::Collection;
use crate::graph::attributes::ATTRIBUTES;
use crate::layout::layout;
use crate::limits::Limits;
use crate::paint::paint;
use crate::plan::Plan;
use crate::work::{BUDGET_STEPS, Care, Work, cpu_time};
use crate::{png, svg};

/// Values that some reader of attributes may trip over.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "0", "1", "-1", "2.5", "\"-0.0\"", "\"1e308\"", "\"1e-308\"", "\"-1e9\"", "999999999999999999999", "NaN", "inf", "\"-inf\"", "\"0x10\"",
    "true", "false", "yes", "no", "same", "min", "max", "source", "sink", "TB", "LR", "BT", "RL", "ortho", "polyline",
    "curved", "line", "none", "spline", "\"\"", "\"1,2\"", "\"1,2!\"", "\"0,0\"", "\"-1,-1\"", "equally", "fill",
    "compress", "expand", "auto", "in", "out", "global", "local", "box", "ellipse", "record", "Mrecord", "plaintext",
    "point", "circle", "polygon", "diamond", "star", "cylinder", "house", "invtriangle", "tripleoctagon",
    "doublecircle", "Msquare", "nosuchshape", "filled", "\"filled,rounded\"", "dashed", "invis", "wedged", "striped",
    "\"setlinewidth(1e9)\"", "radial", "tapered", "red", "\"#ff000080\"", "\"0.5 1 1\"", "\"red:blue;0.3:green\"",
    "\"/blues9/3\"", "nosuchcolor", "\"red;2:blue;-1\"", "normal", "odiamond", "lcrowrteeobox", "both", "back", "n",
    "sw", "_", "c", "f0", "\"f0:n\"", "\"nosuch:port:x\"", "cluster_a", "a", "\"{a|{b|<f0> c}|d}\"", "\"<f0>|<f1>{<f2>}|\"",
    "\"{{{{}}}\"", "\"\\\\N\\\\G\\\\E\\\\l\\\\r\\\\n\"", "\"\\\\\"", "\"&lt;&#x1F600;&nosuch;&\"",
    "\"a very long line of text that goes on and on and on and on\"", "\"é\\nü\\rß\\l日本語\"", "<b>", "<<b>x</b>>",
    "<<table><tr><td port=\"f0\">a</td><td rowspan=\"99999\">b</td></tr></table>>",
    "<<table border=\"-1\" cellspacing=\"99999\"><tr><td colspan=\"70000\" width=\"1e9\">x</td></tr><hr/></table>>",
    "<<table><tr><td><table><tr><td><font point-size=\"9999\">x</font></td></tr></table></td></tr></table>>",
    "<<table>>", "<<i><u>x</i>>", "< & >", "latin1", "\"UTF-8\"", "1000", "32767", "100000", "t", "b", "l", "r",
    "\"http://x/\\\"<>\"", "\"javascript:alert(1)\"", "neato",
];

/// Attributes that the layout and the shapes read most, more likely than the rest.
#[rustfmt::skip]
const FREQUENT: &[&str] = &[
    "rank", "rankdir", "splines", "shape", "label", "minlen", "weight", "width", "height", "style", "lhead", "ltail",
    "sides", "headport", "tailport", "constraint", "concentrate", "compound", "newrank", "clusterrank", "nodesep",
    "ranksep", "group", "samehead", "sametail", "ordering", "fixedsize", "peripheries", "fontsize", "fontname",
    "color", "xlabel", "headlabel", "ratio", "size", "margin", "cluster", "dir", "arrowhead", "penwidth", "labelloc",
    "orientation", "skew", "regular",
];

struct Maker {
    random: Rng,
    source: String,
    directed: bool,
    nodes: u32,
    /// How many statements may still be made.
    statements_left: u32,
}

impl Maker {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.usize(..from.len())]
    }

    fn put(&mut self, text: &str) {
        self.source.push_str(text);
        if self.random.u32(..40) == 0 {
            self.source.push_str(["\n", " /* x */ ", " // y\n", "\n# z\n", "\t"][self.random.usize(..5)]);
        }
    }

    fn name(&mut self) -> String {
        let number = self.random.u32(..self.nodes.max(1));
        match self.random.u32(..20) {
            0 => format!("\"n {number}\""),
            1 => format!("<n{number}>"),
            2 => format!("-{number}.5"),
            _ => format!("n{number}"),
        }
    }

    fn attributes(&mut self) {
        for _ in 0..self.random.u32(1..3) {
            self.put("[");
            for _ in 0..self.random.u32(..5) {
                let name = match self.random.u32(..4) {
                    0 => ATTRIBUTES[self.random.usize(..ATTRIBUTES.len())].name,
                    _ => self.pick(FREQUENT),
                };
                let value = self.pick(VALUES);
                let _ = write!(self.source, "{name}={value}");
                let separator = self.pick(&[",", ";", " "]);
                self.put(separator);
            }
            self.put("]");
        }
    }

    fn operand(&mut self, depth: u32) {
        match self.random.u32(..8) {
            0 if depth < 12 => self.body(depth),
            1 => {
                let names = format!("{}, {}", self.name(), self.name());
                self.put(&names);
            }
            2 => {
                let port = self.pick(&["f0", "f1", "n", "sw", "f0:e", "_", "f2:nosuch", "\"\""]);
                let text = format!("{}:{port}", self.name());
                self.put(&text);
            }
            _ => {
                let name = self.name();
                self.put(&name);
            }
        }
    }

    fn body(&mut self, depth: u32) {
        match self.random.u32(..4) {
            0 => self.put("{"),
            1 => {
                let name = format!("subgraph s{} {{", self.random.u32(..5));
                self.put(&name);
            }
            _ => {
                let name = format!("subgraph cluster_{} {{", self.pick(&["a", "b", "c", "0", "1"]));
                self.put(&name);
            }
        }
        self.statements(depth + 1);
        self.put("}");
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.random.u32(..8) {
            if self.statements_left == 0 {
                return;
            }
            self.statements_left -= 1;
            match self.random.u32(..12) {
                0 => {
                    let kind = self.pick(&["graph", "node", "edge"]);
                    self.put(kind);
                    self.attributes();
                }
                1 => {
                    let (name, value) = (self.pick(FREQUENT), self.pick(VALUES));
                    let text = format!("{name}={value}");
                    self.put(&text);
                }
                2 | 3 if depth < 12 => self.body(depth),
                4 | 5 => {
                    self.operand(depth);
                    if self.random.bool() {
                        self.attributes();
                    }
                }
                _ => {
                    self.operand(depth);
                    for _ in 0..self.random.u32(1..4) {
                        let arrow = if self.directed { " -> " } else { " -- " };
                        self.put(arrow);
                        self.operand(depth);
                    }
                    if self.random.bool() {
                        self.attributes();
                    }
                }
            }
            let end = self.pick(&[";", " "]);
            self.put(end);
        }
    }
}

/// The source of a seed.
fn source(seed: u64) -> Vec<u8> {
    let mut random = Rng::with_seed(seed);
    let directed = random.bool();
    let nodes = [3, 8, 20, 100][random.usize(..4)];
    let mut maker = Maker { random, source: String::new(), directed, nodes, statements_left: nodes.min(60) * 2 };
    if maker.random.u32(..5) == 0 {
        maker.put("strict ");
    }
    maker.put(if directed { "digraph g {" } else { "graph {" });
    for _ in 0..maker.random.u32(1..4) {
        maker.statements(0);
    }
    maker.put("}");
    let mut bytes = maker.source.into_bytes();
    // One in three is broken somewhere.
    if maker.random.u32(..3) == 0 && !bytes.is_empty() {
        for _ in 0..maker.random.u32(1..4) {
            let at = maker.random.usize(..bytes.len());
            bytes[at] = maker.random.u8(..);
        }
    }
    bytes
}

/// Takes a source through everything, and says how far it came.
fn run(source: &[u8], budget: u64) -> &'static str {
    let limits = Limits::default();
    let valid = validate(source, &limits);
    let Ok(parsed) = parse(source, &limits) else { return "refused" };
    drop(valid);
    let mut work = Work::new(budget, None);
    let Ok(plan) = Plan::new(&parsed.graph, &limits, &mut work) else { return "too much" };
    for shape in &plan.shapes {
        assert!(shape.size.width.is_finite() && shape.size.height.is_finite(), "a node without a size");
    }
    let Ok(output) = layout(&plan.input, &mut work) else { return "exhausted" };
    let finite = |point: &crate::geometry::Point| point.x.is_finite() && point.y.is_finite();
    assert!(output.nodes.iter().all(finite), "a node is nowhere");
    assert!(output.edges.iter().flat_map(|edge| &edge.beziers).flatten().all(finite), "an edge runs nowhere");
    assert!(finite(&output.bounds.low) && finite(&output.bounds.high), "the drawing has no size");
    let (scene, _) = paint(&parsed.graph, &plan, &output, &mut Work::new(u64::MAX, None)).unwrap();
    match svg::write(&scene, limits.output_bytes) {
        Ok(svg) => {
            assert!(svg.ends_with("</svg>\n"), "no picture");
            for name in [" points=\"", " d=\"", " x=\"", " y=\"", " cx=\"", " rx=\"", " width=\"", " viewBox=\""] {
                let values = svg.split(name).skip(1).filter_map(|rest| rest.split('"').next());
                // Neither NaN nor inf.
                values.for_each(|value| assert!(!value.contains(['n', 'N']), "{name}{value}"));
            }
            // Small pictures: what hurts a painter are lengths and numbers, not pixels.
            let small = Limits { canvas_megapixels: 1, ..limits };
            let painted = png::write(&scene, 1.0, &Collection::default(), &small, &mut Work::new(budget, None));
            assert!(painted.is_err() || painted.is_ok_and(|png| png.starts_with(b"\x89PNG")), "no picture");
            if work.care() == Care::Full { "drawn" } else { "drawn with less care" }
        }
        Err(_) => "too large",
    }
}

/// Seeds that once took too long or had no finite drawing; every run has them.
const FOUND: [u64; 4] = [1032, 1535, 1991, 2238];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn hostile_sources_neither_panic_nor_take_long() {
    let first = number("QUINTET_DIAGRAMS_SEED", 0);
    let alone = std::env::var_os("QUINTET_DIAGRAMS_SEED").is_some();
    let count = if alone { 1 } else { number("QUINTET_DIAGRAMS_CASES", 300) };
    // A long run takes what the service would take; a short one has more cases that run out of work.
    let long = alone || std::env::var_os("QUINTET_DIAGRAMS_CASES").is_some();
    let budget = if long { BUDGET_STEPS } else { BUDGET_STEPS / 40 };
    let mut outcomes = std::collections::BTreeMap::new();
    let mut bad = Vec::new();
    let (mut longest, mut slowest) = (Duration::ZERO, first);
    let found = FOUND.into_iter().filter(|seed| !alone && *seed >= first + count);
    for seed in (first..first + count).chain(found) {
        let source = source(seed);
        if alone {
            eprintln!("{}", String::from_utf8_lossy(&source));
        }
        let started = cpu_time();
        match catch_unwind(AssertUnwindSafe(|| run(&source, budget))) {
            Ok(outcome) => *outcomes.entry(outcome).or_insert(0) += 1,
            Err(_) => bad.push(seed),
        }
        let took = cpu_time().saturating_sub(started);
        if took > longest {
            (longest, slowest) = (took, seed);
        }
    }
    eprintln!("{outcomes:?}; the slowest took {} ms of CPU (seed {slowest})", longest.as_millis());
    assert!(bad.is_empty(), "run again with QUINTET_DIAGRAMS_SEED = one of {bad:?}");
    // A coarse check: what counts is that no budget is passed.
    assert!(longest.as_secs() < 20, "QUINTET_DIAGRAMS_SEED={slowest} took {} ms of CPU", longest.as_millis());
}
