//! Where places stand on their ranks, clusters opened.

use super::super::layers::{Kind, Layers};
use super::super::table::Table;

/// Numbers the places of each rank from left to right, those of clusters before what they hold.
pub fn number_places(layers: &Layers, positions: &mut Table<u32>) {
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
