//! What the kernel knows of a TCP connection: how much of what was written its other end has not acknowledged.
#![expect(unsafe_code, reason = "SIOCOUTQ has no safe wrapper in the crates we use")]

use std::ffi::c_int;
use std::os::fd::AsFd;

use rustix::ioctl::{Getter, Opcode, ioctl};

/// `SIOCOUTQ` of tcp(7): the same number as `TIOCOUTQ`, on all that Linux runs on here.
const SIOCOUTQ: Opcode = 0x5411;

/// How many bytes lie in a TCP socket's send queue, sent or not, that the other end has not acknowledged; `None` if the
/// kernel does not tell, for the socket listens or has no connection.
pub(super) fn unacknowledged_bytes(socket: impl AsFd) -> Option<u32> {
    // SAFETY: the kernel writes one int for this request, and nothing else.
    let queued = unsafe { ioctl(socket, Getter::<SIOCOUTQ, c_int>::new()) };
    queued.ok().and_then(|bytes| u32::try_from(bytes).ok())
}
