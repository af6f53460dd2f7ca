//! Smooth curves along a way: least squares with given tangents, after Schneider, checked against the corridor, as
//! Dobkin, Gansner, Koutsofios and North describe in "Implementing a General-Purpose Edge Router" (1997).

use super::corridor::Corridor;
use super::curve::{self, Cubic};
use crate::geometry::Point;
use crate::work::{Exhausted, Work};

/// How far apart the points of a curve lie that are looked at: closer than any box is high.
const SAMPLE_DISTANCE: f64 = 6.0;

/// Curves along `path` that stay inside `corridor`; `start` and `end` are directions, both along the way, or nothing.
///
/// # Errors
/// When the work is spent.
pub fn fit(
    path: &[Point],
    start: Option<Point>,
    end: Option<Point>,
    corridor: &Corridor,
    work: &mut Work,
) -> Result<Vec<Cubic>, Exhausted> {
    let mut curves = Vec::new();
    let (Some(&first), Some(&last)) = (path.first(), path.last()) else { return Ok(curves) };
    if path.len() < 2 {
        return Ok(vec![curve::line(first, last)]);
    }
    let mut todo: Vec<(usize, usize, Option<Point>, Option<Point>)> = vec![(0, path.len() - 1, start, end)];
    while let Some((low, high, from, into)) = todo.pop() {
        let part = path.get(low..=high).unwrap_or_default();
        work.spend(part.len() as u64 * 12 + 352)?;
        match fit_one(part, from, into, corridor) {
            Ok(curve) => curves.push(curve),
            Err(worst) => {
                let at = low + worst;
                let (Some(&before), Some(&here), Some(&after)) =
                    (at.checked_sub(1).and_then(|at| path.get(at)), path.get(at), path.get(at + 1))
                else {
                    continue;
                };
                let tangent = ((here - before).unit() + (after - here).unit()).unit();
                // The first part is taken off the stack first.
                todo.push((at, high, Some(tangent), into));
                todo.push((low, at, from, Some(tangent)));
            }
        }
    }
    Ok(curves)
}

/// One curve along the points, or the point to divide them at. An end without a direction takes none: the curve then
/// begins to turn where it begins, and is one sweep up to where it has to have a direction.
fn fit_one(points: &[Point], from: Option<Point>, into: Option<Point>, corridor: &Corridor) -> Result<Cubic, usize> {
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return Err(0) };
    let parameters = by_length(points);
    if points.len() == 2 && from.is_none() && into.is_none() {
        return Ok(curve::line(first, last));
    }
    let (from, into) = (from.unwrap_or_default(), into.unwrap_or_default());
    let (a, b) = least_squares(points, &parameters, from, into);
    for factor in [1.0, 0.7, 0.45, 0.25, 0.1] {
        let curve = [first, first + from * (a * factor), last - into * (b * factor), last];
        if is_inside(&curve, corridor) {
            return Ok(curve);
        }
    }
    if points.len() == 2 {
        // The way itself is inside.
        return Ok(curve::line(first, last));
    }
    let curve = [first, first + from * a, last - into * b, last];
    let mut worst = (0.0, 1);
    for (index, (point, t)) in points.iter().zip(&parameters).enumerate().take(points.len() - 1).skip(1) {
        let distance = curve::at(&curve, *t).distance(*point);
        if distance > worst.0 {
            worst = (distance, index);
        }
    }
    Err(worst.1)
}

fn is_inside(curve: &Cubic, corridor: &Corridor) -> bool {
    let [a, b, c, d] = *curve;
    let length = a.distance(b) + b.distance(c) + c.distance(d);
    let samples = (length / SAMPLE_DISTANCE).clamp(12.0, 400.0) as u32;
    (1..samples).all(|step| corridor.holds(curve::at(curve, f64::from(step) / f64::from(samples))))
}

fn by_length(points: &[Point]) -> Vec<f64> {
    let mut total = 0.0;
    let mut sums = vec![0.0];
    for (a, b) in points.iter().zip(points.iter().skip(1)) {
        total += a.distance(*b);
        sums.push(total);
    }
    if total > 0.0 {
        sums.iter_mut().for_each(|sum| *sum /= total);
    }
    sums
}

/// How far to go along both tangents.
fn least_squares(points: &[Point], parameters: &[f64], from: Point, into: Point) -> (f64, f64) {
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return (0.0, 0.0) };
    let (mut c00, mut c01, mut c11, mut x0, mut x1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (point, &t) in points.iter().zip(parameters) {
        let s = 1.0 - t;
        let (b0, b1, b2, b3) = (s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t);
        let (a0, a1) = (from * b1, into * -b2);
        c00 += a0.dot(a0);
        c01 += a0.dot(a1);
        c11 += a1.dot(a1);
        let rest = *point - (first * (b0 + b1) + last * (b2 + b3));
        x0 += a0.dot(rest);
        x1 += a1.dot(rest);
    }
    let third = first.distance(last) / 3.0;
    // Of an end without a direction nothing is asked, and the other has the whole say.
    let alone = |x: f64, c: f64| if c > 1e-6 && (1e-3..third * 6.0).contains(&(x / c)) { x / c } else { third };
    if c00 < 1e-6 || c11 < 1e-6 {
        return (alone(x0, c00), alone(x1, c11));
    }
    let determinant = c00 * c11 - c01 * c01;
    if determinant.abs() < 1e-6 {
        return (third, third);
    }
    let a = (x0 * c11 - x1 * c01) / determinant;
    let b = (c00 * x1 - c01 * x0) / determinant;
    let far = third * 6.0;
    if a < 1e-3 || b < 1e-3 || a > far || b > far { (third, third) } else { (a, b) }
}
