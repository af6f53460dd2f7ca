//! Sources that once computed for longer than any drawing may: what they are made of is legal, and there is much of it.

use std::fmt::Write as _;
use std::time::Duration;

use crate::render::{Format, Options, render};
use crate::work::{DEADLINE, cpu_time};

/// What a thread may compute beyond the deadline: between two looks at the clock, and while a source is read and a
/// finished picture is written, which the length of either bounds. Builds for tests are slow.
const SLACK: Duration = Duration::from_millis(700);

/// Every node tied to every other.
fn dense() -> String {
    let mut source = "digraph {".to_owned();
    for tail in 0..200 {
        for head in tail + 1..200 {
            let _ = write!(source, "n{tail} -> n{head};");
        }
    }
    source + "}"
}

/// Four labels on every edge, and one beside every node.
fn labelled() -> String {
    let mut source = "digraph { node [xlabel=x]".to_owned();
    for edge in 0..1_000 {
        let (tail, head) = (edge * 7_919 % 100, (edge * 104_729 + edge / 9) % 100);
        let _ = write!(source, "n{tail} -> n{head} [label=\"edge {edge}\", xlabel=x, headlabel=h, taillabel=t];");
    }
    source + "}"
}

/// As many ranks as nodes, with edges over a few and over many of them.
fn long() -> String {
    let mut source =
        "digraph { node [height=0.05, width=0.05, label=\"\", fixedsize=true] ranksep=0.02 size=\"150,150\";"
            .to_owned();
    for node in 0..4_000 {
        let _ = write!(source, "n{node} -> n{}; n{node} -> n{}; n{node} -> n{};", node + 1, node + 2, node + 3);
    }
    source + "}"
}

#[test]
fn no_drawing_computes_much_longer_than_it_may() {
    for (name, source, format) in [
        ("dense", dense(), Format::Svg),
        ("labelled", labelled(), Format::Svg),
        ("labelled", labelled(), Format::Png),
        ("long", long(), Format::Png),
    ] {
        let begun = cpu_time();
        let drawn = render(source.as_bytes(), format, &Options::default());
        let computed = cpu_time().saturating_sub(begun);
        let outcome = drawn.map(|drawn| drawn.care);
        eprintln!("{name} as {}: {} ms of CPU, {outcome:?}", format.name(), computed.as_millis());
        assert!(computed < DEADLINE + SLACK, "{name} computed for {} ms: {outcome:?}", computed.as_millis());
    }
}
