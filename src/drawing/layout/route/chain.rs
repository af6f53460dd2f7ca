//! Edges from rank to rank.

use super::super::layers::{Chain, Kind, LABEL_GAP};
use super::super::model::{End, Sides, Splines};
use super::super::table::NONE;
use super::corridor::Corridor;
use super::curve::{self, Cubic};
use super::fit;
use super::router::Router;
use crate::geometry::{Point, Size};
use crate::work::{Care, Exhausted, Work};

/// How far from its label an edge may pass, in points.
const LABEL_REACH: f64 = 40.0;

/// Places of each curve that are looked at for where it passes a label.
const LABEL_SAMPLES: u32 = 48;

/// Which way an edge leaves a node on its way down, and what it does before.
struct Leaving {
    /// Where the way down begins.
    from: Point,
    /// Which way it goes there.
    tangent: Option<Point>,
    /// What leads there, if the port lies on a side that the way does not.
    detour: Vec<Cubic>,
}

impl Router<'_> {
    pub(super) fn route_chain(&mut self, number: usize, work: &mut Work) -> Result<(), Exhausted> {
        let layers = self.layers;
        let chain = &layers.chains[number];
        let (Some(&upper), Some(&lower), Some(&first)) =
            (chain.places.first(), chain.places.last(), chain.edges.first())
        else {
            return Ok(());
        };
        let Some(edge) = self.edge(first) else { return Ok(()) };
        let down = edge.tail as u32 == upper;
        let (upper_end, lower_end) = if down { (edge.tail_end, edge.head_end) } else { (edge.head_end, edge.tail_end) };
        let style = match (self.input.splines, work.care()) {
            (_, Care::StraightLines) => Splines::Line,
            (Splines::Spline | Splines::Ortho, Care::Polylines) => Splines::Polyline,
            (Splines::Ortho, _) => Splines::Spline,
            (style, _) => style,
        };
        let toward = self.center(lower);
        let start = self.leave(upper, &upper_end, toward, true);
        let end = self.leave(lower, &lower_end, self.center(upper), false);
        let outward = start.detour.first().or(end.detour.first()).map(|[a, .., d]| (d.x - a.x).signum());
        let curves = match style {
            Splines::Line | Splines::Curved => {
                vec![curve::line(self.aim(upper, &upper_end), self.aim(lower, &lower_end))]
            }
            _ => {
                let mut curves = start.detour;
                let (mut from, mut tangent) = (start.from, start.tangent);
                let mut begin = 0;
                let last = chain.places.len().saturating_sub(1);
                for at in 1..=last {
                    // Edges that share their way all pass through the places where they meet and part.
                    if at < last && !self.is_junction.look(chain_place(chain, at)).copied().unwrap_or_default() {
                        continue;
                    }
                    let is_end = at == last;
                    let place = chain_place(chain, at) as u32;
                    let to = if is_end { end.from } else { self.positions.at(layers, place) };
                    let into = if is_end { end.tangent } else { Some(Point::new(0.0, -1.0)) };
                    let part = chain.places.get(begin..=at).unwrap_or_default();
                    let corridor = self.corridor(part, number as u32, from, to);
                    work.spend(corridor.len() as u64 * 12)?;
                    let path = corridor.shortest_path(from, to);
                    if style == Splines::Polyline {
                        curves.extend(path.iter().zip(path.iter().skip(1)).map(|(a, b)| curve::line(*a, *b)));
                    } else {
                        curves.extend(fit::fit(&path, tangent, into, &corridor, work)?);
                    }
                    (from, tangent, begin) = (to, Some(Point::new(0.0, -1.0)), at);
                }
                curves.extend(curve::reversed(&end.detour));
                curves
            }
        };
        let drawn = if self.input.concentrate { self.stand_for(&chain.edges) } else { &chain.edges };
        let count = drawn.len();
        for (index, &edge) in drawn.iter().enumerate() {
            let aside = match outward {
                // Beside a node, one further out than the other.
                Some(sign) => sign * index as f64 * self.input.node_separation.min(6.0),
                None => (index as f64 - (count as f64 - 1.0) / 2.0) * self.input.node_separation,
            };
            let mut own = match style {
                Splines::Curved => bow(curves.first(), index, count, self.input.node_separation),
                _ => spread(&curves, aside),
            };
            let own_down = self.edge(edge).is_some_and(|edge| edge.tail as u32 == upper);
            if !own_down {
                own = curve::reversed(&own);
            }
            self.finish(edge, own);
        }
        self.label_of_chain(chain, first, style, &curves);
        Ok(())
    }

    /// Puts the label of a chain beside its line.
    fn label_of_chain(&mut self, chain: &Chain, first: u32, style: Splines, curves: &[Cubic]) {
        let Some(size) = self.edge(first).and_then(|edge| edge.label) else { return };
        let is_straight = matches!(style, Splines::Line | Splines::Curved);
        let place = self.routes.get(first as usize).and_then(|route| route.label);
        let label = match place {
            // It has its place on a rank; the line passes somewhere beside, and nothing stands between.
            Some(at) if chain.label != NONE && !is_straight => Some(self.nearer(at, size, curves)),
            Some(at) if !is_straight => Some(at),
            // An edge between neighbouring ranks may have a label, too, if clusters turned it around.
            _ => curve::middle(curves).map(|middle| match curves {
                [line] => self.beside(line, size),
                // Whatever the way it takes, it comes down there.
                _ => self.beside(&curve::line(middle + Point::new(0.0, 1.0), middle - Point::new(0.0, 1.0)), size),
            }),
        };
        if let (Some(_), Some(route)) = (label, self.routes.get_mut(first as usize)) {
            route.label = label;
        }
    }

    /// The middle of a label moved up to its line, on the side where it is.
    fn nearer(&self, at: Point, size: Size, curves: &[Cubic]) -> Point {
        let side = self.label_side();
        let (low, high) = (at.y - size.height / 2.0, at.y + size.height / 2.0);
        let points = curves.iter().flat_map(|curve| {
            (0..=LABEL_SAMPLES).map(|step| curve::at(curve, f64::from(step) / f64::from(LABEL_SAMPLES)))
        });
        let beside = points.filter(|point| (low..=high).contains(&point.y)).map(|point| point.x * side);
        let nearest = beside.fold(f64::NEG_INFINITY, f64::max) + LABEL_GAP + size.width / 2.0;
        Point::new(if nearest.is_finite() { side * nearest.min(at.x * side) } else { at.x }, at.y)
    }

    /// `concentrate`: of several edges side by side the first is drawn alone, with the heads of those that go the other
    /// way at its tail.
    fn stand_for<'e>(&mut self, edges: &'e [u32]) -> &'e [u32] {
        let [first, others @ ..] = edges else { return edges };
        let Some(own) = self.edge(*first) else { return edges };
        let (tail, has_arrow) = (own.tail, own.tail_end.arrow_length > 0.0);
        let mut others = others.iter().filter_map(|other| Some((*other, self.edge(*other)?)));
        let back = others.find(|(_, other)| other.head == tail && other.head_end.arrow_length > 0.0);
        let back = back.map(|(back, _)| back as usize).filter(|_| !has_arrow);
        if let Some(route) = self.routes.get_mut(*first as usize) {
            route.stands_for = back;
        }
        edges.get(..1).unwrap_or_default()
    }

    /// The boxes along `places` of a chain, from its upper end to its lower.
    fn corridor(&self, places: &[u32], number: u32, from: Point, to: Point) -> Corridor {
        let mut corridor = Corridor::default();
        let mut last_bottom = None;
        let count = places.len();
        for (index, &place) in places.iter().enumerate() {
            let item = &self.layers.places[place];
            let y = self.positions.y[item.rank];
            let (above, below) = (self.positions.above[item.rank], self.positions.below[item.rank]);
            let top = if index == 0 { from.y } else { y + above };
            let bottom = if index + 1 == count { to.y } else { y - below };
            // Walls of clusters beside the way that begin or end between the ranks.
            let walls = self.walls(place);
            if let Some(last) = last_bottom {
                let strip = if walls.high.y > top && walls.high.y < last { walls.high.y } else { top };
                corridor.add(self.left_end, self.right_end, last, strip);
                corridor.add(walls.low.x, walls.high.x, strip, top);
            }
            let mut left = self.limit(place, number, false);
            let mut right = self.limit(place, number, true);
            let x = self.positions.x[place];
            match item.kind {
                Kind::Real => {
                    let half = self.size(place).width / 2.0;
                    left = left.min(x - half);
                    right = right.max(x + half);
                }
                Kind::Label => {
                    // Close by its label, not on it.
                    if self.label_side() > 0.0 {
                        (left, right) = (left.max(x - LABEL_REACH).min(x - 4.0), x);
                    } else {
                        (left, right) = (x, right.min(x + LABEL_REACH).max(x + 4.0));
                    }
                }
                _ => {
                    left = left.min(x - 2.0);
                    right = right.max(x + 2.0);
                }
            }
            corridor.add(left, right, top, bottom);
            let after = places.get(index + 1).map_or(bottom, |next| self.top_of(*next));
            let strip = if walls.low.y < bottom && walls.low.y > after { walls.low.y } else { bottom };
            corridor.add(walls.low.x, walls.high.x, bottom, strip);
            last_bottom = Some(strip.min(top));
        }
        corridor.hold(from, to);
        corridor
    }

    /// Out of a field at the left or right of its node, on the side that is nearer to where it goes, and down beside the
    /// node.
    fn leave_field(&self, node: u32, low: Point, high: Point, sides: Sides, toward: Point, is_upper: bool) -> Leaving {
        let (center, size) = (self.center(node), self.size(node));
        let y = f64::midpoint(low.y, high.y);
        let either = sides.left == sides.right;
        let to_right = if either { toward.x >= f64::midpoint(low.x, high.x) } else { sides.right };
        let limit = self.limit(node, NONE, to_right);
        let half = size.width / 2.0;
        let (start, side) = if to_right {
            (high.x, (center.x + half + 12.0).min(limit.max(center.x + half + 2.0)))
        } else {
            (low.x, (center.x - half - 12.0).max(limit.min(center.x - half - 2.0)))
        };
        let sign = if is_upper { -1.0 } else { 1.0 };
        let beside = Point::new(side, center.y + sign * size.height / 2.0);
        let turn = Point::new(side, y + (beside.y - y) * 0.4);
        let detour = vec![[Point::new(start, y), Point::new(side, y), turn, beside]];
        Leaving { from: beside, tangent: Some(Point::new(0.0, -1.0)), detour }
    }

    /// Away from where the way goes, at `at`, and around the node.
    fn leave_behind(&self, node: u32, at: Point, sides: Sides, toward: Point, is_upper: bool) -> Leaving {
        let center = self.center(node);
        let sign = if is_upper { -1.0 } else { 1.0 };
        let half = self.size(node).width / 2.0;
        // The shorter way around; from the middle, toward where it goes.
        let aside = at.x - center.x;
        let to_right = match () {
            () if sides.left || sides.right => sides.right,
            () if aside.abs() > 1.0 => aside > 0.0,
            () => toward.x >= center.x,
        };
        let rank = self.layers.places[node].rank;
        let limit = self.limit(node, NONE, to_right);
        let side = if to_right {
            (center.x + half + 9.0).min(limit.max(center.x + half + 1.0))
        } else {
            (center.x - half - 9.0).max(limit.min(center.x - half - 1.0))
        };
        let reach = self.positions.above[rank].max(self.size(node).height / 2.0);
        let corner = Point::new(side, center.y);
        let height = (reach - (at.y - center.y).abs()).max(0.0) + 18.0;
        let detour = vec![[at, at - Point::new(0.0, sign * height), Point::new(side, at.y - sign * height), corner]];
        Leaving { from: corner, tangent: Some(Point::new(0.0, -1.0)), detour }
    }

    /// How an edge leaves `node` downwards (`is_upper`) or upwards.
    fn leave(&self, node: u32, end: &End, toward: Point, is_upper: bool) -> Leaving {
        let center = self.center(node);
        let at = self.aim(node, end);
        let plain = Leaving { from: at, tangent: None, detour: Vec::new() };
        let Some(port) = end.port else { return plain };
        let Sides { top, bottom, left, right } = port.sides;
        let ahead = if is_upper { bottom } else { top };
        let behind = if is_upper { top } else { bottom };
        let sign = if is_upper { -1.0 } else { 1.0 };
        if let Some(field) = port.field
            && !port.is_side
        {
            // A field that reaches the side where the way goes on is left there, straight ahead; so is one that only
            // the margin around its table keeps from there.
            let half = self.size(node).height / 2.0;
            let edge = if is_upper { field.low.y } else { field.high.y };
            let is_at_border = half - edge.abs() < 2.0;
            if is_at_border || ahead {
                let from = Point::new(at.x, center.y + if is_at_border { sign * half } else { edge });
                return Leaving { from, tangent: Some(Point::new(0.0, -1.0)), ..plain };
            }
            if behind && !left && !right {
                // A field that reaches the other side alone is left there, and the way leads around the node.
                let far = if is_upper { field.high.y } else { field.low.y };
                return self.leave_behind(node, Point::new(at.x, center.y + far), port.sides, toward, is_upper);
            }
            if left || right {
                return self.leave_field(node, center + field.low, center + field.high, port.sides, toward, is_upper);
            }
            // In the midst of others, and straight over them: any other way would be longer.
            return plain;
        }
        if ahead && !left && !right {
            return Leaving { tangent: Some(Point::new(0.0, -1.0)), ..plain };
        }
        if (left || right) && !behind {
            let out = Point::new(if right { 1.0 } else { -1.0 }, if ahead { sign } else { 0.0 }).unit();
            // Directions run along the way down.
            let tangent = if is_upper { out } else { out * -1.0 };
            return Leaving { tangent: Some(tangent), ..plain };
        }
        if behind && !ahead {
            return self.leave_behind(node, at, port.sides, toward, is_upper);
        }
        plain
    }
}

