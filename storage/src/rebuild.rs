//! Making `live/` anew from a checkpoint: for copies, whose own `live/` is never trusted, and where it is damaged.
//!
//! The newest checkpoint whose files are all what its manifest says is linked into place; the log above it is read
//! by the start that follows. Until `live/` is renamed nothing that was there has been touched.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::checkpoint;
use crate::env::real::{RealDisk, make_private_directory, sync_directory};
use crate::error::OpenError;
use crate::log::{self, Lsn, recovery};
use crate::manifest::{MANIFEST_FILE, Manifest};

/// The tables' directory.
pub(crate) const LIVE: &str = "live";
const MAKING: &str = "live.making";
/// What a damaged `live/` is called from then on.
const DAMAGED: &str = "live.damaged";
const DISCARDED: &str = "live.discarded";

/// What becomes of the `live/` that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Former {
    /// It goes: a copier's, which may be anything.
    Discard,
    /// It is kept aside: it was ours and is damaged.
    KeepAside,
}

/// Puts a `live/` made from the newest sound checkpoint in place; the transaction it holds at least.
///
/// # Errors
/// [`OpenError::Damaged`] if no checkpoint is sound and the log does not reach back to its beginning.
pub(crate) fn from_checkpoint(data: &Path, directory_id: Uuid, former: Former) -> Result<Lsn, OpenError> {
    let doing = |what: &str| format!("{what} {}", data.display());
    clear(data).map_err(|e| OpenError::io(doing("clearing leftovers in"), e))?;
    let making = data.join(MAKING);
    let found = checkpoint::list(data).map_err(|e| OpenError::io(doing("listing the checkpoints of"), e))?;
    let mut faults = Vec::new();
    let mut damaged = Vec::new();
    let mut lsn = None;
    for (number, path) in found {
        tracing::info!(checkpoint = %path.display(), "checking a checkpoint");
        match checkpoint::check(&path, directory_id, &mut |_| Ok(())) {
            Ok(manifest) => {
                link(&path, &manifest, &making).map_err(|e| OpenError::io(doing("linking a checkpoint of"), e))?;
                lsn = Some(number);
                break;
            }
            Err(mismatch) => {
                tracing::warn!(%mismatch, "a checkpoint cannot be used");
                faults.push(mismatch);
                damaged.push(path);
            }
        }
    }
    if lsn.is_none() {
        require_whole_log(data, directory_id, &faults)?;
        make_private_directory(&making).map_err(|e| OpenError::io(doing("making the tables of"), e))?;
    }
    replace(data, &making, former).map_err(|e| OpenError::io(doing("replacing the tables of"), e))?;
    // Damaged ones must not pass for the newest; the one that was linked is sound.
    for path in damaged {
        checkpoint::remove(&path).map_err(|e| OpenError::io(doing("removing a damaged checkpoint of"), e))?;
    }
    Ok(lsn.unwrap_or(0))
}

/// Removes what a crash left.
fn clear(data: &Path) -> io::Result<()> {
    for name in [MAKING, DISCARDED] {
        match fs::remove_dir_all(data.join(name)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// Without a checkpoint the tables can only begin empty, and then the log must hold everything.
fn require_whole_log(data: &Path, directory_id: Uuid, faults: &[crate::manifest::Mismatch]) -> Result<(), OpenError> {
    let disk = RealDisk::new(&data.join(log::DIRECTORY)).map_err(|e| OpenError::io("opening the log directory", e))?;
    let first = recovery::first_lsn(&disk, *directory_id.as_bytes())?;
    if first == Some(1) {
        return Ok(());
    }
    let mut reason = match first {
        Some(first) => format!("no checkpoint is sound, and the log begins at transaction {first}"),
        None => "there is neither a sound checkpoint nor a log".to_owned(),
    };
    for fault in faults {
        reason.push_str(&format!("; {fault}"));
    }
    Err(OpenError::Damaged { file: PathBuf::from(checkpoint::DIRECTORY), offset: 0, reason })
}

/// Links a checkpoint's tables into a new directory, durably. RocksDB appends to its small files, so those are copied.
pub(crate) fn link(checkpoint: &Path, manifest: &Manifest, making: &Path) -> io::Result<()> {
    make_private_directory(making)?;
    for entry in &manifest.entries {
        let (from, to) = (checkpoint.join(&entry.name), making.join(&entry.name));
        let is_table = entry.name.ends_with(".sst");
        if entry.name == MANIFEST_FILE || (is_table && fs::hard_link(&from, &to).is_ok()) {
            continue;
        }
        fs::copy(&from, &to)?;
        File::open(&to)?.sync_all()?;
    }
    sync_directory(making)
}

fn replace(data: &Path, making: &Path, former: Former) -> io::Result<()> {
    let live = data.join(LIVE);
    if live.exists() {
        let aside = data.join(if former == Former::Discard { DISCARDED } else { DAMAGED });
        if former == Former::KeepAside && aside.exists() {
            fs::remove_dir_all(&aside)?;
        }
        fs::rename(&live, &aside)?;
    }
    fs::rename(making, &live)?;
    sync_directory(data)?;
    clear(data)
}
