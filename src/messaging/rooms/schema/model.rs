//! A schema as it is checked with: its schemas in one list, which name one another by their place in it.

use std::collections::BTreeMap;

use super::decimal::{Decimal, Divisor};
use super::pattern::Pattern;

/// One of the schemas of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(pub(super) usize);

/// A part of a schema with an identifier of its own; the whole is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResourceId(pub(super) usize);

/// All schemas.
pub(super) struct Compiled {
    pub(super) nodes: Vec<Node>,
    /// The `$dynamicAnchor`s of each resource.
    pub(super) dynamic_anchors: Vec<BTreeMap<String, NodeId>>,
}

/// A schema.
pub(super) enum Node {
    /// `true`
    Always,
    /// `false`
    Never,
    /// An object.
    Rules(Box<Rules>),
}

impl Compiled {
    /// The whole.
    pub(super) const ROOT: NodeId = NodeId(0);

    /// One of the schemas. Ids come from the same list, so it is there.
    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0).unwrap_or(&Node::Never)
    }

    /// The schema that a dynamic anchor means in a resource.
    pub(super) fn dynamic_anchor(&self, resource: ResourceId, name: &str) -> Option<NodeId> {
        self.dynamic_anchors.get(resource.0)?.get(name).copied()
    }
}

/// What a schema asks for. Parts that ask for nothing are `None`.
pub(super) struct Rules {
    pub(super) resource: ResourceId,
    pub(super) reference: Option<NodeId>,
    pub(super) dynamic: Option<Dynamic>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) any_of: Vec<NodeId>,
    pub(super) one_of: Vec<NodeId>,
    pub(super) not: Option<NodeId>,
    pub(super) condition: Option<Condition>,
    pub(super) types: Option<Types>,
    pub(super) choices: Vec<Choice>,
    pub(super) numbers: Option<Numbers>,
    pub(super) texts: Option<Texts>,
    pub(super) arrays: Option<Arrays>,
    pub(super) objects: Option<Objects>,
    /// `unevaluatedItems` and `unevaluatedProperties`: what nothing else of this schema has looked at.
    pub(super) leftover_items: Option<NodeId>,
    pub(super) leftover_members: Option<NodeId>,
}

/// `$dynamicRef`
#[derive(Clone)]
pub(super) struct Dynamic {
    /// What it means by its text alone.
    pub(super) target: NodeId,
    /// The anchor that the outermost resource in which a check is may have as well.
    pub(super) anchor: Option<String>,
}

/// `if`, `then`, `else`
pub(super) struct Condition {
    pub(super) condition: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// `type`
#[derive(Clone, Default)]
pub(super) struct Types {
    pub(super) null: bool,
    pub(super) boolean: bool,
    pub(super) integer: bool,
    pub(super) number: bool,
    pub(super) string: bool,
    pub(super) array: bool,
    pub(super) object: bool,
    /// As a sentence names them: `a string or null`.
    pub(super) shown: String,
}

/// `enum` or `const`
pub(super) struct Choice {
    /// The texts by which values are the same, in order.
    pub(super) texts: Vec<String>,
    /// The bytes of the longest of them.
    pub(super) longest_bytes: usize,
    /// What a value must be, as a sentence ends.
    pub(super) shown: String,
}

/// A bound on numbers, and as it is shown.
pub(super) struct Bound<T> {
    pub(super) value: T,
    pub(super) shown: String,
}

/// What numbers must be.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) multiple_of: Option<Bound<Divisor>>,
    pub(super) minimum: Option<Bound<Decimal>>,
    pub(super) exclusive_minimum: Option<Bound<Decimal>>,
    pub(super) maximum: Option<Bound<Decimal>>,
    pub(super) exclusive_maximum: Option<Bound<Decimal>>,
}

/// What texts must be.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) chars_min: Option<u64>,
    pub(super) chars_max: Option<u64>,
    pub(super) pattern: Option<Pattern>,
}

/// What arrays must be.
#[derive(Default)]
pub(super) struct Arrays {
    pub(super) items_min: Option<u64>,
    pub(super) items_max: Option<u64>,
    pub(super) are_unique: bool,
    pub(super) prefix: Vec<NodeId>,
    pub(super) items: Option<NodeId>,
    pub(super) contains: Option<Contains>,
}

/// `contains`, and how many items must fit it.
pub(super) struct Contains {
    pub(super) schema: NodeId,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

/// What objects must be.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) members_min: Option<u64>,
    pub(super) members_max: Option<u64>,
    /// What is said about names, in the order of the names, so that one pass over an object's members finds everything.
    pub(super) named: Vec<Named>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    pub(super) additional: Option<NodeId>,
    pub(super) names: Option<NodeId>,
}

/// What is said about one name.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) schema: Option<NodeId>,
    pub(super) is_required: bool,
    /// The places in the list of what must be there as well if this is.
    pub(super) also_required: Vec<usize>,
    /// What the object must fit if this is there.
    pub(super) dependent: Option<NodeId>,
}

impl Objects {
    /// What is said about a name, and where that stands.
    pub(super) fn named(&self, name: &str) -> Option<(usize, &Named)> {
        let place = self.named.binary_search_by(|named| named.name.as_str().cmp(name)).ok()?;
        Some((place, self.named.get(place)?))
    }
}

impl Rules {
    /// The schemas that are applied to the same value.
    pub(super) fn in_place(&self) -> impl Iterator<Item = NodeId> {
        let condition = self.condition.iter();
        let condition = condition.flat_map(|it| [Some(it.condition), it.then, it.otherwise]).flatten();
        let dependent = self.objects.iter().flat_map(|objects| &objects.named).filter_map(|named| named.dependent);
        let lists = [&self.all_of, &self.any_of, &self.one_of].into_iter().flatten().copied();
        self.reference.into_iter().chain(self.not).chain(lists).chain(condition).chain(dependent)
    }
}
