//! Makes the checkpoints that are due, and writes their anchors into the file.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::prepare::{failure_of, prepare};
use crate::audit::{AUDIT_DUE, AnchorFile, next_due, note_anchored, public_key, unanchored, write_checkpoints};
use crate::context::Context;

/// How long one step may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);
/// Checkpoints made in one transaction: each is a signature.
const CHECKPOINTS_AT_A_TIME: usize = 50;
/// Anchors written at a time.
const ANCHORS_AT_A_TIME: usize = 500;
/// For how long a file is left alone that could not be written, in seconds; after each attempt twice as long, up to the
/// second of these.
const ASIDE_SECONDS: (i64, i64) = (60, 3_600);

/// Makes checkpoints and anchors.
pub struct Checkpointing {
    context: Context,
    /// Whether there is a key.
    is_ready: AtomicBool,
    aside: Mutex<Aside>,
}

/// A file that could not be written.
#[derive(Clone, Copy, Debug, Default)]
struct Aside {
    until: Option<Timestamp>,
    seconds: i64,
}

impl Checkpointing {
    /// Of the store that the context has.
    #[must_use]
    pub fn new(context: Context) -> Checkpointing {
        Checkpointing { context, is_ready: AtomicBool::new(false), aside: Mutex::default() }
    }

    fn is_ready(&self) -> Result<bool, Failure> {
        if !self.is_ready.load(Ordering::Relaxed) {
            self.is_ready.store(public_key(&self.context.store.read())?.is_some(), Ordering::Relaxed);
        }
        Ok(self.is_ready.load(Ordering::Relaxed))
    }

    fn aside(&self) -> Aside {
        *self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_aside(&self, aside: Aside) {
        *self.aside.lock().unwrap_or_else(PoisonError::into_inner) = aside;
    }

    /// When anchors are to be written, if any are.
    fn anchors_due(&self) -> Result<Option<Timestamp>, Failure> {
        let is_any = self.context.anchoring.file().is_some() && !unanchored(&self.context.store.read(), 1)?.is_empty();
        Ok(is_any.then(|| self.aside().until.unwrap_or(Timestamp::EPOCH)))
    }

    async fn run_slice(&self) -> Result<Progress, Failure> {
        if !self.is_ready()? {
            let store = self.context.store.clone();
            let made = tokio::task::spawn_blocking(move || prepare(&store)).await;
            made.map_err(|error| Failure::Io(format!("making the audit key: {error}")))??;
            return Ok(Progress::More);
        }
        let read = self.context.store.read();
        // What was due before the clock was put back is due still.
        let now = self.context.clock.now().max(read.time());
        if next_due(&read)?.is_some_and(|at| at <= now) {
            let name = self.context.anchoring.file().map(|file| file.name().to_owned());
            let made = self.write(move |tx, now| write_checkpoints(tx, now, name.as_deref(), CHECKPOINTS_AT_A_TIME));
            made.await?;
            return Ok(Progress::More);
        }
        match self.context.anchoring.file() {
            Some(file) if self.anchors_due()?.is_some_and(|at| at <= now) => self.write_anchors(file, now).await,
            _ => Ok(Progress::Rest),
        }
    }

    /// Writes some anchors. They are noted once they are on the disk.
    async fn write_anchors(&self, file: &AnchorFile, now: Timestamp) -> Result<Progress, Failure> {
        let some = unanchored(&self.context.store.read(), ANCHORS_AT_A_TIME)?;
        let keys: Vec<_> = some.iter().map(|checkpoint| (checkpoint.tenant_id, checkpoint.seq)).collect();
        let to = file.clone();
        let appended = tokio::task::spawn_blocking(move || to.append(&some)).await;
        if let Err(error) = appended.map_err(std::io::Error::other).and_then(|appended| appended) {
            let seconds = (self.aside().seconds * 2).clamp(ASIDE_SECONDS.0, ASIDE_SECONDS.1);
            self.put_aside(Aside { until: Some(now.plus_seconds(seconds)), seconds });
            self.context.anchoring.note(Some(error.to_string()));
            tracing::warn!(%error, file = file.name(), "checkpoints cannot be anchored; trying again later");
            return Ok(Progress::Rest);
        }
        self.put_aside(Aside::default());
        self.context.anchoring.note(None);
        let name = file.name().to_owned();
        self.write_freeing(move |tx, _| note_anchored(tx, &name, &keys)).await?;
        Ok(Progress::More)
    }

    async fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let deadline = Instant::now() + WRITER_TIME;
        self.context.store.write(deadline, move |tx, now| Ok(verb(tx, now)?)).await.map_err(failure_of)
    }

    /// [`Checkpointing::write`] for what goes on below the disk reserve: otherwise the same anchors would be written again
    /// and again.
    async fn write_freeing<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let deadline = Instant::now() + WRITER_TIME;
        self.context.store.write_freeing(deadline, move |tx, now| Ok(verb(tx, now)?)).await.map_err(failure_of)
    }
}

impl Job for Checkpointing {
    fn name(&self) -> &'static str {
        "localization.checkpoints"
    }

    fn agenda(&self) -> Option<u16> {
        Some(AUDIT_DUE.spec().tag)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        if !self.is_ready()? {
            return Ok(Some(Timestamp::EPOCH));
        }
        let read = self.context.store.read();
        // What was due before the clock was put back is due still.
        let checkpoint = next_due(&read)?.map(|at| if at <= read.time() { Timestamp::EPOCH } else { at });
        Ok([checkpoint, self.anchors_due()?].into_iter().flatten().min())
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.run_slice())
    }
}
