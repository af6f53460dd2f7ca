//! Thin handlers: read a request, have it done, answer.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use quintet_drawing::render::Format;
use quintet_platform::http::query::Query;
use quintet_platform::http::request_id;
use quintet_storage::{Read as _, Room};
use serde_json::json;

use super::answer::{error_members, json_answer, refuse, tell_warnings};
use super::routes::{ASSET, DOCS, GENERATE, GRAPH, HEALTH, LLMS, OPENAPI, PAGE, RENDER, VALIDATE};
use super::{describe, page, picture, request, work};
use crate::context::Context;
use crate::generate::PROMPT_BYTES_MAX;
use crate::refusal::Refusal;
use crate::tables::{THE_TOTALS, TOTALS};

/// The listener of the diagrams.
pub fn routes(context: Context) -> Router {
    Router::new()
        .route(PAGE.path, get(page::get_page).post(page::post_form))
        .route(DOCS.path, get(describe::get_docs))
        .route(GENERATE.path, post(generate))
        .route(RENDER.path, post(render))
        .route(GRAPH.path, get(get_graph))
        .route(VALIDATE.path, post(validate))
        .route(HEALTH.path, get(get_health))
        .route(OPENAPI.path, get(describe::get_openapi))
        .route(LLMS.path, get(describe::get_llms))
        .route(ASSET.path, get(page::get_asset))
        .fallback(async || refuse(&Refusal::NotFound("no such path; GET /api/docs lists them")))
        .method_not_allowed_fallback(async || refuse(&Refusal::MethodNotAllowed))
        .layer(middleware::from_fn(request_id::assign))
        .with_state(context)
}

/// The answer to a request whose handler panicked.
#[must_use]
pub fn panic_answer() -> Response {
    refuse(&Refusal::Internal)
}

fn answered(outcome: Result<Response, Refusal>) -> Response {
    outcome.unwrap_or_else(|refusal| refuse(&refusal))
}

async fn render(State(context): State<Context>, request: Request) -> Response {
    answered(try_render(&context, request).await)
}

async fn try_render(context: &Context, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    request::authorize(context, &parts.headers).await?;
    let mut query = request::query(&parts.uri)?;
    let format = query.one_of("format", &["png", "svg"]).map_err(request::parameter)?;
    query.finish().map_err(request::parameter)?;
    let format = format.and_then(Format::named).unwrap_or(Format::Png);
    let origin = request::origin(&parts)?;
    let source = request::one_field(context, &parts.headers, body, "dotfile", work::source_bytes_max()).await?;
    let drawn = work::draw_and_keep(context, format, source).await?;
    let url = format!("{origin}/graphs/{}", picture::file_name(drawn.hash, format));
    let mut response = json_answer(200, &json!({ "url": url }));
    tell_warnings(&mut response, &drawn.warnings, drawn.is_degraded);
    Ok(response)
}

async fn get_graph(State(context): State<Context>, request: Request) -> Response {
    answered(picture::answer(&context, request).await)
}

async fn validate(State(context): State<Context>, request: Request) -> Response {
    answered(try_validate(&context, request).await)
}

async fn try_validate(context: &Context, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    request::authorize(context, &parts.headers).await?;
    request::query(&parts.uri)?.finish().map_err(request::parameter)?;
    let source = request::one_field(context, &parts.headers, body, "dotfile", work::source_bytes_max()).await?;
    let verdict = match work::check(context, source).await? {
        Ok(()) => json!({ "valid": true }),
        Err(error) => {
            let mut members = error_members(&Refusal::Undrawable(error));
            members.insert("valid".to_owned(), json!(false));
            members.into()
        }
    };
    Ok(json_answer(200, &verdict))
}

async fn generate(State(context): State<Context>, request: Request) -> Response {
    answered(try_generate(&context, request).await)
}

async fn try_generate(context: &Context, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    request::authorize(context, &parts.headers).await?;
    request::query(&parts.uri)?.finish().map_err(request::parameter)?;
    let prompt = request::one_field(context, &parts.headers, body, "prompt", PROMPT_BYTES_MAX).await?;
    let dotfile = work::generate(context, &prompt).await?;
    Ok(json_answer(200, &json!({ "dotfile": dotfile })))
}

async fn get_health(State(context): State<Context>, request: Request) -> Response {
    if let Err(error) = Query::parse(request.uri().query()).and_then(Query::finish) {
        return refuse(&request::parameter(error));
    }
    let saturated_for = context.pool.saturated_for();
    let reason = if context.store.stop_reason().is_some() {
        Some("storage has stopped; a restart clears it")
    } else if context.store.read().get(&TOTALS, &THE_TOTALS).is_err() {
        Some("storage cannot be read")
    } else if context.store.room() != Room::Ample {
        Some("free disk space is below the reserve; what is stored can be read")
    } else if saturated_for >= context.saturated_time {
        Some("drawings have been waiting for all of the last seconds; more come in than can be made")
    } else {
        None
    };
    match reason {
        None => {
            let waiting = context.pool.reading().waiting;
            let version = env!("CARGO_PKG_VERSION");
            json_answer(200, &json!({ "status": "healthy", "version": version, "waiting": waiting }))
        }
        Some(reason) => json_answer(503, &json!({ "status": "degraded", "reason": reason })),
    }
}
