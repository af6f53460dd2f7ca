//! Labels into lines of text.

use crate::geometry::{Point, Size};
use crate::label::Label;
use crate::layout::Along;
use crate::scene::{Anchor, Color, Item, Text};
use crate::text::{Justify, TextBlock};

/// A font's lines stand this share of its size above where they would by their boxes alone.
const LIFT: f64 = 0.1;

/// Paints a label about `center`, justified in `room`.
pub(super) fn label(label: &Label, center: Point, room: Size, along: Option<Along>, color: &Color) -> Vec<Item> {
    match label {
        Label::Text(block) => lines(block, center, room, along, color),
        Label::Html(html) => html.paint(center, color),
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
