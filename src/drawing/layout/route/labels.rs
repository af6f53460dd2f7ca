//! Labels beside: at heads and tails, `xlabel`s of nodes and edges. The layout keeps no room for them: each goes where
//! around its anchor it covers least.

use std::collections::HashMap;

use super::curve;
use crate::geometry::{Point, Rect, Size};
use crate::layout::model::{Edge, Input, Output, Route};
use crate::work::{Care, Exhausted, Work};

/// The side of a cell of the grid in which what stands in the way is looked up.
const CELL: f64 = 72.0;

/// What covering a node or a label costs against covering an edge, for each point of area.
const SOLID_COST: f64 = 20.0;

/// Distance from the end of an edge at `labeldistance` 1.
const END_DISTANCE: f64 = 10.0;

/// Shares of the work, in percent of what is left, past which nothing more is put in the way, and past which labels go
/// where it is simplest.
const OBSTACLES_SHARE: u64 = 50;
const LABELS_SHARE: u64 = 90;

/// What it costs to find a cell.
const STEPS_PER_CELL: u64 = 12;

/// What stands in the way, and how bad it is to cover it.
#[derive(Debug, Default)]
struct Obstacles {
    cells: HashMap<(i32, i32), Vec<(Rect, f64)>>,
    /// Whether a label that covers something solid is shown.
    force: bool,
    /// Past this mark of the work labels go where it is simplest.
    mark: u64,
}

impl Obstacles {
    fn cells_of(bounds: Rect) -> impl Iterator<Item = (i32, i32)> {
        let cell = |at: f64| (at / CELL).floor().clamp(-1e6, 1e6) as i32;
        // Something as large as a page is as good as everywhere; its middle will do.
        let (mut low, mut high) =
            ((cell(bounds.low.x), cell(bounds.low.y)), (cell(bounds.high.x), cell(bounds.high.y)));
        if high.0 - low.0 > 64 || high.1 - low.1 > 64 {
            let middle = (cell(bounds.center().x), cell(bounds.center().y));
            (low, high) = (middle, middle);
        }
        (low.0..=high.0).flat_map(move |x| (low.1..=high.1).map(move |y| (x, y)))
    }

    fn add(&mut self, bounds: Rect, cost: f64, work: &mut Work) -> Result<(), Exhausted> {
        for cell in Obstacles::cells_of(bounds) {
            work.spend(STEPS_PER_CELL)?;
            self.cells.entry(cell).or_default().push((bounds, cost));
        }
        Ok(())
    }

    /// What it costs to put something there.
    fn cost(&self, bounds: Rect, work: &mut Work) -> Result<f64, Exhausted> {
        let mut cost = 0.0;
        for cell in Obstacles::cells_of(bounds) {
            let list = self.cells.get(&cell).map_or(&[][..], Vec::as_slice);
            work.spend(list.len() as u64 * 3 / 2 + STEPS_PER_CELL)?;
            for (other, weight) in list {
                if other.overlaps(bounds, 0.0) {
                    let width = other.high.x.min(bounds.high.x) - other.low.x.max(bounds.low.x);
                    let height = other.high.y.min(bounds.high.y) - other.low.y.max(bounds.low.y);
                    cost += width * height * weight;
                }
            }
        }
        Ok(cost)
    }

    /// The middle of a label of `size` beside `anchor` that costs least; nothing if it covers something solid and
    /// need not be shown.
    fn place(&mut self, anchor: Rect, size: Size, work: &mut Work) -> Result<Option<Point>, Exhausted> {
        let (half_width, half_height) = (size.width / 2.0, size.height / 2.0);
        let (left, right) = (anchor.low.x - half_width, anchor.high.x + half_width);
        let (top, bottom) = (anchor.high.y + half_height, anchor.low.y - half_height);
        let (x, y) = (anchor.center().x, anchor.center().y);
        let candidates =
            [(left, top), (right, top), (left, bottom), (right, bottom), (x, top), (x, bottom), (left, y), (right, y)];
        let mut best: Option<(f64, Point)> = None;
        for (x, y) in candidates {
            if work.is_past(self.mark) {
                work.degrade(Care::FewerPasses);
                return Ok(best.map(|(_, at)| at).or(Some(Point::new(left, top))).filter(|_| self.force));
            }
            let at = Point::new(x, y);
            let cost = self.cost(Rect::around(at, size), work)?;
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, at));
            }
            if cost == 0.0 {
                break;
            }
        }
        let Some((cost, at)) = best else { return Ok(None) };
        if !self.force && cost > 0.0 {
            return Ok(None);
        }
        self.add(Rect::around(at, size), SOLID_COST, work)?;
        Ok(Some(at))
    }
}

