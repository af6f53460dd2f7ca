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

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::attributes::{Attribute, Effect, attribute_named};
use crate::limits::{Limits, TooMuch};
use crate::text;
use crate::values::{Attributes, Value};

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

/// The number of an attribute's name in [`Names`].
type NameId = u32;

/// What an object sets or took over, by the number of the name. Shared between objects as long as nobody changes it.
type Values = Arc<Vec<(NameId, Text)>>;

/// The names of all attributes of a graph.
#[derive(Clone, Debug, Default)]
struct Names {
    ids: HashMap<Arc<str>, NameId>,
    list: Vec<Arc<str>>,
    /// For each name, whether graphs, nodes and edges have it.
    declared: Vec<[bool; 3]>,
}

impl Names {
    fn declare(&mut self, kind: ElementKind, name: &str) -> NameId {
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
    values: Values,
}

/// An edge.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The node it leaves, as an index of [`Graph::nodes`].
    pub tail: usize,
    /// The node it enters.
    pub head: usize,
    values: Values,
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
    values: Values,
    node_defaults: Values,
    edge_defaults: Values,
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
    names: Names,
}

/// A look at the attributes of one object.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    kind: ElementKind,
    names: &'a Names,
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
            graph: self.name().map(|name| &*name.text),
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

/// Builds a graph, statement by statement.
#[derive(Debug)]
pub struct Builder<'a> {
    graph: Graph,
    limits: &'a Limits,
    steps: usize,
    nodes: HashMap<Text, usize>,
    children: HashMap<(usize, Text), usize>,
    /// Subgraph (not the graph itself) and node.
    members: HashSet<(usize, usize)>,
    edge_members: HashSet<(usize, usize)>,
    /// Edges that a second statement finds again: by ends, and by key in graphs that are not strict.
    known: HashMap<(usize, usize, Option<Text>), usize>,
    /// Defaults for new nodes and edges of a subgraph, its parents' included, until some default changes.
    cache: HashMap<(usize, bool), Values>,
}

