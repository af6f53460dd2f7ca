//! From what is asked for to a graph, or what is wrong with it.

use std::collections::{HashMap, HashSet};

use super::model::{Edge, Graph, GraphNode, NewEdge, NewNode};
use super::rules::{Ways, number, variable};
use crate::refusal::Refusal;

/// The graph of nodes and edges, in their order.
///
/// # Errors
/// [`Refusal::InvalidGraph`], by the first of: a ref twice, a ref that leads nowhere, an edge from a node to itself, two
/// edges with the same ends, a cycle, two inputs of one variable's name.
pub(crate) fn graph(nodes: &[NewNode], edges: &[NewEdge]) -> Result<Graph, Refusal> {
    let mut places: HashMap<&str, u32> = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        if places.insert(&node.reference, number(place)).is_some() {
            return Err(invalid(
                format!("nodes[{place}].ref"),
                format!("there is a node {:?} already", node.reference),
            ));
        }
    }
    let known = |field: String, reference: &str| {
        let problem = || invalid(field, format!("there is no node {reference:?}"));
        places.get(reference).copied().ok_or_else(problem)
    };
    let mut known_nodes = Vec::with_capacity(nodes.len());
    for (place, node) in nodes.iter().enumerate() {
        let input = |(at, reference): (usize, &String)| known(format!("nodes[{place}].inputs_from[{at}]"), reference);
        let inputs_from = node.inputs_from.iter().enumerate().map(input).collect::<Result<_, _>>()?;
        known_nodes.push(GraphNode { reference: node.reference.clone(), kind: node.kind.clone(), inputs_from });
    }
    let (mut known_edges, mut ends) = (Vec::with_capacity(edges.len()), HashSet::new());
    for (at, edge) in edges.iter().enumerate() {
        let from = known(format!("edges[{at}].from"), &edge.from)?;
        let to = known(format!("edges[{at}].to"), &edge.to)?;
        if from == to {
            return Err(invalid(format!("edges[{at}]"), format!("it leads from {:?} to itself", edge.from)));
        }
        if !ends.insert((from, to)) {
            let problem = format!("there is an edge from {:?} to {:?} already", edge.from, edge.to);
            return Err(invalid(format!("edges[{at}]"), problem));
        }
        known_edges.push(Edge { from, to, condition: edge.condition });
    }
    let graph = Graph { nodes: known_nodes, edges: known_edges };
    if let Some(cycle) = Ways::of(&graph).cycle() {
        return Err(invalid("edges".to_owned(), told_cycle(&graph, &cycle)));
    }
    for (place, node) in nodes.iter().enumerate() {
        let mut names = HashSet::new();
        for (at, reference) in node.inputs_from.iter().enumerate() {
            let name = variable(reference);
            if names.contains(&name) {
                let problem = format!("{name} stands for another input already");
                return Err(invalid(format!("nodes[{place}].inputs_from[{at}]"), problem));
            }
            names.insert(name);
        }
    }
    Ok(graph)
}

/// Refs told of a cycle, at most.
const CYCLE_TOLD_MAX: usize = 50;

fn told_cycle(graph: &Graph, cycle: &[usize]) -> String {
    let refs = cycle.iter().chain(cycle.first()).filter_map(|place| graph.nodes.get(*place));
    let refs: Vec<String> = refs.map(|node| format!("{:?}", node.reference)).collect();
    let told = refs.get(..CYCLE_TOLD_MAX).map(|first| format!("{} -> ...", first.join(" -> ")));
    format!("there is a cycle: {}", told.unwrap_or_else(|| refs.join(" -> ")))
}

fn invalid(field: String, problem: String) -> Refusal {
    Refusal::InvalidGraph(field, problem)
}
