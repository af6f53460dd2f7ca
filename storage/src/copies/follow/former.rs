//! What a file beside the log said before: data of an instant before a rotation are under the root key of then.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::env::real::{make_private_directory, open_regular, replace_file};
use crate::time::Timestamp;

/// Where former contents lie, each under the instant at which it was replaced.
const DIRECTORY: &str = "former";
/// More than such a file has.
const BYTES_MAX: u64 = 64 << 10;

/// Keeps what a file says, if that is something else than it is to say now.
pub(super) fn keep(place: &Path, name: &str, next: &[u8], now: Timestamp) -> io::Result<()> {
    let mut content = Vec::new();
    match open_regular(&place.join(name)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?.take(BYTES_MAX).read_to_end(&mut content)?,
    };
    if content == next {
        return Ok(());
    }
    let directory = place.join(DIRECTORY);
    make_private_directory(&directory)?;
    replace_file(&directory.join(format!("{:020}-{name}", now.as_micros())), &content)
}

/// What a file beside the log of a continuous backup said before, the newest first.
#[must_use]
pub fn former_files(place: &Path, name: &str) -> Vec<PathBuf> {
    let mut found: Vec<(i64, PathBuf)> = listed(place).into_iter().filter(|(_, path)| is_of(path, name)).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

fn is_of(path: &Path, name: &str) -> bool {
    let own = path.file_name().and_then(|own| own.to_str()).and_then(|own| own.split_once('-'));
    own.is_some_and(|(_, own)| own == name)
}

/// Removes what was replaced before an instant.
pub(super) fn prune(place: &Path, oldest: Timestamp) -> io::Result<()> {
    for (at, path) in listed(place) {
        if at < oldest.as_micros() {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn listed(place: &Path) -> Vec<(i64, PathBuf)> {
    let entries = fs::read_dir(place.join(DIRECTORY)).into_iter().flatten().flatten();
    let at = |path: &Path| path.file_name()?.to_str()?.split_once('-')?.0.parse().ok();
    entries.filter_map(|entry| Some((at(&entry.path())?, entry.path()))).collect()
}
