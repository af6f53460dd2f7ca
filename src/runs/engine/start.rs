//! From the slot to the running container.

use std::sync::Arc;

use quintet_runtime::{ContainerDescription, ContainerStatus, ImageInfo, Limits, Refusal, RunnerError};
use quintet_storage::Timestamp;

use super::{Engine, Trouble};
use crate::changes::Place;
use crate::life::{self, End};
use crate::model::Reason;
use crate::registry::{PullError, Puller, Reference};
use crate::tables::RunRow;

/// Processes and threads of a container.
const PIDS: u32 = 512;

impl Engine {
    /// Starts the container of a run that has been given a slot.
    pub(super) async fn start(self: Arc<Self>, place: Place) {
        let Some(_hand) = self.take(place.1) else { return };
        if self.context.is_stopping() {
            return;
        }
        if let Err(trouble) = self.try_start(place).await {
            self.doubt(&trouble);
        }
        self.context.changed();
    }

    async fn try_start(&self, place: Place) -> Result<(), Trouble> {
        let Some(row) = self.write(move |tx, now| life::pulling(tx, now, place)).await? else { return Ok(()) };
        self.context.changed();
        let number = row.starts;
        let image = match self.image(&row.image).await? {
            Ok(image) => image,
            Err(end) => return self.end_without_container(place, number, end).await,
        };
        let now = self.context.clock.now();
        if row.expires_at.is_some_and(|expiry| expiry <= now) {
            let end = End::failed(Reason::Expired, "it had not started when expires_at came", now);
            return self.end_without_container(place, number, end).await;
        }
        let Some(id) = self.context.container_id(place.1, number) else { return Ok(()) };
        let Ok(_turn) = self.starts.acquire().await else { return Ok(()) };
        let description = self.describe(place, &row, &image)?;
        let started = {
            let id = id.clone();
            self.call(move |runner| runner.start(&id, &description)).await
        };
        let asked_again = match started {
            Ok(status) => Ok(status),
            Err(RunnerError::Refused(refusal)) => match refusal {
                Refusal::NameTaken | Refusal::StartFailed(_) | Refusal::Failed(_) => {
                    let status = self.call(move |runner| runner.status(&id)).await;
                    status.map_err(|error| (error, refusal.to_string()))
                }
                refusal => Err((RunnerError::Refused(Refusal::NoSuchContainer), refusal.to_string())),
            },
            Err(error) => return Err(error.into()),
        };
        match asked_again {
            Ok(status) => self.started(place, number, status).await,
            Err((RunnerError::Refused(_), message)) => {
                let end = End::failed(Reason::StartFailed, message, self.context.clock.now());
                self.end_without_container(place, number, end).await
            }
            Err((error, _)) => Err(error.into()),
        }
    }

    /// The container exists; if it has ended already, it is heard of in the usual way.
    async fn started(&self, place: Place, number: u32, status: ContainerStatus) -> Result<(), Trouble> {
        let Some(at) = status.started_at_micros.map(Timestamp::from_micros) else { return Ok(()) };
        let digest = status.image.to_string();
        Ok(self.write(move |tx, now| life::started(tx, now, place, number, at, &digest)).await?)
    }

    async fn end_without_container(&self, place: Place, number: u32, end: End) -> Result<(), Trouble> {
        self.write(move |tx, now| {
            life::ended(tx, now, place, number, &end)?;
            life::archived(tx, now, place, None)
        })
        .await?;
        Ok(())
    }

    /// The image of a run, pulled if it is not here; or how the run ends without it.
    async fn image(&self, name: &str) -> Result<Result<ImageInfo, End>, Trouble> {
        let asked = name.to_owned();
        if let Some(image) = self.call(move |runner| Puller::present(runner, &asked)).await? {
            return Ok(Ok(image));
        }
        let failed = |reason, message| End::failed(reason, message, self.context.clock.now());
        let Ok(reference) = Reference::parse(name) else {
            return Ok(Err(failed(Reason::ImageNotFound, "that is no reference of an image".to_owned())));
        };
        let Ok(_turn) = self.pulls.acquire().await else { return Err(Trouble::Stopping) };
        let (context, runner) = (self.context.clone(), self.runner.clone());
        let pull = move || context.puller.pull(&runner, &reference, &context.is_pulling_over, &|_| {});
        match tokio::task::spawn_blocking(pull).await {
            Ok(Ok(image)) => Ok(Ok(image)),
            Ok(Err(PullError::Cancelled)) | Err(_) => Err(Trouble::Stopping),
            Ok(Err(PullError::Runner(error @ (RunnerError::Unavailable { .. } | RunnerError::Confused)))) => {
                Err(error.into())
            }
            Ok(Err(PullError::NotFound)) => Ok(Err(failed(Reason::ImageNotFound, PullError::NotFound.to_string()))),
            Ok(Err(error)) => Ok(Err(failed(Reason::ImagePullFailed, error.to_string()))),
        }
    }

    fn describe(&self, place: Place, row: &RunRow, image: &ImageInfo) -> Result<ContainerDescription, Trouble> {
        let found = life::description(&self.context.store.read(), place)?;
        let (description, secrets) =
            found.ok_or_else(|| quintet_storage::Failure::Damaged("a run has no description".to_owned()))?;
        Ok(ContainerDescription {
            image: image.digest.clone(),
            command: description.command,
            env: secrets.env.into_iter().collect(),
            limits: Limits {
                cpu_millicores: row.limits.cpu_millicores,
                memory_bytes: row.limits.memory_mb.saturating_mul(1 << 20),
                pids: PIDS,
                scratch_bytes: self.context.settings.scratch_mb << 20,
                timeout_seconds: row.limits.timeout_seconds,
                grace_seconds: row.limits.grace_seconds,
            },
        })
    }
}
