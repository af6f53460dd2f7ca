//! What the operator sees of webhooks.

use quintet_platform::access::Service;
use quintet_platform::deliveries::all_counters;
use quintet_platform::webhooks::Standing;
use quintet_storage::{Failure, Store};

use crate::telling::rows;

/// How the webhooks of all workspaces stand.
///
/// # Errors
/// The store's failures.
pub(crate) fn standing(store: &Store) -> Result<Standing, Failure> {
    let read = store.read();
    let mut standing = Standing::default();
    let mut disabled = Vec::new();
    rows::each(&read, |key, webhook| {
        standing.endpoints += 1;
        standing.disabled += u64::from(webhook.disabled_at.is_some());
        disabled.extend(webhook.disabled_at.map(|_| key));
    })?;
    for key in disabled {
        // Who was disabled by hand had failed less often, or was enabled before.
        let failures = rows::standing(&read, key)?.consecutive_failures;
        standing.given_up += u64::from(failures >= super::room::FAILURES_OF_DISABLING);
    }
    standing.waiting = all_counters(&read, Service::Messaging)?.iter().map(|(_, counters)| counters.pending).sum();
    Ok(standing)
}
