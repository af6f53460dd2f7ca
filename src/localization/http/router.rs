//! Localization's listener: the routes on one screen.

use axum::Router;
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use quintet_platform::http::request_id;

use super::answer::refuse;
use super::routes::*;
use super::{describe, files, spaces, translations};
use crate::context::Context;
use crate::refusal::Refusal;

/// Localization's listener.
pub fn routes(context: Context) -> Router {
    Router::new()
        .route(HEALTHZ.path, get(spaces::get_health))
        .route(READYZ.path, get(spaces::get_readiness))
        .route(ME.path, get(spaces::get_me))
        .route(WORKSPACE_LIST.path, get(spaces::list_workspaces).post(spaces::create_workspace))
        .route(WORKSPACE_GET.path, get(spaces::get_workspace))
        .route(PROJECT_LIST.path, get(spaces::list_projects).post(spaces::create_project))
        .route(PROJECT_GET.path, get(spaces::get_project).patch(spaces::patch_project))
        .route(LOCALES_GET.path, get(spaces::get_locales).put(spaces::put_locales))
        .route(SOURCE_LOCALE_GET.path, get(spaces::get_source_locale).put(spaces::put_source_locale))
        .route(LOCALE_LIST.path, get(spaces::list_locales))
        .route(LOCALE_VALIDATE.path, post(spaces::validate_locale))
        .route(FILE_UPLOAD.path, post(files::upload_file).get(files::list_files))
        .route(EXPORT.path, get(files::export_file))
        .route(MANIFEST.path, get(files::get_manifest))
        .route(CONTEXT_GET.path, get(translations::get_contexts).put(translations::put_contexts))
        .route(KEY_LIST.path, get(translations::list_keys))
        .route(TRANSLATION_GET.path, get(translations::get_translation).put(translations::put_translation))
        .route(OPENAPI.path, get(describe::get_openapi))
        .route(LLMS.path, get(describe::get_llms))
        .fallback(async || refuse(&Refusal::NotFound))
        .method_not_allowed_fallback(async || refuse(&Refusal::MethodNotAllowed))
        .layer(middleware::from_fn(request_id::assign))
        .with_state(context)
}

/// The answer to a request whose handler panicked.
#[must_use]
pub fn panic_answer() -> Response {
    refuse(&Refusal::InternalError)
}
