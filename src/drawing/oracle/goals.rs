//! What the drawings must reach, and what they reach: the table that `make diagrams-oracle` prints.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::corpus::{Case, files, mutations};
use super::drawings::{self, median};
use super::graphviz::Graphviz;
use super::verdicts;
use super::{everything, installed};
use crate::dot::parse;
use crate::graph::Element;
use crate::graph::attributes::{Effect, attribute_named};
use crate::limits::Limits;
use crate::render::{Format, Options, render};

/// Uses of attributes over a corpus: each attribute of each kind of object counts once for each file.
struct Uses {
    all: usize,
    heeded: usize,
    ignored: BTreeMap<&'static str, usize>,
}

fn uses(cases: &[Case]) -> Uses {
    let mut uses = Uses { all: 0, heeded: 0, ignored: BTreeMap::new() };
    for case in cases {
        let Ok(parsed) = parse(&case.source, &Limits::default()) else { continue };
        let graph = &parsed.graph;
        let mut names: BTreeMap<(u8, String), ()> = BTreeMap::new();
        let mut note = |kind: u8, element: Element<'_>| {
            names.extend(element.all().map(|(name, _)| ((kind, name.to_owned()), ())));
        };
        (0..graph.subgraphs.len()).for_each(|index| note(0, graph.subgraph(index)));
        (0..graph.nodes.len()).for_each(|index| note(1, graph.node(index)));
        (0..graph.edges.len()).for_each(|index| note(2, graph.edge(index)));
        for (_, name) in names.keys() {
            let Some(attribute) = attribute_named(name) else { continue };
            uses.all += 1;
            match attribute.effect {
                Effect::Ignored => *uses.ignored.entry(attribute.name).or_default() += 1,
                Effect::Drawn | Effect::Elsewhere => uses.heeded += 1,
            }
        }
    }
    uses
}

/// Times of a `dot` process and of our own drawing, in milliseconds: the shorter of two runs each.
fn times(case: &Case, top: &std::path::Path) -> Option<(f64, f64)> {
    let path = top.join("corpus").join(&case.name);
    let milliseconds = |work: &mut dyn FnMut() -> bool| {
        let mut best = f64::INFINITY;
        for _ in 0..2 {
            let started = Instant::now();
            if !work() {
                return None;
            }
            best = best.min(started.elapsed().as_secs_f64() * 1000.0);
        }
        Some(best)
    };
    let theirs = milliseconds(&mut || {
        let mut child = Command::new("dot")
            .arg("-Tsvg")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("dot runs");
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match child.try_wait().expect("dot ends") {
                Some(status) => return status.success(),
                None if Instant::now() > deadline => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return false;
                }
                None => std::thread::sleep(Duration::from_micros(200)),
            }
        }
    })?;
    let ours = milliseconds(&mut || render(&case.source, Format::Svg, &Options::default()).is_ok())?;
    Some((theirs, ours))
}

/// The time this thread has had a processor, in seconds: what else the machine does is not the drawing's fault.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// One row: what is measured, the goal, the figure, and whether it is reached.
struct Row(&'static str, &'static str, String, bool);

#[test]
fn what_is_aimed_at_and_what_is_reached() {
    if !everything() {
        return;
    }
    let Some(top) = installed() else { return };
    let mut graphviz = Graphviz::new(&top, Duration::from_secs(60));
    let files = files(&top);
    let real = verdicts::compare(&mut graphviz, &files);
    let mutated = verdicts::compare(&mut graphviz, &mutations(&files, 1_500, 1));
    let drawn = drawings::compare(&mut graphviz, &files);
    let accepted = drawn.drawings + drawn.missing.len();
    let (mut pictures, mut slowest, mut ratios) = (0, (0.0, String::new()), Vec::new());
    for case in &files {
        let started = processor_seconds();
        let picture = render(&case.source, Format::Svg, &Options::default());
        let seconds = processor_seconds() - started;
        if picture.is_ok() {
            pictures += usize::from(seconds <= 2.0);
            if seconds > slowest.0 {
                slowest = (seconds, case.name.clone());
            }
            if let Some((theirs, ours)) = times(case, &top) {
                ratios.push(theirs / ours);
            }
        } else if let Err(error) = picture {
            eprintln!("{}: {error}", case.name);
        }
    }
    let uses = uses(&files);
    let heeded = 100.0 * uses.heeded as f64 / uses.all.max(1) as f64;
    let refused = files.len() - real.sources + real.refused;
    let drawable = files.len() - refused;
    let crossings = drawn.crossings_ratio();
    let area = drawn.area_ratio();
    let rows = [
        Row(
            "parse verdict as Graphviz 16.1, real files",
            "99.8 %",
            format!("{:.2} % of {}", real.verdicts_percent(), real.sources),
            real.verdicts_percent() >= 99.8,
        ),
        Row(
            "parse verdict, mutated files",
            "99.5 %",
            format!("{:.2} % of {}", mutated.verdicts_percent(), mutated.sources),
            mutated.verdicts_percent() >= 99.5,
        ),
        Row(
            "same error line, mutated files",
            "97 %",
            format!("{:.2} % of {}", mutated.lines_percent(), mutated.refused),
            mutated.lines_percent() >= 97.0,
        ),
        Row(
            "accepted files drawn, each within 2 s of processor time",
            "all",
            format!("{pictures} of {drawable} (slowest {:.2} s: {})", slowest.0, slowest.1),
            pictures == drawable,
        ),
        Row(
            "attribute uses honoured",
            "99 %",
            format!("{heeded:.2} % of {} (ignored: {:?})", uses.all, uses.ignored),
            heeded >= 99.0,
        ),
        Row(
            "node boxes within 0.5 pt",
            "99 %",
            format!("{:.2} % of {}", drawn.same_nodes_percent(), drawn.nodes),
            drawn.same_nodes_percent() >= 99.0,
        ),
        Row(
            "edge crossings, summed, against dot",
            "at most 1.00x",
            format!("{crossings:.3}x ({} / {})", drawn.crossings.0, drawn.crossings.1),
            crossings <= 1.0,
        ),
        Row(
            "area, median, against dot",
            "0.95x to 1.05x",
            format!("{area:.3}x over {accepted}"),
            (0.95..=1.05).contains(&area),
        ),
        Row(
            "time against a dot process, median, SVG",
            "at least 20x faster",
            format!("{:.1}x over {}", median(&ratios), ratios.len()),
            median(&ratios) >= 20.0,
        ),
    ];
    println!("\n| measure | goal | figure | |\n|---|---|---|---|");
    for Row(measure, goal, figure, reached) in &rows {
        println!("| {measure} | {goal} | {figure} | {} |", if *reached { "reached" } else { "**missed**" });
    }
    println!();
    if cfg!(debug_assertions) {
        println!("Measured without optimization: the time says little.\n");
    }
}
