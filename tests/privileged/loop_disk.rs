//! A small ext4 on a loop device: a disk that a test can cut the power of, or fill to the last byte.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{FallocateFlags, fallocate, ftruncate, statvfs};
use rustix::io::Errno;

use crate::support::appliance::{say_skipped, stderr};

/// What happens to the journal when the power goes.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// What is in memory is written first (`EXT4_GOING_FLAGS_DEFAULT`).
    AfterSync = 0,
    /// The journal is written first (`EXT4_GOING_FLAGS_LOGFLUSH`).
    AfterJournal = 1,
    /// Nothing is written any more (`EXT4_GOING_FLAGS_NOLOGFLUSH`): the power is gone.
    Now = 2,
}

/// `EXT4_IOC_SHUTDOWN` is `_IOR('X', 125, __u32)`. Perl is part of every Debian.
const SHUTDOWN: &str = r#"
open(my $root, "<", $ARGV[0]) or die "open: $!\n";
ioctl($root, 0x8004587d, pack("L", $ARGV[1])) or die "EXT4_IOC_SHUTDOWN: $!\n";
"#;

/// A file system in a file. It is unmounted and removed when this is dropped, and also when the tests are killed.
pub struct LoopDisk {
    directory: PathBuf,
    _guard: Guard,
}

impl LoopDisk {
    /// Makes and mounts one of this size in mebibytes; if that is not possible here, says why and gives none.
    pub fn make(size_mb: u64) -> Option<LoopDisk> {
        LoopDisk::try_make(size_mb).map_err(|reason| say_skipped(&reason)).ok()
    }

    fn try_make(size_mb: u64) -> Result<LoopDisk, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root may mount a file system".into());
        }
        run(Command::new("losetup").arg("--find")).map_err(|reason| format!("no loop device is free: {reason}"))?;
        let directory = tempfile::Builder::new().prefix("quintet-disk-").tempdir().unwrap().keep();
        let disk = LoopDisk { _guard: Guard::new(&directory), directory };
        std::fs::create_dir(disk.path()).unwrap();
        File::create(disk.image()).unwrap().set_len(size_mb << 20).unwrap();
        // Nothing is held back for root: "full" means full.
        run(Command::new("mkfs.ext4").args(["-q", "-m", "0", "-E", "lazy_itable_init=0"]).arg(disk.image()))
            .map_err(|reason| format!("mkfs.ext4 (e2fsprogs) does not work: {reason}"))?;
        disk.try_mount().map_err(|reason| format!("an ext4 on a loop device cannot be mounted: {reason}"))?;
        Ok(disk)
    }

    /// Where it is mounted.
    pub fn path(&self) -> PathBuf {
        self.directory.join("mounted")
    }

    /// A directory beside it, for what must not be on it.
    pub fn beside(&self) -> &Path {
        &self.directory
    }

    /// Cuts the power: from now on every write and sync fails, and what was not on the disk never gets there.
    pub fn cut_power(&self, cut: Cut) {
        run(Command::new("perl").args(["-e", SHUTDOWN]).arg(self.path()).arg((cut as u32).to_string())).unwrap();
    }

    /// Unmounts it and mounts it again, as a boot does: the journal is replayed. Nothing may have files open on it.
    pub fn remount(&self) {
        self.unmount();
        self.try_mount().unwrap();
    }

    /// Unmounts it. Nothing may have files open on it.
    pub fn unmount(&self) {
        run(Command::new("umount").arg(self.path())).unwrap();
    }

    /// Whether the kernel still has it, mounted anywhere.
    pub fn is_attached(&self) -> bool {
        let output = Command::new("losetup").arg("--associated").arg(self.image()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        !output.stdout.is_empty()
    }

    /// Free space for everybody, in bytes.
    pub fn free_bytes(&self) -> u64 {
        let found = statvfs(self.path()).unwrap();
        found.f_bavail * found.f_frsize
    }

    fn image(&self) -> PathBuf {
        self.directory.join("image")
    }

    /// The loop device is found and freed by the kernel together with the mount.
    fn try_mount(&self) -> Result<(), String> {
        run(Command::new("mount").args(["-t", "ext4", "-o", "loop"]).arg(self.image()).arg(self.path()))
    }
}

/// Runs a tool to its end.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{program}: {}", stderr(&output).trim())) }
}

/// Unmounts and removes: a shell that waits until the tests let go of it, however they end.
struct Guard(Child);

impl Guard {
    fn new(directory: &Path) -> Guard {
        let script = r#"cat >/dev/null; ! mountpoint -q "$1/mounted" || umount -l "$1/mounted"; rm -rf "$1""#;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script, "guard"]).arg(directory).stdin(Stdio::piped()).stdout(Stdio::null());
        Guard(shell.spawn().unwrap())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A file that takes up room.
pub struct Ballast<'a> {
    disk: &'a LoopDisk,
    file: File,
}

impl Ballast<'_> {
    /// An empty one.
    pub fn new(disk: &LoopDisk) -> Ballast<'_> {
        Ballast { disk, file: File::create(disk.path().join("ballast")).unwrap() }
    }

    /// Grows or shrinks until so many bytes are free, give or take what the file system needs for itself.
    pub fn leave(&self, free_bytes: u64) {
        let free = self.disk.free_bytes();
        if free < free_bytes {
            ftruncate(&self.file, self.size().saturating_sub(free_bytes - free)).unwrap();
        } else {
            self.grow(free - free_bytes).unwrap();
        }
    }

    /// Takes every last block.
    pub fn leave_nothing(&self) {
        for step in [64 << 20, 1 << 20, 64 << 10, 4 << 10] {
            while self.grow(step).is_ok() {}
        }
    }

    /// Gives everything back.
    pub fn release(&self) {
        ftruncate(&self.file, 0).unwrap();
    }

    /// Takes so many bytes at once: blocks are given out, nothing is written.
    fn grow(&self, bytes: u64) -> Result<(), Errno> {
        fallocate(&self.file, FallocateFlags::empty(), self.size(), bytes.max(1))
    }

    fn size(&self) -> u64 {
        self.file.metadata().unwrap().len()
    }
}

#[test]
fn the_disk_forgets_what_was_not_synced_and_nothing_else() {
    let Some(disk) = LoopDisk::make(64) else { return };
    let read = |name: &str| {
        let mut text = String::new();
        File::open(disk.path().join(name)).and_then(|mut file| file.read_to_string(&mut text)).map(|_| text).ok()
    };
    let mut synced = File::create(disk.path().join("synced")).unwrap();
    synced.write_all(b"stays").unwrap();
    synced.sync_all().unwrap();
    std::fs::write(disk.path().join("unsynced"), "goes").unwrap();
    disk.cut_power(Cut::Now);
    assert!(synced.write_all(b"!").and_then(|()| synced.sync_all()).is_err(), "the power is gone");
    drop(synced);
    disk.remount();
    assert_eq!(read("synced").as_deref(), Some("stays"));
    assert_ne!(read("unsynced").as_deref(), Some("goes"));
}

#[test]
fn ballast_leaves_what_it_is_told() {
    let Some(disk) = LoopDisk::make(64) else { return };
    let ballast = Ballast::new(&disk);
    for free_mb in [20, 5, 30, 1] {
        ballast.leave(free_mb << 20);
        let left = disk.free_bytes();
        assert!(left.abs_diff(free_mb << 20) <= 1 << 20, "{left} bytes are free, not {free_mb} MiB");
    }
    ballast.leave_nothing();
    assert!(std::fs::write(disk.path().join("more"), [0; 4096]).is_err());
    ballast.release();
    assert!(disk.free_bytes() > 40 << 20);
}
