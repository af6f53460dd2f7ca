//! What must keep an order, whatever it crosses.

use super::super::layers::Layers;
use super::super::model::{self, Input};
use super::super::nest::Nest;

/// Who must stand to the left of whom on a rank: tails of flat edges before heads, and what `ordering` asks for.
pub fn rules(input: &Input, nest: &Nest, layers: &Layers) -> Vec<(u32, u32)> {
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
