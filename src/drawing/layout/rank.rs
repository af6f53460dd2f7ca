//! Ranks: which layer each node stands on.
//!
//! Cycles are broken by a depth-first search in the order of the input; then network simplex. A cluster is ranked on
//! its own first and stands in its surroundings as one node; edges into it ask for their length but cannot make the
//! whole impossible: what they fall short of costs dearly.

use super::model::{ClusterRank, Input, RankKind};
use super::nest::Nest;
use super::simplex::{Balance, Constraint, Limits, solve};
use super::table::{Lists, NONE, Table, Union};
use crate::work::{Exhausted, Work};

/// No edge spans more ranks for its `minlen`.
const LENGTH_MAX: u32 = 1_000;

/// What an edge at a cluster pays for each rank it is too short, against one for each rank it is long.
const SHORT_COST: i32 = 10;

/// What a rank costs for itself, empty ones included: `minlen` makes many out of little.
const STEPS_PER_RANK: u64 = 300;

/// The ranks found.
#[derive(Debug, Default)]
pub struct Ranking {
    /// The rank of each node, from 0, or from 1 if labels of flat edges need a rank above.
    pub ranks: Table<i32>,
    /// How many ranks there are.
    pub count: usize,
    /// Whether ranks were doubled to make room for labels.
    pub doubled: bool,
}

struct Ranker<'a> {
    input: &'a Input,
    nest: &'a Nest,
    doubled: bool,
    /// The node that stands for each node, and how far below it the node stands.
    leaders: Union,
    offsets: Table<i32>,
    /// Whether a node stands for more than nodes of its own rank.
    is_block: Table<bool>,
    /// The edges that are ranked with each cluster: those between what stands in it side by side.
    edges: Table<Vec<u32>>,
}

/// Finds the ranks.
///
/// # Errors
/// When the work is spent.
pub fn ranks(input: &Input, nest: &Nest, work: &mut Work) -> Result<Ranking, Exhausted> {
    let count = input.nodes.len();
    let doubled = input.edges.iter().any(|edge| edge.label.is_some() && edge.tail != edge.head);
    let mut ranker = Ranker {
        input,
        nest,
        doubled,
        leaders: Union::new(count),
        offsets: Table::filled(0, count),
        is_block: Table::filled(false, count),
        edges: Table::filled(Vec::new(), nest.count()),
    };
    let whole = input.new_rank || input.cluster_rank != ClusterRank::Local;
    for (index, edge) in input.edges.iter().enumerate() {
        if edge.constraint && edge.tail < count && edge.head < count {
            let cluster = if whole { 0 } else { nest.common(nest.of_node[edge.tail], nest.of_node[edge.head]) };
            ranker.edges[cluster].push(index as u32);
        }
    }
    if whole {
        ranker.same_sets(None);
        ranker.rank(0, true, work)?;
    } else {
        // Inner clusters have greater numbers than those around them.
        for cluster in (0..nest.count() as u32).rev().filter(|cluster| nest.is_used[*cluster]) {
            ranker.same_sets(Some(cluster));
            ranker.rank(cluster, false, work)?;
        }
    }
    let mut ranks: Table<i32> = Table::filled(0, count);
    for node in 0..count as u32 {
        ranks[node] = ranker.offsets[node];
    }
    let least = ranks.iter().copied().min().unwrap_or(0);
    for rank in ranks.iter_mut() {
        *rank -= least;
    }
    // A flat edge's label stands one rank above it.
    let needs_top = input
        .edges
        .iter()
        .any(|edge| edge.label.is_some() && edge.tail != edge.head && ranks[edge.tail] == 0 && ranks[edge.head] == 0);
    if needs_top {
        for rank in ranks.iter_mut() {
            *rank += 1;
        }
    }
    let count = ranks.iter().copied().max().unwrap_or(0).max(0) as usize + 1;
    work.spend(STEPS_PER_RANK * count as u64)?;
    Ok(Ranking { ranks, count, doubled })
}

