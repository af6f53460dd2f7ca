//! One generator for all polygons, ellipses and their kin.

use std::f64::consts::{PI, SQRT_2};

use super::kinds::{Family, Kind};
use super::model::{NodeShape, PlacedLabel, Ring};
use crate::geometry::{POINTS_PER_INCH, Point, Size};
use crate::graph::values::{Attributes, Value, leading_number};
use crate::html::label::{self, Label};
use crate::layout::Along;
use crate::style::Style;
use crate::text::Names;
use crate::warnings::Warnings;

/// The space between two peripheries.
const PERIPHERY_GAP: f64 = 4.0;

/// The space left and right, above and below a label, together, where `margin` says nothing.
pub(super) const DEFAULT_MARGIN: Size = Size::new(16.0, 8.0);

/// `width` and `height` where nothing is given, and the least of each, in inches.
const DEFAULT_WIDTH: f64 = 0.75;
const DEFAULT_HEIGHT: f64 = 0.5;
const SMALLEST_WIDTH: f64 = 0.01;
const SMALLEST_HEIGHT: f64 = 0.02;

/// A point's diameter where nothing is given, in inches.
const POINT_WIDTH: f64 = 0.05;

/// The corners of an ellipse that is no ellipse any more.
const ROUND_SIDES: usize = 120;

/// How much higher a cylinder is than what it holds.
const CYLINDER_STRETCH: f64 = 1.375;

/// What keeps a hostile shape from growing without bounds.
#[derive(Clone, Copy, Debug)]
struct Limits;

impl Limits {
    /// The most corners of a polygon; with more it is a circle to the eye.
    const SIDES: usize = 360;
    /// The most outlines of a node.
    const PERIPHERIES: usize = 64;
    /// The most corners of all outlines of a node.
    const CORNERS: usize = 1_000;
    /// The largest width, height or margin in inches.
    const INCHES: f64 = 10_000.0;
}

/// What the attributes make of a kind of shape.
struct Form {
    sides: usize,
    orientation: f64,
    distortion: f64,
    skew: f64,
    regular: bool,
    peripheries: usize,
}

impl Form {
    fn new(kind: &Kind, attributes: &dyn Attributes) -> Form {
        let is_polygon = kind.name == "polygon";
        let sides = attributes.whole("sides", 4, 0).min(Limits::SIDES as i64);
        let least_peripheries = 0;
        let peripheries = attributes.whole("peripheries", kind.peripheries as i64, least_peripheries);
        let own =
            |name: &str, default: f64| if is_polygon { attributes.number(name, default, -100.0) } else { default };
        let (distortion, skew) = (own("distortion", kind.distortion), own("skew", kind.skew));
        let sides = match if is_polygon { usize::try_from(sides).unwrap_or_default() } else { kind.sides } {
            // An ellipse that leans is a polygon of many sides.
            0..3 if distortion != 0.0 || skew != 0.0 => ROUND_SIDES,
            sides => sides,
        };
        Form {
            sides,
            orientation: kind.orientation + attributes.number("orientation", 0.0, -360.0),
            distortion,
            skew,
            regular: kind.regular || attributes.flag("regular", false),
            peripheries: usize::try_from(peripheries)
                .unwrap_or_default()
                .min(Limits::PERIPHERIES)
                .min(Limits::CORNERS / sides.max(1)),
        }
    }

    fn is_box(&self) -> bool {
        // Observed: a negative zero counts as a number of its own.
        let is_zero = |number: f64| number.to_bits() == 0;
        self.sides == 4 && self.orientation.round() as i64 % 90 == 0 && is_zero(self.distortion) && is_zero(self.skew)
    }
}

/// `width` and `height` in points.
pub(super) fn asked_size(attributes: &dyn Attributes, regular: bool) -> Size {
    let inches = |name, default, least| attributes.number(name, default, least).min(Limits::INCHES);
    let width = inches("width", DEFAULT_WIDTH, SMALLEST_WIDTH);
    let height = inches("height", DEFAULT_HEIGHT, SMALLEST_HEIGHT);
    let (width, height) = if regular {
        let side = match (attributes.text("width").is_some(), attributes.text("height").is_some()) {
            (true, true) => width.max(height),
            (true, false) => width,
            (false, true) => height,
            (false, false) => width.min(height),
        };
        (side, side)
    } else {
        (width, height)
    };
    Size::new(width * POINTS_PER_INCH, height * POINTS_PER_INCH)
}

