//! The order of painting.

use crate::graph::Graph;

/// A node or an edge.
#[derive(Clone, Copy)]
pub(super) enum Object {
    Node(usize),
    Edge(usize),
}

/// The order of painting: each node, then its edges, each after its other end; or as `outputorder` says.
pub(super) fn order(graph: &Graph, wish: Option<&str>) -> Vec<Object> {
    let nodes = (0..graph.nodes.len()).map(Object::Node);
    let edges = (0..graph.edges.len()).map(Object::Edge);
    match wish {
        Some("nodesfirst") => return nodes.chain(edges).collect(),
        Some("edgesfirst") => return edges.chain(nodes).collect(),
        _ => {}
    }
    let mut leaving = vec![Vec::new(); graph.nodes.len()];
    for (index, edge) in graph.edges.iter().enumerate() {
        if let Some(list) = leaving.get_mut(edge.tail) {
            list.push(index);
        }
    }
    // Observed: by their other end, not in the order of their creation.
    for edges in &mut leaving {
        edges.sort_by_key(|edge| graph.edges.get(*edge).map(|edge| edge.head));
    }
    let mut done = vec![false; graph.nodes.len()];
    let mut objects = Vec::with_capacity(graph.nodes.len() + graph.edges.len());
    let mut emit = |objects: &mut Vec<Object>, node: usize| {
        if let Some(done) = done.get_mut(node).filter(|done| !**done) {
            *done = true;
            objects.push(Object::Node(node));
        }
    };
    for (node, edges) in leaving.iter().enumerate() {
        emit(&mut objects, node);
        for edge in edges {
            if let Some(edge) = graph.edges.get(*edge) {
                emit(&mut objects, edge.head);
            }
            objects.push(Object::Edge(*edge));
        }
    }
    objects
}
