//! The client of the runner: what `src/runs` and the command line hold in their hands.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::description::{ContainerDescription, ContainerId};
use crate::digest::Digest;
use crate::model::{ContainerStatus, ImageInfo, LogPage, Pruned, Sample, Stream};
use crate::protocol::{self, Action, Answer, Call, EndedSince, Hello, Refusal, Reply, Request};
use crate::pulse::{self, BEAT_TIME, HANG_TIME, Pulse};

/// A runner, by its socket. Each call makes a connection of its own and blocks until it is answered: a value can be
/// used from any number of threads at once, and a runner that was restarted is simply there again.
#[derive(Clone, Debug)]
pub struct Runner {
    socket: PathBuf,
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
        Runner { socket: socket.into(), pulse: Arc::default() }
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
        let socket = pulse::connect(&self.socket, HANG_TIME)?;
        socket.set_read_timeout(Some(HANG_TIME))?;
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

    /// Its socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Who is there, and what the machine offers. A runner that hangs is not waited for.
    pub fn hello(&self) -> Result<Hello, RunnerError> {
        expect!(self.call_within(HANG_TIME, Request::Hello, None)?, Reply::Hello)
    }

    /// Starts a container and answers once its command was executed. The name must be new: a second call with the same
    /// name is refused ([`Refusal::NameTaken`]) whatever became of the first, so that a caller who does not know
    /// whether the first call arrived repeats it, or asks for the [`status`](Runner::status), without harm.
    ///
    /// [`Refusal::StartFailed`]: the container exists and has ended with that reason. [`Refusal::Invalid`],
    /// [`Refusal::NoSuchImage`]: it does not exist.
    pub fn start(&self, id: &ContainerId, description: &ContainerDescription) -> Result<ContainerStatus, RunnerError> {
        let request = Request::Start { id: id.clone(), description: Box::new(description.clone()) };
        expect!(self.call(request, None)?, Reply::Status).map(|status| *status)
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
        expect!(self.call(Request::Log { id: id.clone(), stream, from_line, lines_max }, None)?, Reply::Log)
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
    /// layout), checks every digest, unpacks the layers that are not there yet, and gives it this name. A layer may be
    /// missing from the file if [`missing_layers`](Runner::missing_layers) does not name it.
    ///
    /// `select` says which of several images, by the name the file gives it; needed where there is more than one.
    pub fn import(&self, file: OwnedFd, name: &str, select: Option<&str>) -> Result<ImageInfo, RunnerError> {
        let request = Request::Import { name: name.to_owned(), select: select.map(str::to_owned) };
        expect!(self.call(request, Some(&file))?, Reply::Image)
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
        self.call_within(PATIENCE, request, passed)
    }

    fn call_within(
        &self,
        patience: Duration,
        request: Request,
        passed: Option<&OwnedFd>,
    ) -> Result<Reply, RunnerError> {
        let call = Call { protocol: protocol::VERSION, request };
        let answer = self.exchange(patience, &call, passed);
        match answer.map_err(|source| RunnerError::Unavailable { socket: self.socket.clone(), source })? {
            Answer::Ok(reply) => Ok(reply),
            Answer::Refused(refusal) => Err(refusal.into()),
        }
    }

    fn exchange(&self, patience: Duration, call: &Call, passed: Option<&OwnedFd>) -> io::Result<Answer> {
        let _turn = self.pulse.turn()?;
        let socket = pulse::connect(&self.socket, HANG_TIME)?;
        protocol::send(&socket, call, passed)?;
        self.pulse.wait(&socket, patience)?;
        // It has begun to answer.
        socket.set_read_timeout(Some(ANSWER_PATIENCE))?;
        let (answer, _) = protocol::receive(&socket, protocol::ANSWER_BYTES_MAX)?
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        Ok(answer)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
