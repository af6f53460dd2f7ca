//! The way of a write, as three threads working group after group in parallel:
//! execute → append and sync the log → apply, publish, answer.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, TryRecvError, select};

use super::shared::Shared;
use super::space::Purpose;
use super::writer::{Group, Work, Writer};
use crate::error::Failure;
use crate::log::format::{self, FrameHeader};
use crate::log::writer::LogWriter;
use crate::tables::family::Family;
use crate::tables::projection::{Application, Applied, Projection};
use crate::tables::registry::Registry;
use crate::time::{TimeSource, Timestamp};

/// How many waiting requests are executed before the log is offered a group.
const DRAIN_MAX: usize = 64;

/// What callers send to the writer.
pub(crate) enum Message {
    /// Execute this, unless the deadline has passed.
    Write { deadline: Instant, purpose: Purpose, work: Box<dyn Work> },
    /// Finish what came before this and end.
    Stop,
}

/// Applies a frame's operations and its number to the tables, as one; the families it wrote to.
pub(crate) fn apply_frame(
    tables: &dyn Projection,
    registry: &Registry,
    header: &FrameHeader,
    payload: &[u8],
) -> Result<Vec<Family>, Failure> {
    let mut fault = None;
    let mut written: Vec<Family> = Vec::new();
    let mut ops = format::ops(payload).map_while(|op| {
        let placed = op.and_then(|op| {
            let (format::Op::Put { key, .. } | format::Op::Delete { key }) = op;
            registry.table_of(key).map(|table| (table.family, op))
        });
        // Rows of one family mostly follow one another.
        if let Some((family, _)) = placed
            && written.last() != Some(&family)
            && !written.contains(&family)
        {
            written.push(family);
        }
        if placed.is_none() {
            fault = Some(Failure::Damaged(format!("transaction {} writes to an unknown table", header.first_lsn)));
        }
        placed
    });
    // Everything is looked at before anything is applied.
    let placed: Vec<_> = ops.by_ref().collect();
    drop(ops);
    if let Some(failure) = fault {
        return Err(failure);
    }
    tables.apply(Application { ops: &mut placed.into_iter(), applied: Applied::by(header) })?;
    Ok(written)
}

/// Executes what comes in and hands groups to the log whenever it is ready for one.
pub(crate) fn run_writer(
    mut writer: Writer,
    incoming: &Receiver<Message>,
    to_log: &Sender<Group>,
    time: &dyn TimeSource,
    shared: &Shared,
) {
    let mut going = true;
    while going {
        if writer.group().is_empty() {
            let Ok(message) = incoming.recv() else { break };
            going = execute(&mut writer, message, time, shared);
        }
        for _ in 0..DRAIN_MAX {
            if !going || writer.group().is_full() {
                break;
            }
            match incoming.try_recv() {
                Ok(message) => going = execute(&mut writer, message, time, shared),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => going = false,
            }
        }
        if !going || writer.group().is_full() {
            hand_over(to_log.send(writer.take_group()).err().map(|e| e.0));
        } else if !writer.group().is_empty() {
            select! {
                send(to_log, writer.take_group()) -> sent => hand_over(sent.err().map(|e| e.0)),
                recv(incoming) -> message => match message {
                    Ok(message) => going = execute(&mut writer, message, time, shared),
                    Err(_) => going = false,
                },
            }
        }
    }
    if !writer.group().is_empty() {
        hand_over(to_log.send(writer.take_group()).err().map(|e| e.0));
    }
    // Whoever still waits came too late.
    while let Ok(message) = incoming.try_recv() {
        if let Message::Write { work, .. } = message {
            work.turn_away(Failure::Stopped);
        }
    }
}

fn hand_over(undelivered: Option<Group>) {
    if let Some(group) = undelivered {
        group.fail(&Failure::OutcomeUnknown);
    }
}

/// Executes one message; `false` if it was the last.
fn execute(writer: &mut Writer, message: Message, time: &dyn TimeSource, shared: &Shared) -> bool {
    let (deadline, purpose, work) = match message {
        Message::Stop => return false,
        Message::Write { deadline, purpose, work } => (deadline, purpose, work),
    };
    if shared.is_stopped() {
        writer.drop_pending();
        work.turn_away(Failure::Stopped);
        return true;
    }
    if Instant::now() > deadline {
        shared.stats.turned_away();
        work.turn_away(Failure::Busy);
        return true;
    }
    if !shared.room.admits(purpose) {
        work.turn_away(Failure::StorageFull);
        return true;
    }
    writer.forget_applied(shared.applied.load(Ordering::Acquire));
    // Said before the time is taken and after the number is known: see Store::read_now.
    shared.executing.store(true, Ordering::SeqCst);
    let now = time.now().max(Timestamp::from_micros(shared.promised.load(Ordering::SeqCst)));
    let committed = writer.execute(work, now);
    shared.executed.store(writer.last_lsn(), Ordering::SeqCst);
    shared.executing.store(false, Ordering::SeqCst);
    shared.stats.executed(committed);
    true
}

