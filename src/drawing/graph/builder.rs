//! Building a graph, statement by statement; the rules stand in `model`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::attributes::{Attribute, Effect, attribute_named};
use super::model::{AttributeNames, Edge, ElementKind, Graph, NameId, Node, Subgraph, Text, Values};
use crate::limits::{Limits, TooMuch};

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
            names: AttributeNames::default(),
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
