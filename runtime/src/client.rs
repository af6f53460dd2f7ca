//! The client of the runner: what `src/runs` and the command line hold in their hands.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::FileType;

use crate::description::{ContainerDescription, ContainerId};
use crate::digest::Digest;
use crate::image::open_of_layout;
use crate::model::{
    Bookmark, ContainerStatus, DiskRoom, ImageInfo, LayerInfo, LogPage, LogSpan, Pruned, Sample, Stream,
};
use crate::protocol::{self, Action, Answer, Call, EndedSince, Hello, ImportTerms, Refusal, Reply, Request};
use crate::pulse::{self, BEAT_TIME, HANG_TIME, Pulse, Turn};

/// A runner, by its socket. Each call makes a connection of its own and blocks until it is answered: a value can be
/// used from any number of threads at once, and a runner that was restarted is simply there again.
#[derive(Clone, Debug)]
pub struct Runner {
    socket: PathBuf,
    reserve_bytes: Option<u64>,
    pulse: Arc<Pulse>,
}

/// A call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// Nobody answers: no runner, or it went away. What was asked for may have been done.
    #[error("the runner at {socket} does not answer: {source}")]
    Unavailable {
        /// Its socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It answers what was not asked.
    #[error("the runner answered something else than was asked")]
    Confused,
}

/// What a call waits for its answer beyond the time that it asks to wait: unpacking the largest images included.
const PATIENCE: Duration = Duration::from_secs(1800);

/// How long an answer that has begun may stand still.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

macro_rules! expect {
    ($reply:expr, $variant:path) => {
        match $reply {
            $variant(value) => Ok(value),
            _ => Err(RunnerError::Confused),
        }
    };
}

impl Runner {
    /// The runner at this socket. Nothing is done yet.
    #[must_use]
    pub fn new(socket: impl Into<PathBuf>) -> Runner {
        Runner { socket: socket.into(), reserve_bytes: None, pulse: Arc::default() }
    }

    /// Asks the runner every second whether it is there, until `is_over` says so; that is asked several times a second.
    /// While this goes on, a runner that has not answered for five seconds is known to hang: calls of this value and its
    /// clones end with [`RunnerError::Unavailable`], those under way too, until it answers again. Blocks.
    pub fn keep_pulse(&self, is_over: impl Fn() -> bool) {
        while !is_over() {
            match self.beat(&is_over) {
                // Nobody takes connections from the socket any more, though there is one.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.pulse.note(true),
                // It is gone, or hung up: whoever calls finds that out.
                _ => {
                    self.pulse.note(false);
                    std::thread::sleep(BEAT_TIME / 5);
                }
            }
        }
        self.pulse.note(false);
    }

    /// Asks on one connection for as long as that is there.
    fn beat(&self, is_over: &impl Fn() -> bool) -> io::Result<()> {
        let socket = self.reach()?;
        loop {
            protocol::send(&socket, &Call { protocol: protocol::VERSION, request: Request::Hello }, None)?;
            let asked = Instant::now();
            while !pulse::is_readable(&socket)? {
                if is_over() {
                    return Ok(());
                }
                if asked.elapsed() > HANG_TIME {
                    self.pulse.note(true);
                }
            }
            if protocol::receive::<Answer>(&socket, protocol::ANSWER_BYTES_MAX)?.is_none() {
                return Ok(());
            }
            self.pulse.note(false);
            let until = Instant::now() + BEAT_TIME;
            while Instant::now() < until {
                if is_over() {
                    return Ok(());
                }
                std::thread::sleep(BEAT_TIME / 5);
            }
        }
    }

    /// Whether it is known to hang: nothing is known unless somebody keeps [its pulse](Runner::keep_pulse).
    #[must_use]
    pub fn is_hung(&self) -> bool {
        self.pulse.is_hung()
    }

    /// The same, which has the runner leave so many bytes free on its disk, in place of the runner's own reserve.
    #[must_use]
    pub fn with_reserve(self, bytes: u64) -> Runner {
        Runner { reserve_bytes: Some(bytes), ..self }
    }

