//! What the operator sees of webhooks.

use quintet_platform::access::Service;
use quintet_platform::deliveries::all_counters;
use quintet_platform::webhooks::Standing;
use quintet_storage::{Failure, Store};

use crate::telling::rows;

/// How the webhooks of all workspaces stand. None counts as given up: whose it is was told so.
///
/// # Errors
/// The store's failures.
pub(crate) fn standing(store: &Store) -> Result<Standing, Failure> {
    let read = store.read();
    let mut standing = Standing::default();
    rows::each(&read, |_, webhook| {
        standing.endpoints += 1;
        standing.disabled += u64::from(webhook.disabled_at.is_some());
    })?;
    standing.waiting = all_counters(&read, Service::Messaging)?.iter().map(|(_, counters)| counters.pending).sum();
    Ok(standing)
}
