//! Coordinates: heights of ranks first, then x by network simplex over an auxiliary graph, as section 4 of the 1993
//! paper has it, with a left and a right wall for each cluster.

use super::layers::{Kind, Layers};
use super::model::{Across, Along, Input};
use super::nest::Nest;
use super::simplex::{Balance, Constraint, Ending, Limits, solve};
use super::start;
use super::table::{NONE, Table};
use crate::geometry::{Point, Rect};
use crate::work::{Care, Exhausted, Work};

/// Between the walls of neighbouring clusters, and between a wall and a node outside.
pub const CLUSTER_GAP: f64 = 8.0;

/// How strongly a cluster holds together.
const WALL_WEIGHT: i32 = 128;

/// Nodes of the auxiliary graph beyond which it is not solved to the end.
const PLACES_MAX: usize = 60_000;

/// Room for a label on each side of a cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Border {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// The width and height the label wants at least.
    wide: f64,
    tall: f64,
}

/// Where everything stands.
#[derive(Debug, Default)]
pub struct Positions {
    /// The x of each place.
    pub x: Table<f64>,
    /// The y of each rank.
    pub y: Table<f64>,
    /// How far nodes reach above the middle of each rank.
    pub above: Table<f64>,
    /// How far nodes reach below it.
    pub below: Table<f64>,
    /// The box of each cluster.
    pub clusters: Table<Rect>,
}

impl Positions {
    /// The middle of a place.
    pub fn at(&self, layers: &Layers, place: u32) -> Point {
        Point::new(self.x[place], self.y[layers.places[place].rank])
    }
}

/// Finds all coordinates. `turned`: ranks run sideways in the finished drawing, so that labels of clusters lie on
/// their sides here.
///
/// # Errors
/// When the work is spent.
pub fn place(
    input: &Input,
    nest: &Nest,
    layers: &Layers,
    doubled: bool,
    turned: bool,
    work: &mut Work,
) -> Result<Positions, Exhausted> {
    let borders = borders(input, nest, turned);
    let mut positions = Positions {
        x: Table::filled(0.0, layers.places.len()),
        clusters: Table::filled(Rect::EMPTY, nest.count()),
        ..Positions::default()
    };
    heights(input, nest, layers, &borders, doubled, &mut positions);
    across(input, nest, layers, &borders, &mut positions, work)?;
    Ok(positions)
}

fn margin(input: &Input, cluster: u32) -> f64 {
    match cluster {
        0 => CLUSTER_GAP,
        _ => input.clusters.get(cluster as usize - 1).map_or(CLUSTER_GAP, |cluster| cluster.margin),
    }
}

fn borders(input: &Input, nest: &Nest, turned: bool) -> Table<Border> {
    let mut borders = Table::filled(Border::default(), nest.count());
    for (index, cluster) in input.clusters.iter().enumerate().take(nest.count().saturating_sub(1)) {
        let Some(label) = cluster.label else { continue };
        let border = &mut borders[index + 1];
        // Turned on its way in, a label at the top lies on the left; its size was turned with it.
        match (turned, label.along) {
            (false, Along::Top) => border.top = label.size.height,
            (false, Along::Bottom) => border.bottom = label.size.height,
            (true, Along::Top) => border.left = label.size.width,
            (true, Along::Bottom) => border.right = label.size.width,
        }
        if turned {
            border.tall = label.size.height;
        } else {
            border.wide = label.size.width;
        }
    }
    borders
}

