//! What is drawn at the corners of a polygon: rounded ends, lines across, folded and shaded ones.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::scene::Item;
use crate::geometry::{Point, Rect};
use crate::shapes::Ornament;
use crate::style::{Fill, Stroke};

/// How far from a corner its rounding begins, in points.
const RADIUS: f64 = 12.0;

/// The corners of a polygon with the places where their roundings begin.
struct Corners<'a> {
    points: &'a [Point],
    radius: f64,
}

impl Corners<'_> {
    fn new(points: &[Point]) -> Corners<'_> {
        let next = points.iter().cycle().skip(1);
        let shortest = points.iter().zip(next).map(|(a, b)| a.distance(*b)).fold(f64::INFINITY, f64::min);
        Corners { points, radius: RADIUS.min(shortest / 3.0) }
    }

    fn at(&self, i: usize) -> Point {
        self.points.get(i % self.points.len().max(1)).copied().unwrap_or_default()
    }

    /// The side from corner `i` to the next, without its roundings.
    fn side(&self, i: usize) -> (Point, Point) {
        let (from, to) = (self.at(i), self.at(i + 1));
        let step = (to - from).unit() * self.radius;
        (from + step, to - step)
    }
}

/// The closed curve around a polygon with rounded corners.
pub(super) fn rounded(points: &[Point]) -> Vec<Point> {
    let corners = Corners::new(points);
    let (start, _) = corners.side(0);
    let mut path = vec![start];
    for i in 0..points.len() {
        let (from, to) = corners.side(i);
        let corner = corners.at(i + 1);
        let (next, _) = corners.side(i + 1);
        path.extend([from, to, to, to.toward(corner, 0.5), next.toward(corner, 0.5), next]);
    }
    path
}

/// Lines across the corners.
pub(super) fn diagonals(points: &[Point], stroke: &Stroke) -> Vec<Item> {
    let corners = Corners::new(points);
    (0..points.len())
        .map(|i| {
            let (_, end) = corners.side(i);
            let (start, _) = corners.side(i + 1);
            Item::Polyline { points: vec![end, start], stroke: stroke.clone() }
        })
        .collect()
}

/// An outline with its ornament. `points` are the corners of a box, from the upper right against the clock.
pub(super) fn ornamented(ornament: Ornament, points: &[Point], fill: Fill, stroke: &Stroke) -> Option<Vec<Item>> {
    let corners = Corners::new(points);
    let (ur, ul, ll, lr) = match points {
        [ur, ul, ll, lr] => (*ur, *ul, *ll, *lr),
        _ => return None,
    };
    let r = corners.radius;
    let third = r / 3.0;
    let p = |from: Point, x: f64, y: f64| from + Point::new(x, y);
    let line = |points: Vec<Point>| Item::Polyline { points, stroke: stroke.clone() };
    let mut items = Vec::new();
    let outline = |items: &mut Vec<Item>, points: Vec<Point>, fill: Fill| {
        items.push(Item::Polygon { points, fill, stroke: stroke.clone() });
    };
    match ornament {
        Ornament::Note => {
            let (top, right) = (p(ur, -r / 2.0, 0.0), p(ur, 0.0, -r / 2.0));
            let fold = p(ur, -r / 2.0, -r / 2.0);
            outline(&mut items, vec![top, ul, ll, lr, right], fill);
            items.push(line(vec![top, fold]));
            items.push(line(vec![right, fold]));
        }
        Ornament::Tab => {
            let (foot, top) = (p(ul, r, 0.0), p(ul, r, third));
            outline(&mut items, vec![ur, foot, top, p(ul, 0.0, third), ll, lr], fill);
            items.push(line(vec![ul, foot]));
        }
        Ornament::Folder => {
            let top = [p(ur, -r / 4.0, third), p(ur, -2.0 * r, third), p(ur, -2.25 * r, 0.0)];
            outline(&mut items, vec![ur, top[0], top[1], top[2], ul, ll, lr], fill);
        }
        Ornament::Box3d => {
            let front = p(ur, -third, -third);
            let (left, right) = (p(ul, 0.0, -third), p(lr, -third, 0.0));
            outline(&mut items, vec![ur, p(ul, third, 0.0), left, ll, right, p(lr, 0.0, third)], fill);
            items.push(line(vec![front, left]));
            items.push(line(vec![front, right]));
            items.push(line(vec![front, ur]));
        }
        Ornament::Component => {
            let (a, b) = (p(ul, 0.0, -third), p(ul, 0.0, -2.0 * third));
            let (c, d) = (p(ll, 0.0, 2.0 * third), p(ll, 0.0, third));
            let out = |from: Point| p(from, -third, 0.0);
            let inside = |from: Point| p(from, third, 0.0);
            outline(&mut items, vec![ur, ul, a, out(a), out(b), b, c, out(c), out(d), d, ll, lr], fill);
            items.push(line(vec![a, inside(a), inside(b), b]));
            items.push(line(vec![c, inside(c), inside(d), d]));
        }
        Ornament::Underline => {
            items.push(Item::Polygon { points: points.to_vec(), fill, stroke: Stroke::default() });
            items.push(line(vec![ll, lr]));
        }
        Ornament::None | Ornament::Diagonals | Ornament::Rounded | Ornament::Biology => return None,
    }
    Some(items)
}

/// A part of a shape of synthetic biology: whether it is closed, and its corners as parts of width and height and as
/// points.
type Outline = (bool, Vec<[f64; 4]>);

static BIOLOGY: LazyLock<HashMap<&'static str, Vec<Outline>>> = LazyLock::new(|| {
    let mut shapes: HashMap<&'static str, Vec<Outline>> = HashMap::new();
    let mut name = "";
    for line in include_str!("biology.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((kind, corners)) = line.split_once(' ') else {
            name = line;
            continue;
        };
        let corners = corners.split(' ').filter_map(|corner| {
            let numbers: Vec<f64> = corner.split(',').filter_map(|number| number.parse().ok()).collect();
            <[f64; 4]>::try_from(numbers).ok()
        });
        shapes.entry(name).or_default().push((kind == "p", corners.collect()));
    }
    shapes
});

/// A shape of synthetic biology in place of a box. `None` if it is none.
pub(super) fn biology(name: &str, points: &[Point], fill: &Fill, stroke: &Stroke) -> Option<Vec<Item>> {
    let parts = BIOLOGY.get(name)?;
    let mut bounds = Rect::EMPTY;
    points.iter().for_each(|point| bounds.include(*point));
    let unit = Corners::new(points).radius / RADIUS;
    let (center, width, height) = (bounds.center(), bounds.width(), bounds.height());
    let place = |[a, b, c, d]: &[f64; 4]| center + Point::new(a * width + b * unit, c * height + d * unit);
    let items = parts.iter().map(|(is_closed, corners)| {
        let points = corners.iter().map(place).collect();
        match is_closed {
            true => Item::Polygon { points, fill: fill.clone(), stroke: stroke.clone() },
            false => Item::Polyline { points, stroke: stroke.clone() },
        }
    });
    Some(items.collect())
}

/// Gradients go from end to end of what is drawn, ornaments included.
pub(super) fn fit_gradient(item: &mut Item) {
    let (Item::Polygon { points, fill: Fill::Gradient(gradient), .. }
    | Item::Path { points, fill: Fill::Gradient(gradient), .. }) = item
    else {
        return;
    };
    let mut bounds = Rect::EMPTY;
    points.iter().for_each(|point| bounds.include(*point));
    gradient.bounds = bounds;
}
