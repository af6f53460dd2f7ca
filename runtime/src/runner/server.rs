//! The runner's socket: who may speak, and what is answered.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::shared::Shared;
use crate::description::ContainerId;
use crate::digest::Digest;
use crate::image::{ImageError, Removed};
use crate::kernel;
use crate::logs;
use crate::model::{LogPage, LogSpan};
use crate::protocol::{self, Answer, Call, Hello, ImportTerms, Refusal, Reply, Request, VERSION};

/// Connections at once. More are not answered until one of them ends.
const CONNECTIONS_MAX: usize = 1024;
/// Lines of a page, at most: so many empty ones take 4 MiB of an answer.
const PAGE_LINES_MAX: u32 = 50_000;
/// The longest that a call waits for something to happen.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A runner that answers calls until the process ends.
pub struct Serving {
    shared: Arc<Shared>,
    listener: UnixListener,
}

pub(super) fn serve(shared: Arc<Shared>) -> io::Result<Serving> {
    let path = &shared.options.socket;
    // Nobody else answers there: the directory's lock is ours.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    let group = shared.options.client_group;
    std::os::unix::fs::chown(path, Some(0), group)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(if group.is_some() { 0o660 } else { 0o600 }))?;
    Ok(Serving { shared, listener })
}

impl Serving {
    /// What the machine offers.
    #[must_use]
    pub fn features(&self) -> &crate::protocol::Features {
        &self.shared.features
    }