/// Places what has no room of its own in the layout; works on the finished drawing.
///
/// # Errors
/// When the work is spent.
pub fn place_labels(input: &Input, output: &mut Output, work: &mut Work) -> Result<(), Exhausted> {
    place_polar(input, output);
    let is_loose = |edge: &Edge| {
        edge.outer_label.is_some()
            || !edge.label_is_placed && (edge.tail_end.label.is_some() || edge.head_end.label.is_some())
    };
    if !input.nodes.iter().any(|node| node.outer_label.is_some()) && !input.edges.iter().any(is_loose) {
        return Ok(());
    }
    let mut obstacles = obstacles(input, output, work)?;
    for (index, node) in input.nodes.iter().enumerate() {
        let (Some(size), Some(&at)) = (node.outer_label, output.nodes.get(index)) else { continue };
        let own = output.sizes.get(index).copied().unwrap_or_default();
        if let Some(slot) = output.node_labels.get_mut(index) {
            *slot = obstacles.place(Rect::around(at, own), size, work)?;
        }
    }
    for (route, edge) in output.edges.iter_mut().zip(&input.edges) {
        let (tail, head) = (tail_of(route), head_of(route));
        let around = |at: Point| Rect::around(at, Size::new(4.0, 4.0));
        if let (Some(size), Some((at, _)), false) = (edge.tail_end.label, tail, edge.label_is_placed) {
            route.tail_label = obstacles.place(around(at), size, work)?;
        }
        if let (Some(size), Some((at, _)), false) = (edge.head_end.label, head, edge.label_is_placed) {
            route.head_label = obstacles.place(around(at), size, work)?;
        }
        if let Some(size) = edge.outer_label {
            let cubics: Vec<_> = route.beziers.iter().flat_map(|bezier| curve::cubics(bezier)).collect();
            work.spend(16 * cubics.len() as u64)?;
            if let Some(at) = curve::middle(&cubics) {
                route.outer_label = obstacles.place(around(at), size, work)?;
            }
        }
    }
    Ok(())
}

/// Nodes, edges, and labels that have their places.
fn obstacles(input: &Input, output: &Output, work: &mut Work) -> Result<Obstacles, Exhausted> {
    let mark = work.share(OBSTACLES_SHARE);
    let mut obstacles = Obstacles { cells: HashMap::new(), force: input.force_labels, mark: work.share(LABELS_SHARE) };
    for (at, size) in output.nodes.iter().zip(&output.sizes) {
        obstacles.add(Rect::around(*at, *size), SOLID_COST, work)?;
    }
    for (route, edge) in output.edges.iter().zip(&input.edges) {
        for cubic in route.beziers.iter().flat_map(|bezier| curve::cubics(bezier)) {
            if work.is_past(mark) {
                work.degrade(Care::FewerPasses);
                return Ok(obstacles);
            }
            let steps = (curve::length(&cubic) / 12.0).clamp(1.0, 64.0) as u32;
            work.spend(16 + u64::from(steps) * 2)?;
            for step in 0..=steps {
                let at = curve::at(&cubic, f64::from(step) / f64::from(steps));
                obstacles.add(Rect::around(at, Size::new(4.0, 4.0)), 1.0, work)?;
            }
        }
        for (at, size) in [
            (route.label, edge.label),
            (route.tail_label, edge.tail_end.label),
            (route.head_label, edge.head_end.label),
        ] {
            if let (Some(at), Some(size)) = (at, size) {
                obstacles.add(Rect::around(at, size), SOLID_COST, work)?;
            }
        }
    }
    Ok(obstacles)
}

/// Labels of heads and tails whose angle and distance were given.
fn place_polar(input: &Input, output: &mut Output) {
    for (route, edge) in output.edges.iter_mut().zip(&input.edges).filter(|(_, edge)| edge.label_is_placed) {
        let polar = |(at, toward): (Point, Point)| {
            let ray = toward - at;
            let angle = ray.y.atan2(ray.x) + edge.label_angle.to_radians();
            at + Point::new(angle.cos(), angle.sin()) * (END_DISTANCE * edge.label_distance)
        };
        if edge.tail_end.label.is_some() {
            route.tail_label = tail_of(route).map(polar);
        }
        if edge.head_end.label.is_some() {
            route.head_label = head_of(route).map(polar);
        }
    }
}

/// The end of the edge at its tail, and a point towards the other end.
fn tail_of(route: &Route) -> Option<(Point, Point)> {
    let first = route.beziers.first()?.first_chunk::<4>()?;
    let [start, ..] = *first;
    Some(match route.tail_arrow {
        Some(tip) => (tip, start),
        None => (start, curve::at(first, 0.1)),
    })
}

/// The end of the edge at its head, and a point towards the other end.
fn head_of(route: &Route) -> Option<(Point, Point)> {
    let last = route.beziers.last()?.last_chunk::<4>()?;
    let [.., end] = *last;
    Some(match route.head_arrow {
        Some(tip) => (tip, end),
        None => (end, curve::at(last, 0.9)),
    })
}
