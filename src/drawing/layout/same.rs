//! `samehead` and `sametail`: edges that end at one point of their node.

use std::collections::BTreeMap;

use super::layers::Layers;
use super::model::{Edge, End, Input, Outline, Port};
use super::place::Positions;
use crate::geometry::{Point, Rect};

/// The edges with ports at the points they share; nothing if none share any.
pub fn joined(input: &Input, layers: &Layers, positions: &Positions) -> Option<Vec<Edge>> {
    // Node, whether its heads, the name: edges and the sum of the directions they leave in.
    let mut groups: BTreeMap<(usize, bool, u32), (Vec<usize>, Point)> = BTreeMap::new();
    let count = input.nodes.len();
    for (index, edge) in input.edges.iter().enumerate() {
        if edge.tail >= count || edge.head >= count || edge.tail == edge.head {
            continue;
        }
        let center = |node: usize| positions.at(layers, node as u32);
        for (is_head, node, other, end) in
            [(false, edge.tail, edge.head, &edge.tail_end), (true, edge.head, edge.tail, &edge.head_end)]
        {
            if let (Some(name), None) = (end.same, end.port) {
                let group = groups.entry((node, is_head, name)).or_default();
                group.0.push(index);
                group.1 = group.1 + (center(other) - center(node)).unit();
            }
        }
    }
    groups.retain(|_, group| group.0.len() > 1);
    if groups.is_empty() {
        return None;
    }
    let mut edges = input.edges.clone();
    for ((node, is_head, _), (members, direction)) in groups {
        let Some(shape) = input.nodes.get(node) else { continue };
        let bounds = Rect::around(Point::default(), shape.size);
        let point = border(&shape.outline, bounds, direction.unit());
        for member in members {
            let Some(edge) = edges.get_mut(member) else { continue };
            let end: &mut End = if is_head { &mut edge.head_end } else { &mut edge.tail_end };
            end.port = Some(Port { point, clip: false, ..Port::default() });
        }
    }
    Some(edges)
}

/// Where a ray from the centre leaves the outline.
fn border(outline: &Outline, bounds: Rect, direction: Point) -> Point {
    let shape = super::route::Shape::Node(outline, Point::default(), bounds);
    let (mut inside, mut outside) = (0.0, bounds.width() + bounds.height());
    for _ in 0..40 {
        let middle = f64::midpoint(inside, outside);
        if shape.holds(direction * middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    direction * inside
}
