//! What is wished to end is ended: the wish is repeated until it is true.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use quintet_runtime::Action;
use quintet_storage::Failure;

use super::core::Engine;
use crate::containers::changes::find;
use crate::containers::wishes::{end_waiting, is_wished, wished};
use crate::model::RunKey;
use crate::states::RunState;

/// Wishes looked at in one step.
const WISHES: usize = 256;
/// Between two repetitions.
const PAUSE: Duration = Duration::from_millis(200);

impl Engine {
    /// Sees to each wish that nobody sees to yet.
    pub(super) fn heed_wishes(self: &Arc<Self>) -> Result<(), Failure> {
        for run_key in wished(&self.context.store.read(), WISHES)? {
            if self.killing.lock().unwrap_or_else(PoisonError::into_inner).insert(run_key.1) {
                let engine = Arc::clone(self);
                tokio::spawn(async move {
                    engine.kill_wished(run_key).await;
                    engine.killing.lock().unwrap_or_else(PoisonError::into_inner).remove(&run_key.1);
                });
            }
        }
        Ok(())
    }

    async fn kill_wished(self: &Arc<Self>, run_key: RunKey) {
        while !self.context.stopping.is_stopping() {
            let read = self.context.store.read();
            let Ok(true) = is_wished(&read, run_key) else { return };
            let Ok(Some(run)) = find(&read, run_key) else { return };
            drop(read);
            match run.state {
                RunState::Scheduled | RunState::Queued => {
                    if let Err(failure) = self.write(move |tx, now| end_waiting(tx, now, run_key)).await {
                        tracing::warn!(%failure, "the run of a cancelled workflow waits on; trying again");
                    }
                }
                RunState::Pulling => self.context.aside.kill(run_key.1),
                RunState::Running | RunState::Paused => {
                    if let Some(id) = self.context.container_id(run_key.1, run.starts) {
                        // Whether it was done is seen by what becomes of it.
                        let _ = self.call(move |runner| runner.control(&id, Action::Kill)).await;
                    }
                }
                RunState::Exited | RunState::Failed | RunState::Timeout | RunState::Killed => return,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
