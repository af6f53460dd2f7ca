//! Waiting for the end of a run.

use std::time::{Duration, Instant};

use quintet_storage::Abort;

use super::changes::find;
use super::model::Run;
use crate::context::Context;
use crate::model::RunKey;
use crate::refusal::Refusal;

/// The run once it has ended, or as it is after so long, or when the appliance stops.
pub(crate) async fn wait(context: &Context, run_key: RunKey, at_most: Duration) -> Result<Run, Abort<Refusal>> {
    let until = Instant::now() + at_most;
    let mut watch = context.watch();
    loop {
        watch.mark();
        let run = find(&context.store.read(), run_key)?.ok_or(Refusal::NotFound)?;
        let left = until.saturating_duration_since(Instant::now());
        if run.state.is_terminal() || left.is_zero() || context.stopping.is_stopping() {
            return Ok(run);
        }
        watch.paced_change(left).await;
    }
}
