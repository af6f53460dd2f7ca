//! The graph in layers: every edge a chain of short ones from rank to rank, with a bend on each rank it passes and a
//! place for its label; parallel edges as one chain; clusters with a place on every rank they span.

use std::collections::BTreeMap;

use super::model::{Edge, End, Input, Sides};
use super::nest::Nest;
use super::rank::Ranking;
use super::table::{NONE, Table};
use crate::work::{Care, Exhausted, Work};

/// Bends at most; edges that would make more run straight, the longest first.
const BENDS_MAX: u64 = 80_000;

/// The space between an edge and its label, in points.
pub const LABEL_GAP: f64 = 2.0;

/// The room that an edge with a label has on its other side, in points.
const LABEL_ROOM: f64 = 3.0;

/// What a cluster costs on each rank it spans: thousands that span thousands of ranks are too much.
const STEPS_PER_CLUSTER_PLACE: u64 = 64;

/// What stands on a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A node of the input.
    #[default]
    Real,
    /// A place where an edge passes.
    Bend,
    /// A place where an edge passes with its label on its right; on its left, which will be above it, where ranks run
    /// sideways.
    Label,
    /// The label of a flat edge, a rank above it.
    FlatLabel,
    /// The place of a cluster on a rank.
    Cluster,
}

/// One place on a rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// What stands there.
    pub kind: Kind,
    /// Which rank.
    pub rank: u32,
    /// The cluster it lies in; for a place of a cluster, the cluster around that.
    pub cluster: u32,
    /// The input's node, the chain, the flat edge or the cluster.
    pub owner: u32,
    /// Room to the left of its centre.
    pub left: f64,
    /// Room to the right of its centre.
    pub right: f64,
    /// Room below and above its centre.
    pub half_height: f64,
}

/// A short edge from one rank to the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    /// On the upper rank.
    pub upper: u32,
    /// On the lower rank.
    pub lower: u32,
    /// Which chain.
    pub chain: u32,
    /// How much its length matters.
    pub weight: i32,
    /// How many edges run here.
    pub count: u32,
    /// Where it meets the upper place, from its centre.
    pub upper_x: f64,
    /// Where it meets the lower place, from its centre.
    pub lower_x: f64,
}

/// The way of parallel edges through the ranks.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// The input's edges.
    pub edges: Vec<u32>,
    /// The places from the upper node to the lower.
    pub places: Vec<u32>,
    /// The place of the label.
    pub label: u32,
}

/// Parallel edges between nodes of one rank.
#[derive(Clone, Debug, Default)]
pub struct Flat {
    /// The input's edges.
    pub edges: Vec<u32>,
    /// Their tail, by the first of them.
    pub tail: u32,
    /// Their head, by the first of them.
    pub head: u32,
    /// The place of the label, one rank above.
    pub label: u32,
    /// Nothing stands between the ends: the label does, and the rank above is free of it.
    pub is_adjacent: bool,
    /// What the edges weigh together.
    pub weight: i32,
}

/// The whole.
#[derive(Debug, Default)]
pub struct Layers {
    /// The input's nodes first, then the rest.
    pub places: Table<Place>,
    /// From rank to rank.
    pub steps: Table<Step>,
    /// Chains.
    pub chains: Table<Chain>,
    /// Edges along ranks.
    pub flats: Table<Flat>,
    /// Loops, for each node.
    pub loops: Table<Vec<u32>>,
    /// Edges over too many ranks: they run straight from node to node.
    pub direct: Vec<u32>,
    /// How many ranks there are.
    pub rank_count: usize,
    /// The first and the last rank of each cluster; the first is greater for one without nodes.
    pub spans: Table<(u32, u32)>,
    /// The places of each cluster, from its first rank to its last.
    pub cluster_places: Table<Vec<u32>>,
    /// From left to right, filled by the ordering: the places directly in each cluster, places of clusters included,
    /// for each rank of its span.
    pub orders: Table<Vec<Vec<u32>>>,
}

