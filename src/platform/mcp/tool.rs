//! A tool: a line in a service's table, which names routes.

use http::HeaderMap;
use quintet_storage::Uuid;
use serde_json::Value;

use super::argument::{Argument, Form};
use super::arguments::{take, wrong};
use super::steps::Compose;
use crate::json::Json;
use crate::service::{Dialect, Endpoint, Endpoints, Fault, endpoint};

/// What is answered where a route answers with nothing: from the context, the tenant, and what the path named, by name.
pub(super) type Acknowledge<D> = fn(&<D as Dialect>::Context, Uuid, &[(&'static str, String)]) -> Value;

/// The members that an answer has from the header of its route's.
pub(super) type Besides = fn(&HeaderMap) -> Vec<(&'static str, Json)>;

/// Which routes a tool calls: method and path of each, as the route has them.
#[derive(Clone, Copy, Debug)]
enum Calls {
    /// Always the same.
    One(&'static str),
    /// As an argument says, which takes one of these words.
    Choice(&'static str, &'static [(&'static str, &'static str)]),
    /// The first without an argument, the second with it.
    Either(&'static str, [(&'static str, &'static str); 2]),
    /// Several of these, or one several times, as its function does it.
    Several(&'static [&'static str]),
}

/// What a tool does that is more than one route.
pub(super) struct Composed<D: Dialect> {
    /// Its arguments: a JSON schema.
    pub(super) input: &'static str,
    pub(super) compose: Compose<D>,
}

/// The most calls of a tool that takes a list.
pub(super) const EACH_MAX: usize = 100;

/// The words by which the routes of [`Tool::either`] are told apart.
const WITHOUT: &str = "without";
const WITH: &str = "with";

/// A tool.
pub struct Tool<D: Dialect> {
    /// What it is called.
    pub name: &'static str,
    pub(super) about: &'static str,
    calls: Calls,
    pub(super) form: Form,
    pub(super) composed: Option<Composed<D>>,
    /// The argument that may be a list, of which each is a call; empty: none.
    pub(super) each: &'static str,
    pub(super) is_destructive: bool,
    pub(super) is_idempotent: bool,
    /// Whether it notes something, although its routes only read.
    pub(super) is_noting: bool,
    pub(super) acknowledge: Option<Acknowledge<D>>,
    pub(super) besides: Option<Besides>,
}

impl<D: Dialect> Tool<D> {
    /// A tool that calls one route, such as `GET /a/{id}`. `about` says what models need to know of it.
    #[must_use]
    pub const fn new(name: &'static str, route: &'static str, about: &'static str) -> Tool<D> {
        Tool::of(name, Calls::One(route), about)
    }

    /// A tool that calls the route which its argument `argument` chooses.
    #[must_use]
    pub const fn choice(
        name: &'static str,
        argument: &'static str,
        routes: &'static [(&'static str, &'static str)],
        about: &'static str,
    ) -> Tool<D> {
        Tool::of(name, Calls::Choice(argument, routes), about)
    }

    /// A tool that calls the second of two routes where it is given an argument, which that one takes, and else the first.
    #[must_use]
    pub const fn either(
        name: &'static str,
        argument: &'static str,
        routes: [&'static str; 2],
        about: &'static str,
    ) -> Tool<D> {
        let [without, with] = routes;
        Tool::of(name, Calls::Either(argument, [(WITHOUT, without), (WITH, with)]), about)
    }

    /// A tool that is more than one route: the routes that it calls, of which the first says who may, its arguments as a JSON
    /// schema, and what it does.
    #[must_use]
    pub const fn composed(
        name: &'static str,
        routes: &'static [&'static str],
        input: &'static str,
        compose: Compose<D>,
        about: &'static str,
    ) -> Tool<D> {
        let mut tool = Tool::of(name, Calls::Several(routes), about);
        tool.composed = Some(Composed { input, compose });
        tool
    }

    const fn of(name: &'static str, calls: Calls, about: &'static str) -> Tool<D> {
        Tool {
            name,
            about,
            calls,
            form: Form::PLAIN,
            composed: None,
            each: "",
            is_destructive: false,
            is_idempotent: false,
            is_noting: false,
            acknowledge: None,
            besides: None,
        }
    }

    /// The same without what of its route makes no sense here, such as a parameter that asks for a stream.
    #[must_use]
    pub const fn without(mut self, left_out: &'static [&'static str]) -> Tool<D> {
        self.form.left_out = left_out;
        self
    }

    /// The same with arguments of its own.
    #[must_use]
    pub const fn with(mut self, arguments: &'static [Argument]) -> Tool<D> {
        self.form.arguments = arguments;
        self
    }

    /// The same for whoever asks: this segment of its path is that one's name unless an argument says another.
    #[must_use]
    pub const fn own(mut self, segment: &'static str) -> Tool<D> {
        self.form.own = segment;
        self
    }

    /// The same, whose argument of this name may be a list: then its route is called for each.
    #[must_use]
    pub const fn for_each(mut self, argument: &'static str) -> Tool<D> {
        self.each = argument;
        self
    }

    /// The same, which ends or replaces something.
    #[must_use]
    pub const fn destructive(mut self) -> Tool<D> {
        self.is_destructive = true;
        self
    }

    /// The same, which does no more when it is called again.
    #[must_use]
    pub const fn idempotent(mut self) -> Tool<D> {
        self.is_idempotent = true;
        self
    }

    /// The same, which notes something although its routes only read.
    #[must_use]
    pub const fn noting(mut self) -> Tool<D> {
        self.is_noting = true;
        self
    }

    /// The same with an answer where its routes have none.
    #[must_use]
    pub const fn acknowledged(mut self, acknowledge: Acknowledge<D>) -> Tool<D> {
        self.acknowledge = Some(acknowledge);
        self
    }

    /// The same, which tells in its answer what its route says in fields of the header.
    #[must_use]
    pub const fn telling(mut self, besides: Besides) -> Tool<D> {
        self.besides = Some(besides);
        self
    }

    /// The routes that it calls, by what its argument says; empty where there is none to choose.
    pub fn routes(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (few, chosen, several) = match self.calls {
            Calls::One(route) => ([Some(("", route)), None], &[][..], &[][..]),
            Calls::Choice(_, routes) => ([None, None], routes, &[][..]),
            Calls::Either(_, [without, with]) => ([Some(without), Some(with)], &[][..], &[][..]),
            Calls::Several(routes) => ([None, None], &[][..], routes),
        };
        few.into_iter().flatten().chain(chosen.iter().copied()).chain(several.iter().map(|route| ("", *route)))
    }

    /// The argument that chooses the route by its word.
    pub(super) fn chooser(&self) -> Option<&'static str> {
        match self.calls {
            Calls::Choice(argument, _) => Some(argument),
            Calls::One(_) | Calls::Either(..) | Calls::Several(_) => None,
        }
    }

    /// Which route arguments choose. A word that does so is taken out of them, as is one that says nothing.
    pub(super) fn chosen(&self, arguments: &mut Vec<(String, Json)>) -> Result<&'static str, Fault> {
        match self.calls {
            Calls::One(_) | Calls::Several(_) => Ok(""),
            Calls::Either(argument, [(without, _), (with, _)]) => {
                if arguments.iter().any(|(name, value)| name == argument && *value != Json::Null) {
                    return Ok(with);
                }
                arguments.retain(|(_, value)| *value != Json::Null);
                Ok(without)
            }
            Calls::Choice(chooser, routes) => {
                let words = || routes.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
                let said = take(arguments, chooser).ok_or_else(|| wrong(chooser, "is required"))?;
                let known = routes.iter().map(|(word, _)| *word).find(|word| said.as_str() == Some(word));
                known.ok_or_else(|| wrong(chooser, &format!("must be one of {}", words())))
            }
        }
    }

    /// The endpoint that answers, by what its argument says; `None`: it is not served.
    pub(super) fn endpoint(&self, endpoints: Endpoints<D>, choice: &str) -> Option<&'static Endpoint<D>> {
        let (_, template) = self.routes().find(|(word, _)| *word == choice)?;
        endpoint(endpoints, template)
    }

    /// Whether all that it calls is served.
    #[must_use]
    pub fn is_served(&self, endpoints: Endpoints<D>) -> bool {
        self.routes().all(|(_, template)| endpoint(endpoints, template).is_some())
    }
}
