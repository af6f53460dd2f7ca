//! The whole way of a layout: ranks, order, coordinates, routes, labels.

use super::layers::{Bends, Layers};
use super::model::{Along, ClusterBox, ClusterRank, Input, Output, RankDirection};
use super::nest::Nest;
use super::place::Positions;
use super::turn::Turn;
use super::{aspect, concentrate, order, place, rank, route, same};
use crate::geometry::{Point, Rect};
use crate::work::{Exhausted, Work};

/// Lays out a graph.
///
/// # Errors
/// When the work is spent before there is a drawing, however plain.
pub fn layout(input: &Input, work: &mut Work) -> Result<Output, Exhausted> {
    let turn = Turn(input.rank_direction);
    let turned;
    let inner = if input.rank_direction == RankDirection::TopBottom {
        input
    } else {
        turned = turn.input(input);
        &turned
    };
    work.spend((inner.nodes.len() + inner.edges.len() + inner.clusters.len()) as u64)?;
    let nest = Nest::new(inner, inner.cluster_rank == ClusterRank::Local);
    let ranking = rank::ranks(inner, &nest, work)?;
    let (layers, mut positions) = best_placed(inner, &nest, &ranking, work)?;
    let stretched = aspect::stretch(inner, &layers, &mut positions);
    let mut output = Output {
        nodes: (0..inner.nodes.len() as u32).map(|node| positions.at(&layers, node)).collect(),
        sizes: inner.nodes.iter().map(|node| node.size).collect(),
        node_labels: vec![None; inner.nodes.len()],
        clusters: (0..inner.clusters.len())
            .map(|index| ClusterBox {
                bounds: positions.clusters.look(index + 1).copied().unwrap_or(Rect::EMPTY),
                label: None,
            })
            .collect(),
        ranks: (0..inner.nodes.len() as u32).map(|node| layers.places[node].rank).collect(),
        bounds: stretched,
        ..Output::default()
    };
    let joined = same::joined(inner, &layers, &positions).map(|edges| Input { edges, ..inner.clone() });
    output.edges = route::route(joined.as_ref().unwrap_or(inner), &nest, &layers, &positions, work)?;
    turn.output(&mut output);
    route::place_labels(input, &mut output, work)?;
    finish(input, &nest, &mut output);
    Ok(output)
}

/// What a crossing is worth, in points of edges.
const CROSSING_POINTS: f64 = 30.0;

/// The layers in order, with their coordinates. Edges between clusters may bend inside or outside of them: where there
/// is work enough both are tried, and the one with shorter edges and fewer crossings is taken.
fn best_placed(
    input: &Input,
    nest: &Nest,
    ranking: &rank::Ranking,
    work: &mut Work,
) -> Result<(Layers, Positions), Exhausted> {
    let before = work.spent();
    let outside = placed(input, nest, ranking, Bends::Outside, work)?;
    let cost = work.spent() - before;
    if nest.count() == 1 || cost > work.left() / 4 {
        return Ok(outside);
    }
    let inside = placed(input, nest, ranking, Bends::Inside, work)?;
    Ok(if badness(&inside, work)? < 0.98 * badness(&outside, work)? { inside } else { outside })
}

fn placed(
    input: &Input,
    nest: &Nest,
    ranking: &rank::Ranking,
    bends: Bends,
    work: &mut Work,
) -> Result<(Layers, Positions), Exhausted> {
    let mut layers = Layers::new(input, nest, ranking, bends, work)?;
    order::order(input, nest, &mut layers, input.is_sideways(), work)?;
    layers.settle_flats();
    if input.concentrate {
        concentrate::concentrate(input, &mut layers, work)?;
    }
    let positions = place::place(input, nest, &layers, ranking.doubled, input.is_sideways(), work)?;
    Ok((layers, positions))
}

/// How long edges are, and how often they cross.
fn badness((layers, positions): &(Layers, Positions), work: &mut Work) -> Result<f64, Exhausted> {
    work.spend(layers.steps.len() as u64)?;
    let length: f64 = layers
        .steps
        .iter()
        .map(|step| {
            let (upper, lower) = (positions.at(layers, step.upper), positions.at(layers, step.lower));
            upper.distance(lower) * f64::from(step.count)
        })
        .sum();
    Ok(length + CROSSING_POINTS * order::crossings(layers, work)? as f64)
}

/// Labels of clusters and of the graph, the box around everything, its lower left corner at the origin.
fn finish(input: &Input, nest: &Nest, output: &mut Output) {
    for (index, cluster) in input.clusters.iter().enumerate() {
        let Some(place) = output.clusters.get_mut(index) else { continue };
        if nest.is_used.look(index + 1) == Some(&true)
            && let Some(label) = cluster.label
        {
            place.label = Some(place::label_in(place.bounds, label.size, label.along, label.across));
        }
    }
    let mut bounds = output.bounds;
    for (at, size) in output.nodes.iter().zip(&output.sizes) {
        bounds.include_rect(Rect::around(*at, *size));
    }
    for cluster in output.clusters.iter().filter(|cluster| !cluster.bounds.is_empty()) {
        let gap = Point::new(place::CLUSTER_GAP, place::CLUSTER_GAP);
        bounds.include_rect(Rect::new(cluster.bounds.low - gap, cluster.bounds.high + gap));
    }
    for (route, edge) in output.edges.iter().zip(&input.edges) {
        for point in route.beziers.iter().flat_map(|bezier| route::curve::corners(bezier)) {
            bounds.include(point);
        }
        let labels = [
            (route.label, edge.label),
            (route.outer_label, edge.outer_label),
            (route.tail_label, edge.tail_end.label),
            (route.head_label, edge.head_end.label),
        ];
        for (at, size) in labels {
            if let (Some(at), Some(size)) = (at, size) {
                bounds.include_rect(Rect::around(at, size));
            }
        }
    }
    for (at, node) in output.node_labels.iter().zip(&input.nodes) {
        if let (Some(at), Some(size)) = (at, node.outer_label) {
            bounds.include_rect(Rect::around(*at, size));
        }
    }
    if bounds.is_empty() {
        bounds = Rect::default();
    }
    if let Some(label) = input.label {
        let missing = (label.size.width - bounds.width()).max(0.0) / 2.0;
        bounds.low.x -= missing;
        bounds.high.x += missing;
        match label.along {
            Along::Top => bounds.high.y += label.size.height,
            Along::Bottom => bounds.low.y -= label.size.height,
        }
        output.label = Some(place::label_in(bounds, label.size, label.along, label.across));
    }
    shift(output, bounds.low);
    output.bounds = Rect::new(Point::default(), bounds.high - bounds.low);
}

/// Moves everything so that `origin` is where it says.
fn shift(output: &mut Output, origin: Point) {
    let point = |p: &mut Point| *p = *p - origin;
    let maybe = |p: &mut Option<Point>| *p = p.map(|p| p - origin);
    output.nodes.iter_mut().for_each(point);
    output.node_labels.iter_mut().for_each(maybe);
    for route in &mut output.edges {
        route.beziers.iter_mut().flatten().for_each(point);
        for place in [
            &mut route.tail_arrow,
            &mut route.head_arrow,
            &mut route.label,
            &mut route.outer_label,
            &mut route.tail_label,
            &mut route.head_label,
        ] {
            maybe(place);
        }
    }
    for cluster in &mut output.clusters {
        if !cluster.bounds.is_empty() {
            cluster.bounds = Rect::new(cluster.bounds.low - origin, cluster.bounds.high - origin);
        }
        maybe(&mut cluster.label);
    }
    maybe(&mut output.label);
}
