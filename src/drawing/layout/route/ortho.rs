//! Edges of horizontal and vertical pieces: down through the ranks at the places the layout keeps for them, across in
//! the channels between ranks, each piece on a track of its own.

use super::super::layers::Kind;
use super::super::model::End;
use super::super::table::Table;
use super::curve::{self, Cubic};
use super::router::Router;
use crate::geometry::Point;
use crate::work::{Exhausted, Work};

/// How far apart edges leave a node, if it is wide enough.
const LEAVE_GAP: f64 = 8.0;

/// How far apart parallel edges run.
const PARALLEL_GAP: f64 = 6.0;

/// How far a wire goes to the side that leaves a node sideways, or runs above the first rank.
const REACH: f64 = 12.0;

/// Room for an arrow between a node and the nearest track.
const ARROW_ROOM: f64 = 13.0;

/// Pieces in one channel past which tracks are given out in turn.
const PIECES_MAX: usize = 600;

/// One edge: the columns it runs down in, one for each rank from its upper node to its lower.
struct Wire {
    edge: u32,
    upper: u32,
    lower: u32,
    columns: Vec<f64>,
    /// The heights at which it leaves and arrives.
    from_y: f64,
    to_y: f64,
    /// The ends, if the nodes are left sideways.
    start: Option<Point>,
    end: Option<Point>,
    /// Along one rank: over what stands between.
    is_flat: bool,
}

/// A horizontal piece in a channel.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    wire: u32,
    from: f64,
    to: f64,
    track: u32,
}

impl Piece {
    fn low(&self) -> f64 {
        self.from.min(self.to)
    }

    fn high(&self) -> f64 {
        self.from.max(self.to)
    }
}

/// Routes all edges from rank to rank and over ranks; gives whether it did.
pub(super) fn route(router: &mut Router<'_>, work: &mut Work) -> Result<bool, Exhausted> {
    if !router.layers.direct.is_empty() {
        return Ok(false);
    }
    let mut wires = wires_of_chains(router, work)?;
    let straight = add_flats(router, &mut wires);
    spread_ends(router, &mut wires, work)?;
    // Channel 0 lies above the first rank.
    let mut channels: Table<Vec<Piece>> = Table::filled(Vec::new(), router.layers.rank_count + 1);
    for (index, wire) in wires.iter().enumerate() {
        let first = router.layers.places[wire.upper].rank;
        for (step, (&from, &to)) in wire.columns.iter().zip(wire.columns.iter().skip(1)).enumerate() {
            if (from - to).abs() > 0.5 {
                let channel = if wire.is_flat { first } else { first + step as u32 + 1 };
                channels[channel].push(Piece { wire: index as u32, from, to, track: 0 });
            }
        }
    }
    let mut heights: Table<Vec<(u32, f64)>> = Table::filled(Vec::new(), wires.len());
    for channel in 0..channels.len() {
        let tracks = give_tracks(&mut channels[channel], work)?;
        for piece in &channels[channel] {
            heights[piece.wire].push((channel as u32, height(router, channel, piece.track, tracks)));
        }
    }
    for (index, wire) in wires.iter().enumerate() {
        work.spend(wire.columns.len() as u64 * 4)?;
        let points = corners(router, wire, &heights[index]);
        let mut curves: Vec<Cubic> =
            points.iter().zip(points.iter().skip(1)).map(|(a, b)| curve::line(*a, *b)).collect();
        if router.edge(wire.edge).is_some_and(|edge| edge.tail as u32 != wire.upper) {
            curves = curve::reversed(&curves);
        }
        if wire.is_flat
            && let Some(size) = router.edge(wire.edge).and_then(|edge| edge.label)
            && let (Some(middle), Some(route)) = (curve::middle(&curves), router.routes.get_mut(wire.edge as usize))
        {
            route.label = Some(middle + Point::new(0.0, size.height / 2.0 + 2.0));
        }
        router.finish(wire.edge, curves);
    }
    for (edge, line) in straight {
        if let Some(size) = router.edge(edge).and_then(|edge| edge.label)
            && let Some(route) = router.routes.get_mut(edge as usize)
        {
            route.label = Some(curve::at(&line, 0.5) + Point::new(0.0, size.height / 2.0 + 3.0));
        }
        router.finish(edge, vec![line]);
    }
    router.route_loops(work)?;
    Ok(true)
}

