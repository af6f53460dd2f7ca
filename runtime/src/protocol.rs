//! The protocol between a client and the runner, and between the runner and a supervisor.
//!
//! A unix stream socket. Either side sends frames: four bytes, the length in big-endian order, then so many bytes of
//! JSON. The client sends a [`Call`], the runner answers with one [`Answer`], any number of times on one connection. An
//! import carries one open file descriptor (`SCM_RIGHTS`) with the first byte of its frame; one of a layout asks for its
//! files on the way ([`Reply::Wanted`]), and gets each in a call of its own. A call whose `protocol` is not [`VERSION`] is
//! answered with [`Refusal::OtherProtocol`] and nothing is done.
//!
//! A frame that is too long, is not JSON or is not a call ends the connection. Fields and variants are only ever added;
//! whatever else changes raises [`VERSION`].

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::description::{ContainerDescription, ContainerId, InvalidDescription};
use crate::digest::Digest;
use crate::model::{
    Bookmark, ContainerState, ContainerStatus, DiskRoom, ImageInfo, LayerInfo, LogPage, LogSpan, Pruned, Sample, Stream,
};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// The longest call: a description with all its arguments, escaped as JSON.
pub(crate) const CALL_BYTES_MAX: usize = 4 << 20;
/// The longest answer: a page of lines, escaped as JSON.
pub(crate) const ANSWER_BYTES_MAX: usize = 32 << 20;

/// A request with the version of the protocol it is written in.
#[derive(Debug, Serialize, Deserialize)]
pub struct Call {
    /// [`VERSION`] of the client.
    pub protocol: u32,
    /// What is asked for.
    pub request: Request,
}

/// What a client may ask the runner for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Who is there. Answer: [`Reply::Hello`].
    Hello,
    /// Starts a container; answers once its command was executed. Answer: [`Reply::Status`].
    Start {
        /// Its name, which must be new.
        id: ContainerId,
        /// What it is to be.
        description: Box<ContainerDescription>,
        /// Free space that is to stay on the runner's disk whatever its containers write, in bytes; none: the runner's
        /// own reserve.
        #[serde(default)]
        reserve_bytes: Option<u64>,
    },
    /// How many containers more the disk has room for. Answer: [`Reply::Room`].
    Room {
        /// Their writable layers, in bytes.
        scratch_bytes: u64,
        /// As for a start.
        #[serde(default)]
        reserve_bytes: Option<u64>,
    },
    /// All containers that were not removed. Answer: [`Reply::List`].
    List,
    /// One container. Answer: [`Reply::Status`].
    Status {
        /// Its name.
        id: ContainerId,
    },
    /// One container, once it has ended or the time is over. Answer: [`Reply::Status`].
    Wait {
        /// Its name.
        id: ContainerId,
        /// How long to wait, at most a minute.
        at_most_millis: u64,
    },
    /// Which containers have ended since. Answer: [`Reply::Ended`].
    Ended {
        /// The cursor of the answer before; 0 at first, which answers at once.
        after: u64,
        /// How long to wait for one to end, at most a minute.
        at_most_millis: u64,
    },
    /// Does something to a running container. Answer: [`Reply::Done`].
    Control {
        /// Its name.
        id: ContainerId,
        /// What.
        action: Action,
    },
    /// A part of a stream. Answer: [`Reply::Log`].
    Log {
        /// The container's name.
        id: ContainerId,
        /// Which stream.
        stream: Stream,
        /// The number of the first line wanted.
        from_line: u64,
        /// How many lines at most; 1 to 50,000. A page ends earlier at 4 MiB.
        lines_max: u32,
        /// The bookmark of the page before, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bookmark: Option<Bookmark>,
    },
    /// Where in a stream the lines are that are wanted. Answer: [`Reply::LogSpan`].
    LogSpan {
        /// The container's name.
        id: ContainerId,
        /// Which stream.
        stream: Stream,
        /// The number of the first line that may be wanted.
        from_line: u64,
        /// None is wanted that was written before, in microseconds since 1970.
        since_micros: Option<i64>,
        /// Only the last so many are wanted.
        tail: Option<u64>,
    },
    /// What a container used. Answer: [`Reply::Samples`].
    Samples {
        /// The container's name.
        id: ContainerId,
        /// How many samples to pass over.
        from: u32,
    },
    /// Forgets a container that has ended, with its logs. Answer: [`Reply::Done`].
    Remove {
        /// Its name.
        id: ContainerId,
    },
    /// Takes an image in: the descriptor that comes along is a tar (OCI layout or docker-archive). Answer:
    /// [`Reply::Image`].
    Import {
        /// The name it gets, such as `docker.io/library/busybox:1`; another image loses it.
        name: String,
        /// Which of several images in the file, by the name the file gives it.
        select: Option<String>,
        /// What it may take.
        #[serde(default)]
        terms: ImportTerms,
    },
    /// Takes an image in from a layout in a directory, which the client opens: the runner would open it as root. Answer:
    /// any number of [`Reply::Wanted`], each of which wants a [`Request::LayoutFile`]; then [`Reply::Image`].
    ImportLayout {
        /// The name it gets, as in [`Request::Import`].
        name: String,
        /// Which of several images in the layout, by the name that its index gives it.
        select: Option<String>,
        /// What it may take.
        #[serde(default)]
        terms: ImportTerms,
    },
    /// The file that was wanted: the descriptor that comes along. Only where it was wanted.
    LayoutFile {
        /// False: there is no such file.
        is_there: bool,
    },
    /// An image by name or digest. Answer: [`Reply::Image`].
    Image {
        /// Its name, or `sha256:…`.
        reference: String,
    },
    /// The layers of an image. Answer: [`Reply::Layers`].
    ImageLayers {
        /// Its digest.
        image: Digest,
    },
    /// All images. Answer: [`Reply::Images`].
    Images,
    /// Takes a name away from an image, or by digest all of them; an image without names goes, with the layers that no
    /// other image has. Answer: [`Reply::Done`].
    RemoveImage {
        /// Its name, or `sha256:…`.
        reference: String,
    },
    /// Takes away the images that have no name and that no container which has not ended uses, and the layers that no
    /// image has any more. Answer: [`Reply::Pruned`].
    PruneImages,
    /// Which of these layer blobs an import would need: a pull leaves the others out of its directory. Answer:
    /// [`Reply::Digests`].
    MissingLayers {
        /// Digests of compressed layers, as a manifest lists them; at most 1,000.
        blobs: Vec<Digest>,
    },
}

