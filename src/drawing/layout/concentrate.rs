//! `concentrate`: edges that leave one node side by side share their way until they part, and those that arrive side
//! by side share it from where they meet.

use super::layers::{Kind, Layers, Step};
use super::model::Input;
use super::table::{NONE, Table};
use crate::work::{Exhausted, Work};

/// Joins neighbouring bends, after the ordering.
///
/// # Errors
/// When the work is spent.
pub fn concentrate(input: &Input, layers: &mut Layers, work: &mut Work) -> Result<(), Exhausted> {
    let mut through: Table<Vec<u32>> = Table::filled(Vec::new(), layers.places.len());
    for (number, chain) in layers.chains.iter().enumerate() {
        for &place in &chain.places {
            if layers.places[place].kind == Kind::Bend {
                through[place].push(number as u32);
            }
        }
    }
    let ranks = layers.rank_count as u32;
    for (rank, downward) in (0..ranks).map(|rank| (rank, true)).chain((0..ranks).rev().map(|rank| (rank, false))) {
        for cluster in 0..layers.orders.len() as u32 {
            let (first, last) = layers.spans[cluster];
            if !(first..=last).contains(&rank) || layers.orders[cluster].is_empty() {
                continue;
            }
            let mut list =
                layers.orders[cluster].get_mut((rank - first) as usize).map(std::mem::take).unwrap_or_default();
            work.spend(list.len() as u64 * 4 + 1)?;
            let mut kept: Vec<u32> = Vec::with_capacity(list.len());
            for place in list.drain(..) {
                let joins = kept.last().is_some_and(|left| may_join(input, layers, &through, *left, place, downward));
                match kept.last() {
                    Some(&left) if joins => join(layers, &mut through, left, place),
                    _ => kept.push(place),
                }
            }
            if let Some(slot) = layers.orders[cluster].get_mut((rank - first) as usize) {
                *slot = kept;
            }
        }
    }
    merge_steps(layers);
    Ok(())
}

/// The one place that all chains through `place` come from (or go to); [`NONE`] if there are several.
fn beyond(layers: &Layers, through: &Table<Vec<u32>>, place: u32, upward: bool) -> u32 {
    let mut found = NONE;
    for &number in &through[place] {
        let places = &layers.chains[number].places;
        let first = places.first().map_or(0, |first| layers.places[*first].rank);
        let index = (layers.places[place].rank - first) as usize;
        let next = if upward { index.checked_sub(1) } else { index.checked_add(1) };
        let Some(&next) = next.and_then(|next| places.get(next)) else { return NONE };
        if found != NONE && found != next {
            return NONE;
        }
        found = next;
    }
    found
}

fn may_join(input: &Input, layers: &Layers, through: &Table<Vec<u32>>, left: u32, right: u32, downward: bool) -> bool {
    let is_bend = |place: u32| layers.places[place].kind == Kind::Bend;
    if !is_bend(left) || !is_bend(right) {
        return false;
    }
    let (a, b) = (beyond(layers, through, left, downward), beyond(layers, through, right, downward));
    if a == NONE || a != b {
        return false;
    }
    // Only edges that run the same way, from ends without ports of their own.
    let kind = |place: u32| {
        let edge = through[place].first().and_then(|number| layers.chains[*number].edges.first());
        edge.and_then(|edge| input.edges.get(*edge as usize)).map(|edge| {
            let down = layers.places[edge.tail].rank < layers.places[edge.head].rank;
            let end = if down == downward { &edge.tail_end } else { &edge.head_end };
            (down, end.port.map(|port| ((port.point.x * 100.0) as i64, (port.point.y * 100.0) as i64)))
        })
    };
    kind(left) == kind(right)
}

/// All chains through `gone` run through `kept`.
fn join(layers: &mut Layers, through: &mut Table<Vec<u32>>, kept: u32, gone: u32) {
    let moved = std::mem::take(&mut through[gone]);
    for &number in &moved {
        if let Some(slot) = layers.chains[number].places.iter_mut().find(|place| **place == gone) {
            *slot = kept;
        }
    }
    through[kept].extend(moved);
}

/// The steps anew from the chains; those between the same places become one.
fn merge_steps(layers: &mut Layers) {
    let mut known: std::collections::BTreeMap<(u32, u32, i64, i64), usize> = std::collections::BTreeMap::new();
    let mut merged: Table<Step> = Table::new();
    let steps = std::mem::take(&mut layers.steps);
    for step in steps.iter() {
        let mut step = *step;
        let chain = &layers.chains[step.chain];
        let first = chain.places.first().map_or(0, |first| layers.places[*first].rank);
        let index = (layers.places[step.upper].rank - first) as usize;
        if let (Some(&upper), Some(&lower)) = (chain.places.get(index), chain.places.get(index + 1)) {
            (step.upper, step.lower) = (upper, lower);
        }
        let key = (step.upper, step.lower, (step.upper_x * 100.0) as i64, (step.lower_x * 100.0) as i64);
        match known.get(&key) {
            Some(&at) => {
                let weight = merged[at].weight.saturating_add(step.weight);
                merged[at].weight = weight.min(1 << 14);
            }
            None => {
                known.insert(key, merged.add(step));
            }
        }
    }
    layers.steps = merged;
}
