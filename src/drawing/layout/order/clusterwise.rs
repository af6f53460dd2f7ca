//! Ordering a graph cluster by cluster, and the outermost one part by part.

use super::super::layers::{Kind, Layers};
use super::super::model::Input;
use super::super::nest::Nest;
use super::super::table::{NONE, Table, Union};
use super::build::{build, build_with};
use super::level::{self, Level, Passes};
use super::links::{Link, link_levels};
use super::numbers::number_places;
use super::polish;
use super::rules::rules;
use crate::work::{Care, Exhausted, Work};

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
    let ruled = rules(input, nest, layers);
    let mut links: Table<Vec<Link>> = Table::filled(Vec::new(), nest.count());
    link_levels(input, nest, layers, &mut links, work)?;
    let mut own_places: Table<Vec<u32>> = Table::filled(Vec::new(), nest.count());
    for place in 0..layers.places.len() as u32 {
        own_places[layers.places[place].cluster].push(place);
    }
    sort_as_declared(nest, layers, &mut own_places, work)?;
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
            order_parts(nest, layers, &own_places, &links, &ruled, from_right, passes, work)?;
        } else {
            let order = build(cluster, layers, &own_places[cluster], &links[cluster], &ruled, &positions);
            run(cluster, order, layers, passes, work)?;
        }
    }
    if nest.count() > 1 && input.remincross {
        polish::polish(nest, layers, &ruled, mark, work)?;
    }
    if work.is_past(mark) {
        work.degrade(Care::FewerPasses);
    }
    Ok(())
}

/// Sorts the places of each cluster as the source declares them: a cluster where the first of its nodes stands. A search
/// begins with the first, and what it finds first comes to the left.
fn sort_as_declared(
    nest: &Nest,
    layers: &Layers,
    own_places: &mut Table<Vec<u32>>,
    work: &mut Work,
) -> Result<(), Exhausted> {
    if nest.count() == 1 {
        return Ok(());
    }
    let mut first_nodes: Table<u32> = Table::filled(NONE, nest.count());
    for (number, place) in layers.places.iter().enumerate().filter(|(_, place)| place.kind == Kind::Real) {
        let mut cluster = place.cluster;
        while cluster != NONE && first_nodes[cluster] == NONE {
            first_nodes[cluster] = number as u32;
            cluster = nest.parents[cluster];
        }
    }
    work.spend((layers.places.len() * 4) as u64)?;
    for list in own_places.iter_mut() {
        list.sort_by_key(|place| match layers.places[*place].kind {
            Kind::Real => *place,
            Kind::Cluster => first_nodes[layers.places[*place].owner],
            Kind::Bend | Kind::Label | Kind::FlatLabel => NONE,
        });
    }
    Ok(())
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
