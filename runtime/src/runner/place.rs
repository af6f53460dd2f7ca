//! Where a runner works: a directory of root's alone, on a path where nobody else can put anything, and a socket that
//! is the runner's own whoever may write beside it.
//!
//! The runner is root and writes where it is told to. A directory of somebody else's would have it overwrite whatever
//! that one's links lead to; so it follows none, and takes only what nobody but root can have laid there.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::options::{RunnerStartError, failing};

/// What others may do to a directory, by its mode.
const WRITTEN_BY_OTHERS: u32 = 0o022;
const ANYTHING_BY_OTHERS: u32 = 0o077;
/// Only the owner of a file takes it out of such a directory.
const STICKY: u32 = 0o1000;

fn refused<T>(path: &Path, why: impl std::fmt::Display) -> Result<T, RunnerStartError> {
    Err(RunnerStartError::Place(format!("{} {why}", path.display())))
}

/// Takes a directory for a runner, making what is missing of it.
///
/// # Errors
/// [`RunnerStartError::Place`]: somebody else could have put something there, or could; nothing in it was touched.
pub(super) fn take(path: &Path) -> Result<File, RunnerStartError> {
    let Some(found) = walk(path, Some(Mode::RWXU))? else { return refused(path, "is not there") };
    let failed = || failing::<Errno>("the runner's directory");
    let mode = rustix::fs::fstat(&found).map_err(failed())?.st_mode & 0o7777;
    if mode & ANYTHING_BY_OTHERS != 0 {
        return refused(path, format!("is not root's alone (its mode is {mode:04o}): make it so with chmod 700"));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(&found, ".", flags, Mode::empty()).map_err(failed())?;
    check_content(path, &directory)?;
    Ok(directory.into())
}

/// Whether nobody but root could have put anything where this path leads, as far as it is there. A runner takes a
/// directory only then.
#[must_use]
pub fn is_roots_alone(path: &Path) -> bool {
    walk(path, None).is_ok()
}

/// Goes down from the root, following no link, through directories in which only root decides what lies there. `make`
/// is the mode of what is made where something is missing; without it the answer is then none.
fn walk(path: &Path, make: Option<Mode>) -> Result<Option<OwnedFd>, RunnerStartError> {
    let failed = |so_far: &Path| failing::<io::Error>(format!("{}", so_far.display()));
    let path = std::path::absolute(path).map_err(failed(path))?;
    let mut so_far = PathBuf::from("/");
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::openat(CWD, "/", flags, Mode::empty()).map_err(|error| failed(&so_far)(error.into()))?;
    check_owner(&so_far, &at)?;
    for component in path.components() {
        let name = match component {
            Component::Normal(name) => name,
            Component::ParentDir => return refused(&path, "climbs with ..: name the directory itself"),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => continue,
        };
        so_far.push(name);
        let mut opened = rustix::fs::openat(&at, name, flags, Mode::empty());
        if matches!(opened, Err(Errno::NOENT)) {
            let Some(mode) = make else { return Ok(None) };
            match rustix::fs::mkdirat(&at, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(&so_far)(error.into())),
            }
            opened = rustix::fs::openat(&at, name, flags, Mode::empty());
        }
        at = match opened {
            Ok(opened) => opened,
            Err(Errno::NOTDIR | Errno::LOOP) if is_link(&at, name) => {
                return refused(&so_far, "is a symbolic link, which a runner does not follow: name what it leads to");
            }
            Err(error) => return Err(failed(&so_far)(error.into())),
        };
        check_owner(&so_far, &at)?;
    }
    Ok(Some(at))
}

fn is_link(directory: &OwnedFd, name: &OsStr) -> bool {
    let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

/// In a directory of root's that only root writes, or where everybody keeps their own, what is root's is root's doing.
fn check_owner(path: &Path, directory: &OwnedFd) -> Result<(), RunnerStartError> {
    let found = rustix::fs::fstat(directory).map_err(failing("the runner's directory"))?;
    if found.st_uid != 0 {
        let why = format!("belongs to user {}: a runner works only where nobody but root decides", found.st_uid);
        return refused(path, why);
    }
    let mode = found.st_mode & 0o7777;
    if mode & WRITTEN_BY_OTHERS != 0 && mode & STICKY == 0 {
        let why = format!("can be written by others (its mode is {mode:04o}): a runner works only where none can");
        return refused(path, why);
    }
    Ok(())
}

/// A directory may have been somebody else's before. What was laid there then is not taken for the runner's.
fn check_content(path: &Path, directory: &OwnedFd) -> Result<(), RunnerStartError> {
    let failed = || failing::<Errno>("the runner's directory");
    for entry in Dir::read_from(directory).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let found = match rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            found => found.map_err(failed())?,
        };
        if found.st_uid != 0 || kind(&found) == FileType::Symlink {
            let name = entry.file_name().to_string_lossy().escape_debug().to_string();
            return refused(path, format!("has something in it that no runner has made: {name}"));
        }
    }
    Ok(())
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Listens on a socket that root has made here and now. Its directory may be somebody else's: a socket or link that
/// lies there is taken away, nothing else is, and no link is followed.
pub(super) fn listen(path: &Path, group: Option<u32>) -> io::Result<UnixListener> {
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let directory = socket_directory(path)?;
    match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
        // Nobody else answers there: the runner's directory is ours.
        Ok(found) if matches!(kind(&found), FileType::Socket | FileType::Symlink) => {
            rustix::fs::unlinkat(&directory, name, AtFlags::empty())?;
        }
        Ok(_) => return Err(io::Error::other("something that is no socket lies there")),
    }
    let listener = UnixListener::bind(at(&directory).join(name))?;
    let made = rustix::fs::openat(&directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = rustix::fs::fstat(&made)?;
    if kind(&found) != FileType::Socket || found.st_uid != 0 {
        return Err(io::Error::other("somebody has put something else in its place"));
    }
    rustix::fs::chownat(&made, "", Some(Uid::ROOT), group.map(Gid::from_raw), AtFlags::EMPTY_PATH)?;
    std::fs::set_permissions(at(&made), Permissions::from_mode(if group.is_some() { 0o660 } else { 0o600 }))?;
    Ok(listener)
}

/// Opens the directory of a socket; a missing one is made where only root can have made what is above it.
fn socket_directory(socket: &Path) -> io::Result<OwnedFd> {
    let directory = std::path::absolute(socket)?;
    let directory = directory.parent().unwrap_or(Path::new("/"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, directory, flags, Mode::empty()) {
        Err(Errno::NOENT) => {
            let made = walk(directory, Some(Mode::from_raw_mode(0o755))).map_err(io::Error::other)?;
            made.ok_or_else(|| io::ErrorKind::NotFound.into())
        }
        opened => Ok(opened?),
    }
}

/// A path to what is open.
fn at(opened: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}
