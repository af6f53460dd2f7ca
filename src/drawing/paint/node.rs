//! Nodes: outline, filling, ornaments, label.

use super::corners;
use super::pen::{LabelColors, Pen, Placed, bounds_of, moved};
use super::scene::Item;
use crate::geometry::{Point, Rect};
use crate::graph::values::Attributes;
use crate::shapes::{Family, NodeShape, Ornament, Ring};
use crate::style::{Fill, Share, Stroke, Style, colors, fill_of, solid};

/// Half the height at which the lines of an `Mcircle` cross it, as a share of its radius.
const CHORD: f64 = 0.75;

/// The colour `fillcolor` or, without it, `color` names; `default` if neither does.
pub(super) fn fill_colors(pen: &mut Pen<'_>, attributes: &dyn Attributes, default: &str) -> Vec<Share> {
    let scheme = attributes.text("colorscheme").unwrap_or_default();
    let text = attributes.text("fillcolor").or_else(|| attributes.text("color"));
    let (text, scheme) = text.map_or((default, ""), |text| (text, scheme));
    colors(text, scheme, &mut pen.warnings)
}

/// Paints a node about `center`; `id` is its element's.
pub(super) fn paint(
    pen: &mut Pen<'_>,
    attributes: &dyn Attributes,
    shape: &NodeShape,
    center: Point,
    id: &str,
) -> Vec<Item> {
    let style = Style::new(attributes, &mut pen.warnings);
    if style.invisible {
        return Vec::new();
    }
    let line = pen.color(attributes, "color", "black");
    let is_point = shape.kind.family == Family::Point;
    let is_record = shape.kind.family == Family::Record;
    let mut items = Vec::new();
    let bounds = shape.rings.first().map(|ring| bounds_of(ring, center)).unwrap_or_default();
    let is_round = matches!(shape.rings.first(), Some(Ring::Ellipse(_)));
    let is_striped = style.striped && shape.is_box && !is_record;
    let is_wedged = style.wedged && is_round && !is_point;
    let is_filled = (style.filled || style.radial || is_point) && !is_striped && !is_wedged;
    let fill = if is_filled {
        let default = if is_point { "black" } else { "lightgrey" };
        let list = fill_colors(pen, attributes, default);
        let angle = attributes.number("gradientangle", 0.0, f64::MIN);
        fill_of(&list, style.radial, angle, bounds, &mut pen.warnings)
    } else {
        Fill::None
    };
    if is_striped || is_wedged {
        let list = fill_colors(pen, attributes, "lightgrey");
        let stroke = Stroke { width: Some(0.5), ..Style::default().stroke(&line) };
        let parts = if is_striped { stripes(&list, bounds, &stroke) } else { wedges(&list, bounds, &stroke) };
        items.extend(parts);
    }
    let stroke = if shape.has_line { style.stroke(&line) } else { Stroke::default() };
    let rings = if shape.has_line || style.filled { shape.rings.as_slice() } else { &[] };
    for (index, ring) in rings.iter().enumerate() {
        let fill = if index == 0 { fill.clone() } else { Fill::None };
        let mut outline = outline(shape, &style, ring, center, fill, &stroke);
        outline.iter_mut().for_each(corners::fit_gradient);
        items.extend(outline);
    }
    let colors = LabelColors::new(pen, attributes, id);
    if is_record {
        items.extend(fields(pen, shape, center, &stroke, &colors));
    } else if let Some(placed) = &shape.label {
        let placed = Placed { label: &placed.label, center, room: placed.room, along: placed.along };
        items.extend(placed.paint(pen, colors.look()));
    }
    items
}

/// One outline.
fn outline(shape: &NodeShape, style: &Style, ring: &Ring, center: Point, fill: Fill, stroke: &Stroke) -> Vec<Item> {
    let ornament = shape.kind.ornament;
    match ring {
        Ring::Ellipse(size) => {
            let radii = Point::new(size.width / 2.0, size.height / 2.0);
            let mut items = vec![Item::Ellipse { center, radii, fill, stroke: stroke.clone() }];
            if style.diagonals || ornament == Ornament::Diagonals {
                let x = radii.x * (1.0 - CHORD * CHORD).sqrt();
                for y in [CHORD * radii.y, -CHORD * radii.y] {
                    let points = vec![center + Point::new(x, y), center + Point::new(-x, y)];
                    items.push(Item::Polyline { points, stroke: stroke.clone() });
                }
            }
            items
        }
        Ring::Polygon(points) => {
            let mut points = moved(points, center);
            if shape.kind.family == Family::Record {
                // Records are drawn from below on the left: plain ones up, the others to the right.
                points.rotate_left(2);
                if !style.rounded && !style.diagonals && ornament != Ornament::Rounded {
                    points.reverse();
                    points.rotate_left(3);
                }
            }
            if shape.kind.family == Family::Cylinder {
                return cylinder(points, fill, stroke);
            }
            if ornament == Ornament::Biology
                && let Some(items) = corners::biology(shape.kind.name, &points, &fill, stroke)
            {
                return items;
            }
            if let Some(items) = corners::ornamented(ornament, &points, fill.clone(), stroke) {
                return items;
            }
            if style.diagonals || ornament == Ornament::Diagonals {
                let lines = corners::diagonals(&points, stroke);
                let mut items = vec![Item::Polygon { points, fill, stroke: stroke.clone() }];
                items.extend(lines);
                items
            } else if style.rounded || ornament == Ornament::Rounded {
                vec![Item::Path { points: corners::rounded(&points), fill, stroke: stroke.clone() }]
            } else {
                vec![Item::Polygon { points, fill, stroke: stroke.clone() }]
            }
        }
    }
}

