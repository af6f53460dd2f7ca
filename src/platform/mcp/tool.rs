//! A tool: a line in a service's table, which names routes.

use quintet_storage::Uuid;
use serde_json::Value;

use crate::service::{Dialect, Endpoint, Endpoints, endpoint};

/// What is answered where a route answers with nothing: from the context, the tenant, and what the path named, by name.
pub(super) type Acknowledge<D> = fn(&<D as Dialect>::Context, Uuid, &[(&'static str, String)]) -> Value;

/// Which routes a tool calls: method and path of each, as the route has them.
#[derive(Clone, Copy, Debug)]
enum Calls {
    /// Always the same.
    One(&'static str),
    /// As an argument says, which takes one of these words.
    Choice(&'static str, &'static [(&'static str, &'static str)]),
}

/// A tool.
pub struct Tool<D: Dialect> {
    /// What it is called.
    pub name: &'static str,
    pub(super) about: &'static str,
    calls: Calls,
    left_out: &'static [&'static str],
    pub(super) is_destructive: bool,
    pub(super) is_idempotent: bool,
    pub(super) acknowledge: Option<Acknowledge<D>>,
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

    const fn of(name: &'static str, calls: Calls, about: &'static str) -> Tool<D> {
        Tool { name, about, calls, left_out: &[], is_destructive: false, is_idempotent: false, acknowledge: None }
    }

    /// The same without parameters of its route that make no sense here, such as those that ask for a stream.
    #[must_use]
    pub const fn without(mut self, parameters: &'static [&'static str]) -> Tool<D> {
        self.left_out = parameters;
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

    /// The same with an answer where its routes have none.
    #[must_use]
    pub const fn acknowledged(mut self, acknowledge: Acknowledge<D>) -> Tool<D> {
        self.acknowledge = Some(acknowledge);
        self
    }

    /// The routes that it calls, by what its argument says; empty where there is none to choose.
    pub fn routes(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (one, several) = match self.calls {
            Calls::One(route) => (Some(("", route)), &[][..]),
            Calls::Choice(_, routes) => (None, routes),
        };
        one.into_iter().chain(several.iter().copied())
    }

    /// The argument that chooses the route.
    pub(super) fn chooser(&self) -> Option<&'static str> {
        match self.calls {
            Calls::One(_) => None,
            Calls::Choice(argument, _) => Some(argument),
        }
    }

    /// Whether it takes no part in a route's parameter of this name.
    pub(super) fn leaves_out(&self, parameter: &str) -> bool {
        self.left_out.contains(&parameter)
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