/// What an import may take, and whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportTerms {
    /// Free space that is to stay on the runner's disk, in bytes, and a quarter of that besides; none: the runner's own
    /// reserve.
    #[serde(default)]
    pub reserve_bytes: Option<u64>,
    /// What its layers may take unpacked, in bytes, without those of `counted`; none: what any image may.
    #[serde(default)]
    pub room_bytes: Option<u64>,
    /// Layers, by the digests of their uncompressed archives, that take nothing of that room.
    #[serde(default)]
    pub counted: Vec<Digest>,
    /// It was pulled for a run and can be pulled again. What is imported without that is never a candidate for removal.
    #[serde(default)]
    pub is_pulled: bool,
}

/// What can be done to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Freezes it; answers once the kernel reports all of it frozen.
    Pause,
    /// Lets it go on.
    Resume,
    /// SIGTERM to its command; SIGKILL to all of it once `grace_seconds` are over. Answers at once.
    Stop,
    /// SIGKILL to all of it, frozen or not. Answers at once.
    Kill,
    /// Sends a signal to its command: 1 (HUP), 2 (INT), 3 (QUIT), 10 (USR1), 12 (USR2), 15 (TERM) or 28 (WINCH).
    Signal(i32),
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was done.
    Ok(Reply),
    /// It was not, and nothing has changed.
    Refused(Refusal),
}

/// What a request is answered with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Who the runner is.
    Hello(Hello),
    /// It was done.
    Done,
    /// A container.
    Status(Box<ContainerStatus>),
    /// Containers, sorted by name.
    List(Vec<ContainerStatus>),
    /// Containers that ended.
    Ended(EndedSince),
    /// Lines.
    Log(LogPage),
    /// Where lines are.
    LogSpan(LogSpan),
    /// Samples, oldest first.
    Samples(Vec<Sample>),
    /// A file of the layout that is being imported, by its name below it: `index.json`, `blobs/sha256/HEX`.
    Wanted(String),
    /// An image.
    Image(ImageInfo),
    /// Images, sorted by digest.
    Images(Vec<ImageInfo>),
    /// Layers of an image, lowest first.
    Layers(Vec<LayerInfo>),
    /// Room on the disk.
    Room(DiskRoom),
    /// Digests.
    Digests(Vec<Digest>),
    /// What went.
    Pruned(Pruned),
}

/// Who the runner is and what this machine offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its [`VERSION`].
    pub protocol: u32,
    /// The product's version.
    pub version: String,
    /// Names this life of this runner's directory: another value than before means that containers known from then may
    /// be gone for good.
    pub instance: String,
    /// What the machine offers.
    pub features: Features,
}

