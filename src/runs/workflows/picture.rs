//! A graph as DOT, with how its nodes stand where it is a workflow's.
//!
//! States are told by a word, by the line around a node and by its fill, so that a picture in black and white tells as much;
//! all fills are light enough for black letters. Names of others stand in labels alone, never in names of DOT, and only as
//! characters that show themselves.

use std::fmt::Write;

use quintet_platform::ids::ulid;
use quintet_storage::{Failure, Read};

use super::model::{Condition, Graph, GraphNode, Node, NodeKind, NodeState};
use super::rows::load_told;
use crate::model::WorkflowKey;

/// Characters in a line of a label.
const LINE_CHARS: usize = 28;
/// With more edges than this, conditions are told by the lines and the legend alone: words would hide the graph.
const WORDED_EDGES_MAX: usize = 120;

/// The DOT of a tenant's workflow, with how it stands.
pub(super) fn of_workflow(read: &impl Read, key: WorkflowKey) -> Result<Option<String>, Failure> {
    let Some(live) = load_told(read, key)? else { return Ok(None) };
    let name = live.workflow.name.as_deref().unwrap_or_default();
    // Short lines: a reader without this font has letters that are wider.
    let heading = [name, &format!("workflow {}", ulid(key.1.0)), live.workflow.state.name()];
    Ok(Some(dot(&heading, &live.graph, &live.nodes)))
}

/// The DOT of a graph under a heading. `nodes` says how they stand; there are none of a graph that does not run.
pub(crate) fn dot(heading: &[&str], graph: &Graph, nodes: &[Node]) -> String {
    let mut dot = String::from(
        "digraph { graph [rankdir=LR, labelloc=t, labeljust=l, fontname=\"Helvetica\", fontsize=14, pad=0.2, ranksep=0.6];\n\
         node [fontname=\"Helvetica\", fontsize=11, style=filled, fillcolor=\"#ffffff\", color=\"#333333\", margin=\"0.14,0.08\"];\n\
         edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\", fontcolor=\"#333333\", arrowsize=0.7];\n",
    );
    let is_worded = graph.edges.len() <= WORDED_EDGES_MAX;
    let mut lines: Vec<String> = heading.iter().flat_map(|line| wrapped(line, 2 * LINE_CHARS)).collect();
    if !is_worded {
        lines.push("lines: solid on_success, dashed on_failure, dotted always".to_owned());
    }
    put(&mut dot, format_args!("label=\"{}\";\n", left(&lines)));
    for (place, known) in graph.nodes.iter().enumerate() {
        put_node(&mut dot, place, known, nodes.get(place));
    }
    for edge in &graph.edges {
        let word = if is_worded { edge.condition.name() } else { "" };
        let style = line_of(edge.condition);
        put(&mut dot, format_args!("n{} -> n{} [label=\"{word}\", style={style}];\n", edge.from, edge.to));
    }
    dot.push_str("}\n");
    dot
}

fn put_node(dot: &mut String, place: usize, known: &GraphNode, node: Option<&Node>) {
    let is_gate = matches!(known.kind, NodeKind::Gate { .. });
    let mut lines = wrapped(&known.reference, LINE_CHARS);
    if is_gate {
        lines.push("(gate)".to_owned());
    }
    lines.extend(node.into_iter().flat_map(|node| words(node, is_gate)));
    let tooltip = shown(&known.reference);
    let shape = if is_gate { "hexagon" } else { "box" };
    let (fill, style, width) = node.map_or(("#ffffff", "solid", 1), |node| look(node.state));
    let label = centred(&lines);
    put(
        dot,
        format_args!(
            "n{place} [label=\"{label}\", tooltip=\"{tooltip}\", shape={shape}, fillcolor=\"{fill}\", \
             style=\"filled,{style}\", penwidth={width}];\n"
        ),
    );
}

/// What is told of how a node stands.
fn words(node: &Node, is_gate: bool) -> Vec<String> {
    let mut words = vec![node.state.name().to_owned()];
    if node.attempt > 1 {
        words.push(format!("{} {}", if is_gate { "opening" } else { "attempt" }, node.attempt));
    }
    let code = node.exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}"));
    words.extend(code.or_else(|| node.reason.map(|reason| reason.name().to_owned())));
    words
}

/// The fill of a state, the line around it, and how thick that is.
const fn look(state: NodeState) -> (&'static str, &'static str, u8) {
    match state {
        NodeState::Pending => ("#ffffff", "solid", 1),
        NodeState::Running => ("#cfe2ff", "solid", 2),
        NodeState::Retrying => ("#ffe0b8", "dashed", 2),
        NodeState::WaitingApproval => ("#fff3b0", "solid", 3),
        NodeState::Succeeded => ("#d3efd3", "solid", 1),
        NodeState::Failed => ("#f6c6c6", "solid", 4),
        NodeState::Skipped => ("#efefef", "dotted", 1),
        NodeState::Cancelled => ("#dcdcdc", "dashed", 1),
    }
}

const fn line_of(condition: Condition) -> &'static str {
    match condition {
        Condition::OnSuccess => "solid",
        Condition::OnFailure => "dashed",
        Condition::Always => "dotted",
    }
}

/// A text in lines of so many characters at most, each ready for a label.
fn wrapped(text: &str, chars: usize) -> Vec<String> {
    let chars_of_it: Vec<char> = text.chars().collect();
    chars_of_it.chunks(chars).map(|line| shown(&line.iter().collect::<String>())).collect()
}

/// A text as a label shows it: nothing in it ends the string, is an escape or an entity, or turns the reading direction.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => shown.push_str("\\\""),
            '\\' => shown.push_str("\\\\"),
            '&' => shown.push_str("&amp;"),
            c if shows_nothing(c) => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    shown
}

/// Whether a character shows nothing by itself and changes how others are shown.
fn shows_nothing(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

fn left(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\\l")).collect()
}

fn centred(lines: &[String]) -> String {
    lines.join("\\n")
}

/// Text is written to memory, which takes it.
fn put(dot: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = dot.write_fmt(text);
}