/// The space `margin` adds on both sides together, in points.
pub(super) fn margin(attributes: &dyn Attributes) -> Option<Size> {
    let (x, rest) = leading_number(attributes.text("margin")?)?;
    let y = rest.trim_start().strip_prefix(',').and_then(leading_number).map_or(x, |(y, _)| y);
    let points = |inches: f64| 2.0 * POINTS_PER_INCH * inches.clamp(-Limits::INCHES, Limits::INCHES);
    Some(Size::new(points(x), points(y)))
}

/// `penwidth` in points, as far as the layout takes notice of it.
pub(super) fn pen_width(attributes: &dyn Attributes) -> f64 {
    Style::new(attributes, &mut Warnings::default()).pen_width()
}

/// The label of a node: its own, or its name.
pub(super) fn node_label(attributes: &dyn Attributes, names: &Names<'_>, warnings: &mut Warnings) -> Label {
    let value = attributes.value("label").unwrap_or(Value::Text("\\N"));
    Label::new(value, names, label::font(attributes, ""), warnings)
}

/// Whether and how `fixedsize` holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fixed {
    No,
    Yes,
    Shape,
}

pub(super) fn fixed(attributes: &dyn Attributes) -> Fixed {
    match attributes.text("fixedsize") {
        Some("shape") => Fixed::Shape,
        _ if attributes.flag("fixedsize", false) => Fixed::Yes,
        _ => Fixed::No,
    }
}

fn size_of_label(kind: &Kind, label: &Label, attributes: &dyn Attributes) -> Size {
    let size = label.size();
    if kind.name == "plain" || (size.width <= 0.0 && size.height <= 0.0) {
        return size;
    }
    let margin = margin(attributes).unwrap_or(DEFAULT_MARGIN);
    let padded = Size::new(size.width + margin.width, size.height + margin.height);
    let quantum = attributes.number("quantum", 0.0, 0.0);
    if quantum > 0.0 {
        let step = quantum * POINTS_PER_INCH;
        let up = |length: f64| (length / step).ceil() * step;
        return Size::new(up(padded.width), up(padded.height));
    }
    padded
}

/// A star around a box: the inner corners touch it.
fn star_around(size: Size) -> Size {
    let angle = PI / 10.0;
    let radius = (size.width / (2.0 * angle.cos())).max(size.height / (angle.sin() + (3.0 * angle).sin()));
    let outer = radius * (4.0 * angle).sin() * (2.0 * angle).cos() / (angle.cos() * (4.0 * angle).cos());
    Size::new(2.0 * outer * angle.cos(), outer * (1.0 + (3.0 * angle).sin()))
}

/// Grown until it has a star's ratio of width to height.
fn with_star_ratio(size: Size) -> Size {
    let angle = PI / 10.0;
    let ratio = (1.0 + (3.0 * angle).sin()) / (2.0 * angle.cos());
    if size.width * ratio > size.height {
        Size::new(size.width, size.width * ratio)
    } else {
        Size::new(size.height / ratio, size.height)
    }
}

/// Sizes a node of any family but records.
pub(super) fn size(kind: Kind, attributes: &dyn Attributes, names: &Names<'_>, warnings: &mut Warnings) -> NodeShape {
    if kind.family == Family::Point {
        return point(kind, attributes);
    }
    let form = Form::new(&kind, attributes);
    let label = node_label(attributes, names, warnings);
    let padded = size_of_label(&kind, &label, attributes);
    let is_plain = kind.name == "plain";
    let asked = if is_plain { Size::default() } else { asked_size(attributes, form.regular) };
    let along = match attributes.text("labelloc") {
        Some(place) if place.starts_with('t') => Some(Along::Top),
        Some(place) if place.starts_with('b') => Some(Along::Bottom),
        _ => None,
    };
    let around = around_label(&kind, &form, padded, asked, along.is_none());
    let how = fixed(attributes);
    let largest = |a: Size, b: Size| Size::new(a.width.max(b.width), a.height.max(b.height));
    let text = label.size();
    if how == Fixed::Yes && (asked.width < padded.width || asked.height < padded.height) {
        let node = names.node.unwrap_or_default();
        let graph = names.graph.unwrap_or_default();
        warnings.push(format!("node '{node}', graph '{graph}' size too small for label"));
    }
    let mut bounds = if how == Fixed::No { largest(around, asked) } else { asked };
    if form.regular {
        let side = bounds.width.max(bounds.height);
        bounds = Size::new(side, side);
    }
    // Lines may be as wide as the ellipse in the shape's box is at the height of the label.
    let room_width = if form.is_box() {
        bounds.width
    } else {
        let share = (padded.height / bounds.height).min(1.0);
        bounds.width * (1.0 - share * share).sqrt()
    };
    if kind.family == Family::Star {
        bounds = with_star_ratio(bounds);
    }
    let (rings, outer) = rings(&kind, &form, bounds);
    let mut size = largest(outer, bounds);
    if how == Fixed::Shape {
        size = largest(size, padded);
    }
    // What the outline takes away from the box on its way around the label.
    let lost_height = if form.is_box() { 0.0 } else { (around.height - padded.height).max(0.0) };
    let is_justified = !attributes.flag("nojustify", false);
    let width = if is_justified { room_width - (padded.width - text.width) } else { text.width };
    let room = Size::new(width, bounds.height - lost_height);
    NodeShape {
        kind,
        size,
        has_line: form.peripheries > 0,
        is_box: form.is_box(),
        pen_width: pen_width(attributes),
        rings,
        label: Some(PlacedLabel { label, room, along }),
        fields: Vec::new(),
    }
}