fn wires_of_chains(router: &Router<'_>, work: &mut Work) -> Result<Vec<Wire>, Exhausted> {
    let layers = router.layers;
    let mut wires = Vec::new();
    for chain in layers.chains.iter() {
        let (Some(&upper), Some(&lower)) = (chain.places.first(), chain.places.last()) else { continue };
        let count = chain.edges.len();
        for (number, &index) in chain.edges.iter().enumerate() {
            let Some(edge) = router.edge(index) else { continue };
            work.spend(chain.places.len() as u64)?;
            let aside = (number as f64 - (count as f64 - 1.0) / 2.0) * PARALLEL_GAP;
            let mut columns: Vec<f64> = chain
                .places
                .iter()
                .map(|place| {
                    router.positions.x[*place] + if layers.places[*place].kind == Kind::Real { 0.0 } else { aside }
                })
                .collect();
            let (upper_end, lower_end) =
                if edge.tail as u32 == upper { (edge.tail_end, edge.head_end) } else { (edge.head_end, edge.tail_end) };
            // Where both nodes share a column, the wire is one straight line.
            if let [from, to] = columns.as_mut_slice() {
                let (a, b) = (router.node_box(upper), router.node_box(lower));
                let (low, high) = (a.low.x.max(b.low.x), a.high.x.min(b.high.x));
                if low + 4.0 < high {
                    let middle = f64::midpoint(low, high) + aside;
                    (*from, *to) = (middle.clamp(low, high), middle.clamp(low, high));
                } else {
                    (*from, *to) = (*to, *from);
                }
            } else {
                let second = columns.get(1).copied().unwrap_or_default();
                let before_last = columns.iter().rev().nth(1).copied().unwrap_or_default();
                if let Some(first) = columns.first_mut() {
                    *first = second;
                }
                if let Some(last) = columns.last_mut() {
                    *last = before_last;
                }
            }
            let mut wire = Wire {
                edge: index,
                upper,
                lower,
                columns,
                from_y: router.center(upper).y,
                to_y: router.center(lower).y,
                start: None,
                end: None,
                is_flat: false,
            };
            let first = wire.columns.first().copied().unwrap_or_default();
            if let Some((at, column)) = sideways(router, upper, &upper_end, first, true) {
                wire.start = at;
                wire.from_y = router.aim(upper, &upper_end).y;
                if let Some(first) = wire.columns.first_mut() {
                    *first = column;
                }
            }
            let last = wire.columns.last().copied().unwrap_or_default();
            if let Some((at, column)) = sideways(router, lower, &lower_end, last, false) {
                wire.end = at;
                wire.to_y = router.aim(lower, &lower_end).y;
                if let Some(last) = wire.columns.last_mut() {
                    *last = column;
                }
            }
            wires.push(wire);
        }
    }
    Ok(wires)
}

/// For an end with a port: where the wire leaves sideways, if it does, and the column it then takes.
fn sideways(router: &Router<'_>, node: u32, end: &End, toward: f64, is_upper: bool) -> Option<(Option<Point>, f64)> {
    let port = end.port?;
    let at = router.aim(node, end);
    let half = router.size(node).width / 2.0;
    let center = router.center(node).x;
    let behind = if is_upper { port.sides.top && !port.sides.bottom } else { port.sides.bottom && !port.sides.top };
    if port.sides.left && !port.sides.right {
        Some((Some(at), center - half - REACH))
    } else if port.sides.right && !port.sides.left {
        Some((Some(at), center + half + REACH))
    } else if behind {
        let sign = if toward < center { -1.0 } else { 1.0 };
        Some((Some(at), center + sign * (half + REACH)))
    } else {
        Some((None, at.x))
    }
}

