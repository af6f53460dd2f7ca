//! How edges run: through corridors between nodes, ending at outlines, arrows taken off.

mod chain;
mod clip;
mod corridor;
mod curve;
mod fit;
mod flat;
mod labels;
mod loops;
mod ortho;

use super::layers::{Kind, LABEL_GAP, Layers};
use super::model::{Edge, End, Input, Outline, Route, Splines};
use super::nest::Nest;
use super::place::Positions;
use super::table::{NONE, Table};
use crate::geometry::{Point, Rect, Size};
use crate::work::{Care, Exhausted, Work};
pub use clip::Shape;
use curve::Cubic;

pub use labels::place_labels;

/// Share of the work, in percent of what is left, past which curves become polylines, and those straight.
const CURVES_SHARE: u64 = 60;

/// Neighbours that cross an edge's way, looked past at most.
const NEIGHBOURS_MAX: u32 = 24;

/// What all kinds of edges need to find their way.
struct Router<'a> {
    input: &'a Input,
    nest: &'a Nest,
    layers: &'a Layers,
    positions: &'a Positions,
    /// The places of each rank from left to right.
    ranks: Table<Vec<u32>>,
    /// Where each place stands on its rank.
    slots: Table<u32>,
    /// Left of everything, right of everything.
    left_end: f64,
    right_end: f64,
    /// Places where edges that share their way meet or part; empty unless there are any.
    is_junction: Table<bool>,
    /// Whether the finished drawing lies on its side.
    routes: Vec<Route>,
}

/// Finds the routes of all edges, in the order of the input.
///
/// # Errors
/// When the work is spent.
pub fn route(
    input: &Input,
    nest: &Nest,
    layers: &Layers,
    positions: &Positions,
    work: &mut Work,
) -> Result<Vec<Route>, Exhausted> {
    let mut router = Router {
        input,
        nest,
        layers,
        positions,
        ranks: Table::filled(Vec::new(), layers.rank_count),
        slots: Table::filled(0, layers.places.len()),
        left_end: f64::INFINITY,
        right_end: f64::NEG_INFINITY,
        is_junction: junctions(input, layers),
        routes: vec![Route::default(); input.edges.len()],
    };
    let mut list = Vec::new();
    for rank in 0..layers.rank_count {
        layers.flatten(rank as u32, &mut list);
        for (slot, place) in list.iter().enumerate() {
            router.slots[*place] = slot as u32;
        }
        router.ranks[rank] = list.clone();
    }
    for (index, place) in layers.places.iter().enumerate() {
        if place.kind != Kind::Cluster {
            let x = positions.x[index];
            router.left_end = router.left_end.min(x - place.left - 20.0);
            router.right_end = router.right_end.max(x + place.right + 20.0);
        }
    }
    router.labels_of_chains();
    if input.splines == Splines::None {
        return Ok(router.routes);
    }
    let mark = work.share(CURVES_SHARE);
    if input.splines == Splines::Ortho && ortho::route(&mut router, work)? {
        return Ok(router.routes);
    }
    for chain in 0..layers.chains.len() {
        if work.is_past(mark) {
            work.degrade(Care::Polylines);
        }
        router.route_chain(chain, work)?;
    }
    for &edge in &layers.direct {
        work.spend(64)?;
        let ends = router.edge(edge).map(|edge| (edge.tail as u32, edge.tail_end, edge.head as u32, edge.head_end));
        if let Some((tail, tail_end, head, head_end)) = ends {
            let line = curve::line(router.aim(tail, &tail_end), router.aim(head, &head_end));
            let label = router.edge(edge).and_then(|edge| edge.label).map(|size| router.beside(&line, size));
            if let (Some(_), Some(route)) = (label, router.routes.get_mut(edge as usize)) {
                route.label = label;
            }
            router.finish(edge, vec![line]);
        }
    }
    router.route_flats(work)?;
    router.route_loops(work)?;
    Ok(router.routes)
}

/// Where shared ways meet or part.
fn junctions(input: &Input, layers: &Layers) -> Table<bool> {
    if !input.concentrate {
        return Table::new();
    }
    let mut ups: Table<u32> = Table::filled(0, layers.places.len());
    let mut downs: Table<u32> = Table::filled(0, layers.places.len());
    for step in layers.steps.iter() {
        ups[step.lower] += 1;
        downs[step.upper] += 1;
    }
    ups.iter().zip(downs.iter()).map(|(up, down)| *up > 1 || *down > 1).collect()
}

