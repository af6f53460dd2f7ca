//! The order of places within ranks, cluster by cluster: the graph with each cluster as one place a rank, then the
//! inside of each cluster with its surroundings fixed, then single exchanges over all of it.

mod count;
mod level;
mod polish;

use super::layers::{Kind, Layers, Step};
use super::model::{self, Input};
use super::nest::Nest;
use super::table::{NONE, Table, Union};
use crate::work::{Care, Exhausted, Work};
use level::{Level, Line, PORTS, Passes};

pub use count::crossings;

/// Lines of one level: global places, one of which may lie outside.
#[derive(Clone, Copy, Debug)]
struct Link {
    upper: u32,
    lower: u32,
    count: u32,
    upper_port: u32,
    lower_port: u32,
}

/// Orders all places: fills `layers.orders`. Parts that nothing connects follow each other from left to right, or
/// from right to left.
///
/// # Errors
/// When the work is spent.
pub fn order(
    input: &Input,
    nest: &Nest,
    layers: &mut Layers,
    from_right: bool,
    work: &mut Work,
) -> Result<(), Exhausted> {
    let rules = rules(input, nest, layers);
    let mut links: Table<Vec<Link>> = Table::filled(Vec::new(), nest.count());
    link_levels(input, nest, layers, &mut links, work)?;
    let mut own_places: Table<Vec<u32>> = Table::filled(Vec::new(), nest.count());
    for place in 0..layers.places.len() as u32 {
        own_places[layers.places[place].cluster].push(place);
    }
    let mut positions: Table<u32> = Table::filled(0, layers.places.len());
    let scale = if input.mclimit > 0.0 { input.mclimit.min(100.0) } else { 1.0 };
    let mark = work.share(50);
    let passes = Passes {
        most: (60.0 * scale).ceil().max(1.0) as u32,
        patience: (8.0 * scale).ceil().max(1.0) as u32,
        mark,
        from_scratch: true,
    };
    // Parents come before children.
    for cluster in 0..nest.count() as u32 {
        if !nest.is_used[cluster] {
            continue;
        }
        number_places(layers, &mut positions);
        if cluster == 0 {
            order_parts(nest, layers, &own_places, &links, &rules, from_right, passes, work)?;
        } else {
            let order = build(cluster, layers, &own_places[cluster], &links[cluster], &rules, &positions);
            run(cluster, order, layers, passes, work)?;
        }
    }
    if nest.count() > 1 && input.remincross {
        polish::polish(nest, layers, &rules, mark, work)?;
    }
    if work.is_past(mark) {
        work.degrade(Care::FewerPasses);
    }
    Ok(())
}

/// Who must stand to the left of whom on a rank: tails of flat edges before heads, and what `ordering` asks for.
fn rules(input: &Input, nest: &Nest, layers: &Layers) -> Vec<(u32, u32)> {
    let mut rules: Vec<(u32, u32)> = layers.flats.iter().map(|flat| (flat.tail, flat.head)).collect();
    let wants = |node: usize, wanted: model::Ordering| {
        input.ordering == wanted || input.nodes.get(node).is_some_and(|node| node.ordering == wanted)
    };
    let any = input.ordering != model::Ordering::Free
        || input.nodes.iter().any(|node| node.ordering != model::Ordering::Free);
    if any {
        // The first bends of the edges of a node, in the order of the input.
        let mut of_edges: Vec<(u32, u32, u32, u32)> = Vec::new();
        for chain in layers.chains.iter() {
            let (Some(&upper), Some(&lower)) = (chain.places.first(), chain.places.last()) else { continue };
            let below = chain.places.get(1).copied().unwrap_or(lower);
            let above = chain.places.iter().rev().nth(1).copied().unwrap_or(upper);
            let first = chain.edges.iter().copied().min().unwrap_or(0);
            if wants(upper as usize, model::Ordering::Out) {
                of_edges.push((0, upper, first, below));
            }
            if wants(lower as usize, model::Ordering::In) {
                of_edges.push((1, lower, first, above));
            }
        }
        of_edges.sort_unstable();
        let mut last: Option<(u32, u32, u32)> = None;
        for (side, node, _, place) in of_edges {
            if let Some((last_side, last_node, last_place)) = last
                && (last_side, last_node) == (side, node)
                && last_place != place
                && layers.places[last_place].rank == layers.places[place].rank
            {
                rules.push((last_place, place));
            }
            last = Some((side, node, place));
        }
    }
    // Those of one cluster; across clusters the order of clusters decides.
    rules.retain(|(left, right)| {
        let (a, b) = (layers.places[*left], layers.places[*right]);
        a.rank == b.rank && nest.common(a.cluster, b.cluster) == a.cluster && a.cluster == b.cluster
    });
    // A rule that goes against one given before is dropped: no cycles of two.
    let mut seen = std::collections::BTreeSet::new();
    rules.retain(|&(left, right)| left != right && !seen.contains(&(right, left)) && seen.insert((left, right)));
    rules
}

