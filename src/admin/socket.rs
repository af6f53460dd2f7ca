//! The unix socket's path. The kernel takes at most 107 bytes of it; longer ones go through the data
//! directory's file descriptor.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// The socket's name in the data directory.
pub const NAME: &str = "admin.sock";

/// The longest path the kernel takes for a unix socket (108 bytes with the final zero).
const PATH_BYTES_MAX: usize = 107;

/// Calls `reach` with a path to the socket that is short enough for the kernel.
fn at_short_path<T>(data_dir: &Path, reach: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let direct = data_dir.join(NAME);
    if direct.as_os_str().len() <= PATH_BYTES_MAX {
        return reach(&direct);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(data_dir, flags, Mode::empty())?;
    reach(&PathBuf::from(format!("/proc/self/fd/{}/{NAME}", directory.as_raw_fd())))
}

/// Binds the socket, mode 0600. The caller holds the directory's lock, so a socket that lies there is a
/// dead server's and is removed.
///
/// # Errors
/// The socket cannot be bound, or something else of its name is in the way.
pub fn bind(data_dir: &Path) -> io::Result<UnixListener> {
    at_short_path(data_dir, |path| {
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path)?,
            Ok(_) => return Err(io::Error::other(format!("{NAME} is in the way and is not a socket"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    })
}

/// Connects to the socket without waiting.
///
/// # Errors
/// Nobody listens there; [`io::ErrorKind::WouldBlock`] if the listener's queue is full.
pub fn connect(data_dir: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    at_short_path(data_dir, |path| Ok(rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?))?;
    Ok(UnixStream::from(socket))
}

/// Removes the socket when the server ends.
pub fn remove(data_dir: &Path) {
    // It may be gone already; a stale socket does no harm either.
    let _ = std::fs::remove_file(data_dir.join(NAME));
}
