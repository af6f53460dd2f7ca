//! From the table of a service's endpoints to its listener, and every refusal to the dialect's form.

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, get, on};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{Extensions, HeaderValue, StatusCode};

use super::answer::{Answer, JSON, Stop};
use super::call::request_id_of;
use super::describe;
use super::dialect::{Answered, Dialect, ServiceRefusal};
use super::endpoint::{DOCUMENT, Endpoints, GUIDE};
use super::fault::Fault;
use super::route::{Method, Route};
use crate::http::etag::ETag;
use crate::http::request_id::RequestId;
use crate::secrets::digest;

/// A service's listener. Requests get their identifiers here, before they pass whatever the service puts `around` its
/// routes.
pub fn router<D: Dialect>(
    context: &D::Context,
    endpoints: Endpoints<D>,
    around: impl FnOnce(Router) -> Router,
) -> Router {
    let mut router = Router::new();
    let mut ordered: Vec<_> = endpoints.iter().copied().flatten().collect();
    // `Allow` names a path's methods in this order, wherever they lie.
    ordered.sort_by_key(|endpoint| endpoint.route.method);
    for endpoint in ordered {
        let context = context.clone();
        let answering = move |request: Request| {
            let context = context.clone();
            async move {
                if endpoint.route.has_no_head && request.method() != http::Method::GET {
                    let mut response = refuse::<D>(Fault::MethodNotAllowed, request.extensions());
                    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
                    return response;
                }
                let request_id = request.extensions().get::<RequestId>().cloned();
                let outcome = endpoint.serve(context, endpoints, request).await;
                respond::<D>(outcome, request_id.as_ref().map_or("", RequestId::as_str))
            }
        };
        // With a 405, `Allow` names the route's own method all the same.
        let serving = match endpoint.route {
            Route { has_no_head: true, .. } => MethodRouter::new().fallback(answering),
            Route { meets_every_method: true, .. } => {
                on(filter(endpoint.route.method), answering.clone()).fallback(answering)
            }
            route => on(filter(route.method), answering),
        };
        router = router.route(endpoint.route.path, serving);
    }
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    let router = router
        .route(DOCUMENT.path, constant::<D>(JSON, describe::document(endpoints).to_string()))
        .route(GUIDE.path, constant::<D>(plain, describe::guide(endpoints)))
        .fallback(async |request: Request| refuse::<D>(Fault::NoSuchPath, request.extensions()))
        .method_not_allowed_fallback(async |request: Request| {
            refuse::<D>(Fault::MethodNotAllowed, request.extensions())
        });
    around(router)
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
    let answer = match outcome {
        Ok(answer) => answer,
        Err(Stop::Replay(answer)) => *answer,
        Err(Stop::Refused(refusal)) => return told::<D>(&refusal, request_id),
    };
    let mut response = answer.into_response();
    D::dress(&mut response);
    response
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
