//! Backups: a checkpoint copied byte by byte, with everything else that a restore needs; and the way back.
//!
//! A backup is itself a data directory: FORMAT, the root key, `checkpoints/LSN/`, `blobs/`, and a manifest of all of
//! them. It needs no log, since the checkpoint was made for it. A restore takes a backup or any copy of a data
//! directory, and says that it is done only after it has opened and checked what it made.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::checkpoint::{self, HeldCheckpoint};
use super::follow::{self, Cut};
use super::making::{InTheMaking, io_error};
use super::manifest::{Entry, MANIFEST_FILE, Manifest, Mismatch};
use crate::directory::format::{FORMAT_FILE, Formats, read_format};
use crate::env::real::{copy_file, make_private_directory};
use crate::error::OpenError;
use crate::hex::hexadecimal;
use crate::log::{self, segment_number};
use crate::time::{Lsn, Timestamp};

pub use super::making::CopyError;

/// Content-addressed files that rows refer to.
const BLOBS: &str = "blobs";
/// Files of a data directory that say something about this one only, or belong to a process.
const NOT_COPIED: [&str; 8] = [
    "LOCK",
    "IDENTITY",
    "admin.sock",
    "addresses.json",
    "SALVAGE",
    MANIFEST_FILE,
    follow::NOTE_FILE,
    follow::LOCK_FILE,
];

/// Told how many bytes have been done and of how many.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// What a backup or a restore moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Everything up to this transaction is in it.
    pub lsn: Lsn,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Copies a held checkpoint and what belongs to it to `destination`, reads all of it back, and only then gives it its
/// name. `extra` are more files, with the names they get (the root key).
///
/// # Errors
/// See [`CopyError`]; nothing is left behind.
pub fn create_backup(
    data: &Path,
    held: &HeldCheckpoint,
    destination: &Path,
    extra: &[(PathBuf, String)],
    progress: Progress<'_>,
) -> Result<Copied, CopyError> {
    let format = read_format(data).map_err(CopyError::Source)?;
    let format = format.ok_or_else(|| CopyError::Source(OpenError::NotADataDirectory(data.into())))?;
    let making = InTheMaking::new(destination)?;
    let mut todo = vec![(data.join(FORMAT_FILE), FORMAT_FILE.to_owned())];
    todo.extend(extra.iter().cloned());
    let below = format!("{}/{:016x}", checkpoint::DIRECTORY, held.lsn);
    let manifest = Manifest::read(&held.path)
        .ok()
        .flatten()
        .ok_or_else(|| CopyError::Damaged { file: held.path.clone(), reason: "it has no manifest".to_owned() })?;
    let names = manifest.entries.iter().map(|entry| entry.name.as_str()).chain([MANIFEST_FILE]);
    todo.extend(names.map(|name| (held.path.join(name), format!("{below}/{name}"))));
    todo.extend(files_below(data, BLOBS)?);
    let entries = copy_all(&todo, &making.place, progress)?;
    for entry in &manifest.entries {
        let name = format!("{below}/{}", entry.name);
        let copied = entries.iter().find(|copied| copied.name == name);
        if copied.is_none_or(|copied| (copied.bytes, &copied.sha256) != (entry.bytes, &entry.sha256)) {
            let reason = "its content is not what the checkpoint's manifest says".to_owned();
            return Err(CopyError::Damaged { file: held.path.join(&entry.name), reason });
        }
    }
    let manifest = Manifest { directory_id: format.directory_id, lsn: held.lsn, entries };
    manifest.write(&making.place).map_err(io_error("writing the manifest of", destination))?;
    let (mut done, total) = (0, manifest.bytes());
    let mut step = |bytes| {
        done += bytes;
        progress("checking", done, total);
        Ok(())
    };
    manifest
        .check(&making.place, &mut step)
        .map_err(|mismatch| CopyError::NotReadBack { file: mismatch.file, reason: mismatch.reason })?;
    making.keep()?;
    Ok(Copied { lsn: held.lsn, files: manifest.entries.len() as u64, bytes: total })
}

/// What a backup's manifest says of it; its files are not looked at. `None`: no backup lies there, or its manifest is
/// not sound.
#[must_use]
pub fn describe(place: &Path) -> Option<Copied> {
    let manifest = Manifest::read(place).ok().flatten()?;
    Some(Copied { lsn: manifest.lsn, files: manifest.entries.len() as u64, bytes: manifest.bytes() })
}

/// A restored directory that has not got its name yet: it is to be opened, checked and then kept.
pub struct Restoring {
    making: InTheMaking,
    copied: Copied,
}

impl Restoring {
    /// Where it lies until then.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.making.place
    }

    /// What was copied; the last transaction is known only once it has been opened.
    #[must_use]
    pub fn copied(&self) -> Copied {
        self.copied
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// The operating system refused.
    pub fn keep(self) -> Result<(), CopyError> {
        self.making.keep()
    }
}

