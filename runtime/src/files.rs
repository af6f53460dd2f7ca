//! The files of one container's directory, which its supervisor writes and the runner reads.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::image::open_directory;
use crate::model::{Outcome, Sample};
use crate::pulse::connect;

/// What is reserved for an outcome: one block.
const OUTCOME_BYTES: u64 = 4096;

/// One container's directory.
#[derive(Clone, Debug)]
pub(crate) struct Files(PathBuf);

impl Files {
    pub fn new(directory: PathBuf) -> Files {
        Files(directory)
    }

    pub fn directory(&self) -> &Path {
        &self.0
    }

    /// Where streams are kept.
    pub fn streams(&self) -> PathBuf {
        self.0.join("streams")
    }

    /// Where a supervisor writes what it has to complain about.
    pub fn complaints_writer(&self) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(self.0.join("supervisor.log"))
    }

    /// The file whose lock shows that a supervisor lives. The lock is one of `fcntl`: it goes with the process that took
    /// it, and the processes that it makes do not have it.
    pub fn lock(&self) -> io::Result<File> {
        let path = self.0.join("lock");
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
    }

    /// Takes the lock if nobody has it.
    pub fn try_lock(&self) -> io::Result<Option<File>> {
        let file = self.lock()?;
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until nobody has the lock, and takes it.
    pub fn wait_for_lock(&self) -> io::Result<File> {
        let file = self.lock()?;
        loop {
            match rustix::fs::fcntl_lock(&file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                locked => {
                    locked?;
                    return Ok(file);
                }
            }
        }
    }

    /// The socket of the supervisor. Its path goes through an open directory: a socket's path is short, and this one
    /// may be long.
    fn socket(directory: &OwnedFd) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/control", directory.as_raw_fd()))
    }

    pub fn listen(&self) -> io::Result<UnixListener> {
        UnixListener::bind(Files::socket(&open_directory(&self.0)?))
    }

    /// Connects to the supervisor, which may take so long to let one in, and to answer.
    pub fn connect(&self, patience: Duration) -> io::Result<UnixStream> {
        let socket = connect(&Files::socket(&open_directory(&self.0)?), patience)?;
        socket.set_read_timeout(Some(patience))?;
        Ok(socket)
    }

    /// The outcome, if there is one.
    pub fn outcome(&self) -> io::Result<Option<Outcome>> {
        match std::fs::read(self.0.join("exit.json")) {
            Ok(content) => Ok(Some(serde_json::from_slice(&content)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the room that an outcome needs, so that it can be written to a disk that is full by then. Where that does
    /// not work, it is written as well as it can be.
    pub fn reserve_outcome(&self) {
        let unfinished = self.0.join("exit.json.new");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(unfinished);
        let flags = rustix::fs::FallocateFlags::empty();
        let reserved = file.and_then(|file| Ok(rustix::fs::fallocate(&file, flags, 0, OUTCOME_BYTES)?));
        if let Err(error) = reserved {
            tracing::debug!(%error, "no room is reserved for an outcome");
        }
    }

    /// Writes the outcome. It is on the disk when this returns, under one name or the other, and whole or not at all.
    pub fn put_outcome(&self, outcome: &Outcome) -> io::Result<()> {
        let unfinished = self.0.join("exit.json.new");
        // Not emptied first: the room it has is kept for this.
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&unfinished)?;
        let content = serde_json::to_vec(outcome)?;
        file.write_all(&content)?;
        file.set_len(content.len() as u64)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, self.0.join("exit.json"))
    }

    /// The outcome after its supervisor has gone, and perhaps with all the machine: then its content is on the disk, and
    /// its new name may not be.
    pub fn outcome_found(&self) -> io::Result<Option<Outcome>> {
        let unfinished = || std::fs::read(self.0.join("exit.json.new")).ok();
        Ok(self.outcome()?.or_else(|| serde_json::from_slice(&unfinished()?).ok()))
    }

    /// Notes the name of its control group: it has one before it is known which container it is to be.
    pub fn put_group(&self, name: &str) -> io::Result<()> {
        std::fs::write(self.0.join("group"), name)
    }

    /// The name of its control group; none if nothing was started.
    pub fn group(&self) -> Option<String> {
        std::fs::read_to_string(self.0.join("group")).ok().filter(|name| !name.is_empty() && !name.contains('/'))
    }

    /// Notes when the command was executed, for whoever has to say how a container ended whose supervisor cannot.
    pub fn put_start(&self, at_micros: i64) -> io::Result<()> {
        std::fs::write(self.0.join("started"), at_micros.to_string())
    }

    /// When the command was executed, if that was noted.
    pub fn start(&self) -> Option<i64> {
        std::fs::read_to_string(self.0.join("started")).ok()?.parse().ok()
    }

    /// Where samples are added.
    pub fn samples_writer(&self) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(self.0.join("samples"))
    }

    /// Samples from a number on. One that is being written is not there yet.
    pub fn samples(&self, from: usize) -> io::Result<Vec<Sample>> {
        let file = match File::open(self.0.join("samples")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let lines = io::BufReader::new(file).lines().skip(from);
        lines.map_while(|line| serde_json::from_str(&line.ok()?).ok()).map(Ok).collect()
    }

    /// Removes what only a running container needs.
    pub fn remove_working_files(&self) -> io::Result<()> {
        match std::fs::remove_file(self.0.join("control")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine may go down between the writing of an outcome and its new name.
    #[test]
    fn an_outcome_is_found_under_either_name_and_whole() {
        struct Still;
        impl crate::WallClock for Still {
            fn now_micros(&self) -> i64 {
                7
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let files = Files::new(directory.path().to_owned());
        files.reserve_outcome();
        assert_eq!(files.outcome_found().unwrap(), None, "room is not an outcome");
        let outcome = crate::supervisor::start_failed("it is a test".into(), &Still);
        files.put_outcome(&outcome).unwrap();
        assert_eq!(files.outcome().unwrap().as_ref(), Some(&outcome));
        std::fs::rename(directory.path().join("exit.json"), directory.path().join("exit.json.new")).unwrap();
        assert_eq!((files.outcome().unwrap(), files.outcome_found().unwrap()), (None, Some(outcome)));
        let content = std::fs::read(directory.path().join("exit.json.new")).unwrap();
        std::fs::write(directory.path().join("exit.json.new"), &content[..content.len() - 3]).unwrap();
        assert_eq!(files.outcome_found().unwrap(), None, "half an outcome is none");
    }
}