/// Sorts the steps by the levels they show in: the smallest cluster around both ends, and every cluster below it on
/// the way to an end, where the other end lies outside.
fn link_levels(
    input: &Input,
    nest: &Nest,
    layers: &Layers,
    links: &mut Table<Vec<Link>>,
    work: &mut Work,
) -> Result<(), Exhausted> {
    let mut inner: Table<Vec<u32>> = Table::filled(Vec::new(), nest.count());
    for cluster in 1..nest.count() as u32 {
        let ranks = layers.cluster_places[cluster].len().saturating_sub(1);
        inner[cluster] = vec![0; ranks];
    }
    // The label of a flat edge hangs between its ends.
    let labels = layers.flats.iter().filter(|flat| flat.label != NONE).flat_map(|flat| {
        [flat.tail, flat.head].map(|lower| Step { upper: flat.label, lower, count: 1, ..Step::default() })
    });
    for step in layers.steps.iter().copied().chain(labels) {
        let port = |place: u32, x: f64| {
            let place = &layers.places[place];
            if place.kind != Kind::Real || x == 0.0 {
                return PORTS / 2;
            }
            let width = input.nodes.get(place.owner as usize).map_or(1.0, |node| node.size.width.max(1.0));
            let share = (x + width / 2.0) / width;
            (share * f64::from(PORTS)).clamp(0.0, f64::from(PORTS - 1)) as u32
        };
        let (upper_cluster, lower_cluster) = (layers.places[step.upper].cluster, layers.places[step.lower].cluster);
        let common = nest.common(upper_cluster, lower_cluster);
        let (upper, lower) = (layers.lift(step.upper, common, nest), layers.lift(step.lower, common, nest));
        let (upper_port, lower_port) = (port(step.upper, step.upper_x), port(step.lower, step.lower_x));
        let link = Link { upper, lower, count: step.count, upper_port, lower_port };
        work.spend(8)?;
        // At the level of a cluster all ends inside it look alike.
        let at_level = |link: Link, level: u32| Link {
            upper_port: if upper_cluster == level { upper_port } else { PORTS / 2 },
            lower_port: if lower_cluster == level { lower_port } else { PORTS / 2 },
            ..link
        };
        links[common].push(at_level(link, common));
        let mut cluster = upper_cluster;
        while cluster != common {
            links[cluster].push(at_level(Link { upper: layers.lift(step.upper, cluster, nest), ..link }, cluster));
            cluster = nest.parents[cluster];
        }
        let mut cluster = lower_cluster;
        while cluster != common {
            links[cluster].push(at_level(Link { lower: layers.lift(step.lower, cluster, nest), ..link }, cluster));
            cluster = nest.parents[cluster];
        }
        // What runs inside a cluster from rank to rank keeps others from crossing it there.
        let mut cluster = common;
        let rank = layers.places[step.upper].rank;
        while cluster != 0 && cluster != NONE {
            let first = layers.spans[cluster].0;
            if let Some(count) = inner[cluster].get_mut(rank.saturating_sub(first) as usize) {
                *count += step.count;
            }
            cluster = nest.parents[cluster];
        }
    }
    for cluster in 1..nest.count() as u32 {
        let parent = nest.parents[cluster];
        let places = &layers.cluster_places[cluster];
        for ((&upper, &lower), count) in places.iter().zip(places.iter().skip(1)).zip(&inner[cluster]) {
            let link =
                Link { upper, lower, count: count.saturating_add(4), upper_port: PORTS / 2, lower_port: PORTS / 2 };
            links[parent].push(link);
        }
    }
    Ok(())
}

