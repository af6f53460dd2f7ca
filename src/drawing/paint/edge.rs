//! Edges: curves in one colour or several, arrows, labels.

use super::pen::{LabelColors, Pen, Placed};
use super::scene::Item;
use super::{link, node};
use crate::geometry::Point;
use crate::graph::values::Attributes;
use crate::html::label::Label;
use crate::layout::Route;
use crate::plan::EdgePlan;
use crate::shapes::arrows::{Piece, ends};
use crate::style::{Color, Dash, Fill, Share, Stroke, Style, colors, solid};
use crate::text::Names;

/// The space between parallel curves of one edge, in points.
const PARALLEL_GAP: f64 = 2.0;

/// Pieces a curve of a tapered edge is cut into.
const TAPER_PIECES: usize = 20;

/// Paints an edge with its labels. `id` is its element's.
pub(super) fn paint(
    pen: &mut Pen<'_>,
    attributes: &dyn Attributes,
    names: &Names<'_>,
    plan: &EdgePlan,
    route: &Route,
    id: &str,
) -> Vec<Item> {
    let style = Style::new(attributes, &mut pen.warnings);
    let mut items = Vec::new();
    let scheme = attributes.text("colorscheme").unwrap_or_default();
    let list = match attributes.text("color") {
        Some(text) => colors(text, scheme, &mut pen.warnings),
        None => vec![Share { color: Color::black(), share: None }],
    };
    let fill = attributes.text("fillcolor").map(|_| pen.color(attributes, "fillcolor", "black"));
    if !style.invisible {
        let curves = body(&style, &list, route, ends(attributes, pen.graph.directed));
        items.extend(curves);
        items.extend(arrows(&style, &list, fill.as_ref(), plan, route));
    }
    let own = link::of(attributes, names, "edge", link::label_text(attributes, "label"), &mut pen.warnings);
    let mut out = link::wrap(id, own, items);
    if style.invisible {
        return out;
    }
    let colors = LabelColors::new(pen, attributes, id);
    let at_ends = match attributes.text("labelfontcolor") {
        Some(_) => LabelColors { font: pen.color(attributes, "labelfontcolor", "black"), ..colors.clone() },
        None => colors.clone(),
    };
    let decorate = attributes.flag("decorate", false);
    let labels = [
        (&plan.label, route.label, "label", "label", &colors),
        (&plan.outer_label, route.outer_label, "label", "xlabel", &colors),
        (&plan.head_label, route.head_label, "head", "headlabel", &at_ends),
        (&plan.tail_label, route.tail_label, "tail", "taillabel", &at_ends),
    ];
    for (label, place, prefix, name, colors) in labels {
        let (Some(label), Some(place)) = (label, place) else { continue };
        let mut items = Placed::at(label, place).paint(pen, colors.look());
        if decorate && matches!(name, "label" | "xlabel") {
            items.extend(decoration(label, place, route, &colors.font));
        }
        let suffix = if name == "xlabel" { "label" } else { name };
        let text = link::label_text(attributes, if name == "xlabel" { "label" } else { name });
        let own = link::of(attributes, names, prefix, text, &mut pen.warnings);
        out.extend(link::wrap(&format!("{id}-{suffix}"), own, items));
    }
    out
}

/// The curves of an edge.
fn body(style: &Style, list: &[Share], route: &Route, ends: (bool, bool)) -> Vec<Item> {
    let first = list.first().map(|part| part.color.clone()).unwrap_or_else(Color::black);
    let path = |points: Vec<Point>, color: &Color| Item::Path { points, fill: Fill::None, stroke: style.stroke(color) };
    let mut items = Vec::new();
    for curve in &route.beziers {
        if style.tapered {
            let points = taper(curve, style.pen_width(), ends);
            items.push(Item::Polygon {
                points,
                fill: solid(&first),
                stroke: Stroke { color: None, ..style.stroke(&first) },
            });
        } else if list.len() < 2 {
            items.push(path(curve.clone(), &first));
        } else if list.iter().any(|part| part.share.is_some()) {
            items.extend(segments(curve, list).into_iter().map(|(points, color)| path(points, &color)));
        } else {
            let middle = (list.len() as f64 - 1.0) / 2.0;
            for (i, part) in list.iter().enumerate() {
                let aside = (i as f64 - middle) * PARALLEL_GAP;
                items.push(path(parallel(curve, aside), &part.color));
            }
        }
    }
    items
}

