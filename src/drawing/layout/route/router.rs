//! What all kinds of edges need to find their way, and to end it.

use super::super::layers::{Kind, LABEL_GAP, Layers};
use super::super::model::{Edge, End, Input, Outline, Route};
use super::super::nest::Nest;
use super::super::place::Positions;
use super::super::table::{NONE, Table};
use super::clip::{self, Shape};
use super::curve::{self, Cubic};
use crate::geometry::{Point, Rect, Size};

/// Neighbours that cross an edge's way, looked past at most.
const NEIGHBOURS_MAX: u32 = 24;

/// How far from the walls of other clusters edges keep, in points.
const WALL_GAP: f64 = 3.0;

/// What all kinds of edges need to find their way.
pub struct Router<'a> {
    pub input: &'a Input,
    pub nest: &'a Nest,
    pub layers: &'a Layers,
    pub positions: &'a Positions,
    /// The places of each rank from left to right.
    pub ranks: Table<Vec<u32>>,
    /// Where each place stands on its rank.
    pub slots: Table<u32>,
    /// Left of everything, right of everything.
    pub left_end: f64,
    pub right_end: f64,
    /// Places where edges that share their way meet or part; empty unless there are any.
    pub is_junction: Table<bool>,
    /// Whether the finished drawing lies on its side.
    pub routes: Vec<Route>,
}