/// The y of ranks, from the last upwards: far enough for nodes, and for the borders and labels of clusters.
fn heights(
    input: &Input,
    nest: &Nest,
    layers: &Layers,
    borders: &Table<Border>,
    doubled: bool,
    positions: &mut Positions,
) {
    let count = layers.rank_count;
    let separation = if doubled { ((input.rank_separation + 1.0) / 2.0).floor() } else { input.rank_separation };
    let mut half: Table<f64> = Table::filled(0.5, count);
    for place in layers.places.iter() {
        // The label of a flat edge between neighbours stands between them.
        let is_between = place.kind == Kind::FlatLabel && layers.flats[place.owner].is_adjacent;
        let slot = &mut half[place.rank + u32::from(is_between)];
        *slot = slot.max(place.half_height);
    }
    // How far each cluster reaches above the middle of its first rank, and below that of its last.
    let mut tops: Table<f64> = Table::filled(0.0, nest.count());
    let mut bottoms: Table<f64> = Table::filled(0.0, nest.count());
    let mut extra: Table<f64> = Table::filled(0.0, nest.count());
    let mut y: Table<f64> = Table::filled(0.0, count);
    for _ in 0..3 {
        let mut rank_up = half.clone();
        let mut rank_down = half.clone();
        for cluster in (1..nest.count() as u32).rev().filter(|cluster| nest.is_used[*cluster]) {
            let (first, last) = layers.spans[cluster];
            let (mut top, mut bottom): (f64, f64) = (0.0, 0.0);
            for &node in &nest.nodes[cluster] {
                let place = &layers.places[node];
                if place.rank == first {
                    top = top.max(place.half_height);
                }
                if place.rank == last {
                    bottom = bottom.max(place.half_height);
                }
            }
            for &child in &nest.children[cluster] {
                let (child_first, child_last) = layers.spans[child];
                if child_first == first {
                    top = top.max(tops[child]);
                }
                if child_last == last {
                    bottom = bottom.max(bottoms[child]);
                }
            }
            let own = margin(input, cluster);
            tops[cluster] = top + own + borders[cluster].top + extra[cluster] / 2.0;
            bottoms[cluster] = bottom + own + borders[cluster].bottom + extra[cluster] / 2.0;
            rank_up[first] = rank_up[first].max(tops[cluster]);
            rank_down[last] = rank_down[last].max(bottoms[cluster]);
        }
        let mut widest: f64 = 0.0;
        let mut gaps: Table<f64> = Table::filled(0.0, count);
        for rank in (0..count.saturating_sub(1)).rev() {
            let nodes = half[rank] + half[rank + 1] + separation;
            let clusters = rank_down[rank] + rank_up[rank + 1] + CLUSTER_GAP;
            gaps[rank] = nodes.max(clusters);
            widest = widest.max(gaps[rank]);
        }
        if let Some(last) = y.look_mut(count.wrapping_sub(1)) {
            *last = rank_down[count - 1];
        }
        for rank in (0..count.saturating_sub(1)).rev() {
            let gap = if input.equal_ranks { widest } else { gaps[rank] };
            y[rank] = y[rank + 1] + gap;
        }
        // A label along the ranks may want more than its cluster is long.
        let mut grown = false;
        for cluster in (1..nest.count() as u32).filter(|cluster| nest.is_used[*cluster]) {
            let (first, last) = layers.spans[cluster];
            let tall = y[first] + tops[cluster] - y[last] + bottoms[cluster];
            if borders[cluster].tall > tall + 0.5 {
                extra[cluster] += borders[cluster].tall - tall;
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    for cluster in (1..nest.count() as u32).filter(|cluster| nest.is_used[*cluster]) {
        let (first, last) = layers.spans[cluster];
        positions.clusters[cluster].low.y = y[last] - bottoms[cluster];
        positions.clusters[cluster].high.y = y[first] + tops[cluster];
    }
    positions.above = half.clone();
    positions.below = half;
    positions.y = y;
}

/// The numbers of the auxiliary graph: places, then left walls, then right walls, then one for each step.
struct Numbers {
    left_walls: u32,
    right_walls: u32,
    steps: u32,
}

fn ceil(length: f64) -> i32 {
    length.clamp(-1e8, 1e8).round() as i32
}

fn across(
    input: &Input,
    nest: &Nest,
    layers: &Layers,
    borders: &Table<Border>,
    positions: &mut Positions,
    work: &mut Work,
) -> Result<(), Exhausted> {
    let places = layers.places.len();
    let clusters = nest.count();
    let numbers = Numbers {
        left_walls: places as u32,
        right_walls: (places + clusters) as u32,
        steps: (places + 2 * clusters) as u32,
    };
    let mut constraints: Vec<Constraint> = Vec::with_capacity(layers.steps.len() * 2 + places * 2);
    separate(input, layers, &mut constraints);
    walls(input, nest, layers, borders, &numbers, &mut constraints);
    flats(input, layers, &mut constraints);
    work.spend((places + constraints.len()) as u64)?;
    let first = start::first_positions(numbers.steps as usize, &constraints, layers, work)?;
    let nodes = pull(input, layers, &numbers, &mut constraints);
    // The middle of each step starts as far right as both its ends let it.
    let mut values: Table<i32> = Table::filled(0, nodes);
    for (index, value) in first.iter().enumerate() {
        values[index] = *value;
    }
    for node in numbers.steps as usize..nodes {
        values[node] = i32::MAX / 4;
    }
    for edge in &constraints {
        if edge.tail >= numbers.steps {
            values[edge.tail] = values[edge.tail].min(values[edge.head] - edge.length);
        }
    }
    let limits = Limits {
        search_size: input.search_size.max(1),
        exchanges: input.nslimit.map_or(u64::MAX, |limit| (limit.max(0.0) * nodes as f64) as u64),
        mark: if places > PLACES_MAX { work.share(25) } else { work.share(60) },
    };
    let (values, ending) = solve(nodes, &constraints, Some(values), Balance::Sides, limits, work)?;
    if ending == Ending::CutShort && input.nslimit.is_none() {
        work.degrade(Care::FewerPasses);
    }
    for place in 0..places {
        positions.x[place] = f64::from(values[place]);
    }
    for cluster in (1..clusters as u32).filter(|cluster| nest.is_used[*cluster]) {
        positions.clusters[cluster].low.x = f64::from(values[numbers.left_walls + cluster]);
        positions.clusters[cluster].high.x = f64::from(values[numbers.right_walls + cluster]);
    }
    Ok(())
}

/// Neighbours on a rank stand apart.
fn separate(input: &Input, layers: &Layers, constraints: &mut Vec<Constraint>) {
    let mut list = Vec::new();
    for rank in 0..layers.rank_count as u32 {
        layers.flatten(rank, &mut list);
        for (&left, &right) in list.iter().zip(list.iter().skip(1)) {
            let (a, b) = (&layers.places[left], &layers.places[right]);
            // A cluster's empty place has no width of its own: its walls keep the distance.
            let apart = if a.kind == Kind::Cluster || b.kind == Kind::Cluster { 0.0 } else { input.node_separation };
            let length = ceil(a.right + b.left + apart);
            constraints.push(Constraint { tail: left, head: right, length, weight: 0 });
        }
    }
}

/// The walls of clusters: what lies inside stands between them, what lies outside beyond, inner walls within outer.
fn walls(
    input: &Input,
    nest: &Nest,
    layers: &Layers,
    borders: &Table<Border>,
    numbers: &Numbers,
    constraints: &mut Vec<Constraint>,
) {
    let left_wall = |cluster: u32| numbers.left_walls + cluster;
    let right_wall = |cluster: u32| numbers.right_walls + cluster;
    let mut push = |tail: u32, head: u32, length: f64, weight: i32| {
        constraints.push(Constraint { tail, head, length: ceil(length), weight });
    };
    for cluster in (0..nest.count() as u32).filter(|cluster| nest.is_used[*cluster]) {
        let border = borders[cluster];
        if cluster != 0 {
            push(left_wall(cluster), right_wall(cluster), border.wide.max(1.0), WALL_WEIGHT);
        }
        let own = margin(input, cluster);
        for list in &layers.orders[cluster] {
            let mut before = NONE;
            for &place in list {
                let item = &layers.places[place];
                let is_cluster = item.kind == Kind::Cluster;
                if is_cluster {
                    // An empty place of it stands in its middle.
                    push(left_wall(item.owner), place, 1.0, 0);
                    push(place, right_wall(item.owner), 1.0, 0);
                }
                if before != NONE {
                    let other = &layers.places[before];
                    match (other.kind == Kind::Cluster, is_cluster) {
                        (true, true) => push(right_wall(other.owner), left_wall(item.owner), CLUSTER_GAP, 0),
                        (true, false) => push(right_wall(other.owner), place, item.left + CLUSTER_GAP, 0),
                        (false, true) => push(before, left_wall(item.owner), other.right + CLUSTER_GAP, 0),
                        (false, false) => {}
                    }
                }
                before = place;
            }
            if cluster == 0 {
                continue;
            }
            if let Some(&first) = list.first() {
                let item = &layers.places[first];
                match item.kind {
                    Kind::Cluster => push(left_wall(cluster), left_wall(item.owner), own + border.left, 0),
                    _ => push(left_wall(cluster), first, own + border.left + item.left, 0),
                }
            }
            if let Some(&last) = list.last() {
                let item = &layers.places[last];
                match item.kind {
                    Kind::Cluster => push(right_wall(item.owner), right_wall(cluster), own + border.right, 0),
                    _ => push(last, right_wall(cluster), own + border.right + item.right, 0),
                }
            }
        }
    }
}

/// Flat edges: short, with room for their labels.
fn flats(input: &Input, layers: &Layers, constraints: &mut Vec<Constraint>) {
    let mut slots: Table<u32> = Table::filled(0, layers.places.len());
    let mut list = Vec::new();
    let mut last_rank = NONE;
    let mut by_rank: Vec<(u32, u32)> =
        layers.flats.iter().enumerate().map(|(index, flat)| (layers.places[flat.tail].rank, index as u32)).collect();
    by_rank.sort_unstable();
    for (rank, index) in by_rank {
        if rank != last_rank {
            layers.flatten(rank, &mut list);
            for (slot, place) in list.iter().enumerate() {
                slots[*place] = slot as u32;
            }
            last_rank = rank;
        }
        let flat = &layers.flats[index];
        let (left, right) =
            if slots[flat.tail] < slots[flat.head] { (flat.tail, flat.head) } else { (flat.head, flat.tail) };
        let (a, b) = (&layers.places[left], &layers.places[right]);
        let label = if flat.label == NONE || !flat.is_adjacent { 0.0 } else { layers.places[flat.label].right * 2.0 };
        let length = ceil(a.right + b.left + input.node_separation + label);
        constraints.push(Constraint { tail: left, head: right, length, weight: flat.weight });
    }
}

/// What draws the ends of each step to one line: a node of its own to the left of both. Gives how many nodes there
/// are in all.
fn pull(input: &Input, layers: &Layers, numbers: &Numbers, constraints: &mut Vec<Constraint>) -> usize {
    let mut next = numbers.steps;
    let group = |place: u32| match layers.places[place].kind {
        Kind::Real => input.nodes.get(place as usize).and_then(|node| node.group),
        _ => None,
    };
    let ends = |chain: u32| {
        let chain = &layers.chains[chain];
        match (chain.places.first(), chain.places.last()) {
            (Some(&first), Some(&last)) => group(first).is_some() && group(first) == group(last),
            _ => false,
        }
    };
    let pairs = layers.steps.iter().map(|step| {
        let is_real = |place: u32| layers.places[place].kind == Kind::Real;
        let factor = match (is_real(step.upper), is_real(step.lower)) {
            (true, true) => 1,
            (false, false) => 8,
            _ => 2,
        };
        let grouped = if ends(step.chain) { 100 } else { 1 };
        let weight = step.weight.saturating_mul(factor).saturating_mul(grouped).min(1 << 20);
        (step.upper, step.lower, step.upper_x, step.lower_x, weight)
    });
    let labels = layers.flats.iter().filter(|flat| flat.label != NONE && !flat.is_adjacent).flat_map(|flat| {
        [(flat.label, flat.tail, 0.0, 0.0, flat.weight.max(1)), (flat.label, flat.head, 0.0, 0.0, flat.weight.max(1))]
    });
    for (upper, lower, upper_x, lower_x, weight) in pairs.chain(labels) {
        constraints.push(Constraint { tail: next, head: upper, length: -ceil(upper_x), weight });
        constraints.push(Constraint { tail: next, head: lower, length: -ceil(lower_x), weight });
        next += 1;
    }
    next as usize
}

/// Where the label of a box lies: at its top or bottom, in its middle or on a side.
pub fn label_in(bounds: Rect, size: crate::geometry::Size, along: Along, across: Across) -> Point {
    let x = match across {
        Across::Middle => bounds.center().x,
        Across::Left => bounds.low.x + size.width / 2.0,
        Across::Right => bounds.high.x - size.width / 2.0,
    };
    let y = match along {
        Along::Top => bounds.high.y - size.height / 2.0,
        Along::Bottom => bounds.low.y + size.height / 2.0,
    };
    Point::new(x, y)
}
