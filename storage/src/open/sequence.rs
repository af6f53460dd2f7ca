//! Opening a store: everything that has to happen, in its order.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::migration::Migrations;
use super::opening::{self, Opened};
use super::options::StoreOptions;
use super::start::start;
use super::store::Store;
use crate::copies::checkpoint::{Keeper, Rules};
use crate::directory::identity;
use crate::directory::lock::DataDirectory;
use crate::error::OpenError;
use crate::log::Trust;
use crate::tables::table::{Registry, TableSpec};
use crate::write::space::free_space_of;

/// What is kept for copies alone at most, unless the options say otherwise.
const COPY_BYTES_MAX: u64 = 8 << 30;

impl Store {
    /// Opens a data directory: locks it, reads the log, brings the tables up to it, starts the threads.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(options: StoreOptions, tables: &[&[TableSpec]]) -> Result<Store, OpenError> {
        Self::open_with(options, tables, Migrations::PRESENT)
    }

    /// [`Store::open`] with other migrations than those of this version.
    pub(crate) fn open_with(
        options: StoreOptions,
        tables: &[&[TableSpec]],
        migrations: Migrations,
    ) -> Result<Store, OpenError> {
        let registry = Registry::new(tables)?;
        let mut directory = DataDirectory::open(&options.directory, options.rehearsal, migrations.formats())?;
        let path = directory.path.clone();
        let id = directory.format.directory_id;
        let begin = |opened: Opened| {
            let Opened { disk, projection, trust } = opened;
            let tables = Arc::clone(&projection);
            let started = start(Arc::new(disk), tables as _, registry.clone(), *id.as_bytes(), trust, &options);
            started.map(|started| (started, projection)).map_err(|error| (trust, error))
        };
        let begun = match begin(opening::open(&directory, &registry, &options)?) {
            // Tables that are older than the log: a checkpoint may be young enough.
            Err((Trust::Original, OpenError::LogGap { .. })) if directory.format.complete => {
                opening::replace_tables(&path, id)?;
                begin(opening::open(&directory, &registry, &options)?)
            }
            other => other,
        };
        let (started, projection) = begun.map_err(|(trust, error)| opening::explain(&path, trust, error))?;
        identity::write(&path).map_err(|e| OpenError::io("writing the IDENTITY file", e))?;
        opening::settle(&path)?;
        directory.complete()?;
        let rules = Rules { window: options.copy_window, bytes_max: copy_bytes_max(&path, options.copy_bytes_max) };
        let keeper = Keeper::new(&path, id, Box::new(projection), rules, Instant::now())
            .map_err(|e| OpenError::io("reading the checkpoints", e))?;
        let version = directory.format.version;
        let store = Store::run(started, Some((directory, keeper)), free_space_of(&path), &options)?;
        if version < migrations.newest {
            store.migrate(version, migrations)?;
        }
        Ok(store)
    }

    /// Brings the directory from an older version to the newest, with a checkpoint of what was there before.
    fn migrate(&self, version: u32, migrations: Migrations) -> Result<(), OpenError> {
        let migrated = self
            .hold_checkpoint(self.copy_window().wanted.as_secs())
            .map_err(|e| OpenError::io("making a checkpoint before migrating", e))
            .and_then(|_| migrations.run(version, self))
            .and_then(|()| self.note_format(migrations.newest));
        if migrated.is_err() {
            self.shutdown();
        }
        migrated
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
