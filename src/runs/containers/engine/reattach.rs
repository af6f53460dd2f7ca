//! After a break: the runner is asked for all containers, and every run is made to agree with the truth.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use quintet_runtime::{Action, ContainerState, ContainerStatus, Refusal, RunnerError};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::core::{Engine, Hand, Trouble};
use crate::containers::archive::{self, Archive};
use crate::containers::changes::find;
use crate::containers::end::End;
use crate::containers::model::{Reason, Run};
use crate::containers::{dispatch, life};
use crate::model::{RunId, RunKey};
use crate::states::{Actor, RunState};

/// How long the start of a container takes, about.
const START_TIME: Duration = Duration::from_millis(20);

impl Engine {
    /// Asks the runner for all containers and makes every run agree with the truth.
    pub(super) async fn reattach(self: &Arc<Self>) -> Result<(), Trouble> {
        // Before the runner is asked: a container that comes later is not missed.
        let over = self.over_with_container()?;
        let containers: BTreeMap<(RunId, u32), ContainerStatus> = self
            .call(|runner| runner.list())
            .await?
            .into_iter()
            .filter_map(|status| Some((self.context.run_of(&status.id)?, status)))
            .collect();
        let snapshot = self.context.store.read();
        for run_key in life::with_slots(&snapshot)? {
            let Some(hand) = self.take(run_key.1) else { continue };
            // What happened since the snapshot counts.
            let Some(run) = find(&self.context.store.read(), run_key)?.filter(|run| run.state.holds_slot()) else {
                continue;
            };
            self.agree(run_key, &run, containers.get(&(run_key.1, run.starts)), hand).await?;
        }
        for ((run_id, number), status) in &containers {
            self.clear_up(*run_id, *number, status).await?;
        }
        for (run_key, number) in over {
            if !containers.contains_key(&(run_key.1, number))
                && let Some(_hand) = self.take(run_key.1)
            {
                self.write(move |tx, now| archive::keep(tx, now, run_key, Some(&Archive::Lost))).await?;
            }
        }
        Ok(())
    }

    /// The runs that have ended and whose container may be there.
    fn over_with_container(&self) -> Result<Vec<(RunKey, u32)>, Failure> {
        let read = self.context.store.read();
        let mut over = Vec::new();
        for (run_key, number) in life::containers(&read)? {
            if find(&read, run_key)?.is_none_or(|run| run.state.is_terminal()) {
                over.push((run_key, number));
            }
        }
        Ok(over)
    }

    /// Makes a run that holds a slot agree with its container.
    async fn agree(
        self: &Arc<Self>,
        run_key: RunKey,
        run: &Run,
        listed: Option<&ContainerStatus>,
        hand: Hand,
    ) -> Result<(), Trouble> {
        if agrees(run.state, listed.map(|status| status.state)) {
            return Ok(());
        }
        let number = run.starts;
        // Much may have happened since the list was made. What does not agree is asked for again, now that nobody starts
        // or ends this run, or tells its container what to do.
        let _turn = self.context.control_of(run_key.1).await;
        let Some(run) = find(&self.context.store.read(), run_key)?.filter(|run| run.state.holds_slot()) else {
            return Ok(());
        };
        let status = match self.context.container_id(run_key.1, number) {
            Some(id) => match self.call(move |runner| runner.status(&id)).await {
                Ok(status) => Some(status),
                Err(RunnerError::Refused(Refusal::NoSuchContainer)) => None,
                Err(error) => return Err(error.into()),
            },
            None => None,
        };
        match (run.state, status.as_ref().map(|status| status.state)) {
            (RunState::Queued, _) | (RunState::Pulling, None) => {
                self.write(move |tx, now| dispatch::requeue(tx, now, run_key)).await?;
            }
            (_, None) => {
                let message = "its container is gone, and how it would have ended nobody knows";
                let end = End::failed(Reason::WorkerLost, message, self.context.clock.now());
                let node_ends = self.context.node_ends;
                self.write(move |tx, now| life::ended_of_node(tx, now, run_key, number, &end, node_ends)).await?;
            }
            (_, Some(ContainerState::Ended)) => {
                if let Some(status) = status {
                    drop(hand);
                    tokio::spawn(Arc::clone(self).finish(status.id));
                }
            }
            // Whoever starts it answers within moments: look again then.
            (_, Some(ContainerState::Starting)) => {
                let context = self.context.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(START_TIME).await;
                    context.doubt();
                });
            }
            (state, Some(found)) => self.go_on(run_key, number, state, found, status).await?,
        }
        Ok(())
    }

    /// The container lives: its run is running, or paused, as it is.
    async fn go_on(
        &self,
        run_key: RunKey,
        number: u32,
        state: RunState,
        found: ContainerState,
        status: Option<ContainerStatus>,
    ) -> Result<(), Failure> {
        let Some(status) = status else { return Ok(()) };
        let now = self.context.clock.now();
        let at = status.started_at_micros.map_or(now, Timestamp::from_micros);
        let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
            if state == RunState::Pulling {
                life::started(tx, now, run_key, number, at, &status.image.to_string())?;
            }
            let changed = match (state, found) {
                (RunState::Pulling | RunState::Running, ContainerState::Paused) => {
                    life::paused(tx, now, Actor::Engine, run_key, number)
                }
                (RunState::Paused, ContainerState::Running) => {
                    life::resumed(tx, now, Actor::Engine, run_key, number, status.paused_micros)
                }
                _ => Ok(()),
            };
            match changed {
                Ok(()) | Err(Abort::Refused(_)) => Ok(()),
                Err(Abort::Failed(failure)) => Err(failure),
            }
        };
        self.write(verb).await
    }

    /// A container that is no live run's: one whose run has ended is archived; one that no run knows of is killed.
    async fn clear_up(self: &Arc<Self>, run_id: RunId, number: u32, status: &ContainerStatus) -> Result<(), Trouble> {
        let read = self.context.store.read();
        let run = match life::container(&read, run_id)? {
            Some((run_key, known)) if known == number => find(&read, run_key)?,
            _ => None,
        };
        if run.is_some_and(|run| run.state.holds_slot()) {
            return Ok(());
        }
        if status.state == ContainerState::Ended {
            tokio::spawn(Arc::clone(self).finish(status.id.clone()));
            return Ok(());
        }
        tracing::warn!(container = %status.id, "a container that no run knows of is killed");
        let id = status.id.clone();
        match self.call(move |runner| runner.control(&id, Action::Kill)).await {
            Ok(()) | Err(RunnerError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a run in this state needs nothing done, with its container in that one.
fn agrees(state: RunState, container: Option<ContainerState>) -> bool {
    matches!(
        (state, container),
        (RunState::Running, Some(ContainerState::Running)) | (RunState::Paused, Some(ContainerState::Paused))
    )
}
