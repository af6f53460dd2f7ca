//! Which routes hang on which listener.

use std::sync::Arc;

use axum::Router;
use axum::middleware;

use crate::app::App;
use crate::listener::{HEAD_TIMEOUT, PanicAnswer, Site};
use crate::metrics;
use crate::operations;

/// The names of all sites, for those who ask before there is an appliance.
pub const SERVICES: &[&str] = &["localization", "runs", "ledger", "diagrams", "operations"];

/// Every site of the appliance: one line a service.
#[must_use]
pub fn sites(app: &App) -> Vec<Site> {
    vec![
        site(
            app,
            "localization",
            quintet_localization::routes(app.localization.clone()),
            quintet_localization::panic_answer,
        ),
        site(app, "runs", quintet_runs::routes(app.runs.clone()), quintet_runs::panic_answer),
        site(app, "ledger", quintet_ledger::routes(app.ledger.clone()), quintet_ledger::panic_answer),
        site(app, "diagrams", quintet_diagrams::routes(app.diagrams.clone()), quintet_diagrams::panic_answer),
        site(app, "operations", operations::routes(app), operations::panic_answer),
    ]
}

fn site(app: &App, name: &'static str, routes: Router, panic_answer: PanicAnswer) -> Site {
    let counted = routes.layer(middleware::from_fn_with_state(app.metrics.of_service(name), metrics::count));
    Site {
        name,
        router: counted,
        panic_answer,
        trusted_proxies: Arc::from(app.config.trusted_proxies.as_slice()),
        head_timeout: HEAD_TIMEOUT,
    }
}
