//! Whether a runner answers at all, and how many connections a client has to it.
//!
//! A process that has been stopped does not hang up: its socket takes calls, and nobody answers. Who asks something small
//! every second knows that, and all who wait for the same runner are told.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// How long a runner may take to say that it is there.
pub(crate) const HANG_TIME: Duration = Duration::from_secs(5);
/// Between two questions whether it is there.
pub(crate) const BEAT_TIME: Duration = Duration::from_secs(1);
/// How soon those who wait hear of a hang.
const LOOK_TIME: Duration = Duration::from_millis(200);
/// Connections of one client at once. A runner refuses a user more than 64; some are left for the same user's commands.
const CONNECTIONS_MAX: usize = 48;
/// How long a call waits for others of the same client to end.
const TURN_PATIENCE: Duration = Duration::from_secs(30);

/// What the clones of a client share.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    is_hung: AtomicBool,
    connections: Mutex<usize>,
    ended: Condvar,
}

/// A connection that counts, for as long as this lives.
pub(crate) struct Turn<'a>(&'a Pulse);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.ended.notify_one();
    }
}

impl Pulse {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_hung(&self) -> bool {
        self.is_hung.load(Ordering::SeqCst)
    }

    pub fn note(&self, is_hung: bool) {
        if self.is_hung.swap(is_hung, Ordering::SeqCst) != is_hung {
            tracing::warn!(is_hung, "whether the runner answers has changed");
        }
    }

    fn check(&self) -> io::Result<()> {
        if self.is_hung() { Err(io::Error::new(io::ErrorKind::TimedOut, "it hangs")) } else { Ok(()) }
    }

    /// Waits for one's turn to connect. Root's connections are not counted by a runner, and not here.
    pub fn turn(&self) -> io::Result<Turn<'_>> {
        let most = if rustix::process::geteuid().is_root() { usize::MAX } else { CONNECTIONS_MAX };
        let until = Instant::now() + TURN_PATIENCE;
        let mut count = self.count();
        loop {
            self.check()?;
            if *count < most {
                *count += 1;
                return Ok(Turn(self));
            }
            if Instant::now() > until {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "too many calls are under way"));
            }
            (count, _) = self.ended.wait_timeout(count, LOOK_TIME).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until there is something to read, the runner hangs, or the patience is over.
    pub fn wait(&self, socket: &UnixStream, patience: Duration) -> io::Result<()> {
        let until = Instant::now() + patience;
        while !is_readable(socket)? {
            self.check()?;
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}

/// Whether there is something to read, or the end, within a moment.
pub(crate) fn is_readable(socket: &UnixStream) -> io::Result<bool> {
    let moment = Timespec { tv_sec: 0, tv_nsec: LOOK_TIME.subsec_nanos().into() };
    match rustix::event::poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&moment)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Connects to a socket, and writes to it later, with so much patience each time: one that nobody takes connections from
/// keeps all who come after the first hundred waiting.
pub(crate) fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Err(Errno::INTR) => {}
            connected => return Ok(connected.map(|()| UnixStream::from(socket))?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_hears_of_a_hang_and_of_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let pulse = Pulse::default();
        let socket = connect(&path, HANG_TIME).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pulse.wait(&socket, Duration::from_secs(3600)));
            pulse.note(true);
            assert_eq!(waiting.join().unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
        assert!(pulse.turn().is_err());
        pulse.note(false);
        let turn = pulse.turn().unwrap();
        assert_eq!(*pulse.count(), 1);
        drop(turn);
        assert_eq!(*pulse.count(), 0);
        std::io::Write::write_all(&mut listener.accept().unwrap().0, b"x").unwrap();
        pulse.wait(&socket, Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn a_socket_that_takes_nobody_in_keeps_nobody_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut held = Vec::new();
        let refused = loop {
            match connect(&path, Duration::from_millis(10)) {
                Ok(socket) => held.push(socket),
                Err(error) => break error,
            }
            assert!(held.len() < 10_000, "its queue has no end");
        };
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    }
}