/// Where edges between clusters bend on the ranks that the clusters of their ends span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bends {
    /// Beside the clusters.
    Outside,
    /// In the clusters of their ends.
    Inside,
}

/// What makes edges parallel: their nodes, and the ports they meet them at.
type Ends = (u32, u32, Option<(i64, i64)>, Option<(i64, i64)>);

/// A port, to a hundredth of a point.
fn port_key(end: &End) -> Option<(i64, i64)> {
    end.port.map(|port| ((port.point.x * 100.0) as i64, (port.point.y * 100.0) as i64))
}

impl Layers {
    /// Builds the layers from the ranks. With [`Bends::Inside`] edges between clusters leave them through their lower
    /// and enter them through their upper side, else through whichever side there is.
    ///
    /// # Errors
    /// When the work is spent: edges over many ranks make many places.
    pub fn new(
        input: &Input,
        nest: &Nest,
        ranking: &Ranking,
        bends: Bends,
        work: &mut Work,
    ) -> Result<Layers, Exhausted> {
        let mut layers = Layers {
            rank_count: ranking.count,
            loops: Table::filled(Vec::new(), input.nodes.len()),
            ..Layers::default()
        };
        layers.add_nodes(input, nest, ranking);
        layers.span_clusters(input, nest);
        let longest = longest_chain(input, ranking);
        if longest < u32::MAX {
            work.degrade(Care::StraightLines);
        }
        let mut chains: BTreeMap<Ends, u32> = BTreeMap::new();
        let mut flats: BTreeMap<Ends, u32> = BTreeMap::new();
        for (index, edge) in input.edges.iter().enumerate() {
            if edge.tail >= input.nodes.len() || edge.head >= input.nodes.len() {
                continue;
            }
            let (tail_rank, head_rank) = (ranking.ranks[edge.tail], ranking.ranks[edge.head]);
            let span = tail_rank.abs_diff(head_rank);
            if span > longest {
                layers.direct.push(index as u32);
                continue;
            }
            work.spend(4 + u64::from(span))?;
            if edge.tail == edge.head {
                layers.loops[edge.tail].push(index as u32);
            } else if tail_rank == head_rank {
                layers.add_flat(index as u32, edge, nest, &mut flats);
            } else {
                layers.add_chain(index as u32, edge, input, nest, bends, &mut chains);
            }
        }
        layers.widen_for_parallels(input);
        layers.widen_for_loops(input);
        layers.add_cluster_places(nest, work)?;
        Ok(layers)
    }

    fn add_nodes(&mut self, input: &Input, nest: &Nest, ranking: &Ranking) {
        for (index, node) in input.nodes.iter().enumerate() {
            self.places.add(Place {
                kind: Kind::Real,
                rank: ranking.ranks[index].max(0) as u32,
                cluster: nest.of_node[index],
                owner: index as u32,
                left: node.size.width / 2.0,
                right: node.size.width / 2.0,
                half_height: node.size.height / 2.0,
            });
        }
    }

    fn span_clusters(&mut self, input: &Input, nest: &Nest) {
        self.spans = Table::filled((u32::MAX, 0), nest.count());
        for index in 0..input.nodes.len() {
            let rank = self.places[index].rank;
            let mut cluster = nest.of_node[index];
            while cluster != NONE {
                let span = &mut self.spans[cluster];
                *span = (span.0.min(rank), span.1.max(rank));
                cluster = nest.parents[cluster];
            }
        }
        self.spans[0u32] = (0, self.rank_count.saturating_sub(1) as u32);
    }

