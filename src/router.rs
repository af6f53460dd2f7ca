//! Which routes hang on which listener.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;
use quintet_platform::service::refuse;

use crate::app::App;
use crate::listener::{Capacity, Refuse, Site, Unsent};
use crate::metrics;
use crate::operations;

/// The names of all sites, for those who ask before there is an appliance.
pub const SERVICES: &[&str] = &["localization", "runs", "ledger", "messaging", "diagrams", "operations"];

/// How long what a stream wrote may lie unacknowledged: then its reader is gone (6-messaging.md, W2).
const STREAM_TAKING_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether a listener speaks TLS, where there is a certificate: every one but that of operations while it listens to this
/// machine alone. A scraper beside the appliance calls it by an address of the loopback network, for which nobody issues
/// certificates, and what it reads does not leave the machine.
#[must_use]
pub fn is_encrypted(name: &str, address: SocketAddr) -> bool {
    name != "operations" || !address.ip().to_canonical().is_loopback()
}

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
        site(app, &unsent, "operations", operations::routes(app), operations::refuse),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_plain_on_this_machine_alone() {
        let encrypted = |name, address: &str| is_encrypted(name, address.parse().unwrap());
        assert!(!encrypted("operations", "127.0.0.1:7400"));
        assert!(!encrypted("operations", "[::1]:7400"));
        assert!(encrypted("operations", "0.0.0.0:7400"));
        assert!(encrypted("operations", "[::ffff:192.0.2.1]:7400"));
        assert!(SERVICES.iter().all(|name| encrypted(name, "192.0.2.1:1")));
        assert!(encrypted("ledger", "127.0.0.1:7430"));
    }
}
