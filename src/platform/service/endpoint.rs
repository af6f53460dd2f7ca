//! The table of a service's endpoints: each route with the function that answers it.

use axum::extract::Request;
use futures_util::future::BoxFuture;

use super::answer::{AnswerTo, Stop};
use super::call::{Call, Visit};
use super::dialect::{Answered, Dialect};
use super::route::{KeyRule, Route, any_json, media};

/// What answers a route.
pub enum Handler<D: Dialect> {
    /// Open to everybody.
    Open(fn(Visit<D>) -> BoxFuture<'static, Answered<D>>),
    /// The same, which is given the table that it is of: it answers by having others of it serve.
    Relaying(fn(Visit<D>, Endpoints<D>) -> BoxFuture<'static, Answered<D>>),
    /// For those who are let in.
    Admitted(fn(Call<D>) -> BoxFuture<'static, Answered<D>>),
}

/// A route and what answers it.
pub struct Endpoint<D: Dialect> {
    /// What is served.
    pub route: &'static Route,
    /// What answers it.
    pub handler: Handler<D>,
}

impl<D: Dialect> Endpoint<D> {
    /// A route that is open to everybody.
    pub const fn open(route: &'static Route, handler: fn(Visit<D>) -> BoxFuture<'static, Answered<D>>) -> Endpoint<D> {
        Endpoint { route, handler: Handler::Open(handler) }
    }

    /// A route that has others of its table serve, and finds out by itself who asks.
    pub const fn relaying(
        route: &'static Route,
        handler: fn(Visit<D>, Endpoints<D>) -> BoxFuture<'static, Answered<D>>,
    ) -> Endpoint<D> {
        Endpoint { route, handler: Handler::Relaying(handler) }
    }

    /// A route for those who are let in.
    pub const fn new(route: &'static Route, handler: fn(Call<D>) -> BoxFuture<'static, Answered<D>>) -> Endpoint<D> {
        Endpoint { route, handler: Handler::Admitted(handler) }
    }

    /// The way of a request: who sends it, what it asks, what is answered. `endpoints` is the table that this is of.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn serve(&self, context: D::Context, endpoints: Endpoints<D>, request: Request) -> Answered<D> {
        let (parts, body) = request.into_parts();
        match self.handler {
            Handler::Open(handler) => handler(Visit::new(context, self.route, parts, body)?).await,
            Handler::Relaying(handler) => handler(Visit::new(context, self.route, parts, body)?, endpoints).await,
            Handler::Admitted(handler) => {
                let caller = D::admit(&context, self.route, &parts).await?;
                let is_change = self.route.key != KeyRule::Ignored;
                let to = AnswerTo { tenant_id: D::tenant_id(&caller), is_change };
                match handler(Visit::new(context, self.route, parts, body)?.by(caller)).await {
                    Ok(answer) => Ok(answer.to(to)),
                    Err(Stop::Replay(answer)) => Ok(answer.to(to)),
                    Err(stop) => Err(stop),
                }
            }
        }
    }
}

/// A service's endpoints: a list for each of its folders.
pub type Endpoints<D> = &'static [&'static [Endpoint<D>]];

/// The endpoint with this method and path, such as `GET /a/{id}`.
#[must_use]
pub fn endpoint<D: Dialect>(endpoints: Endpoints<D>, template: &str) -> Option<&'static Endpoint<D>> {
    let (method, path) = template.split_once(' ')?;
    let is_it = |route: &Route| route.method.as_str() == method && route.path == path;
    endpoints.iter().copied().flatten().find(|endpoint| is_it(endpoint.route))
}

/// What every service says of itself besides.
pub(super) const DOCUMENT: Route = Route::get("get_openapi", "/openapi.json")
    .summary("This description, in OpenAPI 3.1")
    .any_parameter()
    .successes(&[any_json(200)]);
pub(super) const GUIDE: Route = Route::get("get_guide", "/llms.txt")
    .summary("How to use the service, for agents")
    .any_parameter()
    .successes(&[media(200, &[("text/plain", r#"{"type":"string"}"#)])]);

/// The routes of a service: those of its endpoints, `/openapi.json` and `/llms.txt`.
pub fn routes<D: Dialect>(endpoints: Endpoints<D>) -> impl Iterator<Item = &'static Route> {
    endpoints.iter().copied().flatten().map(|endpoint| endpoint.route).chain([&DOCUMENT, &GUIDE])
}
