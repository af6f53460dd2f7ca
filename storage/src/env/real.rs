//! The real disk: a directory of the operating system.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::disk::{Disk, DiskFile};

/// Files that others must not read: the log holds everything.
const PRIVATE: u32 = 0o600;

/// A directory of the operating system.
#[derive(Debug)]
pub(crate) struct RealDisk {
    directory: PathBuf,
}

impl RealDisk {
    /// Makes the directory if it is missing.
    pub(crate) fn new(directory: &Path) -> io::Result<RealDisk> {
        make_private_directory(directory)?;
        Ok(RealDisk { directory: directory.to_owned() })
    }

    fn open_with(&self, name: &str, options: &mut OpenOptions) -> io::Result<Box<dyn DiskFile>> {
        let file = options.read(true).write(true).mode(PRIVATE).open(self.directory.join(name))?;
        Ok(Box::new(RealFile(file)))
    }
}

impl Disk for RealDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.open_with(name, OpenOptions::new().create(true).truncate(true))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.open_with(name, &mut OpenOptions::new())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.directory.join(from), self.directory.join(to))
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        names_in(&self.directory)
    }

    fn sync_directory(&self) -> io::Result<()> {
        sync_directory(&self.directory)
    }
}

/// A directory of the operating system in which nothing is changed: what a start would clear away is not there.
#[derive(Debug)]
pub(crate) struct ReadOnlyDisk {
    pub(crate) directory: PathBuf,
}

impl Disk for ReadOnlyDisk {
    fn create(&self, _name: &str) -> io::Result<Box<dyn DiskFile>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(RealFile(File::open(self.directory.join(name))?)))
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn unlink(&self, _name: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = match names_in(&self.directory) {
            // A backup has no log.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        names.retain(|name| !name.ends_with(".tmp"));
        Ok(names)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

fn names_in(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.0.read_at(rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Makes a directory that only its owner can enter, and its parents, durably; an existing one is left as it is.
pub(crate) fn make_private_directory(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if directory.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}

/// Makes creations, renames and removals in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Writes a small file so that after a crash either the old or the new content is there, whole. What stands in its way is
/// never written to: it may be a link to somewhere else, or a file that somebody else holds open.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    match fs::remove_file(&temporary) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let file = OpenOptions::new().create_new(true).write(true).mode(PRIVATE).open(&temporary)?;
    file.write_all_at(content, 0)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    match path.parent() {
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

/// Opens a file that is nothing but a file: what comes from elsewhere may be a link to a device, or a pipe.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// Copies a file byte for byte into one of the same mode, durably; never by links. Each piece goes to `piece` as well.
pub(crate) fn copy_file(from: &Path, to: &Path, piece: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    let mut source = open_regular(from)?;
    let mode = source.metadata()?.permissions().mode() & 0o700;
    let mut target = OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        piece(bytes)?;
        target.write_all(bytes)?;
    }
    target.sync_all()?;
    // What is read back for checking is to come from the disk.
    let _ = rustix::fs::fadvise(&target, 0, None, rustix::fs::Advice::DontNeed);
    Ok(())
}

/// The directory's lock, held while this lives; the kernel releases it if the process dies.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
}

impl Drop for DirectoryLock {
    /// Releases it in so many words: a process that was forked at this moment and has not yet begun its program shares
    /// the open file, and with it a lock that is only closed.
    fn drop(&mut self) {
        // What cannot be unlocked is released when the last descriptor is closed.
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
    }
}

impl DirectoryLock {
    /// Takes the lock of a directory that is only looked at, if it has a lock file; `None` if another process holds it.
    pub(crate) fn take_existing(path: &Path) -> io::Result<Option<DirectoryLock>> {
        let file = open_regular(path)?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(DirectoryLock { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Takes the lock; `None` if another process holds it.
    pub(crate) fn take(path: &Path) -> io::Result<Option<DirectoryLock>> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(PRIVATE).open(path)?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(DirectoryLock { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}
