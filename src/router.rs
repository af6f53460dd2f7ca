//! Which routes hang on which listener.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;
use quintet_platform::service::refuse;

use crate::app::App;
use crate::console;
use crate::listener::{Capacity, Refuse, Site, Unsent};
use crate::metrics;
use crate::operations;

/// How long what a stream wrote may lie unacknowledged: then its reader is gone (6-messaging.md, W2).
const STREAM_TAKING_TIMEOUT: Duration = Duration::from_secs(60);

/// Every site of the appliance: one line a service.
#[must_use]
pub fn sites(app: &App) -> Vec<Site> {
    let unsent = Unsent::default();
    vec![
        site(
            app,
            &unsent,
            "localization",
            quintet_localization::routes(app.localization.clone()),
            refuse::<quintet_localization::Localization>,
        ),
        site(app, &unsent, "runs", quintet_runs::routes(app.runs.clone()), refuse::<quintet_runs::Runs>),
        site(app, &unsent, "ledger", quintet_ledger::routes(app.ledger.clone()), refuse::<quintet_ledger::Ledger>),
        Site {
            capacity: Capacity::STREAMS,
            taking_timeout: Some(STREAM_TAKING_TIMEOUT),
            ..site(
                app,
                &unsent,
                "messaging",
                quintet_messaging::routes(app.messaging.clone()),
                refuse::<quintet_messaging::Messaging>,
            )
        },
        site(
            app,
            &unsent,
            "diagrams",
            quintet_diagrams::routes(app.diagrams.clone()),
            refuse::<quintet_diagrams::Diagrams>,
        ),
        site(app, &unsent, "operations", operations::routes(app), console::refuse),
        site(app, &unsent, "console", console::members(app), console::refuse),
    ]
}

fn site(app: &App, unsent: &Unsent, name: &'static str, routes: Router, refuse: Refuse) -> Site {
    let counted = routes.layer(middleware::from_fn_with_state(app.metrics.of_service(name), metrics::count));
    Site {
        unsent: unsent.clone(),
        trusted_proxies: Arc::from(app.config.trusted_proxies.as_slice()),
        // The state makes axum put handlers and layers together once, and not anew for each request.
        ..Site::new(name, counted.with_state(()), refuse)
    }
}