/// The place of a chain at an index.
fn chain_place(chain: &Chain, at: usize) -> usize {
    chain.places.get(at).map_or(usize::MAX, |place| *place as usize)
}

/// The same curves, moved aside between their ends.
pub(super) fn spread(curves: &[Cubic], aside: f64) -> Vec<Cubic> {
    if aside == 0.0 {
        return curves.to_vec();
    }
    let by = Point::new(aside, 0.0);
    let last = curves.len().saturating_sub(1);
    curves
        .iter()
        .enumerate()
        .map(|(index, [a, b, c, d])| {
            let start = if index == 0 { *a } else { *a + by };
            let end = if index == last { *d } else { *d + by };
            [start, *b + by, *c + by, end]
        })
        .collect()
}

/// Arcs from end to end, the more of them the wider.
fn bow(line: Option<&Cubic>, index: usize, count: usize, separation: f64) -> Vec<Cubic> {
    let Some([from, .., to]) = line else { return Vec::new() };
    let along = *to - *from;
    let across = Point::new(-along.y, along.x).unit();
    let by = match count {
        1 => (along.length() / 6.0).min(separation * 2.0),
        _ => (index as f64 - (count as f64 - 1.0) / 2.0) * separation * 1.5,
    };
    vec![[*from, from.toward(*to, 1.0 / 3.0) + across * by, from.toward(*to, 2.0 / 3.0) + across * by, *to]]
}