    fn add_flat(&mut self, index: u32, edge: &Edge, nest: &Nest, flats: &mut BTreeMap<Ends, u32>) {
        let (tail, head) = (edge.tail as u32, edge.head as u32);
        let weight = edge.weight.min(1 << 12) as i32;
        let (tail_port, head_port) = (port_key(&edge.tail_end), port_key(&edge.head_end));
        let key = if tail < head { (tail, head, tail_port, head_port) } else { (head, tail, head_port, tail_port) };
        if edge.label.is_none()
            && let Some(&known) = flats.get(&key)
        {
            self.flats[known].edges.push(index);
            self.flats[known].weight += weight;
            return;
        }
        let number = self.flats.len() as u32;
        let mut label = NONE;
        if let Some(size) = edge.label {
            let rank = self.places[tail].rank.saturating_sub(1);
            let half = size.width / 2.0;
            // In the clusters of both ends, as far as they reach up to the label's rank.
            let mut cluster = nest.common(nest.of_node[tail], nest.of_node[head]);
            while self.spans[cluster].0 > rank {
                cluster = nest.parents[cluster];
            }
            label = self.places.add(Place {
                kind: Kind::FlatLabel,
                rank,
                cluster,
                owner: number,
                left: half,
                right: half,
                half_height: size.height / 2.0,
            }) as u32;
        } else {
            flats.insert(key, number);
        }
        self.flats.add(Flat { edges: vec![index], tail, head, label, weight, is_adjacent: false });
    }

    fn add_chain(
        &mut self,
        index: u32,
        edge: &Edge,
        input: &Input,
        nest: &Nest,
        bends: Bends,
        chains: &mut BTreeMap<Ends, u32>,
    ) {
        let (tail, head) = (edge.tail as u32, edge.head as u32);
        let down = self.places[tail].rank < self.places[head].rank;
        let x = |end: &End| end.port.map_or(0.0, |port| port.point.x);
        let (tail_x, head_x) = (x(&edge.tail_end), x(&edge.head_end));
        let (upper, lower, upper_x, lower_x) =
            if down { (tail, head, tail_x, head_x) } else { (head, tail, head_x, tail_x) };
        let weight = edge.weight.min(1 << 12) as i32;
        let (tail_port, head_port) = (port_key(&edge.tail_end), port_key(&edge.head_end));
        let key = if down { (upper, lower, tail_port, head_port) } else { (upper, lower, head_port, tail_port) };
        if edge.label.is_none()
            && let Some(&known) = chains.get(&key)
        {
            self.chains[known].edges.push(index);
            return;
        }
        let number = self.chains.len() as u32;
        if edge.label.is_none() {
            chains.insert(key, number);
        }
        let (first, last) = (self.places[upper].rank, self.places[lower].rank);
        let cluster = nest.common(nest.of_node[upper], nest.of_node[lower]);
        let label_rank = if edge.label.is_some() && last - first > 1 { first.midpoint(last) } else { NONE };
        let mut chain = Chain { edges: vec![index], places: vec![upper], label: NONE };
        for rank in first + 1..last {
            let home = match bends {
                Bends::Inside => self.home(upper, lower, rank, cluster, nest),
                Bends::Outside => cluster,
            };
            let mut place = Place { kind: Kind::Bend, rank, cluster: home, owner: number, ..Place::default() };
            place.half_height = 0.5;
            if let Some(size) = edge.label
                && rank == label_rank
            {
                place.kind = Kind::Label;
                (place.left, place.right) = (LABEL_ROOM, size.width + LABEL_GAP);
                if input.is_sideways() {
                    std::mem::swap(&mut place.left, &mut place.right);
                }
                place.half_height = size.height / 2.0;
                chain.label = self.places.len() as u32;
            }
            chain.places.push(self.places.add(place) as u32);
        }
        chain.places.push(lower);
        let pairs = chain.places.iter().zip(chain.places.iter().skip(1));
        for (step, (&from, &to)) in pairs.enumerate() {
            let (is_first, is_last) = (step == 0, step as u32 + 1 == last - first);
            self.steps.add(Step {
                upper: from,
                lower: to,
                chain: number,
                weight,
                count: 1,
                upper_x: if is_first { upper_x } else { 0.0 },
                lower_x: if is_last { lower_x } else { 0.0 },
            });
        }
        self.chains.add(chain);
    }

