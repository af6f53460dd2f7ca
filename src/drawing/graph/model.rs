//! A graph as its source describes it: nodes and edges in the order of their creation, a tree of subgraphs, and
//! attributes with the defaults resolved as Graphviz does.
//!
//! The rules, from the DOT language's documentation and from asking Graphviz 16.1 for its `dot_json`:
//!
//! - An object takes over the defaults that hold at the place of its creation, and only those: a default set later does
//!   not reach it, but the attribute then exists for it, with an empty value ([`Element::value`] is `Some("")`). A
//!   node's `label` is the exception; it is then absent.
//! - Defaults for nodes and edges belong to the subgraph they stand in. A subgraph sees those of its parents as they are
//!   at the moment, under its own, also when it is opened a second time.
//! - A subgraph takes over the values of its parent's own attributes at its first opening.
//! - A subgraph with a name is one for each parent. A node of a subgraph is one of its parents', too.

use std::collections::HashMap;
use std::sync::Arc;

use super::values::{Attributes, Value};
use crate::limits::{Limits, TooMuch};
use crate::text;

/// Text of the source, and whether it was an HTML-like string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Text {
    /// The characters.
    pub text: Arc<str>,
    /// Whether it stood in angle brackets.
    pub html: bool,
}

impl Text {
    /// Text that is no HTML.
    pub fn plain(text: &str) -> Text {
        Text { text: text.into(), html: false }
    }

    /// One text of the source can be that of thousands of objects, so that none may be long.
    ///
    /// # Errors
    /// It is longer than a label may be.
    pub fn check_length(&self, limits: &Limits) -> Result<(), TooMuch> {
        let most = limits.label_bytes;
        if self.text.len() > most { Err(TooMuch::LabelBytes(most)) } else { Ok(()) }
    }
}

/// The three kinds of objects with attributes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// The graph and its subgraphs.
    Graph,
    /// Nodes.
    Node,
    /// Edges.
    Edge,
}

/// The number of an attribute's name in [`AttributeNames`].
pub(super) type NameId = u32;

/// What an object sets or took over, by the number of the name. Shared between objects as long as nobody changes it.
pub(super) type Values = Arc<Vec<(NameId, Text)>>;

/// The names of all attributes of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct AttributeNames {
    ids: HashMap<Arc<str>, NameId>,
    list: Vec<Arc<str>>,
    /// For each name, whether graphs, nodes and edges have it.
    declared: Vec<[bool; 3]>,
}

impl AttributeNames {
    pub(super) fn declare(&mut self, kind: ElementKind, name: &str) -> NameId {
        let id = match self.ids.get(name) {
            Some(id) => *id,
            None => {
                let id = NameId::try_from(self.list.len()).unwrap_or(NameId::MAX);
                let shared: Arc<str> = name.into();
                self.ids.insert(shared.clone(), id);
                self.list.push(shared);
                self.declared.push([false; 3]);
                id
            }
        };
        if let Some(declared) = self.declared.get_mut(id as usize).and_then(|kinds| kinds.get_mut(kind as usize)) {
            *declared = true;
        }
        id
    }

    fn is_declared(&self, kind: ElementKind, id: NameId) -> bool {
        self.declared.get(id as usize).and_then(|kinds| kinds.get(kind as usize)).copied().unwrap_or_default()
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name; one that is HTML is another node than one that is not.
    pub name: Text,
    pub(super) values: Values,
}

/// An edge.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The node it leaves, as an index of [`Graph::nodes`].
    pub tail: usize,
    /// The node it enters.
    pub head: usize,
    pub(super) values: Values,
}

/// The graph itself (index 0) or one of its subgraphs.
#[derive(Clone, Debug, Default)]
pub struct Subgraph {
    /// Its name; `None` for one without.
    pub name: Option<Text>,
    /// The subgraph it lies in; `None` for the graph itself.
    pub parent: Option<usize>,
    /// The subgraphs in it, in the order of their creation.
    pub children: Vec<usize>,
    /// Its nodes and those of its subgraphs, in the order of their creation.
    pub nodes: Vec<usize>,
    /// Its edges and those of its subgraphs, in the order of their creation.
    pub edges: Vec<usize>,
    pub(super) values: Values,
    pub(super) node_defaults: Values,
    pub(super) edge_defaults: Values,
}

