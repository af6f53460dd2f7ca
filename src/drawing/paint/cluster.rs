//! Clusters: their boxes.

use super::pen::Pen;
use super::scene::Item;
use super::{corners, node};
use crate::geometry::{Point, Rect};
use crate::graph::values::Attributes;
use crate::style::{Fill, Stroke, Style, colors, fill_of};

/// The box of a cluster.
pub(super) fn paint(pen: &mut Pen<'_>, attributes: &dyn Attributes, bounds: Rect) -> Vec<Item> {
    let style = Style::new(attributes, &mut pen.warnings);
    if style.invisible {
        return Vec::new();
    }
    let scheme = attributes.text("colorscheme").unwrap_or_default();
    let is_filled = style.filled || style.radial;
    let filling = if is_filled {
        attributes.text("fillcolor").or_else(|| attributes.text("color")).or_else(|| attributes.text("bgcolor"))
    } else {
        attributes.text("bgcolor")
    };
    let filling = filling.or(if is_filled { Some("lightgrey") } else { None });
    let angle = attributes.number("gradientangle", 0.0, f64::MIN);
    let line = pen.color(attributes, if attributes.text("pencolor").is_some() { "pencolor" } else { "color" }, "black");
    let peripheries = attributes.whole("peripheries", 1, 0);
    let stroke = if peripheries == 0 { Stroke { color: None, ..style.stroke(&line) } } else { style.stroke(&line) };
    let (low, high) = (bounds.low, bounds.high);
    let corners = vec![low, Point::new(low.x, high.y), high, Point::new(high.x, low.y)];
    let mut items = Vec::new();
    let fill = match filling {
        _ if style.striped => {
            let text = attributes.text("bgcolor").or_else(|| attributes.text("fillcolor"));
            let text = text.or_else(|| attributes.text("color")).unwrap_or("lightgrey");
            let list = colors(text, scheme, &mut pen.warnings);
            let thin = Stroke { width: Some(0.5), ..Style::default().stroke(&line) };
            items.extend(node::stripes(&list, bounds, &thin));
            Fill::None
        }
        Some(text) => {
            let list = colors(text, scheme, &mut pen.warnings);
            fill_of(&list, style.radial, angle, bounds, &mut pen.warnings)
        }
        None => Fill::None,
    };
    // Rounded ones begin below on the left, and run against the clock.
    let turned = || vec![low, Point::new(high.x, low.y), high, Point::new(low.x, high.y)];
    if style.rounded && !style.striped {
        items.push(Item::Path { points: corners::rounded(&turned()), fill, stroke });
    } else if style.diagonals {
        items.push(Item::Polygon { points: turned(), fill, stroke: stroke.clone() });
        items.extend(corners::diagonals(&turned(), &stroke));
    } else if stroke.color.is_some() || fill != Fill::None {
        items.push(Item::Polygon { points: corners, fill, stroke });
    }
    items
}