    /// The cluster a bend belongs to: an edge leaves the clusters of its upper end at their lower side, and comes into
    /// those of its lower end at their upper side.
    fn home(&self, upper: u32, lower: u32, rank: u32, common: u32, nest: &Nest) -> u32 {
        let inner = |end: u32, holds: &dyn Fn((u32, u32)) -> bool| {
            let mut cluster = nest.of_node[end];
            while cluster != common && !holds(self.spans[cluster]) {
                cluster = nest.parents[cluster];
            }
            cluster
        };
        let from = inner(upper, &|span| rank <= span.1);
        let to = inner(lower, &|span| rank >= span.0);
        match (from == common, to == common) {
            (false, true) => from,
            (true, false) => to,
            _ => common,
        }
    }

    /// The weight of a chain is that of its edges together, and so is its room.
    fn widen_for_parallels(&mut self, input: &Input) {
        for step in self.steps.iter_mut() {
            let chain = &self.chains[step.chain];
            step.count = chain.edges.len() as u32;
            step.weight = chain
                .edges
                .iter()
                .filter_map(|edge| input.edges.get(*edge as usize))
                .map(|edge| edge.weight.min(1 << 12) as i32)
                .sum::<i32>()
                .min(1 << 14);
        }
        for chain in self.chains.iter() {
            let half = 1.0 + chain.edges.len() as f64 * input.node_separation / 2.0;
            for &place in &chain.places {
                if self.places[place].kind == Kind::Bend {
                    self.places[place].left = half;
                    self.places[place].right = half;
                }
            }
        }
    }

    /// Loops stand beside their node, with their labels beyond.
    fn widen_for_loops(&mut self, input: &Input) {
        for node in 0..input.nodes.len() {
            for &edge in &self.loops[node] {
                let Some(edge) = input.edges.get(edge as usize) else { continue };
                let width = loop_width(edge, input.node_separation);
                match loop_side(edge, input.is_sideways()) {
                    LoopSide::Right => self.places[node].right += width,
                    LoopSide::Left => self.places[node].left += width,
                    LoopSide::Top | LoopSide::Bottom => {}
                }
            }
        }
    }

    fn add_cluster_places(&mut self, nest: &Nest, work: &mut Work) -> Result<(), Exhausted> {
        self.cluster_places = Table::filled(Vec::new(), nest.count());
        for cluster in 1..nest.count() as u32 {
            let (first, last) = self.spans[cluster];
            if !nest.is_used[cluster] {
                continue;
            }
            work.spend(STEPS_PER_CLUSTER_PLACE * u64::from(last - first + 1))?;
            for rank in first..=last {
                let place = self.places.add(Place {
                    kind: Kind::Cluster,
                    rank,
                    cluster: nest.parents[cluster],
                    owner: cluster,
                    ..Place::default()
                });
                self.cluster_places[cluster].push(place as u32);
            }
        }
        self.orders = Table::filled(Vec::new(), nest.count());
        for cluster in (0..nest.count() as u32).filter(|cluster| nest.is_used[*cluster]) {
            let (first, last) = self.spans[cluster];
            self.orders[cluster] = vec![Vec::new(); (last - first + 1) as usize];
        }
        Ok(())
    }

    /// After the ordering: finds the flat edges whose ends are neighbours; their labels leave the rank above.
    pub fn settle_flats(&mut self) {
        let mut list = Vec::new();
        let mut slots: Table<u32> = Table::filled(0, self.places.len());
        for rank in 0..self.rank_count as u32 {
            self.flatten(rank, &mut list);
            list.retain(|place| self.places[*place].kind != Kind::FlatLabel);
            for (slot, place) in list.iter().enumerate() {
                slots[*place] = slot as u32;
            }
        }
        for index in 0..self.flats.len() {
            let flat = &mut self.flats[index];
            flat.is_adjacent = slots[flat.tail].abs_diff(slots[flat.head]) == 1;
            if !flat.is_adjacent || flat.label == NONE {
                continue;
            }
            let label = flat.label;
            let (cluster, rank) = (self.places[label].cluster, self.places[label].rank);
            let first = self.spans[cluster].0;
            if let Some(list) = self.orders[cluster].get_mut(rank.saturating_sub(first) as usize) {
                list.retain(|place| *place != label);
            }
        }
    }

