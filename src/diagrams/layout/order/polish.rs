//! The last touch to the order of a graph with clusters: exchanges of neighbours counted with all that clusters hold.

use super::super::layers::{Kind, Layers};
use super::super::nest::Nest;
use super::super::table::Table;
use crate::work::{Exhausted, Work};

/// Rounds over all ranks at most.
const ROUNDS: u32 = 16;

/// A neighbour: its place, how many edges, and where they meet it.
type Tie = (u32, u32, f64);

/// Exchanges neighbours of one cluster, at least one of them no cluster, while that saves crossings.
///
/// # Errors
/// When the work is spent.
pub fn polish(
    nest: &Nest,
    layers: &mut Layers,
    rules: &[(u32, u32)],
    mark: u64,
    work: &mut Work,
) -> Result<(), Exhausted> {
    let count = layers.places.len();
    let mut ups: Table<Vec<Tie>> = Table::filled(Vec::new(), count);
    let mut downs: Table<Vec<Tie>> = Table::filled(Vec::new(), count);
    for step in layers.steps.iter() {
        ups[step.lower].push((step.upper, step.count, step.upper_x));
        downs[step.upper].push((step.lower, step.count, step.lower_x));
    }
    let rules: std::collections::BTreeSet<(u32, u32)> = rules.iter().copied().collect();
    let mut positions: Table<u32> = Table::filled(0, count);
    super::number_places(layers, &mut positions);
    for _ in 0..ROUNDS {
        let mut gain = 0;
        for cluster in (0..nest.count() as u32).filter(|cluster| nest.is_used[*cluster]) {
            let ranks = layers.orders[cluster].len();
            for index in 0..ranks {
                if work.is_past(mark) {
                    return Ok(());
                }
                let mut list = layers.orders[cluster].get(index).cloned().unwrap_or_default();
                let rank = layers.spans[cluster].0 + index as u32;
                let mut moved = false;
                for slot in 1..list.len() {
                    let (Some(&left), Some(&right)) = (list.get(slot - 1), list.get(slot)) else { continue };
                    let both = layers.places[left].kind == Kind::Cluster && layers.places[right].kind == Kind::Cluster;
                    if both || rules.contains(&(left, right)) {
                        continue;
                    }
                    let (held_left, held_right) = (held(layers, left, rank), held(layers, right, rank));
                    let mut saved = 0;
                    let mut steps = 1;
                    for &a in &held_left {
                        for &b in &held_right {
                            for ties in [&ups, &downs] {
                                steps += ties[a].len() * ties[b].len();
                                saved += savings(&ties[a], &ties[b], &positions);
                            }
                        }
                    }
                    work.spend(steps as u64)?;
                    if saved > 0 {
                        gain += saved;
                        list.swap(slot - 1, slot);
                        moved = true;
                        // The numbers of both change places: those of the right one come first.
                        let mut numbers: Vec<u32> =
                            held_left.iter().chain(&held_right).map(|place| positions[*place]).collect();
                        numbers.sort_unstable();
                        for (place, number) in held_right.iter().chain(&held_left).zip(numbers) {
                            positions[*place] = number;
                        }
                    }
                }
                if moved && let Some(slot) = layers.orders[cluster].get_mut(index) {
                    *slot = list;
                }
            }
        }
        if gain == 0 {
            break;
        }
    }
    Ok(())
}

/// What a place holds on its rank, from left to right.
fn held(layers: &Layers, place: u32, rank: u32) -> Vec<u32> {
    let mut held = Vec::new();
    let mut stack = vec![place];
    while let Some(place) = stack.pop() {
        if layers.places[place].kind == Kind::Cluster {
            let cluster = layers.places[place].owner;
            let first = layers.spans[cluster].0;
            if let Some(inner) = layers.orders[cluster].get((rank - first) as usize) {
                stack.extend(inner.iter().rev());
            }
        } else {
            held.push(place);
        }
    }
    held
}

fn savings(left: &[Tie], right: &[Tie], positions: &Table<u32>) -> i64 {
    let mut saved = 0;
    for (a, count_a, port_a) in left {
        for (b, count_b, port_b) in right {
            let weight = i64::from(*count_a) * i64::from(*count_b);
            let order = positions[*a].cmp(&positions[*b]).then(port_a.total_cmp(port_b));
            saved += match order {
                std::cmp::Ordering::Greater => weight,
                std::cmp::Ordering::Less => -weight,
                std::cmp::Ordering::Equal => 0,
            };
        }
    }
    saved
}
