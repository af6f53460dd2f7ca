//! Stub.
use super::layers::Layers;
use super::model::*;
use super::nest::Nest;
use super::place::Positions;
use crate::geometry::Point;
use crate::work::{Exhausted, Work};
pub fn route(
    input: &Input,
    _nest: &Nest,
    layers: &Layers,
    positions: &Positions,
    _work: &mut Work,
) -> Result<Vec<Route>, Exhausted> {
    let mut routes = vec![Route::default(); input.edges.len()];
    for chain in layers.chains.iter() {
        let pts: Vec<Point> = chain.places.iter().map(|p| positions.at(layers, *p)).collect();
        let mut b = vec![];
        for w in pts.windows(2) {
            if b.is_empty() {
                b.push(w[0]);
            }
            b.push(w[0].toward(w[1], 1.0 / 3.0));
            b.push(w[0].toward(w[1], 2.0 / 3.0));
            b.push(w[1]);
        }
        for &e in &chain.edges {
            routes[e as usize].beziers = vec![b.clone()];
        }
    }
    Ok(routes)
}
pub fn bounds_of(b: &[Point]) -> Vec<Point> {
    b.to_vec()
}
