//! What is due, read ahead of the pump: the end of an attempt need not read the index again, and however much waits for one
//! workspace's turn, it hides nobody else's.

use std::time::{Duration, Instant};

use quintet_storage::{Failure, Read, Timestamp, Uuid};

use super::turns::Queues;
use crate::model::WorkspaceNo;
use crate::outbox::{self, OutgoingKey};

/// Rows of the index that are read at a time.
const LOOK_ROWS: usize = 1_024;
/// Mails of a workspace that are held; what comes behind is read again in its time.
const HELD_MAX: usize = 128;
/// For how long what was read is good enough.
pub(super) const READ_PAUSE: Duration = Duration::from_millis(20);

/// A place in the index.
type DuePlace = (Timestamp, WorkspaceNo, Uuid);

/// Mails that are due, in the order in which they are due.
#[derive(Default)]
pub(super) struct Ahead {
    /// Those that may begin.
    pub(super) queues: Queues,
    /// Where it is read on; `None`: from the beginning.
    rest_from: Option<DuePlace>,
    /// When something is due after all that is due now.
    later: Option<Timestamp>,
    read_at: Option<Instant>,
}

impl Ahead {
    /// Whether what was read is good enough for a moment.
    pub(super) fn is_fresh(&self) -> bool {
        self.read_at.is_some_and(|at| at.elapsed() < READ_PAUSE)
    }

    /// Reads on, but for what is busy. What is due and behind the rows of one reading comes with the next ones.
    pub(super) fn read(
        &mut self,
        read: &impl Read,
        now: Timestamp,
        is_busy: impl Fn(&OutgoingKey) -> bool,
    ) -> Result<(), Failure> {
        let from = self.rest_from.unwrap_or((Timestamp::EPOCH, WorkspaceNo(0), Uuid::nil()));
        let rows = outbox::due_from(read, from, LOOK_ROWS)?;
        self.read_at = Some(Instant::now());
        let (is_last, end) = (rows.len() < LOOK_ROWS, rows.last().map(|(at, key)| (*at, key.0, key.1)));
        let due = rows.iter().take_while(|(at, _)| *at <= now).count();
        self.later = rows.get(due).map(|(at, _)| *at);
        self.rest_from = end.filter(|_| !is_last && self.later.is_none());
        for (_, key) in rows.into_iter().take(due) {
            if !is_busy(&key) && self.queues.count(key.0) < HELD_MAX {
                self.queues.push(key);
            }
        }
        Ok(())
    }

    /// Whether there are rows that were not read, and when something is due after what is due now.
    pub(super) fn rest(&self) -> (bool, Option<Timestamp>) {
        (self.rest_from.is_some(), self.later)
    }
}
