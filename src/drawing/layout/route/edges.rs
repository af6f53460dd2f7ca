//! The routes of all edges.

use super::super::layers::{Kind, Layers};
use super::super::model::{Input, Route, Splines};
use super::super::nest::Nest;
use super::super::place::Positions;
use super::super::table::Table;
use super::router::Router;
use super::{curve, ortho};
use crate::work::{Care, Exhausted, Work};

/// Share of the work, in percent of what is left, past which curves become polylines, and those straight.
const CURVES_SHARE: u64 = 60;

/// Finds the routes of all edges, in the order of the input.
///
/// # Errors
/// When the work is spent.
pub fn route(
    input: &Input,
    nest: &Nest,
    layers: &Layers,
    positions: &Positions,
    work: &mut Work,
) -> Result<Vec<Route>, Exhausted> {
    let mut router = Router {
        input,
        nest,
        layers,
        positions,
        ranks: Table::filled(Vec::new(), layers.rank_count),
        slots: Table::filled(0, layers.places.len()),
        left_end: f64::INFINITY,
        right_end: f64::NEG_INFINITY,
        is_junction: junctions(input, layers),
        routes: vec![Route::default(); input.edges.len()],
    };
    let mut list = Vec::new();
    for rank in 0..layers.rank_count {
        layers.flatten(rank as u32, &mut list);
        for (slot, place) in list.iter().enumerate() {
            router.slots[*place] = slot as u32;
        }
        router.ranks[rank] = list.clone();
    }
    for (index, place) in layers.places.iter().enumerate() {
        if place.kind != Kind::Cluster {
            let x = positions.x[index];
            router.left_end = router.left_end.min(x - place.left - 20.0);
            router.right_end = router.right_end.max(x + place.right + 20.0);
        }
    }
    router.labels_of_chains();
    if input.splines == Splines::None {
        return Ok(router.routes);
    }
    let mark = work.share(CURVES_SHARE);
    if input.splines == Splines::Ortho && ortho::route(&mut router, work)? {
        return Ok(router.routes);
    }
    for chain in 0..layers.chains.len() {
        if work.is_past(mark) {
            work.degrade(Care::Polylines);
        }
        router.route_chain(chain, work)?;
    }
    for &edge in &layers.direct {
        work.spend(64)?;
        let ends = router.edge(edge).map(|edge| (edge.tail as u32, edge.tail_end, edge.head as u32, edge.head_end));
        if let Some((tail, tail_end, head, head_end)) = ends {
            let line = curve::line(router.aim(tail, &tail_end), router.aim(head, &head_end));
            let label = router.edge(edge).and_then(|edge| edge.label).map(|size| router.beside(&line, size));
            if let (Some(_), Some(route)) = (label, router.routes.get_mut(edge as usize)) {
                route.label = label;
            }
            router.finish(edge, vec![line]);
        }
    }
    router.route_flats(work)?;
    router.route_loops(work)?;
    Ok(router.routes)
}

/// Where shared ways meet or part.
fn junctions(input: &Input, layers: &Layers) -> Table<bool> {
    if !input.concentrate {
        return Table::new();
    }
    let mut ups: Table<u32> = Table::filled(0, layers.places.len());
    let mut downs: Table<u32> = Table::filled(0, layers.places.len());
    for step in layers.steps.iter() {
        ups[step.lower] += 1;
        downs[step.upper] += 1;
    }
    ups.iter().zip(downs.iter()).map(|(up, down)| *up > 1 || *down > 1).collect()
}
