//! The runner's socket: who may speak, and what is answered.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

use super::shared::Shared;
use crate::description::ContainerId;
use crate::digest::Digest;
use crate::image::{Given, ImageError, Removed};
use crate::kernel;
use crate::logs;
use crate::model::{LogPage, LogSpan};
use crate::protocol::{self, Answer, Call, Hello, ImportTerms, Refusal, Reply, Request, VERSION};

/// Connections at once of one user, and of all together; more are hung up on. Root's are not counted.
const OF_USER_MAX: usize = 64;
const OF_ALL_MAX: usize = 512;
/// How long somebody who has connected may keep silent before a call, in it, and between two.
const SILENCE_MAX: Duration = Duration::from_secs(10);
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
    let listener = super::place::listen(&shared.options.socket, shared.options.client_group)?;
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
        let connections = Arc::new(Connections::default());
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
            let Some(counted) = connections.enter(&socket) else { continue };
            let shared = Arc::clone(&self.shared);
            let talk = move || {
                let _counted = counted;
                if let Err(error) = talk(&shared, &socket) {
                    tracing::debug!(%error, "a connection ended");
                }
            };
            if let Err(error) = std::thread::Builder::new().name("call".into()).spawn(talk) {
                tracing::warn!(%error, "a caller is not answered");
            }
        }
    }
}

/// How many connections each user has.
#[derive(Default)]
struct Connections(Mutex<BTreeMap<u32, usize>>);

/// A connection that is counted for as long as this lives.
struct Counted {
    connections: Arc<Connections>,
    user: u32,
}

impl Connections {
    fn of_users(&self) -> MutexGuard<'_, BTreeMap<u32, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection; none if its user has too many.
    fn enter(self: &Arc<Self>, socket: &UnixStream) -> Option<Counted> {
        let user = rustix::net::sockopt::socket_peercred(socket).ok()?.uid;
        self.enter_as(user.as_raw())
    }

    fn enter_as(self: &Arc<Self>, user: u32) -> Option<Counted> {
        let mut of_users = self.of_users();
        let all: usize = of_users.iter().filter(|(user, _)| **user != 0).map(|(_, count)| count).sum();
        let own = of_users.get(&user).copied().unwrap_or(0);
        if user != 0 && (own >= OF_USER_MAX || all >= OF_ALL_MAX) {
            return None;
        }
        of_users.insert(user, own + 1);
        Some(Counted { connections: Arc::clone(self), user })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut of_users = self.connections.of_users();
        match of_users.get_mut(&self.user) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(of_users.remove(&self.user)),
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
    socket.set_read_timeout(Some(SILENCE_MAX))?;
    while let Some((call, passed)) = protocol::receive::<Call>(socket, protocol::CALL_BYTES_MAX)? {
        let answer = match call.protocol {
            // It has lain there while this process was held up: who asked has been told that nobody answers.
            VERSION if has_hung_up(socket)? => return Ok(()),
            VERSION => {
                let read = read_by(&call.request).cloned();
                let answer = answer(shared, socket, call.request, passed);
                // What a removal took away meanwhile must not be taken for all there was.
                read.filter(|id| !shared.knows(id)).map_or(answer, |_| Err(Refusal::NoSuchContainer))
            }
            _ => Err(Refusal::OtherProtocol { runner: VERSION }),
        };
        let answer = answer.map_or_else(Answer::Refused, Answer::Ok);
        protocol::send(socket, &answer, None)?;
    }
    Ok(())
}

/// Whether nobody is there to be answered.
fn has_hung_up(socket: &UnixStream) -> io::Result<bool> {
    let mut looked_at = [PollFd::new(socket, PollFlags::empty())];
    rustix::event::poll(&mut looked_at, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(looked_at.iter().any(|it| it.revents().contains(PollFlags::HUP)))
}

/// The container whose files a request reads.
fn read_by(request: &Request) -> Option<&ContainerId> {
    match request {
        Request::Log { id, .. } | Request::LogSpan { id, .. } | Request::Samples { id, .. } => Some(id),
        _ => None,
    }
}

fn answer(
    shared: &Arc<Shared>,
    socket: &UnixStream,
    request: Request,
    passed: Option<OwnedFd>,
) -> Result<Reply, Refusal> {
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
        Request::Room { scratch_bytes, reserve_bytes } => shared.room(scratch_bytes, reserve_bytes).map(Reply::Room),
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
            shared.import(Given::Archive(opened), &name, select.as_deref(), terms)
        }
        Request::ImportLayout { name, select, terms } => {
            shared.import(Given::Layout(&|file| wanted(socket, file)), &name, select.as_deref(), terms)
        }
        Request::LayoutFile { .. } => Err(Refusal::BadImage("no file was wanted".into())),
        Request::Image { reference } => {
            let found = shared.images.find(&reference).map_err(image_refusal)?.ok_or(Refusal::NoSuchImage)?;
            shared.images.info(&found).map(Reply::Image).map_err(image_refusal)
        }
        Request::ImageLayers { image } => image_layers(shared, &image),
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

fn image_layers(shared: &Shared, image: &Digest) -> Result<Reply, Refusal> {
    let found = shared.images.find(image.as_str()).map_err(image_refusal)?.ok_or(Refusal::NoSuchImage)?;
    shared.images.layers_of(&found).map(Reply::Layers).map_err(image_refusal)
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

impl Shared {
    fn import(&self, given: Given<'_>, name: &str, select: Option<&str>, terms: ImportTerms) -> Result<Reply, Refusal> {
        let reserve_bytes = self.import_reserve(self.reserve(terms.reserve_bytes));
        let terms = ImportTerms { reserve_bytes: Some(reserve_bytes), ..terms };
        let imported = self.images.import(given, name, select, self.clock.now_micros(), &terms);
        imported.map(Reply::Image).map_err(|error| match error {
            ImageError::Io(error) if error.kind() == io::ErrorKind::StorageFull => {
                Refusal::NoRoomForImage { reserve_bytes }
            }
            other => image_refusal(other),
        })
    }
}

/// Has the client open a file of its layout.
fn wanted(socket: &UnixStream, file: &str) -> Result<Option<OwnedFd>, ImageError> {
    protocol::send(socket, &Answer::Ok(Reply::Wanted(file.to_owned())), None)?;
    match protocol::receive::<Call>(socket, protocol::CALL_BYTES_MAX)? {
        Some((Call { request: Request::LayoutFile { is_there: false }, .. }, _)) => Ok(None),
        Some((Call { request: Request::LayoutFile { is_there: true }, .. }, Some(passed))) => Ok(Some(passed)),
        Some(_) => Err(ImageError::Bad("no file came along".into())),
        None => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_share_of_the_connections_and_root_what_it_needs() {
        let connections = Arc::new(Connections::default());
        let mut held: Vec<Counted> = (0..OF_USER_MAX).filter_map(|_| connections.enter_as(1000)).collect();
        assert!(held.len() == OF_USER_MAX && connections.enter_as(1000).is_none());
        held.pop();
        held.extend(connections.enter_as(1000));
        assert_eq!(held.len(), OF_USER_MAX, "one that has ended does not count");
        for user in 1001..1100 {
            held.extend((0..OF_USER_MAX).filter_map(|_| connections.enter_as(user)));
        }
        assert_eq!(held.len(), OF_ALL_MAX);
        assert!(connections.enter_as(2000).is_none());
        held.extend((0..2000).filter_map(|_| connections.enter_as(0)));
        assert_eq!(held.len(), OF_ALL_MAX + 2000);
        drop(held);
        assert!(connections.of_users().is_empty());
    }
}