    /// Its socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether anybody is there: who calls will be heard.
    ///
    /// # Errors
    /// [`RunnerError::Unavailable`]: why nobody is.
    pub fn find(&self) -> Result<(), RunnerError> {
        self.connect().map(|_| ())
    }

    /// Who is there, and what the machine offers. A runner that hangs is not waited for.
    pub fn hello(&self) -> Result<Hello, RunnerError> {
        expect!(self.ask(&self.connect()?, HANG_TIME, Request::Hello, None)?, Reply::Hello)
    }

    /// Starts a container and answers once its command was executed. The name must be new: a second call with the same
    /// name is refused ([`Refusal::NameTaken`]) whatever became of the first, so that a caller who does not know
    /// whether the first call arrived repeats it, or asks for the [`status`](Runner::status), without harm.
    ///
    /// [`Refusal::StartFailed`]: the container exists and has ended with that reason. [`Refusal::Invalid`],
    /// [`Refusal::NoSuchImage`], [`Refusal::NoRoom`]: it does not exist.
    pub fn start(&self, id: &ContainerId, description: &ContainerDescription) -> Result<ContainerStatus, RunnerError> {
        let description = Box::new(description.clone());
        let request = Request::Start { id: id.clone(), description, reserve_bytes: self.reserve_bytes };
        expect!(self.call(request, None)?, Reply::Status).map(|status| *status)
    }

    /// How many containers more, with writable layers of this size, the runner's disk has room for.
    pub fn room(&self, scratch_bytes: u64) -> Result<DiskRoom, RunnerError> {
        let request = Request::Room { scratch_bytes, reserve_bytes: self.reserve_bytes };
        expect!(self.call(request, None)?, Reply::Room)
    }

    /// All containers that were not removed, sorted by name.
    pub fn list(&self) -> Result<Vec<ContainerStatus>, RunnerError> {
        expect!(self.call(Request::List, None)?, Reply::List)
    }

    /// One container.
    pub fn status(&self, id: &ContainerId) -> Result<ContainerStatus, RunnerError> {
        expect!(self.call(Request::Status { id: id.clone() }, None)?, Reply::Status).map(|status| *status)
    }

    /// One container, once it has ended or the time (a minute at most) is over.
    pub fn wait(&self, id: &ContainerId, at_most: Duration) -> Result<ContainerStatus, RunnerError> {
        let request = Request::Wait { id: id.clone(), at_most_millis: millis(at_most) };
        expect!(self.call(request, None)?, Reply::Status).map(|status| *status)
    }

    /// The containers that have ended since the cursor of the answer before (0 at first), as soon as there is one or
    /// the time (a minute at most) is over. One thread that calls this in a loop hears of every end at once.
    pub fn ended(&self, after: u64, at_most: Duration) -> Result<EndedSince, RunnerError> {
        expect!(self.call(Request::Ended { after, at_most_millis: millis(at_most) }, None)?, Reply::Ended)
    }

    /// Pauses, resumes, stops, kills or signals a container. [`Refusal::WrongState`] if it does not fit its state:
    /// pause, stop and signal need running, resume paused, kill running or paused.
    pub fn control(&self, id: &ContainerId, action: Action) -> Result<(), RunnerError> {
        self.done(Request::Control { id: id.clone(), action })
    }

    /// Lines of a stream, from a number on. Works while the container runs and after it has ended.
    pub fn log(
        &self,
        id: &ContainerId,
        stream: Stream,
        from_line: u64,
        lines_max: u32,
    ) -> Result<LogPage, RunnerError> {
        self.log_on(id, stream, (from_line, None), lines_max)
    }

    /// The same from where the page before has ended: its `next_line` and its `bookmark`.
    pub fn log_on(
        &self,
        id: &ContainerId,
        stream: Stream,
        (from_line, bookmark): (u64, Option<Bookmark>),
        lines_max: u32,
    ) -> Result<LogPage, RunnerError> {
        let request = Request::Log { id: id.clone(), stream, from_line, lines_max, bookmark };
        expect!(self.call(request, None)?, Reply::Log)
    }

