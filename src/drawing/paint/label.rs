//! Labels into lines of text.

use super::html::{self, Look};
use super::scene::{Anchor, Item, Text};
use crate::geometry::{Point, Size};
use crate::html::label::Label;
use crate::layout::Along;
use crate::style::Color;
use crate::text::{Justify, TextBlock};
use crate::warnings::Warnings;

/// A font's lines stand this share of its size above where they would by their boxes alone.
const LIFT: f64 = 0.1;

/// The space between an HTML-like label and the end of the room it stands at, in points.
const HTML_GAP: f64 = 1.0;

/// Paints a label about `center`, justified in `room`.
pub(super) fn label(
    label: &Label,
    center: Point,
    room: Size,
    along: Option<Along>,
    look: Look<'_>,
    warnings: &mut Warnings,
) -> Vec<Item> {
    match label {
        Label::Text(block) => lines(block, center, room, along, look.font_color),
        Label::Html(label) => {
            // Observed: a label at the top or bottom keeps a point's distance.
            let free = (room.height - label.size.height) / 2.0 - HTML_GAP;
            let shift = match along {
                None => 0.0,
                Some(Along::Top) => free,
                Some(Along::Bottom) => -free,
            };
            html::paint(label, center + Point::new(0.0, shift), look, warnings)
        }
    }
}

fn lines(block: &TextBlock, center: Point, room: Size, along: Option<Along>, color: &Color) -> Vec<Item> {
    let size = block.font.size;
    let top = match along {
        None => center.y + block.size.height / 2.0,
        Some(Along::Top) => center.y + room.height / 2.0,
        Some(Along::Bottom) => center.y - room.height / 2.0 + block.size.height,
    };
    let mut y = top - size;
    let mut items = Vec::with_capacity(block.lines.len());
    for line in &block.lines {
        let (x, anchor) = match line.justify {
            Justify::Center => (center.x, Anchor::Middle),
            Justify::Left => (center.x - room.width / 2.0, Anchor::Start),
            Justify::Right => (center.x + room.width / 2.0, Anchor::End),
        };
        if !line.text.is_empty() {
            items.push(Item::Text(Text {
                text: line.text.clone(),
                at: Point::new(x, y + LIFT * size),
                anchor,
                font: block.font.clone(),
                width: line.width,
                color: color.clone(),
            }));
        }
        y -= line.height;
    }
    items
}
