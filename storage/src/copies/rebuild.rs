//! Making `live/` anew from a checkpoint: for copies, whose own `live/` is never trusted, and where it is damaged.
//!
//! The newest checkpoint whose files are all what its manifest says is linked into place; the log above it is read
//! by the start that follows. Until `live/` is renamed nothing that was there has been touched.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::checkpoint::{self, Newest};
use super::manifest::{MANIFEST_FILE, Manifest};
use crate::env::Disk;
use crate::env::real::{RealDisk, make_private_directory, sync_directory};
use crate::error::OpenError;
use crate::log::{self, recovery};
use crate::tables::projection::LIVE;
use crate::time::Lsn;

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
    let disk = RealDisk::new(&data.join(log::DIRECTORY)).map_err(|e| OpenError::io(doing("opening the log of"), e))?;
    let newest = start_from(data, directory_id, &disk)?;
    let lsn = match &newest.sound {
        Some(sound) => {
            link(&sound.path, &sound.manifest, &making)
                .map_err(|e| OpenError::io(doing("linking a checkpoint of"), e))?;
            sound.lsn
        }
        None => {
            make_private_directory(&making).map_err(|e| OpenError::io(doing("making the tables of"), e))?;
            0
        }
    };
    replace(data, &making, former).map_err(|e| OpenError::io(doing("replacing the tables of"), e))?;
    // Damaged ones must not pass for the newest; the one that was linked is sound.
    for (path, _) in newest.unsound {
        checkpoint::remove(&path).map_err(|e| OpenError::io(doing("removing a damaged checkpoint of"), e))?;
    }
    Ok(lsn)
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

/// What the tables of a directory can be made from: its newest sound checkpoint, or the log alone, if it holds
/// everything.
///
/// # Errors
/// [`OpenError::Damaged`] if there is neither.
pub(crate) fn start_from(data: &Path, directory_id: Uuid, log: &dyn Disk) -> Result<Newest, OpenError> {
    let newest = checkpoint::newest_sound(data, directory_id, &mut |_| Ok(()));
    let newest = newest.map_err(|e| OpenError::io(format!("listing the checkpoints of {}", data.display()), e))?;
    if newest.sound.is_some() {
        return Ok(newest);
    }
    let mut reason = match recovery::first_lsn(log, *directory_id.as_bytes())? {
        Some(1) => return Ok(newest),
        Some(first) => format!("no checkpoint is sound, and the log begins at transaction {first}"),
        None => "there is neither a sound checkpoint nor a log".to_owned(),
    };
    for (_, mismatch) in &newest.unsound {
        reason.push_str(&format!("; {mismatch}"));
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