impl Ranker<'_> {
    /// Joins the nodes of each rank set that counts in `cluster` (all sets for `None`).
    fn same_sets(&mut self, cluster: Option<u32>) {
        for set in &self.input.rank_sets {
            if !self.set_counts(set.cluster, cluster) {
                continue;
            }
            let mut first = NONE;
            for &node in set.nodes.iter().filter(|node| **node < self.input.nodes.len()) {
                let within = cluster.is_none_or(|cluster| self.nest.of_node[node] == cluster);
                if !within {
                    continue;
                }
                if first == NONE {
                    first = self.leaders.find(node as u32);
                } else {
                    first = self.leaders.join(first, node as u32);
                }
            }
        }
    }

    fn set_counts(&self, of_set: Option<usize>, cluster: Option<u32>) -> bool {
        let own = match of_set {
            Some(own) if own + 1 < self.nest.count() => own as u32 + 1,
            _ => 0,
        };
        cluster.is_none_or(|cluster| own == cluster)
    }

    fn rank(&mut self, cluster: u32, whole: bool, work: &mut Work) -> Result<(), Exhausted> {
        let count = self.input.nodes.len();
        // Numbers for those that stand for others, in the order of the input.
        let members: Vec<u32> = if whole || cluster == 0 {
            (0..count as u32).collect()
        } else {
            let mut members = Vec::new();
            let mut inner = vec![cluster];
            while let Some(next) = inner.pop() {
                members.extend(self.nest.nodes[next].iter().copied());
                inner.extend(self.nest.children[next].iter().copied());
            }
            members.sort_unstable();
            members
        };
        let edges = std::mem::take(&mut self.edges[cluster]);
        work.spend((members.len() + edges.len()) as u64)?;
        let (first, last) = self.extremes(cluster, whole);
        let mut numbers: Table<u32> = Table::filled(NONE, count);
        let mut leaders: Vec<u32> = Vec::new();
        for &node in &members {
            let leader = self.leaders.find(node);
            if numbers[leader] == NONE {
                numbers[leader] = leaders.len() as u32;
                leaders.push(leader);
            }
        }
        let number = |leader: u32| if leader == NONE { NONE } else { numbers[leader] };
        let (first, last) = (number(first), number(last));
        let mut constraints: Vec<Constraint> = Vec::new();
        let mut arcs: Vec<Arc> = Vec::new();
        let mut nodes = leaders.len();
        for edge in edges.iter().filter_map(|index| self.input.edges.get(*index as usize)) {
            let (tail, head) = (self.leaders.find(edge.tail as u32), self.leaders.find(edge.head as u32));
            if tail == head {
                continue;
            }
            let length = edge.min_length.min(LENGTH_MAX) as i32 * if self.doubled { 2 } else { 1 };
            let weight = edge.weight.min(1 << 16) as i32;
            let is_soft = self.is_block[tail] || self.is_block[head];
            let (mut from, mut to) = (numbers[tail], numbers[head]);
            // What comes into the first rank or goes out of the last is turned around.
            if !is_soft && (to == first && first != NONE || from == last && last != NONE) {
                (from, to) = (to, from);
            }
            arcs.push(Arc { from, to, length, weight, tail: edge.tail as u32, head: edge.head as u32, is_soft });
        }
        // Hard edges break their own cycles; in what cycles are left some edge at a cluster has to yield.
        let turned = back_arcs(leaders.len(), &arcs, |arc| !arc.is_soft);
        let yielding = back_arcs(leaders.len(), &arcs, |_| true);
        for (index, arc) in arcs.iter().enumerate() {
            let Arc { from, to, length, weight, .. } = *arc;
            if arc.is_soft {
                let dear = if yielding[index] { 1 } else { SHORT_COST };
                self.soft_edge(arc, dear, nodes as u32, &mut constraints);
                nodes += 1;
            } else if turned[index] {
                constraints.push(Constraint { tail: to, head: from, length, weight });
            } else {
                constraints.push(Constraint { tail: from, head: to, length, weight });
            }
        }
        self.bind_extremes(cluster, whole, first, last, leaders.len(), &mut constraints);
        let limits = Limits {
            search_size: self.input.search_size.max(1),
            exchanges: self.input.nslimit1.map_or(u64::MAX, |limit| (limit.max(0.0) * nodes as f64) as u64),
            mark: work.share(30),
        };
        let (values, _) = solve(nodes, &constraints, None, Balance::Ranks, limits, work)?;
        self.settle(cluster, &members, &leaders, &numbers, &values);
        Ok(())
    }

    /// An edge at a cluster: a node of its own above both ends, whose edges pay for length and, `dear` times, for want
    /// of it.
    fn soft_edge(&self, arc: &Arc, dear: i32, middle: u32, constraints: &mut Vec<Constraint>) {
        // middle <= head's rank, and middle <= tail's rank + length.
        let to_head = Constraint { tail: middle, head: arc.to, length: -self.offsets[arc.head], weight: arc.weight };
        let to_tail = Constraint {
            tail: middle,
            head: arc.from,
            length: -(self.offsets[arc.tail] + arc.length),
            weight: arc.weight.saturating_mul(dear),
        };
        constraints.push(to_head);
        constraints.push(to_tail);
    }

    /// The nodes that stand for the first and the last rank of `cluster`, where `rank` names any.
    fn extremes(&mut self, cluster: u32, whole: bool) -> (u32, u32) {
        let (mut first, mut last) = (NONE, NONE);
        for set in &self.input.rank_sets {
            if !self.set_counts(set.cluster, (!whole).then_some(cluster)) || set.kind == RankKind::Same {
                continue;
            }
            let node = set
                .nodes
                .iter()
                .copied()
                .find(|node| *node < self.input.nodes.len() && (whole || self.nest.of_node[*node] == cluster));
            let Some(node) = node else { continue };
            let own = self.leaders.find(node as u32);
            let place = if matches!(set.kind, RankKind::Min | RankKind::Source) { &mut first } else { &mut last };
            if *place == NONE {
                *place = own;
            } else {
                *place = self.leaders.join(*place, own);
            }
        }
        let find = |leaders: &mut Union, node: u32| if node == NONE { NONE } else { leaders.find(node) };
        (find(&mut self.leaders, first), find(&mut self.leaders, last))
    }

    fn bind_extremes(
        &self,
        cluster: u32,
        whole: bool,
        first: u32,
        last: u32,
        count: usize,
        constraints: &mut Vec<Constraint>,
    ) {
        let alone = |kinds: RankKind| {
            self.input
                .rank_sets
                .iter()
                .any(|set| set.kind == kinds && self.set_counts(set.cluster, (!whole).then_some(cluster)))
        };
        let step = if self.doubled { 2 } else { 1 };
        for (extreme, is_first, alone) in [(first, true, alone(RankKind::Source)), (last, false, alone(RankKind::Sink))]
        {
            if extreme == NONE {
                continue;
            }
            let length = if alone { step } else { 0 };
            for other in (0..count as u32).filter(|other| *other != extreme) {
                if is_first {
                    let length = if other == last { 0 } else { length };
                    constraints.push(Constraint { tail: extreme, head: other, length, weight: 0 });
                } else if other != first {
                    constraints.push(Constraint { tail: other, head: extreme, length, weight: 0 });
                }
            }
        }
    }

    /// Notes the ranks found; the nodes of a cluster stand together from now on.
    fn settle(&mut self, cluster: u32, members: &[u32], leaders: &[u32], numbers: &Table<u32>, values: &Table<i32>) {
        let least = leaders.iter().map(|leader| values[numbers[*leader]]).min().unwrap_or(0);
        for &node in members {
            let leader = self.leaders.find(node);
            let number = numbers[leader];
            if number != NONE {
                self.offsets[node] += values[number] - least;
            }
        }
        if cluster != 0 {
            let mut members = members.iter();
            if let Some(&first) = members.next() {
                for &node in members {
                    self.leaders.join(first, node);
                }
                let leader = self.leaders.find(first);
                self.is_block[leader] = true;
            }
        }
    }
}