/// Numbers the places of each rank from left to right, those of clusters before what they hold.
fn number_places(layers: &Layers, positions: &mut Table<u32>) {
    for rank in 0..layers.rank_count as u32 {
        let Some(top) = layers.orders[0u32].get(rank as usize) else { continue };
        let mut next = 0;
        let mut stack: Vec<(&[u32], usize)> = vec![(top, 0)];
        while let Some((list, at)) = stack.pop() {
            let Some(&place) = list.get(at) else { continue };
            stack.push((list, at + 1));
            positions[place] = next;
            next += 1;
            if layers.places[place].kind == Kind::Cluster {
                let cluster = layers.places[place].owner;
                let first = layers.spans[cluster].0;
                if let Some(inner) = layers.orders[cluster].get((rank - first) as usize) {
                    stack.push((inner, 0));
                }
            }
        }
    }
}

/// The parts of the graph that nothing connects, one after the other.
#[expect(clippy::too_many_arguments, reason = "the state of one ordering, passed on")]
fn order_parts(
    nest: &Nest,
    layers: &mut Layers,
    own_places: &Table<Vec<u32>>,
    links: &Table<Vec<Link>>,
    rules: &[(u32, u32)],
    from_right: bool,
    passes: Passes,
    work: &mut Work,
) -> Result<(), Exhausted> {
    let mut parts = Union::new(layers.places.len());
    for link in &links[0u32] {
        parts.join(link.upper, link.lower);
    }
    for &(left, right) in rules {
        if layers.places[left].cluster == 0 {
            parts.join(left, right);
        }
    }
    for flat in layers.flats.iter() {
        let (tail, head) = (layers.lift(flat.tail, 0, nest), layers.lift(flat.head, 0, nest));
        parts.join(tail, head);
        if flat.label != NONE {
            parts.join(tail, layers.lift(flat.label, 0, nest));
        }
    }
    let mut numbers: Table<u32> = Table::filled(NONE, layers.places.len());
    let mut members: Vec<Vec<u32>> = Vec::new();
    for &place in &own_places[0u32] {
        let part = parts.find(place);
        if numbers[part] == NONE {
            numbers[part] = members.len() as u32;
            members.push(Vec::new());
        }
        if let Some(list) = members.get_mut(numbers[part] as usize) {
            list.push(place);
        }
    }
    if from_right {
        members.reverse();
        for (number, list) in members.iter().enumerate() {
            if let Some(&first) = list.first() {
                numbers[parts.find(first)] = number as u32;
            }
        }
    }
    let mut part_links: Vec<Vec<Link>> = vec![Vec::new(); members.len()];
    for link in &links[0u32] {
        let number = numbers[parts.find(link.upper)];
        if let Some(list) = part_links.get_mut(number as usize) {
            list.push(*link);
        }
    }
    let positions: Table<u32> = Table::filled(0, layers.places.len());
    let mut slots: Table<u32> = Table::filled(NONE, layers.places.len());
    for (list, links) in members.iter().zip(&part_links) {
        for place in list {
            slots[*place] = 0;
        }
        let level = build_with(0, layers, list, links, rules, &positions, &mut slots);
        for place in list {
            slots[*place] = NONE;
        }
        run(0, level, layers, passes, work)?;
    }
    Ok(())
}

fn build(
    cluster: u32,
    layers: &Layers,
    own: &[u32],
    links: &[Link],
    rules: &[(u32, u32)],
    positions: &Table<u32>,
) -> (Level, Table<u32>) {
    let mut slots: Table<u32> = Table::filled(NONE, layers.places.len());
    build_with(cluster, layers, own, links, rules, positions, &mut slots)
}