/// Makes groups durable.
pub(crate) struct Committer {
    pub(crate) log: LogWriter,
    pub(crate) shared: Arc<Shared>,
}

impl Committer {
    /// Appends a group to the log and syncs it. After an error nothing may be committed any more.
    pub(crate) fn commit(&mut self, group: &mut Group) -> io::Result<()> {
        if group.header.transactions == 0 {
            return Ok(());
        }
        let began = Instant::now();
        self.log.append(&mut group.frame, group.header)?;
        self.shared.stats.synced(began.elapsed(), group.frame.len() as u64);
        let closed = self.log.take_closed();
        if !closed.is_empty() {
            let mut house = self.shared.house();
            house.closed.extend(closed);
            house.spare_wanted = true;
            self.shared.house_changed.notify_all();
        }
        Ok(())
    }
}

/// Makes groups durable one after another.
pub(crate) fn run_log(mut committer: Committer, from_writer: &Receiver<Group>, to_apply: &Sender<Group>) {
    while let Ok(mut group) = from_writer.recv() {
        if committer.shared.is_stopped() {
            group.fail(&Failure::OutcomeUnknown);
            continue;
        }
        if let Err(error) = committer.commit(&mut group) {
            committer.shared.stop_writing(&format!("the log could not be written: {error}"));
            group.fail(&Failure::OutcomeUnknown);
            continue;
        }
        if let Err(unsent) = to_apply.send(group) {
            unsent.0.fail(&Failure::OutcomeUnknown);
        }
    }
}

/// Applies durable groups, publishes, answers.
pub(crate) struct Applier {
    pub(crate) shared: Arc<Shared>,
    pub(crate) flush_log_bytes: u64,
}

impl Applier {
    /// Applies one group that the log has on disk, publishes it and wakes whoever waits for it.
    pub(crate) fn apply(&self, group: &mut Group) -> Result<(), Failure> {
        if group.header.transactions == 0 {
            return Ok(());
        }
        // The log has sealed the frame: its header says how long the operations are.
        let sealed = format::decode_frame_header(&group.frame);
        let payload = sealed.map_or(&[][..], |header| format::payload(&header, &group.frame));
        let written = apply_frame(self.shared.tables.as_ref(), &self.shared.registry, &group.header, payload)?;
        let lsn = group.header.last_lsn();
        self.shared.applied.store(lsn, Ordering::Release);
        self.shared.publish(lsn, group.header.time);
        self.shared.waking.wake(lsn, &written, &group.notes);
        Ok(())
    }

    /// Asks for a flush when enough log has gathered, and waits for it when twice as much has.
    fn pace(&self, bytes: u64) {
        let mut house = self.shared.house();
        house.log_bytes_since_flush += bytes;
        if house.log_bytes_since_flush >= self.flush_log_bytes && !house.flush_wanted {
            house.flush_wanted = true;
            self.shared.house_changed.notify_all();
        }
        while house.log_bytes_since_flush >= 2 * self.flush_log_bytes && !self.shared.is_stopped() {
            house = self.shared.house_changed.wait(house).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Applies, publishes and answers.
pub(crate) fn run_apply(applier: &Applier, from_log: &Receiver<Group>) {
    let shared = &applier.shared;
    while let Ok(mut group) = from_log.recv() {
        if shared.is_stopped() {
            group.fail(&Failure::OutcomeUnknown);
            continue;
        }
        match applier.apply(&mut group) {
            Ok(()) => {
                let bytes = group.frame.len() as u64;
                for answer in group.answers {
                    answer(Ok(()));
                }
                applier.pace(bytes);
            }
            Err(failure) => {
                shared.stop_writing(&format!("the tables could not be written: {failure}"));
                group.fail(&Failure::OutcomeUnknown);
            }
        }
    }
    let mut house = shared.house();
    house.ending = true;
    shared.house_changed.notify_all();
}