/// What was found out about the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// 1 (also on hybrid hosts, where the controllers sit there) or 2.
    pub cgroup_version: u8,
    /// Image layers are shared between ranges of ids by idmapped mounts; otherwise their files are given other owners
    /// and all containers share one range of ids.
    pub idmapped_layers: bool,
    /// How the writable layer is bounded.
    pub scratch: ScratchKind,
}

/// How the writable layer of a container is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScratchKind {
    /// A sparse ext4 image on a loop device.
    Loop,
    /// Memory of the container: no loop device or no mkfs.ext4 works here.
    Tmpfs,
}

/// Which containers have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedSince {
    /// Ask after this next time.
    pub cursor: u64,
    /// Their names, in the order of their ends. After a restart of the runner: all that have ended.
    pub ids: Vec<ContainerId>,
}

/// Why the runner does not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The client speaks another version.
    #[error("the runner speaks protocol {runner}; restart it and its client with the same version of quintet")]
    OtherProtocol {
        /// The runner's version.
        runner: u32,
    },
    /// The description asks for what is not given.
    #[error("{0}")]
    Invalid(InvalidDescription),
    /// There is no such container.
    #[error("there is no such container")]
    NoSuchContainer,
    /// The name was used.
    #[error("there is a container of this name already")]
    NameTaken,
    /// The container is in a state in which this cannot be done.
    #[error("the container is {state:?}")]
    WrongState {
        /// The state.
        state: ContainerState,
    },
    /// There is no such image.
    #[error("there is no such image")]
    NoSuchImage,
    /// Containers that have not ended use the image.
    #[error("containers use the image")]
    ImageInUse,
    /// The image is not one, or lies, or would do harm. Nothing of it is left.
    #[error("the image is refused: {0}")]
    BadImage(String),
    /// The image's layers take more than the room that its import was given. Nothing of it is left.
    #[error("the image takes more than {room_bytes} bytes unpacked")]
    ImageTooLarge {
        /// What it was given.
        room_bytes: u64,
    },
    /// The disk has no room for the container's writable layer and output. Nothing was made: the same can be asked for
    /// again.
    #[error("the runner's disk has no room: {needed_bytes} bytes are needed, {left_bytes} are left")]
    NoRoom {
        /// What is needed.
        needed_bytes: u64,
        /// What neither is kept in reserve nor was promised to others.
        left_bytes: u64,
    },
    /// The disk has no room for the image. Nothing of it is left.
    #[error("the runner's disk has no room for the image: {reserve_bytes} bytes are to stay free or were promised")]
    NoRoomForImage {
        /// What an import leaves free.
        reserve_bytes: u64,
    },
    /// The container's command did not run; the container has ended with this reason.
    #[error("the container did not start: {0}")]
    StartFailed(String),
    /// The machine or the runner failed. What was asked for may have been done.
    #[error("the runner failed: {0}")]
    Failed(String),
}

/// Sends a frame, and a descriptor along with it.
pub(crate) fn send(socket: &UnixStream, message: &impl Serialize, passed: Option<&OwnedFd>) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend_from_slice(&body);
    let mut frame = frame.as_slice();
    if let Some(passed) = passed {
        let descriptors = [std::os::fd::AsFd::as_fd(passed)];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let sent = rustix::net::sendmsg(socket, &[io::IoSlice::new(frame)], &mut ancillary, SendFlags::NOSIGNAL)?;
        frame = frame.get(sent..).unwrap_or_default();
    }
    let mut socket = socket;
    socket.write_all(frame)
}

/// Receives a frame, and the descriptor that came along. None if the other side has closed the connection.
pub(crate) fn receive<M: DeserializeOwned>(
    socket: &UnixStream,
    bytes_max: usize,
) -> io::Result<Option<(M, Option<OwnedFd>)>> {
    let mut header = [0; 4];
    let mut passed = None;
    let mut filled = 0;
    while filled < header.len() {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let rest = header.get_mut(filled..).unwrap_or_default();
        let mut slices = [io::IoSliceMut::new(rest)];
        let received = match rustix::net::recvmsg(socket, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => continue,
            received => received?,
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                passed = descriptors.last().or(passed);
            }
        }
        if received.bytes == 0 {
            return if filled == 0 { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        filled += received.bytes;
    }
    let length = u32::from_be_bytes(header) as usize;
    if length > bytes_max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame longer than any"));
    }
    // Memory follows what arrives, not what a header announces.
    let mut body = Vec::new();
    let mut socket = socket;
    (&mut socket).take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((serde_json::from_slice(&body)?, passed)))
}