/// The level of a cluster, and the global place of each of its own numbers.
fn build_with(
    cluster: u32,
    layers: &Layers,
    own: &[u32],
    links: &[Link],
    rules: &[(u32, u32)],
    positions: &Table<u32>,
    slots: &mut Table<u32>,
) -> (Level, Table<u32>) {
    let mut level = Level::default();
    let mut global: Table<u32> = Table::new();
    // The ranks that matter: those of the places and of their neighbours outside.
    let ends = || links.iter().flat_map(|link| [link.upper, link.lower]);
    let all = || own.iter().copied().chain(ends());
    let first = all().map(|place| layers.places[place].rank).min().unwrap_or(0);
    let last = all().map(|place| layers.places[place].rank).max().unwrap_or(0);
    let count = (last - first + 1) as usize;
    level.ranks = Table::filled(Vec::new(), count);
    level.movable = Table::filled((0, 0), count);
    for &place in own {
        slots[place] = NONE;
    }
    let add = |place: u32, level: &mut Level, slots: &mut Table<u32>, global: &mut Table<u32>| {
        let number = global.add(place) as u32;
        slots[place] = number;
        level.rank_of.add(layers.places[place].rank - first);
        let is_own_block = layers.places[place].kind == Kind::Cluster && layers.places[place].cluster == cluster;
        level.blocks.add(if is_own_block { layers.places[place].owner } else { NONE });
        number
    };
    for &place in own {
        let number = add(place, &mut level, slots, &mut global);
        level.ranks[layers.places[place].rank - first].push(number);
    }
    let mut outside: Table<Vec<u32>> = Table::filled(Vec::new(), count);
    for place in ends() {
        if slots[place] == NONE {
            let number = add(place, &mut level, slots, &mut global);
            outside[layers.places[place].rank - first].push(number);
        }
    }
    let span = layers.spans[cluster];
    for rank in 0..count {
        let list = std::mem::take(&mut level.ranks[rank]);
        let mut fixed = std::mem::take(&mut outside[rank]);
        fixed.sort_by_key(|number| positions[global[*number]]);
        let global_rank = first + rank as u32;
        let own_position = if cluster != 0 && (span.0..=span.1).contains(&global_rank) {
            layers.cluster_places[cluster]
                .get((global_rank - span.0) as usize)
                .map_or(u32::MAX, |place| positions[*place])
        } else {
            u32::MAX
        };
        let left = fixed.partition_point(|number| positions[global[*number]] < own_position);
        let right = fixed.split_off(left);
        level.movable[rank] = (fixed.len() as u32, (fixed.len() + list.len()) as u32);
        fixed.extend(list);
        fixed.extend(right);
        level.ranks[rank] = fixed;
    }
    for link in links {
        level.lines.add(Line {
            upper: slots[link.upper],
            lower: slots[link.lower],
            count: link.count.max(1),
            upper_port: link.upper_port,
            lower_port: link.lower_port,
        });
    }
    for &(left, right) in rules {
        if layers.places[left].cluster == cluster && slots[left] != NONE && slots[right] != NONE {
            level.before.push((slots[left], slots[right]));
        }
    }
    for &place in global.iter() {
        slots[place] = NONE;
    }
    (level, global)
}

/// Orders one level and adds its places to the order of its cluster.
fn run(
    cluster: u32,
    (mut level, global): (Level, Table<u32>),
    layers: &mut Layers,
    passes: Passes,
    work: &mut Work,
) -> Result<(), Exhausted> {
    level::order(&mut level, passes, work)?;
    let first_of_cluster = layers.spans[cluster].0;
    for rank in 0..level.ranks.len() {
        let (from, to) = level.movable[rank];
        let part = level.ranks[rank].get(from as usize..to as usize).unwrap_or_default();
        for &number in part {
            let place = global[number];
            let at = layers.places[place].rank.saturating_sub(first_of_cluster);
            if let Some(list) = layers.orders[cluster].get_mut(at as usize) {
                list.push(place);
            }
        }
    }
    Ok(())
}