    /// Answers calls. Returns only when it cannot go on.
    pub fn run(&self) -> io::Result<()> {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if is_lasting(&error) => return Err(error),
                Err(error) => {
                    // A caller that hung up, or too many files open at once: whoever runs goes on.
                    tracing::warn!(%error, "a caller is not answered");
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                }
            };
            while open.load(Ordering::Acquire) >= CONNECTIONS_MAX {
                std::thread::sleep(Duration::from_millis(10));
            }
            open.fetch_add(1, Ordering::AcqRel);
            let (shared, counted) = (Arc::clone(&self.shared), Arc::clone(&open));
            let talk = move || {
                if let Err(error) = talk(&shared, &socket) {
                    tracing::debug!(%error, "a connection ended");
                }
                counted.fetch_sub(1, Ordering::AcqRel);
            };
            if let Err(error) = std::thread::Builder::new().name("call".into()).spawn(talk) {
                tracing::warn!(%error, "a caller is not answered");
                open.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}

/// The listener itself is of no use any more.
fn is_lasting(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let lasting = [Errno::BADF, Errno::INVAL, Errno::NOTSOCK, Errno::OPNOTSUPP, Errno::FAULT];
    Errno::from_io_error(error).is_some_and(|errno| lasting.contains(&errno))
}

/// Root, and members of the group.
fn may_speak(shared: &Shared, socket: &UnixStream) -> io::Result<bool> {
    let peer = rustix::net::sockopt::socket_peercred(socket)?;
    if peer.uid.is_root() {
        return Ok(true);
    }
    let Some(group) = shared.options.client_group else { return Ok(false) };
    Ok(peer.gid.as_raw() == group || kernel::peer_groups(socket.as_fd())?.contains(&group))
}

fn talk(shared: &Arc<Shared>, socket: &UnixStream) -> io::Result<()> {
    if !may_speak(shared, socket)? {
        tracing::warn!("somebody who may not has connected to the runner");
        return Ok(());
    }
    // A client that stops in the middle of a call or an answer is not waited for.
    socket.set_write_timeout(Some(WAIT_MAX))?;
    socket.set_read_timeout(Some(WAIT_MAX))?;
    while let Some((call, passed)) = protocol::receive::<Call>(socket, protocol::CALL_BYTES_MAX)? {
        let answer = match call.protocol {
            VERSION => answer(shared, call.request, passed),
            _ => Err(Refusal::OtherProtocol { runner: VERSION }),
        };
        let answer = answer.map_or_else(Answer::Refused, Answer::Ok);
        protocol::send(socket, &answer, None)?;
    }
    Ok(())
}

fn answer(shared: &Arc<Shared>, request: Request, passed: Option<OwnedFd>) -> Result<Reply, Refusal> {
    let wait = |millis: u64| Duration::from_millis(millis).min(WAIT_MAX);
    let failed = |error: io::Error| Refusal::Failed(error.to_string());
    match request {
        Request::Hello => Ok(Reply::Hello(Hello {
            protocol: VERSION,
            version: shared.options.version.clone(),
            instance: shared.instance.clone(),
            features: shared.features.clone(),
        })),
        Request::Start { id, description, reserve_bytes } => {
            let started = shared.start(&id, *description, shared.reserve(reserve_bytes));
            started.map(Box::new).map(Reply::Status)
        }
        Request::Room { scratch_bytes, reserve_bytes } => {
            shared.room(scratch_bytes, shared.reserve(reserve_bytes)).map(Reply::Room).map_err(failed)
        }
        Request::List => Ok(Reply::List(shared.list())),
        Request::Status { id } => shared.status(&id).map(Box::new).map(Reply::Status),
        Request::Wait { id, at_most_millis } => shared.wait(&id, wait(at_most_millis)).map(Box::new).map(Reply::Status),
        Request::Ended { after, at_most_millis } => Ok(Reply::Ended(shared.ended(after, wait(at_most_millis)))),
        Request::Control { id, action } => shared.control(&id, action).map(|()| Reply::Done),
        Request::Log { id, stream, from_line, lines_max, bookmark } => {
            let most = lines_max.clamp(1, PAGE_LINES_MAX) as usize;
            let page = |streams: &Path, ended| logs::read_page(streams, stream, (from_line, bookmark), most, ended);
            Ok(Reply::Log(of_streams(shared, &id, page)?.unwrap_or_else(|ended| LogPage {
                lines: Vec::new(),
                next_line: from_line,
                complete: ended,
                bookmark: None,
            })))
        }
        Request::LogSpan { id, stream, from_line, since_micros, tail } => {
            let (since, most) = (since_micros.unwrap_or(i64::MIN), tail.unwrap_or(u64::MAX));
            let span = |streams: &Path, _| logs::find_span(streams, stream, from_line, since, most);
            let nothing = LogSpan { from_line, end_line: from_line, lines: 0, is_cut: false };
            Ok(Reply::LogSpan(of_streams(shared, &id, span)?.unwrap_or(nothing)))
        }
        Request::Samples { id, from } => {
            let (files, _) = shared.recorded(&id)?;
            files.samples(from as usize).map(Reply::Samples).map_err(failed)
        }
        Request::Remove { id } => shared.remove(&id).map(|()| Reply::Done),
        Request::Import { name, select, terms } => {
            let Some(opened) = passed else { return Err(Refusal::BadImage("no file came along".into())) };
            let reserve_bytes = shared.import_reserve(shared.reserve(terms.reserve_bytes));
            let terms = ImportTerms { reserve_bytes: Some(reserve_bytes), ..terms };
            let imported = shared.images.import(opened, &name, select.as_deref(), shared.clock.now_micros(), &terms);
            imported.map(Reply::Image).map_err(|error| match error {
                ImageError::Io(error) if error.kind() == io::ErrorKind::StorageFull => {
                    Refusal::NoRoomForImage { reserve_bytes }
                }
                other => image_refusal(other),
            })
        }
        Request::Image { reference } => {
            let found = shared.images.find(&reference).map_err(image_refusal)?.ok_or(Refusal::NoSuchImage)?;
            shared.images.info(&found).map(Reply::Image).map_err(image_refusal)
        }
        Request::ImageLayers { image } => {
            let found = shared.images.find(image.as_str()).map_err(image_refusal)?.ok_or(Refusal::NoSuchImage)?;
            shared.images.layers_of(&found).map(Reply::Layers).map_err(image_refusal)
        }
        Request::Images => shared.images.list().map(Reply::Images).map_err(image_refusal),
        Request::RemoveImage { reference } => {
            match shared.images.remove(&reference, |image| shared.unless_in_use(image)).map_err(image_refusal)? {
                Removed::Done => Ok(Reply::Done),
                Removed::Absent => Err(Refusal::NoSuchImage),
                Removed::InUse => Err(Refusal::ImageInUse),
            }
        }
        Request::PruneImages => {
            shared.images.prune(|image| shared.unless_in_use(image)).map(Reply::Pruned).map_err(image_refusal)
        }
        Request::MissingLayers { blobs } => {
            let asked: Vec<Digest> = blobs.into_iter().take(1000).collect();
            shared.images.missing(&asked).map(Reply::Digests).map_err(image_refusal)
        }
    }
}

/// What is found in the streams of a container, which `read` is given with whether it has ended. An error says so, too:
/// it never got so far as to have streams.
fn of_streams<T>(
    shared: &Shared,
    id: &ContainerId,
    read: impl Fn(&Path, bool) -> io::Result<T>,
) -> Result<Result<T, bool>, Refusal> {
    let (files, ended) = shared.recorded(id)?;
    match read(&files.streams(), ended) {
        // Or it was removed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => shared.recorded(id).map(|(_, ended)| Err(ended)),
        read => read.map(Ok).map_err(|error| Refusal::Failed(error.to_string())),
    }
}

fn image_refusal(error: ImageError) -> Refusal {
    match error {
        ImageError::Bad(reason) => Refusal::BadImage(reason),
        ImageError::TooMuch => Refusal::BadImage(ImageError::TooMuch.to_string()),
        ImageError::TooLarge(room_bytes) => Refusal::ImageTooLarge { room_bytes },
        other => Refusal::Failed(other.to_string()),
    }
}