/// What a curve of an output adds to the bounding box.
pub fn bounds_of(bezier: &[Point]) -> Vec<Point> {
    curve::cubics(bezier)
        .iter()
        .flat_map(|cubic| {
            let bounds = curve::bounds(cubic);
            [bounds.low, bounds.high]
        })
        .collect()
}

/// For tests: the cubics of a curve of an output.
#[cfg(test)]
pub fn cubics_of(bezier: &[Point]) -> Vec<Cubic> {
    curve::cubics(bezier)
}

/// For tests: a point of a cubic, `step` of 20.
#[cfg(test)]
pub fn point_of(cubic: &Cubic, step: u32) -> Point {
    curve::at(cubic, f64::from(step) / 20.0)
}

impl Router<'_> {
    fn edge(&self, edge: u32) -> Option<&Edge> {
        self.input.edges.get(edge as usize)
    }

    fn center(&self, node: u32) -> Point {
        self.positions.at(self.layers, node)
    }

    fn size(&self, node: u32) -> Size {
        self.input.nodes.get(node as usize).map_or(Size::default(), |node| node.size)
    }

    fn node_box(&self, node: u32) -> Rect {
        Rect::around(self.center(node), self.size(node))
    }

    fn labels_of_chains(&mut self) {
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
    fn label_side(&self) -> f64 {
        if self.input.is_sideways() { -1.0 } else { 1.0 }
    }

    /// The middle of a label that stands beside the middle of a straight line, clear of it.
    fn beside(&self, line: &Cubic, size: Size) -> Point {
        let [from, .., to] = *line;
        let (along, middle) = (to - from, from.toward(to, 0.5));
        // How far the line goes aside on the label's height, and up on its width.
        let ratio = |a: f64, b: f64| if a == 0.0 { 0.0 } else { (a / b).abs() };
        let aside = size.width / 2.0 + LABEL_GAP + size.height / 2.0 * ratio(along.x, along.y);
        let up = size.height / 2.0 + LABEL_GAP + size.width / 2.0 * ratio(along.y, along.x);
        if aside <= up { middle + Point::new(self.label_side() * aside, 0.0) } else { middle + Point::new(0.0, up) }
    }

    /// Where an edge aims at on a node: its port, or the centre.
    fn aim(&self, node: u32, end: &End) -> Point {
        self.center(node) + end.port.map_or(Point::default(), |port| port.point)
    }

    /// Cuts `curves`, which run from tail to head, where they belong and notes them as the route of `edge`.
    fn finish(&mut self, index: u32, mut curves: Vec<Cubic>) {
        let Some(edge) = self.edge(index) else { return };
        let (tail, head) = (edge.tail as u32, edge.head as u32);
        self.clip(&mut curves, tail, &edge.tail_end, edge.head, true);
        self.clip(&mut curves, head, &edge.head_end, edge.tail, false);
        let both = edge.tail_end.arrow_length > 0.0 && edge.head_end.arrow_length > 0.0;
        let total: f64 = curves.iter().map(curve::length).sum();
        let most = if both { total / 3.0 } else { f64::INFINITY };
        let mut tips = (None, None);
        if edge.head_end.arrow_length > 0.0 {
            tips.1 = clip::cut_end(&mut curves, edge.head_end.arrow_length.min(most));
        }
        if edge.tail_end.arrow_length > 0.0 {
            tips.0 = clip::cut_start(&mut curves, edge.tail_end.arrow_length.min(most));
        }
        let Some(route) = self.routes.get_mut(index as usize) else { return };
        (route.tail_arrow, route.head_arrow) = tips;
        route.beziers = vec![curve::chain(&curves)];
    }

    fn clip(&self, curves: &mut Vec<Cubic>, node: u32, end: &End, other: usize, is_start: bool) {
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
    fn limit(&self, place: u32, chain: u32, to_right: bool) -> f64 {
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
                return if to_right { bounds.low.x } else { bounds.high.x };
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

    /// The wall of the outermost cluster around a neighbour that is not around us.
    fn wall_between(&self, own: u32, other: u32, to_right: bool, x: f64) -> Option<f64> {
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
        Some(if to_right { bounds.low.x.max(x) } else { bounds.high.x.min(x) })
    }

    /// Whether two chains that are neighbours on `rank` change sides within the next two ranks.
    fn crosses(&self, chain: u32, other: u32, rank: u32, other_is_right: bool) -> bool {
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