/// Copies a backup, or a copy of a data directory, to where `destination` will be: its log, its newest sound
/// checkpoint, its blobs and keys. It must then be opened, checked and kept; dropped, it is removed. `until`: what was
/// written after that instant stays out of it, which a continuous backup alone can do.
///
/// # Errors
/// See [`CopyError`]; the source is never changed.
pub fn begin_restore(
    source: &Path,
    destination: &Path,
    until: Option<Timestamp>,
    progress: Progress<'_>,
) -> Result<Restoring, CopyError> {
    let format = read_format(source).map_err(CopyError::Source)?;
    let format = format.ok_or_else(|| CopyError::Source(OpenError::NotADataDirectory(source.into())))?;
    Formats::PRESENT.require(format.version).map_err(CopyError::Source)?;
    let damaged = |mismatch: Mismatch| CopyError::Damaged { file: mismatch.file, reason: mismatch.reason };
    let backup = Manifest::read(source).map_err(damaged)?;
    if let Some(manifest) = &backup {
        let (mut done, total) = (0, manifest.bytes());
        let mut step = |bytes| {
            done += bytes;
            progress("checking the backup", done, total);
            Ok(())
        };
        manifest.check(source, &mut step).map_err(damaged)?;
    }
    let cut = until.map(|until| follow::cut_at(source, format.directory_id, until)).transpose()?;
    let (lsn, todo) = match &backup {
        // Nothing but what it consists of.
        Some(manifest) => {
            let names = manifest.entries.iter().map(|entry| entry.name.clone()).chain([MANIFEST_FILE.to_owned()]);
            (manifest.lsn, names.map(|name| (source.join(&name), name)).collect())
        }
        None => files_of_copy(source, format.directory_id, cut.as_ref(), progress)?,
    };
    if backup.is_none() && cut.is_none() {
        follow::check_whole(source, format.directory_id, lsn)?;
    }
    let making = InTheMaking::new(destination)?;
    make_private_directory(&making.place.join(log::DIRECTORY)).map_err(io_error("making", &making.place))?;
    let entries = copy_all(&todo, &making.place, progress)?;
    if let Some(cut) = &cut {
        follow::cut_log(&making.place, cut)?;
    }
    for entry in backup.iter().flat_map(|manifest| &manifest.entries) {
        if !entries.contains(entry) {
            let reason = "it has changed while it was copied".to_owned();
            return Err(CopyError::Damaged { file: source.join(&entry.name), reason });
        }
    }
    let bytes = entries.iter().map(|entry| entry.bytes).sum();
    Ok(Restoring { making, copied: Copied { lsn, files: entries.len() as u64, bytes } })
}

/// What is taken of a copy of a data directory, and the transaction that its checkpoint was made at.
fn files_of_copy(
    source: &Path,
    directory_id: Uuid,
    cut: Option<&Cut>,
    progress: Progress<'_>,
) -> Result<(Lsn, Vec<(PathBuf, String)>), CopyError> {
    let mut files = files_below(source, "")?;
    files.retain(|(_, name)| !NOT_COPIED.contains(&name.as_str()) && !name.ends_with(".tmp"));
    let is_wanted = |(_, name): &(PathBuf, String)| {
        let name = name.rsplit('/').next().unwrap_or_default();
        cut.map_or(segment_number(name).is_some(), |cut| cut.wants(name))
    };
    files.extend(files_below(source, log::DIRECTORY)?.into_iter().filter(is_wanted));
    files.extend(files_below(source, BLOBS)?);
    if let Some(cut) = cut {
        files.extend(files_below(source, &format!("{}/{:016x}", checkpoint::DIRECTORY, cut.checkpoint))?);
        return Ok((cut.checkpoint, files));
    }
    // Says how far the copied log must reach at least.
    let watermark = format!("{}/{}", log::DIRECTORY, log::WATERMARK_FILE);
    files.extend(files_below(source, log::DIRECTORY)?.into_iter().filter(|(_, name)| *name == watermark));
    let mut done = 0;
    let mut step = |bytes| {
        done += bytes;
        progress("checking a checkpoint", done, 0);
        Ok(())
    };
    let newest = checkpoint::newest_sound(source, directory_id, &mut step);
    // Without one the log may make up for it; the start that follows says so if it does not.
    let Some(sound) = newest.map_err(io_error("listing the checkpoints of", source))?.sound else {
        return Ok((0, files));
    };
    files.extend(files_below(source, &format!("{}/{:016x}", checkpoint::DIRECTORY, sound.lsn))?);
    Ok((sound.lsn, files))
}

/// The files right below a directory, with their names relative to `top`; none if it is not there.
fn files_below(top: &Path, directory: &str) -> Result<Vec<(PathBuf, String)>, CopyError> {
    let place = top.join(directory);
    let failed = io_error("reading", &place);
    let entries = match fs::read_dir(&place) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(&failed)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(&failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = if directory.is_empty() { name } else { format!("{directory}/{name}") };
        if entry.file_type().map_err(&failed)?.is_file() {
            files.push((entry.path(), name));
        }
    }
    files.sort();
    Ok(files)
}

/// Copies files to their names below `place`, durably; what they are.
fn copy_all(todo: &[(PathBuf, String)], place: &Path, progress: Progress<'_>) -> Result<Vec<Entry>, CopyError> {
    let total = todo.iter().map(|(path, _)| fs::metadata(path).map_or(0, |found| found.len())).sum();
    let mut done = 0;
    let mut entries = Vec::new();
    for (from, name) in todo {
        let to = place.join(name);
        let failed = io_error("copying", from);
        let directory = to.parent().unwrap_or(place);
        make_private_directory(directory).map_err(&failed)?;
        let mut digest = Sha256::new();
        let mut bytes = 0;
        copy_file(from, &to, &mut |piece| {
            digest.update(piece);
            bytes += piece.len() as u64;
            done += piece.len() as u64;
            progress("copying", done, total);
            Ok(())
        })
        .map_err(&failed)?;
        entries.push(Entry { name: name.clone(), bytes, sha256: hexadecimal(&digest.finalize()) });
    }
    let directories = entries.iter().filter_map(|entry| Path::new(&entry.name).parent());
    for directory in directories.collect::<std::collections::BTreeSet<_>>() {
        let path = place.join(directory);
        File::open(&path).and_then(|open| open.sync_all()).map_err(io_error("syncing", &path))?;
    }
    Ok(entries)
}