impl<'a> Builder<'a> {
    /// An empty graph.
    pub fn new(name: Option<Text>, directed: bool, strict: bool, limits: &'a Limits) -> Builder<'a> {
        let root = Subgraph { name, ..Subgraph::default() };
        let graph = Graph {
            directed,
            strict,
            nodes: Vec::new(),
            edges: Vec::new(),
            subgraphs: vec![root],
            names: Names::default(),
        };
        Builder {
            graph,
            limits,
            steps: 0,
            nodes: HashMap::new(),
            children: HashMap::new(),
            members: HashSet::new(),
            edge_members: HashSet::new(),
            known: HashMap::new(),
            cache: HashMap::new(),
        }
    }

    /// The finished graph.
    pub fn finish(mut self) -> Graph {
        for subgraph in self.graph.subgraphs.iter_mut().skip(1) {
            subgraph.nodes.sort_unstable();
            subgraph.edges.sort_unstable();
        }
        if let Some(root) = self.graph.subgraphs.first_mut() {
            root.nodes = (0..self.graph.nodes.len()).collect();
            root.edges = (0..self.graph.edges.len()).collect();
        }
        self.graph
    }

    fn spend(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.limits.reading_steps { Err(TooMuch::Reading) } else { Ok(()) }
    }

    /// Opens the subgraph `name` of `parent`, a new one if there is none of that name.
    ///
    /// # Errors
    /// Too many subgraphs.
    pub fn subgraph(&mut self, parent: usize, name: Option<Text>) -> Result<usize, TooMuch> {
        if let Some(name) = &name
            && let Some(known) = self.children.get(&(parent, name.clone()))
        {
            return Ok(*known);
        }
        name.as_ref().map_or(Ok(()), |name| name.check_length(self.limits))?;
        let index = self.graph.subgraphs.len();
        if index > self.limits.subgraphs {
            return Err(TooMuch::Subgraphs(self.limits.subgraphs));
        }
        if let Some(name) = &name {
            self.children.insert((parent, name.clone()), index);
        }
        let values = match self.graph.subgraphs.get_mut(parent) {
            Some(parent) => {
                parent.children.push(index);
                parent.values.clone()
            }
            None => Values::default(),
        };
        self.graph.subgraphs.push(Subgraph { name, parent: Some(parent), values, ..Subgraph::default() });
        Ok(index)
    }

    /// The node `name`, a new one if need be, which becomes a member of `subgraph`.
    ///
    /// # Errors
    /// Too many nodes, or memberships.
    pub fn node(&mut self, subgraph: usize, name: Text) -> Result<usize, TooMuch> {
        let index = match self.nodes.get(&name) {
            Some(index) => *index,
            None => {
                name.check_length(self.limits)?;
                let index = self.graph.nodes.len();
                if index >= self.limits.nodes {
                    return Err(TooMuch::Nodes(self.limits.nodes));
                }
                let values = self.defaults(subgraph, ElementKind::Node)?;
                self.nodes.insert(name.clone(), index);
                self.graph.nodes.push(Node { name, values });
                index
            }
        };
        let mut at = subgraph;
        while at != 0 && self.members.insert((at, index)) {
            self.spend(1)?;
            let Some(subgraph) = self.graph.subgraphs.get_mut(at) else { break };
            subgraph.nodes.push(index);
            at = subgraph.parent.unwrap_or(0);
        }
        Ok(index)
    }

    /// The nodes of a subgraph so far, in the order of their creation.
    ///
    /// # Errors
    /// Too much reading.
    pub fn nodes_of(&mut self, subgraph: usize) -> Result<Vec<usize>, TooMuch> {
        let mut nodes = self.graph.subgraphs.get(subgraph).map(|subgraph| subgraph.nodes.clone()).unwrap_or_default();
        self.spend(nodes.len())?;
        nodes.sort_unstable();
        Ok(nodes)
    }

    /// An edge of `subgraph`: a new one, or in a strict graph, or with the key of another edge between the nodes, that.
    /// The second result tells whether the edge was found the other way round.
    ///
    /// # Errors
    /// Too many edges.
    pub fn edge(
        &mut self,
        subgraph: usize,
        tail: usize,
        head: usize,
        key: Option<&Text>,
    ) -> Result<(usize, bool), TooMuch> {
        self.spend(1)?;
        let named = self.graph.strict || key.is_some();
        let key = key.filter(|_| !self.graph.strict);
        let mut found = None;
        if named {
            let there = self.known.get(&(tail, head, key.cloned()));
            let back = || self.known.get(&(head, tail, key.cloned())).filter(|_| !self.graph.directed);
            found = match there {
                Some(edge) => Some((*edge, false)),
                None => back().map(|edge| (*edge, true)),
            };
        }
        let (index, turned) = match found {
            Some(found) => found,
            None => {
                let index = self.graph.edges.len();
                if index >= self.limits.edges {
                    return Err(TooMuch::Edges(self.limits.edges));
                }
                let values = self.defaults(subgraph, ElementKind::Edge)?;
                if named {
                    self.known.insert((tail, head, key.cloned()), index);
                }
                self.graph.edges.push(Edge { tail, head, values });
                (index, false)
            }
        };
        let mut at = subgraph;
        while at != 0 && self.edge_members.insert((at, index)) {
            self.spend(1)?;
            let Some(subgraph) = self.graph.subgraphs.get_mut(at) else { break };
            subgraph.edges.push(index);
            at = subgraph.parent.unwrap_or(0);
        }
        Ok((index, turned && tail != head))
    }

    /// The defaults that hold for new objects in a subgraph: its own over those of its parents.
    fn defaults(&mut self, subgraph: usize, kind: ElementKind) -> Result<Values, TooMuch> {
        let cache_key = (subgraph, kind == ElementKind::Edge);
        if let Some(values) = self.cache.get(&cache_key) {
            return Ok(values.clone());
        }
        let mut chain = Vec::new();
        let mut at = Some(subgraph);
        while let Some(subgraph) = at.and_then(|index| self.graph.subgraphs.get(index)) {
            let own = if kind == ElementKind::Edge { &subgraph.edge_defaults } else { &subgraph.node_defaults };
            if !own.is_empty() {
                chain.push(own.clone());
            }
            at = subgraph.parent;
        }
        let mut steps = chain.len();
        let mut all = chain.pop().unwrap_or_default();
        while let Some(own) = chain.pop() {
            for (id, text) in own.iter() {
                steps += all.len();
                set(&mut all, *id, text.clone());
            }
        }
        self.spend(steps)?;
        self.cache.insert(cache_key, all.clone());
        Ok(all)
    }

    /// Sets a default for new nodes or edges of a subgraph; for graphs, the value itself.
    ///
    /// # Errors
    /// A label that is too long, too much reading.
    pub fn set_default(&mut self, subgraph: usize, kind: ElementKind, name: &str, text: Text) -> Result<(), TooMuch> {
        let id = self.declare(kind, name, &text)?;
        if kind != ElementKind::Graph {
            self.cache.clear();
        }
        let Some(subgraph) = self.graph.subgraphs.get_mut(subgraph) else { return Ok(()) };
        let values = match kind {
            ElementKind::Graph => &mut subgraph.values,
            ElementKind::Node => &mut subgraph.node_defaults,
            ElementKind::Edge => &mut subgraph.edge_defaults,
        };
        let steps = set(values, id, text);
        self.spend(steps)
    }

    /// Sets an attribute of a node.
    ///
    /// # Errors
    /// A label that is too long, too much reading.
    pub fn set_node(&mut self, node: usize, name: &str, text: Text) -> Result<(), TooMuch> {
        let id = self.declare(ElementKind::Node, name, &text)?;
        let steps = self.graph.nodes.get_mut(node).map_or(0, |node| set(&mut node.values, id, text));
        self.spend(steps)
    }

    /// Sets an attribute of an edge.
    ///
    /// # Errors
    /// A label that is too long, too much reading.
    pub fn set_edge(&mut self, edge: usize, name: &str, text: Text) -> Result<(), TooMuch> {
        let id = self.declare(ElementKind::Edge, name, &text)?;
        let steps = self.graph.edges.get_mut(edge).map_or(0, |edge| set(&mut edge.values, id, text));
        self.spend(steps)
    }

    fn declare(&mut self, kind: ElementKind, name: &str, text: &Text) -> Result<NameId, TooMuch> {
        // What nobody reads may be longer: positions, backgrounds.
        text.check_length(self.limits).or_else(|too_long| match attribute_named(name) {
            Some(Attribute { effect: Effect::Drawn, .. }) => Err(too_long),
            _ => Ok(()),
        })?;
        Ok(self.graph.names.declare(kind, name))
    }
}

/// Sets one value, and tells how many it had to look at or copy.
fn set(values: &mut Values, id: NameId, text: Text) -> usize {
    let steps = values.len() / 8 + 1;
    let copied = if Arc::strong_count(values) > 1 { values.len() } else { 0 };
    let values = Arc::make_mut(values);
    match values.iter_mut().find(|(other, _)| *other == id) {
        Some((_, old)) => *old = text,
        None => values.push((id, text)),
    }
    steps + copied
}
