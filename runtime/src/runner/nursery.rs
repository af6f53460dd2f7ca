//! The runner's side of the process that makes supervisors, and of each of them.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, WaitOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::watcher::spawn_watcher;
use crate::kernel;
use crate::protocol;
use crate::supervisor::{Duty, Nursed, ORDER_BYTES_MAX, Preparation};

/// How long a copy may take to be made. Whoever takes longer is given up, and another one asked, once.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the first one may take, with all that they have in common: a program is started, and moves between control
/// groups when the kernel lets it.
const FIRST_PATIENCE: Duration = Duration::from_secs(20);
/// For how long it is not tried again where that took too long: all who wait for one would wait one after the other.
const GIVEN_UP_FOR: Duration = Duration::from_secs(5);

/// Who has ended for so long is waited for by nobody.
const STRAY_AFTER: Duration = Duration::from_secs(5);

/// The process that makes supervisors, and whether it does.
#[derive(Default)]
pub(super) struct Nursing {
    nursery: Option<Nursery>,
    given_up: Option<(Instant, String)>,
}

impl Nursing {
    /// The process, if there is one.
    pub fn process(&self) -> Option<Pid> {
        self.nursery.as_ref().map(|nursery| Pid::from_child(&nursery.child))
    }

    /// Has a supervisor made, by another process if the one that is there does not answer; `start` starts one.
    pub fn supervisor(&mut self, start: impl FnOnce() -> io::Result<Nursery>) -> io::Result<Supervisor> {
        if let Some((_, reason)) = self.given_up.as_ref().filter(|(at, _)| at.elapsed() < GIVEN_UP_FOR) {
            return Err(io::Error::other(reason.clone()));
        }
        self.given_up = None;
        if let Some(nursery) = self.nursery.take() {
            match nursery.make(PATIENCE) {
                // It was killed, most likely.
                Err(Unmade::Silent(error)) => {
                    tracing::warn!(%error, "no supervisor is made; another process is to make it");
                    nursery.end();
                }
                made => {
                    self.nursery = Some(nursery);
                    return made.map_err(io::Error::from);
                }
            }
        }
        let nursery = start()?;
        let made = nursery.make(FIRST_PATIENCE);
        match &made {
            Err(Unmade::Silent(error)) => {
                // One that has ended has cost no time: it may have been killed, and the next one makes supervisors.
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
                    self.given_up = Some((Instant::now(), error.to_string()));
                }
                nursery.end();
            }
            _ => self.nursery = Some(nursery),
        }
        made.map_err(io::Error::from)
    }
}

/// Children that ended before anybody knew of them: a supervisor that is killed while it is made cannot say who it was.
#[derive(Default)]
pub(super) struct Strays {
    seen: Option<(Pid, Instant)>,
}

impl Strays {
    /// Waits for one that has ended; `nursery` is somebody's. Whoever is waited for by others does not stay for long.
    pub fn let_go(&mut self, nursery: Option<Pid>) -> io::Result<()> {
        let found = kernel::unwaited_child()?.filter(|found| Some(*found) != nursery);
        match (found, self.seen) {
            (Some(found), Some((seen, since))) if found == seen => {
                if since.elapsed() > STRAY_AFTER {
                    rustix::process::waitpid(Some(found), WaitOptions::NOHANG)?;
                    self.seen = None;
                }
            }
            _ => self.seen = found.map(|found| (found, Instant::now())),
        }
        Ok(())
    }
}

/// Why there is no supervisor.
enum Unmade {
    /// The kernel makes none at this moment. Who was asked is as good as before.
    Refused(String),
    /// Who was asked does not answer.
    Silent(io::Error),
}

impl From<Unmade> for io::Error {
    fn from(unmade: Unmade) -> io::Error {
        match unmade {
            Unmade::Refused(reason) => io::Error::other(reason),
            Unmade::Silent(error) => error,
        }
    }
}

/// A process that makes supervisors, for as long as this is there.
pub(super) struct Nursery {
    child: Child,
    socket: UnixStream,
}

impl Nursery {
    /// Starts one by this command.
    pub fn start(mut command: Command, preparation: Preparation) -> io::Result<Nursery> {
        let (socket, theirs) = UnixStream::pair()?;
        let child = command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn()?;
        let nursery = Nursery { child, socket };
        match protocol::send(&nursery.socket, &Duty::Nurse(preparation), None) {
            Ok(()) => Ok(nursery),
            Err(error) => {
                nursery.end();
                Err(error)
            }
        }
    }

