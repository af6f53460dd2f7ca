//! How long a drawing takes, over the corpus of real graphs: ours, a `dot` process, and the crate layout-rs as a
//! baseline.
//!
//! `cargo bench --bench diagrams`: needs what `packaging/diagrams-oracle.sh` installs. The baseline hangs on some
//! graphs and aborts on others, so that each of its drawings is a process of its own with a time limit; the time that
//! counts is the one it takes inside.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench fails loudly and prints its result"
)]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use quintet_drawing::render::{Format, Options, render};

/// How long any one drawing may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The argument that makes this program draw one file with the baseline.
const BASELINE: &str = "--draw-with-baseline";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == BASELINE) {
        baseline(Path::new(&arguments[place + 1]));
        return;
    }
    let Some(files) = corpus() else {
        eprintln!("there is no corpus: run packaging/diagrams-oracle.sh first");
        return;
    };
    let mut rows = Vec::new();
    for file in &files {
        let source = std::fs::read(file).unwrap();
        let svg = best(3, || render(&source, Format::Svg, &Options::default()).is_ok());
        let png = best(3, || render(&source, Format::Png, &Options::default()).is_ok());
        let dot = best(2, || wait(Command::new("dot").arg("-Tsvg").arg(file)).is_some_and(|(s, _)| s.success()));
        let this = std::env::current_exe().unwrap();
        let other = wait(Command::new(this).arg(BASELINE).arg(file))
            .filter(|(status, _)| status.success())
            .and_then(|(_, output)| output.trim().parse::<f64>().ok());
        rows.push([svg, png, dot, other]);
    }
    println!("{} graphs", files.len());
    println!("{:<24} {:>7} {:>12} {:>12} {:>22}", "", "drawn", "median ms", "p95 ms", "median, dot by it");
    for (column, name) in ["SVG", "PNG", "dot process, SVG", "layout-rs, SVG"].iter().enumerate() {
        let mut times: Vec<f64> = rows.iter().filter_map(|row| row[column]).collect();
        let mut ratios: Vec<f64> = rows.iter().filter_map(|row| Some(row[2]? / row[column]?)).collect();
        times.sort_by(f64::total_cmp);
        ratios.sort_by(f64::total_cmp);
        let at = |values: &[f64], share: f64| {
            values.get((values.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN)
        };
        println!(
            "{name:<24} {:>7} {:>12.3} {:>12.3} {:>21.1}x",
            times.len(),
            at(&times, 0.5),
            at(&times, 0.95),
            at(&ratios, 0.5)
        );
    }
}

/// The DOT files of the corpus.
fn corpus() -> Option<Vec<PathBuf>> {
    let cache = std::env::var_os("BUILD_CACHE")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/quintet")))?;
    let directory = std::fs::read_dir(cache.join("diagrams/corpus")).ok()?;
    let mut files: Vec<PathBuf> = directory
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "gv" || extension == "dot"))
        .collect();
    files.sort();
    Some(files)
}

/// The shortest of a few runs in milliseconds; none if it fails.
fn best(runs: usize, mut work: impl FnMut() -> bool) -> Option<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let started = Instant::now();
        if !work() {
            return None;
        }
        best = best.min(started.elapsed().as_secs_f64() * 1000.0);
    }
    Some(best)
}

/// Runs a command to its end, or to the end of the time limit, and reads what it printed.
fn wait(command: &mut Command) -> Option<(ExitStatus, String)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = output.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some((status, reader.join().unwrap()));
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Draws one file with layout-rs and prints the milliseconds.
fn baseline(file: &Path) {
    let source = std::fs::read(file).unwrap();
    let source = String::from_utf8_lossy(&source).into_owned();
    let time = best(1, || {
        let Ok(graph) = layout::gv::DotParser::new(&source).process() else { return false };
        let mut builder = layout::gv::GraphBuilder::new();
        builder.visit_graph(&graph);
        let mut graph = builder.get();
        let mut svg = layout::backends::svg::SVGWriter::new();
        graph.do_it(false, false, false, &mut svg);
        !svg.finalize().is_empty()
    });
    println!("{}", time.unwrap());
}
