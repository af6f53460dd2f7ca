//! Cubic Bezier curves: points on them, parts of them, their bounds.

use crate::geometry::{Point, Rect};

/// A cubic: start, two control points, end.
pub type Cubic = [Point; 4];

/// The straight line as a cubic.
pub fn line(from: Point, to: Point) -> Cubic {
    [from, from.toward(to, 1.0 / 3.0), from.toward(to, 2.0 / 3.0), to]
}

/// The point at `t`.
pub fn at(curve: &Cubic, t: f64) -> Point {
    let [a, b, c, d] = *curve;
    let s = 1.0 - t;
    a * (s * s * s) + b * (3.0 * s * s * t) + c * (3.0 * s * t * t) + d * (t * t * t)
}

/// The parts before and after `t`.
pub fn split(curve: &Cubic, t: f64) -> (Cubic, Cubic) {
    let [a, b, c, d] = *curve;
    let (ab, bc, cd) = (a.toward(b, t), b.toward(c, t), c.toward(d, t));
    let (abc, bcd) = (ab.toward(bc, t), bc.toward(cd, t));
    let middle = abc.toward(bcd, t);
    ([a, ab, abc, middle], [middle, bcd, cd, d])
}

/// The cubics of a chain of 3n + 1 points.
pub fn cubics(points: &[Point]) -> Vec<Cubic> {
    let mut curves = Vec::with_capacity(points.len() / 3);
    let mut rest = points;
    while let [a, b, c, d, ..] = rest {
        curves.push([*a, *b, *c, *d]);
        rest = rest.get(3..).unwrap_or_default();
    }
    curves
}

/// The chain of points of cubics that follow each other.
pub fn chain(curves: &[Cubic]) -> Vec<Point> {
    let mut points = Vec::with_capacity(curves.len() * 3 + 1);
    for curve in curves {
        let [a, b, c, d] = *curve;
        if points.is_empty() {
            points.push(a);
        }
        points.extend([b, c, d]);
    }
    points
}

/// The other way around.
pub fn reversed(curves: &[Cubic]) -> Vec<Cubic> {
    curves.iter().rev().map(|[a, b, c, d]| [*d, *c, *b, *a]).collect()
}

/// The box around the curve itself, not its control points.
pub fn bounds(curve: &Cubic) -> Rect {
    let mut bounds = Rect::EMPTY;
    let [a, b, c, d] = *curve;
    bounds.include(a);
    bounds.include(d);
    let own = Rect::new(bounds.low, bounds.high);
    if own.holds(b, 0.0) && own.holds(c, 0.0) {
        return bounds;
    }
    for extremum in extrema(a.x, b.x, c.x, d.x).into_iter().chain(extrema(a.y, b.y, c.y, d.y)).flatten() {
        bounds.include(at(curve, extremum));
    }
    bounds
}

/// The corners of the boxes around a chain of curves.
pub fn corners(points: &[Point]) -> impl Iterator<Item = Point> {
    cubics(points).into_iter().flat_map(|cubic| {
        let bounds = bounds(&cubic);
        [bounds.low, bounds.high]
    })
}

/// Where one coordinate turns, between 0 and 1.
fn extrema(a: f64, b: f64, c: f64, d: f64) -> [Option<f64>; 2] {
    let (p, q, r) = (d - 3.0 * c + 3.0 * b - a, 2.0 * (c - 2.0 * b + a), b - a);
    let inside = |t: f64| (t > 0.0 && t < 1.0).then_some(t);
    if p.abs() < 1e-9 {
        return if q.abs() < 1e-9 { [None, None] } else { [inside(-r / q), None] };
    }
    let root = q * q - 4.0 * p * r;
    if root < 0.0 {
        return [None, None];
    }
    let root = root.sqrt();
    [inside((-q + root) / (2.0 * p)), inside((-q - root) / (2.0 * p))]
}

/// How long it is, about.
pub fn length(curve: &Cubic) -> f64 {
    let mut last = at(curve, 0.0);
    let mut length = 0.0;
    for step in 1..=12 {
        let next = at(curve, f64::from(step) / 12.0);
        length += last.distance(next);
        last = next;
    }
    length
}

/// The point half way along curves that follow each other.
pub fn middle(curves: &[Cubic]) -> Option<Point> {
    let half = curves.iter().map(length).sum::<f64>() / 2.0;
    let mut gone = 0.0;
    for curve in curves {
        let own = length(curve);
        if gone + own >= half && own > 0.0 {
            return Some(at(curve, (half - gone) / own));
        }
        gone += own;
    }
    curves.first().map(|curve| at(curve, 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_meet_on_the_curve() {
        let curve = [Point::new(0.0, 0.0), Point::new(0.0, 9.0), Point::new(9.0, 9.0), Point::new(9.0, 0.0)];
        let (before, after) = split(&curve, 0.3);
        assert!(before[3].distance(at(&curve, 0.3)) < 1e-9 && after[0].distance(before[3]) < 1e-9);
        assert!((bounds(&curve).high.y - 6.75).abs() < 1e-9, "{:?}", bounds(&curve));
    }
}
