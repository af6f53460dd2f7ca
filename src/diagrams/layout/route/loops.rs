//! Edges from a node to itself: on its right, unless ports say another side.

use super::super::layers::loop_width;
use super::super::model::Sides;
use super::Router;
use crate::geometry::Point;
use crate::work::{Exhausted, Work};

impl Router<'_> {
    pub(super) fn route_loops(&mut self, work: &mut Work) -> Result<(), Exhausted> {
        for node in 0..self.input.nodes.len() as u32 {
            let loops = self.layers.loops[node].clone();
            work.spend(loops.len() as u64 * 64 + 1)?;
            let count = loops.len() as f64;
            let mut reach = self.size(node).width / 2.0;
            for (index, edge) in loops.into_iter().enumerate() {
                self.route_loop(node, edge, index, count, &mut reach);
            }
        }
        Ok(())
    }

    fn route_loop(&mut self, node: u32, index: u32, number: usize, count: f64, reach: &mut f64) {
        let Some(edge) = self.edge(index) else { return };
        let (tail_end, head_end, label) = (edge.tail_end, edge.head_end, edge.label);
        let width = loop_width(edge, self.input.node_separation);
        let center = self.center(node);
        let size = self.size(node);
        let sides = |end: &super::super::model::End| end.port.map_or(Sides::default(), |port| port.sides);
        let (a, b) = (sides(&tail_end), sides(&head_end));
        let (from, to) = (self.aim(node, &tail_end), self.aim(node, &head_end));
        let step = self.input.node_separation;
        let share = (number as f64 + 1.0) / count;
        let only_top = (a.top && b.top) || (a.top || b.top) && a != b && !a.bottom && !b.bottom && !(a.right || b.right || a.left || b.left);
        let only_bottom = a.bottom && b.bottom;
        let on_left = (a.left || b.left) && !(a.right || b.right);
        let curves = if only_top && !(a.right || b.right || a.left || b.left) || only_bottom {
            // Above or below.
            let sign = if only_bottom { -1.0 } else { 1.0 };
            let y = center.y + sign * (size.height / 2.0 + step * (number as f64 + 1.0));
            let spread = if from.distance(to) < 1.0 { 9.0 } else { 0.0 };
            let left_first = from.x <= to.x;
            let (one, two) = if left_first { (-spread, spread) } else { (spread, -spread) };
            let middle = Point::new(f64::midpoint(from.x, to.x), y);
            vec![
                [from, Point::new(from.x + one, f64::midpoint(from.y, y)), Point::new(from.x + one * 1.5, y), middle],
                [middle, Point::new(to.x + two * 1.5, y), Point::new(to.x + two, f64::midpoint(to.y, y)), to],
            ]
        } else {
            let sign = if on_left { -1.0 } else { 1.0 };
            let far = center.x + sign * (*reach + step);
            let rise = (size.height / 3.0 * share).max(2.0);
            let (high, low) = if from.distance(to) < 1.0 {
                (center.y + rise, center.y - rise)
            } else if from.y >= to.y {
                (from.y.max(center.y + rise), to.y.min(center.y - rise))
            } else {
                (from.y.min(center.y - rise), to.y.max(center.y + rise))
            };
            let third = |x: f64| x + (far - x) / 3.0;
            let middle = Point::new(far, f64::midpoint(high, low));
            vec![
                [from, Point::new(third(from.x), high), Point::new(far, high), middle],
                [middle, Point::new(far, low), Point::new(third(to.x), low), to],
            ]
        };
        if let (Some(size), Some(route)) = (label, self.routes.get_mut(index as usize)) {
            let sign = if on_left { -1.0 } else { 1.0 };
            let at = center.x + sign * (*reach + step + size.width / 2.0);
            route.label = Some(Point::new(at, center.y));
        }
        *reach += width;
        self.finish(index, curves);
    }
}
