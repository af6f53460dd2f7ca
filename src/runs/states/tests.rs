//! The table is the contract's, and the manual's drawing is the table's.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::events::is_event_pattern;

/// The contract's table ("Run states"), row by row, each trigger that has several ends as several.
const CONTRACT: &[(&str, &str)] = &[
    ("(new)", "scheduled"),
    ("scheduled", "queued"),
    ("queued", "pulling"),
    ("pulling", "running"),
    ("running", "paused"),
    ("paused", "running"),
    ("running", "exited"),
    ("running", "failed"),
    ("running", "timeout"),
    ("running", "killed"),
    ("paused", "killed"),
    // "POST stop … event run.stopping exists".
    ("running", "running"),
    // queue_timeout, expired.
    ("scheduled", "failed"),
];

/// What other rules settle beside it: restarts give back slots, a run may end while it is pulled or paused, and a cancelled
/// workflow takes its waiting runs with it.
const SETTLED: &[(&str, &str)] = &[
    ("queued", "scheduled"),
    ("pulling", "scheduled"),
    ("pulling", "failed"),
    ("pulling", "killed"),
    ("paused", "failed"),
    ("scheduled", "killed"),
    ("queued", "killed"),
];

fn ends(way: &Transition) -> (&'static str, &'static str) {
    (way.from.map_or("(new)", RunState::name), way.to.name())
}

#[test]
fn the_table_is_the_contracts_and_what_was_settled_beside_it() {
    let known: Vec<_> = CONTRACT.iter().chain(SETTLED).copied().collect();
    let ours: Vec<_> = TRANSITIONS.iter().map(ends).collect();
    assert_eq!(ours.iter().collect::<BTreeSet<_>>(), known.iter().collect::<BTreeSet<_>>());
    assert_eq!((ours.len(), known.len()), (ours.iter().collect::<BTreeSet<_>>().len(), ours.len()), "each once");
}

#[test]
fn the_names_are_those_of_the_states() {
    assert_eq!(RunState::NAMES, RunState::ALL.map(RunState::name));
}

#[test]
fn nothing_leaves_an_end_and_every_state_is_reached() {
    for state in RunState::ALL {
        let leaves = TRANSITIONS.iter().any(|way| way.from == Some(state));
        assert_eq!(leaves, !state.is_terminal(), "{state:?}");
        assert!(TRANSITIONS.iter().any(|way| way.to == state), "{state:?}");
        assert!(!(state.is_terminal() && state.holds_slot()), "{state:?}");
    }
    for way in TRANSITIONS {
        assert!(!way.by.is_empty() && !way.trigger.is_empty(), "{way:?}");
    }
}

#[test]
fn every_event_of_a_run_is_emitted_by_some_way_and_can_be_asked_for() {
    let emitted: BTreeSet<&str> = TRANSITIONS.iter().map(|way| way.event).collect();
    let catalogue = [
        "run.scheduled",
        "run.queued",
        "run.pulling",
        "run.running",
        "run.paused",
        "run.resumed",
        "run.stopping",
        "run.exited",
        "run.failed",
        "run.timeout",
        "run.killed",
    ];
    assert_eq!(emitted, BTreeSet::from(catalogue));
    assert!(emitted.iter().all(|event| is_event_pattern(event)));
    // An end is told of by its own name; the state's, too, but for the three that are not about a new state.
    for way in TRANSITIONS {
        let own = format!("run.{}", way.to.name());
        assert!(way.event == own || ["run.resumed", "run.stopping"].contains(&way.event), "{way:?}");
    }
}

/// The table as a drawing.
fn drawing() -> String {
    let mut dot = String::from(
        "// Made of the table in src/runs/states.rs by its test; do not edit.\ndigraph run_states {\n  rankdir=LR\n  \
         node [shape=box, style=rounded]\n  new [shape=point, label=\"\"]\n",
    );
    for state in RunState::ALL {
        let shape = if state.is_terminal() { " [peripheries=2]" } else { "" };
        let _ = writeln!(dot, "  {}{shape}", state.name());
    }
    for way in TRANSITIONS {
        let from = way.from.map_or("new", RunState::name);
        let by = way.by.iter().map(|actor| actor.name()).collect::<Vec<_>>().join(", ");
        let _ = writeln!(dot, "  {from} -> {} [label=\"{}\\n{}\\n({by})\"]", way.to.name(), way.event, way.trigger);
    }
    dot.push_str("}\n");
    dot
}

/// `QUINTET_DRAW=1` writes it anew.
#[test]
fn the_manuals_drawing_is_the_tables() {
    let file =
        std::path::Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../assets/manual/run-states.dot");
    if std::env::var_os("QUINTET_DRAW").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, drawing()).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(kept, drawing(), "draw it anew: QUINTET_DRAW=1 cargo test -p quintet-runs drawing");
}
