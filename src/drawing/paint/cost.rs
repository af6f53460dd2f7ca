//! What painted things cost.

use super::scene::{Group, Item};

/// The steps that an item, a point and a byte of text cost, from here to the finished file.
const STEPS_PER_ITEM: u64 = 128;
const STEPS_PER_POINT: u64 = 8;
const STEPS_PER_BYTE: u64 = 2;

/// What a group costs. A short source can give thousands of objects long texts: this is what bounds them together.
pub(super) fn group_steps(group: &Group) -> u64 {
    let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let texts = group.id.len() + group.name.len() + group.title.len() + bytes(&group.class) + bytes(&group.comment);
    STEPS_PER_ITEM + STEPS_PER_BYTE * texts as u64 + group.items.iter().map(item_steps).sum::<u64>()
}

fn item_steps(item: &Item) -> u64 {
    let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    STEPS_PER_ITEM
        + match item {
            Item::Polygon { points, .. } | Item::Polyline { points, .. } | Item::Path { points, .. } => {
                STEPS_PER_POINT * points.len() as u64
            }
            Item::Ellipse { .. } => 0,
            Item::Text(text) => STEPS_PER_BYTE * text.text.len() as u64,
            Item::Linked { id, link, items } => {
                let texts = id.len() + bytes(&link.href) + bytes(&link.title) + bytes(&link.target);
                STEPS_PER_BYTE * texts as u64 + items.iter().map(item_steps).sum::<u64>()
            }
        }
}
