//! From the table of a service's endpoints to its listener: each route with the function that answers it, and the way
//! that all requests go.

use axum::Router;
use axum::extract::Request;
use axum::middleware;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, get, on};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{Extensions, HeaderValue, StatusCode};

use super::answer::{Answer, JSON};
use super::call::{Call, Visit, request_id_of};
use super::describe;
use super::dialect::{Dialect, ServiceRefusal};
use super::fault::Fault;
use super::route::{Method, Route, any_json, media};
use crate::http::etag::ETag;
use crate::http::request_id;
use crate::secrets::digest;

/// Why a handler ends early.
#[derive(Debug)]
pub enum Stop<R> {
    /// The request was answered before; with this.
    Replay(Answer),
    /// It is refused.
    Refused(R),
}

impl<R> From<R> for Stop<R> {
    fn from(refusal: R) -> Stop<R> {
        Stop::Refused(refusal)
    }
}

/// How a handler ends.
pub type Answered<D> = Result<Answer, Stop<<D as Dialect>::Refusal>>;

/// What answers a route.
pub enum Handler<D: Dialect> {
    /// Open to everybody.
    Open(fn(Visit<D>) -> BoxFuture<'static, Answered<D>>),
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

    /// A route for those who are let in.
    pub const fn new(route: &'static Route, handler: fn(Call<D>) -> BoxFuture<'static, Answered<D>>) -> Endpoint<D> {
        Endpoint { route, handler: Handler::Admitted(handler) }
    }

    /// The way of a request: who sends it, what it asks, what is answered.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn serve(&self, context: D::Context, request: Request) -> Answered<D> {
        let (parts, body) = request.into_parts();
        match self.handler {
            Handler::Open(handler) => handler(Visit::new(context, self.route, parts, body)?).await,
            Handler::Admitted(handler) => {
                let caller = D::admit(&context, self.route, &parts).await?;
                handler(Visit::new(context, self.route, parts, body)?.by(caller)).await
            }
        }
    }
}

/// A service's endpoints: a list for each of its folders.
pub type Endpoints<D> = &'static [&'static [Endpoint<D>]];

/// What every service says of itself besides.
const DOCUMENT: Route = Route::get("get_openapi", "/openapi.json")
    .summary("This description, in OpenAPI 3.1")
    .any_parameter()
    .successes(&[any_json(200)]);
const GUIDE: Route = Route::get("get_guide", "/llms.txt")
    .summary("How to use the service, for agents")
    .any_parameter()
    .successes(&[media(200, &[("text/plain", r#"{"type":"string"}"#)])]);

/// The routes of a service: those of its endpoints, `/openapi.json` and `/llms.txt`.
pub fn routes<D: Dialect>(endpoints: Endpoints<D>) -> impl Iterator<Item = &'static Route> {
    endpoints.iter().copied().flatten().map(|endpoint| endpoint.route).chain([&DOCUMENT, &GUIDE])
}

/// A service's listener. Requests get their identifiers here, before they pass whatever the service puts `around` its
/// routes.
pub fn router<D: Dialect>(
    context: &D::Context,
    endpoints: Endpoints<D>,
    around: impl FnOnce(Router) -> Router,
) -> Router {
    let mut router = Router::new();
    for endpoint in endpoints.iter().copied().flatten() {
        let context = context.clone();
        let answering = move |request: Request| {
            let context = context.clone();
            async move {
                let request_id = request_id_of(request.extensions()).to_owned();
                respond::<D>(endpoint.serve(context, request).await, &request_id)
            }
        };
        router = router.route(endpoint.route.path, on(filter(endpoint.route.method), answering));
    }
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    let router = router
        .route(DOCUMENT.path, constant::<D>(JSON, describe::document(endpoints).to_string()))
        .route(GUIDE.path, constant::<D>(plain, describe::guide(endpoints)))
        .fallback(async |request: Request| refuse::<D>(Fault::NoSuchPath, request.extensions()))
        .method_not_allowed_fallback(async |request: Request| {
            refuse::<D>(Fault::MethodNotAllowed, request.extensions())
        });
    around(router).layer(middleware::from_fn(request_id::assign))
}

/// What is answered the same every time, with its digest as entity tag.
fn constant<D: Dialect>(media_type: HeaderValue, text: String) -> MethodRouter {
    let etag = ETag::strong(&HEXLOWER.encode(&digest(text.as_bytes())));
    let text = Bytes::from(text);
    get(move || {
        let answer = Answer::other(200, media_type.clone(), text.clone()).tagged(&etag);
        async move { respond::<D>(Ok(answer), "") }
    })
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

/// The response of an outcome.
fn respond<D: Dialect>(outcome: Answered<D>, request_id: &str) -> Response {
    match outcome {
        Ok(answer) | Err(Stop::Replay(answer)) => {
            let mut response = answer.into_response();
            D::dress(&mut response);
            response
        }
        Err(Stop::Refused(refusal)) => told::<D>(&refusal, request_id),
    }
}

/// A refusal as a response to the request with this identifier.
pub fn told<D: Dialect>(refusal: &D::Refusal, request_id: &str) -> Response {
    let mut verdict = refusal.verdict();
    let (media_type, body) = D::write(&verdict, request_id);
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(verdict.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = verdict.take_headers();
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    D::dress(&mut response);
    response
}

/// A fault that is met outside the handlers, as the service's own response: a panic, a request without Host, an edge that
/// turns somebody away.
pub fn refuse<D: Dialect>(fault: Fault, extensions: &Extensions) -> Response {
    told::<D>(&fault.into(), request_id_of(extensions))
}
