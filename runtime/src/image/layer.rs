//! Unpacks one layer into a directory of its own, in the form overlayfs takes: a whiteout becomes a character device
//! 0:0, an opaque directory an attribute.
//!
//! The rule that keeps the host safe: every name is resolved by the kernel below the layer's own directory
//! (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`), and an archive that would need a symbolic link to be
//! followed is refused. What a symbolic link says is data: it means something only inside a container.

use std::ffi::{CStr, CString, OsStr};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags,
};
use rustix::io::Errno;

use super::tar::{Archive, Entry, Kind};
use super::{ImageError, ImageLimits};

/// Resolution that cannot leave a directory.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
const PATH_BYTES_MAX: usize = 4095;
const NAME_BYTES_MAX: usize = 255;
const OPAQUE: &[u8] = b".wh..wh..opq";
/// An attribute of a layer's root that has an entry of its own: most layers have none, and say nothing of the root's
/// owner and mode.
pub(crate) const ROOT_IS_SAID: &CStr = c"trusted.quintet.root";

/// Unpacks an archive into an empty directory. `shift` is added to all owners: 0 where idmapped mounts do that later.
/// Returns about how many bytes that takes on a disk.
pub(crate) fn unpack(archive: impl Read, root: &OwnedFd, shift: u32, limits: &ImageLimits) -> Result<u64, ImageError> {
    // Its own directory: layers without anything in them take room, too.
    let bytes = BLOCK_BYTES + INODE_BYTES;
    let mut unpacking = Unpacking { root, shift, limits, parent: None, entries: 0, bytes };
    let mut archive = Archive::new(archive);
    while let Some(entry) = archive.next()? {
        unpacking.entry(&entry, &mut archive).map_err(|error| match error {
            ImageError::Bad(reason) => ImageError::Bad(format!("{}: {reason}", shown(&entry.path))),
            other => other,
        })?;
    }
    Ok(unpacking.bytes)
}

/// A name from an archive in a message: short, and without anything a terminal would act on.
fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name.get(..name.len().min(200)).unwrap_or_default()).into_owned();
    text.escape_debug().collect()
}

/// Entries, and bytes, between two looks at the disk: other imports write, too, and a file takes more than its bytes.
const LOOK_ENTRIES: u64 = 64;
pub(super) const LOOK_BYTES: u64 = 16 << 20;
/// Files that an import leaves room for.
const SPARE_FILES: u64 = 1024;

/// What a file takes besides its content, and the steps in which content is given room: those of ext4.
const INODE_BYTES: u64 = 256;
const BLOCK_BYTES: u64 = 4096;
/// The longest symbolic link that lies in its inode.
const SHORT_LINK_BYTES: usize = 59;

/// About what an entry takes on a disk: an archive of a million empty directories is no empty image.
fn taken(entry: &Entry) -> u64 {
    let content = match entry.kind {
        Kind::File => entry.size.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES),
        Kind::Directory => BLOCK_BYTES,
        Kind::SymbolicLink if entry.link.len() > SHORT_LINK_BYTES => BLOCK_BYTES,
        _ => 0,
    };
    let attributes = if entry.attributes.is_empty() { 0 } else { BLOCK_BYTES };
    content.saturating_add(attributes).saturating_add(INODE_BYTES)
}

/// What may be written to the disk of this file.
///
/// # Errors
/// [`io::ErrorKind::StorageFull`] if that is nothing.
pub(super) fn free_bytes(file: impl AsFd, reserve_bytes: u64) -> io::Result<u64> {
    let disk = rustix::fs::fstatvfs(file)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize).saturating_sub(reserve_bytes);
    // A file system that makes room for files as they come says that there are none.
    let files_run_out = disk.f_files > 0 && disk.f_favail < SPARE_FILES.min(disk.f_files / 20);
    if free == 0 || files_run_out { Err(io::ErrorKind::StorageFull.into()) } else { Ok(free) }
}

struct Unpacking<'a> {
    root: &'a OwnedFd,
    shift: u32,
    limits: &'a ImageLimits,
    /// The directory that was used last: the next entry mostly lies in the same one.
    parent: Option<(Vec<Vec<u8>>, OwnedFd)>,
    entries: u64,
    bytes: u64,
}

