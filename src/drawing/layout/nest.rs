//! How clusters lie in each other, and which node belongs to which.

use super::model::Input;
use super::table::{NONE, Table};

/// The tree of clusters. Number 0 is the graph itself; cluster `i` of the input has the number `i + 1`.
#[derive(Debug, Default)]
pub struct Nest {
    /// The cluster around each; [`NONE`] around the graph.
    pub parents: Table<u32>,
    /// The clusters directly inside each, those without nodes left out.
    pub children: Table<Vec<u32>>,
    /// How deep each lies.
    pub depths: Table<u32>,
    /// The innermost cluster of each node.
    pub of_node: Table<u32>,
    /// The nodes directly in each.
    pub nodes: Table<Vec<u32>>,
    /// Whether there is a node in it or below it.
    pub is_used: Table<bool>,
}

impl Nest {
    /// Reads the clusters; none of them if they do not count. A node written in two clusters belongs to the first.
    pub fn new(input: &Input, with_clusters: bool) -> Nest {
        let clusters: &[super::model::Cluster] = if with_clusters { &input.clusters } else { &[] };
        let count = clusters.len() + 1;
        let mut nest = Nest {
            parents: Table::filled(NONE, count),
            children: Table::filled(Vec::new(), count),
            depths: Table::filled(0, count),
            of_node: Table::filled(0, input.nodes.len()),
            nodes: Table::filled(Vec::new(), count),
            is_used: Table::filled(false, count),
        };
        for (index, cluster) in clusters.iter().enumerate() {
            let own = index + 1;
            let parent = cluster.parent.map_or(0, |parent| parent + 1);
            let parent = if parent < own { parent as u32 } else { 0 };
            nest.parents[own] = parent;
            nest.depths[own] = nest.depths[parent] + 1;
            for &node in cluster.nodes.iter().filter(|node| **node < input.nodes.len()) {
                let held = nest.of_node[node];
                if held == 0 || nest.is_inside(own as u32, held) {
                    nest.of_node[node] = own as u32;
                }
            }
        }
        for node in 0..input.nodes.len() {
            let mut cluster = nest.of_node[node];
            nest.nodes[cluster].push(node as u32);
            while cluster != NONE && !nest.is_used[cluster] {
                nest.is_used[cluster] = true;
                cluster = nest.parents[cluster];
            }
        }
        nest.is_used[0u32] = true;
        for own in 1..count as u32 {
            if nest.is_used[own] {
                let parent = nest.parents[own];
                nest.children[parent].push(own);
            }
        }
        nest
    }

    /// How many there are, the graph included.
    pub fn count(&self) -> usize {
        self.parents.len()
    }

    /// Whether `inner` is `outer` or lies in it.
    pub fn is_inside(&self, inner: u32, outer: u32) -> bool {
        let mut at = inner;
        while self.depths[at] > self.depths[outer] {
            at = self.parents[at];
        }
        at == outer
    }

    /// The smallest that holds both.
    pub fn common(&self, a: u32, b: u32) -> u32 {
        let (mut a, mut b) = (a, b);
        while a != b {
            if self.depths[a] >= self.depths[b] {
                a = self.parents[a];
            } else {
                b = self.parents[b];
            }
        }
        a
    }

    /// The child of `outer` that `inner` lies in; [`NONE`] if it is `outer` itself or lies outside.
    pub fn child_toward(&self, outer: u32, inner: u32) -> u32 {
        let mut at = inner;
        let mut last = NONE;
        while self.depths[at] > self.depths[outer] {
            last = at;
            at = self.parents[at];
        }
        if at == outer { last } else { NONE }
    }
}
