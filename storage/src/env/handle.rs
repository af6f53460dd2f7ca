//! File handles: what tells a file from its copy.
//!
//! A path can be taken over by a copy and an inode number comes back after `rm` and `cp`; a handle
//! (name_to_handle_at(2)) carries the inode's generation as well, and with the file system's id it names one file for
//! as long as it exists.
#![expect(unsafe_code, reason = "name_to_handle_at has no safe wrapper in the crates we use")]

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::hex::hexadecimal;

/// The most bytes a handle may have (MAX_HANDLE_SZ in the kernel).
const HANDLE_BYTES_MAX: usize = 128;

/// XFS_SUPER_MAGIC of linux/magic.h.
const XFS_MAGIC: rustix::fs::FsWord = 0x5846_5342;

/// The kernel's `struct file_handle` with room for any handle.
#[repr(C)]
struct RawHandle {
    handle_bytes: libc::c_uint,
    handle_type: libc::c_int,
    f_handle: [u8; HANDLE_BYTES_MAX],
}

/// Whether the file system that holds `path` can tell a file from its copy. Where it cannot, every start treats the
/// directory as a copy, which takes longer.
///
/// # Errors
/// The operating system refused.
pub fn has_file_handles(path: &Path) -> io::Result<bool> {
    Ok(handle_of(path)?.is_some())
}

/// One file for as long as it exists, as text: the file system's id, the handle's type, its bytes.
/// `None` where the file system has no handles.
pub(crate) fn handle_of(path: &Path) -> io::Result<Option<String>> {
    // XFS makes its id of the device's number, which another boot may change; its inodes' generations are random.
    let is_xfs = rustix::fs::statfs(path)?.f_type == XFS_MAGIC;
    let file_system = if is_xfs { XFS_MAGIC as u64 } else { rustix::fs::statvfs(path)?.f_fsid };
    let name = CString::new(path.as_os_str().as_bytes())?;
    let mut raw =
        RawHandle { handle_bytes: HANDLE_BYTES_MAX as libc::c_uint, handle_type: 0, f_handle: [0; HANDLE_BYTES_MAX] };
    let mut mount = MaybeUninit::<libc::c_int>::uninit();
    // SAFETY: `name` is a C string, `raw` is a file_handle whose header says how much room follows it, `mount` is a
    // place for an int; all live through the call, and the kernel writes nothing beyond them.
    let returned = unsafe {
        libc::name_to_handle_at(
            libc::AT_FDCWD,
            name.as_ptr(),
            (&raw mut raw).cast::<libc::file_handle>(),
            mount.as_mut_ptr(),
            0,
        )
    };
    if returned != 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::EOVERFLOW | libc::ENOSYS | libc::EPERM) => Ok(None),
            _ => Err(error),
        };
    }
    let used = raw.f_handle.get(..raw.handle_bytes as usize).unwrap_or_default();
    Ok(Some(format!("{file_system:016x}:{}:{}", raw.handle_type, hexadecimal(used))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_keeps_its_handle_and_a_copy_has_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("a"), "x").unwrap();
        let Some(first) = handle_of(&path("a")).unwrap() else {
            println!("skipped: the file system of {} has no handles", directory.path().display());
            return;
        };
        fs::rename(path("a"), path("b")).unwrap();
        fs::write(path("b"), "changed").unwrap();
        assert_eq!(handle_of(&path("b")).unwrap().as_deref(), Some(first.as_str()), "a name is not the file");
        fs::copy(path("b"), path("a")).unwrap();
        assert_ne!(handle_of(&path("a")).unwrap().as_deref(), Some(first.as_str()));
        // Inode numbers come back; handles do not.
        for _ in 0..20 {
            fs::remove_file(path("b")).unwrap();
            fs::write(path("b"), "x").unwrap();
            assert_ne!(handle_of(&path("b")).unwrap().as_deref(), Some(first.as_str()));
        }
        assert!(handle_of(&path("none")).is_err());
    }
}
