//! Root file systems: an overlay of an image's layers with a writable layer of bounded size.
//!
//! Everything is mounted in a mount namespace of the supervisor's own, on a tmpfs over a directory that nothing here
//! needs. When the supervisor and the container are gone, by whatever way, so are the mounts, and with the last mount
//! the loop device.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use std::ffi::CString;

use rustix::fs::{CWD, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};
use rustix::process::{Signal, WaitOptions};

use super::order::RootOrder;
use crate::image::ROOT_IS_SAID;
use crate::kernel::{self, Forked};
use crate::protocol::ScratchKind;

/// Directories that exist everywhere and that no part of making a container needs.
const PLACES: [&str; 4] = ["/mnt", "/srv", "/media", "/opt"];

/// Where the parts of a container lie in the supervisor's mount namespace.
pub(super) struct Workplace {
    directory: PathBuf,
    /// The file behind the writable layer: it tells how much of it is taken.
    scratch: Cell<Option<File>>,
}

fn said(what: &str) -> impl FnOnce(io::Error) -> io::Error {
    let what = what.to_owned();
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

impl Workplace {
    /// Leaves the mount namespace for one of its own and makes an empty place. `needed` is the directory that everything
    /// else is in. To be called after [`let_go_of_host`].
    pub fn make(needed: &Path) -> io::Result<Workplace> {
        let place = PLACES.iter().map(Path::new).find(|place| place.is_dir() && !needed.starts_with(place));
        let place = place.ok_or_else(|| io::Error::other("none of /mnt, /srv, /media and /opt can be used"))?;
        kernel::own_mounts().map_err(said("a mount namespace"))?;
        // What the host has mounted since this process's parent let go of it has come along.
        let_go_of_mounts(needed)?;
        // Root of the container walks through here to its own root, and sees nothing on the way.
        let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
        rustix::mount::mount("tmpfs", place, "tmpfs", flags, c"mode=0711,size=16m")?;
        let workplace = Workplace { directory: place.to_owned(), scratch: Cell::default() };
        for name in ["l", "u", "root", "bundle", "state"] {
            std::fs::create_dir(workplace.directory.join(name))?;
        }
        Ok(workplace)
    }

    /// The container's root.
    pub fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// Where libcontainer reads the description from.
    pub fn bundle(&self) -> PathBuf {
        self.directory.join("bundle")
    }

    /// Where libcontainer keeps its state.
    pub fn state(&self) -> PathBuf {
        self.directory.join("state")
    }

    /// Mounts the root file system for the ids of this user namespace. The writable layer takes its room where `directory`
    /// lies.
    pub fn mount(&self, order: &RootOrder, users: BorrowedFd<'_>, directory: &Path) -> io::Result<()> {
        let users = order.idmapped.then_some(users);
        let mut lower = Vec::new();
        for (number, layer) in order.layers.iter().enumerate() {
            let point = self.directory.join("l").join(number.to_string());
            std::fs::create_dir(&point)?;
            mount_layer(layer, &point, users).map_err(said("a layer"))?;
            lower.push(format!("l/{number}"));
        }
        let upper = self.directory.join("u");
        self.mount_scratch(order, directory, &upper).map_err(said("the writable layer"))?;
        let points = (0..order.layers.len()).map(|number| self.directory.join("l").join(number.to_string()));
        give_root(points, &upper.join("upper")).map_err(said("the root's attributes"))?;
        let options = format!(
            "lowerdir={},upperdir=u/upper,workdir=u/work,index=off,metacopy=off,xino=off,volatile",
            lower.join(":")
        );
        let options = CString::new(options).map_err(io::Error::other)?;
        // The container reads these names in its /proc/mounts: they tell nothing of the host.
        let before = std::env::current_dir()?;
        std::env::set_current_dir(&self.directory)?;
        let mounted = rustix::mount::mount("overlay", "root", "overlay", MountFlags::NODEV, options.as_c_str());
        std::env::set_current_dir(before)?;
        mounted.map_err(io::Error::from).map_err(said("the overlay"))
    }

    fn mount_scratch(&self, order: &RootOrder, directory: &Path, upper: &Path) -> io::Result<()> {
        let flags = MountFlags::NODEV | MountFlags::NOATIME;
        match order.scratch {
            ScratchKind::Loop => {
                let template = order.template.as_ref().ok_or_else(|| io::Error::other("no template"))?;
                let file = copy_sparse(template, directory)?;
                let (path, _device) = loop_device(&file)?;
                // Nothing on it outlives the container: what it takes to survive a power cut is not paid for.
                rustix::mount::mount(path.as_path(), upper, "ext4", flags, c"nobarrier,errors=continue")?;
                self.scratch.set(Some(file));
            }
            ScratchKind::Tmpfs => {
                let options = CString::new(format!("size={},mode=0700", order.scratch_bytes))?;
                rustix::mount::mount("tmpfs", upper, "tmpfs", flags, options.as_c_str())?;
            }
        }
        for name in ["upper", "work"] {
            let directory = upper.join(name);
            std::fs::create_dir(&directory)?;
            let (owner, group) = (Uid::from_raw(order.first_id), Gid::from_raw(order.first_id));
            rustix::fs::chown(&directory, Some(owner), Some(group))?;
            rustix::fs::chmod(&directory, Mode::from_raw_mode(0o755))?;
        }
        Ok(())
    }

    /// Reads a small file of the container's root, following its links as the container would.
    pub fn read(&self, path: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        let root = crate::image::open_directory(&self.root())?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let file = rustix::fs::openat2(&root, path, flags, Mode::empty(), resolve)?;
        if !File::from(file.try_clone()?).metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut content = Vec::new();
        File::from(file).take(bytes_max).read_to_end(&mut content)?;
        Ok(content)
    }

    /// Makes a directory in the container's root, with what is missing above it, following its links as the container
    /// would.
    pub fn make_directory(&self, path: &str, first_id: u32) -> io::Result<()> {
        let root = crate::image::open_directory(&self.root())?;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let open = |path: &str| {
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
            rustix::fs::openat2(&root, path, flags, Mode::empty(), resolve)
        };
        let mut above = String::from(".");
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            let here = format!("{above}/{part}");
            match open(&here) {
                Ok(_) => {}
                Err(Errno::NOENT) if part != ".." => {
                    let parent = open(&above)?;
                    rustix::fs::mkdirat(&parent, part, Mode::from_raw_mode(0o755))?;
                    let (owner, group) = (Uid::from_raw(first_id), Gid::from_raw(first_id));
                    rustix::fs::fchown(open(&here)?, Some(owner), Some(group))?;
                }
                Err(error) => return Err(error.into()),
            }
            above = here;
        }
        Ok(())
    }

    /// The file behind the writable layer. The layer's room is given back when this is closed, too.
    pub fn take_scratch(&self) -> Option<File> {
        self.scratch.take()
    }

    /// Takes everything down, for a supervisor that goes on.
    pub fn unmount(&self) {
        drop(self.scratch.take());
        let _ = rustix::mount::unmount(&self.directory, UnmountFlags::DETACH);
    }
}

