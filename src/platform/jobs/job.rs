//! The loop that all due work runs in.

use std::sync::Arc;

use quintet_storage::{Failure, Timestamp};

use crate::clock::{BoxFuture, DueWork};

/// What a slice leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There may be more: the next slice follows at once.
    More,
    /// Nothing is due any more.
    Rest,
}

/// A kind of work that falls due, done slice by slice.
pub trait Job: Send + Sync + 'static {
    /// A name for logs and errors, such as `ledger.hold_expiry`.
    fn name(&self) -> &'static str;

    /// The table whose rows fall due by it, if it is one: see [`DueWork::agenda`].
    fn agenda(&self) -> Option<u16> {
        None
    }

    /// The earliest instant at which there is something to do; `None` while there is nothing. Called often: answer from
    /// memory or from one read of the newest snapshot.
    ///
    /// # Errors
    /// The store cannot be read.
    fn next_due(&self) -> Result<Option<Timestamp>, Failure>;

    /// Does a part of what is due at the clock's present reading.
    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>>;
}

impl<J: Job> Job for Arc<J> {
    fn name(&self) -> &'static str {
        J::name(self)
    }

    fn agenda(&self) -> Option<u16> {
        J::agenda(self)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        J::next_due(self)
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        J::slice(self)
    }
}

/// A job as [`DueWork`] of the clock.
pub struct Sweep<J>(pub J);

impl<J: Job> DueWork for Sweep<J> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn agenda(&self) -> Option<u16> {
        self.0.agenda()
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.0.next_due().unwrap_or_else(|failure| {
            tracing::warn!(%failure, work = self.0.name(), "it cannot be found out what is due");
            None
        })
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            loop {
                match self.0.slice().await {
                    Ok(Progress::More) => {}
                    Ok(Progress::Rest) => return,
                    Err(failure) => {
                        tracing::warn!(%failure, work = self.0.name(), "due work could not be done; trying again later");
                        return;
                    }
                }
            }
        })
    }
}
