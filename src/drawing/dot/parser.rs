//! Tokens to a graph, without recursion: what is open lies on a stack of its own.
//!
//! The grammar is the documented one and a little more that Graphviz accepts: lists of nodes (`a, b -- c, d`), one
//! semicolon after any statement (and no second one), `node x = [...]` (with the warning that macros do nothing).

use std::sync::Arc;

use super::error::{ParseError, SyntaxError};
use super::lexer::{Keyword, Kind, Lexer, Token};
use crate::graph::{Builder, ElementKind, Graph, Text};
use crate::limits::{Limits, TooMuch};
use crate::warnings::Warnings;

/// One side of an edge statement.
#[derive(Debug)]
enum Operand {
    Nodes(Vec<(usize, Option<Text>)>),
    Subgraph(usize),
}

/// A body that is open, and the statement around it that goes on when it closes.
#[derive(Debug)]
struct Frame {
    /// The subgraph the statement stands in.
    outer: usize,
    /// The operands of the statement so far.
    chain: Vec<Operand>,
}

/// What a statement came to.
enum Step {
    /// Its end.
    Done,
    /// A body in it has begun: this subgraph's.
    Opened(usize),
}

/// Reads graphs from one source.
#[derive(Debug)]
pub struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    limits: &'a Limits,
    warnings: Warnings,
    directed: bool,
    frames: Vec<Frame>,
}