/// A layer at a short path, read-only; its owners mapped into the container's range where that is possible.
fn mount_layer(layer: &Path, point: &Path, users: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = rustix::mount::open_tree(CWD, layer, flags)?;
    if let Some(users) = users {
        kernel::map_owners(tree.as_fd(), users).map_err(said("an idmapped mount"))?;
    }
    rustix::mount::move_mount(&tree, "", CWD, point, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

/// The user namespace of a container, which maps its ids into their range: its owner's, so that what the kernel counts by
/// user is counted for each slot. A child makes it and holds it until it is open here.
pub(super) fn user_namespace(order: &RootOrder) -> io::Result<OwnedFd> {
    let (ready, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let own = rustix::process::getpid();
    let child = match kernel::fork_single_threaded()? {
        Forked::Child => {
            let is_ready = kernel::own_users(order.owner_id).is_ok()
                // It has the runner's ear as long as it lives, and must not outlive the one who waits for it. Asked for now:
                // another user's process is not ended so.
                && rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok()
                && rustix::process::getppid() == Some(own);
            if is_ready && rustix::io::write(&tell, b"1").is_ok() {
                rustix::event::pause();
            }
            kernel::exit_now(1)
        }
        Forked::Parent(child) => child,
    };
    drop(tell);
    let opened = (|| {
        let mut byte = [0];
        if rustix::io::read(&ready, &mut byte)? == 0 {
            return Err(io::Error::other("no user namespace can be made"));
        }
        let process = PathBuf::from(format!("/proc/{}", child.as_raw_nonzero()));
        let mapping = format!("0 {} {}", order.first_id, crate::image::IDS);
        std::fs::write(process.join("uid_map"), &mapping)?;
        std::fs::write(process.join("gid_map"), &mapping)?;
        Ok(File::open(process.join("ns/user"))?.into())
    })();
    let _ = rustix::process::kill_process(child, Signal::KILL);
    let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
    opened
}

/// Copies a file without its holes, into one without a name: whatever happens, it goes with its last user.
fn copy_sparse(from: &Path, directory: &Path) -> io::Result<File> {
    let mut source = File::open(from)?;
    let length = source.metadata()?.len();
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let copy = File::from(rustix::fs::open(directory, flags, Mode::from_raw_mode(0o600))?);
    copy.set_len(length)?;
    let mut buffer = vec![0; 1 << 16];
    let mut offset = 0;
    loop {
        let from = match rustix::fs::seek(&source, rustix::fs::SeekFrom::Data(offset)) {
            Ok(from) => from,
            Err(Errno::NXIO) => return Ok(copy),
            Err(error) => return Err(error.into()),
        };
        offset = rustix::fs::seek(&source, rustix::fs::SeekFrom::Hole(from))?;
        source.seek(SeekFrom::Start(from))?;
        let mut at = from;
        while at < offset {
            let most = usize::try_from(offset - at).unwrap_or(usize::MAX).min(buffer.len());
            let part = buffer.get_mut(..most).unwrap_or_default();
            source.read_exact(part)?;
            copy.write_all_at(part, at)?;
            at += most as u64;
        }
    }
}

/// Leaves the host's mount namespace for one in which only the mounts are that supervisors need. `needed` is the directory
/// that everything else is in.
pub(super) fn let_go_of_host(needed: &Path) -> io::Result<()> {
    kernel::own_mounts().map_err(said("a mount namespace"))?;
    // What the host takes down is not held up by this namespace; what is mounted here stays here.
    rustix::mount::mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    // But for what the container gets of it: its devices. Where /dev is no mount, there is nothing to be told of.
    let _ = rustix::mount::mount_change("/dev", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC);
    let_go_of_mounts(needed)
}

/// Takes every file system of the host out of this namespace that is not needed here. Where the host does not share its
/// mounts (without systemd), what it unmounts would otherwise be held for as long as this namespace lives: a disk that is
/// being exchanged, say.
fn let_go_of_mounts(needed: &Path) -> io::Result<()> {
    const NEEDED: [&str; 3] = ["/proc", "/sys", "/dev"];
    // Control groups of version 1: the supervisor has them at hand, and nobody else is to find them.
    const HIERARCHY: &[u8] = b" - cgroup ";
    let needed = needed.canonicalize()?;
    let mounts = std::fs::read("/proc/self/mountinfo")?;
    // The last one is the innermost.
    for line in mounts.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let is_hierarchy = line.windows(HIERARCHY.len()).any(|part| part == HIERARCHY);
        // proc(5): the fifth field, with blanks, tabs, line breaks and backslashes as octal numbers.
        let point = line.split(|byte| *byte == b' ').nth(4).map(unescaped).unwrap_or_default();
        let point = PathBuf::from(std::ffi::OsString::from_vec(point));
        let is_needed = needed.starts_with(&point)
            || point.starts_with(&needed)
            || NEEDED.iter().any(|directory| point.starts_with(directory));
        if (!is_needed || is_hierarchy)
            && let Err(error) = rustix::mount::unmount(&point, UnmountFlags::DETACH)
        {
            tracing::debug!(point = %point.display(), %error, "a mount of the host stays in a supervisor's namespace");
        }
    }
    Ok(())
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

/// Gives the writable layer the owner and mode of the image's root: those of the topmost layer that says what they are.
/// In an overlay the root is that of the writable layer.
fn give_root(mut points: impl Iterator<Item = PathBuf>, upper: &Path) -> io::Result<()> {
    let says = |point: &PathBuf| match rustix::fs::getxattr(point, ROOT_IS_SAID, &mut [0_u8; 8]) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => None,
        said => Some(said.and_then(|_| rustix::fs::stat(point))),
    };
    let Some(found) = points.find_map(|point| says(&point)) else { return Ok(()) };
    let found = found?;
    rustix::fs::chown(upper, Some(Uid::from_raw(found.st_uid)), Some(Gid::from_raw(found.st_gid)))?;
    Ok(rustix::fs::chmod(upper, Mode::from_raw_mode(found.st_mode & 0o7777))?)
}

/// Puts a file behind a loop device that goes with the last mount of it. It must be kept open until it is mounted.
fn loop_device(file: &File) -> io::Result<(PathBuf, File)> {
    let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
    // Whoever else starts a container asks for the same free device at the same time.
    for attempt in 0..2000_u32 {
        let path = PathBuf::from(format!("/dev/loop{}", kernel::free_loop_device(&control)?));
        let device = match OpenOptions::new().read(true).write(true).open(&path) {
            // Its node is made by the kernel a moment after the device.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                std::thread::sleep(std::time::Duration::from_millis(1));
                continue;
            }
            opened => opened?,
        };
        match kernel::attach_loop_device(&device, file) {
            Ok(()) => return Ok((path, device)),
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
                std::thread::sleep(std::time::Duration::from_micros(u64::from(attempt % 16) * 100));
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no loop device is free"))
}

/// Makes the empty file system that writable layers begin as, once for each size.
pub(crate) fn make_template(path: &Path, bytes: u64) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.flush()?;
    file.set_len(bytes)?;
    drop(file);
    let tool = ["/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"].iter().find(|tool| Path::new(tool).exists());
    let tool = tool.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "mkfs.ext4 (e2fsprogs) is missing"))?;
    let arguments = ["-q", "-F", "-m", "0", "-O", "^has_journal,^resize_inode", "-E", "lazy_itable_init=1,nodiscard"];
    let mut command = std::process::Command::new(tool);
    let output = command.args(arguments).arg(&unfinished).env_clear().stdin(std::process::Stdio::null()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("mkfs.ext4: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    std::fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use rustix::fs::XattrFlags;

    use super::*;

    /// In this order, from the topmost: a layer that says nothing of its root, and two that do.
    #[test]
    fn the_root_is_as_the_topmost_layer_says_that_says_anything() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: it needs root");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let made = |name: &str, owner: u32, mode: u32, says: bool| {
            let path = place.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::os::unix::fs::chown(&path, Some(owner), Some(owner + 1)).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            if says {
                rustix::fs::setxattr(&path, ROOT_IS_SAID, b"y", XattrFlags::empty()).unwrap();
            }
            path
        };
        let layers = [made("top", 1, 0o701, false), made("middle", 33, 0o1770, true), made("bottom", 44, 0o711, true)];
        let found = |path: &Path| {
            let found = path.metadata().unwrap();
            (found.uid(), found.gid(), found.mode() & 0o7777)
        };
        let upper = made("upper", 9, 0o755, false);
        give_root(layers.iter().take(1).cloned(), &upper).unwrap();
        assert_eq!(found(&upper), (9, 10, 0o755), "nobody says anything");
        give_root(layers.iter().cloned(), &upper).unwrap();
        assert_eq!(found(&upper), (33, 34, 0o1770));
    }

    #[test]
    fn mount_points_are_read_as_the_kernel_writes_them() {
        assert_eq!(unescaped(br"/mnt/a\040b\134c"), br"/mnt/a b\c");
        assert_eq!(unescaped(br"/mnt/a\04"), br"/mnt/a\04");
        assert_eq!(unescaped(b"/"), b"/");
    }
}