fn refuse<T>(reason: &str) -> Result<T, ImageError> {
    Err(ImageError::Bad(reason.into()))
}

/// Splits a name into its components. The root itself has none. Every name means one below the root, whether it begins
/// with a slash or not: some builders write them so.
fn components(path: &[u8], limits: &ImageLimits) -> Result<Vec<Vec<u8>>, ImageError> {
    if path.is_empty() {
        return refuse("an empty name");
    }
    if path.len() > PATH_BYTES_MAX {
        return refuse("a name over 4095 bytes");
    }
    if path.contains(&0) {
        return refuse("a name with a NUL");
    }
    let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
    if parts.iter().any(|part| part == b"..") {
        return refuse("a name that climbs out with ..");
    }
    if parts.iter().any(|part| part.len() > NAME_BYTES_MAX) {
        return refuse("a part of a name over 255 bytes");
    }
    if parts.len() > limits.depth {
        return refuse("directories nested too deep");
    }
    Ok(parts)
}

impl Unpacking<'_> {
    fn entry(&mut self, entry: &Entry, content: &mut impl Read) -> Result<(), ImageError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return refuse("more files in a layer than allowed");
        }
        if self.entries.is_multiple_of(LOOK_ENTRIES) {
            free_bytes(self.root, self.limits.disk_reserve_bytes)?;
        }
        self.take(taken(entry))?;
        let mut path = components(&entry.path, self.limits)?;
        let Some(name) = path.pop() else {
            return match entry.kind {
                Kind::Directory => match rustix::fs::fsetxattr(self.root, ROOT_IS_SAID, b"y", XattrFlags::empty()) {
                    Ok(()) | Err(Errno::OPNOTSUPP) => self.finish_directory(self.root, entry),
                    Err(error) => Err(error.into()),
                },
                _ => refuse("the root must be a directory"),
            };
        };
        let parent = self.open_parent(path)?;
        if let Some(hidden) = name.strip_prefix(b".wh.") {
            return whiteout(&parent, &name, hidden);
        }
        let file = OsStr::from_bytes(&name);
        if entry.kind == Kind::Directory {
            return self.directory(&parent, file, entry);
        }
        // A later entry of the same name takes the place of an earlier one, but no file that of a directory.
        match rustix::fs::unlinkat(&parent, file, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => return refuse("a file where there is a directory"),
            Err(error) => return Err(io::Error::from(error).into()),
        }
        match entry.kind {
            Kind::File => self.file(&parent, file, entry, content),
            Kind::SymbolicLink => self.symbolic_link(&parent, file, entry),
            Kind::HardLink => self.hard_link(&parent, file, entry),
            Kind::Fifo => {
                rustix::fs::mknodat(&parent, file, FileType::Fifo, Mode::RUSR, 0)?;
                self.finish_by_name(&parent, file, entry)
            }
            Kind::Directory | Kind::CharacterDevice | Kind::BlockDevice => refuse("a device node"),
        }
    }

    /// Counts what is about to be written.
    fn take(&mut self, bytes: u64) -> Result<(), ImageError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.layer_bytes { Err(ImageError::TooMuch) } else { Ok(()) }
    }

    /// Opens the directory of an entry, making what is missing of the way to it.
    fn open_parent(&mut self, path: Vec<Vec<u8>>) -> Result<OwnedFd, ImageError> {
        if let Some((last, directory)) = &self.parent
            && *last == path
        {
            return Ok(directory.try_clone()?);
        }
        let mut directory = self.root.try_clone()?;
        for part in &path {
            let name = OsStr::from_bytes(part);
            if part.starts_with(b".wh.") {
                return refuse("a directory with the name of a whiteout");
            }
            directory = match open_below(&directory, name, OFlags::DIRECTORY | OFlags::RDONLY) {
                Ok(found) => found,
                Err(Errno::NOENT) => {
                    self.entries += 1;
                    self.take(INODE_BYTES + BLOCK_BYTES)?;
                    rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o755))?;
                    let made = open_below(&directory, name, OFlags::DIRECTORY | OFlags::RDONLY)?;
                    rustix::fs::fchown(&made, Some(uid(0, self.shift)?), Some(gid(0, self.shift)?))?;
                    made
                }
                Err(Errno::LOOP) => return refuse("its name goes through a symbolic link"),
                Err(Errno::NOTDIR) => return refuse("its name goes through a file"),
                Err(error) => return Err(io::Error::from(error).into()),
            };
        }
        self.parent = Some((path, directory.try_clone()?));
        Ok(directory)
    }

    fn directory(&self, parent: &OwnedFd, name: &OsStr, entry: &Entry) -> Result<(), ImageError> {
        match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        match open_below(parent, name, OFlags::DIRECTORY | OFlags::RDONLY) {
            Ok(directory) => self.finish_directory(&directory, entry),
            Err(Errno::LOOP | Errno::NOTDIR) => refuse("a directory where there is a file"),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn finish_directory(&self, directory: &OwnedFd, entry: &Entry) -> Result<(), ImageError> {
        self.finish(directory, entry)
    }

    fn file(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        entry: &Entry,
        content: &mut impl Read,
    ) -> Result<(), ImageError> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = std::fs::File::from(file);
        while io::copy(&mut content.take(LOOK_BYTES), &mut file)? == LOOK_BYTES {
            free_bytes(self.root, self.limits.disk_reserve_bytes)?;
        }
        self.finish(&file.into(), entry)
    }

    fn symbolic_link(&self, parent: &OwnedFd, name: &OsStr, entry: &Entry) -> Result<(), ImageError> {
        if entry.link.is_empty() || entry.link.len() > PATH_BYTES_MAX || entry.link.contains(&0) {
            return refuse("a symbolic link to nothing that can be a name");
        }
        rustix::fs::symlinkat(OsStr::from_bytes(&entry.link), parent, name)?;
        self.finish_by_name(parent, name, entry)
    }

    /// The other name must lie in the same layer and be a file: a whiteout or directory cannot be linked to.
    fn hard_link(&mut self, parent: &OwnedFd, name: &OsStr, entry: &Entry) -> Result<(), ImageError> {
        let mut path = components(&entry.link, self.limits)?;
        let Some(other) = path.pop() else { return refuse("a hard link to the root") };
        let mut directory = self.root.try_clone()?;
        for part in &path {
            directory = match open_below(&directory, OsStr::from_bytes(part), OFlags::DIRECTORY | OFlags::PATH) {
                Ok(found) => found,
                Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => {
                    return refuse("a hard link to something outside its layer");
                }
                Err(error) => return Err(io::Error::from(error).into()),
            };
        }
        let other = OsStr::from_bytes(&other);
        let found = match rustix::fs::statat(&directory, other, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => return refuse("a hard link to something outside its layer"),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        if !matches!(FileType::from_raw_mode(found.st_mode), FileType::RegularFile | FileType::Symlink) {
            return refuse("a hard link to something that is no file");
        }
        match rustix::fs::linkat(&directory, other, parent, name, AtFlags::empty()) {
            Err(Errno::MLINK) => refuse("more hard links to a file than the file system takes"),
            linked => Ok(linked?),
        }
    }

    /// Owner first: giving a file away takes its set-id bits and capabilities.
    fn finish(&self, file: &OwnedFd, entry: &Entry) -> Result<(), ImageError> {
        rustix::fs::fchown(file, Some(uid(entry.uid, self.shift)?), Some(gid(entry.gid, self.shift)?))?;
        for (name, value) in &entry.attributes {
            if name.starts_with(b"trusted.") || name.starts_with(b"user.overlay.") {
                return refuse("an attribute that would speak to the overlay file system");
            }
            // Labels and lists of other machines say nothing here; capabilities are kept for what reads them.
            if !name.starts_with(b"user.") && name != b"security.capability" {
                continue;
            }
            self.set_attribute(file, name, value)?;
        }
        rustix::fs::fchmod(file, Mode::from_raw_mode(entry.mode & 0o7777))?;
        rustix::fs::futimens(file, &times(entry))?;
        Ok(())
    }

    fn set_attribute(&self, file: &OwnedFd, name: &[u8], value: &[u8]) -> Result<(), ImageError> {
        let broken = || refuse(&format!("its extended attribute {} is broken", shown(name)));
        let Ok(text) = CString::new(name) else { return broken() };
        match rustix::fs::fsetxattr(file, &text, value, XattrFlags::empty()) {
            // The kernel reads capabilities; a name may be too long, or have nothing behind its prefix.
            Err(Errno::INVAL | Errno::RANGE | Errno::TOOBIG) => broken(),
            // A file system has little room for the attributes of one file, however much there is for files.
            Err(Errno::NOSPC) if free_bytes(self.root, self.limits.disk_reserve_bytes).is_ok() => {
                refuse("its extended attributes are more than the file system takes")
            }
            set => Ok(set?),
        }
    }

    fn finish_by_name(&self, parent: &OwnedFd, name: &OsStr, entry: &Entry) -> Result<(), ImageError> {
        let (owner, group) = (uid(entry.uid, self.shift)?, gid(entry.gid, self.shift)?);
        rustix::fs::chownat(parent, name, Some(owner), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
        if entry.kind == Kind::Fifo {
            rustix::fs::chmodat(parent, name, Mode::from_raw_mode(entry.mode & 0o7777), AtFlags::empty())?;
        }
        rustix::fs::utimensat(parent, name, &times(entry), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(())
    }
}

fn whiteout(parent: &OwnedFd, name: &[u8], hidden: &[u8]) -> Result<(), ImageError> {
    if name == OPAQUE {
        rustix::fs::fsetxattr(parent, c"trusted.overlay.opaque", b"y", XattrFlags::empty())?;
        return Ok(());
    }
    // Other names of aufs, which kept its books in the layer.
    if hidden.starts_with(b".wh.") {
        return Ok(());
    }
    if hidden.is_empty() || hidden == b"." || hidden == b".." {
        return refuse("a whiteout of nothing");
    }
    match rustix::fs::mknodat(parent, OsStr::from_bytes(hidden), FileType::CharacterDevice, Mode::empty(), 0) {
        Ok(()) => Ok(()),
        // Removed and there again: what is there counts.
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Where a container gets file systems of the kernel's own.
const MOUNT_POINTS: [&str; 3] = ["proc", "sys", "dev"];

/// What lies there in an image must be a directory, if there is anything. `layers` are its layers, highest first.
pub(super) fn check_mount_points(layers: &[PathBuf]) -> Result<(), ImageError> {
    for point in MOUNT_POINTS {
        for layer in layers {
            let found = match rustix::fs::statat(CWD, layer.join(point), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                found => FileType::from_raw_mode(found?.st_mode),
            };
            match found {
                // A device is a whiteout: taken away from the layers below.
                FileType::Directory | FileType::CharacterDevice => break,
                FileType::Symlink => {
                    return refuse(&format!("its /{point} is a symbolic link, where a container needs a directory"));
                }
                _ => return refuse(&format!("its /{point} is a file, where a container needs a directory")),
            }
        }
    }
    Ok(())
}

fn open_below(directory: impl AsFd, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat2(directory, name, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH)
}

/// Opens a regular file below a directory for reading, however hostile the directory is.
pub(crate) fn open_file_below(directory: impl AsFd, path: &str) -> io::Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let file = open_below(directory, OsStr::new(path), flags)?;
    let found = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
    }
    Ok(file.into())
}

/// Opens a directory by its path.
pub(crate) fn open_directory(path: &std::path::Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(CWD, path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The ids that exist in a container.
pub(crate) const IDS: u32 = 65_536;

fn shifted(id: u32, shift: u32) -> Result<u32, ImageError> {
    if id >= IDS {
        return refuse("an owner that does not exist in a container");
    }
    Ok(id + shift)
}

fn uid(id: u32, shift: u32) -> Result<Uid, ImageError> {
    shifted(id, shift).map(Uid::from_raw)
}

fn gid(id: u32, shift: u32) -> Result<Gid, ImageError> {
    shifted(id, shift).map(Gid::from_raw)
}

fn times(entry: &Entry) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: entry.modified_seconds, tv_nsec: 0 },
    }
}
