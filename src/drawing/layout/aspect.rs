//! `ratio`: the drawing pulled apart until it is as wide or as tall as asked for. Nodes keep their size.

use super::layers::{Kind, Layers};
use super::model::{Input, Ratio};
use super::place::{CLUSTER_GAP, Positions};
use crate::geometry::{Point, Rect, Size};

/// Scales the positions as `ratio` and `size` ask for. Gives what the drawing then takes up, whether nodes, which do not
/// grow, reach its borders or not; empty if it is as large as what is in it.
pub fn stretch(input: &Input, layers: &Layers, positions: &mut Positions) -> Rect {
    let bounds = bounds(input, layers, positions);
    let (width, height) = (bounds.width(), bounds.height());
    // Observed: what stands on one rank stays as it is.
    if width < 1.0 || height < 1.0 || layers.rank_count < 2 {
        return Rect::EMPTY;
    }
    let (x, y) = factors(input, width, height);
    let known = |factor: f64| factor.is_finite() && (1.0..1e4).contains(&factor);
    if !known(x) || !known(y) || (x - 1.0).max(y - 1.0) < 1e-3 {
        return Rect::EMPTY;
    }
    positions.x.iter_mut().for_each(|at| *at *= x);
    positions.y.iter_mut().for_each(|at| *at *= y);
    let scaled = |at: Point| Point::new(at.x * x, at.y * y);
    for cluster in positions.clusters.iter_mut().filter(|cluster| !cluster.is_empty()) {
        *cluster = Rect::new(scaled(cluster.low), scaled(cluster.high));
    }
    Rect::new(scaled(bounds.low), scaled(bounds.high))
}

/// How much wider and how much taller.
fn factors(input: &Input, width: f64, height: f64) -> (f64, f64) {
    // Wider or taller until height is `ratio` times width.
    let to_ratio = |ratio: f64| {
        let now = height / width;
        if ratio <= 0.0 {
            (1.0, 1.0)
        } else if now < ratio {
            (1.0, ratio / now)
        } else {
            (now / ratio, 1.0)
        }
    };
    match (input.ratio, input.size) {
        (Ratio::Value(ratio), _) => to_ratio(ratio),
        (Ratio::Fill, Some((Size { width: w, height: h }, _))) if w > 0.0 && h > 0.0 => {
            let (x, y) = (w / width, h / height);
            if x >= 1.0 && y >= 1.0 { (x, y) } else { to_ratio(h / w) }
        }
        (Ratio::Expand, Some((Size { width: w, height: h }, _))) if w > width && h > height => {
            let factor = (w / width).min(h / height);
            (factor, factor)
        }
        _ => (1.0, 1.0),
    }
}

fn bounds(input: &Input, layers: &Layers, positions: &Positions) -> Rect {
    let mut bounds = Rect::EMPTY;
    for (index, place) in layers.places.iter().enumerate() {
        let at = Point::new(positions.x[index], positions.y[place.rank]);
        if place.kind == Kind::Real {
            let size = input.nodes.get(index).map_or(Size::default(), |node| node.size);
            bounds.include_rect(Rect::around(at, size));
        } else if place.kind != Kind::Cluster {
            bounds.include(at);
        }
    }
    let gap = Point::new(CLUSTER_GAP, CLUSTER_GAP);
    for cluster in positions.clusters.iter().filter(|cluster| !cluster.is_empty()) {
        bounds.include_rect(Rect::new(cluster.low - gap, cluster.high + gap));
    }
    bounds
}