/// Moves the ends at each side of each node apart, in the order of where they go.
fn spread_ends(router: &Router<'_>, wires: &mut [Wire], work: &mut Work) -> Result<(), Exhausted> {
    // Node, side, where it goes, wire.
    let mut ends: Vec<(u32, bool, f64, usize)> = Vec::new();
    for (index, wire) in wires.iter().enumerate() {
        let Some(edge) = router.edge(wire.edge) else { continue };
        let goal = |columns: &mut dyn Iterator<Item = &f64>| columns.nth(1).copied().unwrap_or_default();
        let has_port = |node: u32| {
            let end = if edge.tail as u32 == node { edge.tail_end } else { edge.head_end };
            end.port.is_some()
        };
        if !has_port(wire.upper) {
            ends.push((wire.upper, wire.is_flat, goal(&mut wire.columns.iter()), index));
        }
        if !has_port(wire.lower) {
            ends.push((wire.lower, true, goal(&mut wire.columns.iter().rev()), index));
        }
    }
    work.spend(ends.len() as u64 * 8)?;
    ends.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)).then(a.3.cmp(&b.3)));
    let mut rest = ends.as_slice();
    while let Some(&(node, at_top, ..)) = rest.first() {
        let (group, others) = rest.split_at(rest.partition_point(|one| (one.0, one.1) <= (node, at_top)));
        rest = others;
        let bounds = router.node_box(node);
        let inset = (bounds.width() * 0.15).min(8.0);
        let (low, high) = (bounds.low.x + inset, (bounds.high.x - inset).max(bounds.low.x + inset));
        let gap = LEAVE_GAP.min((high - low) / group.len() as f64);
        let is_last = |wire: &Wire| wire.lower == node;
        let wanted = |wire: &Wire| {
            let own = if is_last(wire) { wire.columns.last() } else { wire.columns.first() };
            own.copied().unwrap_or_default().clamp(low, high)
        };
        let mut places: Vec<f64> = group.iter().filter_map(|one| wires.get(one.3)).map(wanted).collect();
        let mut least = f64::NEG_INFINITY;
        for place in &mut places {
            *place = place.max(least);
            least = *place + gap;
        }
        let mut most = high;
        for place in places.iter_mut().rev() {
            *place = place.min(most);
            most = *place - gap;
        }
        for (one, place) in group.iter().zip(places) {
            let Some(wire) = wires.get_mut(one.3) else { continue };
            let slot = if is_last(wire) { wire.columns.last_mut() } else { wire.columns.first_mut() };
            if let Some(slot) = slot {
                *slot = place;
            }
        }
    }
    Ok(())
}

/// Edges along ranks: those between neighbours are straight and given back, the others become wires over the rank.
fn add_flats(router: &Router<'_>, wires: &mut Vec<Wire>) -> Vec<(u32, Cubic)> {
    let mut straight = Vec::new();
    for flat in router.layers.flats.iter() {
        let count = flat.edges.len();
        for (number, &index) in flat.edges.iter().enumerate() {
            let Some(edge) = router.edge(index) else { continue };
            let (tail, head) = (edge.tail as u32, edge.head as u32);
            let (from, to) = (router.aim(tail, &edge.tail_end), router.aim(head, &edge.head_end));
            let aside = (number as f64 - (count as f64 - 1.0) / 2.0) * PARALLEL_GAP;
            if flat.is_adjacent {
                let y = f64::midpoint(from.y, to.y) + aside;
                straight.push((index, curve::line(Point::new(from.x, y), Point::new(to.x, y))));
                continue;
            }
            wires.push(Wire {
                edge: index,
                upper: tail,
                lower: head,
                columns: vec![from.x + aside, to.x + aside],
                from_y: from.y,
                to_y: to.y,
                start: None,
                end: None,
                is_flat: true,
            });
        }
    }
    straight
}

