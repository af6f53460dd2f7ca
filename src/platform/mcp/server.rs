//! What a service says of itself in this protocol: its name, what models need to know, its tools.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::{Value, json};

use super::argument::Argument;
use super::schema::input_schema;
use super::tool::Tool;
use crate::service::{Dialect, Endpoints, endpoint};

/// A service as this protocol knows it.
pub struct Server<D: Dialect> {
    /// What it is called.
    pub name: &'static str,
    /// What a model needs to know of it.
    pub instructions: &'static str,
    /// Its tools.
    pub tools: &'static [Tool<D>],
    /// The argument of every tool that says as whom a call acts: a field of the header, before that of the request.
    pub(super) acts: Option<Argument>,
    /// Further fields of the header that calls have from their request.
    pub(super) carried: &'static [&'static str],
    show: Option<fn(Bytes) -> Bytes>,
    listed: OnceLock<String>,
}

impl<D: Dialect> Server<D> {
    /// A service's tools.
    #[must_use]
    pub const fn new(name: &'static str, instructions: &'static str, tools: &'static [Tool<D>]) -> Server<D> {
        Server { name, instructions, tools, acts: None, carried: &[], show: None, listed: OnceLock::new() }
    }

    /// The same, whose tools all take an argument that says as whom they are called.
    #[must_use]
    pub const fn acting(mut self, argument: Argument) -> Server<D> {
        self.acts = Some(argument);
        self
    }

    /// The same, whose calls have these fields of the header from their request, names in lower case.
    #[must_use]
    pub const fn carrying(mut self, fields: &'static [&'static str]) -> Server<D> {
        self.carried = fields;
        self
    }

    /// The same, which has every result of a tool go through `show`, refusals too.
    #[must_use]
    pub const fn showing(mut self, show: fn(Bytes) -> Bytes) -> Server<D> {
        self.show = Some(show);
        self
    }

    /// A result of a tool as it is told.
    pub(super) fn shown(&self, body: Bytes) -> Bytes {
        match self.show {
            Some(show) => show(body),
            None => body,
        }
    }

    /// The tool of this name whose routes are served.
    pub(super) fn tool(&self, endpoints: Endpoints<D>, name: &str) -> Option<&'static Tool<D>> {
        self.tools.iter().find(|tool| tool.name == name && tool.is_served(endpoints))
    }

    /// All tools whose routes are served, as they are listed: a JSON array.
    pub fn listed(&self, endpoints: Endpoints<D>) -> &str {
        self.listed.get_or_init(|| {
            let served = self.tools.iter().filter(|tool| tool.is_served(endpoints));
            Value::Array(served.map(|tool| self.described(tool, endpoints)).collect()).to_string()
        })
    }

    /// A tool as it is listed.
    fn described(&self, tool: &Tool<D>, endpoints: Endpoints<D>) -> Value {
        let routes: Vec<_> =
            tool.routes().filter_map(|(_, template)| Some(endpoint(endpoints, template)?.route)).collect();
        let only_reads = routes.iter().all(|route| !route.is_change()) && !tool.is_noting;
        json!({
            "name": tool.name,
            "title": title(tool.name),
            "description": tool.about,
            "inputSchema": input_schema(tool, &routes, self.acts.as_ref()),
            "annotations": {
                "title": title(tool.name),
                "readOnlyHint": only_reads,
                "destructiveHint": tool.is_destructive,
                "idempotentHint": only_reads || tool.is_idempotent,
                "openWorldHint": false,
            },
        })
    }
}

/// `get_run` is `Get run`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
