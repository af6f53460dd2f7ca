//! The member's tenant as localization knows it: who is in it and may what, and what was done.

mod audit;
mod people;

use axum::Router;
use axum::routing::get;

use super::door::Console;

/// The pages.
pub fn routes() -> Router<Console> {
    Router::new()
        .route("/people", get(people::show).post(people::take))
        .route("/audit", get(audit::show))
        .route("/audit/verify", get(audit::verify))
}
