//! Edges along a rank: straight between neighbours, over the nodes between others, under their labels.

use super::super::layers::Kind;
use super::super::model::{End, Splines};
use super::super::table::NONE;
use super::corridor::Corridor;
use super::curve::{self, Cubic};
use super::fit;
use super::router::Router;
use crate::geometry::Point;
use crate::work::{Exhausted, Work};

impl Router<'_> {
    pub(super) fn route_flats(&mut self, work: &mut Work) -> Result<(), Exhausted> {
        // Arcs over the same rank rise one above the other, short ones below.
        let mut order: Vec<(u32, u32, u32)> = self
            .layers
            .flats
            .iter()
            .enumerate()
            .map(|(index, flat)| {
                (
                    self.layers.places[flat.tail].rank,
                    self.slots[flat.tail].abs_diff(self.slots[flat.head]),
                    index as u32,
                )
            })
            .collect();
        order.sort_unstable();
        let mut last_rank = NONE;
        let mut height = 0;
        // How high the labels already reach that stand between two neighbours.
        let mut stacked: std::collections::BTreeMap<(u32, u32), f64> = std::collections::BTreeMap::new();
        for (rank, _, index) in order {
            if rank != last_rank {
                last_rank = rank;
                height = 0;
            }
            if self.route_flat(index, height, &mut stacked, work)? {
                height += 1;
            }
        }
        Ok(())
    }

    /// Gives whether the edge runs over others.
    fn route_flat(
        &mut self,
        index: u32,
        height: u32,
        stacked: &mut std::collections::BTreeMap<(u32, u32), f64>,
        work: &mut Work,
    ) -> Result<bool, Exhausted> {
        let layers = self.layers;
        let flat = &layers.flats[index];
        let Some(&first) = flat.edges.first() else { return Ok(false) };
        let Some(edge) = self.edge(first) else { return Ok(false) };
        let (tail_end, head_end) = (edge.tail_end, edge.head_end);
        let (from, to) = (self.aim(flat.tail, &tail_end), self.aim(flat.head, &head_end));
        let rank = layers.places[flat.tail].rank;
        let side =
            |end: &End, top: bool| end.port.is_some_and(|port| if top { port.sides.top } else { port.sides.bottom });
        let below =
            (side(&tail_end, false) || side(&head_end, false)) && !(side(&tail_end, true) || side(&head_end, true));
        let above = side(&tail_end, true) || side(&head_end, true);
        let is_free = self.is_free_between(flat.tail, flat.head);
        let label = edge.label;
        work.spend(64)?;
        let is_straight =
            is_free && !below && !above && self.face_each_other(flat.tail, flat.head, &tail_end, &head_end)
                || matches!(self.input.splines, Splines::Line);
        let over = !is_straight;
        let curves = if over {
            self.over(flat.tail, flat.head, from, to, rank, height, below, work)?
        } else {
            vec![curve::line(from, to)]
        };
        if let Some(size) = label {
            // Over the middle of the line, in the room that was kept for it on the rank above.
            let middle = curve::middle(&curves).unwrap_or(from.toward(to, 0.5));
            let kept = if flat.label == NONE { middle } else { self.positions.at(layers, flat.label) };
            let at = if over && !flat.is_adjacent {
                kept
            } else {
                let pair = (flat.tail.min(flat.head), flat.tail.max(flat.head));
                let reach = stacked.entry(pair).or_insert(3.0);
                let at = Point::new(middle.x, middle.y + size.height / 2.0 + *reach);
                *reach += size.height + 1.0;
                at
            };
            if let Some(route) = self.routes.get_mut(first as usize) {
                route.label = Some(at);
            }
        }
        let count = flat.edges.len();
        let room = self.size(flat.tail).height.min(self.size(flat.head).height);
        let step =
            if over { self.input.node_separation / 2.0 } else { (room / count as f64).min(self.input.node_separation) };
        for (place, &edge) in flat.edges.iter().enumerate() {
            let aside = (place as f64 - (count as f64 - 1.0) / 2.0) * step;
            let by = Point::new(0.0, aside * if below { -1.0 } else { 1.0 });
            let last = curves.len().saturating_sub(1);
            let mut own: Vec<Cubic> = curves
                .iter()
                .enumerate()
                .map(|(at, [a, b, c, d])| {
                    let start = if at == 0 { *a } else { *a + by };
                    let end = if at == last { *d } else { *d + by };
                    [start, *b + by * 1.3, *c + by * 1.3, end]
                })
                .collect();
            if self.edge(edge).is_some_and(|edge| edge.tail as u32 != flat.tail) {
                own = curve::reversed(&own);
            }
            self.finish(edge, own);
        }
        Ok(over)
    }

    /// Whether the sides the ports name let a straight line through.
    fn face_each_other(&self, tail: u32, head: u32, tail_end: &End, head_end: &End) -> bool {
        let tail_is_left = self.slots[tail] < self.slots[head];
        let looks = |end: &End, to_right: bool| {
            end.port.filter(|port| port.is_side).is_none_or(|port| {
                let (toward, away) =
                    if to_right { (port.sides.right, port.sides.left) } else { (port.sides.left, port.sides.right) };
                toward || !away
            })
        };
        looks(tail_end, tail_is_left) && looks(head_end, !tail_is_left)
    }

    /// Whether no node stands between two nodes of a rank.
    fn is_free_between(&self, a: u32, b: u32) -> bool {
        let (low, high) = (self.slots[a].min(self.slots[b]), self.slots[a].max(self.slots[b]));
        self.ranks[self.layers.places[a].rank]
            .get(low as usize + 1..high as usize)
            .unwrap_or_default()
            .iter()
            .all(|place| self.layers.places[*place].kind == Kind::FlatLabel)
    }

    /// An arc over (or under) what stands between two nodes.
    #[expect(clippy::too_many_arguments, reason = "one call, all of it the state of the edge around it")]
    fn over(
        &self,
        tail: u32,
        head: u32,
        from: Point,
        to: Point,
        rank: u32,
        height: u32,
        below: bool,
        work: &mut Work,
    ) -> Result<Vec<Cubic>, Exhausted> {
        let y = self.positions.y[rank];
        let sign = if below { -1.0 } else { 1.0 };
        let reach = if below { self.positions.below[rank] } else { self.positions.above[rank] };
        // Room up to the next rank, shared by the arcs.
        let next = if below {
            self.positions.y.look(rank as usize + 1).map(|other| y - other - self.positions.above[rank + 1])
        } else {
            rank.checked_sub(1).map(|other| self.positions.y[other] - self.positions.below[other] - y)
        };
        let room = next.map_or(36.0, |limit| (limit - reach).max(6.0));
        let rise = reach + (room * (0.5 + 0.12 * f64::from(height.min(4)))).min(18.0 + 6.0 * f64::from(height));
        let (left, right) = if from.x <= to.x { (from, to) } else { (to, from) };
        let (left_node, right_node) = if from.x <= to.x { (tail, head) } else { (head, tail) };
        // Sideways: the corridor runs from left to right, so it is turned to run downwards.
        let turn = |p: Point| Point::new(p.y * sign, -p.x);
        let back = |p: Point| Point::new(-p.y, p.x * sign);
        let high = y * sign + reach + room.max(rise - reach + 2.0);
        let wall_left = self.node_box(left_node).high.x.min(right.x - 2.0).max(left.x + 1.0);
        let wall_right = self.node_box(right_node).low.x.max(wall_left + 1.0);
        let mut corridor = Corridor::default();
        corridor.add(from.y.min(to.y).min(y) * sign - 1.0, high, -left.x, -wall_left);
        let floor = y * sign + (rise).min(reach + room);
        corridor.add(floor, high.max(floor + 2.0), -wall_left, -wall_right);
        corridor.add(from.y.min(to.y).min(y) * sign - 1.0, high, -wall_right, -right.x);
        work.spend(64)?;
        let path = corridor.shortest_path(turn(left), turn(right));
        let curves = fit::fit(&path, None, None, &corridor, work)?;
        let curves: Vec<Cubic> = curves.iter().map(|cubic| cubic.map(back)).collect();
        Ok(if from.x <= to.x { curves } else { curve::reversed(&curves) })
    }
}
