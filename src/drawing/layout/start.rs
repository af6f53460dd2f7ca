//! Where the search for x coordinates begins: a quick drawing near the one that is looked for, so that few exchanges
//! are left to do.

use super::layers::Layers;
use super::simplex::Constraint;
use super::table::{Lists, Table};
use crate::work::{Exhausted, Work};

/// Rounds down and up again.
const ROUNDS: usize = 4;

/// Positions that keep all of `separations`: places drawn towards the middle of their neighbours on the ranks around,
/// rank by rank, as far as their own neighbours let them.
///
/// # Errors
/// When the work is spent.
pub fn first_positions(
    count: usize,
    separations: &[Constraint],
    layers: &Layers,
    work: &mut Work,
) -> Result<Table<i32>, Exhausted> {
    let outs = Lists::new(count, separations.iter().enumerate().map(|(i, edge)| (edge.tail, i as u32)));
    let ins = Lists::new(count, separations.iter().enumerate().map(|(i, edge)| (edge.head, i as u32)));
    let edges: Table<Constraint> = separations.iter().copied().collect();
    let Some(order) = topological(count, &edges, &outs, &ins) else {
        return Ok(Table::filled(0, count));
    };
    let places = layers.places.len();
    let ties = |down: bool| {
        Lists::new(
            places,
            layers.steps.iter().map(move |step| if down { (step.lower, step.upper) } else { (step.upper, step.lower) }),
        )
    };
    let (ups, downs) = (ties(true), ties(false));
    let mut x: Table<i32> = Table::filled(0, count);
    for &node in order.iter() {
        for &edge in outs.of(node) {
            let edge = edges[edge];
            x[edge.head] = x[edge.head].max(x[node] + edge.length);
        }
    }
    let mut near: Vec<i32> = Vec::new();
    let mut wish: Table<i32> = Table::filled(0, count);
    for _ in 0..ROUNDS {
        work.spend((count + edges.len() + layers.steps.len()) as u64 * 2)?;
        for node in 0..count as u32 {
            near.clear();
            if (node as usize) < places {
                near.extend(ups.of(node).iter().chain(downs.of(node)).map(|other| x[*other]));
            }
            wish[node] = if near.is_empty() {
                x[node]
            } else {
                near.sort_unstable();
                let (a, b) = (near.get((near.len() - 1) / 2), near.get(near.len() / 2));
                (a.copied().unwrap_or(0) + b.copied().unwrap_or(0)) / 2
            };
        }
        // As far left as wished: pushed right by what stands to the left; and the mirror image; the middle of both
        // keeps all distances, as they are linear.
        let mut rightward = wish.clone();
        for &node in order.iter() {
            for &edge in outs.of(node) {
                let edge = edges[edge];
                rightward[edge.head] = rightward[edge.head].max(rightward[node] + edge.length);
            }
        }
        let mut leftward = wish.clone();
        for &node in order.iter().rev() {
            for &edge in ins.of(node) {
                let edge = edges[edge];
                leftward[edge.tail] = leftward[edge.tail].min(leftward[node] - edge.length);
            }
        }
        for node in 0..count {
            x[node] = (rightward[node] + leftward[node]).div_euclid(2);
        }
        // Halving may have lost a point.
        for &node in order.iter() {
            for &edge in outs.of(node) {
                let edge = edges[edge];
                x[edge.head] = x[edge.head].max(x[node] + edge.length);
            }
        }
    }
    Ok(x)
}

/// All nodes, tails before heads; nothing if there is a cycle.
fn topological(count: usize, edges: &Table<Constraint>, outs: &Lists, ins: &Lists) -> Option<Table<u32>> {
    let mut waits: Table<u32> = (0..count as u32).map(|node| ins.of(node).len() as u32).collect();
    let mut order: Table<u32> = (0..count as u32).filter(|node| waits[*node] == 0).collect();
    let mut at = 0;
    while at < order.len() {
        let node = order[at];
        at += 1;
        for &edge in outs.of(node) {
            let head = edges[edge].head;
            waits[head] -= 1;
            if waits[head] == 0 {
                order.add(head);
            }
        }
    }
    (order.len() == count).then_some(order)
}
