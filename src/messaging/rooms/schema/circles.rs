//! Schemas that apply themselves to the same value again: a check would never end.

use super::fault::SchemaFault;
use super::model::{Compiled, Node, NodeId};
use super::places::Places;

/// How far a schema has been looked at.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Never,
    /// The way has led here, and goes on from here.
    OnTheWay,
    Done,
}

/// Finds a schema that applies itself without going deeper into the value.
///
/// # Errors
/// There is one.
pub(super) fn refuse_circles(compiled: &Compiled, places: &Places<'_>) -> Result<(), SchemaFault> {
    let mut seen = vec![Seen::Never; compiled.nodes.len()];
    for start in places.ids() {
        // Each with what is still to be looked at behind it. No stack of calls: references make long ways.
        let mut way: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
        enter(compiled, start, &mut seen, &mut way);
        while let Some((id, next)) = way.last_mut() {
            let (id, next) = (*id, next.pop());
            match next.map(|next| (next, seen.get(next.0).copied())) {
                Some((next, Some(Seen::Never))) => enter(compiled, next, &mut seen, &mut way),
                Some((_, Some(Seen::OnTheWay))) => {
                    return Err(fault(places, way.iter().rev().map(|(id, _)| *id)));
                }
                Some(_) => {}
                None => {
                    set(&mut seen, id, Seen::Done);
                    way.pop();
                }
            }
        }
    }
    Ok(())
}

fn enter(compiled: &Compiled, id: NodeId, seen: &mut [Seen], way: &mut Vec<(NodeId, Vec<NodeId>)>) {
    if seen.get(id.0) == Some(&Seen::Never) {
        set(seen, id, Seen::OnTheWay);
        way.push((id, in_place(compiled, id)));
    }
}

fn set(seen: &mut [Seen], id: NodeId, to: Seen) {
    if let Some(seen) = seen.get_mut(id.0) {
        *seen = to;
    }
}

/// All schemas that may be applied to the same value: of a dynamic reference every one it may mean.
fn in_place(compiled: &Compiled, id: NodeId) -> Vec<NodeId> {
    let Node::Rules(rules) = compiled.node(id) else { return Vec::new() };
    let mut next: Vec<NodeId> = rules.in_place().collect();
    if let Some(dynamic) = &rules.dynamic {
        next.push(dynamic.target);
        if let Some(anchor) = &dynamic.anchor {
            next.extend(compiled.dynamic_anchors.iter().filter_map(|anchors| anchors.get(anchor)));
        }
    }
    next
}

/// The fault is told of at a reference: schemas that hold one another make no circle.
fn fault(places: &Places<'_>, way_back: impl Iterator<Item = NodeId>) -> SchemaFault {
    let reference = |id: NodeId| {
        let keyword = ["$ref", "$dynamicRef"].into_iter().find(|keyword| places.schema(id).get(keyword).is_some());
        keyword.map(|keyword| (id, keyword))
    };
    let (id, keyword) = way_back.into_iter().find_map(reference).unwrap_or((Compiled::ROOT, "$ref"));
    places.fault(id, keyword, "leads back to itself without going deeper into the value")
}