    /// Where in a stream the lines are from a number on, not written before `since_micros`, and of those the last
    /// `tail`.
    pub fn log_span(
        &self,
        id: &ContainerId,
        stream: Stream,
        from_line: u64,
        since_micros: Option<i64>,
        tail: Option<u64>,
    ) -> Result<LogSpan, RunnerError> {
        let request = Request::LogSpan { id: id.clone(), stream, from_line, since_micros, tail };
        expect!(self.call(request, None)?, Reply::LogSpan)
    }

    /// What a container used: a sample each second for ten minutes, then every five, at most 3,600.
    pub fn samples(&self, id: &ContainerId, from: u32) -> Result<Vec<Sample>, RunnerError> {
        expect!(self.call(Request::Samples { id: id.clone(), from }, None)?, Reply::Samples)
    }

    /// Forgets a container that has ended, with its logs and samples.
    pub fn remove(&self, id: &ContainerId) -> Result<(), RunnerError> {
        self.done(Request::Remove { id: id.clone() })
    }

    /// Takes an image in from an open tar (OCI layout or docker-archive, plain or gzip) or an open directory (OCI
    /// layout), checks every digest, unpacks the layers that are not there yet, and gives it this name. The files of a
    /// directory are opened by this process, with its own rights and by no link. A layer may be missing from the file if
    /// [`missing_layers`](Runner::missing_layers) does not name it.
    ///
    /// `select` says which of several images, by the name the file gives it; needed where there is more than one.
    pub fn import(&self, file: OwnedFd, name: &str, select: Option<&str>) -> Result<ImageInfo, RunnerError> {
        self.import_with(file, name, select, ImportTerms::default())
    }