/// Gives each piece a track, counted from the top: pieces that lie over each other have different ones, in the order
/// that makes their verticals cross least. Gives how many tracks there are.
fn give_tracks(pieces: &mut [Piece], work: &mut Work) -> Result<u32, Exhausted> {
    // Those that go right, the rightmost start on top; then those that go left, the leftmost start on top.
    pieces.sort_by(|a, b| {
        let (right_a, right_b) = (a.to > a.from, b.to > b.from);
        let starts = if right_a { b.from.total_cmp(&a.from) } else { a.from.total_cmp(&b.from) };
        right_b.cmp(&right_a).then(starts).then(a.wire.cmp(&b.wire))
    });
    let count = pieces.len();
    let mut tracks = 0;
    for index in 0..count {
        let (before, after) = pieces.split_at_mut(index);
        let Some(own) = after.first_mut() else { break };
        if count > PIECES_MAX {
            own.track = index as u32 % 16;
            tracks = 16;
            continue;
        }
        work.spend(index as u64 + 1)?;
        let mut taken: Vec<u32> = Vec::new();
        let mut least = 0;
        for other in before.iter() {
            if other.low() < own.high() + 2.0 && own.low() < other.high() + 2.0 {
                taken.push(other.track);
                if (other.to > other.from) == (own.to > own.from) {
                    least = least.max(other.track + 1);
                }
            }
        }
        taken.sort_unstable();
        let mut track = least;
        for other in taken {
            if other == track {
                track += 1;
            }
        }
        own.track = track;
        tracks = tracks.max(track + 1);
    }
    Ok(tracks)
}

/// The height of a track of a channel.
fn height(router: &Router<'_>, channel: usize, track: u32, tracks: u32) -> f64 {
    let positions = router.positions;
    // Arrows stand upright between the outer tracks and the nodes.
    let between = |top: f64, bottom: f64| {
        let room = (top - bottom).max(0.0);
        let margin = (room * 0.35).min(ARROW_ROOM);
        let share = if tracks > 1 { f64::from(track) / f64::from(tracks - 1) } else { 0.5 };
        top - margin - (room - 2.0 * margin) * share
    };
    let top = channel.checked_sub(1).map(|rank| positions.y[rank] - positions.below[rank]);
    let bottom = positions.y.look(channel).map(|y| y + positions.above[channel]);
    match (top, bottom) {
        (Some(top), Some(bottom)) => between(top, bottom),
        (None, Some(bottom)) => bottom + REACH * (f64::from(tracks - track)).max(1.0),
        (Some(top), None) => top - REACH * (f64::from(track) + 1.0),
        (None, None) => 0.0,
    }
}

/// The corners of a wire from its upper node to its lower one.
fn corners(router: &Router<'_>, wire: &Wire, heights: &[(u32, f64)]) -> Vec<Point> {
    let mut points = Vec::new();
    points.extend(wire.start);
    let Some(&first) = wire.columns.first() else { return points };
    points.push(Point::new(first, wire.from_y));
    let rank = router.layers.places[wire.upper].rank;
    let mut last = first;
    for (step, &column) in wire.columns.iter().enumerate().skip(1) {
        let channel = if wire.is_flat { rank } else { rank + step as u32 };
        let height = heights.iter().find(|one| one.0 == channel).map(|one| one.1);
        if let (Some(height), true) = (height, (column - last).abs() > 0.5) {
            points.push(Point::new(last, height));
            points.push(Point::new(column, height));
            last = column;
        }
    }
    points.push(Point::new(last, wire.to_y));
    points.extend(wire.end);
    points.dedup_by(|a, b| a.distance(*b) < 0.01);
    if points.len() < 2 {
        points.push(Point::new(last, wire.to_y - 0.5));
    }
    points
}
