//! One level: the places of a cluster with what surrounds them.

use std::cmp::Reverse;

use super::super::layers::{Kind, Layers};
use super::super::table::{NONE, Table};
use super::level::Level;
use super::lines::Line;
use super::links::Link;

/// [`build_with`], for one level alone.
pub fn build(
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
pub fn build_with(
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
    level.lines = lines(&level, links, slots);
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

/// The lines that links are in a level, in the order that a search follows them: what it finds first comes to the left.
/// Observed: a cluster goes on to the left of what leads out of it, and clusters stand to the left of their siblings,
/// whichever edge comes first in the source.
fn lines(level: &Level, links: &[Link], slots: &Table<u32>) -> Table<Line> {
    let mut links: Vec<Link> = links.to_vec();
    links.sort_by_key(|link| {
        let (upper, lower) = (level.blocks[slots[link.upper]], level.blocks[slots[link.lower]]);
        let ends = u32::from(upper != NONE) + u32::from(lower != NONE);
        Reverse(ends + u32::from(ends == 2 && upper == lower))
    });
    let line = |link: Link| Line {
        upper: slots[link.upper],
        lower: slots[link.lower],
        count: link.count.max(1),
        upper_port: link.upper_port,
        lower_port: link.lower_port,
    };
    links.into_iter().map(line).collect()
}
