//! From an older format to the present one.
//!
//! A row whose value changes shape migrates by itself when it is read ([`Row::migrate`]). Migrations are for what that
//! cannot do: keys that change, rows that move, an index that is to be filled. Rooms declare them, each with a number of
//! FORMAT of its own.
//!
//! A checkpoint of the old state is made first. FORMAT names the new version before the first row changes, so that an
//! older binary refuses the directory from then on, half migrated or whole. Each step runs as ordinary transactions,
//! before anybody else gets to the store; when it is done, a row beside the rows says which format they have. That row
//! and not FORMAT decides what is left to do: after a crash, and in a copy whose FORMAT is of another moment.

use std::convert::Infallible;
use std::fmt;
use std::time::{Duration, Instant};

use super::store::Store;
use crate::directory::format::Formats;
use crate::error::{Abort, Failure, OpenError};
use crate::tables::codec::Row;
use crate::tables::keys::Key;
use crate::tables::table::Table;
use crate::tables::version::{ROWS_FORMAT, RowsFormatRow};
use crate::time::Timestamp;
use crate::view::read::{Read as _, Scan};
use crate::write::tx::WriteTx;

/// The most rows that one transaction moves.
const ROWS_PER_STEP: usize = 500;
/// A transaction that has written so many bytes leaves its other rows to the next one.
const BYTES_PER_STEP: usize = 256 << 10;
/// How long a transaction may wait for a writer that nobody else uses.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often the log of the process is told how far a step is.
const TELL_INTERVAL: Duration = Duration::from_secs(5);

/// One step from a format of the directory to the next one.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The version it starts from.
    pub from: u32,
    /// Whose rows, and what becomes of them; for the log of the process.
    pub name: &'static str,
    /// What it does. It may be killed at any moment and is then run again, over rows of which some have their new form
    /// already. It runs before the store has its root key, and at the time of the last transaction: the clock stands
    /// still. [`Migrating::move_rows`] is all that most need.
    pub run: fn(&mut Migrating<'_>) -> Result<(), Failure>,
}

impl Migration {
    /// Runs the step on a store; how many rows it says it has done. Opening a store runs the steps it needs by itself.
    ///
    /// # Errors
    /// What the step fails with.
    pub fn run_on(&self, store: &Store) -> Result<u64, Failure> {
        let mut migrating = Migrating { store, migration: *self, rows: 0, told: Instant::now() };
        (self.run)(&mut migrating)?;
        Ok(migrating.rows)
    }
}

/// A store while one step runs on it.
pub struct Migrating<'s> {
    store: &'s Store,
    migration: Migration,
    rows: u64,
    told: Instant,
}

impl Migrating<'_> {
    /// The store. Nobody else has it yet.
    #[must_use]
    pub fn store(&self) -> &Store {
        self.store
    }

    /// Takes the rows of a table, hands each to `moved`, which writes its new form elsewhere, and deletes it, in
    /// transactions of at most 500 rows: a row is never there in both forms, nor in none.
    ///
    /// # Errors
    /// The store's failures, and what `moved` fails with.
    pub fn move_rows<K, V>(
        &mut self,
        from: &'static Table<K, V>,
        moved: fn(&mut WriteTx<'_>, K, V) -> Result<(), Failure>,
    ) -> Result<(), Failure>
    where
        K: Key + Clone + Send + 'static,
        V: Row,
    {
        let mut after: Option<K> = None;
        loop {
            // What has been deleted lies in front of the rest until the tables are compacted: not over it again.
            let behind = after.take();
            let (rows, last) = self.write(move |tx| {
                let scan = Scan::all().limit(ROWS_PER_STEP);
                let found = tx.scan(from, behind.iter().fold(scan, Scan::after))?;
                let (mut rows, mut last) = (0, None);
                for (key, row) in found {
                    if tx.written_bytes() > BYTES_PER_STEP {
                        break;
                    }
                    moved(tx, key.clone(), row)?;
                    tx.delete(from, &key);
                    last = Some(key);
                    rows += 1;
                }
                Ok((rows, last))
            })?;
            let Some(last) = last else { return Ok(()) };
            after = Some(last);
            self.done(rows);
        }
    }

    /// Runs one transaction of the step.
    ///
    /// # Errors
    /// The store's failures, and what `verb` fails with.
    pub fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let written = self
            .store
            .write_blocking(Instant::now() + PATIENCE, move |tx, _| verb(tx).map_err(Abort::<Infallible>::Failed));
        written.map_err(|abort| match abort {
            Abort::Failed(failure) => failure,
            Abort::Refused(never) => match never {},
        })
    }

    /// So many rows more are done; the log of the process is told now and then.
    pub fn done(&mut self, rows: u64) {
        self.rows += rows;
        if self.told.elapsed() >= TELL_INTERVAL {
            self.told = Instant::now();
            tracing::info!(step = self.migration.name, rows = self.rows, "migrating");
        }
    }
}

fn write<T: Send + 'static>(
    store: &Store,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let verb = move |tx: &mut WriteTx<'_>, now| verb(tx, now).map_err(Abort::<Infallible>::Failed);
    store.write_blocking(Instant::now() + PATIENCE, verb).map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(never) => match never {},
    })
}

/// The steps that a binary has, from the oldest format that it opens to the one that it writes.
#[derive(Clone, Debug)]
pub(crate) struct Migrations {
    newest: u32,
    /// In order and without a gap.
    steps: Vec<Migration>,
}

impl Migrations {
    /// Puts the rooms' migrations in order.
    ///
    /// # Errors
    /// [`OpenError::Registry`] if two start from the same version, or they do not lead to the newest without a gap.
    pub(crate) fn new(groups: &[&[Migration]], newest: u32) -> Result<Migrations, OpenError> {
        let mut steps: Vec<Migration> = groups.iter().copied().flatten().copied().collect();
        steps.sort_by_key(|step| step.from);
        for (step, expected) in steps.iter().rev().zip((0..newest).rev()) {
            if step.from != expected {
                let reason = format!("the migration {step} is not the one from format {expected}");
                return Err(OpenError::Registry(reason));
            }
        }
        Ok(Migrations { newest, steps })
    }

    /// The versions that these steps lead from, and to.
    pub(crate) fn formats(&self) -> Formats {
        Formats { oldest: self.steps.first().map_or(self.newest, |step| step.from), newest: self.newest }
    }

    /// Brings rows of an older version to the newest one.
    ///
    /// # Errors
    /// What a step says. The rows have the version that the last whole step led to.
    pub(crate) fn run(&self, version: u32, store: &Store) -> Result<(), OpenError> {
        for step in self.steps.iter().filter(|step| step.from >= version) {
            tracing::info!(step = step.name, from = step.from, "migrating the data directory");
            let failed = |failure| OpenError::io(format!("the migration {step}"), failure);
            let rows = step.run_on(store).map_err(failed)?;
            let version = step.from + 1;
            let note =
                move |tx: &mut WriteTx<'_>, now| tx.put(&ROWS_FORMAT, &(), &RowsFormatRow { version, since: now });
            write(store, note).map_err(failed)?;
            tracing::info!(step = step.name, rows, to = version, "migrated the data directory");
        }
        Ok(())
    }
}

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" from format {}", self.name, self.from)
    }
}