/// An edge between two that stand for others.
#[derive(Clone, Copy, Debug, Default)]
struct Arc {
    from: u32,
    to: u32,
    length: i32,
    weight: i32,
    tail: u32,
    head: u32,
    /// An edge at a cluster: it cannot make the whole impossible.
    is_soft: bool,
}

/// The order in which a search along edges, whichever way they point, comes upon the nodes: what hangs together comes
/// together, the last neighbour found first.
fn discovery(count: usize, arcs: &[Arc], counts: &impl Fn(&Arc) -> bool) -> Vec<u32> {
    let chosen = || arcs.iter().filter(|arc| counts(arc));
    let outs = chosen().map(|arc| (arc.from, arc.to));
    let ins = chosen().map(|arc| (arc.to, arc.from));
    let near = Lists::new(count, outs.chain(ins));
    let mut is_seen: Table<bool> = Table::filled(false, count);
    let mut order = Vec::with_capacity(count);
    let mut stack = Vec::new();
    for root in 0..count as u32 {
        stack.push(root);
        while let Some(node) = stack.pop() {
            if is_seen[node] {
                continue;
            }
            is_seen[node] = true;
            order.push(node);
            stack.extend(near.of(node).iter().copied().filter(|other| !is_seen[*other]));
        }
    }
    order
}

/// Which of the edges that count go back in a depth-first search in the order of the input.
fn back_arcs(count: usize, arcs: &[Arc], counts: impl Fn(&Arc) -> bool) -> Table<bool> {
    let chosen: Vec<(u32, u32)> =
        arcs.iter().enumerate().filter(|(_, arc)| counts(arc)).map(|(index, arc)| (arc.from, index as u32)).collect();
    let out = Lists::new(count, chosen.iter().copied());
    let heads: Table<u32> = arcs.iter().map(|arc| arc.to).collect();
    // 0: not seen, 1: on the stack, 2: done.
    let mut states: Table<u8> = Table::filled(0, count);
    let mut cursors: Table<u32> = Table::filled(0, count);
    let mut back: Table<bool> = Table::filled(false, arcs.len());
    for root in discovery(count, arcs, &counts) {
        if states[root] != 0 {
            continue;
        }
        states[root] = 1;
        let mut stack = vec![root];
        while let Some(&node) = stack.last() {
            let range = out.range(node);
            let place = range.start + cursors[node] as usize;
            if place >= range.end {
                states[node] = 2;
                stack.pop();
                continue;
            }
            cursors[node] += 1;
            let arc = out.at(place);
            let head = heads[arc];
            match states[head] {
                0 => {
                    states[head] = 1;
                    stack.push(head);
                }
                1 => back[arc] = true,
                _ => {}
            }
        }
    }
    back
}