/// A graph.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Whether its edges have a direction (`digraph`).
    pub directed: bool,
    /// Whether it has at most one edge between two nodes.
    pub strict: bool,
    /// Its nodes in the order of their creation.
    pub nodes: Vec<Node>,
    /// Its edges in the order of their creation.
    pub edges: Vec<Edge>,
    /// The graph itself, and then its subgraphs in the order of their creation.
    pub subgraphs: Vec<Subgraph>,
    pub(super) names: AttributeNames,
}

/// A look at the attributes of one object.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    kind: ElementKind,
    names: &'a AttributeNames,
    values: &'a [(NameId, Text)],
}

impl<'a> Element<'a> {
    /// Every attribute that the object sets or took over, in the order of their first use in the source.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, &'a Text)> + use<'a> {
        let names = self.names;
        self.values.iter().filter_map(|(id, text)| Some((&**names.list.get(*id as usize)?, text)))
    }

    /// The value of `name` as it stands in the source.
    pub fn get(&self, name: &str) -> Option<&'a Text> {
        let id = *self.names.ids.get(name)?;
        self.values.iter().find(|(other, _)| *other == id).map(|(_, text)| text)
    }
}

impl Attributes for Element<'_> {
    fn value(&self, name: &str) -> Option<Value<'_>> {
        let id = *self.names.ids.get(name)?;
        match self.values.iter().find(|(other, _)| *other == id) {
            Some((_, Text { text, html: true })) => Some(Value::Html(text)),
            Some((_, Text { text, html: false })) => Some(Value::Text(text)),
            None if self.kind == ElementKind::Node && name == "label" => None,
            None => self.names.is_declared(self.kind, id).then_some(Value::Text("")),
        }
    }
}

impl Graph {
    /// The name of the graph, if it has one.
    pub fn name(&self) -> Option<&Text> {
        self.subgraphs.first().and_then(|root| root.name.as_ref())
    }

    /// The attributes of the graph itself.
    pub fn root(&self) -> Element<'_> {
        self.subgraph(0)
    }

    /// The attributes of a subgraph; an index that does not exist has none.
    pub fn subgraph(&self, index: usize) -> Element<'_> {
        self.element(ElementKind::Graph, self.subgraphs.get(index).map(|subgraph| &subgraph.values))
    }

    /// The attributes of a node.
    pub fn node(&self, index: usize) -> Element<'_> {
        self.element(ElementKind::Node, self.nodes.get(index).map(|node| &node.values))
    }

    /// The attributes of an edge.
    pub fn edge(&self, index: usize) -> Element<'_> {
        self.element(ElementKind::Edge, self.edges.get(index).map(|edge| &edge.values))
    }

    fn element<'a>(&'a self, kind: ElementKind, values: Option<&'a Values>) -> Element<'a> {
        Element { kind, names: &self.names, values: values.map_or(&[], |values| values.as_slice()) }
    }

    /// What `\G` stands for: the graph's name, or what a graph without one is called.
    pub fn title(&self) -> &str {
        self.name().map_or("%1", |name| &name.text)
    }

    /// The name of a node; an index that does not exist has an empty one.
    pub fn node_name(&self, node: usize) -> &str {
        self.nodes.get(node).map_or("", |node| &node.name.text)
    }

    /// The name of an edge: `a->b`.
    pub fn edge_name(&self, edge: &Edge) -> String {
        let arrow = if self.directed { "->" } else { "--" };
        format!("{}{arrow}{}", self.node_name(edge.tail), self.node_name(edge.head))
    }

    /// What stands for the escapes of names in the texts of an edge; `name` is that of the edge.
    pub fn names_of_edge<'a>(&'a self, edge: &Edge, name: &'a str) -> text::Names<'a> {
        text::Names {
            graph: Some(self.title()),
            edge: Some(name),
            tail: Some(self.node_name(edge.tail)),
            head: Some(self.node_name(edge.head)),
            ..text::Names::default()
        }
    }

    /// Whether a subgraph is drawn as a cluster: its name begins with `cluster`, in whatever case, or its attribute
    /// `cluster` says so.
    pub fn is_cluster(&self, index: usize) -> bool {
        let named = || {
            let name = self.subgraphs.get(index).and_then(|subgraph| subgraph.name.as_ref());
            name.and_then(|name| name.text.get(..7)).is_some_and(|start| start.eq_ignore_ascii_case("cluster"))
        };
        index > 0 && (named() || self.subgraph(index).flag("cluster", false))
    }
}
