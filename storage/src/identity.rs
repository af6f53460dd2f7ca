//! IDENTITY: how a data directory knows that it is the original and not a copy of itself.
//!
//! The file holds the handles ([`crate::env::handle`]) of the directory, of the tables' MANIFEST, of a log segment and
//! of itself. A copied file has another handle than the one it speaks of, whatever tool copied it, and a copy laid over
//! the original in place does not have the handle of the IDENTITY that stood there (each one is a new file).
//!
//! A false alarm costs the time of a rebuild from the newest checkpoint, and the watermark's word about the log's end.
//! So everything unclear means copy, but a file that is *missing* in a directory whose own handle is right was lost
//! there, and the stricter rules for originals find out what is gone.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::env::handle::handle_of;
use crate::env::real::sync_directory;
use crate::log::{self, segment_number};

const FILE: &str = "IDENTITY";
const TEMPORARY: &str = "IDENTITY.tmp";
const ITSELF: &str = "itself";

/// What the IDENTITY file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Provenance {
    /// This directory wrote its files itself.
    Original,
    /// It did not, or that cannot be told; why.
    Copy(String),
}

/// Makes a file's two times equal, durably; what the log writes later sets both.
fn set_times(path: &Path) -> io::Result<()> {
    use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
    let file = fs::File::open(path)?;
    let at = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    rustix::fs::futimens(&file, &Timestamps { last_access: at(UTIME_OMIT), last_modification: at(UTIME_NOW) })?;
    file.sync_all()
}

/// Whether a segment's times say that a copier wrote it in place: copiers set the time of the last write to that of what
/// they copied, which leaves a later time of change.
fn was_put_there(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let found = match fs::metadata(path) {
        Ok(found) if found.is_file() && path.extension().is_some_and(|extension| extension == "log") => found,
        _ => return false,
    };
    (found.ctime(), found.ctime_nsec()) != (found.mtime(), found.mtime_nsec())
}

/// Asks whether the directory is an original.
pub(crate) fn provenance(directory: &Path) -> Provenance {
    let text = match fs::read_to_string(directory.join(FILE)) {
        Ok(text) => text,
        Err(error) => return Provenance::Copy(format!("its IDENTITY file cannot be read ({error})")),
    };
    let mut told = 0;
    for (name, handle) in text.lines().filter_map(|line| line.split_once(" = ")) {
        let path = if name == ITSELF { directory.join(FILE) } else { directory.join(name) };
        match handle_of(&path) {
            Ok(Some(found)) if found == handle => {
                if was_put_there(&path) {
                    return Provenance::Copy(format!("{} was written by a copier", path.display()));
                }
                told += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => told += 1,
            Ok(Some(_)) => return Provenance::Copy(format!("{} is not the file it was", path.display())),
            Ok(None) => return Provenance::Copy("the file system has no file handles".to_owned()),
            Err(error) => return Provenance::Copy(format!("{}: {error}", path.display())),
        }
    }
    // The directory, MANIFEST, segment, itself: fewer were never written.
    if told < 4 {
        return Provenance::Copy("its IDENTITY file is cut off".to_owned());
    }
    Provenance::Original
}

/// Writes the file anew, durably; the tables are open and the log has a segment. Where the file system has no handles
/// there is no such file, and every start treats the directory as a copy.
pub(crate) fn write(directory: &Path) -> io::Result<()> {
    let (temporary, path) = (directory.join(TEMPORARY), directory.join(FILE));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    let segment = newest_segment(directory)?;
    set_times(&segment.1)?;
    let mut text = "# Tells this directory from a copy of it. Do not edit.\n".to_owned();
    for (name, place) in [
        (".".to_owned(), directory.to_path_buf()),
        current_manifest(directory)?,
        segment,
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
    let current = fs::read_to_string(directory.join("live/CURRENT"))?;
    let name = format!("live/{}", current.trim());
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