impl Router<'_> {
    pub fn edge(&self, edge: u32) -> Option<&Edge> {
        self.input.edges.get(edge as usize)
    }

    pub fn center(&self, node: u32) -> Point {
        self.positions.at(self.layers, node)
    }

    pub fn size(&self, node: u32) -> Size {
        self.input.nodes.get(node as usize).map_or(Size::default(), |node| node.size)
    }

    pub fn node_box(&self, node: u32) -> Rect {
        Rect::around(self.center(node), self.size(node))
    }

    pub fn labels_of_chains(&mut self) {
        for chain in self.layers.chains.iter().filter(|chain| chain.label != NONE) {
            let at = self.positions.at(self.layers, chain.label);
            let Some(&edge) = chain.edges.first() else { continue };
            let Some(size) = self.edge(edge).and_then(|edge| edge.label) else { continue };
            let side = self.label_side();
            if let Some(route) = self.routes.get_mut(edge as usize) {
                route.label = Some(at + Point::new(side * (size.width / 2.0 + LABEL_GAP), 0.0));
            }
        }
    }

    /// Where labels stand beside their edges: to the right (1) or to the left, which will be above (-1).
    pub fn label_side(&self) -> f64 {
        if self.input.is_sideways() { -1.0 } else { 1.0 }
    }

    /// The middle of a label that stands beside the middle of a straight line, clear of it.
    pub fn beside(&self, line: &Cubic, size: Size) -> Point {
        let [from, .., to] = *line;
        let (along, middle) = (to - from, from.toward(to, 0.5));
        // How far the line goes aside on the label's height, and up on its width.
        let ratio = |a: f64, b: f64| if a == 0.0 { 0.0 } else { (a / b).abs() };
        let aside = size.width / 2.0 + LABEL_GAP + size.height / 2.0 * ratio(along.x, along.y);
        let up = size.height / 2.0 + LABEL_GAP + size.width / 2.0 * ratio(along.y, along.x);
        if aside <= up { middle + Point::new(self.label_side() * aside, 0.0) } else { middle + Point::new(0.0, up) }
    }

    /// Where an edge aims at on a node: its port, or the centre.
    pub fn aim(&self, node: u32, end: &End) -> Point {
        self.center(node) + end.port.map_or(Point::default(), |port| port.point)
    }

    /// Cuts `curves`, which run from tail to head, where they belong and notes them as the route of `edge`.
    pub fn finish(&mut self, index: u32, mut curves: Vec<Cubic>) {
        let Some(edge) = self.edge(index) else { return };
        let (tail, head) = (edge.tail as u32, edge.head as u32);
        self.clip(&mut curves, tail, &edge.tail_end, edge.head, true);
        self.clip(&mut curves, head, &edge.head_end, edge.tail, false);
        let back = self.routes.get(index as usize).and_then(|route| self.input.edges.get(route.stands_for?));
        let (tail_arrow, head_arrow) =
            (back.map_or(&edge.tail_end, |back| &back.head_end).arrow_length, edge.head_end.arrow_length);
        let both = tail_arrow > 0.0 && head_arrow > 0.0;
        let total: f64 = curves.iter().map(curve::length).sum();
        let most = if both { total / 3.0 } else { f64::INFINITY };
        let mut tips = (None, None);
        if head_arrow > 0.0 {
            tips.1 = clip::cut_end(&mut curves, head_arrow.min(most));
        }
        if tail_arrow > 0.0 {
            tips.0 = clip::cut_start(&mut curves, tail_arrow.min(most));
        }
        let Some(route) = self.routes.get_mut(index as usize) else { return };
        (route.tail_arrow, route.head_arrow) = tips;
        route.beziers = vec![curve::chain(&curves)];
    }

    pub fn clip(&self, curves: &mut Vec<Cubic>, node: u32, end: &End, other: usize, is_start: bool) {
        let cut = |curves: &mut Vec<Cubic>, shape: &Shape<'_>| {
            if is_start { clip::clip_start(curves, shape) } else { clip::clip_end(curves, shape) }
        };
        let port_clips = end.port.is_none_or(|port| port.clip);
        if end.clip && port_clips {
            let bounds = self.node_box(node);
            match end.port.and_then(|port| port.field) {
                Some(field) => {
                    let center = self.center(node);
                    cut(curves, &Shape::Box(Rect::new(center + field.low, center + field.high)));
                }
                None => {
                    let outline = self.input.nodes.get(node as usize).map_or(&Outline::Box, |node| &node.outline);
                    cut(curves, &Shape::Node(outline, self.center(node), bounds));
                }
            }
        }
        if self.input.compound
            && let Some(cluster) = end.cluster
        {
            let bounds = self.positions.clusters.look(cluster + 1).copied().unwrap_or(Rect::EMPTY);
            let other_inside = bounds.holds(self.center(other as u32), 0.0);
            if !bounds.is_empty() && bounds.holds(self.center(node), 0.0) && !other_inside {
                cut(curves, &Shape::Box(bounds));
            }
        }
    }

    /// The innermost clusters' edge of the free room beside a place, to its left or right, for an edge that may cross
    /// the clusters around `home`.
    pub fn limit(&self, place: u32, chain: u32, to_right: bool) -> f64 {
        let own = &self.layers.places[place];
        let list = &self.ranks[own.rank];
        let mut slot = self.slots[place] as usize;
        let x = self.positions.x[place];
        let gap = self.input.node_separation / 2.0;
        for _ in 0..NEIGHBOURS_MAX {
            let next = if to_right { slot.checked_add(1) } else { slot.checked_sub(1) };
            let Some(next) = next else { return self.left_end };
            let Some(&other) = list.get(next) else {
                return if to_right { self.right_end } else { self.left_end };
            };
            slot = next;
            let beside = &self.layers.places[other];
            if let Some(wall) = self.wall_between(own.cluster, beside.cluster, to_right, x) {
                return wall;
            }
            if beside.kind == Kind::Cluster {
                let bounds = self.positions.clusters[beside.owner];
                return if to_right { (bounds.low.x - WALL_GAP).max(x) } else { (bounds.high.x + WALL_GAP).min(x) };
            }
            if beside.kind == Kind::Bend && self.crosses(chain, beside.owner, own.rank, to_right) {
                continue;
            }
            let at = self.positions.x[other];
            return if to_right {
                (at - beside.left - gap).max(x)
            } else if beside.kind == Kind::Real || beside.kind == Kind::Label {
                (at + beside.right + gap).min(x)
            } else {
                (at + beside.right).min(x)
            };
        }
        x
    }

    /// The upper end of what stands on a place's rank.
    pub fn top_of(&self, place: u32) -> f64 {
        let rank = self.layers.places[place].rank;
        self.positions.y[rank] + self.positions.above[rank]
    }

    /// The room between the nearest clusters on both sides of a place that it does not lie in, from the lower end of the
    /// lower of them to the upper end of the higher; upside down if there are none.
    pub fn walls(&self, place: u32) -> Rect {
        let own = &self.layers.places[place];
        let list = &self.ranks[own.rank];
        let x = self.positions.x[place];
        let mut walls =
            Rect::new(Point::new(self.left_end, f64::INFINITY), Point::new(self.right_end, f64::NEG_INFINITY));
        for to_right in [false, true] {
            let mut slot = self.slots[place] as usize;
            for _ in 0..NEIGHBOURS_MAX {
                let next = if to_right { slot.checked_add(1) } else { slot.checked_sub(1) };
                let Some((next, &other)) = next.and_then(|next| Some((next, list.get(next)?))) else { break };
                slot = next;
                let beside = &self.layers.places[other];
                let cluster = match beside.kind {
                    Kind::Cluster => beside.owner,
                    _ if beside.cluster == own.cluster => NONE,
                    _ => self.nest.child_toward(self.nest.common(own.cluster, beside.cluster), beside.cluster),
                };
                let bounds = self.positions.clusters.look(cluster as usize).copied().unwrap_or(Rect::EMPTY);
                if !bounds.is_empty() {
                    match to_right {
                        true => walls.high.x = (bounds.low.x - WALL_GAP).max(x + 2.0),
                        false => walls.low.x = (bounds.high.x + WALL_GAP).min(x - 2.0),
                    }
                    walls.low.y = walls.low.y.min(bounds.low.y);
                    walls.high.y = walls.high.y.max(bounds.high.y);
                    break;
                }
                if beside.kind != Kind::Bend {
                    break;
                }
            }
        }
        walls
    }

    /// The wall of the outermost cluster around a neighbour that is not around us.
    pub fn wall_between(&self, own: u32, other: u32, to_right: bool, x: f64) -> Option<f64> {
        if own == other {
            return None;
        }
        let common = self.nest.common(own, other);
        let child = self.nest.child_toward(common, other);
        if child == NONE {
            return None;
        }
        let bounds = self.positions.clusters[child];
        if bounds.is_empty() {
            return None;
        }
        Some(if to_right { (bounds.low.x - WALL_GAP).max(x) } else { (bounds.high.x + WALL_GAP).min(x) })
    }

    /// Whether two chains that are neighbours on `rank` change sides within the next two ranks.
    pub fn crosses(&self, chain: u32, other: u32, rank: u32, other_is_right: bool) -> bool {
        if chain == other || chain == NONE {
            return chain == other;
        }
        let at = |chain: u32, rank: u32| {
            let places = &self.layers.chains[chain].places;
            let first = places.first().map(|place| self.layers.places[*place].rank)?;
            let place = *places.get(rank.checked_sub(first)? as usize)?;
            (self.layers.places[place].rank == rank).then(|| self.positions.x[place])
        };
        for near in [rank.wrapping_sub(1), rank.wrapping_sub(2), rank + 1, rank + 2] {
            if let (Some(own), Some(theirs)) = (at(chain, near), at(other, near))
                && (theirs > own) != other_is_right
                && theirs != own
            {
                return true;
            }
        }
        false
    }
}