impl<'a> Parser<'a> {
    /// Begins at the first token of `source`.
    ///
    /// # Errors
    /// A first token that does not end.
    pub fn new(source: &'a [u8], limits: &'a Limits) -> Result<Parser<'a>, ParseError> {
        let mut lexer = Lexer::new(source);
        let token = lexer.next()?;
        Ok(Parser { lexer, token, limits, warnings: Warnings::default(), directed: false, frames: Vec::new() })
    }

    /// What Graphviz would warn of so far.
    pub fn warnings(mut self) -> Warnings {
        self.warnings.extend(self.lexer.take_warnings().into_list());
        self.warnings
    }

    /// The first graph.
    ///
    /// # Errors
    /// There is none, broken grammar, or a bound.
    pub fn first_graph(&mut self) -> Result<Graph, ParseError> {
        let graph = self.graph()?;
        graph.ok_or_else(|| ParseError::Empty(self.lexer.place_of(&self.token)))
    }

    /// The next graph; `None` when there is none left.
    ///
    /// # Errors
    /// Broken grammar, or a bound.
    pub fn graph(&mut self) -> Result<Option<Graph>, ParseError> {
        if self.token.kind == Kind::End {
            return Ok(None);
        }
        let strict = self.accept_keyword(Keyword::Strict)?;
        self.directed = self.token.kind == Kind::Keyword(Keyword::Digraph);
        if !self.directed && self.token.kind != Kind::Keyword(Keyword::Graph) {
            return Err(self.unexpected().into());
        }
        self.advance()?;
        let name = self.accept_text()?;
        // The token after the last brace is read by the caller, if at all: it need not be one.
        self.expect_byte(b'{')?;
        name.as_ref().map_or(Ok(()), |name| name.check_length(self.limits))?;
        let mut builder = Builder::new(name, self.directed, strict, self.limits);
        self.body(&mut builder)?;
        Ok(Some(builder.finish()))
    }

    /// Reads the token after a graph, for whoever wants another one.
    ///
    /// # Errors
    /// A token that does not end.
    pub fn next_graph(&mut self) -> Result<(), ParseError> {
        self.advance()?;
        Ok(())
    }

    fn body(&mut self, builder: &mut Builder<'_>) -> Result<(), ParseError> {
        let mut current = 0;
        loop {
            let step = match &self.token.kind {
                Kind::Byte(b'}') => match self.frames.pop() {
                    None => return Ok(()),
                    Some(frame) => {
                        self.advance()?;
                        let mut chain = frame.chain;
                        chain.push(Operand::Subgraph(current));
                        current = frame.outer;
                        self.edge_statement(builder, current, chain)?
                    }
                },
                Kind::Keyword(Keyword::Graph) => self.attribute_statement(builder, current, ElementKind::Graph)?,
                Kind::Keyword(Keyword::Node) => self.attribute_statement(builder, current, ElementKind::Node)?,
                Kind::Keyword(Keyword::Edge) => self.attribute_statement(builder, current, ElementKind::Edge)?,
                Kind::Text { .. } | Kind::Html(_) => {
                    let name = self.text()?;
                    if self.accept_byte(b'=')? {
                        let value = self.text()?;
                        builder.set_default(current, ElementKind::Graph, &name.text, value)?;
                        Step::Done
                    } else {
                        let nodes = self.node_list(builder, current, name)?;
                        self.edge_statement(builder, current, vec![nodes])?
                    }
                }
                Kind::Keyword(Keyword::Subgraph) | Kind::Byte(b'{') => self.open(builder, current, Vec::new())?,
                _ => return Err(self.unexpected().into()),
            };
            match step {
                Step::Opened(subgraph) => current = subgraph,
                Step::Done => {
                    self.accept_byte(b';')?;
                }
            }
        }
    }

    /// `subgraph`, perhaps a name, and the brace of the body.
    fn open(&mut self, builder: &mut Builder<'_>, outer: usize, chain: Vec<Operand>) -> Result<Step, ParseError> {
        let name = if self.accept_keyword(Keyword::Subgraph)? { self.accept_text()? } else { None };
        // Graphviz makes the subgraph when it sees the brace.
        if self.token.kind != Kind::Byte(b'{') {
            return Err(self.unexpected().into());
        }
        if self.frames.len() + 1 >= self.limits.brace_depth {
            return Err(TooMuch::BraceDepth(self.limits.brace_depth).into());
        }
        self.advance()?;
        let subgraph = builder.subgraph(outer, name)?;
        self.frames.push(Frame { outer, chain });
        Ok(Step::Opened(subgraph))
    }

    /// `name:port, name, ...`, the first name of which has been read.
    fn node_list(&mut self, builder: &mut Builder<'_>, current: usize, first: Text) -> Result<Operand, ParseError> {
        let mut nodes = Vec::new();
        let mut name = first;
        loop {
            let node = builder.node(current, name)?;
            nodes.push((node, self.port()?));
            if !self.accept_byte(b',')? {
                return Ok(Operand::Nodes(nodes));
            }
            name = self.text()?;
        }
    }

    /// A port as Graphviz keeps it: `name` or `name:compass`, in one text.
    fn port(&mut self) -> Result<Option<Text>, ParseError> {
        if !self.accept_byte(b':')? {
            return Ok(None);
        }
        let port = self.text()?;
        if !self.accept_byte(b':')? {
            return Ok(Some(port));
        }
        let compass = self.text()?;
        Ok(Some(Text::plain(&format!("{}:{}", port.text, compass.text))))
    }

    /// What follows an operand: more operands, then attributes.
    fn edge_statement(
        &mut self,
        builder: &mut Builder<'_>,
        current: usize,
        mut chain: Vec<Operand>,
    ) -> Result<Step, ParseError> {
        while let Kind::Arrow(directed) = self.token.kind {
            if directed != self.directed {
                return Err(self.unexpected().into());
            }
            self.advance()?;
            match &self.token.kind {
                Kind::Text { .. } | Kind::Html(_) => {
                    let name = self.text()?;
                    let nodes = self.node_list(builder, current, name)?;
                    chain.push(nodes);
                }
                Kind::Keyword(Keyword::Subgraph) | Kind::Byte(b'{') => return self.open(builder, current, chain),
                _ => return Err(self.unexpected().into()),
            }
        }
        let attributes = self.attribute_lists()?;
        match chain.as_slice() {
            // The attributes of a subgraph that no edge touches are nobody's.
            [Operand::Subgraph(_)] | [] => {}
            [Operand::Nodes(nodes)] => {
                for (name, value) in &attributes {
                    for (node, _) in nodes {
                        builder.set_node(*node, name, value.clone())?;
                    }
                }
            }
            _ => make_edges(builder, current, &chain, &attributes)?,
        }
        Ok(Step::Done)
    }

    /// `node [...]`, `edge [...]`, `graph [...]`, perhaps with the name of a macro.
    fn attribute_statement(
        &mut self,
        builder: &mut Builder<'_>,
        current: usize,
        kind: ElementKind,
    ) -> Result<Step, ParseError> {
        self.advance()?;
        if self.accept_text()?.is_some() {
            self.expect_byte(b'=')?;
            self.warnings.push("attribute macros not implemented");
        }
        if self.token.kind != Kind::Byte(b'[') {
            return Err(self.unexpected().into());
        }
        for (name, value) in self.attribute_lists()? {
            builder.set_default(current, kind, &name, value)?;
        }
        Ok(Step::Done)
    }

    /// Any number of `[name = value, name = value; name = value]`.
    fn attribute_lists(&mut self) -> Result<Vec<(Arc<str>, Text)>, ParseError> {
        let mut attributes = Vec::new();
        while self.accept_byte(b'[')? {
            while !self.accept_byte(b']')? {
                let name = self.text()?;
                self.expect_byte(b'=')?;
                let value = self.text()?;
                attributes.push((name.text, value));
                if !self.accept_byte(b',')? {
                    self.accept_byte(b';')?;
                }
            }
        }
        Ok(attributes)
    }

    /// A name or value: text, or strings joined with `+`.
    fn text(&mut self) -> Result<Text, ParseError> {
        self.accept_text()?.ok_or_else(|| self.unexpected().into())
    }

    fn accept_text(&mut self) -> Result<Option<Text>, ParseError> {
        if !matches!(self.token.kind, Kind::Text { .. } | Kind::Html(_)) {
            return Ok(None);
        }
        let (mut text, html, joins) = match self.advance()?.kind {
            Kind::Text { text, quoted } => (text, false, quoted),
            Kind::Html(text) => (text, true, true),
            _ => return Ok(None),
        };
        while joins && self.token.kind == Kind::Byte(b'+') {
            self.advance()?;
            if !matches!(self.token.kind, Kind::Text { quoted: true, .. } | Kind::Html(_)) {
                return Err(self.unexpected().into());
            }
            if let Kind::Text { text: more, .. } | Kind::Html(more) = self.advance()?.kind {
                text.push_str(&more);
            }
        }
        Ok(Some(Text { text: text.into(), html }))
    }

    /// Moves on to the next token and returns the one before it.
    fn advance(&mut self) -> Result<Token, SyntaxError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn accept_byte(&mut self, byte: u8) -> Result<bool, SyntaxError> {
        let is = self.token.kind == Kind::Byte(byte);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    fn accept_keyword(&mut self, keyword: Keyword) -> Result<bool, SyntaxError> {
        let is = self.token.kind == Kind::Keyword(keyword);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    fn expect_byte(&mut self, byte: u8) -> Result<(), SyntaxError> {
        if self.accept_byte(byte)? { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> SyntaxError {
        self.lexer.error_near(&self.token)
    }
}

/// The edges of one statement: from every node of an operand to every node of the next.
fn make_edges(
    builder: &mut Builder<'_>,
    current: usize,
    chain: &[Operand],
    attributes: &[(Arc<str>, Text)],
) -> Result<(), TooMuch> {
    let key = attributes.iter().rev().find(|(name, _)| &**name == "key").map(|(_, value)| value);
    let mut sides = chain.iter();
    let Some(first) = sides.next() else { return Ok(()) };
    let mut tails = nodes_of(builder, first)?;
    for side in sides {
        let heads = nodes_of(builder, side)?;
        for (tail, tail_port) in &tails {
            for (head, head_port) in &heads {
                let (edge, turned) = builder.edge(current, *tail, *head, key)?;
                let (tail_name, head_name) = if turned { ("headport", "tailport") } else { ("tailport", "headport") };
                if let Some(port) = tail_port {
                    builder.set_edge(edge, tail_name, port.clone())?;
                }
                if let Some(port) = head_port {
                    builder.set_edge(edge, head_name, port.clone())?;
                }
                for (name, value) in attributes.iter().filter(|(name, _)| &**name != "key") {
                    builder.set_edge(edge, name, value.clone())?;
                }
            }
        }
        tails = heads;
    }
    Ok(())
}

fn nodes_of(builder: &mut Builder<'_>, operand: &Operand) -> Result<Vec<(usize, Option<Text>)>, TooMuch> {
    Ok(match operand {
        Operand::Nodes(nodes) => nodes.clone(),
        Operand::Subgraph(subgraph) => builder.nodes_of(*subgraph)?.into_iter().map(|node| (node, None)).collect(),
    })
}
