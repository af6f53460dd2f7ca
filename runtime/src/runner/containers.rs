//! The containers of a runner: starting, finding again, ending, forgetting.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader};
use std::process::Child;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::ahead::{spawn_watcher, tell};
use super::disk::Written;
use super::shared::{Like, Row, SLOTS, Shared, Standby};
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

/// When what the next container may need is made ready, at the latest; sooner if this one has ended.
const READY_AFTER: Duration = Duration::from_millis(30);

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
        let admitted = match self.admit(id, &image, &like, reserve_bytes, &Written::new()) {
            // What others have written already is not to come any more.
            Err(Refusal::NoRoom { .. }) => self.admit(id, &image, &like, reserve_bytes, &self.written()),
            admitted => admitted,
        };
        let (slot, standby, repeated) = admitted?;
        self.images.used(&image, self.clock.now_micros());
        let launched = self.launch(id, description, &image, &like, slot, standby);
        let (mut child, started) = match launched {
            Ok(launched) => launched,
            Err(error) => {
                // Nothing has been executed: that is known, and is what is recorded.
                self.settle(id, Some(supervisor::start_failed(error.to_string(), self.clock.as_ref())));
                self.clear(&self.files(id), &self.group_of(id));
                return Err(Refusal::StartFailed(error.to_string()));
            }
        };
        if let Some(row) = self.containers.table().rows.get_mut(id) {
            row.started = true;
        }
        let (shared, watched) = (Arc::clone(self), id.clone());
        let mut watch = move || {
            let left = (shared.files(&watched), shared.group_of(&watched));
            shared.watch(&watched);
            let _ = child.wait();
            shared.clear(&left.0, &left.1);
            shared.tidy();
        };
        let Some(started) = started else {
            watch();
            self.get_ready(None);
            let status = self.status(id)?;
            return match &status.outcome {
                Some(Outcome { reason: EndReason::StartFailed(reason), .. }) => {
                    Err(Refusal::StartFailed(reason.clone()))
                }
                _ => Ok(status),
            };
        };
        spawn_watcher(watch).map_err(failed)?;
        let (shared, watched) = (Arc::clone(self), id.clone());
        let get_ready = move || {
            // What takes a moment is not held up by what comes after it.
            let _ = shared.wait_for_end(&watched, READY_AFTER);
            shared.get_ready(repeated.then_some(&like));
        };
        spawn_watcher(get_ready).map_err(failed)?;
        Ok(ContainerStatus {
            id: id.clone(),
            state: ContainerState::Running,
            image: image.digest,
            started_at_micros: Some(started.at_micros),
            paused_micros: 0,
            outcome: None,
        })
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
        let promised_bytes = self.promise(like.limits.scratch_bytes);
        self.find_room(&table, promised_bytes, reserve_bytes, written)?;
        let mut standby = table.standby.take_if(|standby| standby.like == *like);
        if standby.as_mut().is_some_and(|standby| !matches!(standby.child.try_wait(), Ok(None))) {
            standby.take().into_iter().for_each(|dead| self.dismiss(dead));
        }
        let slot = standby.as_ref().map(|standby| standby.slot).or_else(|| table.free_slot());
        let slot = slot.ok_or_else(|| failed("no range of ids is free"))?;
        let record = ContainerRecord { image: image.digest.clone(), slot, ended: 0, outcome: None, promised_bytes };
        let added = self.records.add_container(id, &record).map_err(failed);
        if !matches!(added, Ok(true)) {
            table.standby = table.standby.take().or(standby);
            return added.and(Err(Refusal::NameTaken));
        }
        table.rows.insert(id.clone(), Row { record, started: false });
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
    ) -> io::Result<(Child, Option<Started>)> {
        let files = self.files(id);
        let mut standby = match standby {
            Some(standby) => standby,
            None => self.begin(like, image, slot)?,
        };
        let order = RunOrder { id: id.clone(), directory: files.directory().to_owned(), description };
        let noted = make_private_directory(files.directory()).and_then(|()| files.put_group(&standby.group));
        // Its input ends with this: nobody tells it anything more, and it does not end with the runner.
        let told = noted.and_then(|()| {
            let stdin = standby.child.stdin.take();
            stdin.map_or_else(|| Err(io::ErrorKind::BrokenPipe.into()), |mut stdin| tell(&mut stdin, &order))
        });
        if let Err(error) = told {
            self.dismiss(standby);
            return Err(error);
        }
        let mut said = String::new();
        let heard = standby.child.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut said));
        let started = matches!(heard, Some(Ok(_))).then(|| serde_json::from_str(&said).ok()).flatten();
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

    /// Ends a container whose supervisor has no more to say, and records its outcome; none: it is lost.
    fn settle(&self, id: &ContainerId, outcome: Option<Outcome>) {
        let files = self.files(id);
        let group = self.group_of(id);
        if let Err(error) = group.kill() {
            tracing::error!(%id, %error, "a container cannot be killed");
        }
        let outcome = outcome.unwrap_or_else(|| {
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

    /// Removes what only a running container needs. Nobody waits for it: if this does not come to its end, the next start
    /// of the runner does it.
    fn clear(&self, files: &Files, group: &Group) {
        if let Err(error) = group.remove() {
            tracing::error!(%error, "a control group cannot be removed");
        }
        if let Err(error) = files.remove_working_files() {
            tracing::error!(%error, "a container's files cannot be removed");
        }
    }

    /// Takes the control groups above the containers' away while there is none. Nobody starts one meanwhile: that needs
    /// the same table.
    fn tidy(&self) {
        let table = self.containers.table();
        let ahead = table.standby.is_some() || table.reserved.is_some();
        if !ahead && table.rows.values().all(|row| row.record.outcome.is_some()) {
            self.hierarchies.remove_if_idle(&self.group());
        }
    }

    /// How one stands.
    pub(super) fn status(&self, id: &ContainerId) -> Result<ContainerStatus, Refusal> {
        let (record, started) = {
            let table = self.containers.table();
            let row = table.rows.get(id).ok_or(Refusal::NoSuchContainer)?;
            (row.record.clone(), row.started)
        };
        let mut status = ContainerStatus {
            id: id.clone(),
            state: ContainerState::Starting,
            image: record.image,
            started_at_micros: None,
            paused_micros: 0,
            outcome: None,
        };
        if let Some(outcome) = record.outcome {
            status.state = ContainerState::Ended;
            status.started_at_micros = outcome.started_at_micros;
            status.paused_micros = outcome.paused_micros;
            status.outcome = Some(outcome);
        } else if started && let Ok(standing) = self.ask::<Standing>(id, &Ask::Standing) {
            status.state = standing.state;
            status.started_at_micros = Some(standing.started_at_micros);
            status.paused_micros = standing.paused_micros;
        } else if started {
            // Its supervisor does not answer: it is about to end, and whoever watches it will say how.
            status.state = ContainerState::Running;
        }
        Ok(status)
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, id: &ContainerId, ask: &Ask) -> io::Result<T> {
        self.ask_within(id, ask, SUPERVISOR_PATIENCE)
    }

    /// Asks a supervisor, which may take so long to answer.
    pub(super) fn ask_within<T: serde::de::DeserializeOwned>(
        &self,
        id: &ContainerId,
        ask: &Ask,
        patience: Duration,
    ) -> io::Result<T> {
        let socket = self.files(id).connect()?;
        socket.set_read_timeout(Some(patience))?;
        protocol::send(&socket, ask, None)?;
        let answer = protocol::receive(&socket, protocol::ANSWER_BYTES_MAX)?;
        answer.map(|(answer, _)| answer).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// All of them.
    pub(super) fn list(&self) -> Vec<ContainerStatus> {
        let ids: Vec<ContainerId> = self.containers.table().rows.keys().cloned().collect();
        // One may be removed meanwhile.
        ids.iter().filter_map(|id| self.status(id).ok()).collect()
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
        let status = self.status(id)?;
        if matches!(status.state, ContainerState::Ended | ContainerState::Starting) {
            return Err(Refusal::WrongState { state: status.state });
        }
        match self.ask::<Answer>(id, &Ask::Act(action)) {
            Ok(Answer::Ok(_)) => Ok(()),
            Ok(Answer::Refused(refusal)) => Err(refusal),
            // It ended between the two questions.
            Err(_) => {
                let status = self.wait(id, Duration::from_secs(5))?;
                Err(Refusal::WrongState { state: status.state })
            }
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
        // The record goes last: what is left of a directory is removed at the next attempt.
        remove_tree(self.files(id).directory()).map_err(failed)?;
        self.records.remove_container(id).map_err(failed)?;
        table.rows.remove(id);
        Ok(())
    }

    /// The streams and samples of one: where they are, and whether nothing will be added any more.
    pub(super) fn recorded(&self, id: &ContainerId) -> Result<(Files, bool), Refusal> {
        let table = self.containers.table();
        let row = table.rows.get(id).ok_or(Refusal::NoSuchContainer)?;
        Ok((self.files(id), row.record.outcome.is_some()))
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
    // Directories without a record: of containers that were being removed.
    for entry in std::fs::read_dir(shared.containers_directory())? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| known.contains(name)) {
            remove_tree(&entry.path())?;
        }
    }
    let mut living = BTreeSet::from(["supervisors".to_owned()]);
    let mut unsettled = Vec::new();
    {
        let mut table = shared.containers.table();
        for (id, record) in recorded {
            table.ends = table.ends.max(record.ended);
            if record.outcome.is_none() {
                living.insert(shared.files(&id).group().unwrap_or_else(|| id.as_str().to_owned()));
                unsettled.push(id.clone());
            }
            table.rows.insert(id, Row { record, started: true });
        }
    }
    for child in shared.hierarchies.children(&shared.group()) {
        if !living.contains(&child) {
            let path = format!("{}/{child}", shared.group());
            let group = shared.hierarchies.group(&path);
            // What cannot be killed (it waits for a disk) must not keep the runner from its work.
            if let Err(error) = group.kill().and_then(|()| group.remove()) {
                tracing::error!(%child, %error, "what is left of a container stays");
            }
            shared.hierarchies.remove_if_idle(&path);
        }
    }
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
                    shared.tidy();
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
    shared.tidy();
    shared.get_ready(None);
    Ok(())
}
