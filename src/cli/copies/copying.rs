//! What backups, restores and salvages have in common on the command line: where they may write, and how they fail.

use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use quintet_platform::clock::rfc3339;
use quintet_storage::OpenError;
use quintet_storage::backup::CopyError;

use crate::cli::CliError;

/// Where something is to be written. Directories above it that had to be made go again if nothing comes to lie in them.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    /// The deepest first.
    new_parents: Vec<PathBuf>,
}

impl Deref for Destination {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        for parent in &self.new_parents {
            // One that holds something stays, which is what they were made for.
            if std::fs::remove_dir(parent).is_err() {
                return;
            }
        }
    }
}

/// Settles where something is to be written: an absolute path without links, outside of `data_dir`, and where a
/// directory can be put into place by renaming.
pub fn destination(wanted: &Path, data_dir: &Path) -> Result<Destination, CliError> {
    let place = settled(wanted)?;
    let data = settled(data_dir)?;
    if place.starts_with(&data) {
        return Err(CliError::failed(format!("{} lies inside the data directory {}", place.display(), data.display()))
            .hint("name a place outside of it, best on another disk"));
    }
    let is_mount = match (std::fs::metadata(&place), place.parent().map(std::fs::metadata)) {
        (Ok(found), Some(Ok(parent))) => found.dev() != parent.dev(),
        _ => false,
    };
    if is_mount {
        return Err(CliError::failed(format!("{} is the top of a file system", place.display()))
            .hint(format!("name a directory on it that does not exist yet: {}", place.join("NAME").display())));
    }
    let new_parents = place.ancestors().skip(1).take_while(|parent| !parent.exists()).map(Path::to_path_buf).collect();
    Ok(Destination { path: place, new_parents })
}

/// An absolute path without links, of which the last parts need not exist.
fn settled(path: &Path) -> Result<PathBuf, CliError> {
    let absolute =
        std::path::absolute(path).map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
    let mut existing = absolute.as_path();
    let mut rest = Vec::new();
    let top = loop {
        match existing.canonicalize() {
            Ok(top) => break top,
            Err(_) => match (existing.components().next_back(), existing.parent()) {
                (Some(Component::Normal(name)), Some(parent)) => {
                    rest.push(name.to_os_string());
                    existing = parent;
                }
                _ => return Err(CliError::failed(format!("{} names no place", path.display()))),
            },
        }
    };
    let mut settled = top;
    settled.extend(rest.iter().rev());
    if settled.file_name().is_none() {
        return Err(CliError::failed(format!("{} cannot be the name of a directory", settled.display())));
    }
    Ok(settled)
}

/// How a copy fails; `if_damaged` says what to do when the source is not what was written.
pub fn failure(error: &CopyError, if_damaged: &str) -> CliError {
    let failed = CliError::failed(error);
    match error {
        CopyError::NotEmpty(_) => failed.hint("name a directory that is absent or empty"),
        CopyError::Leftover(path) => failed.hint(format!(
            "if no other run is at work there, remove it: `rm -r {}`; nothing of it counts",
            path.display()
        )),
        CopyError::Damaged { .. } => failed.code(CliError::DAMAGED).hint(if_damaged),
        CopyError::NotReadBack { .. } => {
            failed.code(CliError::DAMAGED).hint("the disk that it was written to is not sound: take another one")
        }
        CopyError::Foreign { .. } => failed.hint("name another directory, one that is absent or empty"),
        CopyError::Diverged(_) => failed.hint(
            "one of the two was restored and has gone on by itself: name a directory that is absent or empty, and keep \
             the old one as long as what it holds may be wanted",
        ),
        CopyError::NoWindow(_) => failed.hint("leave out --at: a backup or a copy is of one instant"),
        CopyError::OutOfWindow { first: None, .. } => {
            failed.hint("nothing is kept yet that can be gone back to: wait for its next checkpoint, or leave out --at")
        }
        CopyError::OutOfWindow { first: Some(first), last } => failed.hint(format!(
            "name an instant from {} to {}, or leave out --at for the newest",
            rfc3339(*first),
            rfc3339(*last)
        )),
        CopyError::Source(error) => source_failure(error, if_damaged),
        CopyError::Io { .. } if error.is_full() => failed.hint(
            "there is not enough room for it: free some, or name a place on another disk; nothing was left behind",
        ),
        CopyError::Io { .. } => failed,
    }
}

/// How the opening of a directory fails that is only to be read.
pub fn source_failure(error: &OpenError, if_damaged: &str) -> CliError {
    let failed = CliError::failed(error);
    match error {
        OpenError::InUse(path) => failed
            .code(CliError::IN_USE)
            .hint(format!("a process works on it: `quintet status --data {}` shows what runs", path.display())),
        OpenError::Damaged { .. } | OpenError::LogGap { .. } => failed.code(CliError::DAMAGED).hint(if_damaged),
        OpenError::NotADataDirectory(path) => CliError::failed(format!("{} is no data directory", path.display()))
            .hint("name a data directory, a copy of one, or a backup: it has a file FORMAT"),
        OpenError::NewerFormat { .. } | OpenError::OlderFormat { .. } => {
            failed.hint("run the version of quintet that wrote it, or a newer one")
        }
        OpenError::ClockMismatch { .. } | OpenError::Registry(_) | OpenError::Io { .. } => failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_settled_before_they_are_compared() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let data = top.join("data");
        std::fs::create_dir(&data).unwrap();
        std::os::unix::fs::symlink(&data, top.join("link")).unwrap();
        let settles = |wanted: PathBuf, expected: &str| {
            assert_eq!(&*destination(&wanted, &data).unwrap(), top.join(expected));
        };
        settles(top.join("a/b"), "a/b");
        settles(top.join("data-2"), "data-2");
        settles(data.join("../b"), "b");
        for inside in [data.clone(), data.join("x/y"), top.join("link/x"), top.join("link")] {
            let refused = destination(&inside, &data).unwrap_err();
            assert!(refused.reason.contains("inside the data directory"), "{}: {}", inside.display(), refused.reason);
        }
        assert!(destination(Path::new("/"), &data).is_err());
        assert!(destination(&top.join("absent/../x"), &data).is_err(), "nobody knows where that will be");
        assert!(destination(Path::new("/proc"), &data).unwrap_err().reason.contains("top of a file system"));
    }

    #[test]
    fn parents_that_nothing_came_to_lie_in_go_again() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        let place = destination(&top.join("a/b/c"), &top.join("data")).unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        drop(place);
        assert!(!top.join("a").exists());
        let place = destination(&top.join("a/b/c"), &top.join("data")).unwrap();
        std::fs::create_dir_all(&*place).unwrap();
        drop(place);
        assert!(top.join("a/b/c").exists());
    }
}
