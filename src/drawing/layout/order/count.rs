//! The crossings of a finished order.

use super::super::layers::Layers;
use super::super::table::Table;
use super::numbers::number_places;
use crate::work::{Exhausted, Work};

/// How many edges cross between ranks, by the order of places alone.
///
/// # Errors
/// When the work is spent.
pub fn crossings(layers: &Layers, work: &mut Work) -> Result<i64, Exhausted> {
    let mut positions: Table<u32> = Table::filled(0, layers.places.len());
    number_places(layers, &mut positions);
    let mut below: Table<Vec<(u32, u32, i64)>> = Table::filled(Vec::new(), layers.rank_count);
    for step in layers.steps.iter() {
        let rank = layers.places[step.upper].rank;
        below[rank].push((positions[step.upper], positions[step.lower], i64::from(step.count)));
    }
    let mut total = 0;
    for rank in 0..layers.rank_count {
        let lines = &mut below[rank];
        work.spend(lines.len() as u64 * 4)?;
        lines.sort_unstable();
        let size = lines.iter().map(|line| line.1).max().unwrap_or(0) as usize + 1;
        let mut tree: Table<i64> = Table::filled(0, size + 1);
        let mut sum = 0;
        // Lines from one place come in the order of their lower ends: they do not count against each other.
        for &(_, lower, count) in lines.iter() {
            let mut through = 0;
            let mut node = lower as usize + 1;
            while node > 0 {
                through += tree[node];
                node &= node - 1;
            }
            total += (sum - through) * count;
            let mut node = lower as usize + 1;
            while node <= size {
                tree[node] += count;
                node += node & node.wrapping_neg();
            }
            sum += count;
        }
    }
    Ok(total)
}