/// The curve `aside` points to the left of another, as seen along it downwards.
fn parallel(curve: &[Point], aside: f64) -> Vec<Point> {
    let direction = |i: usize| -> Point {
        let at = |i: usize| curve.get(i).copied().unwrap_or_default();
        let (before, after) = (at(i.saturating_sub(1)), at((i + 1).min(curve.len().saturating_sub(1))));
        (after - before).unit()
    };
    curve
        .iter()
        .enumerate()
        .map(|(i, point)| {
            let d = direction(i);
            *point + Point::new(-d.y, d.x) * aside
        })
        .collect()
}

/// A curve cut into parts of the colours' shares.
fn segments(curve: &[Point], list: &[Share]) -> Vec<(Vec<Point>, Color)> {
    let shares = node::shares(list);
    let pieces: Vec<[Point; 4]> = beziers(curve);
    let lengths: Vec<f64> = pieces.iter().map(length).collect();
    let total: f64 = lengths.iter().sum();
    let mut out = Vec::new();
    let (mut piece, mut done) = (0_usize, 0.0_f64);
    let mut sum = 0.0;
    for (i, (part, share)) in list.iter().zip(&shares).enumerate() {
        sum += share;
        let is_last = i + 1 == list.len();
        let mut goal = if is_last { f64::INFINITY } else { sum * total };
        let mut points: Vec<Point> = Vec::new();
        let before: f64 = lengths.iter().take(piece).sum();
        goal -= before;
        let mut at = 0.0;
        while let (Some(bezier), Some(length)) = (pieces.get(piece), lengths.get(piece)) {
            let end = if *length > 0.0 { ((goal - at) / length).min(1.0) } else { 1.0 };
            if end > done {
                let cut = between(bezier, done, end);
                let skip = usize::from(!points.is_empty());
                points.extend(cut.into_iter().skip(skip));
                done = end;
            }
            if done < 1.0 {
                break;
            }
            at += length;
            piece += 1;
            done = 0.0;
        }
        if points.len() > 3 {
            out.push((points, part.color.clone()));
        }
    }
    out
}

fn beziers(curve: &[Point]) -> Vec<[Point; 4]> {
    let windows = curve.windows(4).step_by(3);
    windows.filter_map(|window| <[Point; 4]>::try_from(window).ok()).collect()
}

/// The length of a curve, by its chords.
fn length(bezier: &[Point; 4]) -> f64 {
    let steps = 16;
    let places: Vec<Point> = (0..=steps).map(|i| place(bezier, f64::from(i) / f64::from(steps))).collect();
    places.iter().zip(places.iter().skip(1)).map(|(a, b)| a.distance(*b)).sum()
}

fn place([a, b, c, d]: &[Point; 4], t: f64) -> Point {
    let (ab, bc, cd) = (a.toward(*b, t), b.toward(*c, t), c.toward(*d, t));
    ab.toward(bc, t).toward(bc.toward(cd, t), t)
}

/// The part of a curve between two of its parameters.
fn between(bezier: &[Point; 4], from: f64, to: f64) -> [Point; 4] {
    let until = |[a, b, c, d]: [Point; 4], t: f64| -> [Point; 4] {
        let (ab, bc, cd) = (a.toward(b, t), b.toward(c, t), c.toward(d, t));
        let (abc, bcd) = (ab.toward(bc, t), bc.toward(cd, t));
        [a, ab, abc, abc.toward(bcd, t)]
    };
    let reversed = |[a, b, c, d]: [Point; 4]| [d, c, b, a];
    let head = until(*bezier, to);
    let share = if to > 0.0 { 1.0 - from / to } else { 1.0 };
    reversed(until(reversed(head), share))
}

