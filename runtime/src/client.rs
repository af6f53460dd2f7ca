//! The client of the runner: what `src/runs` and the command line hold in their hands.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::description::{ContainerDescription, ContainerId};
use crate::digest::Digest;
use crate::model::{Bookmark, ContainerStatus, DiskRoom, ImageInfo, LayerInfo, LogPage, LogSpan, Pruned, Sample, Stream};
use crate::protocol::{self, Action, Answer, Call, EndedSince, Hello, ImportTerms, Refusal, Reply, Request};

/// A runner, by its socket. Each call makes a connection of its own and blocks until it is answered: a value can be
/// used from any number of threads at once, and a runner that was restarted is simply there again.
#[derive(Clone, Debug)]
pub struct Runner {
    socket: PathBuf,
    reserve_bytes: Option<u64>,
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
        Runner { socket: socket.into(), reserve_bytes: None }
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

    /// Who is there, and what the machine offers.
    pub fn hello(&self) -> Result<Hello, RunnerError> {
        expect!(self.call(Request::Hello, None)?, Reply::Hello)
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
    /// layout), checks every digest, unpacks the layers that are not there yet, and gives it this name. A layer may be
    /// missing from the file if [`missing_layers`](Runner::missing_layers) does not name it.
    ///
    /// `select` says which of several images, by the name the file gives it; needed where there is more than one.
    pub fn import(&self, file: OwnedFd, name: &str, select: Option<&str>) -> Result<ImageInfo, RunnerError> {
        self.import_with(file, name, select, ImportTerms::default())
    }

    /// The same, on these terms. [`Refusal::ImageTooLarge`]: it takes more than they allow. [`Refusal::NoRoom`]: the disk
    /// has no room for it.
    pub fn import_with(
        &self,
        file: OwnedFd,
        name: &str,
        select: Option<&str>,
        terms: ImportTerms,
    ) -> Result<ImageInfo, RunnerError> {
        let terms = ImportTerms { reserve_bytes: terms.reserve_bytes.or(self.reserve_bytes), ..terms };
        let request = Request::Import { name: name.to_owned(), select: select.map(str::to_owned), terms };
        expect!(self.call(request, Some(&file))?, Reply::Image)
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
        let call = Call { protocol: protocol::VERSION, request };
        let answer = self.exchange(&call, passed);
        match answer.map_err(|source| RunnerError::Unavailable { socket: self.socket.clone(), source })? {
            Answer::Ok(reply) => Ok(reply),
            Answer::Refused(refusal) => Err(refusal.into()),
        }
    }

    fn exchange(&self, call: &Call, passed: Option<&OwnedFd>) -> io::Result<Answer> {
        let socket = UnixStream::connect(&self.socket)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        protocol::send(&socket, call, passed)?;
        let (answer, _) = protocol::receive(&socket, protocol::ANSWER_BYTES_MAX)?
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        Ok(answer)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
