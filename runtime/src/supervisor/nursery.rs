//! The process that makes supervisors. To start a program, to move it to another control group (for which the kernel stops
//! all forks on the machine for a while) and to take the mounts of the host out of its sight takes longer than a container:
//! that is done once, and each supervisor is a copy of what came of it.

use std::io;
use std::os::unix::net::UnixStream;

use super::order::{Nursed, ORDER_BYTES_MAX, Preparation};
use super::rootfs;
use crate::cgroup::{Hierarchies, SUPERVISORS};
use crate::ground::Ground;
use crate::kernel::{self, Forked};
use crate::protocol;

/// Makes supervisors until the runner is gone. In each of them `supervise` is called with the socket by which it hears the
/// runner; then this returns there as well.
pub(super) fn nurse(
    preparation: &Preparation,
    runner: UnixStream,
    supervise: impl Fn(&UnixStream, &Hierarchies) -> io::Result<()>,
) -> io::Result<()> {
    // Its own session: what is sent to the runner's is not meant for it.
    let _ = rustix::process::setsid();
    let mut hierarchies = Hierarchies::find().map_err(io::Error::other)?;
    hierarchies.keep()?;
    let ground = Ground::hold(&preparation.directory, &preparation.group)?;
    let done = hierarchies
        .leave_unit(&format!("{}/{SUPERVISORS}", preparation.group))
        .and_then(|()| rootfs::let_go_of_host(&preparation.directory))
        .and_then(|()| match serve(runner)? {
            None => Ok(()),
            Some(own) => {
                let _ = rustix::process::setsid();
                ground.hold_too()?;
                supervise(&own, &hierarchies)
            }
        });
    ground.leave(&hierarchies).and(done)
}

/// Makes supervisors until the runner is gone. In each of them it returns the socket of that one.
fn serve(runner: UnixStream) -> io::Result<Option<UnixStream>> {
    while let Some(((), own)) = protocol::receive(&runner, ORDER_BYTES_MAX)? {
        let own = UnixStream::from(own.ok_or_else(|| io::Error::other("a supervisor has nobody to speak to"))?);
        match kernel::fork_sibling() {
            // The runner has a child whose id nobody else can tell it, whatever becomes of this process.
            Ok(Forked::Child) => {
                let nursed: Nursed = Ok(rustix::process::getpid().as_raw_nonzero().get());
                protocol::send(&own, &nursed, None)?;
                return Ok(Some(own));
            }
            Ok(Forked::Parent(_)) => {}
            // It may be another time. The runner may have given it up.
            Err(error) => {
                let nursed: Nursed = Err(error.to_string());
                let _ = protocol::send(&own, &nursed, None);
            }
        }
    }
    Ok(None)
}