    /// The place that stands for `place` among those directly in `cluster`: itself, or that of the cluster it lies
    /// in; [`NONE`] if it lies outside.
    pub fn lift(&self, place: u32, cluster: u32, nest: &Nest) -> u32 {
        let own = self.places[place].cluster;
        if own == cluster {
            return place;
        }
        let child = nest.child_toward(cluster, own);
        if child == NONE {
            return NONE;
        }
        let rank = self.places[place].rank;
        let first = self.spans[child].0;
        self.cluster_places[child].get(rank.saturating_sub(first) as usize).copied().unwrap_or(NONE)
    }

    /// The places of a rank from left to right, those of clusters in their turn replaced by what they hold. A place of
    /// a cluster that holds nothing on this rank stays.
    pub fn flatten(&self, rank: u32, into: &mut Vec<u32>) {
        into.clear();
        let Some(top) = self.orders.look(0).and_then(|ranks| ranks.get(rank as usize)) else { return };
        let mut stack: Vec<(&[u32], usize)> = vec![(top, 0)];
        while let Some((list, at)) = stack.pop() {
            let Some(&place) = list.get(at) else { continue };
            stack.push((list, at + 1));
            if self.places[place].kind == Kind::Cluster {
                let cluster = self.places[place].owner;
                let first = self.spans[cluster].0;
                let inner = self.orders[cluster].get((rank - first) as usize);
                match inner {
                    Some(inner) if !inner.is_empty() => stack.push((inner, 0)),
                    _ => into.push(place),
                }
            } else {
                into.push(place);
            }
        }
    }
}

/// How many ranks an edge may span so that all bends together stay within bounds.
fn longest_chain(input: &Input, ranking: &Ranking) -> u32 {
    let span = |edge: &Edge| match (ranking.ranks.look(edge.tail), ranking.ranks.look(edge.head)) {
        (Some(tail), Some(head)) => tail.abs_diff(*head),
        _ => 0,
    };
    let total: u64 = input.edges.iter().map(|edge| u64::from(span(edge))).sum();
    if total <= BENDS_MAX {
        return u32::MAX;
    }
    let mut spans: Vec<u32> = input.edges.iter().map(span).collect();
    spans.sort_unstable();
    let mut sum = 0;
    let mut longest = 1;
    for span in spans {
        sum += u64::from(span);
        if sum > BENDS_MAX {
            break;
        }
        longest = longest.max(span);
    }
    longest
}

/// The side of its node that a loop stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopSide {
    /// Where loops stand that say nothing.
    Right,
    /// To the left.
    Left,
    /// Above.
    Top,
    /// Below.
    Bottom,
}

/// The side of a loop, by its ports; without any it stands on the right, or above where ranks run sideways.
pub fn loop_side(edge: &Edge, is_sideways: bool) -> LoopSide {
    let either = if is_sideways { LoopSide::Left } else { LoopSide::Right };
    let sides = |end: &End| end.port.filter(|port| port.is_side).map_or(Sides::default(), |p| p.sides);
    let (a, b) = (sides(&edge.tail_end), sides(&edge.head_end));
    if a.bottom && b.bottom {
        LoopSide::Bottom
    } else if a.top && b.top || a.left && b.right || a.right && b.left {
        LoopSide::Top
    } else if a.left || b.left {
        LoopSide::Left
    } else if a.right || b.right {
        LoopSide::Right
    } else if a.top && b.bottom || a.bottom && b.top || !a.top && !b.top && !a.bottom && !b.bottom {
        either
    } else if a.top || b.top {
        LoopSide::Top
    } else {
        LoopSide::Bottom
    }
}

/// The room a loop takes beside its node.
pub fn loop_width(edge: &Edge, node_separation: f64) -> f64 {
    node_separation + edge.label.map_or(0.0, |size| size.width)
}
