//! Opening a store: everything that has to happen, in its order.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::migration::{Migration, Migrations};
use super::opening::{self, Opened};
use super::options::StoreOptions;
use super::start::{Started, start};
use super::store::Store;
use crate::copies::checkpoint::{Keeper, Rules};
use crate::directory::format::FORMAT_VERSION;
use crate::directory::identity;
use crate::directory::lock::DataDirectory;
use crate::error::OpenError;
use crate::log::Trust;
use crate::tables::projection::LIVE;
use crate::tables::registry::Registry;
use crate::tables::rocks::RocksProjection;
use crate::tables::table::TableSpec;
use crate::time::{TimeSource, Timestamp};
use crate::write::space::free_space_of;

/// What is kept for copies alone at most, unless the options say otherwise.
const COPY_BYTES_MAX: u64 = 8 << 30;

impl Store {
    /// Opens a data directory of the present format: locks it, reads the log, brings the tables up to it, starts the
    /// threads.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(options: StoreOptions, tables: &[&[TableSpec]]) -> Result<Store, OpenError> {
        Self::open_with(options, tables, &[])
    }

    /// [`Store::open`] of a directory that may have an older format, with the migrations that lead to the present one.
    /// Nobody else can use the store before they are done.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_with(
        options: StoreOptions,
        tables: &[&[TableSpec]],
        migrations: &[&[Migration]],
    ) -> Result<Store, OpenError> {
        Self::open_as(options, tables, &Migrations::new(migrations, FORMAT_VERSION)?)
    }

    /// [`Store::open_with`] as a binary of any version.
    pub(crate) fn open_as(
        mut options: StoreOptions,
        tables: &[&[TableSpec]],
        migrations: &Migrations,
    ) -> Result<Store, OpenError> {
        let registry = Registry::new(tables)?;
        let formats = migrations.formats();
        let mut directory = DataDirectory::open(&options.directory, options.rehearsal, formats)?;
        let path = directory.path.clone();
        let (started, projection) = bring_up(&directory, &registry, &options)?;
        let rows_version = started.published().rows_version(directory.format.made);
        let rows_version = rows_version.map_err(|failure| OpenError::Damaged {
            file: path.join(LIVE),
            offset: 0,
            reason: format!("the rows do not say which format they have: {failure}"),
        })?;
        formats.require(rows_version)?;
        identity::write(&path).map_err(|e| OpenError::io("writing the IDENTITY file", e))?;
        opening::settle(&path)?;
        directory.complete()?;
        let rules = Rules { window: options.copy_window, bytes_max: copy_bytes_max(&path, options.copy_bytes_max) };
        let id = directory.format.directory_id;
        let keeper = Keeper::new(&path, id, Box::new(projection), rules, Instant::now())
            .map_err(|e| OpenError::io("reading the checkpoints", e))?;
        let is_current = rows_version == formats.newest && directory.format.version == formats.newest;
        directory.format.version = formats.newest;
        let standing = Arc::new(StandingClock { is_over: is_current.into(), clock: Arc::clone(&options.time) });
        if !is_current {
            options.time = Arc::clone(&standing) as Arc<dyn TimeSource>;
        }
        let store = Store::run(started, Some((directory, keeper)), free_space_of(&path), &options)?;
        if !is_current {
            store.migrate(rows_version, migrations)?;
            standing.is_over.store(true, Ordering::SeqCst);
        }
        Ok(store)
    }

    /// Brings the directory from an older version to the newest, with a checkpoint of what was there before.
    fn migrate(&self, rows_version: u32, migrations: &Migrations) -> Result<(), OpenError> {
        let migrated = self
            .hold_checkpoint(self.copy_window().wanted.as_secs())
            .map_err(|e| OpenError::io("making a checkpoint before migrating", e))
            .inspect(|held| tracing::info!(checkpoint = %held.path.display(), "it has the state before a migration"))
            .and_then(|_| self.note_format())
            .and_then(|()| migrations.run(rows_version, self));
        if migrated.is_err() {
            self.shutdown();
        }
        migrated
    }
}

/// Opens the log and the tables and brings these up to it.
fn bring_up(
    directory: &DataDirectory,
    registry: &Registry,
    options: &StoreOptions,
) -> Result<(Started, Arc<RocksProjection>), OpenError> {
    let path = &directory.path;
    let id = directory.format.directory_id;
    let begin = |opened: Opened| {
        let Opened { disk, projection, trust } = opened;
        let tables = Arc::clone(&projection);
        let started = start(Arc::new(disk), tables as _, registry.clone(), *id.as_bytes(), trust, options);
        started.map(|started| (started, projection)).map_err(|error| (trust, error))
    };
    let begun = match begin(opening::open(directory, registry, options)?) {
        // Tables that are older than the log: a checkpoint may be young enough.
        Err((Trust::Original, OpenError::LogGap { .. })) if directory.format.complete => {
            opening::replace_tables(path, id)?;
            begin(opening::open(directory, registry, options)?)
        }
        other => other,
    };
    begun.map_err(|(trust, error)| opening::explain(path, trust, error))
}

/// The clock during a migration: it stands still, so that the writer goes on with the time of the last transaction. A
/// rehearsed time may lie behind the real one, and is not known yet.
struct StandingClock {
    is_over: AtomicBool,
    clock: Arc<dyn TimeSource>,
}

impl TimeSource for StandingClock {
    fn now(&self) -> Timestamp {
        if self.is_over.load(Ordering::SeqCst) { self.clock.now() } else { Timestamp::EPOCH }
    }
}

/// The most that is kept for copies alone: what the options say, or a tenth of the disk and 8 GiB at most.
fn copy_bytes_max(directory: &Path, wanted: u64) -> u64 {
    if wanted > 0 {
        return wanted;
    }
    let disk = rustix::fs::statvfs(directory).map_or(u64::MAX, |found| found.f_blocks.saturating_mul(found.f_frsize));
    (disk / 10).min(COPY_BYTES_MAX)
}
