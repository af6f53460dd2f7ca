//! Where curves end: at the outlines of nodes, at the boxes of clusters, and an arrow's length before.

use super::curve::{self, Cubic};
use crate::geometry::{Point, Rect};
use crate::layout::model::Outline;

/// A shape that curves are cut off at.
#[derive(Clone, Copy, Debug)]
pub enum Shape<'a> {
    /// The outline of a node about its centre.
    Node(&'a Outline, Point, Rect),
    /// A box.
    Box(Rect),
}

impl Shape<'_> {
    /// Whether a point lies inside.
    pub fn holds(&self, point: Point) -> bool {
        match self {
            Shape::Box(bounds) | Shape::Node(Outline::Box, _, bounds) => bounds.holds(point, 0.0),
            Shape::Node(Outline::Ellipse(size), center, _) => {
                let from = point - *center;
                let (x, y) = (from.x / (size.width / 2.0).max(0.01), from.y / (size.height / 2.0).max(0.01));
                x * x + y * y <= 1.0
            }
            Shape::Node(Outline::Polygon(corners), center, _) => is_in_polygon(corners, point - *center),
        }
    }
}

fn is_in_polygon(corners: &[Point], point: Point) -> bool {
    let mut inside = false;
    let Some(mut last) = corners.last().copied() else { return false };
    for &corner in corners {
        if (corner.y > point.y) != (last.y > point.y) {
            let x = corner.x + (point.y - corner.y) / (last.y - corner.y) * (last.x - corner.x);
            if point.x < x {
                inside = !inside;
            }
        }
        last = corner;
    }
    inside
}

/// Cuts off what lies inside `shape` at the start; leaves curves as they are that never leave it or start outside.
pub fn clip_start(curves: &mut Vec<Cubic>, shape: &Shape<'_>) {
    let Some([start, ..]) = curves.first() else { return };
    if !shape.holds(*start) {
        return;
    }
    let Some(index) = curves.iter().position(|[.., end]| !shape.holds(*end)) else { return };
    if let Some(curve) = curves.get_mut(index) {
        let (mut inside, mut outside) = (0.0, 1.0);
        for _ in 0..30 {
            let middle: f64 = f64::midpoint(inside, outside);
            if shape.holds(curve::at(curve, middle)) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        *curve = curve::split(curve, outside).1;
    }
    curves.drain(..index);
}

/// The same at the end.
pub fn clip_end(curves: &mut Vec<Cubic>, shape: &Shape<'_>) {
    let mut turned = curve::reversed(curves);
    clip_start(&mut turned, shape);
    *curves = curve::reversed(&turned);
}

/// Takes `length` off the start for an arrow; gives where it began. Short curves give at most a third of themselves.
pub fn cut_start(curves: &mut Vec<Cubic>, length: f64) -> Option<Point> {
    let [tip, ..] = *curves.first()?;
    if length <= 0.0 {
        return Some(tip);
    }
    let whole: f64 = curves.iter().map(curve::length).sum();
    let length = if whole < length * 3.0 { (whole / 3.0).min(length) } else { length };
    let index = curves.iter().position(|[.., end]| end.distance(tip) > length)?;
    if let Some(curve) = curves.get_mut(index) {
        let (mut near, mut far) = (0.0, 1.0);
        for _ in 0..30 {
            let middle: f64 = f64::midpoint(near, far);
            if curve::at(curve, middle).distance(tip) < length {
                near = middle;
            } else {
                far = middle;
            }
        }
        *curve = curve::split(curve, far).1;
    }
    curves.drain(..index);
    Some(tip)
}

/// The same at the end.
pub fn cut_end(curves: &mut Vec<Cubic>, length: f64) -> Option<Point> {
    let mut turned = curve::reversed(curves);
    let tip = cut_start(&mut turned, length);
    *curves = curve::reversed(&turned);
    tip
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Size;

    #[test]
    fn a_line_ends_on_the_outline() {
        let mut curves = vec![curve::line(Point::new(0.0, 0.0), Point::new(100.0, 0.0))];
        let outline = Outline::Ellipse(Size::new(40.0, 20.0));
        clip_start(&mut curves, &Shape::Node(&outline, Point::default(), Rect::default()));
        assert!((curves[0][0].x - 20.0).abs() < 1e-3, "{curves:?}");
        assert_eq!(cut_end(&mut curves, 10.0), Some(Point::new(100.0, 0.0)));
        assert!((curves[0][3].x - 90.0).abs() < 1e-3, "{curves:?}");
    }

    #[test]
    fn short_curves_keep_something_of_themselves() {
        let mut curves = vec![curve::line(Point::new(0.0, 0.0), Point::new(9.0, 0.0))];
        cut_end(&mut curves, 10.0);
        assert!((curves[0][3].x - 6.0).abs() < 1e-3, "{curves:?}");
    }
}
