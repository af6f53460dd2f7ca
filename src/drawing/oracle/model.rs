//! What a source means: nodes, edges, subgraphs and the values of their attributes, against Graphviz's `dot_json`.

use std::time::Duration;

use serde_json::Value;

use super::corpus::files;
use super::graphviz::Graphviz;
use super::{everything, installed};
use crate::dot::parse;
use crate::graph::{Element, Graph};
use crate::limits::Limits;

/// A graph as sorted lines of text, whoever read it.
type Lines = Vec<String>;

fn values<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut pairs: Vec<String> = pairs
        .filter(|(name, value)| *name != "bb" && !value.is_empty())
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    pairs.sort();
    pairs.join(",")
}

fn theirs(json: &Value) -> Lines {
    /// Members that are no attributes.
    const STRUCTURE: &[&str] = &[
        "name",
        "_gvid",
        "nodes",
        "edges",
        "subgraphs",
        "tail",
        "head",
        "directed",
        "strict",
        "objects",
        "bb",
        "_subgraph_cnt",
        "_background",
    ];
    let attributes = |object: &Value| {
        let members = object.as_object().unwrap().iter().filter(|(name, _)| !STRUCTURE.contains(&name.as_str()));
        let members: Vec<(&str, &str)> = members.filter_map(|(name, v)| Some((name.as_str(), v.as_str()?))).collect();
        values(members.into_iter())
    };
    let none = Vec::new();
    let objects = json["objects"].as_array().unwrap_or(&none);
    let subgraphs = json["_subgraph_cnt"].as_u64().unwrap() as usize;
    let name_of = |index: &Value| objects[index.as_u64().unwrap() as usize]["name"].to_string();
    let list = |value: &Value| value.as_array().map(|list| list.iter().map(name_of).collect::<Vec<_>>().join(" "));
    let mut lines = vec![format!("graph {} {} {}", json["directed"], json["strict"], attributes(json))];
    for (index, object) in objects.iter().enumerate() {
        let attributes = attributes(object);
        let name = object["name"].as_str().unwrap();
        if index < subgraphs {
            let name = if name.starts_with('%') { "" } else { name };
            let nodes = list(&object["nodes"]).unwrap_or_default();
            let edges = object["edges"].as_array().map_or(0, Vec::len);
            lines.push(format!("subgraph {name:?} [{attributes}] nodes {nodes} edges {edges}"));
        } else {
            lines.push(format!("node {name:?} [{attributes}]"));
        }
    }
    for edge in json["edges"].as_array().unwrap_or(&none) {
        lines.push(format!("edge {} {} [{}]", name_of(&edge["tail"]), name_of(&edge["head"]), attributes(edge)));
    }
    lines.sort();
    lines
}

fn ours(graph: &Graph) -> Lines {
    let attributes = |element: Element<'_>| values(element.all().map(|(name, text)| (name, &*text.text)));
    let name_of = |node: usize| Value::from(&*graph.nodes[node].name.text).to_string();
    let mut lines = vec![format!("graph {} {} {}", graph.directed, graph.strict, attributes(graph.root()))];
    for (index, subgraph) in graph.subgraphs.iter().enumerate().skip(1) {
        let name = subgraph.name.as_ref().map_or("", |name| &name.text);
        let nodes: Vec<String> = subgraph.nodes.iter().map(|node| name_of(*node)).collect();
        let (nodes, edges) = (nodes.join(" "), subgraph.edges.len());
        lines.push(format!("subgraph {name:?} [{}] nodes {nodes} edges {edges}", attributes(graph.subgraph(index))));
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        let element = graph.node(index);
        let default = element.get("label").is_none().then_some(("label", "\\N"));
        let pairs = element.all().map(|(name, text)| (name, &*text.text)).chain(default);
        lines.push(format!("node {:?} [{}]", &*node.name.text, values(pairs)));
    }
    for (index, edge) in graph.edges.iter().enumerate() {
        lines.push(format!("edge {} {} [{}]", name_of(edge.tail), name_of(edge.head), attributes(graph.edge(index))));
    }
    lines.sort();
    lines
}

/// Sources whose meaning both agree on, of those that Graphviz drew, and the names of the others.
fn compare(graphviz: &mut Graphviz, cases: &[super::corpus::Case]) -> (usize, Vec<String>) {
    let limits = Limits { nodes: 100_000, edges: 100_000, source_bytes: 1 << 26, ..Limits::default() };
    let mut compared = 0;
    let mut different = Vec::new();
    for case in cases {
        let Ok(parsed) = parse(&case.source, &limits) else { continue };
        // The engine that changes the graph least: `dot` itself moves nodes between clusters and adds edges to them.
        let source = case.source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&case.source);
        let Some(output) = graphviz.render(source, "osage", "dot_json").output else { continue };
        let Ok(json) = serde_json::from_str(&output) else { continue };
        compared += 1;
        let (theirs, ours) = (theirs(&json), ours(&parsed.graph));
        if theirs != ours {
            different.push(case.name.clone());
            let only = |a: &Lines, b: &Lines| a.iter().find(|line| !b.contains(line)).cloned();
            eprintln!("{}:\n  ours   {:?}\n  theirs {:?}", case.name, only(&ours, &theirs), only(&theirs, &ours));
        }
    }
    (compared, different)
}

#[test]
fn sources_mean_what_they_mean_to_graphviz() {
    let Some(top) = installed() else { return };
    let mut graphviz = Graphviz::new(&top, Duration::from_secs(20));
    let mut cases = files(&top);
    if !everything() {
        cases.retain(|case| case.source.len() < 2_000);
    }
    let (compared, different) = compare(&mut graphviz, &cases);
    eprintln!("meaning: {} of {compared} agree", compared - different.len());
    assert!(different.len() * 100 <= compared, "{different:?}");
}
