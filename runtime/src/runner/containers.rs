//! The containers of a runner: starting, finding again, ending, forgetting.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::disk::Written;
use super::nursery::Supervisor;
use super::shared::{Like, Row, SLOTS, Shared, Standby};
use super::watcher::spawn_watcher;
use crate::Digest;
use crate::cgroup::Group;
use crate::description::{ContainerDescription, ContainerId};
use crate::files::Files;
use crate::image::{make_private_directory, remove_tree};
use crate::model::{ContainerState, ContainerStatus, EndReason, Outcome};
use crate::protocol::{self, Action, Answer, EndedSince, Refusal};
use crate::records::ContainerRecord;
use crate::records::ImageRecord;
use crate::supervisor::{self, Ask, RunOrder, Standing, Started};

/// How long a supervisor may take to answer: freezing waits for the kernel.
const SUPERVISOR_PATIENCE: Duration = Duration::from_secs(30);

/// How long it may take to say how it stands.
const STANDING_PATIENCE: Duration = Duration::from_secs(3);
/// How many supervisors are asked at a time; each takes an open file.
const ASKED_AT_ONCE: usize = 128;

/// When what the next container may need is made ready, at the latest; sooner if this one has ended.
const READY_AFTER: Duration = Duration::from_millis(30);

/// The kernel's name for this life of the machine; empty if it does not tell.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// What a supervisor answers.
fn heard<T: serde::de::DeserializeOwned>(socket: &UnixStream) -> io::Result<T> {
    let answer = protocol::receive(socket, protocol::ANSWER_BYTES_MAX)?;
    answer.map(|(answer, _)| answer).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn failed(error: impl std::fmt::Display) -> Refusal {
    Refusal::Failed(error.to_string())
}

impl Shared {
    fn files(&self, id: &ContainerId) -> Files {
        Files::new(self.containers_directory().join(id.as_str()))
    }

    /// Starts one; answers once its command was executed.
    pub(super) fn start(
        self: &Arc<Shared>,
        id: &ContainerId,
        description: ContainerDescription,
        reserve_bytes: u64,
    ) -> Result<ContainerStatus, Refusal> {
        description.validate().map_err(Refusal::Invalid)?;
        let image = self.images.find(description.image.as_str()).map_err(failed)?.ok_or(Refusal::NoSuchImage)?;
        let like = Like::of(&description);
        // Before there is anything to watch: where that is not possible, nothing is begun.
        let hand_over = self.watcher(id).map_err(failed)?;
        let admitted = match self.admit(id, &image, &like, reserve_bytes, &Written::new()) {
            // What others have written already is not to come any more.
            Err(Refusal::NoRoom { .. }) => self.admit(id, &image, &like, reserve_bytes, &self.written()),
            admitted => admitted,
        };
        let (slot, standby, repeated) = admitted?;
        self.images.used(&image, self.clock.now_micros());
        let launched = self.launch(id, description, &image, &like, slot, standby);
        let (child, started) = match launched {
            Ok(launched) => launched,
            Err(error) => {
                // Nothing has been executed: that is known, and is what is recorded.
                self.settle(id, Some(supervisor::not_made(error.to_string(), self.clock.as_ref())));
                self.clear(&self.files(id), &self.group_of(id));
                return Err(Refusal::StartFailed(error.to_string()));
            }
        };
        if let Some(row) = self.containers.table().rows.get_mut(id) {
            row.started = true;
        }
        let Some(started) = started else {
            self.watch_to_end(id, child);
            let shared = Arc::clone(self);
            if let Err(error) = spawn_watcher(move || shared.get_ready(None)) {
                tracing::warn!(%error, "no supervisor is kept ready");
            }
            let status = self.status(id)?;
            return match &status.outcome {
                Some(Outcome { reason: EndReason::StartFailed(reason) | EndReason::NotMade(reason), .. }) => {
                    Err(Refusal::StartFailed(reason.clone()))
                }
                _ => Ok(status),
            };
        };
        // It waits for nothing else.
        let _ = hand_over.send(child);
        let (shared, own) = (Arc::clone(self), id.clone());
        let get_ready = move || {
            // What takes a moment is not held up by what comes after it.
            let _ = shared.wait_for_end(&own, READY_AFTER);
            shared.get_ready(repeated.then_some(&like));
        };
        if let Err(error) = spawn_watcher(get_ready) {
            tracing::warn!(%error, "nothing is made ready for the next container");
        }
        Ok(ContainerStatus {
            id: id.clone(),
            state: ContainerState::Running,
            image: image.digest,
            started_at_micros: Some(started.at_micros),
            paused_micros: 0,
            outcome: None,
        })
    }

    /// Makes the thread that is to watch a container; it begins when it is told of the supervisor.
    fn watcher(self: &Arc<Self>, id: &ContainerId) -> io::Result<SyncSender<Supervisor>> {
        let (hand_over, watched) = sync_channel(1);
        let (shared, own) = (Arc::clone(self), id.clone());
        spawn_watcher(move || {
            if let Ok(child) = watched.recv() {
                shared.watch_to_end(&own, child);
            }
        })?;
        Ok(hand_over)
    }

    /// Waits for the end of a container and of its supervisor, and clears up after them.
    fn watch_to_end(&self, id: &ContainerId, mut child: Supervisor) {
        // It may be forgotten as soon as it has ended.
        let (files, group) = (self.files(id), self.group_of(id));
        self.watch(id);
        let _ = child.wait();
        self.clear(&files, &group);
    }

    /// Gives the name to this container for good, with room on the disk, and a range of ids, or the container that is
    /// ready for such a one. The record is durable when this returns. The last one says whether the container before was
    /// like this one.
    fn admit(
        &self,
        id: &ContainerId,
        image: &ImageRecord,
        like: &Like,
        reserve_bytes: u64,
        written: &Written,
    ) -> Result<(u32, Option<Standby>, bool), Refusal> {
        let mut table = self.containers.table();
        // One that begins to be made is ready sooner than another one would be.
        if table.reserved.as_ref().is_some_and(|(_, other)| other == like) {
            (table, _) = self
                .containers
                .ready
                .wait_timeout_while(table, SUPERVISOR_PATIENCE, |table| table.reserved.is_some())
                .unwrap_or_else(PoisonError::into_inner);
        }
        if table.rows.contains_key(id) {
            return Err(Refusal::NameTaken);
        }
        // Once more, where nobody can take it away any longer.
        if self.images.find(image.digest.as_str()).map_err(failed)?.is_none() {
            return Err(Refusal::NoSuchImage);
        }
        let running = table.rows.values().filter(|row| row.record.outcome.is_none()).count();
        let most = self.options.containers_max.clamp(1, SLOTS);
        if running >= most as usize {
            return Err(failed(format!("{most} containers run already")));
        }
        let promised_bytes = self.promise(like.scratch_bytes);
        self.find_room(&table, promised_bytes, reserve_bytes, written)?;
        let mut standby = table.standby.take_if(|standby| standby.like == *like);
        if standby.as_mut().is_some_and(|standby| !standby.child.lives()) {
            standby.take().into_iter().for_each(|dead| self.dismiss(dead));
        }
        let slot = standby.as_ref().map(|standby| standby.slot).or_else(|| table.free_slot());
        let slot = slot.ok_or_else(|| failed("no range of ids is free"))?;
        let record = ContainerRecord {
            image: image.digest.clone(),
            slot,
            ended: 0,
            outcome: None,
            boot: boot(),
            promised_bytes,
        };
        let added = self.records.add_container(id, &record).map_err(failed);
        if !matches!(added, Ok(true)) {
            table.standby = table.standby.take().or(standby);
            return added.and(Err(Refusal::NameTaken));
        }
        table.rows.insert(id.clone(), Row { record, started: false, last: None });
        let repeated = table.last.replace(like.clone()).is_some_and(|last| last == *like);
        Ok((slot, standby, repeated))
    }

    /// Starts a container and waits until the command was executed; none: the supervisor has ended instead.
    fn launch(
        &self,
        id: &ContainerId,
        description: ContainerDescription,
        image: &ImageRecord,
        like: &Like,
        slot: u32,
        standby: Option<Standby>,
    ) -> io::Result<(Supervisor, Option<Started>)> {
        let files = self.files(id);
        let standby = match standby {
            Some(standby) => standby,
            None => self.begin(like, image, slot)?,
        };
        let order = RunOrder { id: id.clone(), directory: files.directory().to_owned(), description };
        let noted = make_private_directory(files.directory()).and_then(|()| files.put_group(&standby.group));
        // Nobody tells it anything more, and it does not end with the runner.
        if let Err(error) = noted.and_then(|()| standby.child.tell(&order)) {
            self.dismiss(standby);
            return Err(error);
        }
        let started = standby.child.hear().unwrap_or(None);
        Ok((standby.child, started))
    }

    /// The control group of a container, whatever it is called.
    fn group_of(&self, id: &ContainerId) -> Group {
        let name = self.files(id).group();
        self.hierarchies.group(&format!("{}/{}", self.group(), name.as_deref().unwrap_or(id.as_str())))
    }

    /// Waits until the supervisor is gone, then records how the container ended.
    fn watch(&self, id: &ContainerId) {
        let files = self.files(id);
        // Held until all is written: a supervisor that comes late finds it taken, and an outcome.
        let lock = files.wait_for_lock();
        match files.outcome_found() {
            Ok(Some(outcome)) => self.settle(id, Some(outcome)),
            Ok(None) => self.settle(id, None),
            Err(error) => {
                tracing::error!(%id, %error, "an outcome cannot be read");
                self.settle(id, None);
            }
        }
        drop(lock);
    }

    /// Ends a container whose supervisor has no more to say, and records its outcome; none: it is lost, or its command
    /// never ran.
    fn settle(&self, id: &ContainerId, outcome: Option<Outcome>) {
        let files = self.files(id);
        let group = self.group_of(id);
        if let Err(error) = group.kill() {
            tracing::error!(%id, %error, "a container cannot be killed");
        }
        let outcome = outcome.unwrap_or_else(|| {
            if !self.has_begun(id) {
                return supervisor::not_made("its start was cut off".to_owned(), self.clock.as_ref());
            }
            let usage = group.usage();
            let mut lost = supervisor::without_start(EndReason::Lost, self.clock.as_ref());
            lost.started_at_micros = files.start();
            lost.oom_killed = usage.oom_kills > 0;
            lost.cpu_micros = usage.cpu_micros;
            lost.peak_memory_bytes = usage.memory_peak_bytes;
            lost
        });
        if !matches!(files.outcome(), Ok(Some(_)))
            && files.directory().is_dir()
            && let Err(error) = files.put_outcome(&outcome)
        {
            tracing::error!(%id, %error, "an outcome cannot be written");
        }
        let mut table = self.containers.table();
        table.ends += 1;
        let ends = table.ends;
        if let Some(row) = table.rows.get_mut(id) {
            row.record.outcome = Some(outcome);
            row.record.ended = ends;
            row.started = true;
            if let Err(error) = self.records.put_end(id, &row.record) {
                tracing::error!(%id, %error, "an end cannot be recorded; it is found again at the next start");
            }
        }
        self.containers.ended.notify_all();
    }

    /// Whether the command of a container may have run. A supervisor makes room for its output before, and that is seen
    /// for as long as the machine has not gone down since: what it wrote may be lost then.
    fn has_begun(&self, id: &ContainerId) -> bool {
        let boot = boot();
        let is_same = self.containers.table().rows.get(id).is_some_and(|row| row.record.boot == boot);
        boot.is_empty() || !is_same || self.files(id).streams().exists()
    }

    /// Removes what only a running container needs. Nobody waits for it: if this does not come to its end, the next start
    /// of the runner does it.
    fn clear(&self, files: &Files, group: &Group) {
        if let Err(error) = group.remove() {
            tracing::error!(%error, "a control group stays for now");
        }
        self.containers.groups.disown(group);
        if let Err(error) = files.remove_working_files() {
            tracing::error!(%error, "a container's files cannot be removed");
        }
    }

    /// How one stands.
    pub(super) fn status(&self, id: &ContainerId) -> Result<ContainerStatus, Refusal> {
        self.status_and_voice(id).map(|(status, _)| status)
    }

    /// How one stands, and whether its supervisor, if it has one, has said so.
    fn status_and_voice(&self, id: &ContainerId) -> Result<(ContainerStatus, bool), Refusal> {
        let (mut status, is_asked) = self.recorded_status(id)?;
        if !is_asked {
            return Ok((status, true));
        }
        let said = self.ask_within(id, &Ask::Standing, STANDING_PATIENCE).ok();
        let has_voice = said.is_some();
        self.complete(&mut status, said);
        Ok((status, has_voice))
    }

    /// What is recorded of one, and whether its supervisor knows more.
    fn recorded_status(&self, id: &ContainerId) -> Result<(ContainerStatus, bool), Refusal> {
        let table = self.containers.table();
        let row = table.rows.get(id).ok_or(Refusal::NoSuchContainer)?;
        let mut status = ContainerStatus {
            id: id.clone(),
            state: if row.started { ContainerState::Running } else { ContainerState::Starting },
            image: row.record.image.clone(),
            started_at_micros: None,
            paused_micros: 0,
            outcome: row.record.outcome.clone(),
        };
        if let Some(outcome) = &status.outcome {
            status.state = ContainerState::Ended;
            status.started_at_micros = outcome.started_at_micros;
            status.paused_micros = outcome.paused_micros;
        }
        Ok((status, row.started && row.record.outcome.is_none()))
    }

    /// Adds what its supervisor says. One who does not answer is about to end, and whoever watches it will say how; or it
    /// is held up, and its container goes on as it did.
    fn complete(&self, status: &mut ContainerStatus, said: Option<Standing>) {
        let mut table = self.containers.table();
        let Some(row) = table.rows.get_mut(&status.id) else { return };
        if let Some(said) = said {
            status.state = said.state;
            status.started_at_micros = Some(said.started_at_micros);
            status.paused_micros = said.paused_micros;
            row.last = Some(status.clone());
        } else if let Some(last) = &row.last {
            *status = last.clone();
        }
    }

    /// Asks a supervisor, which may take so long to answer.
    pub(super) fn ask_within<T: serde::de::DeserializeOwned>(
        &self,
        id: &ContainerId,
        ask: &Ask,
        patience: Duration,
    ) -> io::Result<T> {
        let socket = self.files(id).connect(patience)?;
        protocol::send(&socket, ask, None)?;
        heard(&socket)
    }

    /// All of them. Their supervisors are asked many at a time, and all that do not answer are waited for as long as one.
    pub(super) fn list(&self) -> Vec<ContainerStatus> {
        let ids: Vec<ContainerId> = self.containers.table().rows.keys().cloned().collect();
        let until = Instant::now() + STANDING_PATIENCE;
        let left = || until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let mut list = Vec::new();
        for some in ids.chunks(ASKED_AT_ONCE) {
            // One may be removed meanwhile.
            let recorded = some.iter().filter_map(|id| self.recorded_status(id).ok());
            let asked = recorded.map(|(status, is_asked)| {
                let ask = |socket: &UnixStream| protocol::send(socket, &Ask::Standing, None);
                let socket = is_asked.then(|| self.files(&status.id).connect(left()).ok()).flatten();
                (status, is_asked, socket.filter(|socket| ask(socket).is_ok()))
            });
            for (mut status, is_asked, socket) in asked.collect::<Vec<_>>() {
                if is_asked {
                    let heard = socket.and_then(|socket| {
                        socket.set_read_timeout(Some(left())).ok()?;
                        heard(&socket).ok()
                    });
                    self.complete(&mut status, heard);
                }
                list.push(status);
            }
        }
        list
    }

    /// Waits until one has ended, or the time is over.
    pub(super) fn wait(&self, id: &ContainerId, at_most: Duration) -> Result<ContainerStatus, Refusal> {
        self.wait_for_end(id, at_most)?;
        self.status(id)
    }

    fn wait_for_end(&self, id: &ContainerId, at_most: Duration) -> Result<(), Refusal> {
        let until = Instant::now() + at_most;
        let mut table = self.containers.table();
        loop {
            let row = table.rows.get(id).ok_or(Refusal::NoSuchContainer)?;
            let left = until.saturating_duration_since(Instant::now());
            if row.record.outcome.is_some() || left.is_zero() {
                return Ok(());
            }
            (table, _) = self.containers.ended.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until any has ended since, or the time is over.
    pub(super) fn ended(&self, after: u64, at_most: Duration) -> EndedSince {
        let until = Instant::now() + at_most;
        let mut table = self.containers.table();
        loop {
            // A cursor of an earlier life may lie ahead: then everything is told again.
            let after = if after > table.ends { 0 } else { after };
            let mut found: Vec<(u64, ContainerId)> = table
                .rows
                .iter()
                .filter(|(_, row)| row.record.outcome.is_some() && row.record.ended > after)
                .map(|(id, row)| (row.record.ended, id.clone()))
                .collect();
            found.sort();
            let left = until.saturating_duration_since(Instant::now());
            if !found.is_empty() || left.is_zero() || after == 0 {
                return EndedSince { cursor: table.ends, ids: found.into_iter().map(|(_, id)| id).collect() };
            }
            (table, _) = self.containers.ended.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does something to one.
    pub(super) fn control(&self, id: &ContainerId, action: Action) -> Result<(), Refusal> {
        if let Action::Signal(signal) = action
            && ![1, 2, 3, 10, 12, 15, 28].contains(&signal)
        {
            return Err(Refusal::Invalid(crate::InvalidDescription {
                field: "signal".into(),
                reason: "1, 2, 3, 10, 12, 15 or 28".into(),
            }));
        }
        let (status, has_voice) = self.status_and_voice(id)?;
        if matches!(status.state, ContainerState::Ended | ContainerState::Starting) {
            return Err(Refusal::WrongState { state: status.state });
        }
        let told =
            if has_voice { self.ask_within::<Answer>(id, &Ask::Act(action), SUPERVISOR_PATIENCE).ok() } else { None };
        if let Some(row) = self.containers.table().rows.get_mut(id) {
            row.last = None;
        }
        match told {
            Some(Answer::Ok(_)) => Ok(()),
            Some(Answer::Refused(refusal)) => Err(refusal),
            // It ended between the two questions; or its supervisor is held up.
            None => match self.wait(id, Duration::from_secs(5))?.state {
                ContainerState::Ended => Err(Refusal::WrongState { state: ContainerState::Ended }),
                _ => Err(failed("what supervises it does not answer")),
            },
        }
    }

    /// Forgets one that has ended.
    pub(super) fn remove(&self, id: &ContainerId) -> Result<(), Refusal> {
        let mut table = self.containers.table();
        let row = table.rows.get(id).ok_or(Refusal::NoSuchContainer)?;
        if row.record.outcome.is_none() {
            drop(table);
            return Err(Refusal::WrongState { state: self.status(id)?.state });
        }
        // The record goes first: a container that is recorded has all its files. They go from their place in one move, so
        // that its name is free; what is left of them by then goes at the next start, if not now.
        self.records.remove_container(id).map_err(failed)?;
        table.rows.remove(id);
        let left = self.removed_directory().join(format!("{id}-{:016x}", self.clock.now_micros()));
        let moved = std::fs::rename(self.files(id).directory(), &left);
        drop(table);
        if let Err(error) = moved.and_then(|()| remove_tree(&left)) {
            tracing::error!(%id, %error, "what a container has left stays until the next start");
        }
        Ok(())
    }

    /// The streams and samples of one: where they are, and whether nothing will be added any more.
    pub(super) fn recorded(&self, id: &ContainerId) -> Result<(Files, bool), Refusal> {
        let table = self.containers.table();
        let row = table.rows.get(id).ok_or(Refusal::NoSuchContainer)?;
        Ok((self.files(id), row.record.outcome.is_some()))
    }

    /// Whether there is such a container, or was one and is being removed.
    pub(super) fn knows(&self, id: &ContainerId) -> bool {
        self.containers.table().rows.contains_key(id)
    }

    /// Keeps containers of an image from being started as long as what it gives is held; none if there is one that has
    /// not ended. One that was made ahead gives way.
    pub(super) fn unless_in_use<'a>(&'a self, image: &Digest) -> Option<impl Sized + use<'a>> {
        let mut table = self.containers.table();
        let in_use = table.rows.values().any(|row| row.record.outcome.is_none() && row.record.image == *image);
        if !in_use {
            table.removals += 1;
            table.standby.take_if(|standby| standby.like.image == *image).into_iter().for_each(|it| self.dismiss(it));
        }
        (!in_use).then_some(table)
    }
}

/// At a start: takes up the containers that still run, settles those that do not, and removes what is nobody's.
pub(super) fn recover(shared: &Arc<Shared>) -> io::Result<()> {
    let recorded = shared.records.containers().map_err(io::Error::other)?;
    let known: BTreeSet<String> = recorded.iter().map(|(id, _)| id.as_str().to_owned()).collect();
    for entry in std::fs::read_dir(shared.removed_directory())? {
        remove_tree(&entry?.path())?;
    }
    // Directories without a record: of containers that were just forgotten.
    for entry in std::fs::read_dir(shared.containers_directory())? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| known.contains(name)) {
            remove_tree(&entry.path())?;
        }
    }
    let mut unsettled = Vec::new();
    {
        let mut table = shared.containers.table();
        table.ends = u64::try_from(shared.clock.now_micros()).unwrap_or(1);
        for (id, record) in recorded {
            table.ends = table.ends.max(record.ended);
            if record.outcome.is_none() {
                shared.containers.groups.own(shared.files(&id).group().as_deref().unwrap_or(id.as_str()));
                unsettled.push(id.clone());
            }
            table.rows.insert(id, Row { record, started: true, last: None });
        }
    }
    shared.sweep();
    for id in unsettled {
        let files = shared.files(&id);
        make_private_directory(files.directory())?;
        match files.try_lock()? {
            None => {
                let shared = Arc::clone(shared);
                spawn_watcher(move || {
                    let (files, group) = (shared.files(&id), shared.group_of(&id));
                    shared.watch(&id);
                    shared.clear(&files, &group);
                })?;
            }
            Some(lock) => {
                let outcome = files.outcome_found().unwrap_or(None);
                let group = shared.group_of(&id);
                shared.settle(&id, outcome);
                shared.clear(&files, &group);
                drop(lock);
            }
        }
    }
    shared.keep_sweeping()
}
