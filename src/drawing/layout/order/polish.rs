//! The last touch to the order of a graph with clusters: exchanges of neighbours counted with all that clusters hold.

use std::collections::{BTreeMap, BTreeSet};

use super::super::layers::{Kind, Layers};
use super::super::nest::Nest;
use super::super::table::Table;
use super::numbers::number_places;
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
    let rules: BTreeSet<(u32, u32)> = rules.iter().copied().collect();
    let mut positions: Table<u32> = Table::filled(0, count);
    number_places(layers, &mut positions);
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
        gain += pass_over(layers, [&ups, &downs], &rules, &mut positions, mark, work)?;
        if gain == 0 {
            break;
        }
    }
    Ok(())
}

/// A bend beside something: the bend, what stands beside it, and the rank.
type Beside = (u32, u32, u32);

/// Takes chains that run beside something over to its other side, on all ranks at once, where that saves crossings:
/// beside a cluster, beside what hangs on it, beside a column of nodes. Gives how many.
fn pass_over(
    layers: &mut Layers,
    [ups, downs]: [&Table<Vec<Tie>>; 2],
    rules: &BTreeSet<(u32, u32)>,
    positions: &mut Table<u32>,
    mark: u64,
    work: &mut Work,
) -> Result<i64, Exhausted> {
    let mut gain = 0;
    for chain in 0..layers.chains.len() {
        for to_right in [true, false] {
            if work.is_past(mark) {
                return Ok(gain);
            }
            for run in runs_beside(layers, chain, to_right, ups, work)? {
                let is_ruled = run.iter().any(|(bend, beside, _)| {
                    rules.contains(&if to_right { (*bend, *beside) } else { (*beside, *bend) })
                });
                let parts: Vec<(u32, Vec<u32>)> =
                    run.iter().map(|(bend, beside, rank)| (*bend, held(layers, *beside, *rank))).collect();
                let bends: BTreeSet<u32> = parts.iter().map(|part| part.0).collect();
                let others: BTreeSet<u32> = parts.iter().flat_map(|part| part.1.iter().copied()).collect();
                let (mut saved, mut steps) = (0, 1);
                for (bend, held) in &parts {
                    for (held, ties) in held.iter().flat_map(|held| [(held, ups), (held, downs)]) {
                        steps += 4 * (ties[*bend].len() + 1) * (ties[*held].len() + 1);
                        for own in &ties[*bend] {
                            for other in &ties[*held] {
                                // What goes over together crosses as it did.
                                if bends.contains(&own.0) && others.contains(&other.0) {
                                    continue;
                                }
                                let (left, right) = if to_right { (own, other) } else { (other, own) };
                                saved += savings(&[*left], &[*right], positions);
                            }
                        }
                    }
                }
                work.spend(steps as u64)?;
                if is_ruled || saved <= 0 {
                    continue;
                }
                gain += saved;
                for (bend, beside, rank) in run {
                    exchange(layers, bend, beside, rank, to_right, positions);
                }
            }
        }
    }
    Ok(gain)
}

/// Where a chain runs beside things that hang together, on two ranks or more.
fn runs_beside(
    layers: &Layers,
    chain: usize,
    to_right: bool,
    ups: &Table<Vec<Tie>>,
    work: &mut Work,
) -> Result<Vec<Vec<Beside>>, Exhausted> {
    let mut runs: Vec<Vec<Beside>> = Vec::new();
    let mut last: Option<u32> = None;
    for &bend in &layers.chains[chain].places {
        let at = layers.places[bend];
        let mut found = None;
        if at.kind != Kind::Real {
            let list = list_of(layers, bend);
            work.spend(list.len() as u64 / 4 + 1)?;
            let slot = list.iter().position(|place| *place == bend);
            let next = slot.and_then(|slot| if to_right { slot.checked_add(1) } else { slot.checked_sub(1) });
            found = next.and_then(|next| list.get(next)).copied();
        }
        if let Some(beside) = found {
            let mut steps = 16;
            let hangs_on = last.is_some_and(|last| {
                let (above, below) = (layers.places[last], layers.places[beside]);
                let is_same = above.kind == Kind::Cluster && below.kind == Kind::Cluster && above.owner == below.owner;
                if is_same {
                    return true;
                }
                let (upper, lower) = (held(layers, last, above.rank), held(layers, beside, below.rank));
                steps += upper.len() + lower.len();
                lower.iter().flat_map(|place| &ups[*place]).any(|tie| {
                    steps += upper.len();
                    upper.contains(&tie.0)
                })
            });
            work.spend(steps as u64)?;
            if !hangs_on {
                runs.push(Vec::new());
            }
            if let Some(run) = runs.last_mut() {
                run.push((bend, beside, at.rank));
            }
        }
        last = found;
    }
    work.spend(runs.iter().map(Vec::len).sum::<usize>() as u64)?;
    // Single exchanges have been tried.
    runs.retain(|run| run.len() > 1 && keeps_out(layers, chain, run));
    Ok(runs)
}

/// Whether a run passes whole clusters: else the chain would have to go through them from one side to the other.
fn keeps_out(layers: &Layers, chain: usize, run: &[Beside]) -> bool {
    let places = &layers.chains[chain].places;
    let rank_of = |place: Option<&u32>| place.map_or(0, |place| layers.places[*place].rank);
    // The ranks that the chain bends on.
    let (first, last) = (rank_of(places.first()) + 1, rank_of(places.last()).saturating_sub(1));
    // A chain has one bend on each rank, so that a cluster is passed whole if there is a bend for each of its ranks.
    let mut passed: BTreeMap<u32, usize> = BTreeMap::new();
    for (_, beside, _) in run {
        let beside = layers.places[*beside];
        if beside.kind == Kind::Cluster {
            *passed.entry(beside.owner).or_default() += 1;
        }
    }
    passed.into_iter().all(|(cluster, ranks)| {
        let (from, to) = layers.spans[cluster];
        ranks >= (from.max(first)..=to.min(last)).count()
    })
}

/// The order that a place stands in.
fn list_of(layers: &Layers, place: u32) -> &[u32] {
    let at = layers.places[place];
    let index = at.rank.saturating_sub(layers.spans[at.cluster].0) as usize;
    layers.orders[at.cluster].get(index).map_or(&[], Vec::as_slice)
}

/// Puts a bend on the other side of its neighbour.
fn exchange(layers: &mut Layers, bend: u32, place: u32, rank: u32, to_right: bool, positions: &mut Table<u32>) {
    let (bends, inner) = (vec![bend], held(layers, place, rank));
    let (left, right) = if to_right { (bends, inner) } else { (inner, bends) };
    let mut numbers: Vec<u32> = left.iter().chain(&right).map(|place| positions[*place]).collect();
    numbers.sort_unstable();
    for (place, number) in right.iter().chain(&left).zip(numbers) {
        positions[*place] = number;
    }
    let (cluster, first) = (layers.places[bend].cluster, layers.spans[layers.places[bend].cluster].0);
    if let Some(list) = layers.orders[cluster].get_mut(rank.saturating_sub(first) as usize)
        && let (Some(a), Some(b)) = (list.iter().position(|p| *p == bend), list.iter().position(|p| *p == place))
    {
        list.swap(a, b);
    }
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