    /// The same, on these terms. [`Refusal::ImageTooLarge`]: it takes more than they allow. [`Refusal::NoRoomForImage`]:
    /// the disk has no room for it.
    pub fn import_with(
        &self,
        file: OwnedFd,
        name: &str,
        select: Option<&str>,
        terms: ImportTerms,
    ) -> Result<ImageInfo, RunnerError> {
        let terms = ImportTerms { reserve_bytes: terms.reserve_bytes.or(self.reserve_bytes), ..terms };
        let (name, select) = (name.to_owned(), select.map(str::to_owned));
        let found = rustix::fs::fstat(&file).map_err(|error| unreadable("it", error.into()))?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return expect!(self.call(Request::Import { name, select, terms }, Some(&file))?, Reply::Image);
        }
        let socket = self.connect()?;
        let mut reply = self.ask(&socket, PATIENCE, Request::ImportLayout { name, select, terms }, None)?;
        while let Reply::Wanted(wanted) = reply {
            let opened = open_of_layout(&file, &wanted).map_err(|error| unreadable(&wanted, error))?;
            let found = Request::LayoutFile { is_there: opened.is_some() };
            reply = self.ask(&socket, PATIENCE, found, opened.as_ref())?;
        }
        expect!(reply, Reply::Image)
    }

    /// The layers of an image, lowest first.
    pub fn image_layers(&self, image: &Digest) -> Result<Vec<LayerInfo>, RunnerError> {
        expect!(self.call(Request::ImageLayers { image: image.clone() }, None)?, Reply::Layers)
    }

    /// An image by name or digest, if it is present: imported, and all its layers unpacked.
    pub fn image(&self, reference: &str) -> Result<Option<ImageInfo>, RunnerError> {
        match self.call(Request::Image { reference: reference.to_owned() }, None) {
            Err(RunnerError::Refused(Refusal::NoSuchImage)) => Ok(None),
            answer => expect!(answer?, Reply::Image).map(Some),
        }
    }

    /// All images, sorted by digest.
    pub fn images(&self) -> Result<Vec<ImageInfo>, RunnerError> {
        expect!(self.call(Request::Images, None)?, Reply::Images)
    }

    /// Takes a name away, or with a digest the whole image. [`Refusal::ImageInUse`] if a container that has not ended
    /// needs it.
    pub fn remove_image(&self, reference: &str) -> Result<(), RunnerError> {
        self.done(Request::RemoveImage { reference: reference.to_owned() })
    }

    /// Takes away the images without a name that no container needs, and the layers that nobody has any more.
    pub fn prune_images(&self) -> Result<Pruned, RunnerError> {
        expect!(self.call(Request::PruneImages, None)?, Reply::Pruned)
    }

    /// Which of these layer blobs are not there yet.
    pub fn missing_layers(&self, blobs: &[Digest]) -> Result<Vec<Digest>, RunnerError> {
        expect!(self.call(Request::MissingLayers { blobs: blobs.to_vec() }, None)?, Reply::Digests)
    }

    fn done(&self, request: Request) -> Result<(), RunnerError> {
        match self.call(request, None)? {
            Reply::Done => Ok(()),
            _ => Err(RunnerError::Confused),
        }
    }

    fn call(&self, request: Request, passed: Option<&OwnedFd>) -> Result<Reply, RunnerError> {
        self.ask(&self.connect()?, PATIENCE, request, passed)
    }

    fn ask(
        &self,
        (_, socket): &(Turn<'_>, UnixStream),
        patience: Duration,
        request: Request,
        passed: Option<&OwnedFd>,
    ) -> Result<Reply, RunnerError> {
        let exchange = || {
            protocol::send(socket, &Call { protocol: protocol::VERSION, request }, passed)?;
            self.pulse.wait(socket, patience)?;
            let answered = protocol::receive(socket, protocol::ANSWER_BYTES_MAX)?;
            answered.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
        };
        match exchange().map_err(|source| self.unavailable(source))? {
            (Answer::Ok(reply), _) => Ok(reply),
            (Answer::Refused(refusal), _) => Err(refusal.into()),
        }
    }

    fn connect(&self) -> Result<(Turn<'_>, UnixStream), RunnerError> {
        let connected = self.pulse.turn().and_then(|turn| Ok((turn, self.reach()?)));
        connected.map_err(|source| self.unavailable(source))
    }

    /// Who may write where the socket lies may put another one there: it is told nothing unless root listens, which no
    /// one else can feign.
    fn reach(&self) -> io::Result<UnixStream> {
        let socket = pulse::connect(&self.socket, HANG_TIME)?;
        if !rustix::net::sockopt::socket_peercred(&socket)?.uid.is_root() {
            return Err(io::Error::other("whoever listens there is not root, and is told nothing"));
        }
        // That an answer has begun is waited for before.
        socket.set_read_timeout(Some(ANSWER_PATIENCE))?;
        Ok(socket)
    }

    fn unavailable(&self, source: io::Error) -> RunnerError {
        RunnerError::Unavailable { socket: self.socket.clone(), source }
    }
}

fn unreadable(file: &str, error: io::Error) -> RunnerError {
    Refusal::BadImage(format!("{}: {error}", file.escape_debug())).into()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

    use super::*;

    #[test]
    fn who_is_not_root_is_not_taken_for_a_runner_and_told_nothing() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: it needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let socket = directory.path().join("socket");
        let somebody = {
            let socket = socket.clone();
            std::thread::spawn(move || {
                // This thread alone is somebody else from here on.
                let (user, group) = (rustix::fs::Uid::from_raw(65534), rustix::fs::Gid::from_raw(65534));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(group, group, group).unwrap();
                set_thread_res_uid(user, user, user).unwrap();
                UnixListener::bind(socket).unwrap()
            })
        };
        let listener = somebody.join().unwrap();
        let refused = Runner::new(&socket).hello();
        assert!(matches!(&refused, Err(RunnerError::Unavailable { .. })), "{refused:?}");
        assert!(refused.unwrap_err().to_string().contains("not root"));
        let mut heard = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"", "it was told something");
    }
}
