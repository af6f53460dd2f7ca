//! Waiting for the end of a workflow.

use std::time::{Duration, Instant};

use quintet_storage::Abort;

use super::model::NO_WORKFLOW;
use super::rows::find;
use crate::context::Context;
use crate::model::WorkflowKey;
use crate::refusal::Refusal;

/// Waits until a workflow has ended, or for so long, or until the appliance stops.
pub(super) async fn wait(context: &Context, key: WorkflowKey, at_most: Duration) -> Result<(), Abort<Refusal>> {
    let until = Instant::now() + at_most;
    let mut watch = context.watch();
    loop {
        watch.mark();
        let workflow = find(&context.store.read(), key)?.ok_or(NO_WORKFLOW)?;
        let left = until.saturating_duration_since(Instant::now());
        if workflow.state.is_terminal() || left.is_zero() || context.stopping.is_stopping() {
            return Ok(());
        }
        watch.paced_change(left).await;
    }
}