    /// Has a supervisor made, which waits for its order.
    fn make(&self, patience: Duration) -> Result<Supervisor, Unmade> {
        let (socket, theirs) = UnixStream::pair().map_err(|error| Unmade::Refused(error.to_string()))?;
        let asked = protocol::send(&self.socket, &(), Some(&theirs.into()));
        let heard = asked.and_then(|()| socket.set_read_timeout(Some(patience))).and_then(|()| nursed(&socket));
        match heard {
            Ok(Some(Ok(pid))) => {
                socket.set_read_timeout(None).map_err(|error| Unmade::Refused(error.to_string()))?;
                Ok(Supervisor { pid, socket, has_ended: false })
            }
            Ok(Some(Err(reason))) => Err(Unmade::Refused(reason)),
            Ok(None) => Err(Unmade::Silent(io::ErrorKind::UnexpectedEof.into())),
            Err(error) => {
                // It may be made yet, and is to be waited for when it finds that it is not needed.
                let late = move || {
                    if let (Ok(()), Ok(Some(Ok(pid)))) = (socket.set_read_timeout(None), nursed(&socket)) {
                        Supervisor { pid, socket, has_ended: false }.dismiss();
                    }
                };
                if let Err(error) = spawn_watcher(late) {
                    tracing::warn!(%error, "nobody waits for a supervisor that may come late");
                }
                Err(Unmade::Silent(error))
            }
        }
    }

    /// Ends it. What it made goes on; nobody waits until it has gone, which may take as long as a disk.
    fn end(self) {
        let Nursery { mut child, socket } = self;
        drop(socket);
        let _ = child.kill();
        if let Err(error) = spawn_watcher(move || drop(child.wait())) {
            tracing::warn!(%error, "nobody waits for a process that made supervisors");
        }
    }
}

/// What a supervisor that is being made says first, or the one who was to make it.
fn nursed(socket: &UnixStream) -> io::Result<Option<Result<Pid, String>>> {
    let Some((nursed, _)) = protocol::receive::<Nursed>(socket, ORDER_BYTES_MAX)? else { return Ok(None) };
    match nursed.map(Pid::from_raw) {
        Ok(Some(pid)) => Ok(Some(Ok(pid))),
        Ok(None) => Err(io::ErrorKind::InvalidData.into()),
        Err(reason) => Ok(Some(Err(reason))),
    }
}

/// A supervisor: a child of this process, although another one has made it.
pub(super) struct Supervisor {
    pid: Pid,
    socket: UnixStream,
    has_ended: bool,
}

impl Supervisor {
    /// Tells it something.
    pub fn tell(&self, what: &impl Serialize) -> io::Result<()> {
        protocol::send(&self.socket, what, None)
    }

    /// What it says next; none if it has ended. That is seen by the process: what it has begun to make may have a copy of
    /// its end of the socket, and outlive it.
    pub fn hear<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        if !self.has_ended {
            let process = rustix::process::pidfd_open(self.pid, PidfdFlags::empty())?;
            let mut waited = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&process, PollFlags::IN)];
            while let Err(error) = rustix::event::poll(&mut waited, None) {
                if error != rustix::io::Errno::INTR {
                    return Err(error.into());
                }
            }
            // It may have said something before.
            if waited.first().is_some_and(|socket| socket.revents().is_empty()) {
                return Ok(None);
            }
        }
        Ok(protocol::receive(&self.socket, ORDER_BYTES_MAX)?.map(|(heard, _)| heard))
    }

    /// Whether it is there.
    pub fn lives(&mut self) -> bool {
        if !self.has_ended {
            self.has_ended = !matches!(rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG), Ok(None));
        }
        !self.has_ended
    }

    /// It is not needed: it ends, and is waited for.
    pub fn dismiss(mut self) {
        let wait = move || {
            if let Ok((none, _)) = UnixStream::pair() {
                // It sees the end of its input.
                self.socket = none;
            }
            let _ = self.wait();
        };
        if let Err(error) = spawn_watcher(wait) {
            tracing::warn!(%error, "nobody waits for a supervisor that is not needed");
        }
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> io::Result<()> {
        while !self.has_ended {
            match rustix::process::waitpid(Some(self.pid), WaitOptions::empty()) {
                Err(rustix::io::Errno::INTR) => {}
                waited => {
                    self.has_ended = true;
                    waited?;
                }
            }
        }
        Ok(())
    }
}
