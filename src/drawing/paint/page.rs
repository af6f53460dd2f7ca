//! The whole picture: how much of it there is, and what lies behind it.

use super::pen::Pen;
use super::scene::{Item, Scene};
use crate::geometry::{POINTS_PER_INCH, Point, Rect, Size};
use crate::graph::values::{Attributes, leading_number};
use crate::style::{Color, Fill, Share, Stroke, Style, colors, fill_of};

/// Space around the drawing where `pad` says nothing, in points.
const DEFAULT_PAD: f64 = 4.0;

/// The largest `pad`, `margin`, `size` and `dpi` that are taken as such.
const LARGEST: f64 = 10_000.0;

/// The background: white, `bgcolor`, or nothing where that is transparent.
pub(super) fn background(pen: &mut Pen<'_>, scene: &mut Scene) {
    let root = pen.graph.root();
    let scheme = root.text("colorscheme").unwrap_or_default();
    let list = match root.text("bgcolor") {
        Some(text) => colors(text, scheme, &mut pen.warnings),
        None => vec![Share { color: Color::named("white", [255; 4]), share: None }],
    };
    let style = Style::new(&root, &mut pen.warnings);
    let (low, high) = (scene.bounds.low - scene.pad, scene.bounds.high + scene.pad);
    let bounds = Rect::new(low, high);
    let angle = root.number("gradientangle", 0.0, f64::MIN);
    let fill = fill_of(&list, style.radial, angle, bounds, &mut pen.warnings);
    scene.has_background = fill != Fill::None;
    if scene.has_background {
        let points = vec![low, Point::new(low.x, high.y), high, Point::new(high.x, low.y)];
        scene.items.push(Item::Polygon { points, fill, stroke: Stroke::default() });
    }
}

/// `pad` in points.
pub(super) fn pad(attributes: &dyn Attributes) -> Point {
    points_of(attributes, "pad").unwrap_or(Point::new(DEFAULT_PAD, DEFAULT_PAD))
}

/// `margin` in points.
pub(super) fn margin(attributes: &dyn Attributes) -> Point {
    points_of(attributes, "margin").unwrap_or_default()
}

/// One or two numbers of inches: across and along.
fn points_of(attributes: &dyn Attributes, name: &str) -> Option<Point> {
    let (x, rest) = attributes.text(name).and_then(leading_number)?;
    let y = rest.trim_start().strip_prefix(',').and_then(leading_number).map_or(x, |(y, _)| y);
    let points = |inches: f64| inches.clamp(0.0, LARGEST) * POINTS_PER_INCH;
    Some(Point::new(points(x), points(y)))
}

pub(super) fn is_rotated(attributes: &dyn Attributes) -> bool {
    match attributes.text("rotate") {
        Some(_) => attributes.whole("rotate", 0, i64::MIN) == 90,
        None => {
            let turned = attributes.text("orientation").is_some_and(|text| text.starts_with(['l', 'L']));
            turned || attributes.flag("landscape", false)
        }
    }
}

pub(super) fn dots_per_inch(attributes: &dyn Attributes) -> Option<f64> {
    let name = if attributes.text("dpi").is_some() { "dpi" } else { "resolution" };
    attributes.text(name)?;
    Some(attributes.number(name, 0.0, 0.0)).filter(|dpi| *dpi > 0.0).map(|dpi| dpi.min(LARGEST))
}

/// `size`, in points, and whether the picture also grows to it (`!`).
fn size_limit(attributes: &dyn Attributes) -> Option<(Size, bool)> {
    let text = attributes.text("size")?;
    let (x, rest) = leading_number(text)?;
    let y = rest.trim_start().strip_prefix(',').and_then(leading_number).map_or(x, |(y, _)| y);
    let points = |inches: f64| inches.min(LARGEST) * POINTS_PER_INCH;
    (x > 0.0 && y > 0.0).then(|| (Size::new(points(x), points(y)), text.trim_end().ends_with('!')))
}

/// What `size` makes of the picture.
pub(super) fn zoom(attributes: &dyn Attributes, scene: &Scene) -> f64 {
    let Some((limit, grows)) = size_limit(attributes) else { return 1.0 };
    let width = scene.bounds.width() + 2.0 * scene.pad.x;
    let height = scene.bounds.height() + 2.0 * scene.pad.y;
    // Observed: the size is that before the turn.
    if width <= 0.0 || height <= 0.0 {
        return 1.0;
    }
    let share = (limit.width / width).min(limit.height / height);
    if share < 1.0 || grows { share } else { 1.0 }
}
