//! Diagrams over HTTP: the routes on one screen, thin handlers below.
//!
//! Reading order: `routes` (the table), this file, `request` (who asks, and what), `work` (drawing, storing, asking the
//! AI engine), `picture` (stored pictures on their way out), `answer` · `page`, `outline` (the web page) · `describe`.

mod answer;
mod describe;
mod outline;
mod page;
mod picture;
mod request;
mod routes;
mod work;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use quintet_platform::Foundation;
use quintet_platform::clock::DueWork;
use quintet_platform::http::query::Query;
use quintet_platform::http::request_id;
use quintet_storage::{Read as _, Room};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::engine::Engine;
use crate::generate::Generator;
use crate::pool::{Pool, PoolReading};
use crate::refusal::Refusal;
use crate::render::Format;
use crate::store::{self, Results};
use crate::tables::{THE_TOTALS, TOTALS, TotalsRow};
use answer::{error_members, json_answer, refuse, tell_warnings};
pub use routes::{PERMISSION, ROUTES, Route};

/// After how long of drawings waiting without a break the service calls itself degraded.
const SATURATED_TIME: Duration = Duration::from_secs(10);
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Bodies of more than [`request::SMALL_BODY_BYTES`] that are held at once.
const LARGE_BODIES_MAX: usize = 32;

/// What diagrams need to serve. Clones share it, at the cost of one reference.
#[derive(Clone)]
pub struct Context(Arc<Parts>);

/// The parts of a context.
pub struct Parts {
    foundation: Foundation,
    engine: Engine,
    generator: Option<Generator>,
    pool: Pool,
    results: Arc<Results>,
    requires_key: bool,
    large_bodies: Semaphore,
    saturated_time: Duration,
    /// How long a body may take to arrive.
    body_time: Duration,
}

impl std::ops::Deref for Parts {
    type Target = Foundation;

    fn deref(&self) -> &Foundation {
        &self.foundation
    }
}

/// What this service needs besides the foundation of all.
pub struct Settings {
    /// What draws.
    pub engine: Engine,
    /// What writes DOT for a text, if anything does.
    pub generator: Option<Generator>,
    /// The threads that draw.
    pub pool: Pool,
    /// Whether drawing and reading pictures takes a key.
    pub requires_key: bool,
    /// How many MiB of pictures are kept.
    pub cache_mb: u32,
}

impl std::ops::Deref for Context {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Context {
    /// Made once, when the appliance starts.
    #[must_use]
    pub fn new(foundation: Foundation, settings: Settings) -> Context {
        let Settings { engine, generator, pool, requires_key, cache_mb } = settings;
        let results = Arc::new(Results::new(foundation.store.clone(), foundation.clock.clone(), cache_mb));
        Context(Arc::new(Parts {
            foundation,
            engine,
            generator,
            pool,
            results,
            requires_key,
            large_bodies: Semaphore::new(LARGE_BODIES_MAX),
            saturated_time: SATURATED_TIME,
            body_time: BODY_TIME,
        }))
    }

    pub(crate) fn due_work(&self) -> Arc<dyn DueWork> {
        store::due_work(&self.results)
    }

    /// What the threads have done and are about to do, and what is stored, for metrics.
    #[must_use]
    pub fn reading(&self) -> (PoolReading, TotalsRow) {
        (self.pool.reading(), self.results.totals().unwrap_or_default())
    }
}

/// The listener of the diagrams.
pub fn routes(context: Context) -> Router {
    Router::new()
        .route(routes::PAGE.path, get(page::get_page).post(page::post_form))
        .route(routes::DOCS.path, get(describe::get_docs))
        .route(routes::GENERATE.path, post(generate))
        .route(routes::RENDER.path, post(render))
        .route(routes::GRAPH.path, get(get_graph))
        .route(routes::VALIDATE.path, post(validate))
        .route(routes::HEALTH.path, get(get_health))
        .route(routes::OPENAPI.path, get(describe::get_openapi))
        .route(routes::LLMS.path, get(describe::get_llms))
        .route(routes::ASSET.path, get(page::get_asset))
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
    let most = crate::generate::PROMPT_BYTES_MAX;
    let prompt = request::one_field(context, &parts.headers, body, "prompt", most).await?;
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
