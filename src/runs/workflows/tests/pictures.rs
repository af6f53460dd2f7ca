//! What is drawn of a graph: every state, every condition, and names that would be something else.

use std::collections::HashSet;

use super::super::graph::graph;
use super::super::model::{Node, NodeReason};
use super::super::picture::dot;
use super::*;

fn in_state(state: NodeState) -> Node {
    let mut node = Node::pending(1);
    node.state = state;
    node
}

/// The line of a node in the picture's source.
fn line_of(dot: &str, place: usize) -> &str {
    let begin = format!("n{place} [");
    dot.lines().find(|line| line.starts_with(&begin)).unwrap()
}

#[test]
fn states_are_told_apart_by_words_and_by_lines_without_any_colour() {
    let nodes: Vec<NewNode> = NodeState::ALL.iter().map(|state| container(state.name(), 0)).collect();
    let graph = graph(&nodes, &[]).unwrap();
    let drawn = dot(&["all"], &graph, &NodeState::ALL.map(in_state));
    let mut looks = Vec::new();
    for (place, state) in NodeState::ALL.into_iter().enumerate() {
        let line = line_of(&drawn, place);
        assert!(line.contains(&format!("label=\"{0}\\n{0}\"", state.name())), "{line}");
        looks.push(line.split_once("style=").unwrap().1);
    }
    // Those that may be mistaken for one another.
    let apart = |states: &[NodeState]| states.iter().map(|state| looks[state.place()]).collect::<HashSet<_>>().len();
    let ended = [NodeState::Succeeded, NodeState::Failed, NodeState::Skipped, NodeState::Cancelled];
    assert_eq!(apart(&ended), ended.len());
    let goes_on = [NodeState::Pending, NodeState::Running, NodeState::Retrying, NodeState::WaitingApproval];
    assert_eq!(apart(&goes_on), goes_on.len());
}

#[test]
fn attempts_codes_reasons_gates_and_conditions_are_told() {
    let nodes = [container("build", 3), gate("agree"), container("clean up", 0), container("ship", 0)];
    let edges = [
        edge("build", "agree", Condition::OnSuccess),
        edge("build", "clean up", Condition::OnFailure),
        edge("agree", "ship", Condition::Always),
    ];
    let graph = graph(&nodes, &edges).unwrap();
    let failed = Node { attempt: 3, exit_code: Some(7), ..in_state(NodeState::Failed) };
    let rejected = Node { attempt: 2, reason: Some(NodeReason::Rejected), ..in_state(NodeState::Failed) };
    let skipped = Node { reason: Some(NodeReason::Upstream), ..in_state(NodeState::Skipped) };
    let drawn = dot(&["name", "state"], &graph, &[failed, rejected, in_state(NodeState::Running), skipped]);
    assert!(drawn.contains("label=\"name\\lstate\\l\";"), "{drawn}");
    assert!(line_of(&drawn, 0).contains("label=\"build\\nfailed\\nattempt 3\\nexit code 7\""), "{drawn}");
    assert!(line_of(&drawn, 1).contains("label=\"agree\\n(gate)\\nfailed\\nopening 2\\nrejected\""), "{drawn}");
    assert!(line_of(&drawn, 1).contains("shape=hexagon") && line_of(&drawn, 0).contains("shape=box"), "{drawn}");
    assert!(line_of(&drawn, 3).contains("skipped\\nupstream"), "{drawn}");
    for told in [
        "n0 -> n1 [label=\"on_success\", style=solid]",
        "n0 -> n2 [label=\"on_failure\", style=dashed]",
        "n1 -> n3 [label=\"always\", style=dotted]",
    ] {
        assert!(drawn.contains(told), "{drawn}");
    }
    // The same of a graph that does not run: no states.
    let plain = dot(&["a template"], &graph, &[]);
    assert!(line_of(&plain, 0).contains("label=\"build\"") && line_of(&plain, 1).contains("label=\"agree\\n(gate)\""));
}

#[test]
fn names_are_characters_of_a_label_and_nothing_else() {
    let hostile =
        ["\"]; evil -> more [label=\"", "back\\slash\\", "&lt;b&#10;", "\u{202e}gnp.exe\u{2066}", "\\N\\G\\l"];
    let nodes: Vec<NewNode> = hostile.iter().map(|name| container(name, 0)).collect();
    let graph = graph(&nodes, &[]).unwrap();
    let drawn = dot(&["\"}\\", "\u{200f}"], &graph, &[]);
    for (place, label) in [
        "\\\"]; evil -> more [label=\\\"",
        "back\\\\slash\\\\",
        "&amp;lt;b&amp;#10;",
        "\u{fffd}gnp.exe\u{fffd}",
        "\\\\N\\\\G\\\\l",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(
            line_of(&drawn, place).starts_with(&format!("n{place} [label=\"{label}\", tooltip=\"{label}\",")),
            "{drawn}"
        );
    }
    assert!(drawn.contains("label=\"\\\"}\\\\\\l\u{fffd}\\l\";"), "{drawn}");
    // A long name is told whole, in lines.
    let long = "x".repeat(128);
    let nodes = [container(&long, 0)];
    let drawn = dot(&[], &super::super::graph::graph(&nodes, &[]).unwrap(), &[]);
    assert_eq!(line_of(&drawn, 0).split_once("tooltip").unwrap().0.matches('x').count(), 128);
}