/// The outline of an edge that is nothing at the ends `dir` points to, and as wide as its pen at the others.
fn taper(curve: &[Point], width: f64, ends: (bool, bool)) -> Vec<Point> {
    let mut line = Vec::new();
    for bezier in beziers(curve) {
        let skip = usize::from(!line.is_empty());
        line.extend((skip..=TAPER_PIECES).map(|i| place(&bezier, i as f64 / TAPER_PIECES as f64)));
    }
    let steps: Vec<f64> = line.iter().zip(line.iter().skip(1)).map(|(a, b)| a.distance(*b)).collect();
    let total: f64 = steps.iter().sum();
    let mut sides = (Vec::new(), Vec::new());
    let mut gone = 0.0;
    for (i, point) in line.iter().enumerate() {
        let share = if total > 0.0 { gone / total } else { 0.0 };
        let thick = match ends {
            (false, false) => 1.0,
            (false, true) => 1.0 - share,
            (true, false) => share,
            (true, true) => 1.0 - (2.0 * share - 1.0).abs(),
        };
        let at = |i: usize| line.get(i).copied().unwrap_or(*point);
        let direction = (at(i + 1) - at(i.saturating_sub(1))).unit();
        let aside = Point::new(-direction.y, direction.x) * (thick * width / 2.0);
        sides.0.push(*point + aside);
        sides.1.push(*point - aside);
        gone += steps.get(i).copied().unwrap_or_default();
    }
    sides.0.extend(sides.1.into_iter().rev());
    sides.0
}

/// The arrows at both ends.
fn arrows(style: &Style, list: &[Share], fill: Option<&Color>, plan: &EdgePlan, route: &Route) -> Vec<Item> {
    let has_shares = list.iter().any(|part| part.share.is_some());
    let color = |i: usize| list.get(i.min(list.len().saturating_sub(1))).map(|part| part.color.clone());
    // Observed: with parallel curves the head has the first colour and the tail the second; with parts of a curve
    // each end has that of its part.
    let (tail, head) = match (list.len(), has_shares) {
        (0 | 1, _) => (color(0), color(0)),
        (_, true) => (color(0), color(list.len() - 1)),
        (_, false) => (color(1), color(0)),
    };
    let mut items = Vec::new();
    let [tail_arrow, head_arrow] = &plan.arrows;
    let first = route.beziers.first().and_then(|curve| curve.first());
    let last = route.beziers.last().and_then(|curve| curve.last());
    let ends = [(tail_arrow, route.tail_arrow, first, tail), (head_arrow, route.head_arrow, last, head)];
    for (arrow, tip, base, color) in ends {
        let (Some(arrow), Some(tip), Some(base)) = (arrow, tip, base) else { continue };
        let color = color.unwrap_or_else(Color::black);
        // Arrows are drawn with whole lines.
        let stroke = Stroke { dash: Dash::Solid, ..style.stroke(&color) };
        let inside = solid(fill.unwrap_or(&color));
        let filled = |filled: bool| if filled { inside.clone() } else { Fill::None };
        items.extend(arrow.pieces(tip, *base).into_iter().map(|piece| match piece {
            Piece::Polygon { points, filled: is } => Item::Polygon { points, fill: filled(is), stroke: stroke.clone() },
            Piece::Line(ends) => Item::Polyline { points: ends.to_vec(), stroke: stroke.clone() },
            Piece::Curve(points) => Item::Path { points: points.to_vec(), fill: Fill::None, stroke: stroke.clone() },
            Piece::Circle { center, radius, filled: is } => {
                let radii = Point::new(radius, radius);
                Item::Ellipse { center, radii, fill: filled(is), stroke: stroke.clone() }
            }
        }));
    }
    items
}

/// `decorate`: the line below a label, and from there to its edge.
fn decoration(label: &Label, place: Point, route: &Route, color: &Color) -> Option<Item> {
    let size = label.size();
    let y = place.y - size.height / 2.0;
    let (left, right) = (place.x - size.width / 2.0, place.x + size.width / 2.0);
    let places = route
        .beziers
        .iter()
        .flat_map(|curve| beziers(curve))
        .flat_map(|bezier| (0..=8).map(move |i| self::place(&bezier, f64::from(i) / 8.0)).collect::<Vec<_>>());
    let nearest = places.min_by(|a, b| a.distance(place).total_cmp(&b.distance(place)))?;
    let points = vec![Point::new(right, y), Point::new(left, y), nearest];
    Some(Item::Polyline { points, stroke: Style::default().stroke(color) })
}
