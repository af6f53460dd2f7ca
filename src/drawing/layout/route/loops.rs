//! Edges from a node to itself: on its right, unless ports say another side.

use super::super::layers::{LoopSide, loop_side, loop_width};
use super::curve::Cubic;
use super::router::Router;
use crate::geometry::Point;
use crate::work::{Exhausted, Work};

impl Router<'_> {
    pub(super) fn route_loops(&mut self, work: &mut Work) -> Result<(), Exhausted> {
        for node in 0..self.input.nodes.len() as u32 {
            let mut sides: Vec<(LoopSide, u32)> = self.layers.loops[node]
                .iter()
                .filter_map(|edge| Some((loop_side(self.edge(*edge)?, self.input.is_sideways()), *edge)))
                .collect();
            work.spend(sides.len() as u64 * 64 + 1)?;
            sides.sort_unstable();
            let mut rest = sides.as_slice();
            while let Some(&(side, _)) = rest.first() {
                let (same, others) = rest.split_at(rest.partition_point(|one| one.0 == side));
                rest = others;
                let mut reach = match side {
                    LoopSide::Left | LoopSide::Right => self.size(node).width / 2.0,
                    LoopSide::Top | LoopSide::Bottom => self.size(node).height / 2.0,
                };
                for (number, &(_, edge)) in same.iter().enumerate() {
                    let share = (number as f64 + 1.0) / same.len() as f64;
                    self.route_loop(node, edge, side, share, &mut reach);
                }
            }
        }
        Ok(())
    }

    /// A loop on a side; `share`: how much of the node it spans; `reach`: how far the loops before it come.
    fn route_loop(&mut self, node: u32, index: u32, side: LoopSide, share: f64, reach: &mut f64) {
        let Some(edge) = self.edge(index) else { return };
        let (tail_end, head_end, label) = (edge.tail_end, edge.head_end, edge.label);
        let step = self.input.node_separation;
        let width = loop_width(edge, step);
        let center = self.center(node);
        let size = self.size(node);
        let (from, to) = (self.aim(node, &tail_end) - center, self.aim(node, &head_end) - center);
        let (turn, across): (fn(Point) -> Point, f64) = match side {
            LoopSide::Right => (|p| p, size.height),
            LoopSide::Left => (|p| Point::new(-p.x, p.y), size.height),
            LoopSide::Top => (|p| Point::new(p.y, p.x), size.width),
            LoopSide::Bottom => (|p| Point::new(-p.y, p.x), size.width),
        };
        let back: fn(Point) -> Point = match side {
            LoopSide::Right | LoopSide::Left => turn,
            LoopSide::Top => |p| Point::new(p.y, p.x),
            LoopSide::Bottom => |p| Point::new(p.y, -p.x),
        };
        let curves = lobe(turn(from), turn(to), *reach, step, across, share);
        let curves: Vec<Cubic> = curves.iter().map(|cubic| cubic.map(|p| back(p) + center)).collect();
        if let (Some(size), Some(route)) = (label, self.routes.get_mut(index as usize)) {
            let beyond = match side {
                LoopSide::Left | LoopSide::Right => size.width,
                LoopSide::Top | LoopSide::Bottom => size.height,
            };
            route.label = Some(back(Point::new(*reach + step + beyond / 2.0, 0.0)) + center);
        }
        *reach += match side {
            LoopSide::Left | LoopSide::Right => width,
            // The next rank is near.
            LoopSide::Top | LoopSide::Bottom => step / 3.0,
        };
        self.finish(index, curves);
    }
}

/// A loop on the right of the origin, `step` farther out than `reach`, of a node that is `across` high. Around corners,
/// to ends on other sides, it goes at a distance.
fn lobe(from: Point, to: Point, reach: f64, step: f64, across: f64, share: f64) -> [Cubic; 2] {
    let far = reach + step;
    let rise = (across / 3.0 * share).max(2.0);
    let (mut high, mut low) = if from.distance(to) < 1.0 {
        (from.y + rise, from.y - rise)
    } else if from.y >= to.y {
        (from.y.max(rise), to.y.min(-rise))
    } else {
        (from.y.min(-rise), to.y.max(rise))
    };
    let around = |end: Point, level: &mut f64| {
        if end.x < reach - 1.0 && level.abs() > across / 2.0 - 1.0 {
            *level += step.min(12.0) * level.signum();
        }
    };
    around(from, &mut high);
    around(to, &mut low);
    let third = |x: f64| x + (far - x) / 3.0;
    let middle = Point::new(far, f64::midpoint(high, low));
    [
        [from, Point::new(third(from.x), high), Point::new(far, high), middle],
        [middle, Point::new(far, low), Point::new(third(to.x), low), to],
    ]
}
