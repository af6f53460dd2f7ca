//! IDENTITY: how a data directory knows that it is the original and not a copy of itself.
//!
//! The file holds the handles ([`crate::env::handle`]) of the directory, of the tables' MANIFEST, of a log segment and of
//! itself. A copied file has another handle than the one it speaks of, whatever tool copied it. A copy laid over the
//! original in place, without clearing it first, is told by IDENTITY's own handle, since each one is a new file; only a
//! copy made since the last checkpoint is not: then the rules for originals apply, which refuse what does not fit.
//!
//! How far the *log* is trusted follows from the directory, the segment and IDENTITY itself. A MANIFEST that is not the
//! one it was says something about the tables only: they are made anew. A recorded file that is *missing* was lost here,
//! and the rules for originals find out what is gone. Everything else that is unclear means copy.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::env::handle::handle_of;
use crate::env::real::sync_directory;
use crate::log::{self, segment_number};
use crate::tables::projection::LIVE;

/// The file's name.
pub(crate) const FILE: &str = "IDENTITY";
const TEMPORARY: &str = "IDENTITY.tmp";
const ITSELF: &str = "itself";

/// What the IDENTITY file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Provenance {
    /// This directory wrote its files itself.
    Original,
    /// It did, but not its tables: they were put there by somebody else, or made anew a moment before a crash.
    ForeignTables,
    /// It did not, or that cannot be told; why.
    Copy(String),
}

/// Asks whether the directory is an original.
pub(crate) fn provenance(directory: &Path) -> Provenance {
    let text = match fs::read_to_string(directory.join(FILE)) {
        Ok(text) => text,
        Err(error) => return Provenance::Copy(format!("its IDENTITY file cannot be read ({error})")),
    };
    let mut told = 0;
    let mut has_own_tables = true;
    for (name, handle) in text.lines().filter_map(|line| line.split_once(" = ")) {
        let path = if name == ITSELF { directory.join(FILE) } else { directory.join(name) };
        match handle_of(&path) {
            Ok(Some(found)) if found == handle => told += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => told += 1,
            Ok(Some(_)) if name.starts_with(LIVE) => {
                told += 1;
                has_own_tables = false;
            }
            Ok(Some(_)) => return Provenance::Copy(format!("{} is not the file it was", path.display())),
            Ok(None) => return Provenance::Copy("the file system has no file handles".to_owned()),
            Err(error) => return Provenance::Copy(format!("{}: {error}", path.display())),
        }
    }
    // The directory, MANIFEST, segment, itself: fewer were never written.
    if told < 4 {
        return Provenance::Copy("its IDENTITY file is cut off".to_owned());
    }
    if has_own_tables { Provenance::Original } else { Provenance::ForeignTables }
}

/// Writes the file anew, durably; the tables are open and the log has a segment. Where the file system has no handles
/// there is no such file, and every start treats the directory as a copy.
pub(crate) fn write(directory: &Path) -> io::Result<()> {
    let (temporary, path) = (directory.join(TEMPORARY), directory.join(FILE));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    let mut text = "# Tells this directory from a copy of it. Do not edit.\n".to_owned();
    for (name, place) in [
        (".".to_owned(), directory.to_path_buf()),
        current_manifest(directory)?,
        newest_segment(directory)?,
        (ITSELF.to_owned(), temporary.clone()),
    ] {
        let Some(handle) = handle_of(&place)? else {
            fs::remove_file(&temporary)?;
            return remove_if_there(&path);
        };
        text.push_str(&format!("{name} = {handle}\n"));
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, &path)?;
    sync_directory(directory)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The MANIFEST that the tables are in.
fn current_manifest(directory: &Path) -> io::Result<(String, PathBuf)> {
    let current = fs::read_to_string(directory.join(LIVE).join("CURRENT"))?;
    let name = format!("{LIVE}/{}", current.trim());
    let path = directory.join(&name);
    Ok((name, path))
}

fn newest_segment(directory: &Path) -> io::Result<(String, PathBuf)> {
    let mut newest = None;
    for entry in fs::read_dir(directory.join(log::DIRECTORY))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        newest = newest.max(segment_number(&name).map(|number| (number, name)));
    }
    let (_, name) = newest.ok_or_else(|| io::Error::other("there is no log segment"))?;
    let name = format!("{}/{name}", log::DIRECTORY);
    let path = directory.join(&name);
    Ok((name, path))
}
