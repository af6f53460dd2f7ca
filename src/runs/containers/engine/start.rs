//! From the slot to the running container.

use std::sync::Arc;

use quintet_runtime::{ContainerDescription, ContainerId, ContainerStatus, ImageInfo, Limits, Refusal, RunnerError};
use quintet_storage::Timestamp;

use super::core::{Engine, Trouble};
use crate::containers::end::End;
use crate::containers::model::{Reason, Run};
use crate::containers::{archive, descriptions, dispatch, life};
use crate::model::RunKey;

/// Processes and threads of a container.
const PIDS: u32 = 512;

impl Engine {
    /// Starts the container of a run that has been given a slot.
    pub(super) async fn start(self: Arc<Self>, run_key: RunKey) {
        // Whoever has put it back into its queue, or clears up what it had before, may be at it still: it has its slot, and
        // nobody else will start it.
        let Some(_hand) = self.take_soon(run_key.1).await else { return };
        if self.context.stopping.is_stopping() {
            return;
        }
        if let Err(trouble) = self.try_start(run_key).await {
            self.doubt(&trouble);
        }
    }

    async fn try_start(self: &Arc<Self>, run_key: RunKey) -> Result<(), Trouble> {
        let Some(run) = self.write(move |tx, now| life::pulling(tx, now, run_key)).await? else { return Ok(()) };
        let number = run.starts;
        let image = match self.image(run_key, &run).await? {
            Ok(image) => image,
            Err(end) => return self.end_without_container(run_key, number, end).await,
        };
        let now = self.context.clock.now();
        if run.expires_at.is_some_and(|expiry| expiry <= now) {
            return self.end_without_container(run_key, number, End::expired(now)).await;
        }
        let Some(id) = self.context.container_id(run_key.1, number) else { return Ok(()) };
        let Ok(_turn) = self.starts.acquire().await else { return Ok(()) };
        let description = self.describe(run_key, &run, &image)?;
        let started = self.start_container(&id, description).await?;
        // Nothing was made: it waits for room, or for its image, which has gone since it was found.
        match &started {
            Err(RunnerError::Refused(Refusal::NoRoom { .. })) => {
                self.disk_is_short();
                return self.wait_again(run_key).await;
            }
            Err(RunnerError::Refused(Refusal::NoSuchImage)) => return self.wait_again(run_key).await,
            _ => {}
        }
        let asked_again = match started {
            Ok(status) => Ok(status),
            Err(RunnerError::Refused(refusal)) => match refusal {
                Refusal::NameTaken | Refusal::StartFailed(_) | Refusal::Failed(_) => {
                    let status = self.call(move |runner| runner.status(&id)).await;
                    status.map_err(|error| (error, refusal))
                }
                refusal => Err((RunnerError::Refused(Refusal::NoSuchContainer), refusal)),
            },
            Err(error) => return Err(error.into()),
        };
        match asked_again {
            Ok(status) => self.started(run_key, number, status).await,
            // What the runner could not do now.
            Err((RunnerError::Refused(_), refusal @ Refusal::Failed(_)))
                if self.start_again(run_key, number, &refusal.to_string()) =>
            {
                Ok(())
            }
            Err((RunnerError::Refused(_), refusal)) => {
                let end = End::failed(Reason::StartFailed, refusal.to_string(), self.context.clock.now());
                self.end_without_container(run_key, number, end).await
            }
            Err((error, _)) => Err(error.into()),
        }
    }

    /// A run whose container was not made waits in its old place.
    async fn wait_again(&self, run_key: RunKey) -> Result<(), Trouble> {
        self.write(move |tx, now| {
            dispatch::requeue(tx, now, run_key)?;
            archive::keep(tx, now, run_key, None)
        })
        .await?;
        Ok(())
    }

    /// Has the runner start a container, once more if images that nobody uses have made room for it.
    async fn start_container(
        &self,
        id: &ContainerId,
        description: ContainerDescription,
    ) -> Result<Result<ContainerStatus, RunnerError>, Trouble> {
        let start = || {
            let (id, description) = (id.clone(), description.clone());
            self.call(move |runner| runner.start(&id, &description))
        };
        let started = start().await;
        if matches!(started, Err(RunnerError::Refused(Refusal::NoRoom { .. }))) && self.evict().await? {
            return Ok(start().await);
        }
        Ok(started)
    }

    /// The container exists; if it has ended already, it is heard of in the usual way.
    async fn started(&self, run_key: RunKey, number: u32, status: ContainerStatus) -> Result<(), Trouble> {
        let Some(at) = status.started_at_micros.map(Timestamp::from_micros) else { return Ok(()) };
        self.started_or_over(run_key.1);
        let digest = status.image.to_string();
        Ok(self.write(move |tx, now| life::started(tx, now, run_key, number, at, &digest)).await?)
    }

    async fn end_without_container(&self, run_key: RunKey, number: u32, end: End) -> Result<(), Trouble> {
        self.started_or_over(run_key.1);
        let node_ends = self.context.node_ends;
        self.write(move |tx, now| {
            life::ended_of_node(tx, now, run_key, number, &end, node_ends)?;
            archive::keep(tx, now, run_key, None)
        })
        .await?;
        Ok(())
    }

    fn describe(&self, run_key: RunKey, run: &Run, image: &ImageInfo) -> Result<ContainerDescription, Trouble> {
        let found = descriptions::open(&self.context.store.read(), run_key)?;
        let (description, secrets) =
            found.ok_or_else(|| quintet_storage::Failure::Damaged("a run has no description".to_owned()))?;
        Ok(ContainerDescription {
            image: image.digest.clone(),
            command: secrets.command.unwrap_or(description.command),
            env: secrets.env.into_iter().collect(),
            limits: Limits {
                cpu_millicores: run.limits.cpu_millicores,
                memory_bytes: run.limits.memory_mb.saturating_mul(1 << 20),
                pids: PIDS,
                scratch_bytes: self.context.settings.scratch_mb << 20,
                timeout_seconds: run.limits.timeout_seconds,
                grace_seconds: run.limits.grace_seconds,
            },
        })
    }
}