/// The box that holds the shape that holds the label.
fn around_label(kind: &Kind, form: &Form, padded: Size, asked: Size, is_centered: bool) -> Size {
    if kind.family == Family::Star {
        return star_around(padded);
    }
    if kind.family == Family::Cylinder {
        return Size::new(padded.width, padded.height * CYLINDER_STRETCH);
    }
    if form.is_box() {
        return padded;
    }
    // The ellipse around a box is wider and higher by the root of 2; where there is height to spare, it is only as
    // wide as it must be.
    let ellipse_height = padded.height * SQRT_2;
    let ellipse = if asked.height > ellipse_height && is_centered {
        let share = padded.height / asked.height;
        Size::new(padded.width * (1.0 / (1.0 - share * share)).sqrt(), padded.height)
    } else {
        Size::new(padded.width * SQRT_2, ellipse_height)
    };
    if form.sides > 2 {
        let factor = (PI / form.sides as f64).cos();
        Size::new(ellipse.width / factor, ellipse.height / factor)
    } else {
        ellipse
    }
}

/// The outlines of a shape in a box, innermost first, and the box about all of them.
fn rings(kind: &Kind, form: &Form, bounds: Size) -> (Vec<Ring>, Size) {
    let grown = |by: f64| Size::new(bounds.width + 2.0 * by, bounds.height + 2.0 * by);
    if form.sides < 3 {
        let rings: Vec<Ring> = (0..form.peripheries).map(|i| Ring::Ellipse(grown(i as f64 * PERIPHERY_GAP))).collect();
        let outer = match rings.last() {
            Some(Ring::Ellipse(size)) => *size,
            _ => bounds,
        };
        return (rings, outer);
    }
    let first = match kind.family {
        Family::Star => star(bounds),
        Family::Cylinder => cylinder(bounds),
        _ if form.is_box() && form.orientation == 0.0 => rectangle(bounds),
        _ => corners(form, bounds),
    };
    let outer_box = |points: &[Point]| {
        points.iter().fold(Size::default(), |size, point| {
            Size::new(size.width.max(2.0 * point.x.abs()), size.height.max(2.0 * point.y.abs()))
        })
    };
    let mut outer = bounds;
    let mut rings = Vec::with_capacity(form.peripheries.max(1));
    for i in 0..form.peripheries.max(1) {
        let ring = if i == 0 { first.clone() } else { offset(&first, i as f64 * PERIPHERY_GAP) };
        let size = outer_box(&ring);
        // Observed: a turned box is as large as its first outline.
        if i == 0 || !form.is_box() || form.orientation.rem_euclid(360.0) != 180.0 / 2.0 {
            outer = Size::new(outer.width.max(size.width), outer.height.max(size.height));
        }
        rings.push(Ring::Polygon(ring));
    }
    (rings, outer)
}

/// The corners of a box, from the upper right against the clock.
fn rectangle(size: Size) -> Vec<Point> {
    let (x, y) = (size.width / 2.0, size.height / 2.0);
    vec![Point::new(x, y), Point::new(-x, y), Point::new(-x, -y), Point::new(x, -y)]
}