/// A drum: its outline, and the front edge of its lid, which is the back edge turned over.
fn cylinder(points: Vec<Point>, fill: Fill, stroke: &Stroke) -> Vec<Item> {
    let lid: Vec<Point> = points.iter().take(7).copied().collect();
    let level = lid.first().copied().unwrap_or_default().y;
    let front = lid.iter().map(|p| Point::new(p.x, 2.0 * level - p.y)).collect();
    vec![
        Item::Path { points, fill, stroke: stroke.clone() },
        Item::Path { points: front, fill: Fill::None, stroke: stroke.clone() },
    ]
}

/// The texts of a record's fields, and the lines between them.
fn fields(pen: &mut Pen<'_>, shape: &NodeShape, center: Point, stroke: &Stroke, colors: &LabelColors<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    // Each field with the line before it, in the order of painting; the last of `open` is painted next.
    let mut open: Vec<(usize, Option<[Point; 2]>)> = vec![(0, None)];
    while let Some((index, line)) = open.pop() {
        let Some(field) = shape.fields.get(index) else { continue };
        if let Some(ends) = line {
            items.push(Item::Polyline { points: moved(&ends, center), stroke: stroke.clone() });
        }
        if let Some(placed) = &field.label {
            let center = center + field.rect.center();
            let placed = Placed { label: &placed.label, center, room: placed.room, along: None };
            items.extend(placed.paint(pen, colors.look()));
        }
        for (i, child) in field.children.iter().enumerate().rev() {
            let rect = shape.fields.get(*child).map(|child| child.rect).unwrap_or_default();
            let upper_left = Point::new(rect.low.x, rect.high.y);
            let line = if field.is_row { [rect.low, upper_left] } else { [upper_left, rect.high] };
            open.push((*child, (i > 0).then_some(line)));
        }
    }
    items
}

/// How wide each colour's part is: what is not said is shared evenly.
pub(super) fn shares(list: &[Share]) -> Vec<f64> {
    let said: f64 = list.iter().filter_map(|part| part.share).sum();
    let silent = list.iter().filter(|part| part.share.is_none()).count();
    let rest = (1.0 - said).max(0.0);
    let each = if silent > 0 { rest / silent as f64 } else { 0.0 };
    let mut left = 1.0_f64;
    list.iter()
        .map(|part| {
            let share = part.share.unwrap_or(each).min(left).max(0.0);
            left -= share;
            share
        })
        .collect()
}

/// Upright stripes across a box.
pub(super) fn stripes(list: &[Share], bounds: Rect, stroke: &Stroke) -> Vec<Item> {
    let shares = shares(list);
    let mut x = bounds.low.x;
    let mut items = Vec::new();
    for (i, (part, share)) in list.iter().zip(&shares).enumerate() {
        let end = if i + 1 == list.len() { bounds.high.x } else { x + share * bounds.width() };
        if *share > 0.0 {
            let p = Point::new;
            let (low, high) = (bounds.low.y, bounds.high.y);
            let points = vec![p(x, low), p(end, low), p(end, high), p(x, high)];
            items.push(Item::Polygon { points, fill: solid(&part.color), stroke: stroke.clone() });
        }
        x = end;
    }
    items
}

/// Slices of an ellipse, from the right against the clock.
fn wedges(list: &[Share], bounds: Rect, stroke: &Stroke) -> Vec<Item> {
    let center = bounds.center();
    let radii = Point::new(bounds.width() / 2.0, bounds.height() / 2.0);
    let on = |angle: f64| center + Point::new(radii.x * angle.cos(), radii.y * angle.sin());
    let mut start = 0.0;
    let mut items = Vec::new();
    let shares = shares(list);
    for (i, (part, share)) in list.iter().zip(&shares).enumerate() {
        let full = std::f64::consts::TAU;
        let end = if i + 1 == list.len() { full } else { start + share * full };
        if *share > 0.0 {
            let pieces = ((end - start) / (full / 16.0)).ceil().max(1.0);
            let step = (end - start) / pieces;
            let bend = 4.0 / 3.0 * (step / 4.0).tan();
            let mut points = vec![center, center, on(start), on(start)];
            for piece in 0..pieces as usize {
                let (a, b) = (start + step * piece as f64, start + step * (piece + 1) as f64);
                let tangent = |angle: f64| Point::new(-radii.x * angle.sin(), radii.y * angle.cos());
                points.extend([on(a) + tangent(a) * bend, on(b) - tangent(b) * bend, on(b)]);
            }
            points.extend([on(end), center, center]);
            items.push(Item::Path { points, fill: solid(&part.color), stroke: stroke.clone() });
        }
        start = end;
    }
    items
}
