//! Room on the runner's disk: who waits for it, and what goes so that there is some.
//!
//! A run whose container finds no room waits again, in its place of the queue. From then on slots are given only to as
//! many runs as the runner says there is room for, until it says that there is plenty.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use quintet_runtime::{ImageInfo, Refusal, RunnerError};
use quintet_storage::{Failure, Read, Timestamp};

use super::core::{Engine, Trouble};
use crate::containers::changes::find;
use crate::containers::life;
use crate::images::model::is_old;
use crate::model::RunKey;
use crate::registry::Reference;

/// Between two questions whether there is room.
const ASK_PAUSE: Duration = Duration::from_secs(1);
/// Between two looks for images that can go.
const EVICT_PAUSE_SECONDS: i64 = 60;

/// A run that has a slot and no container yet, for as long as this lives: it has not been promised anything.
pub(super) struct Starting(Arc<Engine>);

impl Starting {
    pub(super) fn new(engine: Arc<Engine>) -> Starting {
        engine.starting.fetch_add(1, Ordering::SeqCst);
        Starting(engine)
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.starting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Engine {
    /// The disk has no room for the container of a run.
    pub(super) fn disk_is_short(&self) {
        if !self.context.is_disk_short.swap(true, Ordering::SeqCst) {
            tracing::warn!("the runner's disk has no room for another container: runs wait");
        }
        // Asked now, it would say the same.
        *self.asked.room.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// How many runs can be given a slot, as far as the disk is concerned. Where it is short the runner is asked besides:
    /// its answer counts once, at the next look.
    pub(super) fn starts_with_room(self: &Arc<Self>) -> usize {
        if !self.context.is_disk_short() {
            return usize::MAX;
        }
        let found = self.asked.found.swap(0, Ordering::SeqCst);
        if found > 0 {
            // Those that wait for an image are given nothing, however long it takes.
            let starting = self.starting.load(Ordering::SeqCst).saturating_sub(self.context.aside.count());
            return found.saturating_sub(starting);
        }
        let mut asked = self.asked.room.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.is_none_or(|at| at.elapsed() >= ASK_PAUSE) {
            *asked = Some(Instant::now());
            let engine = Arc::clone(self);
            tokio::spawn(async move { engine.ask_for_room().await });
        }
        0
    }

    async fn ask_for_room(&self) {
        let scratch_bytes = self.context.settings.scratch_mb << 20;
        let found = match self.call(move |runner| runner.room(scratch_bytes)).await {
            Ok(room) => usize::try_from(room.containers).unwrap_or(usize::MAX),
            Err(error) => return tracing::debug!(%error, "it is not known whether the disk has room"),
        };
        if found == 0 {
            if let Err(trouble) = self.evict().await {
                tracing::debug!(%trouble, "it is not known which images could make room");
            }
            return;
        }
        self.asked.found.store(found, Ordering::SeqCst);
        self.context.doubts.notify_one();
    }

    /// Nobody waits for room any more.
    pub(super) fn disk_is_ample(&self) {
        if self.context.is_disk_short.swap(false, Ordering::SeqCst) {
            tracing::info!("the runner's disk has room for all that wait");
        }
    }

    /// Removes images that were pulled, that no run has used for thirty days and that none waits for. Whether any went.
    pub(super) async fn evict(&self) -> Result<bool, Trouble> {
        let now = self.context.clock.now();
        {
            let mut asked = self.asked.images.lock().unwrap_or_else(PoisonError::into_inner);
            if asked.is_some_and(|at| at <= now && now < at.plus_seconds(EVICT_PAUSE_SECONDS)) {
                return Ok(false);
            }
            *asked = Some(now);
        }
        let mut old = self.call(|runner| runner.images()).await?;
        old.retain(|image| {
            let used_at = image.used_at_micros.unwrap_or(image.imported_at_micros).max(image.imported_at_micros);
            image.is_pulled && is_old(Timestamp::from_micros(used_at), now)
        });
        if old.is_empty() {
            return Ok(false);
        }
        let context = self.context.clone();
        let wanted = tokio::task::spawn_blocking(move || wanted(&context.store.read())).await;
        let wanted = wanted.unwrap_or(Err(Failure::Panicked))?;
        let mut has_gone = false;
        for image in old.into_iter().filter(|image| !is_wanted(image, &wanted)) {
            let digest = image.digest.to_string();
            match self.call(move |runner| runner.remove_image(&digest)).await {
                Ok(()) => {
                    tracing::info!(image = %image.digest, names = ?image.names, "removed to make room: unused for 30 days");
                    has_gone = true;
                }
                // A container uses it, or somebody was faster.
                Err(RunnerError::Refused(Refusal::ImageInUse | Refusal::NoSuchImage)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(has_gone)
    }
}

/// The images of runs that have not started, as they were asked for and in full.
fn wanted(read: &impl Read) -> Result<BTreeSet<String>, Failure> {
    let mut names = BTreeSet::new();
    let mut add = |run_key: RunKey| -> Result<(), Failure> {
        if let Some(run) = find(read, run_key)? {
            names.extend(Reference::parse(&run.image).map(|reference| reference.to_string()));
            names.insert(run.image);
        }
        Ok(())
    };
    life::waiting(read)?.into_iter().try_for_each(&mut add)?;
    life::with_slots(read)?.into_iter().try_for_each(&mut add)?;
    Ok(names)
}

fn is_wanted(image: &ImageInfo, wanted: &BTreeSet<String>) -> bool {
    wanted.contains(image.digest.as_str()) || image.names.iter().any(|name| wanted.contains(name))
}