/// The corners of a regular polygon, leaned, distorted, turned, and stretched to fill `bounds`.
///
/// What comes out may be larger than `bounds` (when it leans), never smaller.
fn corners(form: &Form, bounds: Size) -> Vec<Point> {
    let sector = 2.0 * PI / form.sides as f64;
    let side = (sector / 2.0).sin();
    let stretch = (form.distortion.abs() + form.skew.abs()).hypot(1.0);
    let distortion = form.distortion * SQRT_2 / (sector / 2.0).cos();
    let lean = form.skew / 2.0;
    let turn = form.orientation.to_radians();
    // Start below on the right, where the lowest side ends, so that this side lies flat.
    let start = (sector - PI) / 2.0;
    let mut place = Point::new(0.5 * start.cos(), 0.5 * start.sin());
    let mut angle = start + (PI - sector) / 2.0;
    let mut points = Vec::with_capacity(form.sides);
    for _ in 0..form.sides {
        angle += sector;
        place = place + Point::new(side * angle.cos(), side * angle.sin());
        let leaned = Point::new(place.x * (stretch + place.y * distortion) + place.y * lean, place.y);
        let turned =
            Point::new(leaned.x * turn.cos() - leaned.y * turn.sin(), leaned.x * turn.sin() + leaned.y * turn.cos());
        points.push(Point::new(turned.x * bounds.width, turned.y * bounds.height));
    }
    let largest = points.iter().fold(Point::default(), |max, p| Point::new(max.x.max(p.x.abs()), max.y.max(p.y.abs())));
    let scale = |max: f64, length: f64| if max > 0.0 { (length / 2.0 / max).max(1.0) } else { 1.0 };
    let (x, y) = (scale(largest.x, bounds.width), scale(largest.y, bounds.height));
    points.iter().map(|p| Point::new(p.x * x, p.y * y)).collect()
}

/// The ten corners of a star.
fn star(bounds: Size) -> Vec<Point> {
    let angle = PI / 10.0;
    let outer = bounds.width / (2.0 * angle.cos());
    let inner = outer * angle.cos() * (4.0 * angle).cos() / ((4.0 * angle).sin() * (2.0 * angle).cos());
    // The centre of the star lies below the middle of its box.
    let shift = outer * (1.0 - (3.0 * angle).sin()) / 2.0;
    (0..10)
        .map(|i| {
            let radius = if i % 2 == 0 { outer } else { inner };
            let direction = angle + 2.0 * angle * f64::from(i);
            Point::new(radius * direction.cos(), radius * direction.sin() - shift)
        })
        .collect()
}

/// Part of a radius between the end of a quarter of an ellipse and its control point.
const QUARTER: f64 = 0.551784;

/// The control points of a drum's outline: curves, all around.
fn cylinder(bounds: Size) -> Vec<Point> {
    let (x, y) = (bounds.width / 2.0, bounds.height / 2.0);
    let depth = bounds.height / 11.0;
    let (near, low, high) = (QUARTER * x, y - depth, y - (1.0 - QUARTER) * depth);
    let p = Point::new;
    vec![
        p(x, low),
        p(x, high),
        p(near, y),
        p(0.0, y),
        p(-near, y),
        p(-x, high),
        p(-x, low),
        p(-x, low),
        p(-x, -low),
        p(-x, -low),
        p(-x, -high),
        p(-near, -y),
        p(0.0, -y),
        p(near, -y),
        p(x, -high),
        p(x, -low),
        p(x, -low),
        p(x, low),
        p(x, low),
    ]
}

/// The polygon whose sides lie `by` further out.
pub(super) fn offset(points: &[Point], by: f64) -> Vec<Point> {
    let count = points.len();
    let at = |i: usize| points.get(i % count.max(1)).copied().unwrap_or_default();
    (0..count)
        .map(|i| {
            let here = at(i);
            let different = |p: Point| p.distance(here) > 1e-9;
            let before = (1..count).map(|k| at(i + count - k)).find(|p| different(*p)).unwrap_or(here);
            let after = (1..count).map(|k| at(i + k)).find(|p| different(*p)).unwrap_or(here);
            let (d1, d2) = ((here - before).unit(), (after - here).unit());
            // Outward normals of a polygon that runs against the clock.
            let (n1, n2) = (Point::new(d1.y, -d1.x), Point::new(d2.y, -d2.x));
            let middle = n1 + n2;
            let share = middle.dot(n1);
            if share.abs() < 1e-9 { here + n1 * by } else { here + middle * (by / share) }
        })
        .collect()
}

/// A dot. It has no label, and a size of its own.
fn point(kind: Kind, attributes: &dyn Attributes) -> NodeShape {
    let form = Form::new(&kind, attributes);
    let inches = |name, least: f64| {
        let (number, _) = attributes.text(name).and_then(leading_number)?;
        Some(number.clamp(least, Limits::INCHES))
    };
    let asked = match (inches("width", SMALLEST_WIDTH), inches("height", SMALLEST_HEIGHT)) {
        (Some(width), Some(height)) => Some(width.min(height)),
        (one, other) => one.or(other),
    };
    let side = asked.unwrap_or(POINT_WIDTH) * POINTS_PER_INCH;
    let (rings, outer) = rings(&kind, &form, Size::new(side, side));
    NodeShape {
        kind,
        size: outer,
        has_line: form.peripheries > 0,
        is_box: false,
        pen_width: pen_width(attributes),
        rings,
        label: None,
        fields: Vec::new(),
    }
}
