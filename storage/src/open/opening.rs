//! Opening: from a locked directory to its log and tables, whether it is an original, a copy, a backup or harmed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::options::StoreOptions;
use crate::copies::manifest::MANIFEST_FILE;
use crate::copies::rebuild::{self, Former};
use crate::directory::identity::{self, Provenance, provenance};
use crate::directory::lock::DataDirectory;
use crate::env::real::{RealDisk, sync_directory};
use crate::error::OpenError;
use crate::log::{self, Trust, recovery};
use crate::tables::projection::LIVE;
use crate::tables::registry::Registry;
use crate::tables::rocks::{RocksOptions, RocksProjection};

/// What a start goes on from.
pub(crate) struct Opened {
    pub(crate) disk: RealDisk,
    pub(crate) projection: Arc<RocksProjection>,
    pub(crate) trust: Trust,
}

/// Opens the log's directory and the tables of the registry. A copy's tables are made anew from its newest sound checkpoint; so are an
/// original's that are missing or do not open.
///
/// # Errors
/// See [`OpenError`].
pub(crate) fn open(
    directory: &DataDirectory,
    registry: &Registry,
    options: &StoreOptions,
) -> Result<Opened, OpenError> {
    let data = &directory.path;
    let id = directory.format.directory_id;
    let is_complete = directory.format.complete;
    // A directory in the making is its own; if it has an identity already, it may be a copy of one in the making.
    let is_told = is_complete || data.join(identity::FILE).exists();
    let provenance = if is_told { provenance(data) } else { Provenance::Original };
    let trust = match &provenance {
        Provenance::Copy(reason) => {
            tracing::info!(reason, "this directory is a copy; its tables are made from a checkpoint and its log");
            Trust::Copy
        }
        Provenance::Original | Provenance::ForeignTables => Trust::Original,
    };
    let disk = RealDisk::new(&data.join(log::DIRECTORY)).map_err(|e| OpenError::io("making the log directory", e))?;
    if is_complete && !is_backup(data) {
        recovery::require_log(&disk).map_err(|error| explain(data, trust, error))?;
    }
    let live = data.join(LIVE);
    let rocks =
        RocksOptions { write_buffer_bytes: options.write_buffer_bytes, block_cache_bytes: options.block_cache_bytes };
    if trust == Trust::Copy {
        // What a copier wrote may not be on the disk yet.
        let whole = File::open(data).map_err(|e| OpenError::io("opening the data directory", e))?;
        rustix::fs::syncfs(&whole).map_err(|e| OpenError::io("syncing the copy", e))?;
        rebuild::from_checkpoint(data, id, Former::Discard).map_err(|error| explain(data, trust, error))?;
    } else if is_complete && (provenance == Provenance::ForeignTables || is_empty(&live)) {
        tracing::warn!("the tables are missing or not its own; they are made anew from a checkpoint and the log");
        rebuild::from_checkpoint(data, id, Former::KeepAside).map_err(|error| explain(data, trust, error))?;
    }
    let projection = match RocksProjection::open(&live, registry.families(), rocks) {
        Err(OpenError::Damaged { reason, .. }) if trust == Trust::Original => {
            tracing::error!(reason, "the tables are damaged; they are made anew from a checkpoint and the log");
            rebuild::from_checkpoint(data, id, Former::KeepAside).map_err(|error| explain(data, trust, error))?;
            RocksProjection::open(&live, registry.families(), rocks)?
        }
        other => other?,
    };
    Ok(Opened { disk, projection: Arc::new(projection), trust })
}

/// Makes an original's tables anew; what was there is kept aside.
///
/// # Errors
/// As [`rebuild::from_checkpoint`].
pub(crate) fn replace_tables(data: &Path, directory_id: uuid::Uuid) -> Result<(), OpenError> {
    tracing::error!("the tables end before the log begins; they are made anew from a checkpoint and the log");
    let made = rebuild::from_checkpoint(data, directory_id, Former::KeepAside);
    made.map(drop).map_err(|error| explain(data, Trust::Original, error))
}

/// Whether there is nothing in a directory, or no directory.
fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none())
}

/// Whether the directory is a backup as it was written: a checkpoint that needs no log.
fn is_backup(data: &Path) -> bool {
    data.join(MANIFEST_FILE).is_file()
}

/// A directory that has been opened is no backup any more: it has a log from now on.
pub(crate) fn settle(data: &Path) -> Result<(), OpenError> {
    if !is_backup(data) {
        return Ok(());
    }
    fs::remove_file(data.join(MANIFEST_FILE))
        .and_then(|()| sync_directory(data))
        .map_err(|e| OpenError::io("removing the backup's manifest", e))
}

/// Puts the data directory in front of the path in an error, and says what it means for a copy.
pub(crate) fn explain(data: &Path, trust: Trust, error: OpenError) -> OpenError {
    match error {
        OpenError::LogGap { projection, log } if trust == Trust::Copy => OpenError::Damaged {
            file: data.join(log::DIRECTORY),
            offset: 0,
            reason: format!(
                "the copied log begins at transaction {log}, the newest sound checkpoint ends at {projection}: \
                 the copy took longer than the copy window, or is not whole"
            ),
        },
        OpenError::Damaged { file, offset, reason } => {
            OpenError::Damaged { file: absolute(data, file), offset, reason }
        }
        other => other,
    }
}

fn absolute(data: &Path, file: PathBuf) -> PathBuf {
    if file.starts_with(data) { file } else { data.join(file) }
}
