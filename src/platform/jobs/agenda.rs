//! Rows that fall due: tables whose keys begin with an instant.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Failure, Snapshot, Store, Timestamp, WriteTx};

use super::job::{Job, Progress};
use crate::clock::BoxFuture;

/// How long one slice may wait for the writer; the clock tries again later.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// What a slice did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept<P> {
    /// Where the next one looks on: before this place nothing is due, nor will be. `None`: where this one looked from.
    pub to: Option<P>,
    /// Whether more may be due.
    pub progress: Progress,
}

/// A table whose keys begin with the instant at which a row falls due, and what is done then.
pub trait Agenda: Send + Sync + 'static {
    /// A place in the table.
    type Place: Copy + Ord + Send + 'static;

    /// A name for logs and errors, such as `ledger.hold_expiry`.
    const NAME: &'static str;
    /// The table's tag.
    const TAG: u16;
    /// Whether its work frees something or shuts somebody out, and so goes on below the disk reserve.
    const IS_FREEING: bool;
    /// The first place that there can be.
    const FIRST: Self::Place;

    /// The instant of the first row at a place or behind it.
    ///
    /// # Errors
    /// The store cannot be read.
    fn next(&self, read: &Snapshot, from: Self::Place) -> Result<Option<Timestamp>, Failure>;

    /// Does what is due at `now`, from a place on; as much as one transaction should.
    ///
    /// # Errors
    /// The store's failures.
    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Self::Place) -> Result<Swept<Self::Place>, Failure>;
}

/// An agenda as a [`Job`].
pub struct Rows<A: Agenda> {
    agenda: Arc<A>,
    store: Store,
    /// Before this place nothing is due. Only the sweep moves it, and it runs once at a time.
    from: Mutex<A::Place>,
}

impl<A: Agenda> Rows<A> {
    /// The rows of an agenda in a store.
    pub fn new(store: Store, agenda: A) -> Rows<A> {
        Rows { agenda: Arc::new(agenda), store, from: Mutex::new(A::FIRST) }
    }

    fn from(&self) -> A::Place {
        *self.from.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run_slice(&self) -> Result<Progress, Failure> {
        let (agenda, from) = (Arc::clone(&self.agenda), self.from());
        let verb = move |tx: &mut WriteTx<'_>, now| Ok(agenda.slice(tx, now, from)?);
        let deadline = Instant::now() + WRITER_TIME;
        let swept: Result<Swept<A::Place>, Abort<Infallible>> = match A::IS_FREEING {
            true => self.store.write_freeing(deadline, verb).await,
            false => self.store.write(deadline, verb).await,
        };
        let swept = swept.map_err(|abort| match abort {
            Abort::Failed(failure) => failure,
            Abort::Refused(never) => match never {},
        })?;
        if let Some(to) = swept.to {
            let mut from = self.from.lock().unwrap_or_else(PoisonError::into_inner);
            *from = to.max(*from);
        }
        Ok(swept.progress)
    }
}

impl<A: Agenda> Job for Rows<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn agenda(&self) -> Option<u16> {
        Some(A::TAG)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        let read = self.store.read();
        let next = self.agenda.next(&read, self.from())?;
        // What was due before the clock was put back is due still.
        Ok(next.map(|at| if at <= read.time() { Timestamp::EPOCH } else { at }))
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.run_slice())
    }
}
